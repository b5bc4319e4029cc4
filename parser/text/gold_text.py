"""What a treebank says of text: its tokens and sentences, by paragraphs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from parser.conllu.checks import FORM, MISC
from parser.conllu.files import open_input
from parser.conllu.stream import RawSentence, read_raw_sentences
from parser.text.tokens import Token

# The comments with which a paragraph or a document begins.
_BEGINNINGS = ("# newpar", "# newdoc")
_NO_SPACE = "SpaceAfter=No"


def read_paragraphs(path: str | Path) -> list[list[list[Token]]]:
    """The paragraphs of a file, each a list of sentences; one, if the file marks none.

    Raises:
        ConlluError: it is not CoNLL-U.
    """
    paragraphs: list[list[list[Token]]] = []
    with open_input(path) as stream:
        for sentence in read_raw_sentences(stream, str(path)):
            begins = any(line.startswith(_BEGINNINGS) for line in sentence.lines)
            tokens = list(tokens_of(sentence))
            if begins or not paragraphs:
                paragraphs.append([])
            if tokens:
                paragraphs[-1].append(tokens)
    return [paragraph for paragraph in paragraphs if paragraph]


def tokens_of(sentence: RawSentence) -> Iterator[Token]:
    """The surface tokens of a sentence."""
    forms = sentence.column(FORM)
    lines = {first: (sentence.lines[place].rstrip("\r\n").split("\t"), last) for place, first, last in sentence.multiwords}
    number = 1
    while number <= len(forms):
        columns, last = lines.get(number, (sentence.columns[number - 1], number))
        space_after = _NO_SPACE not in columns[MISC].split("|")
        yield Token(columns[FORM], tuple(forms[number - 1 : last]), space_after)
        number = last + 1
