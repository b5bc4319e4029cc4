"""Training that diverges is an error that says where, and what to lower."""

import math
import random
import re
from contextlib import nullcontext

import pytest
import torch

from parser.settings.plan import OptimizerPlan, Span
from parser.training.fitting.trainer import BatchLoss, DivergenceError, TorchOptimizer, Trainer
from parser.training.run import train
from tests.toy import sentence, write_conllu
from tests.training.small_runs import run_alone

TINY = ["classifier.hidden=16", "vectors.dimensions=4", "optimizer.batch_size=5"]


@pytest.mark.parametrize("rate", ["1e6", "1000"])
def test_a_learning_rate_that_is_far_too_high(tmp_path, rate):
    treebank = write_conllu(
        tmp_path / "toy.conllu", [sentence([2, 0, 2, 3], random.Random(seed)) for seed in range(30)]
    )
    run = run_alone(treebank, *TINY, f"optimizer.learning_rate={rate}")
    where = r"diverged in the first pass, epoch 1: its mean loss is .*"
    with pytest.raises(
        DivergenceError, match=where + re.escape(f"lower optimizer.learning_rate={float(rate):g}")
    ):
        train(run, tmp_path / "run")
    assert not (tmp_path / "run" / "model").exists()
    assert not (tmp_path / "run" / "metrics.json").exists()


class Losses:
    """An objective of two examples with these losses, where guessing among 20 costs 3 nats."""

    uniform_loss = math.log(20)

    def __init__(self, *losses: float) -> None:
        self.losses = losses

    def batches(self, generator: torch.Generator) -> tuple[int, tuple[float, ...]]:
        return len(self.losses), self.losses

    def backward(self, batch: float) -> BatchLoss:
        return BatchLoss(batch, 1, has_gradient=False)


DIVERGED = [(3.0, math.nan), (math.inf, 3.0), (1e16, 1.0), (31.0, 31.0)]
FINE = [(0.0, 0.0), (29.0, 29.0), (50.0, 1.0)]


@pytest.mark.parametrize(
    ("losses", "bad"),
    [*((losses, True) for losses in DIVERGED), *((losses, False) for losses in FINE)],
)
def test_an_epoch_has_diverged_whose_mean_loss_is_ten_times_that_of_guessing(losses, bad):
    plan = OptimizerPlan("sgd", 0.1, "constant", Span(0, 1), batch_size=1)
    trainer = Trainer(Losses(*losses), TorchOptimizer(torch.nn.Linear(1, 1), plan), plan)
    with pytest.raises(DivergenceError) if bad else nullcontext():
        assert trainer.fit_epoch(0, torch.Generator()).loss == sum(losses) / 2
