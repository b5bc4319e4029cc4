"""Enumerations of settings. Members are named as on the command line, so that hydra itself refuses other words."""

from __future__ import annotations

from enum import StrEnum


class SettingsError(ValueError):
    """A setting has a value that it cannot have; the message names the key and lists what it can be."""


class PathKind(StrEnum):
    """What a path among the settings is: of something that is there, or, OUTPUT, of a folder that is written.

    * FILE: it is read.
    * MODEL: a run's folder, or a model's.
    * PRETRAINED: the folder of a pretrained encoder.
    * FOLDER: one in which something is looked for.
    """

    FILE = "file"
    MODEL = "model"
    PRETRAINED = "pretrained"
    FOLDER = "folder"
    OUTPUT = "output"


KeptEpoch = StrEnum("KeptEpoch", ["last", "best"])
"""Which epoch of a pass is kept: the last, or the best one on dev."""

OptimizerName = StrEnum("OptimizerName", ["sgd", "adam"])
Schedule = StrEnum("Schedule", ["constant", "cosine", "linear"])

ScheduleSpan = StrEnum("ScheduleSpan", ["pass", "run"])
"""Whether the learning rate falls over each pass, or over the first two together."""

OnFault = StrEnum("OnFault", ["stop", "skip"])
"""What to do with a sentence of the treebank that cannot be used: end the run, or leave it out."""

SegmenterName = StrEnum("SegmenterName", ["none", "bilstm"])

TrainingTrees = StrEnum("TrainingTrees", ["projective_subset", "projectivized", "original"])
"""Which trees of the training part a pass works on."""

VocabularySource = StrEnum("VocabularySource", ["all", "first_pass"])
"""Which training sentences vocabularies and word vectors are made of: all, or those that the first pass learns from."""

ExampleUse = StrEnum("ExampleUse", ["replace", "join"])
"""How the second pass uses the first pass's examples."""

Mode = StrEnum("Mode", ["static", "nondet", "explore"])
"""Which transitions an online learner updates towards, and along which computations.

* static: of the optimal transitions of a gold computation, the one that comes first in the eager order.
* nondet: all optimal transitions, on gold computations.
* explore: all optimal transitions, along the parser's own predictions.
"""

OnlineSentences = StrEnum("OnlineSentences", ["all", "projective"])
"""Which sentences are learned from."""

Target = StrEnum("Target", ["own_best", "fixed_order"])
"""What an example teaches where several transitions are optimal.

* own_best: the optimal output that the classifier scores highest (Nederhof 2019 leaves the choice open).
* fixed_order: the first optimal transition of the system's eager order: attach as soon as possible.
"""

Policy = StrEnum("Policy", ["prediction", "mixed", "sample"])
"""Which transitions exploration takes.

* prediction: the one that the classifier scores highest (Nederhof 2019, Section 8).
* mixed: that one with a certain probability, otherwise the best optimal one (Goldberg and Nivre 2012, Algorithm 3).
* sample: one drawn from the classifier's distribution over the applicable outputs.
"""

UpdateStep = StrEnum("UpdateStep", ["early", "max_violation"])
"""The step of a search that is learned from.

* early: the first without a gold item in the beam; the last if there always is one (Collins and Roark 2004).
* max_violation: the one with the highest loss (Huang, Fayong and Guo 2012).
"""
