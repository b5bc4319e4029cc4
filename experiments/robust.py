"""How much a model loses on text that is written in other ways.

    python experiments/robust.py FILE MODEL [MODEL ...]
    python experiments/robust.py FILE --group before RUN1 RUN2 --group now RUN3 RUN4
    [--page experiments/robust.md]

The gold words of a treebank are parsed as they are, in capitals, in lower case, with other quotes,
without final marks, and with decomposed letters (NFD). Heads, relations and lemmas are compared
with those of the treebank. Each model has a line for each change, with the difference from the
words as they are. A sentence without its final mark is a word shorter, so its other words are
compared with the same words of the whole sentence. A group consists of models that differ only in
the seed: its line has means and standard deviations. With --page, the table of the groups is
written into a page, between the marks that name the file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from experiments.tables import mean_and_deviation, plain_table
from oracles.errors import OptimalStepError
from parser.data.changed_text import (
    FormChange,
    decomposed,
    in_capitals,
    in_lower_case,
    other_quotes,
    without_final_mark,
)
from parser.data.treebank import Sentence, read_treebank
from parser.decoding.parse_options import ParseOptions, TagUse
from parser.decoding.predictor import Predictor, load_model
from parser.evaluation import universal
from parser.model_folder import find_model

AS_IT_IS, UNFINISHED = "as it is", "without final marks"

CHANGES: dict[str, FormChange] = {
    AS_IT_IS: list,
    "in capitals": in_capitals,
    "in lower case": in_lower_case,
    "with other quotes": other_quotes,
    "in NFD": decomposed,
}


@dataclass(frozen=True)
class Right:
    """Which words are right: bool[words] each.

    Attributes:
        las: whether the head and the universal relation are right.
        upos, lemma: whether the tag and the lemma are right; empty if the model predicts none.
        sentences: int64[words], the number of each word's sentence.
    """

    las: np.ndarray
    upos: np.ndarray
    lemma: np.ndarray
    sentences: np.ndarray

    def percentages(self) -> list[float | None]:
        """Return the percentages of LAS, UPOS and lemmas."""
        return [
            100 * float(right.mean()) if len(right) else None
            for right in (self.las, self.upos, self.lemma)
        ]


def right_words(predictor: Predictor, sentences: Sequence[Sentence]) -> Right:
    """Parse and tag sentences, and compare the words with their gold columns."""
    encoded = predictor.model.vocabularies.encode(sentences)
    prediction = predictor.predict(encoded, [sentence.forms for sentence in sentences])
    is_word = prediction.parses.heads >= 0
    arcs = zip(
        prediction.parses.heads[is_word].tolist(), _words(prediction.deprels, is_word), strict=True
    )
    gold = (
        (head, deprel)
        for sentence in sentences
        for head, deprel in zip(sentence.heads, sentence.deprels, strict=True)
    )
    las = [
        (h, universal(d)) == (head, universal(deprel))
        for (h, d), (head, deprel) in zip(arcs, gold, strict=True)
    ]
    tags = {}
    for column, name in (("upos", "upos"), ("lemma", "lemmas")):
        predicted = _words(prediction.tags.values.get(column, ()), is_word)
        expected = chain.from_iterable(getattr(sentence, name) for sentence in sentences)
        tags[column] = np.array(
            [value == gold_value for value, gold_value in zip(predicted, expected, strict=False)],
            np.bool_,
        )
    return Right(
        np.array(las), **tags, sentences=np.repeat(np.arange(len(sentences)), encoded.lengths)
    )


def _words(values: Sequence[str], is_word: np.ndarray) -> list[str]:
    """Return the values of words, without those of roots; none if there are none."""
    return (
        [value for value, word in zip(values, is_word.tolist(), strict=True) if word]
        if values
        else []
    )


@dataclass(frozen=True)
class ChangeScore:
    """Percentages of a change.

    Attributes:
        las, upos, lemmas: None if the model predicts none.
        difference: the difference from the LAS of the same words as they are.
    """

    las: float
    upos: float | None
    lemmas: float | None
    difference: float

    @property
    def cells(self) -> list[str]:
        """The cells of a line."""
        scores = (self.las, self.upos, self.lemmas)
        return [
            *("-" if score is None else f"{score:.2f}" for score in scores),
            f"{self.difference:+.2f}",
        ]


def measured(predictor: Predictor, sentences: Sequence[Sentence]) -> dict[str, ChangeScore]:
    """Return the scores of each change, by its name."""
    scores, before = {}, None
    for name, change in CHANGES.items():
        right = right_words(
            predictor, [replace(sentence, forms=change(sentence.forms)) for sentence in sentences]
        )
        before = right if before is None else before
        scores[name] = _score(right, before)
    assert before is not None, "there are changes"
    short = [
        (number, short_sentence)
        for number, sentence in enumerate(sentences)
        if (short_sentence := without_final_mark(sentence)) is not None
    ]
    if short:
        kept = np.isin(before.sentences, [number for number, _ in short])
        kept[np.flatnonzero(np.diff(before.sentences, append=-1))] = False  # the last words
        whole = Right(*(right[kept] if len(right) else right for right in vars(before).values()))
        scores[UNFINISHED] = _score(
            right_words(predictor, [sentence for _, sentence in short]), whole
        )
    return scores


def _score(right: Right, before: Right) -> ChangeScore:
    (las, upos, lemmas), (las_before, *_) = right.percentages(), before.percentages()
    assert las is not None, "there are words"
    assert las_before is not None, "there are words"
    return ChangeScore(las, upos, lemmas, las - las_before)


def model_table(name: str, scores: dict[str, ChangeScore]) -> str:
    """Return the table of a model."""
    return plain_table(
        [name, "LAS", "UPOS", "lemmas", "LAS, change"],
        [[change, *score.cells] for change, score in scores.items()],
    )


def group_table(groups: dict[str, list[dict[str, ChangeScore]]]) -> str:
    """Return the table of groups of models that differ in the seed:
    means and standard deviations of LAS.

    The last column is the mean change of LAS, because other words count there.
    """
    lines = []
    for name, models in groups.items():
        cells = [
            mean_and_deviation([scores[change].las for scores in models]) for change in CHANGES
        ]
        without = [scores[UNFINISHED].difference for scores in models if UNFINISHED in scores]
        lines.append(
            [name, str(len(models)), *cells, f"{np.mean(without):+.2f}" if without else "-"]
        )
    return plain_table(["LAS", "seeds", *CHANGES, f"{UNFINISHED}, change"], lines)


def filled(page: str, name: str, table: str) -> str:
    """Return a page with a table between ``<!-- measured: NAME -->`` and ``<!-- end -->``.

    Raises:
        OptimalStepError: the page has no such part.
    """
    begin, end = f"<!-- measured: {name} -->\n", "<!-- end -->"
    before, begin_mark, rest = page.partition(begin)
    if not begin_mark or end not in rest:
        raise OptimalStepError(
            f"the page has no part from {begin.strip()} to {end}; "
            "write these lines where the table goes"
        )
    return f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}"


def main() -> None:
    """Print the table of each model, and the table of the groups."""
    parser = argparse.ArgumentParser(
        prog="robust.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", type=Path, help="a treebank in CoNLL-U")
    parser.add_argument(
        "models", type=Path, nargs="*", metavar="MODEL", help="a model's or a run's folder"
    )
    parser.add_argument(
        *("-g", "--group"),
        action="append",
        nargs="+",
        default=[],
        metavar=("NAME", "MODEL"),
        help="models that differ in the seed: a line of means and standard deviations",
    )
    parser.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help="write the table of the groups into this page as well",
    )
    asked = parser.parse_args()
    try:
        if wrong := [name for name, *models in asked.group if not models]:
            raise OptimalStepError(
                f"--group {wrong[0]} names no model; write --group NAME MODEL [MODEL ...]"
            )
        if not (asked.models or asked.group):
            raise OptimalStepError("no model is named; write robust.py FILE MODEL [MODEL ...]")
        sentences = read_treebank(asked.file).sentences
        for folder in asked.models:
            print(model_table(str(folder), _measured(folder, sentences)), flush=True)
        groups = {
            name: [_measured(Path(model), sentences) for model in models]
            for name, *models in asked.group
        }
        if groups:
            print(table := group_table(groups), end="")
            if asked.page is not None:
                page = filled(
                    asked.page.read_text(encoding="utf-8"),
                    asked.file.name.partition(".")[0],
                    table,
                )
                asked.page.write_text(page, encoding="utf-8", newline="\n")
    except OptimalStepError as error:
        sys.exit(f"error: {error}")


def _measured(folder: Path, sentences: Sequence[Sentence]) -> dict[str, ChangeScore]:
    options = ParseOptions(tags=TagUse.OVERWRITE)
    return measured(Predictor(load_model(find_model(folder), options), options), sentences)


if __name__ == "__main__":
    main()
