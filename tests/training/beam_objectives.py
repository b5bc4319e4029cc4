"""What trains a model for whole computations, to be compared with slow_beam.py."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import torch

from oracles import UNKNOWN_HEAD, Trees
from parser.beam_settings import Beam, Merge, Scores
from parser.data.sentences import NO_NODE
from parser.model.model import Model
from parser.networks.bilstm import BiLSTM
from parser.settings.plan import OptimizerPlan, Span
from parser.training.examples.examples import TrainingSentences
from parser.training.fitting.beam_objective import BeamObjective, BeamTraining
from parser.training.fitting.sentence_batches import BatchEncoder, BatchReader
from parser.training.fitting.trainer import TorchOptimizer, Trainer
from tests.gold_data import gold_data
from tests.random_trees import random_tree
from tests.toy import sentence
from tests.training.slow_beam import SlowBeam

PLAN = OptimizerPlan("adam", 0.01, "constant", Span(0, 10), batch_size=3)


def gold_of(model: Model, sentences) -> TrainingSentences:
    return gold_data(sentences, model.vocabularies, model.relations)


def known_in_part(model: Model, sentences, seed: int) -> TrainingSentences:
    """Half of their heads are not known, nor the relations of these."""
    data, rng = gold_of(model, sentences), np.random.default_rng(seed)
    hidden = (data.trees.heads >= 0) & (rng.random(len(data.trees.heads)) < 0.5)
    heads, starts = np.where(hidden, UNKNOWN_HEAD, data.trees.heads), data.trees.offsets
    trees = Trees.from_heads((heads[a + 1 : b].tolist() for a, b in pairwise(starts)), partial=True)
    return replace(data, trees=trees, relations=np.where(hidden, NO_NODE, data.relations))


def random_sentences(seed: int, count: int, longest: int):
    """Random trees, projective or not, with several roots or one; some relations are unknown."""
    rng = random.Random(seed)
    return [sentence(random_tree(rng, rng.randint(1, longest)), rng) for _ in range(count)]


def objective_of(model: Model, data: TrainingSentences, training: BeamTraining) -> BeamObjective:
    classifier = model.classifier
    contextual = classifier.tokens.contextual
    reader = BatchEncoder(classifier, data) if contextual else BatchReader(data.sentences, None, torch.device("cpu"))
    return BeamObjective(model, data, reader, PLAN.batch_size, training)


def trainer_of(model: Model, objective: BeamObjective) -> Trainer:
    return Trainer(objective, TorchOptimizer(model.classifier, PLAN), PLAN)


def training_with(size: int, gold_size: int, merge: str = "configuration") -> BeamTraining:
    return BeamTraining(Beam(size, Merge(merge), Scores.GLOBAL), gold_size)


def slow_losses(model: Model, data: TrainingSentences, training: BeamTraining):
    """Of each sentence: step, loss, and whether the beam lost all that is gold."""
    tokens = model.classifier.tokens
    for s in range(len(data)):
        start, end = data.trees.offsets[s : s + 2]
        inside = slice(start + 1, end)
        heads, relations = data.trees.heads[inside].tolist(), data.relations[inside].tolist()
        merging = training.beam.merge is Merge.CONFIGURATION
        own, vectors = data.sentences.span(s, s + 1), None
        if isinstance(tokens, BiLSTM):
            vectors = tokens.with_tokens(tokens.encode(torch.from_numpy(own.values.T.copy()), np.diff(own.offsets)).tokens)
        slow = SlowBeam(model, model.table.values(own), heads, relations, merging, vectors)
        yield slow.loss(training)


def surrogate_of_single_items(losses: np.ndarray) -> float:
    """The sum of what the gradient is taken of, by beams of one item: if d is how far the wrong one is ahead of the gold one,

    the loss is log(1 + exp(d)), its derivative by d is 1 / (1 + exp(-d)), and this times d is the surrogate.
    """
    lost = losses[losses > 1e-6]
    assert len(lost)
    return float(((1 - np.exp(-lost)) * np.log(np.expm1(lost))).sum())
