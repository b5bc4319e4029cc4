"""What 8 bits cost: a model's trees of both kinds, and what the page says of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from experiments import int8
from experiments.command import settings_of
from experiments.encoders import folder_of
from experiments.int8 import Row
from experiments.trainings import Training
from parser.data.parses import Parses
from parser.data.treebank import read_treebank
from parser.decoding.files.file_parsing import parse_file
from parser.evaluation import evaluate_files
from parser.model.loading import load_for_parsing

TINY = (
    "model=bilstm",
    "encoder.hidden=16",
    "encoder.layers=1",
    "first_pass.epochs=1",
    "second_pass.epochs=1",
    "vectors.epochs=1",
)


def test_the_scores_are_those_of_the_files_that_it_parses(tmp_path, small_sample, monkeypatch):
    monkeypatch.chdir(small_sample)
    training = Training("sample", "accurate", 5, 1, "data", (*TINY, "tensorboard.figures=false"))
    rows = {row.part: row for row in int8.measure(training, tmp_path)}
    assert list(rows) == ["dev", "test"]
    folder = folder_of(tmp_path, training)
    trained = (folder / "metrics.json").stat().st_mtime_ns
    gold = str(training.settings().treebank.test)
    found = []
    for in_8_bits in (False, True):
        model, _ = load_for_parsing(folder / "model", int8=in_8_bits)
        parsed = tmp_path / f"{in_8_bits}.conllu"
        with open(gold, "rb") as source, parsed.open("wb") as target:
            parse_file(model, source, target, gold)
        found.append(parsed)
    of_floats, of_8_bits = (evaluate_files(gold, parsed) for parsed in found)
    test = rows["test"]
    assert (test.las, test.uas) == (f"{of_floats['las'].f1:.4f}", f"{of_floats['uas'].f1:.4f}")
    assert (test.int8_las, test.int8_uas) == (f"{of_8_bits['las'].f1:.4f}", f"{of_8_bits['uas'].f1:.4f}")
    one, other = ([list(zip(s.heads, s.deprels, strict=True)) for s in read_treebank(path).sentences] for path in found)
    words = [(a, b) for of_one, of_other in zip(one, other, strict=True) for a, b in zip(of_one, of_other, strict=True)]
    assert (test.words, test.other_words) == (str(len(words)), str(sum(a != b for a, b in words)))
    assert int8.measure(training, tmp_path) == list(rows.values())
    assert (folder / "metrics.json").stat().st_mtime_ns == trained  # it was not trained again


def test_words_with_another_head_or_another_relation_are_counted():
    offsets = np.array([0, 4])
    one = Parses(np.array([-1, 2, 0, 2]), np.array([-1, 0, 1, 2]), offsets)
    assert int8.other_words(one, one) == 0
    assert int8.other_words(one, replace(one, heads=np.array([-1, 3, 0, 2]), relations=np.array([-1, 5, 1, 0]))) == 2


def test_the_page():
    rows = [
        Row("got", "dev", "1", "80.0", "85.0", "79.9", "85.1", "1000", "3", "config"),
        Row("got", "dev", "2", "81.0", "86.0", "81.04", "86.1", "1000", "4", "config"),
    ]
    wanted = settings_of(int8.Int8, "int8", ["languages=[hu]"])
    lines = int8.page_of({row.key: row for row in rows}, wanted).splitlines()[-4:]
    assert lines[0] == "| hu | dev | not run |  |  |  |  |"
    assert lines[2] == "| got | dev | 80.50 ± 0.71 / 85.50 ± 0.71 | 80.47 ± 0.81 / 85.60 ± 0.71 | -0.03 | -0.10 | 0.35% |"
