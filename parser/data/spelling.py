"""The spelling in which forms are looked up: composed (NFC) and without invisible characters,
whatever the input has.

Unicode writes many letters in two ways: é is one character (NFC), or e and a combining accent
(NFD). Text from some systems, and file names, are in NFD. Treebanks are in NFC, so that a
decomposed form would be unknown, with its affixes and characters. So forms are looked up in NFC;
the output keeps them as in the input.

Text from web pages and word processors has characters that nobody sees, such as soft hyphens. They
are left out of what is looked up, and stay in the output.

A vocabulary may itself have decomposed forms, or forms with invisible characters, if its treebank
or its file of word vectors has them. These are looked up as they stand. Other decomposed forms also
stay as they are if most forms with accents in the vocabulary are decomposed.

Other text costs one test for many words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, cast
from unicodedata import is_normalized, normalize

from parser.data.attributes import ATTRIBUTES, AttributeColumns
from parser.data.vocabulary import Vocabulary

# Places where a word or a line may be divided, or not, and directions of writing. The joiners
# U+200C and U+200D are not among them: they change letters and emoji.
INVISIBLE = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]+")


def visible(form: str) -> str:
    """Return a form without its invisible characters; if it has no others, the form."""
    return INVISIBLE.sub("", form) or form


def is_plain(text: str) -> bool:
    """Return whether a text is in NFC and without invisible characters."""
    return text.isascii() or (is_normalized("NFC", text) and not INVISIBLE.search(text))


class Spelling:
    """The spelling of forms in a vocabulary. Threads may share it.

    Args:
        known: returns the forms of the vocabulary, some perhaps in lower case.
            It is called at the first form that is not in NFC or has invisible characters.
    """

    def __init__(self, known: Callable[[], Iterable[str]]) -> None:
        self._known = known

    @cached_property
    def _kept(self) -> tuple[set[str], bool]:
        """The known forms that are not plain, and whether those in NFD outnumber the forms that
        NFD would change.
        """
        forms = {*self._known()}
        if is_plain("\n".join(forms)):
            return set(), False
        kept = {form for form in forms if not is_plain(form)}
        n_decomposed = sum(not is_normalized("NFC", form) for form in kept)
        return kept, n_decomposed > sum(not is_normalized("NFD", form) for form in forms - kept)

    def __call__(self, forms: Sequence[str]) -> Sequence[str]:
        """Return the forms as they are looked up; the same object if nothing changes."""
        if is_plain("\n".join(forms)):
            return forms
        return [form if form.isascii() else self._spelled(form) for form in forms]

    def _spelled(self, form: str) -> str:
        kept, stays_decomposed = self._kept
        if form in kept or form.lower() in kept:
            return form
        return visible(form) if stays_decomposed else normalize("NFC", visible(form))


class ColumnSpelling:
    """The spelling of forms and lemmas in the vocabularies of attributes, given by attribute."""

    def __init__(self, by_attribute: dict[str, Vocabulary]) -> None:
        self._by_attribute = by_attribute
        self._forms, self._lemmas = (
            Spelling(self.known_forms),
            Spelling(lambda: self._symbols("lemma")),
        )
        self._reads_lemmas = any(
            attribute.column == "lemmas" and name in by_attribute
            for name, attribute in ATTRIBUTES.items()
        )

    def known_forms(self) -> Iterable[str]:
        """Return the forms in the vocabularies, some perhaps in lower case."""
        return self._symbols("form", "lower")

    def _symbols(self, *names: str) -> Iterable[str]:
        return (
            symbol
            for name in names
            if name in self._by_attribute
            for symbol in self._by_attribute[name].symbols
        )

    def __call__(self, sentences: Sequence[AttributeColumns]) -> Sequence[AttributeColumns]:
        """Return the sentences as they are looked up; the same objects if nothing changes."""
        return [self._spelled(sentence) for sentence in sentences]

    def _spelled(self, sentence: AttributeColumns) -> AttributeColumns:
        columns = {"forms": self._forms(sentence.forms)}
        same = columns["forms"] is sentence.forms
        if self._reads_lemmas:
            columns["lemmas"] = self._lemmas(sentence.lemmas)
            same &= columns["lemmas"] is sentence.lemmas
        return sentence if same else cast(AttributeColumns, _Respelled(sentence, columns))


class _Respelled:
    """A sentence, some of whose columns are replaced."""

    def __init__(self, sentence: AttributeColumns, columns: dict[str, Sequence[str]]) -> None:
        self._sentence = sentence
        self.__dict__.update(columns)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sentence, name)
