"""What settings can be chosen from, and the error for choices that do not exist."""

from __future__ import annotations

from enum import StrEnum

# Choices are plain strings in the schema, checked in training/settings_check.py: hydra would ask for the members of an
# enumeration by their names in capitals.


class SettingsError(ValueError):
    """A setting has a value that it cannot have; the message names the key and lists what it can be."""


class TrainingTrees(StrEnum):
    """Which trees of the training part a pass works on."""

    PROJECTIVE_SUBSET = "projective_subset"
    PROJECTIVIZED = "projectivized"
    ORIGINAL = "original"


class VocabularySource(StrEnum):
    """Which training sentences vocabularies and word vectors are made of: all, or those that the first pass learns from."""

    ALL = "all"
    FIRST_PASS = "first_pass"


class ExampleUse(StrEnum):
    """What becomes of the first pass's examples in the second pass."""

    REPLACE = "replace"
    JOIN = "join"


class Mode(StrEnum):
    """What is learned.

    * STATIC: of the optimal moves of a gold computation, the one that comes first in the eager order.
    * NONDET: all optimal moves, on gold computations.
    * EXPLORE: all optimal moves, along the parser's own predictions.
    """

    STATIC = "static"
    NONDET = "nondet"
    EXPLORE = "explore"


class UpdateStep(StrEnum):
    """The step of a search that is learned from.

    * EARLY: the first without a gold item in the beam; the last if there always is one (Collins and Roark 2004).
    * MAX_VIOLATION: the one with the highest loss (Huang, Fayong and Guo 2012).
    """

    EARLY = "early"
    MAX_VIOLATION = "max_violation"


class OnlineSentences(StrEnum):
    """Which sentences are learned from."""

    ALL = "all"
    PROJECTIVE = "projective"


class Target(StrEnum):
    """What an example teaches where several moves are optimal.

    * OWN_BEST: the optimal output that the classifier scores highest (Nederhof 2019 leaves the choice open).
    * FIXED_ORDER: the first optimal move of the system's eager order: attach as soon as possible.
    * MARGINAL: the whole set; the loss is minus the logarithm of the total probability of the optimal outputs.
    """

    OWN_BEST = "own_best"
    FIXED_ORDER = "fixed_order"
    MARGINAL = "marginal"


class Policy(StrEnum):
    """Which moves exploration takes.

    * PREDICTION: the one that the classifier scores highest (Nederhof 2019, Section 8).
    * MIXED: that one with a certain probability, otherwise the best optimal one (Goldberg and Nivre 2012, Algorithm 3).
    * SAMPLE: one drawn from the classifier's distribution over the applicable outputs.
    * BEAM: those that a beam takes, from all of its items; see explore_with_beam().
    """

    PREDICTION = "prediction"
    MIXED = "mixed"
    SAMPLE = "sample"
    BEAM = "beam"


class Over(StrEnum):
    """What the teacher's distribution is over: the right outputs of optimal moves, or all outputs."""

    OPTIMAL = "optimal"
    ALL = "all"
