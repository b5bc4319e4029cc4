"""How parsing grows: the command on a tiny treebank, and the texts that it parses."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from experiments import growth
from experiments.command import settings_of
from experiments.figures import read_csv
from parser.conllu.stream import read_raw_sentences
from parser.data.vocabularies import Vocabularies, Vocabulary
from parser.model.model import Model
from parser.network_spec import ClassifierSpec, Embedding
from parser.transitions.features import slots_of
from tests.toy import sentence, write_conllu


@pytest.fixture
def test_part(tmp_path) -> Path:
    rng = random.Random(0)
    (tmp_path / "UD_Hungarian-Szeged").mkdir()
    path = tmp_path / "UD_Hungarian-Szeged" / "hu_szeged-ud-test.conllu"
    return write_conllu(path, [sentence([0] + [1] * n, rng) for n in (1, 4, 2, 7)])


def test_sentences_of_a_length_have_the_words_of_the_file_in_their_order(test_part):
    text = growth.sentences_of_length(test_part, 5, 43)
    found = list(read_raw_sentences(io.BytesIO(text)))
    assert [len(sentence) for sentence in found] == [5] * 9
    with test_part.open("rb") as stream:
        words = [columns[1:] for sentence in read_raw_sentences(stream) for columns in sentence.columns]
    assert len(words) == 18
    assert [columns[1:] for sentence in found for columns in sentence.columns] == (words * 3)[:45]


@pytest.mark.long
def test_the_command(test_part, tmp_path):
    vocabularies = Vocabularies({"form": Vocabulary(["w1", "w2"])})
    spec = ClassifierSpec(8, "relu", 0.0, 0.0, 0.0, {"form": Embedding(4, False)})
    Model.new(vocabularies, Vocabulary(["root", "obj"]), slots_of({"form": ["s0", "b0"]}), spec).save(tmp_path / "model")
    overrides = ["lengths=[5,20]", "length_words=50", "sizes=[100]", "threads=[1,2]", "repeats=1", f"output={tmp_path}/out"]
    where = [f"model={tmp_path}/model", f"paths.treebanks={tmp_path}"]
    settings = settings_of(growth.Growth, "growth", [*overrides, *where])
    growth.EXPERIMENT.main(settings)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"results.csv", "growth.svg", "table.md"}
    rows = read_csv(tmp_path / "out" / "results.csv")
    assert [(row["by"], row["size"], row["threads"], row["words"]) for row in rows] == [
        *((growth.LENGTH, size, threads, words) for size, words in (("5", "50"), ("20", "60")) for threads in "12"),
        *((growth.FILE, "100", threads, "108") for threads in "12"),
    ]
    assert all(float(row["words_per_second"]) > 0 for row in rows)
    assert all(float(row["peak_megabytes"]) > 50 for row in rows if row["by"] == growth.FILE)


def test_a_failure_says_what_the_process_said(tmp_path):
    with pytest.raises(ValueError, match="no such model folder"):
        growth.measure_file(str(tmp_path / "nowhere"), iter([]), 1)
