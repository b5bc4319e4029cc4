"""How fast training is: optimal-step benchmark training [KEY=VALUE ...] [--treebank-file FILE].

The settings are those of scripts/train.py. It trains for some epochs of both passes, and measures
in one process, in turn, once an epoch:

* an epoch of updates, without making the examples;
* only the matrix products of these updates, by the same library and by torch.mm, for an MLP with
  the vectors of all slots concatenated. An MLP whose vectors are trained needs a fifth of these
  products (parser/training/compiled/embedded_layer.py), so an epoch may take less time than they
  do;
* an exploration of the second pass, with the oracle; and its share of the time of a second pass
  (explorations and epochs, without evaluation) of the length that the settings say.

The start-up time of scripts/train.py is measured from the start of a new process to the end of its
first update. Medians are reported; compiled kernels are in their caches.

With --words N, the treebank is repeated until it has N words. This shows the memory that a large
treebank needs, and, with different N, whether the time of an epoch grows no faster than the words
(seconds per epoch for a million words).
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from oracles.errors import OptimalStepError
from parser.kernels.torch_products import product
from parser.model.trained_model import TrainedModel
from parser.networks.bilstm import BiLSTM
from parser.networks.classifier import Classifier
from parser.settings import Settings
from parser.settings.overrides import training_settings
from parser.settings.paths import override
from parser.settings.plan import ExplorationPlan, GoldPlan, plan
from parser.storage import versions
from parser.training import run as training_run
from parser.training.observers import EpochEnd, ExplorationEnd, Observer, RunStart
from parser.transitions.features import TOKEN
from scripts.benchmarks.first_update import AFTER_UPDATE
from scripts.benchmarks.measurements import machine, peak_megabytes

# Its exit status says whether the run came to its first update.
_FIRST_UPDATE = "scripts.benchmarks.first_update"

Product = Callable[[Tensor, Tensor], Tensor]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``run``."""
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="KEY=VALUE",
        help="settings, such as treebank=hu recipe=paper",
    )
    parser.add_argument("--treebank-file", metavar="FILE", help="train on this CoNLL-U file")
    parser.add_argument(
        "--words", type=int, metavar="N", help="repeat the treebank until it has this many words"
    )
    parser.add_argument(
        "--times", type=int, default=5, help="epochs of each pass that are measured (default 5)"
    )
    parser.add_argument(
        "--starts", type=int, default=3, help="how often start-up is measured (default 3)"
    )


def run(
    overrides: Sequence[str] = (),
    treebank_file: str | None = None,
    times: int = 5,
    starts: int = 3,
    words: int | None = None,
) -> dict[str, Any]:
    """Measure.

    Args:
        overrides: settings of scripts/train.py.
        treebank_file: CoNLL-U to train on, in place of the settings' treebank.
        times: epochs of each pass that are measured.
        starts: how often start-up is measured.
        words: the treebank is repeated until it has this many words; None: it is not.

    Raises:
        OptimalStepError: invalid settings, or a process that did not come to its first update.
    """
    if words is not None:
        source = Path(treebank_file or str(training_settings(overrides).treebank.train))
        with tempfile.TemporaryDirectory() as folder:
            longer = Path(folder) / source.name
            n_words = write_repeated(source, words, longer)
            longer_result = run(overrides, str(longer), times, starts)
        seconds_of_a_million = longer_result["median_seconds"]["epoch"] / n_words * 1e6
        return longer_result | {
            "words": n_words,
            "epoch_seconds_of_a_million_words": seconds_of_a_million,
        }
    alone = ["treebank.dev=null", "treebank.test=null"]
    own_settings = (
        [] if treebank_file is None else [override("treebank.train", treebank_file), *alone]
    )
    whole = [*overrides, *own_settings]
    seconds = measure(whole, times)
    seconds["start_up"] = [start_up(whole) for _ in range(starts)]
    medians = {
        name: statistics.median(times_of_kind)
        for name, times_of_kind in seconds.items()
        if times_of_kind
    }
    settings = training_settings(whole)
    result: dict[str, Any] = {
        "overrides": whole,
        "recipe": settings.recipe,
        "threads": settings.threads,
        "median_seconds": medians,
        "epoch_over_products": ratio(seconds["epoch"], seconds["products"]),
        "epoch_over_products_by_torch_mm": ratio(seconds["epoch"], seconds["products_by_torch_mm"]),
    }
    if "exploration" in medians:
        result["exploration_percent_of_second_pass"] = exploration_percent(
            medians["exploration"], medians["epoch"], settings
        )
    result["peak_memory_megabytes"] = peak_megabytes()
    return result | {"all_measurements": seconds, "machine": machine(), "versions": versions()}


def write_repeated(source: Path, words: int, target: Path) -> int:
    """Write a CoNLL-U file repeated until it has at least this many words; return how many it has.

    Raises:
        OptimalStepError: the file has no words.
    """
    text = source.read_bytes().rstrip(b"\n") + b"\n\n"
    held = sum(line.partition(b"\t")[0].isdigit() for line in text.splitlines())
    if not held:
        raise OptimalStepError(f"{source}: there are no words to repeat; name a treebank")
    times = math.ceil(words / held)
    with target.open("wb") as file:
        for _ in range(times):
            file.write(text)
    return times * held


def as_table(result: dict[str, Any]) -> str:
    """Return the result as a table."""
    return "\n".join(f"{name:36} {value:10.4f}" for name, (value, _) in quantities(result).items())


def quantities(result: dict[str, Any]) -> dict[str, tuple[float, str]]:
    """Return the values and units of the rows: median seconds, and ratios."""
    values = {name: (seconds, "s") for name, seconds in result["median_seconds"].items()}
    units = {name: _unit(name) for name, value in result.items() if isinstance(value, float)}
    return values | {name: (result[name], unit) for name, unit in units.items()}


def _unit(name: str) -> str:
    if "percent" in name:
        return "%"
    return "MB" if "memory" in name else "s" if "seconds" in name else "ratio"


def measure(overrides: list[str], times: int) -> dict[str, list[float]]:
    """Return seconds of epochs, of their products, and of explorations;
    the first of each does not count.
    """
    shorter = [
        f"first_pass.epochs={times + 1}",
        f"second_pass.epochs={times + 1}",
        "second_pass.explore_every=1",
    ]
    settings = training_settings([*overrides, *shorter, "treebank.dev=null", "treebank.test=null"])
    seconds: dict[str, list[float]] = {
        "epoch": [],
        "products": [],
        "products_by_torch_mm": [],
        "exploration": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        training_run.train(plan(settings), Path(folder), [_Measurements(seconds)])
    return {name: times_of_kind[1:] for name, times_of_kind in seconds.items()}


class _Measurements(Observer):
    """Records the seconds of epochs and explorations, and repeats the matrix products of each epoch
    right after it.
    """

    def __init__(self, seconds: dict[str, list[float]]) -> None:
        self._seconds = seconds

    def on_start(self, start: RunStart) -> None:
        if not isinstance(start.model, TrainedModel):
            raise OptimalStepError(
                f"model={start.plan.labels['model']} multiplies no matrices; "
                "benchmark model=mlp or model=bilstm"
            )
        passes = [
            pass_plan
            for pass_plan in start.plan.passes
            if isinstance(pass_plan, GoldPlan | ExplorationPlan)
        ]
        self._classifier, self._batch_size = start.model.classifier, passes[0].optimizer.batch_size
        self._lengths = {
            pass_plan.name: np.array(
                [len(sentence) for sentence in start.corpus.sentences(pass_plan.trees)]
            )
            for pass_plan in passes
        }

    def on_exploration(self, exploration: ExplorationEnd) -> None:
        self._seconds["exploration"].append(exploration.seconds)

    def on_epoch(self, epoch: EpochEnd) -> None:
        self._seconds["epoch"].append(epoch.fit_seconds)
        for name, multiply in (
            ("products", product),
            ("products_by_torch_mm", lambda a, b: a @ b.t()),
        ):
            if self._classifier.tokens.contextual:
                lengths = self._lengths[epoch.pass_name]
                seconds = seconds_of_encoder(
                    self._classifier, lengths, epoch.examples, self._batch_size, multiply
                )
            else:
                seconds = seconds_of_products(
                    self._classifier, epoch.examples, self._batch_size, multiply
                )
            self._seconds[name].append(seconds)


@torch.no_grad()
def seconds_of_products(
    classifier: Classifier, examples: int, batch_size: int, multiply: Product
) -> float:
    """Return the time of the matrix products of an epoch's updates, forward and backward;
    ``multiply(a, b)`` is a @ b.T.
    """
    output, embedded = classifier.output.weight, classifier.embedded
    weights = torch.empty(len(output[0]), 0) if embedded is None else embedded.weight
    trained = any(matrix.requires_grad for matrix in classifier.tokens.embeddings.vectors.values())
    whole, rest = divmod(examples, batch_size)
    start = time.perf_counter()
    for size, batches in ((batch_size, whole), (rest, int(rest > 0))):
        inputs = torch.zeros(size, weights.shape[1])
        hidden, by_score = torch.zeros(size, output.shape[1]), torch.zeros(size, output.shape[0])
        for _ in range(batches):
            multiply(hidden, output)
            multiply(by_score.t(), hidden.t())
            multiply(by_score, output.t())
            if embedded is not None:
                multiply(inputs, weights)
                multiply(hidden.t(), inputs.t())
                if trained:
                    multiply(hidden, weights.t())
    return time.perf_counter() - start


@torch.no_grad()
def seconds_of_encoder(
    classifier: Classifier, lengths: np.ndarray, examples: int, batch_size: int, multiply: Product
) -> float:
    """Return the time of the matrix products for a classifier with an encoder; see products_of().

    Args:
        classifier, examples, batch_size, multiply: as in seconds_of_products().
        lengths: int[sentences], the number of words of each sentence.
    """
    batches = list(batches_of(lengths, examples, batch_size))
    left = torch.zeros(
        max(max(m * k, n * k) for batch in batches for m, k, n in products_of(classifier, *batch))
    )
    right = torch.zeros_like(left)
    start = time.perf_counter()
    for batch in batches:
        for m, k, n in products_of(classifier, *batch):
            multiply(left[: m * k].view(m, k), right[: n * k].view(n, k))
    return time.perf_counter() - start


def ratio(dividends: list[float], divisors: list[float]) -> float:
    """Return the median ratio of measurements that were made alternately."""
    return statistics.median(a / b for a, b in zip(dividends, divisors, strict=True))


def exploration_percent(exploration: float, epoch: float, settings: Settings) -> float:
    """Return the percentage of a second pass's time that explorations take, from the seconds of one
    exploration and one epoch.
    """
    epochs, every = settings.second_pass.epochs, settings.second_pass.explore_every
    explorations = math.ceil(epochs / every) * exploration if every else exploration
    return 100 * explorations / (explorations + epochs * epoch)


def start_up(overrides: list[str]) -> float:
    """Return the seconds from the start of a process to the end of its first update.

    Raises:
        OptimalStepError: the process ended otherwise; the message has its output.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            _FIRST_UPDATE,
            *overrides,
            override("hydra.run.dir", folder),
        ]
        start = time.perf_counter()
        process = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace")
        seconds = time.perf_counter() - start
    if process.returncode != AFTER_UPDATE:
        raise OptimalStepError(
            f"scripts/train.py did not come to its first update: {process.stderr.strip()[-2000:]}"
        )
    return seconds


Shape = tuple[int, int, int]
"""The shape (m, k, n) of a product: float32[m, k] times float32[k, n]."""


def batches_of(
    lengths: np.ndarray, examples: int, batch_size: int
) -> Iterator[tuple[np.ndarray, int]]:
    """Yield batches as in SentenceObjective, without its noise: the number of tokens of each
    sentence, with the root, and the number of examples.

    Args:
        lengths: int[sentences], the number of words of each sentence of an epoch.
        examples: the number of examples of an epoch, the same for each word.
        batch_size: the approximate number of examples of a batch.
    """
    ordered = np.sort(lengths)
    ends = np.cumsum(ordered) * (examples / ordered.sum())
    numbers = (np.ceil(ends).astype(np.int64) - 1) // batch_size
    for batch in np.split(ordered, np.flatnonzero(np.diff(numbers)) + 1):
        yield batch + 1, round(float(batch.sum()) * examples / ordered.sum())


def products_of(classifier: Classifier, lengths: np.ndarray, examples: int) -> Iterator[Shape]:
    """Yield the matrix products of a batch's update of a classifier with an encoder,
    forward and backward.

    A batch holds whole sentences of similar lengths, as in SentenceObjective. In each layer and
    direction, inputs are multiplied by their weights for all tokens at once, and states step by
    step; the backward pass has the derivatives with respect to inputs and weights. Products for
    characters and tags are left out, so they appear as overhead.

    Args:
        classifier: a classifier with an encoder.
        lengths: int[sentences], the number of tokens of each sentence, with the root.
        examples: the number of examples of all sentences.
    """
    tokens = classifier.tokens
    assert isinstance(tokens, BiLSTM)
    steps, sentences = int(lengths.max()), len(lengths)
    for layer in cast(Iterable[nn.LSTM], tokens.forwards):
        width, hidden = layer.input_size, layer.hidden_size
        for _ in range(2):  # directions
            yield from _both_ways(steps * sentences, width, 4 * hidden)
            yield from [(sentences, hidden, 4 * hidden), (sentences, 4 * hidden, hidden)] * steps
            yield 4 * hidden, steps * sentences, hidden
    output = classifier.output.weight
    for name, _, weights in classifier.slot_weights():
        values = int(lengths.sum()) if name == TOKEN else len(tokens.embeddings.vectors[name])
        yield from _both_ways(values, weights.shape[1], len(weights))
    yield from _both_ways(examples, output.shape[1], output.shape[0])


def _both_ways(m: int, k: int, n: int) -> Iterable[Shape]:
    """Return a product and the products of its derivatives."""
    return (m, k, n), (m, n, k), (n, m, k)
