"""The input and output of a Parser: sentences of forms, of tuples with tags, or of the library
``conllu``; and trees.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

from oracles.errors import OptimalStepError
from parser.conllu.checks import EMPTY, UNKNOWN_HEAD, counted, shortened, tree_faults
from parser.conllu.dicts import dicts_of
from parser.data.attributes import PREDICTED
from parser.decoding.given_arcs import root_fault
from parser.drawing import LONGEST, DrawnTree, as_text
from parser.drawing.html import drawing
from parser.text.tokens import Token, conllu_rows, text_of
from parser.transitions.system import TransitionSystem

Word = str | Sequence[str | None] | Mapping[str, Any]
"""A form; a tuple (form, upos, xpos, feats), of which only the form is required;
or a token of the library ``conllu``.
"""


class InputError(OptimalStepError):
    """The input of a Parser is not a sentence, or not text; the message names the word or
    character, counted from 1.
    """


@dataclass
class WordColumns:
    """The columns of a sentence; they are AttributeColumns of parser.data.attributes."""

    forms: list[str]
    lemmas: list[str]
    upos: list[str]
    xpos: list[str]
    feats: list[str]
    text: str = ""

    def tags(self) -> dict[str, list[str]]:
        """Return the values of each column that a model may predict, by name."""
        return {name: self.lemmas if name == "lemma" else getattr(self, name) for name in PREDICTED}


def read_words(sentence: Iterable[Word], number: int) -> WordColumns:
    """Return the columns of a sentence; errors give its ``number``."""
    columns = WordColumns([], [], [], [], [])
    if isinstance(sentence, str):
        raise InputError(
            f"sentence {number} is a str; give a list of its words, "
            "or parse the text with parse_text()"
        )
    if isinstance(sentence, tuple) and sentence and isinstance(sentence[0], str):
        raise InputError(
            f"sentence {number} is the tuple {shortened(repr(sentence))}, a word with its tags; "
            "give a list of sentences, each a list of words: [[(form, upos), ...], ...]"
        )
    if isinstance(sentence, bytes | Mapping) or not isinstance(sentence, Iterable):
        raise InputError(f"sentence {number} is {named(sentence)}; give a list of its words")
    pieces = []
    last = 0  # the last word of a multiword token
    for place, word in enumerate(sentence, 1):
        lemma, identifier = None, place
        if isinstance(word, Mapping):
            identifier = word.get("id", place)
            match identifier, word.get("form"):
                case (_, "-", int(last)), str(form):  # a multiword token
                    pieces.append(_with_space(form, word))
            if not isinstance(identifier, int):
                continue  # a multiword token or an empty node
            lemma = word.get("lemma")
            values: Sequence[Any] = (
                word.get("form"),
                word.get("upos"),
                word.get("xpos"),
                _written(word.get("feats")),
            )
        else:
            values = tuple(word) if isinstance(word, list | tuple) else (word,)
        if not 1 <= len(values) <= 4 or not isinstance(values[0], str):
            raise InputError(
                f"sentence {number}, word {place}: give a form, or a tuple (form, upos, "
                "xpos, feats)"
            )
        columns.forms.append(values[0])
        if identifier > last:
            pieces.append(_with_space(values[0], word))
        others = (lemma, *values[1:], None, None, None)
        for (name, column), value in zip(columns.tags().items(), others, strict=False):
            if not (value is None or isinstance(value, str)):
                raise InputError(
                    f"sentence {number}, word {place}: its {name} is {named(value)}; "
                    "give a str, or None"
                )
            column.append(value or EMPTY)
    columns.text = "".join(pieces).rstrip(" ")
    return columns


def _with_space(form: str, token: Word) -> str:
    """Return a form with a space after it, unless a ``conllu.TokenList`` has SpaceAfter=No."""
    misc = token.get("misc") if isinstance(token, Mapping) else None
    return form if isinstance(misc, Mapping) and misc.get("SpaceAfter") == "No" else f"{form} "


def read_arcs(
    sentences: Sequence[WordColumns],
    heads: Iterable[Iterable[int | None]] | None,
    deprels: Iterable[Iterable[str | None]] | None,
    single_root: bool,
    system: TransitionSystem,
) -> tuple[list[list[int]], list[list[str]] | None]:
    """Return the given arcs of sentences: heads, UNKNOWN_HEAD where there is none, and relations,
    ``_`` where there is none.

    Args:
        system: makes the trees; some systems have a relation for the root, see root_fault().

    Raises:
        InputError: a word has no value, a value has the wrong type, the heads are not part of a
            tree, or a relation does not fit the root.
    """
    if heads is None:
        raise InputError("deprels= gives the relations of given heads; add heads=")
    values = _word_values("heads", heads, sentences)
    all_heads = [
        [UNKNOWN_HEAD if head is None else _as_int(head) for head in sentence_values]
        for sentence_values in values
    ]
    for number, sentence_heads in enumerate(all_heads, 1):
        wrong = [
            head
            for head in sentence_heads
            if type(head) is not int or not UNKNOWN_HEAD <= head <= len(sentence_heads)
        ]
        if wrong:
            raise InputError(
                f"sentence {number}: the head {named(wrong[0])} is not one of "
                f"0..{len(sentence_heads)}, nor None"
            )
        for fault in tree_faults(sentence_heads, several_roots=not single_root):
            raise InputError(f"sentence {number}, word {fault.row + 1}: {fault}")
    if deprels is None:
        return all_heads, None
    labels = _word_values("deprels", deprels, sentences)
    for number, own_labels in enumerate(labels, 1):
        for deprel in own_labels:
            if not (deprel is None or isinstance(deprel, str)):
                raise InputError(
                    f"sentence {number}: the relation {named(deprel)} is neither a str nor None"
                )
    all_deprels = [[deprel or EMPTY for deprel in sentence_labels] for sentence_labels in labels]
    for number, given in enumerate(zip(all_heads, all_deprels, strict=True), 1):
        if misfit := root_fault(system, single_root, *given, none="None"):
            raise InputError(f"sentence {number}, {misfit}")
    return all_heads, all_deprels


def _word_values(
    name: str, values: Iterable[Iterable[Any]], sentences: Sequence[WordColumns]
) -> list[list[Any]]:
    """Return the values given for the words of each sentence, from any iterables."""
    given: Iterable[Any] = values if isinstance(values, Iterable) else [values]
    lists = [
        None if isinstance(item, str) or not isinstance(item, Iterable) else list(item)
        for item in given
    ]
    if [None if item is None else len(item) for item in lists] != [
        len(sentence.forms) for sentence in sentences
    ]:
        raise InputError(
            f"{name}= must have a list for each sentence, with a value or None for each word"
        )
    return [item for item in lists if item is not None]


def _as_int(value: Any) -> Any:
    """Convert an integer of any type, such as numpy's, to int; return all else unchanged, including
    a bool.
    """
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else value


def _written(feats: Any) -> Any:
    """Return FEATS as ``conllu`` writes a mapping: "" stands for an attribute without =,
    None for one without value.
    """
    if not isinstance(feats, Mapping):
        return feats
    return "|".join(
        str(key) if value == "" else f"{key}={EMPTY if value is None else value}"
        for key, value in feats.items()
    )


def named(value: object) -> str:
    """Return a value as errors show it."""
    return "None" if value is None else f"{type(value).__name__} {shortened(repr(value))}"


# Characters that end a column or a line of CoNLL-U, or cannot be encoded.
_UNWRITABLE = re.compile(r"[\t\n\r\ud800-\udfff]")


_MOST_DRAWN = 50  # sentences of a list that a notebook shows


class _Word(NamedTuple):
    """The fields of a ParsedWord."""

    id: int
    form: str
    upos: str
    head: int
    deprel: str
    probability: float
    lemma: str = EMPTY
    xpos: str = EMPTY
    feats: str = EMPTY
    start: int | None = None
    end: int | None = None


class _Words:
    """The words of a sentence, with the children of each."""

    def __init__(self, words: list[ParsedWord]) -> None:
        self.words = words

    @cached_property
    def children(self) -> list[list[ParsedWord]]:
        """The children of each word; those of the root come first."""
        children: list[list[ParsedWord]] = [[] for _ in range(len(self.words) + 1)]
        for word in self.words:
            children[word.head].append(word)
        return children


class ParsedWord(_Word):
    """A word of a tree: a named tuple of the fields below,
    which knows the other words of its sentence.

    Attributes:
        id: its number in the sentence, counted from 1.
        form: the word.
        upos: its part of speech, as given or predicted; ``_`` for none.
        head: the number of its head, 0 for the root of the sentence.
        deprel: its relation.
        probability: the probability that its head and relation are right; see ParsedSentence.
        lemma: its lemma, as given or predicted; ``_`` for none.
        xpos, feats: its tag and features, as given or predicted; ``_`` for none.
        start, end: the place of its token in a parsed text, see ParsedSentence.spans; words of one
            multiword token share it. None if the sentence was given as words.
    """

    _sentence: _Words

    @property
    def head_word(self) -> ParsedWord | None:
        """The word that it depends on; None for the root of the sentence.

        Raises:
            OptimalStepError: the word is not one of ParsedSentence.words;
                children and subtree also raise it.
        """
        return self._others().words[self.head - 1] if self.head else None

    @property
    def children(self) -> list[ParsedWord]:
        """The words that depend on it, in their order."""
        return self._others().children[self.id].copy()

    @property
    def subtree(self) -> list[ParsedWord]:
        """The word itself and all words below it, in their order."""
        sentence = self._others()
        ids, left = [self.id], [self.id]
        while left:
            below = [child.id for child in sentence.children[left.pop()]]
            ids += below
            left += below
        return [sentence.words[number - 1] for number in sorted(ids)]

    def _others(self) -> _Words:
        try:
            return self._sentence
        except AttributeError:
            raise OptimalStepError(
                "this word belongs to no sentence; take it from the words of a ParsedSentence"
            ) from None


@dataclass(frozen=True, repr=False)
class ParsedSentence:
    """A sentence with its tree. Word i is at index i - 1 of each list.

    Attributes:
        forms: the words.
        heads: the numbers of their heads, 0 for the root of the sentence.
        deprels: their relations.
        probabilities: from 0 to 1: the probability that a word's head and relation are right. It is
            computed from the probability of the transition that made the arc, and calibrated on the
            dev part of the model's training; without a dev part, it is not calibrated. NaN for a
            linear model, whose scores are not probabilities, and, with a beam, for a sentence of
            more than 9,000 words.
        probability: from 0 to 1: the probability of the whole computation according to the model;
            NaN in the same cases.
        tags: the values that the model predicts for the words, by column (lemma, upos,
            xpos, feats).
        tokens: the tokens of a parsed text, some of which have several words; see Token.
        spans: the place of each token in a parsed text: from character ``start`` up to,
            but not including, ``end``.
        given: the given values, ``_`` for none, by column (lemma, upos, xpos, feats);
            only columns with a given value.
        text: the sentence in the parsed text; for a sentence given as words, the forms separated by
            spaces, except after a token with SpaceAfter=No in a ``conllu.TokenList``.
    """

    forms: list[str]
    heads: list[int]
    deprels: list[str]
    probabilities: list[float]
    probability: float
    tags: dict[str, list[str]] = field(default_factory=dict)
    tokens: list[Token] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    given: dict[str, list[str]] = field(default_factory=dict)
    text: str = field(default="", compare=False)

    def __len__(self) -> int:
        return len(self.forms)

    def __repr__(self) -> str:
        return f"ParsedSentence({counted(len(self), 'word')}: {shortened(' '.join(self.forms))!r})"

    @property
    def words(self) -> list[ParsedWord]:
        """The words one by one; ``pandas.DataFrame(sentence.words)`` is a table of them."""
        trees = self.forms, self._tags("upos"), self.heads, self.deprels, self.probabilities
        tags = (self._tags(column) for column in ("lemma", "xpos", "feats"))
        tokens: Any = zip(self.tokens, self.spans, strict=True)
        spans = [span for token, span in tokens for _ in token.words] or [(None, None)] * len(self)
        columns = zip(*trees, *tags, spans, strict=True)
        words = [
            ParsedWord(number, *values, *span) for number, (*values, span) in enumerate(columns, 1)
        ]
        sentence = _Words(words)
        for word in words:
            word._sentence = sentence
        return words

    def draw(self) -> str:
        """Return the tree as lines of text, to be printed."""
        return as_text(self._drawn())

    def _repr_html_(self) -> str | None:
        """Return the tree as a picture for notebooks; None if drawing it would take seconds:
        notebooks then show the repr.
        """
        if len(self) > LONGEST:
            return None
        return f'<div style="overflow-x: auto; background: #fff">{drawing(self._drawn())}</div>'

    def _drawn(self) -> DrawnTree:
        return DrawnTree(self.forms, self._tags("upos"), self.heads, self.deprels)

    def _tags(self, column: str) -> list[str]:
        return (self.tags | self.given).get(column, [EMPTY] * len(self))

    def conllu(self) -> str:
        """Return the sentence in CoNLL-U, with the blank line after it; "" if it has no words.

        The model fills in tags and lemmas that were not given, as with
        ``optimal-step parse --tags=fill``. A sentence of a text also has multiword tokens, the
        comment text, and the MISC column that ``optimal-step parse --text`` writes.

        Raises:
            InputError: a value is empty or blank,
                or contains a character that CoNLL-U cannot hold, such as a tab.
        """
        if not self.forms:
            return ""
        tags = [self._tags(column) for column in PREDICTED]
        for number, values in enumerate(zip(self.forms, *tags, self.deprels, strict=True), 1):
            for value in values:
                if not value.strip(" ") or _UNWRITABLE.search(value):
                    raise InputError(
                        f"word {number}: {shortened(repr(value))} cannot be written in CoNLL-U; "
                        "change it"
                    )
        lines = [
            *([f"# text = {text_of(self.tokens)}"] if self.tokens else []),
            *map("\t".join, self._rows()),
            "",
        ]
        return "".join(f"{line}\n" for line in lines)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the sentence as Stanza's ``Sentence.to_dict()`` does: a list of dicts.

        Each word is a dict with id, text, lemma, upos, xpos, feats, head, deprel, misc, start_char
        and end_char, without those that it lacks. A multiword token is a dict of its own before its
        words, with an id such as [3, 4]. See parser.conllu.dicts for the rest.
        ``optimal-step parse --format json`` writes the same.
        """
        return dicts_of(self._rows(), self.spans or None)

    def _rows(self) -> Iterator[list[str]]:
        """Yield the ten columns of each line of CoNLL-U."""
        tags = (self._tags(column) for column in PREDICTED)
        between = [
            [*values, EMPTY]
            for values in zip(*tags, map(str, self.heads), self.deprels, strict=True)
        ]
        return conllu_rows(
            self.tokens or [Token(form, (form,), True) for form in self.forms], between
        )


class ParsedSentences(list[ParsedSentence]):
    """A list of sentences that a Parser returns; notebooks draw their trees."""

    def _repr_html_(self) -> str | None:
        """Return the drawings of the first sentences, without long ones;
        None if there are no sentences.
        """
        shown = [
            picture
            for sentence in self[:_MOST_DRAWN]
            if (picture := sentence._repr_html_()) is not None
        ]
        more = len(self) - len(shown)
        note = f"<p>{counted(more, 'sentence')} not drawn</p>" if more else ""
        return "".join(shown) + note or None
