"""Refuses settings that no run can have, before any work is done."""

from __future__ import annotations

from typing import Any

import oracles
from parser import transitions
from parser.classifier.activations import ACTIVATIONS
from parser.classifier.device import check_device
from parser.data.vocabulary import ATTRIBUTES, ELEMENTS
from parser.settings import ExampleUse, Settings, SettingsError, TrainingTrees
from parser.training.example_sources import oracle_of
from parser.training.examples import Target
from parser.training.exploration import Policy
from parser.training.representation_settings import MODELS
from parser.transitions.features import RELATION

OPTIMIZERS = ("sgd", "adam", "adamw")
SCHEDULES = ("constant", "cosine", "linear")
SPANS = ("pass", "run")
KEEP = ("last", "best")


def check(settings: Settings) -> None:
    """Refuses values that no run can have, before any work is done.

    Raises:
        SettingsError: names the key and lists what it can be.
    """
    _check_system(settings)
    choices: list[tuple[str, Any, Any]] = [
        ("strategy", settings.strategy, list(oracles.Strategy)),
        ("ties", settings.ties, [None, *(ties for ties in oracles.TIES if ties != "none")]),
        ("projectivization", settings.projectivization, oracles.PROJECTIVIZATIONS),
        ("keep", settings.keep, KEEP),
        ("model", settings.model, list(MODELS)),
        ("classifier.activation", settings.classifier.activation, list(ACTIVATIONS)),
        ("optimizer.name", settings.optimizer.name, OPTIMIZERS),
        ("optimizer.schedule", settings.optimizer.schedule, SCHEDULES),
        ("optimizer.schedule_over", settings.optimizer.schedule_over, SPANS),
        ("first_pass.trees", settings.first_pass.trees, list(TrainingTrees)),
        ("second_pass.trees", settings.second_pass.trees, [None, *TrainingTrees]),
        ("second_pass.target", settings.second_pass.target, list(Target)),
        ("second_pass.examples", settings.second_pass.examples, list(ExampleUse)),
        ("second_pass.policy", settings.second_pass.policy, list(Policy)),
    ]
    for key, value, known in choices:
        if value not in known:
            listed = ", ".join("null" if choice is None else str(choice) for choice in known)
            raise SettingsError(f"{key}={value} is unknown; known: {listed}")
    lowest: list[tuple[str, float, float]] = [
        ("seed", settings.seed, 0),
        ("threads", settings.threads, 1),
        ("first_pass.epochs", settings.first_pass.epochs, 1),
        ("second_pass.epochs", settings.second_pass.epochs, 1),
        ("second_pass.explore_every", settings.second_pass.explore_every, 0),
        ("classifier.hidden", settings.classifier.hidden, 1),
        ("optimizer.batch_size", settings.optimizer.batch_size, 1),
        ("vectors.dimensions", settings.vectors.dimensions, 1),
    ]
    for key, number, least in lowest:
        if number < least:
            raise SettingsError(f"{key}={number} is too small; it must be at least {least:g}")
    classifier = settings.classifier
    for key in ("dropout", "input_dropout", "slot_dropout"):
        share = getattr(classifier, key)
        if not 0 <= share < 1:
            raise SettingsError(f"classifier.{key}={share} is not a share of units; it must be at least 0 and below 1")
    if classifier.word_dropout < 0:
        raise SettingsError(f"classifier.word_dropout={classifier.word_dropout} is too small; it must be at least 0")
    if not 0 <= settings.second_pass.follow <= 1:
        raise SettingsError(f"second_pass.follow={settings.second_pass.follow} is not a probability; it must be from 0 to 1")
    _check_embeddings(settings)
    MODELS[settings.model].check(settings)
    if settings.first_pass.model is not None and settings.second_pass.trees is None:
        raise SettingsError("first_pass.model is given, but there is no second pass (column=3, 4 or 5)")
    check_device(settings.device)
    oracle_of(settings)  # an oracle may know only some of the strategies, and no ties


def _check_system(settings: Settings) -> None:
    if settings.system not in transitions.names():
        raise SettingsError(f"system={settings.system} is unknown; known: {', '.join(transitions.names())}")
    system = transitions.system_class(settings.system)
    if settings.system != "arc_standard" and settings.column is not None:
        raise SettingsError(
            f"column={settings.column} is of system=arc_standard; leave column= out with system={settings.system}"
        )
    if settings.system == "arc_standard" and str(settings.column) not in settings.table7:
        raise SettingsError(f"column={settings.column} is unknown; known: {', '.join(settings.table7)} (configs/table7.yaml)")
    if settings.degree is not None and settings.system != "attardi":
        raise SettingsError(f"degree={settings.degree} is of system=attardi; leave degree= out with system={settings.system}")
    if settings.oracle not in system.oracles:
        raise SettingsError(
            f"oracle={settings.oracle} is unknown to system={settings.system}; known: {', '.join(system.oracles)}"
        )
    gold = oracles.oracle_class(system.gold_oracle)
    if settings.first_pass.trees == TrainingTrees.ORIGINAL and gold.needs_projective_gold:
        raise SettingsError(
            f"first_pass.trees=original: gold computations of system={settings.system} need projective trees; "
            "choose projectivized or projective_subset"
        )


def _check_embeddings(settings: Settings) -> None:
    readable = [*ATTRIBUTES, RELATION]
    for attribute, size in settings.embeddings.items():
        if attribute not in readable:
            raise SettingsError(f"embeddings.{attribute}: there is no such attribute; known: {', '.join(readable)}")
        if size < 1:
            raise SettingsError(f"embeddings.{attribute}={size} is too small; it must be at least 1")
    both = settings.vectors.attribute
    if both is not None and both in settings.embeddings:
        raise SettingsError(f"embeddings.{both} and vectors.attribute={both} are both given; drop one")
    for attribute, addresses in settings.features.items():
        if addresses and attribute in ELEMENTS and attribute not in settings.embeddings:
            raise SettingsError(f"features.{attribute}: its values are sets; embed them, give embeddings.{attribute}")
