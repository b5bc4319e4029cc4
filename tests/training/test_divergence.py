"""Training that diverges is an error that says where, and blames what can be the cause."""

from __future__ import annotations

import math
import random
import re

import pytest

from parser.training.fitting.trainer import DivergenceError, first_bad_loss, suspects
from parser.training.run import train
from tests.toy import planned, sentence, write_conllu

TINY = ["treebank.dev=null", "treebank.test=null", "classifier.hidden=16", "vectors.dimensions=4", "optimizer.batch_size=5"]


@pytest.mark.parametrize("rate", ["1e6", "1000"])
def test_a_learning_rate_that_is_far_too_high(tmp_path, rate):
    treebank = write_conllu(tmp_path / "toy.conllu", [sentence([2, 0, 2, 3], random.Random(seed)) for seed in range(30)])
    run = planned(f"treebank.train={treebank}", *TINY, f"optimizer.learning_rate={rate}")
    where = r"diverged in the first pass, epoch 1: the loss of update \d+ of 48 is .*"
    with pytest.raises(DivergenceError, match=where + re.escape(f"lower optimizer.learning_rate={float(rate):g}")):
        train(run, tmp_path / "run")
    assert not (tmp_path / "run" / "model").exists()
    assert not (tmp_path / "run" / "metrics.json").exists()


@pytest.mark.parametrize("mean", [math.nan, math.inf, 1e16, 31])
def test_the_update_that_is_named_is_the_first_bad_one(mean):
    # Guessing among 20 costs 3 nats; ten times that is the limit.
    assert first_bad_loss([3.0, 29.0, mean, math.nan], mean, math.log(20)) == 2


@pytest.mark.parametrize("mean", [0.0, 3.0, 29.0])
def test_slow_training_has_not_diverged(mean):
    assert first_bad_loss([mean, 100.0], mean, math.log(20)) is None


@pytest.mark.parametrize(
    ("overrides", "blamed"),
    [
        (["optimizer.learning_rate=50"], ["optimizer.learning_rate=50"]),
        (["optimizer.name=adam", "optimizer.learning_rate=0.05"], ["optimizer.learning_rate=0.05"]),
        ([], ["optimizer.learning_rate=0.1"]),
        (["vectors.file=big.txt"], ["optimizer.learning_rate=0.1", "the numbers in vectors.file=big.txt"]),
    ],
)
def test_what_is_blamed(overrides, blamed):
    plan = planned(*overrides)
    (gold, *_), vectors = plan.passes, plan.model.vectors
    assert suspects(gold.optimizer, None if vectors is None else vectors.file) == blamed
