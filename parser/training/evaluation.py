"""Evaluation on dev and test: after each epoch, and at the end of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from parser.beam_settings import Beam, Search
from parser.data.sentences import NO_NODE
from parser.decoding.parsers import parser_with_beam
from parser.decoding.probabilities import ProbabilityParser
from parser.evaluation.gold_part import GoldPart
from parser.inference.calibration import Calibration, expected_calibration_error
from parser.model.loading import AnyModel
from parser.model.model import Model
from parser.training.examples.corpus import Corpus
from parser.training.observers.observer import Metrics


class Evaluation:
    """Parses dev and test.

    Args:
        model: the model, as it is at the moment.
        corpus: the parts.
        single_root: whether parses have exactly one child of the root.
        lattice_beam: how lattices are searched where other input is parsed greedily; None: there are none.
    """

    def __init__(self, model: AnyModel, corpus: Corpus, single_root: bool, lattice_beam: Beam | None) -> None:
        self._model = model
        self._corpus = corpus
        self._single_root = single_root
        self._lattice_beam = lattice_beam

    def scores(self, part: str, search: Search | None) -> Metrics | None:
        """The metrics of a part, searched like this; None if there is no such part.

        With lattices they are of what is found in them, and besides there is LAS on the gold paths.
        """
        gold: GoldPart | None = getattr(self._corpus, part)
        if gold is None:
            return None
        parses = parser_with_beam(self._model, search).parse(gold.sentences, single_root=self._single_root)
        scores: Metrics = gold.scores(parses)
        if not isinstance(self._model, Model):
            return scores
        scores |= gold.tag_scores(self._model.classifier.tokens.tags_of(gold.sentences))
        if part not in self._corpus.lattices:
            return scores
        beam = self._beam_for_lattices(search)
        found = self._corpus.lattices[part].scores(self._model, beam, single_root=self._single_root)
        return found | {"gold_path_las": scores["las"]}

    def finish(self, search: Search | None) -> dict[str, Any]:
        """Lets the model remember how it is to search, and fits its calibration to the dev part, if there is one.

        Returns:
            What metrics.json holds of the calibration.
        """
        model, corpus = self._model, self._corpus
        model.beam = search
        if not isinstance(model, Model):
            return {}
        if corpus.lattices:
            model.lattice_beam = self._beam_for_lattices(search)
        if corpus.dev is None:
            return {}
        model.calibration = Calibration.fit(*self._arcs(model, corpus.dev))
        if corpus.test is None:
            return {}
        log_probabilities, right = self._arcs(model, corpus.test)
        return {"calibration_error_percent": expected_calibration_error(model.calibration(log_probabilities), right)}

    def _beam_for_lattices(self, search: Search | None) -> Beam:
        beam = search or self._lattice_beam
        assert isinstance(beam, Beam), "lattices are not searched exactly"
        return beam

    def _arcs(self, model: Model, gold: GoldPart) -> tuple[np.ndarray, np.ndarray]:
        """float64[words], log probabilities of the steps that made a part's arcs, and bool[words], which arcs are right."""
        parses, probabilities = ProbabilityParser(model, model.beam).parse(gold.sentences, single_root=self._single_root)
        return probabilities.arcs[parses.heads != NO_NODE], gold.correct(parses)[1]
