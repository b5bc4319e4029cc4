"""What a model loses on text as people also write it: python experiments/robust.py FILE MODEL [MODEL ...]

The gold words of a treebank are parsed as they are, in capitals, in lower case, with other quotes, without final marks, and
with decomposed letters (NFD). Heads, relations and lemmas are compared with those of the treebank. Each model has a line for
each change, with the difference from the words as they are. A sentence without its final mark has a word less, so its other
words are compared with the same words of the whole sentence.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from oracles.errors import OptimalStepError
from parser.data.changed_text import FormChange, decomposed, in_capitals, in_lower_case, other_quotes, without_final_mark
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
        las: head and universal relation.
        upos, lemma: the tag and the lemma; empty if the model predicts none.
        sentences: int64[words], the number of each word's sentence.
    """

    las: np.ndarray
    upos: np.ndarray
    lemma: np.ndarray
    sentences: np.ndarray

    def percentages(self) -> list[float | None]:
        """Return the percentages of LAS, UPOS and lemmas."""
        return [100 * float(right.mean()) if len(right) else None for right in (self.las, self.upos, self.lemma)]


def right_words(predictor: Predictor, sentences: Sequence[Sentence]) -> Right:
    """Parse and tag sentences, and compare the words with their gold columns."""
    encoded = predictor.model.vocabularies.encode(sentences)
    found = predictor.predict(encoded, [sentence.forms for sentence in sentences])
    is_word = found.parses.heads >= 0
    arcs = zip(found.parses.heads[is_word].tolist(), _words(found.deprels, is_word), strict=True)
    gold = ((head, deprel) for one in sentences for head, deprel in zip(one.heads, one.deprels, strict=True))
    las = [(h, universal(d)) == (head, universal(deprel)) for (h, d), (head, deprel) in zip(arcs, gold, strict=True)]
    tags = {}
    for column, name in (("upos", "upos"), ("lemma", "lemmas")):
        own = _words(found.tags.values.get(column, ()), is_word)
        expected = chain.from_iterable(getattr(one, name) for one in sentences)
        tags[column] = np.array([one == other for one, other in zip(own, expected, strict=False)], np.bool_)
    return Right(np.array(las), **tags, sentences=np.repeat(np.arange(len(sentences)), encoded.lengths))


def _words(values: Sequence[str], is_word: np.ndarray) -> list[str]:
    """Return the values of words, without those of roots; none if there are none."""
    return [value for value, word in zip(values, is_word.tolist(), strict=True) if word] if values else []


def table(predictor: Predictor, sentences: Sequence[Sentence]) -> list[list[str]]:
    """Return a line for each change: its name; LAS, UPOS and lemmas; and what LAS loses."""
    lines, before = [], None
    for name, change in CHANGES.items():
        right = right_words(predictor, [replace(one, forms=change(one.forms)) for one in sentences])
        before = right if before is None else before
        lines.append(_line(name, right.percentages(), before.percentages()))
    assert before is not None, "there are changes"
    short = [(number, made) for number, one in enumerate(sentences) if (made := without_final_mark(one)) is not None]
    if short:
        kept = np.isin(before.sentences, [number for number, _ in short])
        kept[np.flatnonzero(np.diff(before.sentences, append=-1))] = False  # the last words
        whole = Right(*(right[kept] if len(right) else right for right in vars(before).values()))
        lines.append(_line(UNFINISHED, right_words(predictor, [one for _, one in short]).percentages(), whole.percentages()))
    return lines


def _line(name: str, found: list[float | None], before: list[float | None]) -> list[str]:
    assert found[0] is not None, "there are words"
    assert before[0] is not None, "there are words"
    return [name, *("-" if one is None else f"{one:.2f}" for one in found), f"{found[0] - before[0]:+.2f}"]


def main() -> None:
    """Print the table of each model."""
    parser = argparse.ArgumentParser(prog="robust.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", type=Path, help="a treebank in CoNLL-U")
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL", help="a model's or a run's folder")
    asked = parser.parse_args()
    try:
        sentences = read_treebank(asked.file).sentences
        for folder in asked.models:
            options = ParseOptions(tags=TagUse.OVERWRITE)
            lines = table(Predictor(load_model(find_model(folder), options), options), sentences)
            print(f"| {folder} | LAS | UPOS | lemmas | LAS, change |", "|---|---|---|---|---|", sep="\n")
            print(*(f"| {' | '.join(line)} |" for line in lines), sep="\n", end="\n\n", flush=True)
    except OptimalStepError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
