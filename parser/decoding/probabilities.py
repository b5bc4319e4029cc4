"""Trees with the probabilities of the steps that make them, for any model and however it searches.

A greedy parser's steps are those that it takes. A beam keeps no steps, and what it merges was made in several ways; so its
trees are made once more, by the highest-scoring steps among those that lead to the tree, as an exact oracle says
(Nederhof 2019, Section 4: those that lose none of its arcs). Of a tree that was parsed greedily these are the parser's own.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from parser.beam_settings import Beam, is_greedy
from parser.data.sentences import Parses, Sentences
from parser.decoding.given_arcs import MOST_WORDS, KeepingParser, steps_keeping
from parser.decoding.greedy.batched import BatchedParser, StepProbabilities
from parser.decoding.parsers import parser_with_beam
from parser.model.loading import AnyModel
from parser.model.model import Model
from parser.transitions.system import TransitionSystem


class ProbabilityParser:
    """Parses, and says how probable the steps were. Threads may share it.

    Args:
        model: the model, with its weights as they are now.
        beam: how to search; None: greedily.

    Raises:
        BeamError: the model cannot be searched with this beam.
    """

    def __init__(self, model: AnyModel, beam: Beam | None = None) -> None:
        self._model, self._beam = model, beam
        self._system = model.system
        self._batched = BatchedParser(model.weights(), model.system, model.table) if isinstance(model, Model) else None
        greedy = self._batched is not None and is_greedy(beam)
        self._search = None if greedy else parser_with_beam(model, beam)

    @cached_property
    def _keeping(self) -> KeepingParser:
        return KeepingParser(self._model, self._beam)

    def parse(
        self, sentences: Sentences, *, single_root: bool = True, given: Parses | None = None
    ) -> tuple[Parses, StepProbabilities]:
        """Parses sentences; ``given``: with these arcs, see given_arcs.py.

        The probabilities of a linear model, whose scores are not, are NaN; so are those of a beam where a sentence is longer
        than oracles can say how its tree is made (MOST_WORDS); the other sentences have theirs.
        """
        probabilities = StepProbabilities.allocate(sentences)
        if given is not None and self._search is None:
            return self._keeping.parse(sentences, given, single_root=single_root, probabilities=probabilities), probabilities
        if self._search is None:
            assert self._batched is not None
            parses = self._batched.parse(sentences, single_root=single_root, probabilities=probabilities)
            return parses, probabilities
        if given is None:
            parses = self._search.parse(sentences, single_root=single_root)
        else:
            parses = self._keeping.parse(sentences, given, single_root=single_root)
        short = np.flatnonzero(np.diff(sentences.offsets) <= MOST_WORDS + 1)
        if self._batched is None or len(short) < len(sentences):
            probabilities.arcs[:], probabilities.trees[:] = np.nan, np.nan
        if self._batched is None:
            return parses, probabilities
        if len(short) == len(sentences):
            replay(parses, sentences, self._batched, self._system, probabilities, single_root)
        elif len(short):
            some, places = sentences.take(short), sentences.places(short)
            trees = Parses(parses.heads[places], parses.relations[places], some.offsets)
            found = StepProbabilities.allocate(some)
            replay(trees, some, self._batched, self._system, found, single_root)
            probabilities.arcs[places], probabilities.trees[short] = found.arcs, found.trees
        return parses, probabilities


class ProbabilityError(ValueError):
    """A model says nothing of how probable its arcs are; the message says the fix."""


class CalibratedParser:
    """Parses, and says how probable it is that arcs are right, head and relation. Threads may share it.

    Args:
        model: the model.
        beam: how to search; None: greedily.

    Raises:
        ProbabilityError: the model is linear, or not calibrated.
    """

    def __init__(self, model: AnyModel, beam: Beam | None = None) -> None:
        if not isinstance(model, Model):
            raise ProbabilityError(f"the scores of model={model.kind} are no probabilities; use a model=mlp or model=bilstm")
        if not model.calibration.shares:
            fix = "train it with a dev part (treebank.dev), of 50 words or more, on which they are calibrated"
            raise ProbabilityError(f"the probabilities of this model are not calibrated; {fix}")
        self._parser = ProbabilityParser(model, beam)
        self._calibration = model.calibration

    def parse(self, sentences: Sentences, given: Parses | None, single_root: bool) -> tuple[Parses, np.ndarray]:
        """The trees, see ProbabilityParser.parse(); and float64[total], 0 to 1, in the layout of ``Sentences``."""
        parses, probabilities = self._parser.parse(sentences, single_root=single_root, given=given)
        return parses, self._calibration(probabilities.arcs)


def replay(
    parses: Parses,
    sentences: Sentences,
    parser: BatchedParser,
    system: TransitionSystem,
    probabilities: StepProbabilities,
    single_root: bool = True,
) -> Parses:
    """Replays the computations of trees, and records the probabilities of their steps.

    Args:
        parses: the trees.
        sentences: their sentences.
        parser: scores the steps.
        system: its transition system.
        probabilities: filled in.
        single_root: whether the trees have one root each.

    Returns:
        The trees that the steps made, the same ones.
    """
    made_again = steps_keeping(parses, system, single_root)
    return parser.parse(sentences, single_root=single_root, probabilities=probabilities, restriction_of=made_again)
