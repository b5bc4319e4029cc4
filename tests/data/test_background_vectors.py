"""Word vectors of another process are those that this one would have trained."""

from __future__ import annotations

import logging
import random

import numpy as np
import pytest

from parser.data.background_vectors import background_vectors
from parser.data.vocabulary import attribute_values
from parser.data.word_vectors import train_vectors
from parser.training.corpus import prepare
from tests.toy import sentence, settings, write_conllu

SENTENCES = [sentence([2, 0, 2, 3], random.Random(seed)) for seed in range(20)]


@pytest.fixture
def treebank(tmp_path):
    return write_conllu(tmp_path / "toy.conllu", SENTENCES)


def run(treebank, *overrides: str):
    return settings(f"treebank.train={treebank}", "treebank.dev=null", "treebank.test=null", *overrides)


@pytest.mark.parametrize("attribute", ["form", "lower"])
def test_they_are_those_that_this_process_trains(treebank, attribute):
    wanted = run(treebank, "seed=3", f"vectors.attribute={attribute}", "+features.lower=[s0]", "vectors.dimensions=12")
    here = train_vectors(wanted.vectors, attribute_values(SENTENCES, attribute), wanted.seed)
    with background_vectors(wanted) as vectors:
        assert vectors is not None
        found = vectors.result()
    assert found.vocabulary.symbols == here.vocabulary.symbols
    np.testing.assert_array_equal(found.matrix, here.matrix)


def test_the_corpus_takes_them(treebank):
    wanted = run(treebank)
    with background_vectors(wanted) as vectors:
        there = prepare(wanted, vectors).vectors
    here = prepare(wanted).vectors
    assert there is not None
    assert here is not None
    np.testing.assert_array_equal(there.matrix, here.matrix)


@pytest.mark.parametrize(
    "overrides",
    [["features.form=[]"], ["vectors.attribute=null"], ["vectors.file=vectors.txt"], ["treebank.train=missing.conllu"]],
    ids=["not read", "of nothing", "from a file", "no training part"],
)
def test_nothing_is_begun_for_a_run_without(treebank, overrides):
    with background_vectors(run(treebank, *overrides)) as vectors:
        assert vectors is None


def test_its_warnings_are_heard(treebank, caplog):
    wanted = run(treebank, "vectors.min_count=1000")
    with caplog.at_level(logging.WARNING), background_vectors(wanted) as vectors:
        assert vectors is not None
        vectors.result()
    assert "no form occurs 1000 times" in caplog.text


def test_its_failure_is_told(tmp_path):
    broken = tmp_path / "broken.conllu"
    broken.write_text("1\tno\ttree\n\n")
    with background_vectors(run(broken)) as vectors:
        assert vectors is not None
        with pytest.raises(ChildProcessError, match=r"broken\.conllu"):
            vectors.result()


def test_a_run_that_fails_does_not_wait_for_them(treebank):
    with pytest.raises(ZeroDivisionError), background_vectors(run(treebank, "vectors.epochs=1000000")):
        raise ZeroDivisionError
