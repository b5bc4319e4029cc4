"""What a parser loses when its tags are a tagger's: trained on gold tags, and trained on predicted ones.

    python experiments/noisy_tags.py paths.treebanks=../shared/ud-v2.2

A tagger of UDPipe 1 (extra ``compare``), trained on the training part, tags dev and test (UPOS, XPOS, FEATS); taggers trained
on other folds tag the training part, so that its tags are as noisy as those of new text. The rows of experiments/noisy_tags are
published, and are reused (see engine.py); yours go to runs/noisy_tags/results.csv as trainings end. The table is beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from experiments.command import Trainings, check_at_least
from experiments.engine import Cell, Experiment, Job, check
from experiments.tables import NOT_RUN, Key, Row, chosen, names_of, numbers, plain_table, score
from experiments.trainings import Training, formatted, run_training
from parser.data.treebank import read_treebank
from parser.decoding.parsers import parser_of
from parser.evaluation import evaluate_files
from parser.evaluation.gold_part import GoldPart
from parser.model import loading as models
from parser.storage.atomic import replacing
from scripts.benchmarks import udpipe

TAGS = ("gold", "predicted")
_PARTS = ("train", "dev", "test")


@dataclass
class NoisyTags(Trainings):
    """What to measure; configs/experiments/noisy_tags.yaml says what each key is for."""

    folds: int

    def folder(self, treebank: str) -> Path:
        """Where the tagged files of a treebank go."""
        return Path(self.runs) / f"{treebank}-{self.folds}folds"


def cells(wanted: NoisyTags) -> list[Cell]:
    """Four for a treebank and seed, which share a job."""
    check(wanted, _PARTS)
    Training.of(wanted, "", 1).check()
    check_at_least("folds", wanted.folds, 2)
    return [
        Cell((language, wanted.recipe, str(wanted.folds), str(seed), *tags), "", f"{language} seed {seed}")
        for seed, language, *tags in product(range(1, wanted.seeds + 1), wanted.languages, TAGS, TAGS)
    ]


def prepare(wanted: NoisyTags, missing: list[Cell]) -> list[Job[Any]]:
    """Tags the treebanks."""
    treebanks = dict.fromkeys(cell.key[0] for cell in missing)
    return [
        Job(
            f"tagging {name}",
            partial(tag_treebank, Training.of(wanted, name, 1), wanted.folder(name), wanted.folds, wanted.fresh),
        )
        for name in treebanks
    ]


def tag_treebank(training: Training, folder: Path, folds: int, fresh: bool = False) -> None:
    """Writes train.conllu, dev.conllu and test.conllu with predicted tags into the folder, unless they are there."""
    if not fresh and all((folder / f"{part}.conllu").exists() for part in _PARTS):
        return
    texts = {part: training.part(part).read_text(encoding="utf-8") for part in _PARTS}

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
            temporary.write_text(text, encoding="utf-8", newline="\n")


def measure(wanted: NoisyTags, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Trains on gold and on predicted tags, and parses test with both."""
    treebank, seed = group[0].key[0], group[0].key[3]
    plain, folder = Training.of(wanted, treebank, seed), wanted.folder(treebank)
    tests = {"gold": plain.part("test"), "predicted": folder / "test.conllu"}
    right = evaluate_files(tests["gold"], tests["predicted"])
    tag_scores = {"gold": ["100.0000", "100.0000"], "predicted": [f"{right[name].f1:.4f}" for name in ("upos", "ufeats")]}
    for training_tags in TAGS:
        files = tuple(f"treebank.{part}={folder / part}.conllu" for part in _PARTS) if training_tags == "predicted" else ()
        run_folder = folder / f"{training_tags}-seed{seed}-{plain.folder}"
        run_training(replace(plain, files=files), run_folder, fresh=wanted.fresh)
        model = models.load(run_folder / "model")
        for test_tags in TAGS:
            gold = GoldPart.of(read_treebank(tests[test_tags]).sentences, model.vocabularies, model.relations)
            scores = formatted(gold.scores(parser_of(model).parse(gold.sentences)), "las", "uas")
            values = dict(zip(MEASURED, [*scores, *tag_scores[test_tags]], strict=True))
            yield (*group[0].key[:4], training_tags, test_tags), values


def page(rows: list[Row], wanted: NoisyTags) -> str:
    """Markdown: LAS / UAS by tags of training and test, of all treebanks that were asked for or that there are rows of."""
    rows, lines = chosen(rows, recipe=wanted.recipe, folds=wanted.folds), []
    for key in product(names_of(rows, "treebank", wanted.languages), TAGS, TAGS):
        found = chosen(rows, **dict(zip(("treebank", "training_tags", "test_tags"), key, strict=True)))
        cells = [NOT_RUN, "", ""]
        if found:
            right = (f"{numbers(found, name)[0]:.2f}" for name in ("upos", "ufeats"))
            cells = [score(found, "las"), score(found, "uas"), " / ".join(right)]
        lines.append([*key, *cells])
    return (
        f"# Noisy tags, recipe={wanted.recipe}\n\n"
        "LAS / UAS on test in percent, all words, full relations, mean ± deviation over seeds. Predicted tags are those of "
        "UDPipe 1's tagger trained on the training part; UPOS and FEATS of test are right as often as the last column says.\n\n"
    ) + plain_table(["treebank", "tags of training", "tags of test", "LAS", "UAS", "UPOS / FEATS right"], lines)


# Percentages on test, all words, full relations; how many tags of test are right.
MEASURED = ("las", "uas", "upos", "ufeats")
KEY = ("treebank", "recipe", "folds", "seed", "training_tags", "test_tags")
EXPERIMENT = Experiment(NoisyTags, KEY, MEASURED, cells, measure, page, prepare=prepare)

if __name__ == "__main__":
    EXPERIMENT.run("noisy_tags", __doc__)
