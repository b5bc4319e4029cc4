"""The part of ufal.udpipe that a tokenizer needs, in plain Python: for tests where the package is not installed.

A line that is not blank is a sentence, or several that end with one of . ! ?; words are runs of letters and single other
characters; ``du`` is a multiword token of ``de le``. A blank line begins a paragraph. A model is any file that begins with
MAGIC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

MAGIC = "a fake model"


@dataclass
class Word:
    form: str = "<root>"
    space: bool = True

    def getSpaceAfter(self) -> bool:  # noqa: N802 - the names are those of the package
        return self.space


@dataclass
class MultiwordToken(Word):
    idFirst: int = 0  # noqa: N815
    idLast: int = 0  # noqa: N815


@dataclass
class Sentence:
    words: list[Word] = field(default_factory=lambda: [Word()])
    multiwordTokens: list[MultiwordToken] = field(default_factory=list)  # noqa: N815
    text: str = ""
    paragraph: bool = False

    def getNewPar(self) -> bool:  # noqa: N802
        return self.paragraph

    def getText(self) -> str:  # noqa: N802
        return self.text


class ProcessingError:
    message = ""

    def occurred(self) -> bool:
        return False


class FakeTokenizer:
    def __init__(self, presegmented: bool) -> None:
        self._sentence = r".+" if presegmented else r"[^.!?]*[.!?]|[^.!?]+"

    def setText(self, text: str) -> None:  # noqa: N802
        self._left: list[tuple[str, bool]] = []
        for paragraph in re.split(r"\n\s*\n", text):
            found = [part for line in paragraph.splitlines() for part in re.findall(self._sentence, line) if part.strip()]
            self._left += [(part.strip(), number == 0) for number, part in enumerate(found)]

    def nextSentence(self, sentence: Sentence, error: ProcessingError) -> bool:  # noqa: N802
        if not self._left:
            return False
        sentence.text, sentence.paragraph = self._left.pop(0)
        for match in re.finditer(r"\w+|\S", sentence.text):
            space = match.end() == len(sentence.text) or sentence.text[match.end()].isspace()
            first = len(sentence.words)
            if match[0] == "du":
                sentence.multiwordTokens.append(MultiwordToken("du", space, first, first + 1))
            sentence.words += [Word(form, space) for form in (("de", "le") if match[0] == "du" else (match[0],))]
        return True


class Model:
    @staticmethod
    def load(path: str) -> Model | None:
        content = Path(path).read_text(encoding="utf-8", errors="replace")
        return Model() if content.startswith(MAGIC) else None

    def newTokenizer(self, options: str) -> FakeTokenizer:  # noqa: N802
        return FakeTokenizer("presegmented" in options)
