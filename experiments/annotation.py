"""The annotation loop, simulated: LAS against the words that were corrected, chosen by ``annotate`` or at random.

    python experiments/annotation.py languages=[hu] paths.treebanks=../shared/ud-v2.2

A parser learns from some whole sentences. Then, in rounds, words of the other sentences of the training part are chosen: those
that it is least sure of (parser/commands/annotate.py), or any. They get their gold heads and relations; what the parser is sure
of is filled in, right or wrong, unless that makes no tree with them. The rest it parses again, with a beam, and keeps what is
there. It goes on with all of that (start=), and the next round begins, with sentences that were not asked about.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import product
from pathlib import Path

from experiments import hiding
from experiments.command import Trainings, check_at_least
from experiments.engine import Cell, Experiment, check
from experiments.figures import BLUE, GREY, panels, save
from experiments.hiding import FEW, write
from experiments.partial_trees import complete
from experiments.tables import Key, Row, chosen, grid, markdown, names_of, score
from experiments.trainings import Training, formatted, run_training
from parser.commands.annotate import AskedWord, annotated, least_certain
from parser.conllu.checks import DEPREL, FEATS, FORM, HEAD, UPOS, XPOS, ConlluError
from parser.conllu.stream import RawSentence, read_raw_sentences
from parser.library import ParsedSentence, Parser
from parser.settings.paths import override

UNCERTAINTY, RANDOM = STRATEGIES = ("uncertainty", "random")
_COLOURS = dict(zip(STRATEGIES, (BLUE, GREY), strict=True))


@dataclass
class Annotation(Trainings):
    """What to measure; configs/experiments/annotation.yaml says what each key is for."""

    sentences: int
    words: list[int]
    rounds: int
    sure: float
    beam: int
    epochs: int

    @property
    def overrides(self) -> tuple[str, ...]:
        """Settings of the trainings that go on."""
        return "treebank.partial=true", f"second_pass.epochs={self.epochs}"


def cells(wanted: Annotation) -> list[Cell]:
    """Both strategies of a treebank and seed share a job, as they begin with the same parser."""
    for key in ("sentences", "rounds", "beam", "epochs"):
        check_at_least(key, getattr(wanted, key), 1)
    for words in wanted.words:
        check_at_least("words", words, 1)
    check(wanted, ("train", "dev", "test"))
    settings = Training.of(wanted, "", 1, wanted.overrides).described
    return [
        Cell(
            (strategy, language, str(wanted.sentences), str(words), str(number), str(seed)),
            settings,
            f"{language} {words} words seed {seed}",
        )
        for seed in range(1, wanted.seeds + 1)
        for language in wanted.languages
        for words in wanted.words
        for strategy in STRATEGIES
        for number in range(wanted.rounds + 1)
    ]


def measure(wanted: Annotation, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Trains, asks, and goes on."""
    _, treebank, sentences, words, _, seed = group[0].key
    training = Training.of(wanted, treebank, seed)
    name = f"{treebank}-{sentences}-{words}-epochs{wanted.epochs}-seed{seed}"
    folder, gold = (Path(wanted.runs) / name).absolute(), hiding.read(training.part("train"))
    known = hiding.known_words(FEW, [wanted.sentences, 0, 0], [len(sentence) for sentence in gold], int(seed))
    first = folder / "first.conllu"
    write(first, "".join("".join(one.lines) for one, own in zip(gold, known, strict=True) if own))
    begin = folder / "first"
    start = run_training(replace(training, files=(override("treebank.train", first),)), begin, fresh=wanted.fresh)
    for strategy in STRATEGIES:
        model, files = begin, [str(first)]
        pool = [one for one, own in zip(gold, known, strict=True) if not own]
        metrics, corrected = start, 0
        for number in range(wanted.rounds + 1):
            if number > 0:
                batch, completed = (folder / f"{strategy}{number}{name}.conllu" for name in ("", "-completed"))
                text, pool, asked = ask(Parser.load(model), pool, strategy, int(words), wanted.sure, f"{seed} {number}")
                write(batch, text)
                complete(model / "model", batch, completed, wanted.beam)
                files, corrected = [*files, str(completed)], corrected + asked
                on = replace(training, overrides=wanted.overrides, files=(override("treebank.train", files),))
                metrics = run_training(on, folder / f"{strategy}{number}", model / "model", wanted.fresh)
                model = folder / f"{strategy}{number}"
            scores = [*formatted(metrics["test"], "las", "uas"), *formatted(metrics["dev"], "las")]
            key = strategy, treebank, sentences, words, str(number), seed
            yield key, dict(zip(MEASURED, [str(corrected), *scores], strict=True))


def ask(
    parser: Parser, pool: list[RawSentence], strategy: str, most: int, sure: float, seed: str
) -> tuple[str, list[RawSentence], int]:
    """CoNLL-U of the sentences of some words, which are corrected; the other sentences; how many words there are."""
    columns = [[*zip(*(one.column(number) for number in (FORM, UPOS, XPOS, FEATS)), strict=True)] for one in pool]
    parsed = parser.parse(columns)
    asked = least_certain(parsed, most) if strategy == UNCERTAINTY else any_words(parsed, most, seed)
    by_sentence: dict[int, set[int]] = {}
    for one in asked:
        by_sentence.setdefault(one.sentence, set()).add(one.word)
    texts = [corrected(pool[s], parsed[s], words, sure) for s, words in sorted(by_sentence.items())]
    return "".join(texts), [one for s, one in enumerate(pool) if s not in by_sentence], len(asked)


def any_words(parsed: Sequence[ParsedSentence], most: int, seed: str) -> list[AskedWord]:
    """Words chosen at random, at most so many."""
    words = [AskedWord(s, w) for s, sentence in enumerate(parsed) for w in range(len(sentence.heads))]
    return random.Random(seed).sample(words, min(most, len(words)))


def corrected(gold: RawSentence, parsed: ParsedSentence, words: set[int], sure: float) -> str:
    """The text of a sentence with what is sure, and the gold heads and relations of some words."""
    for least in (sure, math.inf):  # in which case nothing is sure
        lines = annotated(gold, parsed, words, [], least).splitlines(keepends=True)
        for word in words:
            columns = lines[gold.word_lines[word]].split("\t")
            columns[HEAD], columns[DEPREL] = gold.columns[word][HEAD], gold.columns[word][DEPREL]
            lines[gold.word_lines[word]] = "\t".join(columns)
        text = "".join(lines)
        [made] = read_raw_sentences(BytesIO(text.encode()))
        with suppress(ConlluError):
            made.heads(partial=True)
            break
    return text


def page(rows: list[Row], wanted: Annotation) -> str:
    """LAS on test by treebank, words of a round, and corrected words."""
    parts = []
    for treebank, words in product(
        names_of(rows, "treebank", wanted.languages), sorted({row["words"] for row in rows}, key=int)
    ):
        own = chosen(rows, treebank=treebank, words=words)
        numbers = sorted({row["corrected"] for row in own}, key=int)
        _, lines = grid(own, ("corrected", numbers), ("strategy", STRATEGIES), lambda found: score(found, "las", "uas"))
        parts.append(f"## {treebank}, {words} words a round\n\n{markdown(['words corrected', *STRATEGIES], lines)}")
    return wanted.head() + "\n".join(parts)


def draw(rows: list[Row], wanted: Annotation, folder: Path) -> None:
    """LAS against corrected words, a plot for each treebank."""
    names = names_of(rows, "treebank")
    figure, plots = panels(len(names), share_y=False)
    for plot, treebank in zip(plots, names, strict=True):
        for (strategy, colour), words in product(_COLOURS.items(), sorted({row["words"] for row in rows}, key=int)):
            found: dict[int, list[float]] = {}
            of_line = chosen(rows, treebank=treebank, strategy=strategy, words=words)
            for row in sorted(of_line, key=lambda row: int(row["corrected"])):
                found.setdefault(int(row["corrected"]), []).append(float(row["las"]))
            means = [sum(scores) / len(scores) for scores in found.values()]
            plot.plot([*found], means, marker="o", color=colour, label=f"{strategy}, {words} a round")
        plot.set(title=treebank, xlabel="words corrected", ylabel="LAS on test (percent)")
        plot.legend(loc="lower right")
    save(figure, folder / "annotation.svg")


# Percentages, all words, full relations, gold tags; ``corrected`` are the words that got gold arcs since the beginning.
MEASURED = ("corrected", "las", "uas", "dev_las")
KEY = ("strategy", "treebank", "sentences", "words", "round", "seed")
EXPERIMENT = Experiment("annotation", Annotation, KEY, MEASURED, cells, measure, page, draw=draw)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
