"""Speed of the oracles: optimal-step benchmark oracles [FILE.conllu ...] [OPTIONS].

It reports how many CPU microseconds the scores of all three steps of a configuration take, within
batch calls on one thread: for configurations with k + m = 10, 20, ..., and as a mean over whole
computations. Computations are random and take an optimal step with probability 0.9, or with
--models they are the explorations of trained parsers. The trees are those of the files, or random
without a file, original and projectivized.

It also reports whether all oracles give equal scores, and the time to projectivize a tree. For the
oracles of other systems, and for context_rows with any strategy, it reports the mean time over
whole random computations, on original trees, or on projectivized trees if the oracle needs them.
attardi_search is exponential in the worst case. So random trees for these oracles have at most 60
tokens, and trees on which it gives up are left out and counted.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import oracles
from oracles import Oracle, Query, Trees
from oracles.arc_standard.nederhof_cubic import NederhofCubic
from oracles.attardi.search import SearchLimitError
from oracles.errors import OptimalStepError
from parser import transitions
from parser.data.treebank import Sentence, read_treebank
from parser.model.trained_model import TrainedModel
from parser.storage import versions
from parser.transitions.decisions import best, query
from scripts.benchmarks.measurements import machine
from scripts.benchmarks.random_computations import aligned_at, computations_of, random_computations
from scripts.benchmarks.random_computations import random_trees as draw_trees

SIZES = (10, 20, 40, 60, 80, 100)

# Computations that are timed together; if a treebank has fewer sentences of a size,
# sentences are used several times.
COMPUTATIONS_PER_SIZE = 200

# Tokens of the longest random tree for the oracles of other systems.
LONGEST_FOR_SYSTEMS = 60

# Sentences for the means over whole computations; the slowest oracle gets fewer.
SENTENCES = 2000
SENTENCES_FROM_NOTHING = 100

FROM_NOTHING = "nederhof_cubic from nothing"

# Scores of static are not numbers of arcs; arc_standard_tabular is the reference implementation,
# written to be read.
NOT_TIMED = ("static", "arc_standard_tabular")

# Transition system, options and oracle, by name in the tables. With degree 1, attardi_search gives
# up on a few non-projective trees.
OF_SYSTEMS: dict[str, tuple[str, dict[str, int], str]] = {
    "context_rows": ("arc_standard", {}, "context_rows"),
    "attardi_search, degree 2": ("attardi", {"degree": 2}, "attardi_search"),
    "attardi_search, degree 3": ("attardi", {"degree": 3}, "attardi_search"),
    "lr_spine_chart": ("lr_spine", {}, "lr_spine_chart"),
    "pointer_cycles": ("pointer", {}, "pointer_cycles"),
    "arc_hybrid_rows": ("arc_hybrid", {}, "arc_hybrid_rows"),
    "arc_hybrid_local": ("arc_hybrid", {}, "arc_hybrid_local"),
    "arc_eager_rows": ("arc_eager", {}, "arc_eager_rows"),
    "arc_eager_rows, nonmonotonic": ("arc_eager", {"nonmonotonic": 1}, "arc_eager_rows"),
    "arc_eager_local": ("arc_eager", {}, "arc_eager_local"),
    "covington_loss": ("covington", {}, "covington_loss"),
}


@dataclass(frozen=True)
class How:
    """How to measure; see ``run``."""

    strategy: str
    optimal_probability: float
    sizes: tuple[int, ...]
    repeats: int
    seed: int


def contenders(strategy: str, projective: bool) -> dict[str, Callable[[], Oracle]]:
    """Return the oracles that are exact on such trees: for each name, a function that creates the
    oracle.
    """
    names = [name for name in oracles.names(any_gold=not projective) if name not in NOT_TIMED]
    cubic = lambda: NederhofCubic(strategy, drop_non_critical=False, share_chart=False)  # noqa: E731
    return {name: lambda name=name: oracles.create(name, strategy) for name in names} | {
        FROM_NOTHING: cubic
    }


def time_batches(
    oracle: Oracle, trees: Trees, before: list[Query], timed: list[Query], repeats: int
) -> float:
    """Return CPU microseconds per configuration of the batches ``timed``, scored after ``before``;
    the median of repeats.
    """
    configurations = sum(map(len, timed))
    results = []
    for _ in range(repeats):
        bound = oracle.bind(trees)
        for batch in before:
            bound.score_batch(batch)
        start = time.thread_time()
        for batch in timed:
            bound.score_batch(batch)
        results.append((time.thread_time() - start) / configurations * 1e6)
    return float(np.median(results))


def growth(by_size: dict[int, float]) -> dict[str, float]:
    """Fit by least squares: time ~ (k + m)^exponent, and time ~ factor^((k + m) / 10),
    the geometric growth.
    """
    sizes = np.array(list(by_size), float)
    times = np.log(list(by_size.values()))
    exponent = float(np.polyfit(np.log(sizes), times, 1)[0])
    return {
        "exponent": exponent,
        "factor_per_10": math.exp(10 * float(np.polyfit(sizes, times, 1)[0])),
    }


def differing(
    oracle: Oracle, reference: Oracle, trees: Trees, batches: list[Query]
) -> dict[str, int]:
    """Count the configurations, and those in which the two oracles give different scores."""
    first, second = oracle.bind(trees), reference.bind(trees)
    counts = [(first.score_batch(b) != second.score_batch(b)).any(axis=1).sum() for b in batches]
    return {"configurations": sum(map(len, batches)), "differing": int(sum(counts))}


def measure(
    trees: Trees, projective: bool, how: How, explored: list[Exploration] | None
) -> dict[str, Any]:
    """Measure all contenders on one kind of trees: {name: {"by_size", "mean",
    "growth", "against_cubic"}}.

    ``explored``: the computations to follow, one for each tree; None: random computations.
    """
    guide = oracles.create("nederhof_linear" if projective else "context_rows", how.strategy)
    rng = np.random.default_rng(how.seed)

    def computations(chosen: np.ndarray) -> tuple[Trees, list[Query]]:
        subset = trees.select(chosen)
        if explored is not None:
            return subset, batched([explored[s] for s in chosen])
        return subset, random_computations(
            subset, guide.bind(subset), how.optimal_probability, how.seed
        )

    sizes = [size for size in how.sizes if (trees.lengths >= size).any()]
    at_size = {}
    for size in sizes:
        long_enough = np.flatnonzero(trees.lengths >= size)
        subset, batches = computations(
            np.resize(rng.permutation(long_enough), COMPUTATIONS_PER_SIZE)
        )
        before, at = aligned_at(batches, subset.lengths, size)
        # Work that an oracle does when it first sees a sentence counts in the means, not here.
        at_size[size] = subset, batches[:1] + before, at
    some, whole = computations(rng.permutation(len(trees))[:SENTENCES])
    few, fewer = computations(rng.permutation(len(trees))[:SENTENCES_FROM_NOTHING])

    results = {}
    for name, create in contenders(how.strategy, projective).items():
        oracle = create()
        slow = name == FROM_NOTHING
        repeats = 1 if slow else how.repeats
        time_batches(oracle, few, [], fewer[:1], 1)  # compiles, or loads what was compiled
        by_size = {}
        for size, (subset, before, at) in at_size.items():
            # Only context_rows needs the earlier configurations.
            by_size[size] = time_batches(
                oracle, subset, before if name == "context_rows" else [], at, repeats
            )
        mean = (
            time_batches(oracle, few, [], fewer, repeats)
            if slow
            else time_batches(oracle, some, [], whole, repeats)
        )
        whole_or_few = (few, fewer) if slow else (some, whole)
        agreement = differing(oracle, oracles.create("nederhof_cubic", how.strategy), *whole_or_few)
        results[name] = {"by_size": by_size, "mean": mean, "against_cubic": agreement}
        if len(by_size) >= 2:
            results[name]["growth"] = growth(by_size)
    return results


def measure_systems(trees: Trees, how: How) -> dict[str, dict[str, float]]:
    """Return, by name of OF_SYSTEMS, the mean over whole random computations,
    and the number of their configurations.

    If an oracle gives up on some trees, their number is there as well, as ``left_out``.
    """
    some = trees.select(np.random.default_rng(how.seed).permutation(len(trees))[:SENTENCES])
    by_name = {}
    for name, (system_name, options, oracle_name) in OF_SYSTEMS.items():
        system, oracle = (
            transitions.create(system_name, 1, None, **options),
            oracles.create(oracle_name, "any", **options),
        )
        used = oracles.projectivize_trees(some) if oracle.needs_projective_gold else some
        left_out = 0
        while True:
            steps = computations_of(
                used, system, oracle.bind(used), how.optimal_probability, how.seed
            )
            try:
                batches = [query(numbers, now) for numbers, now in steps]
                break
            except SearchLimitError as error:
                used, left_out = (
                    used.select(np.delete(np.arange(len(used)), error.sentence)),
                    left_out + 1,
                )
        mean = time_batches(oracle, used, [], batches, how.repeats)
        by_name[name] = {"mean": mean, "configurations": sum(map(len, batches))} | (
            {"left_out": left_out} if left_out else {}
        )
    return by_name


def projectivization(trees: Trees, repeats: int) -> dict[str, float]:
    """Return milliseconds per non-projective tree, with all trees in one call."""
    sentences = np.flatnonzero(~trees.projective)
    if not len(sentences):
        return {"trees": 0}
    subset = trees.select(sentences)
    result: dict[str, float] = {"trees": len(sentences)}
    for choice in oracles.PROJECTIVIZATIONS:
        oracles.projectivize_trees(subset.select(np.arange(1)), choice)
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            oracles.projectivize_trees(subset, choice)
            times.append(time.perf_counter() - start)
        result[f"milliseconds_per_tree_{choice}"] = float(np.median(times)) / len(sentences) * 1e3
    return result


def as_table(result: dict[str, Any]) -> str:
    """Return the result as a table."""
    lines = [f"microseconds per configuration, {result['strategy']}"]
    for kind in ("projectivized", "original"):
        sizes = sorted({size for entry in result[kind].values() for size in entry["by_size"]})
        columns = "".join(f"{size:>9}" for size in sizes)
        lines.append(
            f"{kind + ' trees, k+m =':32}{columns}{'mean':>9}{'exponent':>10}{'per 10':>8}"
        )
        for name, entry in result[kind].items():
            times = "".join(f"{entry['by_size'].get(size, math.nan):9.2f}" for size in sizes)
            fitted = entry.get("growth", {"exponent": math.nan, "factor_per_10": math.nan})
            growing = f"{fitted['exponent']:10.2f}{fitted['factor_per_10']:7.2f}x"
            lines.append(f"  {name:30}{times}{entry['mean']:9.2f}{growing}")
    lines += [f"all systems, any strategy {'mean':>35}"]
    for name, entry in result["systems"].items():
        without = (
            f"  without {entry['left_out']} trees on which it gave up"
            if "left_out" in entry
            else ""
        )
        lines.append(f"  {name:50}{entry['mean']:9.2f}{without}")
    lines += [f"projectivization: {result['projectivization']}", f"goals: {result['goals']}"]
    return "\n".join(lines)


def goals(result: dict[str, Any]) -> dict[str, float]:
    """Return the numbers for which this project has goals, if the trees are long enough."""
    projectivized, original = result["projectivized"], result["original"]
    reached = {
        "nederhof_linear_mean": projectivized["nederhof_linear"]["mean"],
        "goldberg_tabular_mean": projectivized["goldberg_tabular"]["mean"],
        "context_rows_mean_original": original["context_rows"]["mean"],
        **{
            f"{name}_mean": result["systems"][name]["mean"]
            for name in ("arc_hybrid_rows", "arc_eager_rows")
        },
    }
    linear = projectivized["nederhof_linear"]["by_size"]
    if 10 in linear and 100 in linear:
        reached["nederhof_linear_100_over_10"] = linear[100] / linear[10]
    if 80 in original["context_rows"]["by_size"]:
        ratio = original[FROM_NOTHING]["by_size"][80] / original["context_rows"]["by_size"][80]
        reached["cubic_from_nothing_over_context_rows_at_80"] = ratio
    return reached


def run(
    files: Sequence[str | Path] = (),
    strategy: str = "left_before_right",
    optimal_probability: float = 0.9,
    sizes: Sequence[int] = SIZES,
    repeats: int = 3,
    random_trees: int = 1000,
    longest: int = 120,
    seed: int = 1,
    models: Sequence[Path] | None = None,
) -> dict[str, Any]:
    """Measure.

    Args:
        files: CoNLL-U files with the trees; without files, trees are random.
        strategy: which computations count as optimal.
        optimal_probability: the probability that a computation takes an optimal step.
        sizes: the values of k + m.
        repeats: repetitions, of which the median is taken.
        random_trees: the number of random trees, without files.
        longest: the number of tokens of the longest random tree.
        seed: the seed of random trees and computations.
        models: arc-standard models whose predictions are followed, one for each file; None:
            random computations.

    Raises:
        OptimalStepError: the numbers of models and files differ.
    """
    if models and len(models) != len(files):
        raise OptimalStepError(
            f"--models has {len(models)} folders for {len(files)} files; give one for each file"
        )
    explored: list[Exploration] | None = None
    if files:
        treebanks = [read_treebank(file) for file in files]
        trees = Trees.from_heads(sentence.heads for treebank in treebanks for sentence in treebank)
        if models:
            pairs = zip(models, treebanks, strict=True)
            explored = [
                path
                for folder, treebank in pairs
                for path in explorations(TrainedModel.load(folder), treebank.sentences)
            ]
    else:
        trees = draw_trees(random_trees, longest, seed)
    of_systems = (
        trees if files else draw_trees(random_trees, min(longest, LONGEST_FOR_SYSTEMS), seed)
    )
    projectivized = oracles.projectivize_trees(trees)
    how = How(strategy, optimal_probability, tuple(sizes), repeats, seed)
    result = {
        "machine": machine(),
        "versions": versions(),
        "files": list(map(str, files)),
        "strategy": strategy,
        "optimal_probability": None if models else optimal_probability,
        "models": list(map(str, models or [])),
        "seed": seed,
        "repeats": repeats,
        "sentences": len(trees),
        "words": int(trees.lengths.sum()),
        "nonprojective_percent": 100 * float((~trees.projective).mean()),
        "projectivized": measure(projectivized, True, how, explored),
        "original": measure(trees, False, how, explored),
        "systems": measure_systems(of_systems, how),
        "projectivization": projectivization(trees, repeats),
    }
    result["goals"] = goals(result)
    return result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``run``."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="CoNLL-U, plain, .gz or .xz (default: random trees)",
    )
    parser.add_argument(
        "--strategy",
        default="left_before_right",
        choices=[*map(str, oracles.Strategy)],
        help="default: %(default)s",
    )
    parser.add_argument(
        "--optimal-probability",
        type=float,
        default=0.9,
        help="the probability of an optimal step (default: %(default)s)",
    )
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=SIZES,
        help="the values of k + m (default: 10 20 40 60 80 100)",
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=3,
        help="repetitions, of which the median is taken (default: %(default)s)",
    )
    parser.add_argument(
        "--random-trees",
        type=int,
        default=1000,
        metavar="N",
        help="number of random trees, if there are no files",
    )
    parser.add_argument(
        "--longest", type=int, default=120, metavar="N", help="tokens of the longest random tree"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--models",
        type=Path,
        nargs="+",
        metavar="FOLDER",
        help="follow the predictions of these models, one for each file",
    )


def quantities(result: dict[str, Any]) -> dict[str, tuple[float, str]]:
    """Return the values and units of the rows, by oracle and kind of trees,
    over whole computations and by size.
    """
    values = {}
    for kind in ("projectivized", "original"):
        for name, entry in result[kind].items():
            values[f"{name}, {kind} trees"] = entry["mean"], "us per configuration"
            for size, microseconds in entry["by_size"].items():
                values[f"{name}, {kind} trees, k+m = {size}"] = microseconds, "us per configuration"
    values |= {
        name: (entry["mean"], "us per configuration") for name, entry in result["systems"].items()
    }
    return values


# The configurations of one sentence in order:
# the stack (int32[k + 1]) and the first token of the buffer.
Exploration = list[tuple[np.ndarray, int]]


def explorations(model: TrainedModel, sentences: list[Sentence]) -> list[Exploration]:
    """Return the computation that an arc-standard model predicts for each sentence; the root may
    have several children.
    """
    encoded = model.vocabularies.encode(sentences)
    scorer = model.scorer(encoded)
    numbers = np.arange(len(sentences), dtype=np.int32)
    now = model.system.initial(encoded.lengths)
    by_sentence: list[Exploration] = [[] for _ in sentences]
    while len(rows := model.system.unfinished(now)):
        for row in rows:
            by_sentence[row].append(
                (now.stacks[row, : now.stack_sizes[row]].copy(), int(now.buffer_fronts[row]))
            )
        scores = scorer(model.table.extract(now, rows, encoded, numbers))
        transitions = model.system.transitions(now, rows)
        model.system.apply(now, rows, transitions, *best(model.system, scores, transitions))
    return by_sentence


def batched(chosen: Sequence[Exploration]) -> list[Query]:
    """Return explorations as batches: batch i holds configuration i of each exploration that is
    long enough.
    """
    batches = []
    for i in range(max(map(len, chosen), default=0)):
        rows = [row for row, exploration in enumerate(chosen) if i < len(exploration)]
        now = [chosen[row][i] for row in rows]
        stacks = np.zeros((len(rows), max(len(stack) for stack, _ in now)), np.int32)
        for r, (stack, _) in enumerate(now):
            stacks[r, : len(stack)] = stack
        sizes, fronts = ([len(stack) for stack, _ in now], [front for _, front in now])
        batches.append(
            Query(
                np.array(rows, np.int32),
                stacks,
                np.array(sizes, np.int32),
                np.array(fronts, np.int32),
            )
        )
    return batches
