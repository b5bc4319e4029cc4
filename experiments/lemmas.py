"""Lemmas of forms unseen in training: python experiments/lemmas.py FILE TRAINING [TRAINING ...]
--models MODEL [MODEL ...]

FILE is a treebank that the models did not learn from, with lemmas annotated as in the treebank that
they learned from. Forms that occur in no file of TRAINING (ignoring case) are drawn at random with
a fixed seed; each form is used once, at its first occurrence. Their lemmas are predicted in their
sentences, once with the tags that the model predicts, and once with UPOS and FEATS of the treebank
given. With ``--list`` the words with wrong lemmas are printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from oracles.errors import OptimalStepError
from parser.conllu.checks import EMPTY
from parser.data.treebank import Sentence, read_treebank
from parser.decoding.parse_options import ParseOptions, TagUse
from parser.decoding.predictor import Predictor, load_model
from parser.model.packs import find_named

Word = tuple[int, int]
"""The number of a sentence, and the place of a word in it."""


def drawn_words(
    sentences: Sequence[Sentence], seen: Iterable[str], number: int, seed: int
) -> list[Word]:
    """Return words whose forms are not in ``seen``, ignoring case; each form once, in the order of
    the text.

    Words without a lemma or without a letter or digit are left out.
    All are returned if there are fewer than ``number``.
    """
    seen_forms = {form.lower() for form in seen}
    words: list[Word] = []
    for row, sentence in enumerate(sentences):
        for place, (form, lemma) in enumerate(zip(sentence.forms, sentence.lemmas, strict=True)):
            if lemma != EMPTY and any(map(str.isalnum, form)) and form.lower() not in seen_forms:
                seen_forms.add(form.lower())
                words.append((row, place))
    chosen = np.random.default_rng(seed).permutation(len(words))[:number]
    return [words[place] for place in sorted(chosen.tolist())]


def lemmas_of(
    predictor: Predictor, sentences: Sequence[Sentence], words: Sequence[Word], given: bool
) -> list[str]:
    """Return the predicted lemmas of words in their sentences; with ``given``, they fit the UPOS
    and FEATS of the treebank.
    """
    encoded = predictor.model.vocabularies.encode(sentences)
    tags = (
        [{"upos": sentence.upos, "feats": sentence.feats} for sentence in sentences]
        if given
        else []
    )
    _, predictions = predictor.tag(encoded, [sentence.forms for sentence in sentences], tags)
    return [predictions.values["lemma"][encoded.offsets[row] + 1 + place] for row, place in words]


def main() -> None:
    """Print a line for each model: how many of the words have the right lemma."""
    parser = argparse.ArgumentParser(
        prog="lemmas.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", type=Path, help="a treebank in CoNLL-U")
    parser.add_argument(
        "training", type=Path, nargs="+", help="the files that the models learned from"
    )
    parser.add_argument(
        "--models",
        type=Path,
        nargs="+",
        required=True,
        metavar="MODEL",
        help="models, by folder or name",
    )
    parser.add_argument(
        "--number", type=int, default=200, help="how many words to draw (default: 200)"
    )
    parser.add_argument("--seed", type=int, default=1, help="the seed of the draw (default: 1)")
    parser.add_argument("--list", action="store_true", help="print the words with wrong lemmas")
    asked = parser.parse_args()
    try:
        sentences = read_treebank(asked.file).sentences
        seen = (
            form
            for file in asked.training
            for sentence in read_treebank(file).sentences
            for form in sentence.forms
        )
        words = drawn_words(sentences, seen, asked.number, asked.seed)
        print(
            f"| {len(words)} words | right, tags predicted | right, tags given |",
            "|---|---|---|",
            sep="\n",
        )
        for folder in asked.models:
            options = ParseOptions(tags=TagUse.OVERWRITE)
            predictor = Predictor(load_model(find_named(folder), options), options)
            both = [lemmas_of(predictor, sentences, words, fit_tags) for fit_tags in (False, True)]
            gold = [sentences[row].lemmas[place] for row, place in words]
            right = [sum(map(str.__eq__, lemmas, gold)) for lemmas in both]
            print(f"| {folder} | {right[0]} | {right[1]} |", flush=True)
            for (row, place), expected, *lemmas in (
                zip(words, gold, *both, strict=True) if asked.list else ()
            ):
                if lemmas != [expected] * 2:
                    print(
                        f"  {sentences[row].forms[place]} {sentences[row].upos[place]} {expected}: "
                        f"{', '.join(lemmas)}"
                    )
    except OptimalStepError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
