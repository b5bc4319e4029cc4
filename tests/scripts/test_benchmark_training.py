"""The benchmark of training measures all it names, in a real run."""

import random
import subprocess
import sys

import numpy as np
import pytest
import torch

from parser.network_spec import Embedding, MlpSpec
from parser.networks.classifier import Classifier
from parser.networks.representation import AttributeEmbeddings, Embeddings
from parser.transitions.features import slots_of
from scripts.benchmarks import training
from scripts.benchmarks.training import batches_of, products_of
from tests.forgery import small_model
from tests.forked import script
from tests.toy import sentence, settings, write_conllu

SMALL = [
    "classifier.hidden=8",
    "vectors.dimensions=4",
    "vectors.epochs=1",
    "optimizer.batch_size=7",
]


@pytest.fixture
def file(tmp_path) -> str:
    rng = random.Random(0)
    return str(write_conllu(tmp_path / "toy.conllu", [sentence([0, 1, 2], rng) for _ in range(5)]))


@pytest.mark.long
def test_it_times_epochs_products_explorations_and_the_start(file):
    result = training.run(SMALL, treebank_file=file, times=2, starts=1)
    measured = result["all_measurements"]
    # Of three epochs in each of two passes, and of three explorations, the first does not count.
    assert {name: len(found) for name, found in measured.items()} == {
        "epoch": 5,
        "products": 5,
        "products_by_torch_mm": 5,
        "exploration": 2,
        "start_up": 1,
    }
    assert all(seconds > 0 for found in measured.values() for seconds in found)
    assert result["epoch_over_products"] > 1
    assert 0 < result["exploration_percent_of_second_pass"] < 100
    assert "epoch_over_products" in training.as_table(result)


def test_a_treebank_is_repeated_and_without_a_second_pass_there_is_no_exploration(file, tmp_path):
    (tmp_path / "empty.conllu").touch()
    with pytest.raises(ValueError, match="no words to repeat"):
        training.write_repeated(tmp_path / "empty.conllu", 5, tmp_path / "longer.conllu")
    result = training.run([*SMALL, "column=2"], treebank_file=file, times=1, starts=0, words=40)
    assert "exploration_percent_of_second_pass" not in result
    assert set(result["median_seconds"]) == {"epoch", "products", "products_by_torch_mm"}
    assert result["words"] == 45
    assert result["epoch_seconds_of_a_million_words"] == pytest.approx(
        result["median_seconds"]["epoch"] / 45 * 1e6
    )
    assert 50 < result["peak_memory_megabytes"] < 100_000
    units = {name: unit for name, (_, unit) in training.quantities(result).items()}
    assert (units["peak_memory_megabytes"], units["epoch_seconds_of_a_million_words"]) == (
        "MB",
        "s",
    )


def test_a_start_that_fails_says_why(tmp_path, monkeypatch):
    def run(command: list[str], **_) -> subprocess.CompletedProcess[str]:
        assert command[:3] == [sys.executable, "-m", "scripts.benchmarks.first_update"]
        return script("scripts/benchmarks/first_update.py", *command[3:])

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(ValueError, match=r"nowhere.conllu: there is no such file"):
        training.start_up(
            [f"treebank.train={tmp_path}/nowhere.conllu", "treebank.dev=null", "treebank.test=null"]
        )


class Noted:
    """A product that notes the sizes of what it multiplies."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def __call__(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        self.shapes.append((*a.shape, len(b)))
        return a @ b.t()


@pytest.mark.parametrize("embedded", [{}, {"form": False}, {"form": True}])
def test_the_products_are_those_of_an_epochs_updates(embedded):
    slots = slots_of({"form": ["s0", "b0"], "upos": ["s0"]})
    embeddings = {name: Embedding(3, trained) for name, trained in embedded.items()}
    n_values = {"form": 9, "upos": 4}
    tokens = AttributeEmbeddings(list(n_values), Embeddings(embeddings, n_values))
    classifier = Classifier(tokens, slots, n_values, MlpSpec(8, "relu", 0.0, 0.0, 0.0), n_outputs=5)
    training.seconds_of_products(classifier, 17, 7, note := Noted())
    of_batch = [(7, 8, 5), (5, 7, 8), (7, 5, 8)]
    if embedded:
        of_batch += [(7, 6, 8), (8, 7, 6)]
    if embedded.get("form"):
        of_batch += [(7, 8, 6)]
    of_last = [tuple(3 if side == 7 else side for side in shape) for shape in of_batch]
    assert note.shapes == of_batch * 2 + of_last


def test_the_products_of_an_encoder_are_those_of_its_updates():
    """Sentences of 2 to 4 words, two in a batch; the first batch by hand."""
    # 2 layers of 3 units over inputs of 5 numbers, 5 hidden units, 2 slots that read tokens
    model = small_model("contextual")
    lengths = np.array([4, 2, 3, 3])
    batches = list(batches_of(lengths, examples=24, batch_size=12))
    assert [(found.tolist(), examples) for found, examples in batches] == [
        ([3, 4], 10),
        ([4, 5], 14),
    ]
    steps, tokens, hidden, outputs = 4, 7, 5, model.n_outputs
    expected = []
    for width in (5, 6):
        of_direction = [(steps * 2, width, 12), (steps * 2, 12, width), (12, steps * 2, width)]
        of_direction += [(2, 3, 12), (2, 12, 3)] * steps + [(12, steps * 2, 3)]
        expected += of_direction * 2
    expected += [(tokens, 6, hidden), (tokens, hidden, 6), (hidden, tokens, 6)] * 2
    expected += [(10, hidden, outputs), (10, outputs, hidden), (outputs, 10, hidden)]
    assert list(products_of(model.classifier, *batches[0])) == expected
    assert training.seconds_of_encoder(model.classifier, lengths, 24, 12, note := Noted()) > 0
    assert note.shapes[: len(expected)] == expected


def test_the_share_of_the_explorations_is_that_of_the_whole_pass():
    second_pass = ["second_pass.epochs=20", "second_pass.explore_every="]
    assert training.exploration_percent(
        1.0, 1.0, settings(second_pass[0], second_pass[1] + "0")
    ) == pytest.approx(100 / 21)
    assert training.exploration_percent(
        1.0, 1.0, settings(second_pass[0], second_pass[1] + "7")
    ) == pytest.approx(300 / 23)
