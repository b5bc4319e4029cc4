"""Lemmas of forms that training never saw: which words are drawn, and what is printed."""

import sys

import pytest

from experiments import lemmas
from tests.random_models import random_lemma_model
from tests.toy import sentence, write_conllu


@pytest.fixture
def sentences():
    one, other = sentence([2, 0, 2]), sentence([0, 1])
    one.forms, one.lemmas = ["Abc", "def", "."], ["abc", "def", "."]
    other.forms, other.lemmas = ["ABC", "ghi"], ["abc", "_"]
    return [one, other]


def test_words_with_new_forms_are_drawn_once(sentences):
    assert lemmas.drawn_words(sentences, ["x"], 5, 1) == [(0, 0), (0, 1)]
    assert lemmas.drawn_words(sentences, ["DEF"], 5, 1) == [(0, 0)]
    drawn = {tuple(lemmas.drawn_words(sentences, [], 1, seed)) for seed in range(20)}
    assert drawn == {((0, 0),), ((0, 1),)}
    assert lemmas.drawn_words(sentences, [], 1, 3) == lemmas.drawn_words(sentences, [], 1, 3)


def test_the_command_prints_a_line_for_each_model(sentences, tmp_path, monkeypatch, capsys):
    random_lemma_model().save(tmp_path / "model")
    file = str(write_conllu(tmp_path / "gold.conllu", sentences))
    empty = str(write_conllu(tmp_path / "train.conllu", sentences[1:]))
    monkeypatch.setattr(
        sys, "argv", ["lemmas.py", file, empty, "--models", str(tmp_path / "model"), "--list"]
    )
    lemmas.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| 1 words |")
    assert len(lines) in (3, 4)
    monkeypatch.setattr(
        sys, "argv", ["lemmas.py", file, empty, "--models", str(tmp_path / "absent")]
    )
    with pytest.raises(SystemExit, match="absent"):
        lemmas.main()
