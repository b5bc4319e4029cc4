"""recipe=accurate beside UDPipe, and noisy tags: the commands on the sample treebank, and what their tables say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import accurate, noisy_tags
from parser.data.treebank import read_treebank
from tests.forked import script

TINY = "'first_pass.epochs=1','second_pass.epochs=1','classifier.hidden=8','vectors.epochs=1','tensorboard.figures=false'"


def run(folder: Path, *arguments: str) -> None:
    done = script(*arguments, folder=folder)
    assert done.returncode == 0, done.stderr


def test_the_comparison_trains_what_is_missing_and_writes_a_table(tmp_path, small_sample):
    command = [
        *(
            "experiments/accurate.py",
            "languages=[sample]",
            "seeds=1",
            "systems=[tiny]",
            f"+all_systems.tiny=[{TINY}]",
            "published=null",
        ),
        *(f"results={tmp_path}/results", f"runs={tmp_path}/runs"),
    ]
    run(small_sample, *command)
    rows = (tmp_path / "results" / "results.csv").read_text()
    assert rows.count("\n") == 2
    assert "| tiny | " in (tmp_path / "results" / "table.md").read_text()
    run(small_sample, *command)
    assert (tmp_path / "results" / "results.csv").read_text() == rows  # CPU seconds and all: it was not run again


def test_the_table_has_means_deviations_and_what_was_not_run():
    rows = [
        accurate.Row("ours", "hu", "train", "1", "70", "75", "0", "100", ""),
        accurate.Row("ours", "hu", "train", "2", "72", "77", "0", "120", ""),
        accurate.Row("ours", "hu", "dev", "1", "50", "55", "", "10", ""),
        accurate.Row("UDPipe, beam 1", "hu", "train", "1", "65.5", "70", "0", "200", ""),
    ]
    text = accurate.report({row.key: row for row in rows}, ["hu", "el"], ["ours", "another"], "train")
    assert "| ours | 71.00 ± 1.41 / 76.00 ± 1.41 (110 s) | not run |" in text
    assert "| UDPipe, beam 1 | 65.50 / 70.00 (200 s) | not run |" in text
    assert "another" not in text
    assert "dev part" not in text


def test_unseen_treebanks_are_trained_on_their_dev_part(tmp_path, small_sample):
    run(
        small_sample,
        *("experiments/accurate.py", "--config-name=unseen", "languages=[sample]", "seeds=1", "systems=[tiny]"),
        *(f"+all_systems.tiny=[{TINY}]", "published=null", f"results={tmp_path}/results", f"runs={tmp_path}/runs"),
    )
    metrics = json.loads((tmp_path / "runs" / "tiny" / "sample-seed1" / "metrics.json").read_text())
    dev = read_treebank(small_sample / "data" / "sample" / "sample-ud-dev.conllu").sentences
    assert metrics["train"]["sentences"] == len(dev)
    assert metrics["dev"] is None
    assert "trained on the dev part alone" in (tmp_path / "results" / "table.md").read_text()


def test_unknown_systems_are_named(tmp_path):
    done = script("experiments/accurate.py", "languages=[sample]", "systems=[spaCy]", f"results={tmp_path}", f"runs={tmp_path}")
    assert done.returncode != 0
    assert "systems has 'spaCy'; known are 'accurate', 'accurate, 5 epochs'" in done.stderr


def test_udpipe_is_trained_and_parses_greedily_and_with_a_beam(tmp_path, monkeypatch, small_sample):
    monkeypatch.chdir(small_sample)
    pytest.importorskip("ufal.udpipe", reason="UDPipe is not installed (extra compare)")
    monkeypatch.setitem(accurate.udpipe.PARSER, "iterations", 1)
    monkeypatch.setitem(accurate.udpipe.PARSER, "hidden_layer", 20)
    training = accurate.Training("sample", "accurate", 5, 1, "data", ())
    rows = accurate.run_udpipe(training, "train", tmp_path)
    assert [row.system for row in rows] == ["UDPipe, beam 1", "UDPipe, beam 5"]
    assert all(0 < float(row.las) <= float(row.uas) <= 100 for row in rows)


def test_taggers_tag_what_they_did_not_see(tmp_path, monkeypatch, small_sample):
    monkeypatch.chdir(small_sample)
    pytest.importorskip("ufal.udpipe", reason="UDPipe is not installed (extra compare)")
    monkeypatch.setitem(noisy_tags.udpipe.TAGGER, "iterations_1", 1)
    training = noisy_tags.Training("sample", "accurate", 5, 1, "data", ())
    noisy_tags.tag_treebank(training, tmp_path, folds=2)
    treebank = training.settings().treebank
    for part in ("train", "dev", "test"):
        gold = noisy_tags.read_treebank(str(getattr(treebank, part))).sentences
        tagged = noisy_tags.read_treebank(tmp_path / f"{part}.conllu").sentences
        assert [s.forms for s in tagged] == [s.forms for s in gold]
        assert [s.heads for s in tagged] == [s.heads for s in gold]
        assert [s.upos for s in tagged] != [s.upos for s in gold]


def test_the_table_of_noisy_tags():
    rows = [
        noisy_tags.Row(
            "hu", "accurate", "2", seed, training, test, str(70 + int(seed) - (test == "predicted")), "80", "95", "90", ""
        )
        for seed in "12"
        for training in ("gold", "predicted")
        for test in ("gold", "predicted")
    ]
    text = noisy_tags.report(rows, ["hu"], "accurate")
    assert "| hu | gold | predicted | 70.50 ± 0.71 | 80.00 ± 0.00 | 95.00 / 90.00 |" in text


def test_noisy_tags_have_a_row_for_each_pair_of_tags():
    training = noisy_tags.Training("hu", "accurate", 5, 1, "data", ())
    keys = noisy_tags.keys_of(training, folds=2)
    assert len(set(keys)) == 4
    assert set(keys).isdisjoint(noisy_tags.keys_of(training, folds=3))
    assert set(keys).isdisjoint(noisy_tags.keys_of(replace(training, seed=2), folds=2))
