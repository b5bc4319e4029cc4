"""The benchmark of parsing measures all it names."""

from __future__ import annotations

import random

import pytest

from benchmarks import parsing
from parser.classifier import Embedding
from parser.features import slots_of
from parser.model import ClassifierShape, Model
from parser.vocabulary import Encoder, Vocabulary
from tests.toy import sentence, write_conllu


@pytest.fixture
def model_and_file(tmp_path):
    rng = random.Random(0)
    sentences = [sentence([0, 1, 2], rng) for _ in range(5)]
    encoder = Encoder({"form": Vocabulary.of(form for s in sentences for form in s.forms)})
    slots = slots_of({"form": ["s0", "b0"], "deprel": ["s0.l1"]})
    shape = ClassifierShape(8, "relu", 0.0, 0.0, 0.0, {"form": Embedding(4, False)})
    Model.new(encoder, Vocabulary(["root", "obj"]), slots, shape).save(tmp_path / "model")
    return str(tmp_path / "model"), str(write_conllu(tmp_path / "toy.conllu", sentences))


def test_it_counts_words_and_rates_every_job(model_and_file, capsys):
    result = parsing.run([*model_and_file, "--times", "3", "--repeat", "2"])
    assert result["words"] == 30
    assert set(result["words_per_second"]) == {
        f"{job}, {threads}" for job in ("decoding", "end to end") for threads in ("1 thread", "2 threads")
    }
    assert all(len(rates) == 3 and min(rates) > 0 for rates in result["all_measurements"].values())
    assert "words a second" in capsys.readouterr().err


def test_a_missing_udpipe_model_is_an_error(model_and_file, tmp_path):
    with pytest.raises(ValueError, match=r"UDPipe"):
        parsing.run([*model_and_file, "--udpipe", str(tmp_path / "nowhere.udpipe")])
