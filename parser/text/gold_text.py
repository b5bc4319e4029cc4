"""What a treebank says of text: its tokens and sentences, by paragraphs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from parser.conllu.checks import FORM, MISC, NO_SPACE
from parser.conllu.files import open_input
from parser.conllu.stream import RawSentence, read_raw_sentences
from parser.text.tokens import Token

# The comments with which a paragraph or a document begins.
_BEGINNINGS = ("# newpar", "# newdoc")


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
    for columns, words in sentence.surface_tokens():
        yield Token(columns[FORM], tuple(forms[words.start : words.stop]), NO_SPACE not in columns[MISC].split("|"))
