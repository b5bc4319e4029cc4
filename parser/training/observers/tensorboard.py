"""The events of a run for TensorBoard: curves; the settings as text; final metrics beside the
settings in which runs differ; some trees of the dev split after each epoch; and figures after each
pass: LAS by distance of the head and by relation, and confusions of relations (by matplotlib, from
the extra ``experiments``).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict
from functools import wraps
from importlib.util import find_spec
from itertools import chain, compress
from typing import TYPE_CHECKING, Any

import numpy as np
from omegaconf import OmegaConf

from parser.conllu.checks import UNKNOWN_HEAD
from parser.data.sentences import Parses
from parser.decoding.search import GREEDY, SearchWish, search_for
from parser.drawing import DrawnTree, as_text
from parser.evaluation.gold_split import GoldSplit
from parser.settings.paths import escaped
from parser.storage import naming
from parser.training.observers import (
    EpochEnd,
    ExplorationEnd,
    Observer,
    PassEnd,
    PassStart,
    RunStart,
    SearchEnd,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from tensorboard.compat.proto.summary_pb2 import Summary
    from torch.utils.tensorboard import SummaryWriter

log = logging.getLogger(__name__)

# The columns of the HPARAMS tab: the settings in which compared runs often differ.
# The text tab has all settings.
COMPARED = (
    "treebank.name",
    "recipe",
    "seed",
    "oracle",
    "column",
    "strategy",
    "system",
    "degree",
    "model",
    "online.mode",
    "second_pass.trees",
    "second_pass.policy",
    "beam.name",
    "classifier.hidden",
    "optimizer.learning_rate",
)

_MOST = 20  # relations in a figure
_FURTHEST = 10  # all longer distances count as this one


def _writing(hook: Callable[..., None]) -> Callable[..., None]:
    """Give a hook the file of events, if there is one. Errors of that file do not name it, so the
    folder's name is added.
    """

    @wraps(hook)
    def told(self: TensorBoard, *event: Any) -> None:
        if self._writer is not None:
            with naming(self._start.folder):
                hook(self, self._writer, *event)

    return told


class TensorBoard(Observer):
    """A writer of the events to the run's folder. A step is an epoch;
    epochs are counted through all passes.

    The curves: train/loss (nats per example), train/learning_rate, train/words_per_second, dev/las
    and dev/uas (percentages), exploration/* (see ExplorationReport), search/* (see SearchReport),
    and pass, the number of the pass from 1. ``Plan.tensorboard`` chooses what the other tabs have:
    trees in TEXT, figures in IMAGES.
    """

    _start: RunStart
    _compared: dict[str, Any]
    _swept: list[str]

    def __init__(self) -> None:
        self._writer: SummaryWriter | None = None
        self._step = 0
        self._pass = 0

    def on_start(self, start: RunStart) -> None:
        """Open the file; events of epochs that an interrupted process did not finish are
        dropped.
        """
        from torch.utils.tensorboard import SummaryWriter  # a slow import, and only runs need it

        self._start = start
        self._step = start.epochs_done
        settings = OmegaConf.create(escaped(start.manifest.settings))
        self._swept = [
            f"{key}.name" if _has_name(settings, key) else key for key in start.plan.swept
        ]
        self._compared = {
            key: _shown(OmegaConf.select(settings, key)) for key in (*COMPARED, *self._swept)
        }
        self._compared["column"] = str(self._compared["column"])  # a name, not a quantity
        with naming(start.folder):
            self._writer = SummaryWriter(str(start.folder), purge_step=start.epochs_done)
            self._writer.add_text("settings", _preformatted(OmegaConf.to_yaml(settings)), 0)

    def on_pass_start(self, start: PassStart) -> None:
        self._pass = start.number

    @_writing
    def on_exploration(self, writer: SummaryWriter, exploration: ExplorationEnd) -> None:
        """Record the report at the next epoch."""
        self._record(
            writer,
            {f"exploration/{key}": value for key, value in asdict(exploration.report).items()},
        )

    @_writing
    def on_search(self, writer: SummaryWriter, search: SearchEnd) -> None:
        """Record statistics of the epoch's searches."""
        self._record(
            writer, {f"search/{key}": value for key, value in asdict(search.report).items()}
        )

    @_writing
    def on_epoch(self, writer: SummaryWriter, epoch: EpochEnd) -> None:
        curves = {
            "train/loss": epoch.loss,
            "train/learning_rate": epoch.learning_rate,
            "train/words_per_second": epoch.words / max(epoch.fit_seconds, 1e-9),
            "pass": self._pass,
        }
        if epoch.dev is not None:
            curves |= {f"dev/{key}": epoch.dev[key] for key in ("las", "uas") if key in epoch.dev}
        self._record(writer, curves)
        self._draw_trees(writer)
        self._step += 1

    @_writing
    def on_pass(self, writer: SummaryWriter, end: PassEnd) -> None:
        """Draw figures of the dev split, parsed with the weights that the pass keeps."""
        gold, model = self._start.corpus.dev, self._start.model
        if gold is None or not (self._start.plan.tensorboard.figures and gold.labelled.any()):
            return
        if find_spec("matplotlib") is None:
            log.info("no figures for TensorBoard without matplotlib: pip install matplotlib")
            return
        parses = search_for(model, SearchWish(model.beam or GREEDY)).parse(
            gold.sentences, single_root=self._start.plan.single_root
        )
        for name, figure in figures(gold, parses, model.relations.symbols).items():
            writer.add_figure(name, figure, self._step - 1)

    @_writing
    def on_end(self, writer: SummaryWriter, metrics: dict[str, Any]) -> None:
        """Record final metrics, and the compared settings as hyperparameters."""
        splits = {split: metrics[split] or {} for split in ("dev", "test")}
        final = {
            f"final/{split}_{key}": scores[key]
            for key in ("las", "uas")
            for split, scores in splits.items()
            if key in scores
        }
        # TensorBoard takes the first experiment of a run. So this one comes before that of
        # add_hparams(), which does not say which settings differ.
        experiment = _experiment(self._compared, final, self._swept)
        writer.file_writer.add_summary(experiment)  # type: ignore[attr-defined]  # torch declares that there is none
        writer.add_hparams(self._compared, final, run_name=".")

    @_writing
    def close(self, writer: SummaryWriter) -> None:
        writer.close()

    def _draw_trees(self, writer: SummaryWriter) -> None:
        """Draw the first sentences of dev as the parser parses them now, compared with gold."""
        gold, model = self._start.corpus.dev, self._start.model
        if gold is None or not (most := min(self._start.plan.tensorboard.trees, len(gold.source))):
            return
        parses = search_for(model, SearchWish(model.beam or GREEDY)).parse(
            gold.sentences.span(0, most), single_root=self._start.plan.single_root
        )
        for number, sentence in enumerate(gold.source[:most]):
            words = slice(int(parses.offsets[number]) + 1, int(parses.offsets[number + 1]))
            deprels = [
                model.relations.symbols[relation] for relation in parses.relations[words].tolist()
            ]
            heads = parses.heads[words].tolist()
            # where the gold head is unknown, the parser's is drawn
            is_known = [head != UNKNOWN_HEAD for head in sentence.heads]
            gold_heads = [
                head if has_gold else predicted
                for has_gold, head, predicted in zip(is_known, sentence.heads, heads, strict=True)
            ]
            gold_deprels = [
                deprel if has_gold else predicted
                for has_gold, deprel, predicted in zip(
                    is_known, sentence.deprels, deprels, strict=True
                )
            ]
            tree = DrawnTree(
                sentence.forms, sentence.upos, heads, deprels, gold_heads, gold_deprels
            )
            writer.add_text(f"dev/sentence_{number + 1}", _preformatted(as_text(tree)), self._step)

    def _record(self, writer: SummaryWriter, curves: dict[str, float]) -> None:
        for tag, value in curves.items():
            writer.add_scalar(tag, value, self._step)


def _experiment(compared: dict[str, Any], final: dict[str, float], swept: Sequence[str]) -> Summary:
    """Return the columns of the HPARAMS tab. The tab shows the first five; swept settings are
    marked as differing, and so come first.
    """
    from tensorboard.plugins.hparams import metadata, plugin_data_pb2
    from torch.utils.tensorboard.summary import hparams

    summary = hparams(compared, final)[0]
    data = plugin_data_pb2.HParamsPluginData.FromString(
        summary.value[0].metadata.plugin_data.content
    )
    for column in data.experiment.hparam_infos:
        column.differs = column.name in swept
    summary.value[0].metadata.CopyFrom(metadata.create_summary_metadata(data))
    return summary


def _preformatted(text: str) -> str:
    """Return Markdown that shows the text unchanged."""
    return "".join(f"    {line}\n" for line in text.splitlines())


def _has_name(settings: Any, key: str) -> bool:
    """Return whether a setting is a group that is chosen by name,
    such as ``treebank`` or ``beam``.
    """
    group = OmegaConf.select(settings, key)
    return OmegaConf.is_dict(group) and "name" in group


def _shown(value: Any) -> str | float | bool:
    """Return a value that TensorBoard accepts: a number, a string in UTF-8 or a truth value."""
    return (
        value
        if isinstance(value, bool | int | float)
        else str(value).encode("utf-8", "replace").decode()
    )


def figures(gold: GoldSplit, parses: Parses, relations: Sequence[str]) -> dict[str, Figure]:
    """Return the figures by name.

    Args:
        gold: the dev split.
        parses: the trees that the parser made for it.
        relations: the parser's relations, by number.
    """
    counted = gold.labelled.tolist()
    deprels = list(
        compress(chain.from_iterable(sentence.deprels for sentence in gold.source), counted)
    )
    correct = gold.correct(parses)[1].astype(bool)[gold.labelled]
    by_relation = _shares(deprels, correct)
    common = dict(sorted(by_relation.items(), key=lambda item: -item[1][1])[:_MOST])
    predicted = [relations[number] for number in gold.word_arcs(parses)[1][gold.labelled].tolist()]
    by_distance = _shares(list(compress(_distances(gold), counted)), correct)
    return {
        "dev/las_by_distance": _bars(by_distance, "words from the head (0: the root)"),
        "dev/las_by_relation": _bars(common, "gold relation"),
        "dev/confusion": _confusion(
            Counter(zip(deprels, predicted, strict=True)), list(map(str, common))
        ),
    }


def _distances(gold: GoldSplit) -> list[int]:
    numbers = chain.from_iterable(range(1, len(sentence) + 1) for sentence in gold.source)
    pairs = zip(numbers, gold.heads.tolist(), strict=True)
    return [min(abs(head - number), _FURTHEST) if head else 0 for number, head in pairs]


def _shares(groups: Sequence[Hashable], correct: np.ndarray) -> dict[Hashable, tuple[float, int]]:
    """Return for each group, in order, the percentage of its words that are right, and how many
    words it has.
    """
    totals = Counter(groups)
    right = Counter(group for group, is_right in zip(groups, correct, strict=True) if is_right)
    return {
        group: (100 * right[group] / total, total)
        for group, total in sorted(totals.items(), key=lambda item: str(item[0]))
    }


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure  # slow to load, and an extra

    return Figure(figsize=(width, height), layout="constrained")


def _bars(shares: Mapping[Hashable, tuple[float, int]], title: str) -> Figure:
    names = list(shares)
    if all(isinstance(name, int) for name in names):
        names.sort(key=lambda name: int(str(name)))
    figure = _figure(7, 0.8 + 0.28 * len(names))
    axes = figure.add_subplot()
    places = range(len(names))
    axes.barh(places, [shares[name][0] for name in names], color="#8fb3d9")
    for place, name in zip(places, names, strict=True):
        axes.text(
            1, place, f"{shares[name][0]:.1f}  ({shares[name][1]:,} words)", va="center", fontsize=8
        )
    labels = [f"{name} or more" if name == _FURTHEST else str(name) for name in names]
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("LAS")
    axes.set_ylabel(title)
    return figure


def _confusion(counts: Counter[tuple[str, str]], names: list[str]) -> Figure:
    matrix = np.array([[counts[gold, system] for system in names] for gold in names], float)
    totals = Counter[str]()
    for (gold, _), n in counts.items():
        totals[gold] += n
    shares = matrix / np.array([[totals[gold]] for gold in names])
    figure = _figure(1.5 + 0.38 * len(names), 1.2 + 0.38 * len(names))
    axes = figure.add_subplot()
    # the square root makes rare errors visible
    axes.imshow(np.sqrt(shares), cmap="Blues", vmin=0, vmax=1)
    for row, column in zip(*np.nonzero(matrix), strict=True):
        color = "white" if shares[row, column] > 0.4 else "black"
        axes.text(
            column,
            row,
            f"{matrix[row, column]:.0f}",
            ha="center",
            va="center",
            fontsize=6,
            color=color,
        )
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("parser")
    axes.set_ylabel("gold")
    return figure
