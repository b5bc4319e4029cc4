"""Splits text into sentences and words: by the model's tokenizer, multiword tokens included, or at spaces.

Sentences end at the ends of lines if the user says so; otherwise the segmenter decides, if there is one (segmenter.py). A blank
line always ends a sentence, so that a few paragraphs are tokenized at a time, which bounds memory. A very long paragraph is cut
(see blocks_of()), and a sentence ends there.
"""

from __future__ import annotations

import codecs
import io
import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from parser.conllu.checks import BYTE_ORDER_MARK, describe_file
from parser.conllu.formats import TO_UTF8, is_conllu
from parser.decoding.parse_options import ParseOptions, SentenceEnds, TokenEnds
from parser.model.packs import named_folder
from parser.model_folder import MODEL, SEGMENTER, TOKENIZER, UDPIPE_TOKENIZER, has_tokenizer
from parser.text.tokens import Token, TokenizedSentence, TokenizerError, add_misc, conllu_lines, spans, text_of, words_at_spaces

if TYPE_CHECKING:
    from parser.text.character_tokenizer import CharacterTokenizer
    from parser.text.segmenter import Segmenter

# The command that gives a model a tokenizer.
TRAIN_TOKENIZER = "optimal-step train_tokenizer {} --train FILE --dev FILE"

# What is said of a text that is CoNLL-U.
IS_CONLLU = "this is CoNLL-U, and its numbers, tags and underscores are parsed as words of a text"


class TextSplitter(ABC):
    """Splits text into sentences and tokens.

    Attributes:
        segmenter: decides where sentences end; None: the tokenizer decides.
        path: the file of the tokenizer, if there is one.
    """

    path: Path | None = None

    def __init__(self, segmenter: Segmenter | None) -> None:
        self.segmenter = segmenter

    @abstractmethod
    def _found(self, block: Block, presegmented: bool) -> Iterator[TokenizedSentence]:
        """Yield the tokenizer's sentences, before the segmenter divides paragraphs anew."""

    def tokenize(self, text: str, presegmented: bool = False) -> list[list[Token]]:
        """Return sentences as lists of tokens, the same sentences as in conllu().

        Raises:
            TokenizerError: the sentences cannot be found.
            UnicodeEncodeError: the text has half of a surrogate pair, which is not a character.
        """
        blocks = blocks_of(io.BytesIO(text.encode()), "the text", presegmented)
        return [sentence.tokens for block in blocks for sentence in self._sentences(block, presegmented)]

    def tokenize_all(self, texts: Iterable[str], presegmented: bool = False) -> list[list[list[Token]]]:
        """Return tokenize() of each text; the segmenter reads all texts together, which is faster for short ones.

        Raises:
            TokenizerError, UnicodeEncodeError: see tokenize().
        """
        blocks = [list(blocks_of(io.BytesIO(text.encode()), "the text", presegmented)) for text in texts]
        found = self._sentences_of(list(chain.from_iterable(blocks)), presegmented)
        return [[sentence.tokens for _ in own for sentence in next(found)] for own in blocks]

    def warm_up(self) -> None:
        """Compiles the kernels of the segmenter, or loads them if they are compiled."""
        if self.segmenter is not None:
            self.segmenter.probabilities(self.tokenize("a"))  # tokenize() runs in 8 bits, probabilities() in single precision

    def conllu(
        self,
        source: BinaryIO,
        name: str = "-",
        presegmented: bool = False,
        ranges: bool = False,
        warn: Callable[[str], object] | None = None,
    ) -> Iterator[bytes]:
        """Yields the CoNLL-U of a text, in pieces of whole sentences.

        It has ids, forms, multiword tokens, MISC (see add_misc()), and the comments newdoc, newpar, sent_id and text.

        Args:
            source: the text in UTF-8.
            name: of the text, in errors.
            presegmented: each line is a sentence, and is not cut, however long it is.
            ranges: write the place of each token in the text (TokenRange=START:END, in characters from 0).
            warn: called with a warning if the text is CoNLL-U itself.

        Raises:
            TokenizerError: the text is not UTF-8, or the sentences cannot be found.
        """
        number = 0
        for sentences in self._with_misc(source, name, presegmented, ranges, warn):
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

    def _with_misc(
        self, source: BinaryIO, name: str, presegmented: bool, ranges: bool, warn: Callable[[str], object] | None
    ) -> Iterator[list[TokenizedSentence]]:
        """Yields the sentences of each block, with MISC, once the next block is read: its leading spaces belong to them."""
        read: list[str] = []
        text, offset = "", 0  # the text read, from the first waiting token on; its place in the whole text
        waiting: list[TokenizedSentence] = []
        places: list[list[tuple[int, int]]] = []
        for number, block in enumerate(chain(blocks_of(source, name, presegmented, read), (None,))):
            text += "".join(read)
            read.clear()
            if number == 0 and warn is not None and is_conllu(text):
                warn(f"{describe_file(name)}: {IS_CONLLU}; leave out --text")
            found = [] if block is None else self._sentences(block, presegmented)
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

    def _sentences(self, block: Block, presegmented: bool = False) -> list[TokenizedSentence]:
        return next(self._sentences_of([block], presegmented))

    def _sentences_of(self, blocks: Sequence[Block], presegmented: bool) -> Iterator[list[TokenizedSentence]]:
        """Yield the sentences of each block."""
        if self.segmenter is None or presegmented:
            for block in blocks:
                yield list(self._found(block, presegmented))
            return
        paragraphs = [_paragraphs(self._found(block, presegmented)) for block in blocks]
        tokens = [
            list(chain.from_iterable(sentence.tokens for sentence in paragraph)) for own in paragraphs for paragraph in own
        ]
        divided = iter(self.segmenter.split(tokens))
        for own in paragraphs:
            yield [
                TokenizedSentence(text_of(found), found, number == 0 and paragraph[0].begins_paragraph)
                for paragraph in own
                for number, found in enumerate(next(divided))
            ]


def _paragraphs(sentences: Iterable[TokenizedSentence]) -> list[list[TokenizedSentence]]:
    """Group sentences into paragraphs."""
    paragraphs: list[list[TokenizedSentence]] = []
    for sentence in sentences:
        if sentence.begins_paragraph or not paragraphs:
            paragraphs.append([])
        paragraphs[-1].append(sentence)
    return paragraphs


class SpaceTokenizer(TextSplitter):
    """Splits at spaces and at the ends of lines; every token is one word."""

    def _found(self, block: Block, presegmented: bool) -> Iterator[TokenizedSentence]:
        if self.segmenter is None and not presegmented:
            raise TokenizerError(
                "--tokens space needs a segmenter, which this model lacks; put each sentence on its own line, and add "
                "--sentences line (in Python: parse_text(..., sentences='line'))"
            )
        begins_paragraph = not block.continues
        for line in block.text.split("\n"):
            tokens = [Token(form, (form,), space_after=True) for form in words_at_spaces(line)]
            if tokens:
                yield TokenizedSentence(text_of(tokens), tokens, begins_paragraph)
            begins_paragraph = not tokens


class CharacterSplitter(TextSplitter):
    """The project's own tokenizer, see character_tokenizer.py. Several threads may use it at once.

    Args:
        tokenizer: the tokenizer.
        segmenter: decides where sentences end; None: the tokenizer decides.
        path: the file that the tokenizer was read from.
    """

    def __init__(self, tokenizer: CharacterTokenizer, segmenter: Segmenter | None = None, path: Path | None = None) -> None:
        super().__init__(segmenter)
        self._tokenizer = tokenizer
        self.path = path

    @classmethod
    def load(cls, path: Path, segmenter: Segmenter | None = None) -> CharacterSplitter:
        """Read a tokenizer.

        Args:
            path: its file tokenizer.json; its weights are beside it.
            segmenter: see above.

        Raises:
            ModelError: a part is missing or damaged.
        """
        from parser.text.character_tokenizer import CharacterTokenizer  # compiled loops that CoNLL-U does not need

        return cls(CharacterTokenizer.load(path.parent), segmenter, path)

    def _found(self, block: Block, presegmented: bool) -> Iterator[TokenizedSentence]:
        text, before = block.text, 0
        for number, sentence in enumerate(self._tokenizer.split(text, lines=presegmented)):
            tokens = sentence.tokens(text)
            last = sentence.places[-1][1]
            begins = sentence.begins_paragraph and not (block.continues and number == 0)
            if presegmented and number:
                begins = "\n\n" in text[before : sentence.places[0][0]]
            before = last
            yield TokenizedSentence(text_of(tokens), tokens, begins)


class _Stream(io.RawIOBase):
    """A stream that reads pieces of bytes."""

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
    """Return a stream that reads pieces, each made when it is read."""
    return io.BufferedReader(_Stream(pieces))


def conllu_source(
    tokenizer: TextSplitter | None,
    source: BinaryIO,
    name: str,
    options: ParseOptions,
    warn: Callable[[str], object] | None = None,
) -> BinaryIO:
    """Return the stream unchanged, or for text its CoNLL-U, in which each sentence is made when it is read.

    Args:
        tokenizer: splits the text; None: the stream is CoNLL-U.
        source: the stream.
        name: of the stream, in errors.
        options: where sentences end, and whether to write the places of tokens.
        warn: called with a warning if the text is CoNLL-U itself.

    Raises:
        TokenizerError: when it is read; see TextSplitter.conllu().
    """
    if tokenizer is None:
        return source
    return as_stream(tokenizer.conllu(source, name, options.sentences == SentenceEnds.LINE, options.places, warn))


# The mark of a sentence end, and closing quotes and brackets after it.
_SENTENCE_END = re.compile("[.!?\u3002\uff01\uff1f]+[\"')\\]\u00bb\u2019\u201d\u300d\u300f\uff09]*")

# Characters that are tokenized at a time, in whole paragraphs; and the most characters of a paragraph that is not cut, so that
# memory does not grow with text that has no blank lines.
_BLOCK = 2**16
_LONGEST_PART = 2**17
_READ_BYTES = 2**16

# Ends of lines and paragraphs besides LF, CR LF and CR. A byte order mark is not part of the text.
_SEPARATORS = {"\v": "\n", "\x85": "\n", "\u2028": "\n", "\f": "\n\n", "\u2029": "\n\n", BYTE_ORDER_MARK: ""}
_TO_LINES = str.maketrans(_SEPARATORS)


@dataclass(frozen=True)
class Block:
    """Whole paragraphs of a text, or a part of a very long one.

    Attributes:
        text: lines end with LF, and lines of white space are empty.
        continues: whether it continues the paragraph of the block before it.
    """

    text: str
    continues: bool = False


def blocks_of(source: BinaryIO, name: str, presegmented: bool = False, read: list[str] | None = None) -> Iterator[Block]:
    """Yields the text in blocks, cut after blank lines, or within a very long paragraph after a sentence or a line.

    If each line is a sentence (``presegmented``), no line is cut. A line ends with LF, CR LF, CR, a vertical tab, U+0085 or
    U+2028; a paragraph ends with a line of white space, a form feed or U+2029. Byte order marks are left out. The original text
    read so far is appended to ``read``.

    Raises:
        TokenizerError: the text is not UTF-8; the message calls it ``name``.
    """
    held: list[str] = []
    size = paragraphs = 0  # characters held, and how many of them are whole paragraphs
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
    """Yields lines that end with LF; lines of white space are empty, and very long lines come in parts.

    The text read is appended to ``decoded``.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    held = carriage = ""  # the beginning of a line; a CR that an LF may follow
    read = 0
    while True:
        piece = source.read(_READ_BYTES)
        try:
            decoded.append(decoder.decode(piece, final=not piece))
        except UnicodeDecodeError as error:
            place = read - len(decoder.getstate()[0]) + error.start
            raise TokenizerError(f"{describe_file(name)}: not UTF-8 at byte {place:,} ({error.reason}); {TO_UTF8}") from error
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
    """Return where to cut, in the second half: after a line that ends a sentence, else a sentence, a line or a word."""
    half = len(text) // 2
    for end in (rf"{_SENTENCE_END.pattern}\n", rf"{_SENTENCE_END.pattern}\s", "\n", r"\s"):
        places = [found.end() for found in re.finditer(end, text[half:])]
        if places:
            return half + places[-1]
    return len(text)


def model_tokenizer(folder: Path, path: Path | None = None, tokens: str | None = None) -> TextSplitter:
    """Return the tokenizer of a model.

    Args:
        folder: of the model or the run.
        path: another tokenizer to use instead, which then also decides where sentences end; see tokenizer_file().
        tokens: a member of TokenEnds, or None; with SPACE, the model needs no tokenizer.

    Raises:
        TokenizerError: there is no tokenizer, or it cannot be loaded.
        ModelError: the tokenizer or the segmenter beside it is damaged.
    """
    folder = named_folder(folder)
    folders = (folder, folder / MODEL)
    if tokens == TokenEnds.SPACE:
        places = [one / TOKENIZER for one in folders] if path is None else [path]
        return SpaceTokenizer(next(filter(None, map(segmenter_beside, places)), None))
    if path is not None:
        return tokenizer_file(path)
    for one in folders:
        if has_tokenizer(one):
            return CharacterSplitter.load(one / TOKENIZER, segmenter_beside(one / TOKENIZER))
    raise TokenizerError(f"{folder}: {missing_tokenizer(folder)}")


def missing_tokenizer(folder: Path) -> str:
    """Return why a model or a run without a tokenizer of ours parses no text, and what to type."""
    another = "or name the tokenizer of another model (--tokenizer FILE, Parser.load(folder, tokenizer=FILE))"
    train = f"train one: {TRAIN_TOKENIZER.format(shlex.quote(str(folder)))}"
    if any((one / UDPIPE_TOKENIZER).is_file() for one in (folder, folder / MODEL)):
        return f"its tokenizer {UDPIPE_TOKENIZER} is of UDPipe 1, which is no longer read; {train}; {another}"
    return f"there is no tokenizer; {train}; {another}"


def tokenizer_file(path: Path) -> TextSplitter:
    """Return a tokenizer without a segmenter.

    Args:
        path: the file tokenizer.json of a model, or the folder of the model or of its run.

    Raises:
        TokenizerError: it is something else, such as a model of UDPipe 1.
        ModelError: it is damaged.
    """
    if path.is_dir():
        path = next((one / TOKENIZER for one in (path, path / MODEL) if has_tokenizer(one)), path / TOKENIZER)
    if not path.exists():
        raise TokenizerError(f"{path}: there is no tokenizer of this name; name the file {TOKENIZER} of a model, or its folder")
    if path.name != TOKENIZER:
        raise TokenizerError(
            f"{path}: this is not {TOKENIZER} of a model; UDPipe 1 is no longer read; name the folder of a model with "
            f"a tokenizer, or train one: {TRAIN_TOKENIZER.format('MODEL')}"
        )
    return CharacterSplitter.load(path)


def segmenter_beside(tokenizer: Path) -> Segmenter | None:
    """Return the segmenter in a tokenizer's folder; None if there is none.

    Raises:
        ModelError: the segmenter is damaged.
    """
    if not (tokenizer.parent / SEGMENTER).is_file():
        return None
    from parser.text.segmenter import Segmenter  # compiled loops that a model without one does not need

    return Segmenter.load(tokenizer.parent)
