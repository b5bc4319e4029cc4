"""The scores of dev and test while a parser is trained,
and the calibration that is fitted to dev at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from parser.beam_settings import Beam
from parser.data.sentences import NO_NODE
from parser.data.tasks.task import Task
from parser.decoding.parse_options import ParseOptions, TagUse, predicted_tags
from parser.decoding.predictor import Prediction, Predictor
from parser.decoding.search import GREEDY
from parser.evaluation.gold_split import GoldSplit
from parser.inference.calibration import Calibration, expected_calibration_error
from parser.linear.model import LinearModel
from parser.model.trained_model import TrainedModel
from parser.training.examples.corpus import Corpus
from parser.training.observers import Metrics


@dataclass(frozen=True)
class Evaluation:
    """Parses dev and test, and measures the scores, after each epoch and at the end of a run.

    Attributes:
        model: the model, which training changes.
        corpus: the corpus with the dev and test splits.
        single_root: whether parses have exactly one child of the root.
        lattice_beam: the beam for lattices if everything else is parsed greedily; None if there are
            no lattices.
    """

    model: TrainedModel | LinearModel
    corpus: Corpus
    single_root: bool
    lattice_beam: Beam | None

    def scores(self, split: str, search: Beam | None, int8: bool = False) -> Metrics | None:
        """Return the metrics of a split, parsed with this search; None if there is no such split.

        With lattices, the metrics are for the words found in them; LAS on the gold paths is added.
        ``int8`` says whether products are in 8 bits, which needs an encoder.
        """
        gold: GoldSplit | None = getattr(self.corpus, split)
        if gold is None:
            return None
        prediction = self._predicted(gold, search, predicted_tags(self.model), int8=int8)
        parses = prediction.parses
        scores: Metrics = (
            gold.scores(parses)
            | gold.scores_by_treebank(parses)
            | gold.tag_scores(prediction.tags.numbers)
        )
        if isinstance(self.model, LinearModel) or split not in self.corpus.lattices:
            return scores
        beam = self._beam_for_lattices(search)
        found_in_lattices = self.corpus.lattices[split].scores(
            self.model, beam, single_root=self.single_root
        )
        return found_in_lattices | {"gold_path_las": scores["las"]}

    def task_scores(self, task: Task, split: str) -> dict[str, float]:
        """Return the scores on a split of a task that is learned after the parser. The task reads
        the tags that the model predicts.
        """
        gold: GoldSplit = getattr(self.corpus, split)
        predictor = Predictor(self.model, ParseOptions(tags=TagUse.OVERWRITE))
        _, tags = predictor.tag(gold.sentences, [sentence.forms for sentence in gold.source])
        roots = {*gold.sentences.offsets.tolist()}
        words = [place for place in range(int(gold.sentences.offsets[-1])) if place not in roots]
        return task.scores(
            gold.source,
            {name: [tags.values[name][place] for place in words] for name in task.predicted},
        )

    def set_beam_and_calibrate(self, search: Beam | None) -> dict[str, Any]:
        """Store the beam in the model, and fit its calibration to the dev split,
        if there is one with enough arcs.

        Returns:
            The calibration's part of metrics.json.
        """
        model, corpus = self.model, self.corpus
        model.beam = search
        if isinstance(model, LinearModel):
            return {}
        if corpus.lattices:
            model.lattice_beam = self._beam_for_lattices(search)
        if corpus.dev is None:
            return {}
        if (fitted := Calibration.fit(*self._arcs(model, corpus.dev))) != Calibration():
            model.calibration = fitted
        if corpus.test is None or not corpus.test.labelled.any():
            return {}
        log_probabilities, right = self._arcs(model, corpus.test)
        return {
            "calibration_error_percent": expected_calibration_error(
                model.calibration(log_probabilities), right
            )
        }

    def _beam_for_lattices(self, search: Beam | None) -> Beam:
        beam = search or self.lattice_beam
        assert beam is not None, "a run with lattices has one"
        return beam.without_signatures()

    def _arcs(self, model: TrainedModel, gold: GoldSplit) -> tuple[np.ndarray, np.ndarray]:
        """Return float64[words], the log probabilities of the steps that made a split's arcs, and
        bool[words], which arcs are right.
        """
        prediction = self._predicted(gold, model.beam, steps=True)
        assert prediction.steps is not None, "the predictor was asked for steps"
        right = gold.correct(prediction.parses)[1][gold.labelled]
        return prediction.steps.arcs[prediction.parses.heads != NO_NODE][gold.labelled], right

    def _predicted(
        self,
        gold: GoldSplit,
        search: Beam | None,
        tags: TagUse = TagUse.KEEP,
        *,
        steps: bool = False,
        int8: bool | None = None,
    ) -> Prediction:
        """Return what the model now predicts for a split with this search, without lemmas."""
        model = self.model if isinstance(self.model, LinearModel) else self.model.frozen(int8)
        predictor = Predictor(model, ParseOptions(beam=search or GREEDY, tags=tags), steps=steps)
        return predictor.predict(gold.sentences, single_root=self.single_root)
