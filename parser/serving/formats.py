"""The simple formats of UDPipe, from and to CoNLL-U.

``horizontal`` has one sentence per line, its words separated by spaces; ``vertical`` has one word per line and blank lines
between sentences. Spaces within words are written as no-break spaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parser.conllu.checks import BYTE_ORDER_MARK, FORM
from parser.conllu.stream import RawSentence

_NO_BREAK = "\u00a0"


def conllu_of_words(sentences: Iterable[Sequence[str]]) -> str:
    """CoNLL-U of sentences of forms, numbered; those without words are left out."""
    lines: list[str] = []
    for number, words in enumerate(filter(None, sentences), 1):
        lines += [f"# sent_id = {number}", f"# text = {' '.join(words)}"]
        lines += ["\t".join([str(place), word, *"_" * 8]) for place, word in enumerate(words, 1)]
        lines.append("")
    return "".join(f"{line}\n" for line in lines)


def read_words(data: str, layout: str) -> list[list[str]]:
    """The sentences of a document in ``horizontal`` or ``vertical`` layout.

    A word is what stands between spaces and tabs, or in vertical layout before the first tab of its line.
    """
    lines = data.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").split("\n")
    if layout == "horizontal":
        return [[word for word in line.replace("\t", " ").split(" ") if word] for line in lines]
    sentences: list[list[str]] = [[]]
    for line in lines:
        word = line.split("\t")[0].strip(" ")
        if word:
            sentences[-1].append(word.replace(" ", _NO_BREAK))
        elif sentences[-1]:
            sentences.append([])
    return sentences


def write_words(sentences: Iterable[RawSentence], layout: str) -> str:
    """The forms of sentences in ``horizontal`` or ``vertical`` layout."""
    words = [[form.replace(" ", _NO_BREAK) for form in sentence.column(FORM)] for sentence in sentences if len(sentence)]
    if layout == "horizontal":
        return "".join(f"{' '.join(forms)}\n" for forms in words)
    return "".join("".join(f"{form}\n" for form in forms) + "\n" for forms in words)
