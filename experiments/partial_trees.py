"""What trees that are known in part teach: LAS against the share of the heads that are known.

    python experiments/partial_trees.py languages=[hu] paths.treebanks=../shared/ud-v2.2

Heads of the training part are hidden by experiments/hiding.py. A parser learns from what is left (treebank.partial=true);
another one learns from as many arcs in whole sentences. ``completed``: the first one parses the file that it has learned from,
with a beam, and keeps the known arcs; one more parser learns from the result. A sentence whose known arcs cannot all be kept
stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from experiments import hiding
from experiments.command import Trainings, check_at_least, check_known
from experiments.engine import Cell, Experiment, check
from experiments.figures import BLUE, GREY, ORANGE, panels, save
from experiments.hiding import ARCS, FEW, SENTENCES, write
from experiments.tables import Key, Row, chosen, grid, markdown, names_of, score
from experiments.trainings import Training, formatted, run_training
from parser.beam_settings import Beam
from parser.conllu.checks import EMPTY, FORM, HEAD
from parser.decoding.files.file_parsing import Keep, OnError, parse_file
from parser.model import loading as models
from parser.settings.paths import override
from parser.storage.atomic import replacing

TRAINED, COMPLETED = METHODS = ("trained", "completed")
_PARTIAL = "treebank.partial=true"
_ALL = "1.0"

# Of a line of the plot: what is known and the method, its label, and its colour.
_LINES: dict[tuple[str, str], tuple[str, Any]] = {
    (SENTENCES, TRAINED): ("in whole sentences", GREY),
    (ARCS, TRAINED): ("anywhere", BLUE),
    (ARCS, COMPLETED): ("anywhere, completed", ORANGE),
}


@dataclass
class PartialTrees(Trainings):
    """What to measure; configs/experiments/partial_trees.yaml says what each key is for."""

    shares: list[float]
    few: list[list[int]]
    beam: int
    methods: list[str]

    def training(self, known: str, treebank: str, seed: int | str) -> Training:
        """A training on such trees, but for the file."""
        return Training.of(self, treebank, seed, [_PARTIAL] if known != SENTENCES else [])


def cells(wanted: PartialTrees) -> list[Cell]:
    """Both methods of what is known share a job; whole sentences have nothing to be completed."""
    check_known("methods", wanted.methods, METHODS)
    check_at_least("beam", wanted.beam, 1)
    check(wanted, ("train", "dev", "test"))
    if wrong := [share for share in wanted.shares if not 0 < share <= 1]:
        raise ValueError(f"shares has {wrong[0]}; give shares above 0 and up to 1")
    shares = [str(float(share)) for share in wanted.shares]
    amounts = [*product((SENTENCES, ARCS), shares), *((FEW, "+".join(map(str, few))) for few in wanted.few)]
    found = []
    for seed, language, (known, amount) in product(range(1, wanted.seeds + 1), wanted.languages, amounts):
        if (known, amount) == (ARCS, _ALL):
            continue  # these are whole sentences
        settings = wanted.training(known, language, seed).described
        whole = known == SENTENCES or amount.endswith("+0")
        for method in [TRAINED] if whole else wanted.methods:
            key = known, amount, method, language, str(seed)
            found.append(Cell(key, settings, f"{language} {known} {amount} seed {seed}"))
    return found


def measure(wanted: PartialTrees, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Hides, trains, completes and trains again."""
    known, amount, _, treebank, seed = group[0].key
    training = wanted.training(known, treebank, seed)
    folder = (Path(wanted.runs) / f"{treebank}-{known}-{amount}-seed{seed}").absolute()
    gold, given = hiding.read(training.part("train")), folder / "train.conllu"
    write(given, "".join(hiding.hidden(gold, known, [float(one) for one in amount.split("+")], int(seed))))
    yield (known, amount, TRAINED, treebank, seed), _trained(training, given, folder / TRAINED, wanted.fresh)
    if any(cell.key[2] == COMPLETED for cell in group):
        completed = folder / "completed.conllu"
        complete(folder / TRAINED / "model", given, completed, wanted.beam)
        metrics = _trained(training, completed, folder / COMPLETED, wanted.fresh)
        right = {"completed_right": f"{completed_right(training.part('train'), given, completed):.4f}"}
        yield (known, amount, COMPLETED, treebank, seed), metrics | right


def _trained(training: Training, file: Path, folder: Path, fresh: bool) -> dict[str, str]:
    metrics = run_training(replace(training, files=(override("treebank.train", file),)), folder, fresh=fresh)
    train = metrics["train"]
    scores = [*formatted(metrics["test"], "las", "uas"), *formatted(metrics["dev"], "las")]
    return {"known_heads": str(train.get("known_heads", train["words"]))} | dict(zip(MEASURED[2:], scores, strict=True))


def complete(model: Path, given: Path, target: Path, beam: int) -> None:
    """Completes trees by a parser that keeps what is known of them."""
    with replacing(target) as temporary, given.open("rb") as source, temporary.open("wb") as written:
        search = Beam(beam) if beam > 1 else None
        parse_file(models.load(model), source, written, str(given), beam=search, keep=Keep.RELATIONS, on_error=OnError.KEEP)


def completed_right(gold: Path, given: Path, completed: Path) -> float:
    """Percentage of the completed heads that are right; sentences are found by their forms."""
    right = total = 0
    texts: dict[tuple[str, ...], list[str]] = {tuple(one.column(FORM)): one.column(HEAD) for one in hiding.read(gold)}
    for before, after in zip(hiding.read(given), hiding.read(completed), strict=True):
        for head, was, now in zip(texts[tuple(after.column(FORM))], before.column(HEAD), after.column(HEAD), strict=True):
            if was == EMPTY != now:
                right, total = right + (head == now), total + 1
    return 100 * right / total


def page(rows: list[Row], wanted: PartialTrees) -> str:
    """LAS on test by treebank and share, and the sentences that are whole with some arcs of others."""
    parts = []
    for treebank in names_of(rows, "treebank", wanted.languages):
        own = chosen(rows, treebank=treebank)
        shares = sorted({row["amount"] for row in own if row["known"] != FEW}, key=float)
        if not shares:
            continue
        lines = [
            [f"{float(share):.0%}", *(_cell(chosen(own, amount=share, known=known, method=method)) for known, method in _LINES)]
            for share in shares
        ]
        text = markdown(
            [
                "share of the heads",
                *(label for label, _ in _LINES.values()),
            ],
            lines,
        )
        few = chosen(own, known=FEW)
        if few:
            names = names_of(few, "amount")
            _, lines = grid(few, ("amount", names), ("method", METHODS), _cell)
            text += "\n" + markdown(["whole sentences + others + arcs of each", *METHODS], lines)
        parts.append(f"## {treebank}\n\n{text}")
    return wanted.head() + "\n".join(parts)


def _cell(rows: list[Row]) -> str:
    return score(rows, "las", "uas") if rows else ""


def draw(rows: list[Row], wanted: PartialTrees, folder: Path) -> None:
    """LAS against the share of the heads that are known, a plot for each treebank that has several."""
    of_shares = [row for row in rows if row["known"] != FEW]
    several = [name for name in wanted.languages if len(names_of(chosen(of_shares, treebank=name), "amount")) > 1]
    names = several or names_of(of_shares, "treebank")
    figure, plots = panels(len(names), share_y=False)
    for plot, treebank in zip(plots, names, strict=True):
        own = chosen(rows, treebank=treebank)
        whole = [row for row in own if row["known"] == SENTENCES and row["amount"] == _ALL]
        for (known, method), (label, colour) in _LINES.items():
            found: dict[float, list[float]] = {}
            of_line = chosen(own, known=known, method=method)
            for row in sorted([*of_line, *(whole if known == ARCS else [])], key=lambda row: float(row["amount"])):
                found.setdefault(100 * float(row["amount"]), []).append(float(row["las"]))
            means = [sum(scores) / len(scores) for scores in found.values()]
            plot.plot([*found], means, marker="o", color=colour, label=label)
        plot.set(title=treebank, xlabel="heads that are known (percent)", ylabel="LAS on test (percent)")
        plot.legend(loc="lower right")
    save(figure, folder / "partial_trees.svg")


# Percentages, all words, full relations, gold tags; ``known_heads`` are those that were trained on, and of the completed heads
# ``completed_right`` are right.
MEASURED = ("known_heads", "completed_right", "las", "uas", "dev_las")
KEY = ("known", "amount", "method", "treebank", "seed")
EXPERIMENT = Experiment("partial_trees", PartialTrees, KEY, MEASURED, cells, measure, page, draw=draw)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
