"""Word vectors of another process are those that this one would have trained."""

import os
import random
import select
import signal
import subprocess
import sys

import numpy as np
import pytest

from parser.data.attributes import attribute_values
from parser.data.word_vectors import WordVectors, background_vectors
from parser.training.examples.corpus import Corpus
from tests.toy import ROOT, planned, sentence, write_conllu

SENTENCES = [sentence([2, 0, 2, 3], random.Random(seed)) for seed in range(20)]


@pytest.fixture
def treebank(tmp_path):
    return write_conllu(tmp_path / "toy.conllu", SENTENCES)


def run(treebank, *overrides: str):
    return planned(
        f"treebank.train={treebank}", "treebank.dev=null", "treebank.test=null", *overrides
    )


@pytest.mark.parametrize("attribute", ["form", "lower"])
def test_the_corpus_takes_them_and_they_are_those_that_this_process_trains(treebank, attribute):
    wanted = run(
        treebank,
        "seed=3",
        f"vectors.attribute={attribute}",
        "+features.lower=[s0]",
        "vectors.dimensions=12",
    )
    here = WordVectors.train(
        attribute_values(SENTENCES, attribute), wanted.model.vectors.training, wanted.seed
    )
    with background_vectors(wanted.vector_request) as vectors:
        found = Corpus.new(wanted, vectors).vectors
    assert found.vocabulary.symbols == here.vocabulary.symbols
    np.testing.assert_array_equal(found.matrix, here.matrix)


@pytest.mark.parametrize(
    "overrides",
    [
        ["features.form=[]"],
        ["vectors.attribute=null"],
        ["vectors.file=vectors.txt"],
        ["start=runs/x"],
    ],
    ids=["not read", "of nothing", "from a file", "of a model"],
)
def test_nothing_is_begun_for_a_run_without(treebank, overrides):
    with background_vectors(run(treebank, *overrides).vector_request) as vectors:
        assert vectors is None


def test_its_warnings_are_heard(treebank, capfd):
    with background_vectors(run(treebank, "vectors.min_count=1000").vector_request) as vectors:
        vectors()
    assert "no form occurs 1000 times" in capfd.readouterr().err


def test_its_failure_is_told(tmp_path):
    broken = tmp_path / "broken.conllu"
    broken.write_text("1\tno\ttree\n\n")
    with (
        background_vectors(run(broken).vector_request) as vectors,
        pytest.raises(ChildProcessError, match=r"broken\.conllu"),
    ):
        vectors()


def test_a_run_that_fails_does_not_wait_for_them(treebank):
    with (
        pytest.raises(ZeroDivisionError),
        background_vectors(run(treebank, "vectors.epochs=100000").vector_request),
    ):
        raise ZeroDivisionError


_PARENT = """
import sys
from parser.data.word_vectors import background_vectors
from tests.toy import planned

request = planned(f"treebank.train={sys.argv[1]}", "vectors.epochs=100000").vector_request
with background_vectors(request) as vectors:
    print(vectors.args[0].pid, flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(
    not hasattr(os, "pidfd_open"),
    reason="waits for a process that is no child by Linux's pidfd_open",
)
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_their_process_ends_with_the_one_that_started_it(treebank, how):
    command = [sys.executable, "-c", _PARENT, str(treebank)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as parent:
        assert parent.stdout is not None
        child = os.pidfd_open(int(parent.stdout.readline()))
        parent.send_signal(how)
        assert parent.wait() == -how
    ended, _, _ = select.select([child], [], [], 60)
    if not ended:
        signal.pidfd_send_signal(child, signal.SIGKILL)
    os.close(child)
    assert ended, "the process works on"
