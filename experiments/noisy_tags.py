"""What a parser loses when its tags are a tagger's: trained on gold tags, and trained on predicted ones.

    python experiments/noisy_tags.py paths.treebanks=../shared/ud-v2.2

A tagger of UDPipe 1 (extra ``compare``), trained on the training part, tags dev and test (UPOS, XPOS, FEATS); taggers trained
on other folds tag the training part, so that its tags are as noisy as those to come. Rows go to results.csv as trainings end;
rows that are there are not made again. The table is beside them.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import hydra
import numpy as np
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from cells import Training, run_training
from jobs import make_rows, run_jobs
from measuring import udpipe
from parser.atomic import replacing
from parser.data.treebank import read_treebank
from parser.decoding.parsers import parser_of
from parser.evaluation import evaluate_files
from parser.evaluation.gold_part import GoldPart
from parser.model import Model
from parser.settings import Paths
from rows import read_rows

TAGS = ("gold", "predicted")


@dataclass
class NoisyTags:
    """What to measure; configs/experiments/noisy_tags.yaml says what each key is for."""

    languages: list[str] = field(default_factory=list)
    seeds: int = MISSING
    recipe: str = MISSING
    folds: int = MISSING
    workers: int = MISSING
    results: str = MISSING
    runs: str = MISSING
    paths: Paths = field(default_factory=Paths)


@dataclass(frozen=True)
class Row:
    """A line of results.csv: percentages on test, all words, full relations; how many tags of test are right."""

    treebank: str
    seed: str
    training_tags: str
    test_tags: str
    las: str
    uas: str
    upos: str
    ufeats: str
    config: str

    @property
    def key(self) -> tuple[str, ...]:
        """What there is one row for."""
        return self.treebank, self.seed, self.training_tags, self.test_tags


ConfigStore.instance().store(name="noisy_tags_schema", node=NoisyTags)


@hydra.main(version_base="1.3", config_path="../configs/experiments", config_name="noisy_tags")
def main(wanted: NoisyTags) -> None:
    """Tags, trains, parses, and writes the table."""
    path = Path(wanted.results) / "results.csv"
    rows = read_rows(path, Row)
    seeds = range(1, wanted.seeds + 1)
    trainings = [
        Training(name, wanted.recipe, 5, seed, wanted.paths.treebanks, ()) for seed in seeds for name in wanted.languages
    ]
    missing = [training for training in trainings if not is_done(training, rows)]
    folders = {name: Path(wanted.runs) / f"{name}-{wanted.folds}folds" for name in wanted.languages}
    to_tag = {training.treebank: training for training in missing}.values()
    tagging = [partial(tag_treebank, training, folders[training.treebank], wanted.folds) for training in to_tag]
    for _ in run_jobs(tagging, wanted.workers):
        pass
    jobs = [partial(measure, training, folders[training.treebank]) for training in missing]
    make_rows(jobs, wanted.workers, rows, path, Row)
    text = report(list(rows.values()), list(wanted.languages), wanted.recipe)
    (path.parent / "table.md").write_text(text, encoding="utf-8")
    print(text)


def is_done(training: Training, rows: dict[tuple[str, ...], Row]) -> bool:
    """Whether the rows of a treebank and seed are there, made with today's settings."""
    of_both = (training.treebank, str(training.seed))
    found = [row for row in rows.values() if (row.treebank, row.seed) == of_both]
    return len(found) == len(TAGS) ** 2 and all(training.made(row) for row in found)


def tag_treebank(training: Training, folder: Path, folds: int) -> None:
    """Writes train.conllu, dev.conllu and test.conllu with predicted tags into the folder, unless they are there."""
    treebank = training.settings().treebank
    texts = {part: Path(str(getattr(treebank, part))).read_text(encoding="utf-8") for part in ("train", "dev", "test")}
    if all((folder / f"{part}.conllu").exists() for part in texts):
        return

    def tagger(text: str, name: str) -> udpipe.Udpipe:
        model = folder / f"{name}.udpipe"
        udpipe.train(text, f"{training.treebank}, {name}", model, tagger=udpipe.TAGGER)
        return udpipe.Udpipe(model)

    of_all = tagger(texts["train"], "tagger")
    tagged = {part: of_all.tag(texts[part]) for part in ("dev", "test")}
    blocks = [f"{block}\n\n" for block in texts["train"].strip().split("\n\n")]
    tagged_blocks = dict.fromkeys(range(len(blocks)), "")
    for fold in range(folds):
        of_others = tagger("".join(block for i, block in enumerate(blocks) if i % folds != fold), f"without fold {fold}")
        tagged_blocks |= {i: of_others.tag(block) for i, block in enumerate(blocks) if i % folds == fold}
    tagged["train"] = "".join(tagged_blocks.values())
    for part, text in tagged.items():
        with replacing(folder / f"{part}.conllu") as temporary:
            temporary.write_text(text, encoding="utf-8")


def measure(training: Training, folder: Path) -> list[Row]:
    """Trains on gold and on predicted tags, and parses test with both. Runs in a process of its own."""
    logging.disable(logging.WARNING)
    gold_test = str(training.settings().treebank.test)
    predicted = tuple(f"treebank.{part}={folder / part}.conllu" for part in ("train", "dev", "test"))
    tagged_test = folder / "test.conllu"
    right = evaluate_files(gold_test, tagged_test)
    tag_scores = {"gold": ("100.0000", "100.0000"), "predicted": (f"{right['upos'].f1:.4f}", f"{right['ufeats'].f1:.4f}")}
    rows = []
    for training_tags, overrides in (("gold", ()), ("predicted", predicted)):
        of_tags = Training(training.treebank, training.recipe, training.column, training.seed, training.treebanks, overrides)
        run_folder = folder / f"{training_tags}-seed{training.seed}-{of_tags.fingerprint()}"  # not one of other settings
        if not (run_folder / "metrics.json").exists():
            run_training(of_tags, run_folder)
        model = Model.load(run_folder / "model")
        for test_tags, path in (("gold", gold_test), ("predicted", tagged_test)):
            gold = GoldPart.of(read_treebank(path).sentences, model.vocabularies, model.relations)
            scores = gold.scores(parser_of(model).parse(gold.sentences))
            figures = f"{scores['las']:.4f}", f"{scores['uas']:.4f}", *tag_scores[test_tags]
            key = training.treebank, str(training.seed), training_tags, test_tags
            rows.append(Row(*key, *figures, training.fingerprint()))
    return rows


def report(rows: list[Row], languages: list[str], recipe: str) -> str:
    """Markdown: LAS / UAS by tags of training and test."""
    lines = [
        f"# Noisy tags, recipe={recipe}",
        "",
        "LAS / UAS on test in percent, all words, full relations, mean ± deviation over seeds. Predicted tags are those "
        "of UDPipe 1's tagger trained on the training part; UPOS and FEATS of test are right as often as the last column says.",
        "",
        "| treebank | tags of training | tags of test | LAS | UAS | UPOS / FEATS right |",
        "|---|---|---|---|---|---|",
    ]
    for language in languages:
        for training_tags in TAGS:
            for test_tags in TAGS:
                found = [r for r in rows if (r.treebank, r.training_tags, r.test_tags) == (language, training_tags, test_tags)]
                las, uas = (_shown([float(getattr(row, name)) for row in found]) for name in ("las", "uas"))
                right = f"{float(found[0].upos):.2f} / {float(found[0].ufeats):.2f}"
                lines.append(f"| {language} | {training_tags} | {test_tags} | {las} | {uas} | {right} |")
    return "\n".join(lines) + "\n"


def _shown(scores: list[float]) -> str:
    return f"{np.mean(scores):.2f} ± {np.std(scores, ddof=1):.2f}" if len(scores) > 1 else f"{scores[0]:.2f}"


if __name__ == "__main__":
    main()
