"""Enumerations of settings. Members are named as on the command line, so that hydra itself refuses other words."""

from __future__ import annotations

from enum import StrEnum


class SettingsError(ValueError):
    """A setting has a value that it cannot have; the message names the key and lists what it can be."""


Keep = StrEnum("Keep", ["last", "best"])
"""Which epoch of a pass is kept: the last, or the best one on dev."""

OptimizerName = StrEnum("OptimizerName", ["sgd", "adam", "adamw"])
Schedule = StrEnum("Schedule", ["constant", "cosine", "linear"])

ScheduleSpan = StrEnum("ScheduleSpan", ["pass", "run"])
"""Whether the learning rate falls over each pass, or over the first two together."""

Tokenizer = StrEnum("Tokenizer", ["none", "udpipe"])
Segmenter = StrEnum("Segmenter", ["none", "bilstm"])


class TrainingTrees(StrEnum):
    """Which trees of the training part a pass works on."""

    projective_subset = "projective_subset"
    projectivized = "projectivized"
    original = "original"


class VocabularySource(StrEnum):
    """Which training sentences vocabularies and word vectors are made of: all, or those that the first pass learns from."""

    all = "all"
    first_pass = "first_pass"


class ExampleUse(StrEnum):
    """How the second pass uses the first pass's examples."""

    replace = "replace"  # type: ignore[assignment]
    join = "join"  # type: ignore[assignment]


class Mode(StrEnum):
    """Which transitions an online learner updates towards, and along which computations.

    * static: of the optimal transitions of a gold computation, the one that comes first in the eager order.
    * nondet: all optimal transitions, on gold computations.
    * explore: all optimal transitions, along the parser's own predictions.
    """

    static = "static"
    nondet = "nondet"
    explore = "explore"


class OnlineSentences(StrEnum):
    """Which sentences are learned from."""

    all = "all"
    projective = "projective"


class Target(StrEnum):
    """What an example teaches where several transitions are optimal.

    * own_best: the optimal output that the classifier scores highest (Nederhof 2019 leaves the choice open).
    * fixed_order: the first optimal transition of the system's eager order: attach as soon as possible.
    * marginal: the whole set; the loss is minus the logarithm of the total probability of the optimal outputs.
    """

    own_best = "own_best"
    fixed_order = "fixed_order"
    marginal = "marginal"


class Policy(StrEnum):
    """Which transitions exploration takes.

    * prediction: the one that the classifier scores highest (Nederhof 2019, Section 8).
    * mixed: that one with a certain probability, otherwise the best optimal one (Goldberg and Nivre 2012, Algorithm 3).
    * sample: one drawn from the classifier's distribution over the applicable outputs.
    * beam: those that a beam takes, from all of its items; see explore_with_beam().
    """

    prediction = "prediction"
    mixed = "mixed"
    sample = "sample"
    beam = "beam"


class Over(StrEnum):
    """What the teacher's distribution is over: the right outputs of optimal transitions, or all outputs."""

    optimal = "optimal"
    all = "all"


class UpdateStep(StrEnum):
    """The step of a search that is learned from.

    * early: the first without a gold item in the beam; the last if there always is one (Collins and Roark 2004).
    * max_violation: the one with the highest loss (Huang, Fayong and Guo 2012).
    """

    early = "early"
    max_violation = "max_violation"
