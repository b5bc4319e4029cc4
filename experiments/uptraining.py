"""What an MLP learns from text that a parser with an encoder has parsed: uptraining (Petrov et al. 2010).

    python experiments/uptraining.py paths.treebanks=../shared/ud-v2.2

Of the training part, every ``share``-th sentence keeps its tree. The others stand for text of the same kind with tags but no
trees. On the trees alone an MLP is trained, and a parser with an encoder; either parses the text, and a new MLP learns from the
trees and the parsed text together: taught by the MLP it is self-trained, by the encoder uptrained. The rows of
experiments/uptraining are published, and are reused (see results.py); yours go to runs/uptraining/results.csv as trainings end.
The table is beside them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from experiments.command import check_at_least, run
from experiments.results import Key, Results, check
from experiments.taught import Taught, TaughtTrainings, keys_of, parse, scores_of, table, train_all
from experiments.trainings import Training, run_training
from parser.storage.atomic import replacing

MLP, ENCODER, SELF_TRAINED, UPTRAINED = "mlp", "encoder", "self-trained", "uptrained"
PARSERS = Taught(MLP, ENCODER, (SELF_TRAINED, UPTRAINED))
_TEACHERS = {SELF_TRAINED: MLP, UPTRAINED: ENCODER}


@dataclass
class Uptraining(TaughtTrainings):
    """What to measure; configs/experiments/uptraining.yaml says what each key is for."""

    share: int = MISSING


@dataclass(frozen=True)
class Row:
    """A line of results.csv: percentages, all words, full relations, gold tags.

    ``words`` are those that were trained on, with trees of the treebank or of a parser.
    """

    system: str
    treebank: str
    recipe: str
    share: str
    seed: str
    words: str
    las: str
    uas: str
    dev_las: str
    config: str

    @property
    def key(self) -> tuple[str, ...]:
        """What there is one row for."""
        return self.system, self.treebank, self.recipe, self.share, self.seed


ConfigStore.instance().store(name="uptraining_schema", node=Uptraining)


def main(wanted: Uptraining) -> None:
    """Trains, parses, trains, and writes the table."""
    check_at_least("share", wanted.share, 2)
    check(wanted, ("train", "dev", "test"))
    results = Results.of(Row, wanted)
    asked = train_all(wanted, [wanted.share], PARSERS, partial(measure, wanted.share), results)
    results.finish("table.md", lambda rows: page_of(rows, wanted), asked, wanted.publish)


def divide(text: str, share: int) -> tuple[str, str]:
    """CoNLL-U in two: every ``share``-th sentence, the first among them, and the others."""
    sentences = [f"{sentence}\n\n" for sentence in text.strip("\n").split("\n\n")]
    chosen, others = (
        "".join(sentence for place, sentence in enumerate(sentences) if (place % share == 0) is of_chosen)
        for of_chosen in (True, False)
    )
    return chosen, others


def measure(share: int, training: Training, runs: Path, fresh: bool = False) -> list[Row]:
    """Trains the four parsers. Runs in a process of its own."""
    logging.disable(logging.WARNING)
    folder = runs / f"{training.treebank}-share{share}-seed{training.seed}"
    trees, text = folder / "trees.conllu", folder / "text.conllu"
    whole = Path(str(training.settings().treebank.train)).read_text(encoding="utf-8")
    for path, part in zip((trees, text), divide(whole, share), strict=True):
        _write(path, part.encode())
    rows = []
    for key in keys_of(training, [share], PARSERS):
        system = key[0]
        files = [trees]
        if system in _TEACHERS:
            files.append(folder / f"text-{_TEACHERS[system]}.conllu")
            parse(folder / _TEACHERS[system] / "model", text, files[-1])
        overrides = (f"treebank.train=[{','.join(map(str, files))}]", *(["model=bilstm"] if system == ENCODER else []))
        metrics = run_training(replace(training, overrides=overrides), folder / system, fresh=fresh)
        rows.append(_row(key, metrics, training.fingerprint()))
    return rows


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def _row(key: Key, metrics: dict[str, Any], config: str) -> Row:
    system, treebank, recipe, share, seed = key
    return Row(system, treebank, recipe, share, seed, *scores_of(metrics), config)


def page_of(rows: Mapping[Key, Row], wanted: Uptraining) -> str:
    """The table of all treebanks that were asked for or that there are rows of."""
    found = [row for row in rows.values() if (row.recipe, row.share) == (wanted.recipe, str(wanted.share))]
    languages = dict.fromkeys([*wanted.languages, *sorted(row.treebank for row in found)])
    return report(found, list(languages), wanted)


def report(rows: Sequence[Row], languages: Sequence[str], wanted: Uptraining) -> str:
    """Markdown; see table()."""
    return (
        f"# Uptraining, recipe={wanted.recipe}\n\nLAS / UAS on test in percent, all words, full relations, gold tags, mean ± "
        f"deviation over seeds. One sentence in {wanted.share} of the training part has its tree; self-trained and uptrained "
        "MLPs also learn from the others, as the MLP and the encoder parse them. Of the way: from the MLP's LAS to the "
        f"encoder's, in percent.\n\n{table(rows, languages, PARSERS)}"
    )


if __name__ == "__main__":
    run(main, Uptraining, "uptraining", __doc__)
