"""Corrections of single words by a person: their heads, relations and UPOS are kept,
and the rest is parsed again.

A corrected head or relation is a given arc (decoding/given_arcs.py). A corrected UPOS reaches the
model: as a tag of the input if the model reads UPOS, or in place of the tag that it predicts. A
comment of the sentence names the corrected words:
``# corrected = 3 head deprel; 5 upos``.

If only a head is corrected, the model predicts the relation. It may still predict the relation to
the former head, because its vectors of the words come from the whole sentence. An example is obl,
after a noun was moved from a verb to a noun. If UD does not have this relation below such a head,
the model is asked again, and the most probable relation that fits is taken, unless it is far less
probable. Measured on the dev parts of seven shipped models, by giving 800 wrong words each their
gold head: the model was asked again for 163 words. Of their relations, 26 were right before it was
asked again, and 86 afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log

from oracles.errors import OptimalStepError
from parser.conllu.checks import EMPTY, FEATS, UNKNOWN_HEAD, UPOS, LineError, check_tree, shortened
from parser.conllu.stream import RawSentence, rewrite
from parser.data.treebank import UD_TAGS
from parser.decoding.files.file_parsing import RawColumns, given_tags, tags_to_write
from parser.decoding.given_arcs import GivenArcs
from parser.decoding.parse_options import ParseOptions, TagUse
from parser.decoding.predictor import Prediction, Predictor
from parser.drawing import LONGEST
from parser.model.parser_model import ParserModel

COMMENT = "corrected"

# Relations that UD (https://universaldependencies.org/u/dep/) does not have below a head of this
# UPOS. But a nominal is a predicate, which can have all relations below it, if it has the feature
# VerbForm, as verbal nouns have, or one of the relations _PREDICATE below it.
_PREDICATE = {"cop", "nsubj", "csubj"}
_MISFITS = {upos: {"obj", "iobj", "obl"} for upos in ("NOUN", "PROPN", "PRON", "NUM", "SYM")}
_MISFITS["VERB"] = {"nmod", "amod", "nummod", "det", "clf"}
# how probable another relation must be, as a share of the probability of the one that does not fit
_LEAST = 0.1


class CorrectionError(OptimalStepError):
    """A correction cannot be kept; the message says why."""


@dataclass(frozen=True)
class Correction:
    """What a person has corrected in a word.

    Attributes:
        sentence, word: the word, counted from 1.
        head: the corrected head, 0 for the root; None if it was not corrected.
        relation: the corrected relation to the head; ``_`` if it was not corrected.
        own_head: whether the head is the parser's own,
            and is kept because its relation was corrected.
        upos: the corrected UPOS; ``_`` if it was not corrected.
    """

    sentence: int
    word: int
    head: int | None = None
    relation: str = EMPTY
    own_head: bool = False
    upos: str = EMPTY

    @property
    def parts(self) -> list[str]:
        """The columns that were corrected: ``head``, ``deprel``, ``upos``."""
        head = ["head"] if self.head is not None and not self.own_head else []
        return [
            *head,
            *(["deprel"] if self.relation != EMPTY else []),
            *(["upos"] if self.upos != EMPTY else []),
        ]

    def without(self, part: str) -> Correction:
        """Return the correction with one of its parts undone; without a head,
        there is no relation either.
        """
        if part == "upos":
            return replace(self, upos=EMPTY)
        if part == "head" or self.own_head:
            return replace(self, head=None, relation=EMPTY, own_head=False)
        return replace(self, relation=EMPTY)


def comment(corrections: Iterable[Correction]) -> str:
    """Return the text of the comment about the corrections of a sentence, such as
    ``3 head deprel; 5 upos``.
    """
    listed = sorted(corrections, key=lambda one: one.word)
    return "; ".join(f"{one.word} {' '.join(one.parts)}" for one in listed if one.parts)


def no_such_word(one: Correction) -> CorrectionError:
    """Return an error about a word that does not exist."""
    what = "a head" if one.head is not None else "a UPOS"
    return CorrectionError(
        f"{what} is given for word {one.word} of sentence {one.sentence}, but there is no such word"
    )


class CorrectingParser:
    """Parses sentences with corrections.

    Args:
        model: the model.
        options: how to parse.

    Raises:
        GivenArcsError, BeamError: the model cannot keep given heads, or not with this beam.
    """

    def __init__(self, model: ParserModel, options: ParseOptions) -> None:
        # as the sentences that are not corrected, see Request.fill
        tags = TagUse.FILL if model.vocabularies.predicted else TagUse.KEEP
        options = replace(options, tags=tags, keep_heads=True, keep_relations=True)
        self._model = model
        self._predictor = Predictor(model, options)

    @cached_property
    def _asked(self) -> Predictor:
        """A predictor that says how probable the steps are that make arcs."""
        return Predictor(self._model, self._predictor.options, steps=True)

    @property
    def relations(self) -> list[str]:
        """The relations that a word may be given, sorted;
        without the relation of the root if only the root may have it.
        """
        symbols, root = self._model.relations.symbols, self._model.system.root_relation
        return sorted(symbol for number, symbol in enumerate(symbols) if number != root)

    @property
    def upos(self) -> list[str]:
        """The values of UPOS that a word may be given, sorted: those that the model knows, or those
        of UD if it knows none.
        """
        known = self._model.vocabularies.tags.get(
            "upos"
        ) or self._model.vocabularies.by_attribute.get("upos")
        return sorted({*UD_TAGS} if known is None else {*known.symbols} - {EMPTY})

    def text(self, sentence: RawSentence, corrections: Sequence[Correction]) -> str:
        """Return the text of a sentence with its tree and tags,
        and with a comment that names the corrected words.

        Args:
            sentence: the sentence; its heads are ignored.
            corrections: the corrections of its words.

        Raises:
            CorrectionError: there is no such word, relation or UPOS; or the heads are not part of a
                tree, or the transition system cannot make all of them.
        """
        given = self._given(sentence, corrections)
        found = self._predict(self._predictor, sentence, [given])
        self._refuse_lost(sentence, given, found)
        for one in corrections:
            if (
                one.head
                and one.relation == EMPTY
                and (relation := self._fitting(sentence, given, one.word, found))
            ):
                given.deprels[one.word - 1] = relation
                found = self._predict(self._predictor, sentence, [given])
        words = slice(1, 1 + len(sentence))
        said = [(COMMENT, comment(corrections))]
        return rewrite(
            sentence,
            found.parses.heads.tolist()[words],
            found.deprels[words],
            said,
            self._tags(sentence, given, found),
        )

    def _tags(
        self, sentence: RawSentence, given: _Given, found: Prediction
    ) -> dict[int, Sequence[str]]:
        """Return, by number of the column, the tags that are written."""
        words = slice(1, 1 + len(sentence))
        return {
            UPOS: given.upos,
            **tags_to_write(sentence, found.tags.values, words, self._predictor.tag_use),
        }

    def _given(self, sentence: RawSentence, corrections: Sequence[Correction]) -> _Given:
        """Check the corrections of a sentence, and return them as columns."""
        n, number = len(sentence), sentence.number
        given = _Given([UNKNOWN_HEAD] * n, [EMPTY] * n, sentence.column(UPOS), [EMPTY] * n)
        for one in corrections:
            if not 1 <= one.word <= n:
                raise no_such_word(one)
            place = f"word {one.word} of sentence {number}"
            can_choose = one.head != 0 or self._model.system.root_relation is None
            if one.relation not in (EMPTY, *(self.relations if can_choose else ())):
                shown = shortened(one.relation)
                raise CorrectionError(
                    f"{place}, with head {one.head}, cannot have the relation {shown}; "
                    "choose another relation"
                )
            if one.upos not in (EMPTY, *self.upos):
                raise CorrectionError(
                    f"{place} cannot have the UPOS {shortened(one.upos)}; choose another UPOS"
                )
            if one.head is not None:
                if one.head > n:
                    raise CorrectionError(
                        f"{place} has the head {one.head}, but there is no such word"
                    )
                given.heads[one.word - 1], given.deprels[one.word - 1] = one.head, one.relation
            if one.upos != EMPTY:
                given.upos[one.word - 1] = given.fixed_upos[one.word - 1] = one.upos
        try:
            check_tree(given.heads)
        except LineError as error:
            raise CorrectionError(f"sentence {number}: {error}") from error
        return given

    def _predict(
        self, predictor: Predictor, sentence: RawSentence, given: Sequence[_Given]
    ) -> Prediction:
        """Return predictions for a sentence, once for each of the given columns."""
        columns = [RawColumns(sentence) for _ in given]
        for own, one in zip(columns, given, strict=True):
            own.upos = one.upos
        arcs = GivenArcs([one.heads for one in given], [one.deprels for one in given])
        fixed = (
            [{"upos": one.fixed_upos} for one in given] if {*given[0].fixed_upos} - {EMPTY} else []
        )
        tags = given_tags(sentence) if predictor.tag_use is TagUse.FILL else {}
        encoded, forms = (
            self._model.vocabularies.encode(columns),
            [own.forms for own in columns],
        )
        return predictor.predict(encoded, forms, arcs, [tags for _ in given], fixed)

    def _refuse_lost(self, sentence: RawSentence, given: _Given, found: Prediction) -> None:
        for word in found.lost.tolist():
            why = (
                f"system={self._model.system.name} cannot make it together with the other "
                "corrections; undo one of them"
            )
            lost = f"the arc from {given.heads[word - 1]} to {word} is lost"
            raise CorrectionError(f"sentence {sentence.number}: {lost}: {why}")

    def _fitting(
        self, sentence: RawSentence, given: _Given, word: int, found: Prediction
    ) -> str | None:
        """Return the relation that a word gets instead of one that does not fit its head; None if
        it keeps its relation.
        """
        if len(sentence) > LONGEST:  # is not drawn, and takes seconds
            return None
        misfits, words = self._misfits(sentence, given, word, found), slice(1, 1 + len(sentence))
        own = found.deprels[words][word - 1]
        fitting = [relation for relation in self.relations if _universal(relation) not in misfits]
        if _universal(own) not in misfits or not fitting:
            return None
        asked = []
        for relation in (own, *fitting):
            deprels = given.deprels.copy()
            deprels[word - 1] = relation
            asked.append(replace(given, deprels=deprels))
        answers = self._predict(self._asked, sentence, asked)
        assert answers.steps is not None, "the predictor was made with steps=True"
        # The log probabilities of the step that makes the arc, one for each of the relations.
        logs = answers.steps.arcs[answers.parses.offsets[:-1] + word]
        best = int(logs[1:].argmax())
        return fitting[best] if logs[1 + best] - logs[0] >= log(_LEAST) else None

    def _misfits(
        self, sentence: RawSentence, given: _Given, word: int, found: Prediction
    ) -> set[str]:
        """Return the universal relations that do not fit the head of a word."""
        words = slice(1, 1 + len(sentence))
        heads, tags = found.parses.heads.tolist()[words], self._tags(sentence, given, found)
        head = heads[word - 1]
        upos = tags[UPOS][head - 1]
        feats = (tags[FEATS] if FEATS in tags else sentence.column(FEATS))[head - 1]
        below = {
            _universal(relation)
            for own, relation in zip(heads, found.deprels[words], strict=True)
            if own == head
        }
        return (
            set()
            if upos != "VERB" and ("VerbForm=" in feats or below & _PREDICATE)
            else _MISFITS.get(upos, set())
        )


def _universal(relation: str) -> str:
    return relation.partition(":")[0]


@dataclass(frozen=True)
class _Given:
    """What is given of the words of a sentence.

    Attributes:
        heads: UNKNOWN_HEAD where none is given.
        deprels: ``_`` where none is given.
        upos: the UPOS of the input, or corrected ones.
        fixed_upos: the corrected UPOS; ``_`` elsewhere.
    """

    heads: list[int]
    deprels: list[str]
    upos: list[str]
    fixed_upos: list[str]
