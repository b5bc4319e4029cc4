"""Treebanks rewritten in other ways that people write: in capitals, in lower case, with other
quotes, decomposed (NFD), without final marks.

A change is a function from the forms of a sentence to as many other forms; all other columns stay.
Training learns from changed sentences (``parser/training/examples/augmentation.py``);
``scripts/make_models.py`` and ``experiments/robust.py`` measure what they cost. The text of a
changed treebank is written from its changed tokens. So the evaluation finds the same characters in
both, even where a capital is longer than its letter: *ß* becomes *SS*.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import replace

from parser.conllu.checks import FORM, UNKNOWN_HEAD
from parser.conllu.formats import split_columns
from parser.conllu.stream import RawSentence
from parser.data.treebank import Sentence

FormChange = Callable[[list[str]], list[str]]

_STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d\u201e", '\'\'"""')
_NO_MARKS = "'\"@#%&*/\\"
_TEXT = "# text ="


def in_capitals(forms: list[str]) -> list[str]:
    """Return forms in capitals; some become longer."""
    return [form.upper() for form in forms]


def in_lower_case(forms: list[str]) -> list[str]:
    """Return forms in lower case."""
    return [form.lower() for form in forms]


def decomposed(forms: list[str]) -> list[str]:
    """Return forms in NFD: letters with accents are several characters."""
    return [unicodedata.normalize("NFD", form) for form in forms]


def typographic(forms: list[str]) -> list[str]:
    """Return forms with typographic quotes and apostrophes.

    Double quotes open and close alternately; a single quote is an apostrophe.
    """
    changed, is_open = [], False
    for form in forms:
        new_form = form.replace("'", "\u2019")
        while '"' in new_form:
            new_form = new_form.replace('"', "\u201d" if is_open else "\u201c", 1)
            is_open = not is_open
        changed.append(new_form)
    return changed


def other_quotes(forms: list[str]) -> list[str]:
    """Return forms with typographic quotes and apostrophes instead of ASCII ones,
    or the other way round.
    """
    straight = [form.translate(_STRAIGHT) for form in forms]
    return typographic(forms) if straight == forms else straight


def changed_lines(sentence: RawSentence, change: FormChange) -> list[str]:
    """Return the lines of a sentence with its words and multiword tokens changed,
    without the comment ``# text``.

    One call changes all tokens of the text, and another all words. Empty nodes stay.
    """
    tokens = list(sentence.surface_tokens())
    forms = dict(enumerate(change(sentence.column(FORM))))
    multiwords = {first - 1: place for place, first, _ in sentence.multiwords}
    by_place = {}
    for (_, words), form in zip(
        tokens, change([columns[FORM] for columns, _ in tokens]), strict=True
    ):
        if words.start in multiwords:
            by_place[multiwords[words.start]] = form
        else:
            forms[words.start] = form
    by_place |= {place: forms[word] for word, place in enumerate(sentence.word_lines)}
    return [
        _with_form(line, by_place[place]) if place in by_place else line
        for place, line in enumerate(sentence.lines)
        if not line.startswith(_TEXT)
    ]


def _with_form(line: str, form: str) -> str:
    columns = split_columns(0, line)
    columns[FORM] = form
    return "\t".join(columns)


def is_final_mark(form: str) -> bool:
    """Return whether a form is a mark that ends sentences, such as a period or a question mark."""
    return form != "" and all(
        unicodedata.category(character) == "Po" and character not in _NO_MARKS for character in form
    )


def without_final_mark(sentence: Sentence) -> Sentence | None:
    """Return a sentence without its final mark; None if the sentence has none,
    or is no tree without the mark.
    """
    n = len(sentence)
    if (
        n < 2
        or sentence.heads[-1] in (0, UNKNOWN_HEAD)
        or n in sentence.heads
        or not is_final_mark(sentence.forms[-1])
    ):
        return None
    names = ("forms", "lemmas", "upos", "xpos", "feats", "heads", "deprels", "lengths")
    return replace(
        sentence,
        **{name: values[:-1] for name in names if (values := getattr(sentence, name)) is not None},
    )
