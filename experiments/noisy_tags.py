"""What a parser loses when its tags are a tagger's: trained on gold tags, and trained on predicted ones.

    python experiments/noisy_tags.py paths.treebanks=../shared/ud-v2.2

A tagger of UDPipe 1 (extra ``compare``), trained on the training part, tags dev and test (UPOS, XPOS, FEATS); taggers trained
on other folds tag the training part, so that its tags are as noisy as those of new text. The rows of experiments/noisy_tags are
published, and are reused (see results.py); yours go to runs/noisy_tags/results.csv as trainings end. The table is beside them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from experiments.command import Trainings, check_at_least, run
from experiments.jobs import Job, run_jobs
from experiments.results import Key, Results, check
from experiments.tables import mean_and_deviation
from experiments.trainings import Training, run_training
from parser.data.treebank import read_treebank
from parser.decoding.parsers import parser_of
from parser.evaluation import evaluate_files
from parser.evaluation.gold_part import GoldPart
from parser.model import loading as models
from parser.storage.atomic import replacing
from scripts.benchmarks import udpipe

TAGS = ("gold", "predicted")


@dataclass
class NoisyTags(Trainings):
    """What to measure; configs/experiments/noisy_tags.yaml says what each key is for."""

    recipe: str = MISSING
    folds: int = MISSING


@dataclass(frozen=True)
class Row:
    """A line of results.csv: percentages on test, all words, full relations; how many tags of test are right."""

    treebank: str
    recipe: str
    folds: str
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
        return self.treebank, self.recipe, self.folds, self.seed, self.training_tags, self.test_tags


ConfigStore.instance().store(name="noisy_tags_schema", node=NoisyTags)


def main(wanted: NoisyTags) -> None:
    """Tags, trains, parses, and writes the table."""
    check(wanted, ("train", "dev", "test"))
    check_at_least("folds", wanted.folds, 2)
    results = Results.of(Row, wanted)
    trainings = {
        key: training
        for seed in range(1, wanted.seeds + 1)
        for name in wanted.languages
        for training in [Training(name, wanted.recipe, 5, seed, wanted.paths.treebanks, ())]
        for key in keys_of(training, wanted.folds)
    }
    asked = {key: training.fingerprint() for key, training in trainings.items()}
    missing = list(dict.fromkeys(trainings[key] for key in results.missing(asked)))  # four rows share a job
    folders = {name: Path(wanted.runs) / f"{name}-{wanted.folds}folds" for name in wanted.languages}
    to_tag = {training.treebank: training for training in missing}
    tagging = [
        Job(f"tagging {name}", partial(tag_treebank, training, folders[name], wanted.folds, wanted.fresh))
        for name, training in to_tag.items()
    ]
    for _ in run_jobs(tagging, wanted.workers):
        pass
    jobs = [
        Job(
            f"{training.treebank} seed {training.seed}",
            partial(measure, training, wanted.folds, folders[training.treebank], wanted.fresh),
        )
        for training in missing
    ]
    results.run(jobs, wanted.workers)
    results.finish("table.md", lambda rows: page_of(rows, wanted), asked, wanted.publish)


def keys_of(training: Training, folds: int) -> list[Key]:
    """The keys of the four rows of a treebank and seed."""
    of_both = (training.treebank, training.recipe, str(folds), str(training.seed))
    return [(*of_both, training_tags, test_tags) for training_tags in TAGS for test_tags in TAGS]


def page_of(rows: Mapping[Key, Row], wanted: NoisyTags) -> str:
    """The table of all treebanks that were asked for or that there are rows of."""
    found = [row for row in rows.values() if (row.recipe, row.folds) == (wanted.recipe, str(wanted.folds))]
    languages = dict.fromkeys([*wanted.languages, *sorted(row.treebank for row in found)])
    return report(found, list(languages), wanted.recipe)


def tag_treebank(training: Training, folder: Path, folds: int, fresh: bool = False) -> None:
    """Writes train.conllu, dev.conllu and test.conllu with predicted tags into the folder, unless they are there."""
    treebank = training.settings().treebank
    texts = {part: Path(str(getattr(treebank, part))).read_text(encoding="utf-8") for part in ("train", "dev", "test")}
    if not fresh and all((folder / f"{part}.conllu").exists() for part in texts):
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


def measure(training: Training, folds: int, folder: Path, fresh: bool = False) -> list[Row]:
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
        run_training(of_tags, run_folder, fresh=fresh)
        model = models.load(run_folder / "model")
        for test_tags, path in (("gold", gold_test), ("predicted", tagged_test)):
            gold = GoldPart.of(read_treebank(path).sentences, model.vocabularies, model.relations)
            scores = gold.scores(parser_of(model).parse(gold.sentences))
            numbers = f"{scores['las']:.4f}", f"{scores['uas']:.4f}", *tag_scores[test_tags]
            key = training.treebank, training.recipe, str(folds), str(training.seed), training_tags, test_tags
            rows.append(Row(*key, *numbers, training.fingerprint()))
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
                if not found:
                    lines.append(f"| {language} | {training_tags} | {test_tags} | not run | | |")
                    continue
                las, uas = (mean_and_deviation([float(getattr(row, name)) for row in found]) for name in ("las", "uas"))
                right = f"{float(found[0].upos):.2f} / {float(found[0].ufeats):.2f}"
                lines.append(f"| {language} | {training_tags} | {test_tags} | {las} | {uas} | {right} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run(main, NoisyTags, "noisy_tags", __doc__)
