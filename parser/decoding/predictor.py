"""The ``Predictor``: from a model, its options and encoded sentences to trees,
tags and probabilities.

Commands, the library, the server and training's evaluation all parse with a ``Predictor``. When it
is made, it refuses options that the model cannot follow (parse_options.py). Then it predicts tags,
if wanted, and parses with the vectors of the tagger's encoder.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, cast

import numpy as np

from oracles.errors import did_you_mean
from parser import batch_sizes
from parser.beam_settings import is_greedy
from parser.conllu.checks import EMPTY
from parser.data.lemma_lexicon import LemmaLexicon
from parser.data.lemmas import lemmatize
from parser.data.sentences import NO_NODE, Parses, Sentences
from parser.data.tag_sets import NOT_GIVEN, TagSets, numbers_of
from parser.data.tasks.lemmas import LemmaTask
from parser.decoding.given_arcs import GivenArcs, check_lengths, lost_arcs, replay, steps_keeping
from parser.decoding.greedy.batched import BatchedParser, StepProbabilities
from parser.decoding.parse_options import ParseOptions, TagUse, predicted_tags, refuse
from parser.decoding.search import SearchWish, search_for
from parser.decoding.sentence_parser import KBestParser, SentenceParser, Tree
from parser.inference.weights import TaggingEncoder
from parser.kernels.interpreted import Briefly
from parser.model.loading import for_treebank, load
from parser.model.model import FrozenModel
from parser.model.parser_model import ParserModel
from parser.model_folder import ModelError

_tagging, _parsing = Briefly(), Briefly()

GivenTags = Mapping[str, Sequence[str]]
"""The given tags of a sentence's words, by column (upos, xpos, feats, lemma); ``_``: not given."""


def load_model(folder: Path, options: ParseOptions) -> ParserModel:
    """Read a model to parse with.

    Raises:
        ModelError: see load(); or the model was not trained on this treebank.
        Int8Error: see load().
    """
    model = load(folder, options.device, options.arithmetic)
    if (treebank := options.treebank) is not None:
        if treebank not in (treebanks := model.vocabularies.treebanks):
            fix = (
                f"choose one of {', '.join(treebanks)}"
                if treebanks
                else "this model has only one treebank; omit --treebank"
            )
            near = did_you_mean(str(treebank), treebanks)  # in Python, it may be anything
            raise ModelError(
                f"{folder}: the model was not trained on a treebank {treebank!r}{near}; {fix}"
            )
        return for_treebank(model, treebank)
    return model


class Tags(NamedTuple):
    """Predicted tags and lemmas, in the layout of ``Sentences``; the values of roots mean nothing.

    Attributes:
        numbers: for each column whose values a task chooses among (so not lemmas), int32[total],
            the numbers of the values.
        values: the values of each predicted column, lemmas included.
    """

    numbers: dict[str, np.ndarray]
    values: dict[str, list[str]]


@dataclass(frozen=True)
class Prediction:
    """Predictions for encoded sentences.

    Attributes:
        parses: the trees.
        tags: the tags; empty if not requested.
        symbols: the relations, in the order of their numbers.
        given: the given arcs, if they were passed as GivenArcs; otherwise None.
        lost: int64[m], the places of words whose given arc is lost.
        steps: the probabilities of the steps that made the trees, if requested.
        probabilities: float64[total], 0 to 1, calibrated probabilities that head and relation are
            right; NaN where not known. Empty if not requested.
    """

    parses: Parses
    tags: Tags
    symbols: Sequence[str]
    given: GivenArcs | None
    lost: np.ndarray
    steps: StepProbabilities | None
    probabilities: np.ndarray

    @cached_property
    def deprels(self) -> list[str]:
        """The relations in the layout of ``Sentences``; a given relation stays,
        even if the model does not know it.
        """
        relations = [self.symbols[relation] for relation in self.parses.relations.tolist()]
        if self.given is not None and self.given.deprels is not None:
            predicted_heads = self.parses.heads.tolist()
            for start, heads, deprels in zip(
                self.parses.offsets.tolist(), self.given.heads, self.given.deprels, strict=False
            ):
                for place, (head, deprel) in enumerate(zip(heads, deprels, strict=True), start + 1):
                    if deprel != EMPTY and head == predicted_heads[place]:
                        relations[place] = deprel
        return relations


class _Parts(NamedTuple):
    """The parts of a ``Predictor``, all with the same weights."""

    model: ParserModel
    parser: SentenceParser
    tagger: TagPredictor | None


class Predictor:
    """Predicts trees, tags and probabilities, with the weights as of the first prediction.
    Threads may share it.

    Args:
        steps: whether to return the probabilities of steps; this needs no calibrated model.

    Raises:
        OptimalStepError: the model cannot follow an option, see refuse().
        Int8Error: 8-bit products are requested, and not available.
        ConlluError: the lexicon cannot be read.
    """

    def __init__(
        self, model: ParserModel, options: ParseOptions | None = None, *, steps: bool = False
    ) -> None:
        options = ParseOptions() if options is None else options
        lexicon = options.lexicon
        self.lexicon = LemmaLexicon.read(lexicon) if isinstance(lexicon, Path) else lexicon
        refuse(model, options)
        self.model, self.options = model, options
        written = predicted_tags(model) if options.text else TagUse.KEEP
        self.tag_use = options.tags if written is TagUse.KEEP else written
        self._steps = steps or options.probabilities
        self._beam = options.search(model)
        self._parts: _Parts | None = None
        self._making = Lock()
        if model.int8:
            self.prepare()

    @property
    def tags(self) -> bool:
        """Whether tags are predicted."""
        return self.tag_use is not TagUse.KEEP or self.lexicon is not None

    def _make_parts(self) -> _Parts:
        model = self.model.frozen()
        k_best = self.options.k_best is not None
        records = self._steps and not k_best and is_greedy(self._beam) and model.gives_probabilities
        parser = search_for(model, SearchWish(self._beam, k_best=k_best, records=records))
        return _Parts(model, parser, TagPredictor(model, self.lexicon) if self.tags else None)

    def prepare(self) -> _Parts:
        """Freeze the weights and make the parser now, not at the first prediction;
        only the first call does this.

        Raises:
            Int8Error: 8-bit products are requested, and not available.
        """
        with self._making:
            if self._parts is None:
                with _parsing(0):
                    self._parts = self._make_parts()
            return self._parts

    def predict(
        self,
        sentences: Sentences,
        forms: Sequence[Sequence[str]] = (),
        given: GivenArcs | Parses | None = None,
        given_tags: Sequence[GivenTags] = (),
        fixed_tags: Sequence[GivenTags] = (),
        *,
        single_root: bool = True,
    ) -> Prediction:
        """Return trees, tags and probabilities.

        Args:
            forms: their words, which lemmas are predicted from; (): predict no lemmas.
            given: arcs to keep. If the transition system cannot make all of them together, as many
                as possible are kept. They may be Parses if the model knows all their relations.
            given_tags: for each sentence, tags that the predicted tags and lemmas are to fit.
            fixed_tags: for each sentence, tags that are returned, and read by the parser,
                instead of predicted tags.
            single_root: make valid UD trees with exactly one child of the root.

        Raises:
            GivenArcsError, BeamError: given arcs cannot be kept with this model,
                or with this search.
        """
        sentences, tags = self.tag(sentences, forms, given_tags, fixed_tags)
        symbols = self.model.relations.symbols
        numbered_arcs = (
            given.numbered(symbols, sentences.offsets) if isinstance(given, GivenArcs) else given
        )
        steps = StepProbabilities.allocate(sentences) if self._steps else None
        with _parsing(self._greedy_words(sentences)):
            parses = self._parses(sentences, numbered_arcs, steps, single_root)
        lost = np.empty(0, np.int64) if numbered_arcs is None else lost_arcs(numbered_arcs, parses)
        # a given relation stays, even if the parser cannot give it to this arc
        if isinstance(given, Parses):
            kept = (given.relations != NO_NODE) & (given.heads == parses.heads)
            parses.relations[kept] = given.relations[kept]
        arcs = np.empty(0) if steps is None else steps.arcs
        probabilities = self.model.calibration(arcs) if self.model.gives_probabilities else arcs
        listed = given if isinstance(given, GivenArcs) else None
        return Prediction(parses, tags, symbols, listed, lost, steps, probabilities)

    def _greedy_words(self, sentences: Sentences) -> int:
        """Return what it costs to search these sentences with interpreted kernels: the number of
        words that a greedy parser would parse in about the same time.
        """
        return int(sentences.offsets[-1]) * (4 + self._beam.size) // 5

    def _parses(
        self,
        sentences: Sentences,
        arcs: Parses | None,
        steps: StepProbabilities | None,
        single_root: bool,
    ) -> Parses:
        """Return trees that keep the given arcs; fill in the probabilities of their steps."""
        model, parser, _ = self.prepare()
        records = steps is not None and is_greedy(self._beam) and model.gives_probabilities
        wanted: dict[str, Any] = {"probabilities": steps} if records else {}
        if arcs is not None:
            check_lengths(sentences)
            parser = search_for(model, SearchWish(self._beam, keeps_arcs=True, records=records))
            wanted["restriction_of"] = steps_keeping(arcs, model.system, single_root)
        parses = parser.parse(sentences, single_root=single_root, **wanted)
        if steps is not None and not records:
            recording = (
                cast(BatchedParser, search_for(model, SearchWish(records=True)))
                if model.gives_probabilities
                else None
            )
            replay(parses, sentences, recording, model.system, steps, single_root)
        return parses

    def tag(
        self,
        sentences: Sentences,
        forms: Sequence[Sequence[str]] = (),
        given_tags: Sequence[GivenTags] = (),
        fixed_tags: Sequence[GivenTags] = (),
    ) -> tuple[Sentences, Tags]:
        """Return the sentences, with the encoder's vectors if tags are predicted,
        and their tags; see predict().
        """
        tagger = self.prepare().tagger
        if tagger is None:
            return sentences, Tags({}, {})
        with _tagging(int(sentences.offsets[-1])):
            return tagger(sentences, forms, given_tags, fixed_tags)

    def k_best(self, sentences: Sentences, *, single_root: bool = True) -> list[list[Tree]]:
        """Return the best trees of each sentence, up to ``options.k_best``, the best first."""
        assert self.options.k_best is not None, "k_best() needs the option k_best"
        parser = cast(KBestParser, self.prepare().parser)
        with _parsing(self._greedy_words(sentences)):
            return parser.k_best(sentences, self.options.k_best, single_root=single_root)


class TagPredictor:
    """Predicts tags and lemmas, with the model's present weights.

    Args:
        model: a model that predicts tags.
        lexicon: lemmas to prefer to predicted ones.
    """

    def __init__(self, model: ParserModel, lexicon: LemmaLexicon | None = None) -> None:
        frozen = cast(FrozenModel, model.frozen())  # only networks predict tags
        self._vocabularies = model.vocabularies
        self._lemmas = model.vocabularies.lemmas
        self._lexicon = lexicon
        self._encoder = cast(TaggingEncoder, frozen.weights.encoder)
        self._symbols = {
            column: vocabulary.symbols for column, vocabulary in model.vocabularies.columns.items()
        }

    @cached_property
    def _tag_sets(self) -> TagSets:
        return self._vocabularies.tag_sets

    def __call__(
        self,
        sentences: Sentences,
        forms: Iterable[Sequence[str]] = (),
        given: Sequence[GivenTags] = (),
        fixed: Sequence[GivenTags] = (),
    ) -> tuple[Sentences, Tags]:
        """Return the sentences with the vectors that the parser will read, and their tags.

        Args:
            forms: their words, which lemmas are predicted from; (): predict no lemmas.
            given: for each sentence, tags that the predicted tags and lemmas are to fit.
            fixed: for each sentence, tags that replace predicted ones everywhere; where a word has
                both a fixed and a given tag, the fixed one counts.
        """
        if fixed:
            sentences = replace(sentences, fixed_tags=self._numbers(fixed, sentences.offsets))
            given = [_merged(*both) for both in zip(fixed, given or repeat({}), strict=False)]
        all_tags = self._vocabularies.tags
        given_values: dict[str, list[str]] = {
            column: [""] * int(sentences.offsets[-1]) for column in all_tags if any(given)
        }
        for start, columns in zip(sentences.offsets.tolist(), given, strict=False):
            for column in columns.keys() & given_values:
                values = [
                    "" if column != "feats" and value == EMPTY else value
                    for value in columns[column]
                ]
                given_values[column][start + 1 : start + 1 + len(values)] = values
        tokens = [] if self._lemmas is None else self._vocabularies.tokens_to_lemmatize(forms)
        tag_values: dict[str, list[str]] = defaultdict(list)
        span_vectors, numbers = [], []
        # Spans of the same size as most parsers use,
        # so that scores have the same last digits with tags and without.
        for span in sentences.spans(batch_sizes.TOKENS_PER_SPAN):
            first, last = sentences.offsets[list(span)].tolist()
            part = {column: values[first:last] for column, values in given_values.items()}
            wanted = {
                column: numbers_of(values, all_tags[column]) for column, values in part.items()
            }
            fit = _Fit(self._tag_sets, wanted, bool(fixed)) if part else None
            vectors, predicted, of_forms = self._encoder.encode_with_tags(
                sentences.span(*span), fit
            )
            span_vectors.append(vectors)
            numbers.append(predicted)
            tags = {
                column: [symbols[value] for value in predicted[column].tolist()]
                for column, symbols in self._symbols.items()
            }
            if self._lemmas is not None and tokens:
                lemma_tags = {
                    c: [given_tag or tag for given_tag, tag in zip(v, tags[c], strict=True)]
                    for c, v in part.items()
                }
                upos = part.get("upos", [])
                binding = (
                    fit.binding(lemma_tags.get("upos", []), self._lemmas.knows_use)
                    if fit is not None
                    else []
                )
                words = tokens[first:last], lemma_tags or tags, of_forms[LemmaTask.name], upos
                tags["lemma"] = lemmatize(self._lemmas, *words, self._lexicon, binding)
            for column, values in tags.items():
                tag_values[column] += values
        if not span_vectors:
            return sentences, Tags({}, {})
        joined = {
            column: np.concatenate([span[column] for span in numbers]) for column in self._symbols
        }
        return replace(sentences, vectors=np.concatenate(span_vectors)), Tags(
            joined, dict(tag_values)
        )

    def _numbers(self, fixed: Sequence[GivenTags], offsets: np.ndarray) -> dict[str, np.ndarray]:
        """Return fixed tags by their numbers, in the layout of ``Sentences``;
        values unknown to the model are not fixed.
        """
        numbers_by_column: dict[str, np.ndarray] = {}
        for start, columns in zip(offsets.tolist(), fixed, strict=False):
            for column in columns.keys() & self._symbols:
                symbol_numbers = {
                    symbol: number
                    for number, symbol in enumerate(self._symbols[column])
                    if symbol != EMPTY
                }
                numbers = numbers_by_column.setdefault(
                    column, np.full(int(offsets[-1]), NO_NODE, np.int32)
                )
                numbers[start + 1 : start + 1 + len(columns[column])] = [
                    symbol_numbers.get(value, NO_NODE) for value in columns[column]
                ]
        return numbers_by_column


def _merged(fixed: GivenTags, given: GivenTags) -> GivenTags:
    """Return the given tags of a sentence, replaced by fixed ones where there are any."""
    return {
        **given,
        **{
            column: [
                other if value == EMPTY else value
                for value, other in zip(values, given.get(column, values), strict=True)
            ]
            for column, values in fixed.items()
        },
    }


class _Fit:
    """Changes the scores of tags so that they fit given ones (SettleTags),
    and says which lemmas must fit their UPOS.

    Args:
        sets: the combinations of tags that words had in training.
        given_numbers: for each column, int32[tokens], see TagSets.settled().
        are_fixed: whether the given tags have already replaced the predicted ones,
            so that no given tag seems to differ from the predicted one.
    """

    def __init__(
        self, sets: TagSets, given_numbers: Mapping[str, np.ndarray], are_fixed: bool
    ) -> None:
        self._sets, self._given_numbers, self._are_fixed = sets, given_numbers, are_fixed
        self._asked = np.zeros(0, np.bool_)  # for each token, whether a tag is given
        self._otherwise = self._asked  # whether a given tag is not the most probable one

    def __call__(self, scores: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        asked = {column: numbers != NOT_GIVEN for column, numbers in self._given_numbers.items()}
        differs = [
            is_asked & (self._given_numbers[column] != scores[column].argmax(axis=1))
            for column, is_asked in asked.items()
        ]
        self._asked = np.logical_or.reduce([*asked.values()])
        self._otherwise = self._asked if self._are_fixed else np.logical_or.reduce(differs)
        return self._sets.settled(scores, self._given_numbers)

    def binding(self, upos: Sequence[str], knows_use: bool) -> list[tuple[str, bool]]:
        """Return, for each token, its UPOS if a tag is given, otherwise "", and whether its lemma
        must fit this UPOS strictly.

        The lemma must fit it, unless the lemmas of an older model say too little about each UPOS.
        Then it must fit only where a given tag differs from the predicted one.

        ``upos`` is that of all tokens; for ``knows_use``, see Lemmas.
        """
        strictly = [knows_use or bool(otherwise) for otherwise in self._otherwise]
        return [
            (tag if asked else "", fits)
            for tag, asked, fits in zip(upos, self._asked, strictly, strict=False)
        ]
