"""What 8 bits cost: scores of a model's trees of both kinds, and the words that differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from experiments import int8
from experiments.command import Trainings, settings_of
from experiments.trainings import encoder_folder
from parser.data.sentences import Parses
from parser.data.treebank import read_treebank
from parser.decoding.files.file_parsing import parse_file
from parser.evaluation import evaluate_files
from parser.model.loading import load_for_parsing

TINY = ("encoder.hidden=16", "encoder.layers=1", "first_pass.epochs=1", "second_pass.epochs=1", "vectors.epochs=1")


def test_the_scores_are_those_of_the_files_that_it_parses(tmp_path, small_sample, monkeypatch):
    monkeypatch.chdir(small_sample)
    wanted = settings_of(Trainings, "int8", ["languages=[sample]", "seeds=1", f"runs={tmp_path}"])
    encoder = int8.encoder
    tiny = (*TINY, "tensorboard.figures=false")
    monkeypatch.setattr(int8, "encoder", lambda *args: replace(of := encoder(*args), overrides=(*of.overrides, *tiny)))
    cells = int8.cells(wanted)
    measured = {key[1]: found for key, found in int8.measure(wanted, cells)}
    assert list(measured) == ["dev", "test"]
    training = int8.encoder(wanted, "sample", 1)
    folder = encoder_folder(tmp_path, training)
    trained = (folder / "metrics.json").stat().st_mtime_ns
    gold = training.part("test")
    found = []
    for in_8_bits in (False, True):
        model, _ = load_for_parsing(folder / "model", int8=in_8_bits)
        parsed = tmp_path / f"{in_8_bits}.conllu"
        with gold.open("rb") as source, parsed.open("wb") as target:
            parse_file(model, source, target, str(gold))
        found.append(parsed)
    of_floats, of_8_bits = (evaluate_files(gold, parsed) for parsed in found)
    test = measured["test"]
    assert (test["las"], test["uas"]) == (f"{of_floats['las'].f1:.4f}", f"{of_floats['uas'].f1:.4f}")
    assert (test["int8_las"], test["int8_uas"]) == (f"{of_8_bits['las'].f1:.4f}", f"{of_8_bits['uas'].f1:.4f}")
    one, other = ([list(zip(s.heads, s.deprels, strict=True)) for s in read_treebank(path).sentences] for path in found)
    words = [(a, b) for of_one, of_other in zip(one, other, strict=True) for a, b in zip(of_one, of_other, strict=True)]
    assert (test["words"], test["other_words"]) == (str(len(words)), str(sum(a != b for a, b in words)))
    assert {key[1]: found for key, found in int8.measure(wanted, cells)} == measured
    assert (folder / "metrics.json").stat().st_mtime_ns == trained  # it was not trained again


def test_words_with_another_head_or_another_relation_are_counted():
    offsets = np.array([0, 4])
    one = Parses(np.array([-1, 2, 0, 2]), np.array([-1, 0, 1, 2]), offsets)
    assert int8.other_words(one, one) == 0
    assert int8.other_words(one, replace(one, heads=np.array([-1, 3, 0, 2]), relations=np.array([-1, 5, 1, 0]))) == 2
