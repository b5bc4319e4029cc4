"""Text split into sentences and words, multiword tokens included, by UDPipe 1's tokenizer (extra ``text``).

The tokenizer of a model lies in its folder, and a segmenter, where there is one, which then decides where sentences end
(segmenter.py). A blank line always ends a sentence, so that text is tokenized some paragraphs at a time, and memory is that of
these. Many letters without a space between them are tokenized in pieces (pieces.py), at whose ends sentences end, too, unless
the text is presegmented or there is a segmenter.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from parser.text import udpipe
from parser.text.pieces import pieces
from parser.text.tokens import Token, TokenizedSentence, text_of
from parser.text.udpipe import UdpipeError

if TYPE_CHECKING:
    from parser.text.segmenter import Segmenter

TOKENIZER = "tokenizer.udpipe"
SEGMENTER = "segmenter.json"  # what there is of a segmenter where there is one

# Bytes of text that are tokenized at a time, more where a paragraph has more.
_BLOCK_BYTES = 2**16

# CoNLL-U's own marks of spaces, and no others.
_MARKS = "normalized_spaces"

BYTE_ORDER_MARK = "\ufeff"


class TokenizerError(ValueError):
    """Text cannot be tokenized; the message says why, and the fix."""


class Tokenizer:
    """A tokenizer of UDPipe 1's. Threads may use one side by side.

    Args:
        path: a file of UDPipe's.
        segmenter: what decides where sentences end; None: UDPipe.

    Attributes:
        path: the file.

    Raises:
        TokenizerError: the file does not exist, or is not a model with a tokenizer, or UDPipe is not installed.
    """

    def __init__(self, path: Path, segmenter: Segmenter | None = None) -> None:
        try:
            self._udpipe = udpipe.package()
            self._model = udpipe.load(path)
        except UdpipeError as error:
            raise TokenizerError(str(error)) from error
        self.path = path
        self._segmenter = segmenter
        self._new()

    def tokenize(self, text: str) -> list[list[Token]]:
        """Sentences as lists of tokens, the same as those of conllu().

        Raises:
            UnicodeEncodeError: there is half of a surrogate pair, which is not a character, in the text.
        """
        blocks = _blocks(io.BytesIO(text.encode()), "the text")
        return [sentence.tokens for block in blocks for sentence in self._sentences(block)]

    def conllu(self, source: BinaryIO, name: str = "-", presegmented: bool = False) -> Iterator[bytes]:
        """CoNLL-U of a text, in pieces of whole sentences.

        There are ids, forms, multiword tokens, SpaceAfter=No, and the comments newdoc, newpar, sent_id and text.

        Args:
            source: the text in UTF-8.
            name: what errors call it.
            presegmented: each line is a sentence, and is not cut, however long it is.

        Raises:
            TokenizerError: it is not UTF-8.
        """
        number = 0
        for block in _blocks(source, name):
            written = []
            for sentence in self._sentences(block, presegmented):
                number += 1
                written += [
                    *(["# newdoc"] if number == 1 else []),
                    *(["# newpar"] if sentence.begins_paragraph else []),
                    f"# sent_id = {number}",
                    f"# text = {sentence.text}",
                    *conllu_lines(sentence.tokens),
                    "",
                ]
            yield "".join(f"{line}\n" for line in written).encode()

    def _sentences(self, text: str, presegmented: bool = False) -> Iterator[TokenizedSentence]:
        found = self._sentences_of_udpipe(text, presegmented)
        if self._segmenter is None or presegmented:
            yield from found
            return
        paragraphs: list[list[TokenizedSentence]] = []
        for sentence in found:
            if sentence.begins_paragraph or not paragraphs:
                paragraphs.append([])
            paragraphs[-1].append(sentence)
        tokens = [list(chain.from_iterable(sentence.tokens for sentence in paragraph)) for paragraph in paragraphs]
        for paragraph, divided in zip(paragraphs, self._segmenter.split(tokens), strict=True):
            for number, of_sentence in enumerate(divided):
                begins = number == 0 and paragraph[0].begins_paragraph
                yield TokenizedSentence(text_of(of_sentence), of_sentence, begins)

    def _sentences_of_udpipe(self, text: str, presegmented: bool) -> Iterator[TokenizedSentence]:
        parts = list(pieces(text))
        before: TokenizedSentence | None = None  # that of a line which goes on in the next part
        for number, part in enumerate(parts):
            found = list(self._sentences_of_part(part, presegmented))
            if not found:
                continue
            if number:
                found[0] = replace(found[0], begins_paragraph=False) if before is None else before.joined(found[0])
                before = None
            if number < len(parts) - 1:  # the next part follows without a space
                *others, last = found[-1].tokens
                found[-1] = replace(found[-1], tokens=[*others, replace(last, space_after=False)])
                before = found.pop() if presegmented else None
            yield from found
        if before is not None:
            yield before

    def _sentences_of_part(self, text: str, presegmented: bool) -> Iterator[TokenizedSentence]:
        tokenizer, error = self._new(presegmented), self._udpipe.ProcessingError()
        # UDPipe would end the text at a NUL; what is not a character of a text separates words, as a space does.
        tokenizer.setText(text.replace("\0", " "))
        sentence = self._udpipe.Sentence()
        while tokenizer.nextSentence(sentence, error):
            yield TokenizedSentence(sentence.getText(), _tokens(sentence), sentence.getNewPar())
            sentence = self._udpipe.Sentence()
        if error.occurred():
            raise TokenizerError(f"{self.path}: UDPipe cannot tokenize this ({error.message})")

    def _new(self, presegmented: bool = False) -> Any:
        tokenizer = self._model.newTokenizer(f"presegmented;{_MARKS}" if presegmented else _MARKS)
        if tokenizer is None:
            raise TokenizerError(f"{self.path}: this model has no tokenizer; train one with scripts/train.py tokenizer=udpipe")
        return tokenizer


def model_tokenizer(folder: Path, path: Path | None = None) -> Tokenizer:
    """The tokenizer of a model.

    Args:
        folder: the model's folder, or that of a run.
        path: another file to take instead; UDPipe then decides where sentences end.

    Raises:
        TokenizerError: there is none, or it cannot be loaded.
        ModelError: the segmenter beside it is damaged.
    """
    places = [folder / TOKENIZER, folder / "model" / TOKENIZER] if path is None else [path]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise TokenizerError(
            f"{places[0]}: there is no tokenizer; train one into the model's folder (scripts/train.py tokenizer=udpipe), or "
            "name a file of UDPipe 1's (--tokenizer FILE, Parser.load(folder, tokenizer=FILE))"
        )
    return Tokenizer(found, None if path is not None else segmenter_beside(found))


def segmenter_beside(tokenizer: Path) -> Segmenter | None:
    """The segmenter in a tokenizer's folder, if there is one.

    Raises:
        ModelError: it is damaged.
    """
    if not (tokenizer.parent / SEGMENTER).is_file():
        return None
    from parser.text.segmenter import Segmenter  # loads torch

    return Segmenter.load(tokenizer.parent)


def spans(text: str, sentences: Iterable[list[Token]]) -> list[list[tuple[int, int]]]:
    """Where the tokens of a text stand in it, each as (start, end); those of UDPipe's option ``ranges``.

    Nothing but what separates stands between two tokens, or in place of a space within one, and no token begins with it: so
    what is between the spaces of a form is where it comes next.

    Args:
        text: as tokenize() was given it.
        sentences: what tokenize() found.

    Raises:
        TokenizerError: they are of another text.
    """
    end = int(text.startswith(BYTE_ORDER_MARK))
    found: list[list[tuple[int, int]]] = []
    for tokens in sentences:
        found.append([])
        for token in tokens:
            starts = []
            for part in token.form.split(" "):
                if (start := text.find(part, end)) < 0:
                    raise TokenizerError(
                        f"{token.form!r} is not in the text after character {end:,}; give the text it comes from"
                    )
                starts.append(start)
                end = start + len(part)
            found[-1].append((starts[0], end))
    return found


def conllu_lines(tokens: list[Token], columns: Sequence[str] | None = None) -> Iterator[str]:
    """The lines of a sentence in CoNLL-U, without comments.

    Args:
        tokens: of the sentence.
        columns: of each word, what stands between FORM and MISC; without, it is empty.
    """
    empty = "\t".join("_" * 7)
    word = 0
    for token in tokens:
        misc = "_" if token.space_after else "SpaceAfter=No"
        if token.words != (token.form,):
            yield f"{word + 1}-{word + len(token.words)}\t{token.form}\t{empty}\t{misc}"
            misc = "_"
        for form in token.words:
            yield f"{word + 1}\t{form}\t{empty if columns is None else columns[word]}\t{misc}"
            word += 1


class _Stream(io.RawIOBase):
    """Pieces of bytes as a stream to read from."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._held:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._held = piece
        taken = self._held[: len(buffer)]
        buffer[: len(taken)] = taken
        self._held = self._held[len(taken) :]
        return len(taken)


def as_stream(pieces: Iterator[bytes]) -> BinaryIO:
    """Pieces, each made when it is read, as a stream."""
    return io.BufferedReader(_Stream(pieces))


def _tokens(sentence: Any) -> list[Token]:
    ranges = {token.idFirst: token for token in sentence.multiwordTokens}
    words = list(sentence.words)[1:]
    tokens = []
    number = 1
    while number <= len(words):
        token = ranges.get(number)
        last = number if token is None else token.idLast
        written = words[number - 1] if token is None else token
        forms = tuple(word.form for word in words[number - 1 : last])
        tokens.append(Token(written.form, forms, written.getSpaceAfter()))
        number = last + 1
    return tokens


def _blocks(source: BinaryIO, name: str) -> Iterator[str]:
    """The text cut after blank lines, without a byte order mark, and with LF at the ends of lines."""
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
