"""Refuses settings that no run can have, before any work is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

import oracles
from parser import transitions
from parser.beam_settings import EXACT, Merge, Scores
from parser.data.attributes import ATTRIBUTES, ELEMENTS
from parser.lattices.gold_paths import MissingPath
from parser.networks.build import check_device
from parser.networks.layers import ACTIVATIONS
from parser.settings import (
    ExampleUse,
    Settings,
    SettingsError,
    TrainingTrees,
    VocabularySource,
    check_column,
    given_models,
    held_out,
    named_files,
    teachers,
    training_files,
    vocabulary_is_of_subset,
)
from parser.settings.choices import Over, Policy, Target
from parser.text.udpipe import package
from parser.training.checks.beam_check import check_beam
from parser.training.checks.settings_keys import check_keys
from parser.training.checks.settings_ranges import check_ranges
from parser.training.plans import oracle_plan
from parser.training.representation_settings import MODELS
from parser.transitions.features import ANCHORS, RELATION

OPTIMIZERS = ("sgd", "adam", "adamw")
SCHEDULES = ("constant", "cosine", "linear")
SPANS = ("pass", "run")
KEEP = ("last", "best")
BEAMS = ("none", *Scores, EXACT)
TOKENIZERS = ("none", "udpipe")
SEGMENTERS = ("none", "bilstm")


def check(settings: Settings) -> None:
    """Refuses values that no run can have, before any work is done.

    Raises:
        SettingsError: names the key and lists what it can be.
    """
    check_keys(settings)
    check_column(settings)
    _check_system(settings)
    choices: list[tuple[str, Any, Any]] = [
        ("strategy", settings.strategy, list(oracles.Strategy)),
        ("ties", settings.ties, [None, *(ties for ties in oracles.TIES if ties != "none")]),
        ("projectivization", settings.projectivization, oracles.PROJECTIVIZATIONS),
        ("vocabulary_from", settings.vocabulary_from, list(VocabularySource)),
        ("keep", settings.keep, KEEP),
        ("tokenizer", settings.tokenizer, TOKENIZERS),
        ("segmenter", settings.segmenter, SEGMENTERS),
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
        ("distillation.over", settings.distillation.over, list(Over)),
        ("beam.name", settings.beam.name, BEAMS),
        ("beam.merge", settings.beam.merge, [None, *Merge]),
        ("lattice.gold", settings.lattice.gold, list(MissingPath)),
    ]
    for key, value, known in choices:
        if value not in known:
            listed = ", ".join("null" if choice is None else str(choice) for choice in known)
            raise SettingsError(f"{key}={value} is unknown; known: {listed}")
    check_ranges(settings)
    _check_addresses(settings)
    _check_embeddings(settings)
    MODELS[settings.model].check(settings)
    if MODELS[settings.model].two_passes:
        _check_trees(settings)
    _check_anchors(settings)
    check_beam(settings)
    _check_lattices(settings)
    _check_distillation(settings)
    if len(given_models(settings)) > 1:
        raise SettingsError(
            "first_pass.model and beam.training.start are both given; the latter replaces both passes: drop one"
        )
    if settings.first_pass.model is not None and settings.second_pass.trees is None:
        raise SettingsError("first_pass.model is given, but there is no second pass (column=3, 4 or 5)")
    if vocabulary_is_of_subset(settings) and settings.second_pass.trees not in (None, TrainingTrees.PROJECTIVE_SUBSET):
        raise SettingsError(
            f"vocabulary_from=first_pass, but the second pass (second_pass.trees={settings.second_pass.trees}) learns from "
            "sentences that the first one leaves out; choose vocabulary_from=all"
        )
    try:
        check_device(settings.device)
    except ValueError as error:
        raise SettingsError(f"device={settings.device}: {error}") from error
    if settings.tokenizer == "udpipe":
        package()  # says how to install it
    oracle_plan(settings)  # an oracle may know only some of the strategies, and no ties


def check_files(settings: Settings) -> None:
    """Refuses files that are not there, before any of them is read.

    Raises:
        SettingsError: names the file, the key and what to set.
    """
    if not training_files(settings):
        raise SettingsError("there is no training part: give treebank=NAME or treebank.train=FILE")
    for key, name in named_files(settings).items():
        if Path(name).is_file():
            continue
        message = f"{key}={name}: there is no such file"
        if not OmegaConf.is_missing(settings.paths, "treebanks") and f"{settings.paths.treebanks}/" in name:
            message += f"; paths.treebanks={settings.paths.treebanks} must be the folder that holds the treebanks known by name"
        raise SettingsError(message)


def _check_system(settings: Settings) -> None:
    if settings.system not in transitions.names():
        raise SettingsError(f"system={settings.system} is unknown; known: {', '.join(transitions.names())}")
    system = transitions.system_class(settings.system)
    if settings.system != "arc_standard" and settings.column is not None:
        raise SettingsError(
            f"column={settings.column} is only for system=arc_standard; leave column= out with system={settings.system}"
        )
    if settings.system == "arc_standard" and settings.column is None:
        raise SettingsError(
            f"column=null is only for systems other than arc_standard; give one of {', '.join(settings.table7)}"
        )
    if settings.degree is not None and settings.system != "attardi":
        raise SettingsError(
            f"degree={settings.degree} is only for system=attardi; leave degree= out with system={settings.system}"
        )
    if settings.oracle not in system.oracles:
        raise SettingsError(
            f"oracle={settings.oracle} is unknown to system={settings.system}; known: {', '.join(system.oracles)}"
        )


def _check_trees(settings: Settings) -> None:
    """Refuses trees that the oracles of the two passes are not exact for."""
    system = transitions.system_class(settings.system)
    if settings.second_pass.trees == TrainingTrees.ORIGINAL and oracles.oracle_class(settings.oracle).needs_projective_gold:
        able = [name for name in system.oracles if not oracles.oracle_class(name).needs_projective_gold]
        raise SettingsError(
            f"oracle={settings.oracle} needs projective trees, and second_pass.trees=original has non-projective ones; choose "
            f"{' or '.join(f'oracle={name}' for name in able) or 'another system'}, or second_pass.trees=projectivized"
        )
    gold = oracles.oracle_class(system.gold_oracle)
    if settings.first_pass.trees == TrainingTrees.ORIGINAL and gold.needs_projective_gold:
        raise SettingsError(
            f"first_pass.trees=original: gold computations of system={settings.system} need projective trees; "
            "choose projectivized or projective_subset"
        )


def _check_lattices(settings: Settings) -> None:
    given = [key for key in named_files(settings) if key.startswith("lattice.")]
    if not given:
        return
    if settings.lattice.train is None:
        raise SettingsError(f"{given[0]} is given, but lattice.train is not: give the lattices of the training part, too")
    if settings.model != "mlp" or settings.system not in ("arc_standard", "attardi"):
        raise SettingsError(
            f"lattice.train is only for model=mlp and system=arc_standard or attardi, not for model={settings.model} and "
            f"system={settings.system}"
        )
    if len(training_files(settings)) != 1:
        raise SettingsError("lattice.train belongs to one file of trees: give one treebank.train")
    if held_out(settings):
        raise SettingsError(
            f"treebank.held_out={settings.treebank.held_out} is not supported with lattices; give treebank.dev, and lattice.dev"
        )
    for part in ("dev", "test"):
        if getattr(settings.lattice, part) is not None and getattr(settings.treebank, part) is None:
            raise SettingsError(f"lattice.{part} is given, but treebank.{part}, its trees, is not")
    if settings.lattice.choices and settings.second_pass.policy == Policy.BEAM:
        raise SettingsError(
            f"lattice.choices=true learns along single computations, and second_pass.policy={Policy.BEAM} follows many; choose "
            "another policy, or lattice.choices=false"
        )
    if settings.lattice.choices and settings.first_pass.trees == TrainingTrees.PROJECTIVE_SUBSET:
        raise SettingsError(
            "lattice.choices=true learns from all sentences, and first_pass.trees=projective_subset leaves some out; choose "
            "column=2, 4, 5 or 6, or lattice.choices=false"
        )


def _check_distillation(settings: Settings) -> None:
    if settings.distillation.teacher is None:
        return
    named = f"distillation.teacher={settings.distillation.teacher}"
    if not teachers(settings):
        raise SettingsError(f"{named} names no teacher; give a run folder of model=bilstm, or null")
    if settings.model != "mlp":
        raise SettingsError(f"{named} teaches model=mlp, not model={settings.model}; leave it out, or choose model=mlp")
    if settings.second_pass.trees is None:
        raise SettingsError(f"{named} teaches in the second pass, and there is none; choose column=3, 4, 5 or 6")
    unable = {
        "system=lr_spine": settings.system == "lr_spine",
        "lattices": settings.lattice.train is not None,
        f"second_pass.policy={Policy.BEAM}": settings.second_pass.policy == Policy.BEAM,
        "beam.training.start, which leaves no second pass": "beam.training.start" in given_models(settings),
    }
    for what, there in unable.items():
        if there:
            raise SettingsError(f"{named} is not supported with {what}; leave it out")


def _check_addresses(settings: Settings) -> None:
    """OmegaConf lets lists within lists of addresses pass."""
    tables = {"features": settings.features}
    if settings.encoder is not None:
        tables["encoder.slots"] = settings.encoder.slots
    for key, table in tables.items():
        for attribute, addresses in table.items():
            for address in addresses:
                if not isinstance(address, str):
                    raise SettingsError(
                        f"{key}.{attribute}: {address} is not an address; give a list of them, such as [s0,s1,b0]"
                    )


def _check_anchors(settings: Settings) -> None:
    own = transitions.system_class(settings.system).anchors
    for attribute, addresses in MODELS[settings.model].templates(settings).items():
        for address in addresses:
            base = address.partition(".")[0]
            if base in ANCHORS and base not in own:
                able = [name for name in transitions.names() if base in transitions.system_class(name).anchors]
                raise SettingsError(
                    f"{attribute} is read at {address}, which system={settings.system} does not have; choose another address, "
                    f"or system={' or '.join(able)}"
                )


def _check_embeddings(settings: Settings) -> None:
    readable = [*ATTRIBUTES, RELATION]
    for attribute in settings.embeddings:
        if attribute not in readable:
            raise SettingsError(f"embeddings.{attribute}: there is no such attribute; known: {', '.join(readable)}")
    both = settings.vectors.attribute
    if both is not None and both in settings.embeddings:
        raise SettingsError(f"embeddings.{both} and vectors.attribute={both} are both given; drop one")
    for attribute, addresses in settings.features.items():
        if addresses and attribute in ELEMENTS and attribute not in settings.embeddings:
            raise SettingsError(f"features.{attribute}: its values are sets; embed them, give embeddings.{attribute}")
