"""Text read some paragraphs at a time, so that memory is that of these."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO

from parser.conllu.checks import BYTE_ORDER_MARK
from parser.text.tokens import TokenizerError

# Bytes of text that are tokenized at a time, more where a paragraph has more.
_BLOCK_BYTES = 2**16


def blocks_of(source: BinaryIO, name: str) -> Iterator[str]:
    """The text cut after blank lines, without a byte order mark, and with LF at the ends of lines.

    Raises:
        TokenizerError: it is not UTF-8; ``name`` is what the message calls it.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    held: list[str] = []  # pieces without a blank line, none of them empty
    carriage = ""  # a CR that may begin an end of line
    at_start, read = True, 0
    while True:
        piece = source.read(_BLOCK_BYTES)
        try:
            text = carriage + decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            place = read - len(decoder.getstate()[0]) + error.start
            raise TokenizerError(f"{name}: not UTF-8 at byte {place:,} ({error.reason}); convert the text to UTF-8") from error
        if text and at_start:
            text, at_start = text.removeprefix(BYTE_ORDER_MARK), False
        read += len(piece)
        carriage = "\r" if piece and text.endswith("\r") else ""
        text = text[: len(text) - len(carriage)].replace("\r\n", "\n")
        if (found := text.rfind("\n\n")) >= 0:
            end = found + 2
        else:  # the line before a blank one may end what is held
            end = int(bool(held) and held[-1].endswith("\n") and text.startswith("\n"))
        if end:
            yield "".join([*held, text[:end]])
            held, text = [], text[end:]
        if text:
            held.append(text)
        if not piece:
            break
    if (last := "".join(held)).strip():
        yield last
