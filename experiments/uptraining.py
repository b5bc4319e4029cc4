"""What an MLP learns from text that a parser with an encoder has parsed: uptraining (Petrov et al. 2010).

    python experiments/uptraining.py paths.treebanks=../shared/ud-v2.2

Of the training part, every ``share``-th sentence keeps its tree. The others stand for text of the same kind with tags but no
trees. On the trees alone an MLP is trained, and a parser with an encoder; either parses the text, and a new MLP learns from the
trees and the parsed text together: taught by the MLP it is self-trained, by the encoder uptrained. The rows of
experiments/uptraining are published, and are reused (see engine.py); yours go to runs/uptraining/results.csv as trainings end.
The table is beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from experiments.command import Trainings, check_at_least
from experiments.engine import Cell, Experiment, check
from experiments.tables import Key, Row, chosen, names_of
from experiments.taught import ENCODER, MEASURED, MLP, measured, table
from experiments.trainings import Training, parse, run_training
from parser.storage.atomic import replacing

SELF_TRAINED, UPTRAINED = "self-trained", "uptrained"
_TEACHERS = {SELF_TRAINED: MLP, UPTRAINED: ENCODER}
_SETTINGS = {MLP: (), ENCODER: ("model=bilstm",), SELF_TRAINED: (), UPTRAINED: ()}


@dataclass
class Uptraining(Trainings):
    """What to measure; configs/experiments/uptraining.yaml says what each key is for."""

    share: int


def cells(wanted: Uptraining) -> list[Cell]:
    """All parsers of a treebank and seed, which share a job."""
    check_at_least("share", wanted.share, 2)
    check(wanted, ("train", "dev", "test"))
    Training.of(wanted, "", 1).check()
    return [
        Cell((system, language, wanted.recipe, str(wanted.share), str(seed)), " ".join(settings), f"{language} seed {seed}")
        for seed, language, (system, settings) in product(range(1, wanted.seeds + 1), wanted.languages, _SETTINGS.items())
    ]


def divide(text: str, share: int) -> tuple[str, str]:
    """CoNLL-U in two: every ``share``-th sentence, the first among them, and the others."""
    sentences = [f"{sentence}\n\n" for sentence in text.strip("\n").split("\n\n")]
    chosen, others = (
        "".join(sentence for place, sentence in enumerate(sentences) if (place % share == 0) is of_chosen)
        for of_chosen in (True, False)
    )
    return chosen, others


def measure(wanted: Uptraining, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Trains the four parsers."""
    _, treebank, *amounts, seed = group[0].key
    training = Training.of(wanted, treebank, seed)
    folder = Path(wanted.runs) / f"{treebank}-share{wanted.share}-seed{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    trees, text = folder / "trees.conllu", folder / "text.conllu"
    for path, part in zip((trees, text), divide(training.part("train").read_text(encoding="utf-8"), wanted.share), strict=True):
        with replacing(path) as temporary:
            temporary.write_text(part, encoding="utf-8", newline="\n")
    for system, settings in _SETTINGS.items():
        files = [trees]
        if system in _TEACHERS:
            files.append(folder / f"text-{_TEACHERS[system]}.conllu")
            parse(folder / _TEACHERS[system] / "model", text, files[-1])
        own = replace(training, overrides=settings, files=(f"treebank.train=[{','.join(map(str, files))}]",))
        yield (system, treebank, *amounts, seed), measured(run_training(own, folder / system, fresh=wanted.fresh))


def page(rows: list[Row], wanted: Uptraining) -> str:
    """The table of all treebanks that were asked for or that there are rows of."""
    rows = chosen(rows, recipe=wanted.recipe, share=wanted.share)
    return (
        f"# Uptraining, recipe={wanted.recipe}\n\nLAS / UAS on test in percent, all words, full relations, gold tags, mean ± "
        f"deviation over seeds. One sentence in {wanted.share} of the training part has its tree; self-trained and uptrained "
        "MLPs also learn from the others, as the MLP and the encoder parse them. Of the way: from the MLP's LAS to the "
        f"encoder's, in percent.\n\n{table(rows, names_of(rows, 'treebank', wanted.languages), [*_TEACHERS])}"
    )


EXPERIMENT = Experiment(Uptraining, ("system", "treebank", "recipe", "share", "seed"), MEASURED, cells, measure, page)

if __name__ == "__main__":
    EXPERIMENT.run("uptraining", __doc__)
