"""Text split into sentences and words: by UDPipe 1's tokenizer (extra ``text``), multiword tokens included, or at spaces.

Where there is a segmenter, it decides where sentences end (segmenter.py), unless lines do. A blank line always ends a sentence,
so that text is tokenized some paragraphs at a time, and memory is that of these; so does the place where a very long paragraph
is cut (see blocks_of()). UDPipe is given many letters without a space between them in pieces (see pieces()), at whose ends
sentences end, too, unless the text is presegmented or there is a segmenter.
"""

from __future__ import annotations

import codecs
import io
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from parser.conllu.checks import BYTE_ORDER_MARK
from parser.decoding.parse_options import ParseOptions, SentenceEnds, TokenEnds
from parser.model.packs import named_folder
from parser.model_folder import SEGMENTER, TOKENIZER
from parser.text import udpipe
from parser.text.tokens import Token, TokenizedSentence, TokenizerError, add_misc, conllu_lines, spans, text_of, words_at_spaces
from parser.text.udpipe import UdpipeError

if TYPE_CHECKING:
    from parser.text.segmenter import Segmenter

# CoNLL-U's own marks of spaces, and no others.
_MARKS = "normalized_spaces"


class TextSplitter(ABC):
    """What splits text into sentences and tokens.

    Attributes:
        segmenter: what decides where sentences end; None: whatever finds the tokens.
        path: the file of the tokenizer, if there is one.
    """

    path: Path | None = None

    def __init__(self, segmenter: Segmenter | None) -> None:
        self.segmenter = segmenter

    @abstractmethod
    def _found(self, block: Block, presegmented: bool) -> Iterator[TokenizedSentence]:
        """The sentences before the segmenter divides their paragraphs anew."""

    def tokenize(self, text: str, presegmented: bool = False) -> list[list[Token]]:
        """Sentences as lists of tokens, the same as those of conllu().

        Raises:
            TokenizerError: the sentences cannot be found.
            UnicodeEncodeError: there is half of a surrogate pair, which is not a character, in the text.
        """
        blocks = blocks_of(io.BytesIO(text.encode()), "the text", presegmented)
        return [sentence.tokens for block in blocks for sentence in self._sentences(block, presegmented)]

    def warm_up(self) -> None:
        """Compiles what finds sentences, or loads it where it has been compiled before."""
        if self.segmenter is not None:
            self.segmenter.probabilities(self.tokenize("a"))  # in 8 bits, and not

    def conllu(self, source: BinaryIO, name: str = "-", presegmented: bool = False, ranges: bool = False) -> Iterator[bytes]:
        """CoNLL-U of a text, in pieces of whole sentences.

        There are ids, forms, multiword tokens, MISC (see add_misc()), and the comments newdoc, newpar, sent_id and text.

        Args:
            source: the text in UTF-8.
            name: what errors call it.
            presegmented: each line is a sentence, and is not cut, however long it is.
            ranges: write TokenRange=START:END, where a token stands in the text, in characters from 0.

        Raises:
            TokenizerError: it is not UTF-8, or the sentences cannot be found.
        """
        number = 0
        for sentences in self._with_misc(source, name, presegmented, ranges):
            written = []
            for sentence in sentences:
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

    def _with_misc(self, source: BinaryIO, name: str, presegmented: bool, ranges: bool) -> Iterator[list[TokenizedSentence]]:
        """The sentences of each block, with MISC. They wait for the next block, as spaces may follow that are read with it."""
        read: list[str] = []
        text, offset = "", 0  # what has been read, from the first token that waits on; where that stands in the whole text
        waiting: list[TokenizedSentence] = []
        places: list[list[tuple[int, int]]] = []
        for block in chain(blocks_of(source, name, presegmented, read), (None,)):
            text += "".join(read)
            read.clear()
            found = [] if block is None else list(self._sentences(block, presegmented))
            if block is not None and not found:
                continue
            last = places[-1][-1][1] if places else 0
            its_places = spans(text[last:], (sentence.tokens for sentence in found))
            end = 0 if not waiting else last + its_places[0][0][0] if found else len(text)
            if waiting:
                tokens = add_misc(text, [one.tokens for one in waiting], places, end, offset if ranges else None)
                yield [replace(one, tokens=own) for one, own in zip(waiting, tokens, strict=True)]
            waiting, text, offset = found, text[end:], offset + end
            places = [[(start + last - end, stop + last - end) for start, stop in own] for own in its_places]

    def _sentences(self, block: Block, presegmented: bool = False) -> Iterator[TokenizedSentence]:
        found = self._found(block, presegmented)
        if self.segmenter is None or presegmented:
            yield from found
            return
        paragraphs: list[list[TokenizedSentence]] = []
        for sentence in found:
            if sentence.begins_paragraph or not paragraphs:
                paragraphs.append([])
            paragraphs[-1].append(sentence)
        tokens = [list(chain.from_iterable(sentence.tokens for sentence in paragraph)) for paragraph in paragraphs]
        for paragraph, divided in zip(paragraphs, self.segmenter.split(tokens), strict=True):
            for number, of_sentence in enumerate(divided):
                begins = number == 0 and paragraph[0].begins_paragraph
                yield TokenizedSentence(text_of(of_sentence), of_sentence, begins)


class SpaceTokenizer(TextSplitter):
    """Splits at spaces and at the ends of lines: tokens as they are written, each of one word."""

    def _found(self, block: Block, presegmented: bool) -> Iterator[TokenizedSentence]:
        if self.segmenter is None and not presegmented:
            raise TokenizerError(
                "words at spaces: this model has no segmenter to find sentences; put each sentence on a line of its own, and "
                "say so (--sentences line, parse_text(..., sentences='line'))"
            )
        begins_paragraph = not block.continues
        for line in block.text.split("\n"):
            tokens = [Token(form, (form,), space_after=True) for form in words_at_spaces(line)]
            if tokens:
                yield TokenizedSentence(text_of(tokens), tokens, begins_paragraph)
            begins_paragraph = not tokens


class Tokenizer(TextSplitter):
    """A tokenizer of UDPipe 1's. Threads may use one side by side.

    Args:
        path: a file of UDPipe's.
        segmenter: what decides where sentences end; None: UDPipe.

    Raises:
        TokenizerError: the file does not exist, or is not a model with a tokenizer, or UDPipe is not installed.
    """

    def __init__(self, path: Path, segmenter: Segmenter | None = None) -> None:
        super().__init__(segmenter)
        try:
            self._udpipe = udpipe.package()
            self._model = udpipe.load(path)
        except UdpipeError as error:
            raise TokenizerError(str(error)) from error
        self.path = path
        self._new()

    def _found(self, block: Block, presegmented: bool) -> Iterator[TokenizedSentence]:
        parts = list(pieces(block.text))
        before: TokenizedSentence | None = None  # that of a line which goes on in the next part
        for number, part in enumerate(parts):
            found = list(self._sentences_of_part(part, presegmented))
            if not found:
                continue
            if block.continues and not number:
                found[0] = replace(found[0], begins_paragraph=False)
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
            raise TokenizerError(
                f"{self.path}: this model has no tokenizer; train one with optimal-step train tokenizer=udpipe"
            )
        return tokenizer


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


def conllu_source(tokenizer: TextSplitter | None, source: BinaryIO, name: str, options: ParseOptions) -> BinaryIO:
    """What a file parser reads: a stream as it is, or the CoNLL-U of its text, each sentence made when it is read.

    Args:
        tokenizer: what splits the text; None: the stream is no text.
        source: the stream.
        name: what errors call it.
        options: where sentences end, and whether to write where tokens stand.

    Raises:
        TokenizerError: see TextSplitter.conllu(), when it is read.
    """
    if tokenizer is None:
        return source
    return as_stream(tokenizer.conllu(source, name, options.sentences == SentenceEnds.LINE, options.ranges))


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


# The mark of an end, and the quotes and brackets that close after it.
_SENTENCE_END = re.compile("[.!?\u3002\uff01\uff1f]+[\"')\\]\u00bb\u2019\u201d\u300d\u300f\uff09]*")

# Characters of text that are tokenized at a time: whole paragraphs. Only of a longer paragraph some more, but not all, so that
# memory does not grow with text that has no blank lines.
_BLOCK = 2**16
_LONGEST_PART = 2**17
_READ_BYTES = 2**16

# What ends lines and paragraphs beside LF, CR LF and CR. A byte order mark is no part of a text.
_SEPARATORS = {"\v": "\n", "\x85": "\n", "\u2028": "\n", "\f": "\n\n", "\u2029": "\n\n", BYTE_ORDER_MARK: ""}
_TO_LINES = str.maketrans(_SEPARATORS)


@dataclass(frozen=True)
class Block:
    """Some of a text: whole paragraphs, or a part of a very long one.

    Attributes:
        text: with LF at the ends of lines, and nothing else in lines of white space.
        continues: whether it goes on with the paragraph of the block before it.
    """

    text: str
    continues: bool = False


def blocks_of(source: BinaryIO, name: str, presegmented: bool = False, read: list[str] | None = None) -> Iterator[Block]:
    """The text cut after blank lines; where there is none for long, after the end of a sentence or of a line.

    Where each line is a sentence (``presegmented``), no line is cut.
    A line ends with LF, CR LF, CR, a vertical tab, U+0085 or U+2028, and a paragraph with a line of white space, a form feed or
    U+2029. Byte order marks are left out wherever they stand. What has been read of the text by then, as it stands there, is
    appended to ``read``.

    Raises:
        TokenizerError: it is not UTF-8; ``name`` is what the message calls it.
    """
    held: list[str] = []
    size = paragraphs = 0  # characters that are held, and those of them that are whole paragraphs
    continues = within_line = False
    for line in _lines(source, name, [] if read is None else read):
        held.append(line)
        size += len(line)
        if line == "\n" and not within_line:
            paragraphs = size
        within_line = not line.endswith("\n")
        if size < _BLOCK or not (paragraphs or size > _LONGEST_PART) or (presegmented and within_line):
            continue
        text = "".join(held)
        cut = paragraphs or (size if presegmented else _place_to_cut(text))
        if text[:cut].strip():
            yield Block(text[:cut], continues)
            continues = True
        continues = continues and not paragraphs
        held, size, paragraphs = [text[cut:]], len(text) - cut, 0
    if (text := "".join(held)).strip():
        yield Block(text, continues)


def _lines(source: BinaryIO, name: str, decoded: list[str]) -> Iterator[str]:
    """The lines, with LF at their ends; lines of white space are empty, and very long ones come in parts.

    What is read is appended to ``decoded``.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    held = carriage = ""  # of a line that has not ended; a CR that may begin its end
    read = 0
    while True:
        piece = source.read(_READ_BYTES)
        try:
            decoded.append(decoder.decode(piece, final=not piece))
        except UnicodeDecodeError as error:
            place = read - len(decoder.getstate()[0]) + error.start
            raise TokenizerError(f"{name}: not UTF-8 at byte {place:,} ({error.reason}); convert the text to UTF-8") from error
        read += len(piece)
        text = carriage + decoded[-1]
        carriage = "\r" if piece and text.endswith("\r") else ""
        text = text[: len(text) - len(carriage)].replace("\r\n", "\n").replace("\r", "\n")
        *lines, held = (held + text.translate(_TO_LINES)).split("\n")
        for line in lines:
            yield f"{line}\n" if line.strip() else "\n"
        if not piece or len(held) > _LONGEST_PART:
            yield held
            held = ""
        if not piece:
            return


def _place_to_cut(text: str) -> int:
    """Where in its second half: after a line that ends a sentence, else a sentence, a line, a word, or anywhere."""
    half = len(text) // 2
    for end in (rf"{_SENTENCE_END.pattern}\n", rf"{_SENTENCE_END.pattern}\s", "\n", r"\s"):
        places = [found.end() for found in re.finditer(end, text[half:])]
        if places:
            return half + places[-1]
    return len(text)


# Letters without a space between them that are tokenized at a time: 100,000 at once take UDPipe minutes. No word comes near,
# but text without spaces does.
LONGEST_RUN = 1000
_TOO_LONG = re.compile(rf"\S{{{LONGEST_RUN + 1},}}")
_MOST_MARKS = 10  # accents and the like that stay with their letter


def pieces(text: str) -> Iterator[str]:
    """The text, cut within runs of letters that are too long.

    A piece ends after the end of a sentence if there is one in its second half, else where no accent follows if that can be.
    """
    start = 0
    for run in _TOO_LONG.finditer(text):
        while run.end() - (first := max(start, run.start())) > LONGEST_RUN:
            end = first + LONGEST_RUN
            ends = [found.end() for found in _SENTENCE_END.finditer(text, first + LONGEST_RUN // 2, end)]
            letters = (place for place in range(end, end - _MOST_MARKS, -1) if not unicodedata.combining(text[place]))
            cut = ends[-1] if ends else next(letters, end)
            yield text[start:cut]
            start = cut
    yield text[start:]


def model_tokenizer(folder: Path, path: Path | None = None, tokens: str | None = None) -> TextSplitter:
    """The tokenizer of a model.

    Args:
        folder: the model's folder, or that of a run.
        path: another file to take instead; UDPipe then decides where sentences end.
        tokens: a member of TokenEnds, or None; at spaces, the model need not have a tokenizer.

    Raises:
        TokenizerError: there is none, or it cannot be loaded.
        ModelError: the segmenter beside it is damaged.
    """
    folder = named_folder(folder)
    places = [folder / TOKENIZER, folder / "model" / TOKENIZER] if path is None else [path]
    if tokens == TokenEnds.SPACE:
        return SpaceTokenizer(next(filter(None, map(segmenter_beside, places)), None))
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise TokenizerError(
            f"{places[0]}: there is no tokenizer; train a model with one (optimal-step train recipe=text tokenizer=udpipe), "
            "or name a file of UDPipe 1's (--tokenizer FILE, Parser.load(folder, tokenizer=FILE))"
        )
    return Tokenizer(found, None if path is not None else segmenter_beside(found))


def segmenter_beside(tokenizer: Path) -> Segmenter | None:
    """The segmenter in a tokenizer's folder, if there is one.

    Raises:
        ModelError: it is damaged.
    """
    if not (tokenizer.parent / SEGMENTER).is_file():
        return None
    from parser.text.segmenter import Segmenter  # compiled loops that UDPipe's sentences do not need

    return Segmenter.load(tokenizer.parent)
