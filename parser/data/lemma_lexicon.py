"""A user's lexicon of lemmas, from a file: its entries come before what a model learned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from unicodedata import normalize

from parser.conllu.checks import EMPTY, ConlluError
from parser.conllu.files import open_input
from parser.data.lemma_rules import is_lemma
from parser.data.similar import plain


class LemmaLexicon:
    """A lexicon of lemmas, from a file.

    Args:
        lemmas: by (UPOS, FEATS), each ``_`` for any, and by form: the lemma.

    Attributes:
        applied: whether some word has had an entry.
    """

    def __init__(self, lemmas: Mapping[tuple[str, str], Mapping[str, str]]) -> None:
        self._lemmas, self.applied = lemmas, False
        self._small = {
            tags: {_small(form): lemma for form, lemma in [*forms.items()][::-1]}
            for tags, forms in lemmas.items()
        }

    @classmethod
    def read(cls, path: Path) -> LemmaLexicon:
        """Read a file of lines: form, UPOS or _, lemma, and FEATS if they matter, separated by
        tabs; the first entry counts.

        Blank lines and comments, which begin with # and have no tab, are skipped.

        Raises:
            ConlluError: the file cannot be read, or a line has another format.
        """
        lemmas: dict[tuple[str, str], dict[str, str]] = {}
        with open_input(path) as source:
            for number, line in enumerate(source, 1):
                try:
                    columns = (
                        line.decode("utf-8" if number > 1 else "utf-8-sig")
                        .rstrip("\r\n")
                        .split("\t")
                    )
                except UnicodeDecodeError:
                    columns = []
                if len(columns) == 1 and (columns[0].startswith("#") or not columns[0].strip()):
                    continue
                if len(columns) == 3:
                    columns.append(EMPTY)
                if len(columns) != 4 or not columns[0] or not is_lemma(columns[2]):
                    expected = (
                        "form, UPOS or _, lemma, and FEATS if they matter, in UTF-8, "
                        "with tabs between them"
                    )
                    raise ConlluError(
                        f"{path}, line {number}: a line of a lexicon is {expected}; correct it"
                    )
                form, upos, lemma, feats = columns
                lemmas.setdefault((upos, feats), {}).setdefault(form, lemma)
        for forms in lemmas.values():
            for form, lemma in [*forms.items()]:
                forms.setdefault(normalize("NFC", form), lemma)  # forms are looked up in NFC
        return cls(lemmas)

    def lemma(self, form: str, upos: str, feats: str) -> str | None:
        """Return the lemma of a word.

        Entries in the case and quotes of ``form`` come before entries in others, and entries with
        the word's tags before entries with _.
        """
        for lemmas, written in ((self._lemmas, form), (self._small, _small(form))):
            for tags in ((upos, feats), (upos, EMPTY), (EMPTY, feats), (EMPTY, EMPTY)):
                if (lemma := lemmas.get(tags, {}).get(written)) is not None:
                    self.applied = True
                    return lemma
        return None


def _small(form: str) -> str:
    """Return a form in one case, with the quotes and apostrophes of ASCII."""
    return plain(form).casefold()
