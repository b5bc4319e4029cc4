"""The way from text to CoNLL-U: blocks, one pass over their characters, the segmenter,
and notes about spaces.

Commands, library, server, spaCy, workers and training all use a ``TextPipeline``.
Each of its parts has one job:

* blocks.py: which white space ends a line or a paragraph, and where a long text is cut.
* A ``Splitter``, the tokenizer or ``BlankSplitter``: the tokens of a block with their places in it,
  and the ends of sentences.
* segmenter.py, if the model has a segmenter: the ends of sentences within a paragraph, from words.
* This module: the places of tokens in the whole text, which sentences begin paragraphs,
  SpaceAfter and the rest of MISC.
"""

from __future__ import annotations

import io
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from parser.conllu.checks import BYTE_ORDER_MARK, EMPTY, NO_SPACE, describe_file
from parser.conllu.formats import is_conllu
from parser.decoding.parse_options import ParseOptions, SentenceEnds, TokenEnds
from parser.kernels.interpreted import Briefly, compile_from_now_on
from parser.model.packs import meant_model, named_folder, shipped_packs
from parser.model_folder import (
    MODEL,
    SEGMENTER,
    TOKENIZER,
    UDPIPE_TOKENIZER,
    has_tokenizer,
    text_folder,
)
from parser.text.abbreviations import read_abbreviations
from parser.text.blocks import LINE_END, Block, blocks_of, paragraph_ends
from parser.text.tokens import (
    SplitSentence,
    Token,
    TokenizedSentence,
    TokenizerError,
    blank_words,
    conllu_lines,
)

if TYPE_CHECKING:
    from parser.text.segmenter import Segmenter

# The command that gives a model a tokenizer.
TRAIN_TOKENIZER = "optimal-step train_tokenizer {} --train FILE --dev FILE"

# The message about a text that is CoNLL-U.
IS_CONLLU = "this is CoNLL-U, and its numbers, tags and underscores are parsed as words of a text"

_briefly = Briefly(per_word=6)  # in characters

_ESCAPES = str.maketrans(
    {" ": r"\s", "\t": r"\t", "\r": r"\r", "\n": r"\n", "|": r"\p", "\\": r"\\"}
)


class Splitter(Protocol):
    """The interface of tokenizers.

    Attributes:
        finds_sentences: whether it also finds where sentences end; otherwise each line is one.
    """

    finds_sentences: bool

    def split(self, text: str, sentences: SentenceEnds = SentenceEnds.MODEL) -> list[SplitSentence]:
        """Return the sentences of a text; none extends beyond its paragraph,
        see SentenceEnds.
        """


class BlankSplitter:
    """A splitter at white space; every token is one word."""

    finds_sentences = False

    def split(self, text: str, sentences: SentenceEnds = SentenceEnds.MODEL) -> list[SplitSentence]:
        """Return the lines of a text."""
        lines = [0, *(end.end() for end in LINE_END.finditer(text)), len(text)]
        words = [list(blank_words(text, start, end)) for start, end in pairwise(lines)]
        return [
            SplitSentence(
                [form for form, _ in line],
                [(form,) for form, _ in line],
                [place for _, place in line],
                [1] * len(line),
            )
            for line in words
            if line
        ]


class TextPipeline:
    """A pipeline from text to sentences, tokens and words. Several threads may use it at once.

    Args:
        splitter: finds tokens.
        segmenter: decides where sentences end; None: the splitter decides.
        path: the file of the tokenizer, if there is one.
        abbreviations: the user's own, which the splitter also knows; see read_abbreviations().
    """

    def __init__(
        self,
        splitter: Splitter,
        segmenter: Segmenter | None = None,
        path: Path | None = None,
        abbreviations: Mapping[str, bool] | None = None,
    ) -> None:
        self.splitter, self.segmenter, self.path = splitter, segmenter, path
        self._abbreviations = abbreviations or {}

    @classmethod
    def of_options(cls, folder: Path, options: ParseOptions) -> TextPipeline:
        """Return the pipeline of a model, with the options tokenizer, tokens and abbreviations;
        see of_model().
        """
        abbreviations = (
            None if options.abbreviations is None else read_abbreviations(options.abbreviations)
        )
        return cls.of_model(
            folder, options.tokenizer, options.tokens, abbreviations, options.treebank
        )

    @classmethod
    def of_model(
        cls,
        folder: Path,
        tokenizer: Path | None = None,
        tokens: str | None = None,
        abbreviations: Mapping[str, bool] | None = None,
        treebank: str | None = None,
    ) -> TextPipeline:
        """Return the pipeline of a model.

        Args:
            folder: the folder of the model or the run.
            tokenizer: another tokenizer to use instead,
                which then also decides where sentences end; see of_file().
            tokens: a member of TokenEnds, or None; with SPACE, the model needs no tokenizer.
            abbreviations: the user's own; see read_abbreviations().
            treebank: in a model of several treebanks, the one that the text resembles; None: the
                model's default treebank.

        Raises:
            TokenizerError: there is no tokenizer, or it cannot be loaded.
            ModelError: the tokenizer or the segmenter is damaged.
        """
        folder = named_folder(folder)
        folders = [text_folder(candidate, treebank) for candidate in (folder, folder / MODEL)]
        if tokens == TokenEnds.SPACE:
            return cls(BlankSplitter(), next(filter(None, map(_segmenter_of, folders)), None))
        if tokenizer is not None:
            return cls.of_file(tokenizer, abbreviations)
        for candidate in folders:
            if (candidate / TOKENIZER).is_file():
                pipeline = cls.of_file(candidate / TOKENIZER, abbreviations)
                return cls(
                    pipeline.splitter, _segmenter_of(candidate), pipeline.path, abbreviations
                )
        raise TokenizerError(f"{folder}: {missing_tokenizer(folder)}")

    @classmethod
    def of_file(cls, path: Path, abbreviations: Mapping[str, bool] | None = None) -> TextPipeline:
        """Return the pipeline of a tokenizer, without a segmenter.

        Args:
            path: the file tokenizer.json of a model, the folder of the model or of its run, or, if
                nothing here is called that, the name of a model.
            abbreviations: the user's own; see read_abbreviations().

        Raises:
            TokenizerError: it is something else, such as a model of UDPipe 1.
            ModelError: it is damaged; or the model of this name is not in this installation.
        """
        given = path
        if not os.path.lexists(path):
            path = named_folder(path)
        if path.is_dir():
            path = next(
                (
                    text_folder(candidate) / TOKENIZER
                    for candidate in (path, path / MODEL)
                    if has_tokenizer(candidate)
                ),
                path / TOKENIZER,
            )
        if not path.exists():
            is_name = path == given and len(path.parts) == 1
            near = meant_model(path.name, shipped_packs()) if is_name else ""
            raise TokenizerError(
                f"{path}: there is no tokenizer of this name{near}; name the file {TOKENIZER} of a "
                "model, its folder, or a model that optimal-step get lists"
            )
        if path.name != TOKENIZER:
            raise TokenizerError(
                f"{path}: this is not {TOKENIZER} of a model; UDPipe 1 is no longer read; name the "
                "folder of a model with a tokenizer, or train one: "
                f"{TRAIN_TOKENIZER.format('MODEL')}"
            )
        # imported only here: CoNLL-U does not need its compiled loops
        from parser.text.character_tokenizer import CharacterTokenizer

        loaded = CharacterTokenizer.load(path.parent)
        return cls(
            loaded.with_abbreviations(abbreviations) if abbreviations else loaded,
            None,
            path,
            abbreviations,
        )

    def warm_up(self) -> None:
        """Compile the kernels of the tokenizer and the segmenter,
        or load them if they are compiled.
        """
        compile_from_now_on()
        self.splitter.split("A b's c.\nD")
        if self.segmenter is not None:
            tokens = [Token("a", ("a",), space_after=True)]
            self.segmenter.split([tokens])  # in 8 bits
            self.segmenter.probabilities([tokens])  # in single precision

    def read(
        self, text: str, sentences: SentenceEnds = SentenceEnds.MODEL
    ) -> list[TokenizedSentence]:
        """Return the sentences of a text, the same as in conllu().

        Raises:
            TokenizerError: the sentences cannot be found.
            UnicodeEncodeError: the text has half of a surrogate pair, which is not a character.
        """
        return self.read_all([text], sentences)[0]

    def read_all(
        self, texts: Iterable[str], sentences: SentenceEnds = SentenceEnds.MODEL
    ) -> list[list[TokenizedSentence]]:
        """Return read() of each text; the segmenter reads all texts together,
        which is faster for short ones.

        Raises:
            TokenizerError, UnicodeEncodeError: see read().
        """
        blocks = [
            list(blocks_of(io.BytesIO(text.encode()), "the text", sentences)) for text in texts
        ]
        block_sentences = iter(self._split(list(chain.from_iterable(blocks)), sentences))
        placed_texts = []
        for text_blocks in blocks:
            placed = _placed(((block, next(block_sentences)) for block in text_blocks), sentences)
            placed_texts.append(list(chain.from_iterable(placed)))
        return placed_texts

    def conllu(
        self,
        source: BinaryIO,
        name: str = "-",
        sentences: SentenceEnds = SentenceEnds.MODEL,
        ranges: bool = False,
        warn: Callable[[str], object] | None = None,
    ) -> Iterator[bytes]:
        """Yield the CoNLL-U of a text, in pieces of whole sentences.

        It has ids, forms, multiword tokens, MISC (see _misc()), and the comments newdoc,
        newpar, sent_id and text.

        Args:
            source: the text in UTF-8.
            name: what errors call the text.
            sentences: where they end.
            ranges: write the place of each token in the text (TokenRange=START:END,
                in characters from 0).
            warn: called with a warning if the text is CoNLL-U itself.

        Raises:
            TokenizerError: the text is not UTF-8, or the sentences cannot be found.
        """

        def split_blocks() -> Iterator[tuple[Block, list[list[Token]]]]:
            for block in blocks_of(source, name, sentences):
                if block.start == 0 and warn is not None and is_conllu(block.text):
                    warn(f"{describe_file(name)}: {IS_CONLLU}; leave out --text")
                yield block, self._split([block], sentences)[0]

        number = 0
        for some in _placed(split_blocks(), sentences, ranges):
            written = []
            for sentence in some:
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

    def _split(self, blocks: Sequence[Block], sentences: SentenceEnds) -> list[list[list[Token]]]:
        """Return the sentences of each block."""
        with _briefly(sum(len(block.text) for block in blocks)):
            return self._split_blocks(blocks, sentences)

    def _split_blocks(
        self, blocks: Sequence[Block], sentences: SentenceEnds
    ) -> list[list[list[Token]]]:
        if (
            not (self.splitter.finds_sentences or self.segmenter or sentences == SentenceEnds.LINE)
            and blocks
        ):
            raise TokenizerError(
                "--tokens space needs a segmenter, which this model lacks; put each sentence on "
                "its own line, and add --sentences line (in Python: "
                "parse_text(..., sentences='line'))"
            )
        tokens = [
            tokens_of_block(block, self.splitter.split(block.text, sentences)) for block in blocks
        ]
        if self.segmenter is None or sentences == SentenceEnds.LINE:
            return tokens
        paragraphs = [
            _paragraphs(block, block_tokens, sentences)
            for block, block_tokens in zip(blocks, tokens, strict=True)
        ]
        divided = iter(self.segmenter.split(list(chain.from_iterable(paragraphs))))
        return [
            [sentence for _ in block_paragraphs for sentence in self._joined(next(divided))]
            for block_paragraphs in paragraphs
        ]

    def _joined(self, paragraph: list[list[Token]]) -> list[list[Token]]:
        """Return the segmenter's sentences, joined where a sentence continues after a user's
        abbreviation.
        """
        if not self._abbreviations:
            return paragraph
        joined: list[list[Token]] = []
        for sentence in paragraph:
            name = (
                self._abbreviations.get(joined[-1][-1].form.lower().replace("\u2019", "'"))
                if joined
                else None
            )
            if name or (name is not None and not sentence[0].form[:1].isupper()):
                joined[-1] = joined[-1] + sentence
            else:
                joined.append(sentence)
        return joined


def tokens_of_block(block: Block, split_sentences: Sequence[SplitSentence]) -> list[list[Token]]:
    """Return the tokens of sentences, with their places in the whole text."""
    start, text = block
    ends = [
        *(place[0] for sentence in split_sentences for place in sentence.places),
        len(text) + 1,
    ]
    following = iter(ends[1:])  # where the next token begins
    marked = BYTE_ORDER_MARK in text  # this mark is no separator
    token_lists = []
    for forms, words, places, lines in split_sentences:
        sentence = []
        for form, token_words, (begin, end), line, then in zip(
            forms, words, places, lines, following, strict=False
        ):
            space = then > end and not (
                marked and then <= len(text) and not text[end:then].strip(BYTE_ORDER_MARK)
            )
            sentence.append(Token(form, token_words, space, "", start + begin, start + end, line))
        token_lists.append(sentence)
    return token_lists


def _paragraphs(
    block: Block, tokens: list[list[Token]], sentences: SentenceEnds
) -> list[list[Token]]:
    """Return the tokens of each paragraph."""
    ends, last, paragraphs = paragraph_ends(sentences), None, []
    for sentence in tokens:
        if last is None or ends.search(
            block.text, last - block.start, sentence[0].start - block.start
        ):
            paragraphs.append(sentence)
        else:
            paragraphs[-1] += sentence
        last = sentence[-1].end
    return paragraphs


def _placed(
    split_blocks: Iterable[tuple[Block, list[list[Token]]]],
    sentences: SentenceEnds,
    ranges: bool = False,
) -> Iterator[list[TokenizedSentence]]:
    """Yield the sentences of each block, with MISC, once the next token is found:
    the space before that token is in their MISC.
    """
    ends = paragraph_ends(sentences)
    waiting: tuple[Block, list[list[Token]], str | None, bool] | None = None
    gap = ""  # the text after the last token
    for block, block_tokens in split_blocks:
        if not block_tokens:
            gap += block.text
            continue
        gap += block.text[: block_tokens[0][0].start - block.start]
        if waiting is None:
            waiting = block, block_tokens, gap, True
        else:
            yield _with_misc(*waiting, gap, ends, ranges)
            waiting = block, block_tokens, None, ends.search(gap) is not None
        gap = block.text[block_tokens[-1][-1].end - block.start :]
    if waiting is not None:
        yield _with_misc(*waiting, gap, ends, ranges)


def _with_misc(
    block: Block,
    block_tokens: list[list[Token]],
    before: str | None,
    begins: bool,
    after: str,
    ends: re.Pattern[str],
    ranges: bool,
) -> list[TokenizedSentence]:
    """Return the sentences of a block with MISC.

    Args:
        block_tokens: the tokens of its sentences.
        before: the space before it, if it is the first with a token.
        begins: whether a paragraph begins with it.
        after: the space after its last token.
        ends: the ends of paragraphs.
        ranges: write TokenRange.
    """
    # a NUL counts as a space, and CoNLL-U cannot hold it
    start, text = block.start, block.text.replace("\0", " ")
    after = after.replace("\0", " ")
    tokenized = []
    following = chain(chain.from_iterable(block_tokens), [None])
    next(following)
    for sentence in block_tokens:
        tokens = []
        gap = ""
        for token in sentence:
            then = next(following)
            end = token.end - start
            gap = after if then is None else text[end : then.start - start]
            written = text[token.start - start : end]
            if (
                before
                or ranges
                or written != token.form
                or gap != (" " if token.space_after else "")
            ):
                misc = _misc((before or "").replace("\0", " "), written, gap, token, ranges)
                # faster than dataclasses.replace()
                token = Token(
                    token.form,
                    token.words,
                    token.space_after,
                    misc,
                    token.start,
                    token.end,
                    token.line,
                )
            tokens.append(token)
            before = None
        tokenized.append(TokenizedSentence(tokens, begins))
        begins = len(gap) > 0 and ends.search(gap) is not None
    return tokenized


def _misc(before: str, written: str, after: str, token: Token, ranges: bool) -> str:
    """Return MISC, from which the text can be rebuilt to the last character.

    SpacesBefore holds the spaces at the beginning of the text, SpacesAfter the spaces after a
    token, unless there is one space or none (SpaceAfter=No). SpacesInToken holds the token as it is
    in the text, if that differs from its form.
    """
    fields = []
    if before:
        fields.append(f"SpacesBefore={before.translate(_ESCAPES)}")
    if not after.strip(BYTE_ORDER_MARK):
        fields.append(NO_SPACE)
    if after and after != " ":
        fields.append(f"SpacesAfter={after.translate(_ESCAPES)}")
    if written != token.form:
        fields.append(f"SpacesInToken={written.translate(_ESCAPES)}")
    if ranges:
        fields.append(f"TokenRange={token.start}:{token.end}")
    return "|".join(fields) or EMPTY


def missing_tokenizer(folder: Path) -> str:
    """Return why a model or a run without a tokenizer of ours parses no text, and what to type."""
    another = (
        "or name the tokenizer of another model (--tokenizer FILE, "
        "Parser.load(folder, tokenizer=FILE))"
    )
    train = f"train one: {TRAIN_TOKENIZER.format(shlex.quote(str(folder)))}"
    if any((candidate / UDPIPE_TOKENIZER).is_file() for candidate in (folder, folder / MODEL)):
        return (
            f"its tokenizer {UDPIPE_TOKENIZER} is of UDPipe 1, which is no longer read; {train}; "
            f"{another}"
        )
    return f"there is no tokenizer; {train}; {another}"


def _segmenter_of(folder: Path) -> Segmenter | None:
    """Return the segmenter in a model's folder; None if there is none.

    Raises:
        ModelError: the segmenter is damaged.
    """
    if not (folder / SEGMENTER).is_file():
        return None
    # imported only here: a model without one does not need its compiled loops
    from parser.text.segmenter import Segmenter

    return Segmenter.load(folder)


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
    pipeline: TextPipeline | None,
    source: BinaryIO,
    name: str,
    options: ParseOptions,
    warn: Callable[[str], object] | None = None,
) -> BinaryIO:
    """Return the stream unchanged, or for text its CoNLL-U,
    in which each sentence is made when it is read.

    Args:
        pipeline: splits the text; None: the stream is CoNLL-U.
        name: what errors call the stream.
        options: where sentences end, and whether to write the places of tokens.
        warn: called with a warning if the text is CoNLL-U itself.

    Raises:
        TokenizerError: when it is read; see TextPipeline.conllu().
    """
    if pipeline is None:
        return source
    return as_stream(
        pipeline.conllu(source, name, options.sentences or SentenceEnds.MODEL, options.places, warn)
    )
