"""A treebank of sentences of one word has no relation but root; its model can still parse longer ones."""

from __future__ import annotations

import random

from parser.decoding.parsers import parse
from parser.model.model import Model
from parser.training.run import train
from tests.toy import planned, sentence, write_conllu

TINY = ["first_pass.epochs=1", "second_pass.epochs=1", "classifier.hidden=4", "vectors.dimensions=4"]


def test_a_model_of_one_word_sentences_parses_longer_ones(tmp_path):
    words = [sentence([0], random.Random(seed)) for seed in range(5)]
    path = write_conllu(tmp_path / "words.conllu", words)
    train(planned(f"treebank.train={path}", "treebank.dev=null", "treebank.test=null", *TINY), tmp_path / "run")
    model = Model.load(tmp_path / "run")
    assert model.relations.symbols == ["root", "dep"]
    parses = parse(model, [sentence([0, 1, 1, 2])])
    assert sorted(parses.relations[1:]) == [0, 1, 1, 1]
    assert (parses.heads[1:] == 0).sum() == 1
