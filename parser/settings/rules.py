"""Validation of settings beyond what hydra checks.

Types, keys and most words are hydra's to refuse, by the classes of groups.py. Here are the ranges of numbers, the words that
other packages own, and the rules about more than one setting, each a message that says what is wrong, and the fix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from inspect import signature
from typing import Any

from omegaconf import MISSING

import oracles
from parser import transitions
from parser.beam_settings import EXACT, BeamError, Merge, Scores, check_exact
from parser.data.attributes import ATTRIBUTES, ELEMENTS, TAGS
from parser.lattices.gold_paths import MissingPath
from parser.network_spec import range_of
from parser.networks.build import check_device
from parser.networks.layers import ACTIVATIONS
from parser.settings import held_out_of, vocabulary_is_of_subset
from parser.settings.choices import ExampleUse, Mode, Policy, SettingsError, Tokenizer, TrainingTrees, UpdateStep
from parser.settings.groups import (
    BEAMS,
    BeamTrainingSettings,
    BiLSTMSettings,
    EncoderSettings,
    ExactSettings,
    ExactTrainingSettings,
    GlobalBeamSettings,
    LatticeSettings,
    LinearSettings,
    LocalBeamSettings,
    MlpSettings,
    Settings,
)
from parser.settings.overrides import absent
from parser.settings.plan import OraclePlan
from parser.text.udpipe import package
from parser.transitions.features import CANDIDATE_POSITIONS, RELATION, TOKEN


def check_values(settings: Settings, made: Any, prefix: str = "") -> None:
    """Refuses keys that are not settings, which hydra takes if they are given with a plus, and numbers out of range."""
    known = {field.name: field for field in fields(made)}
    for name, value in vars(made).items():
        key = f"{prefix}{name}"
        if name not in known:
            raise SettingsError(absent(key, settings, key))
        if value == MISSING:
            raise SettingsError(f"{key} has no value; give {key}=VALUE")
        if is_dataclass(value):
            check_values(settings, value, f"{key}.")
        elif (allowed := range_of(known[name])) is not None and value is not None:
            for inner, number in value.items() if isinstance(value, dict) else [("", value)]:
                if (said := allowed.violation(number)) is not None:
                    raise SettingsError(f"{key}{inner and '.'}{inner}={number} is out of range; {said}")


def broken(made: Settings, teachers: tuple[str, ...]) -> Iterator[str]:
    """Violations of the rules, in order: later rules assume that earlier ones hold."""
    yield from _unknown_words(made)
    yield from _wrong_system(made)
    yield from _wrong_features(made)
    if isinstance(made, LinearSettings):
        yield from _wrong_linear(made)
    else:
        yield from _wrong_passes(made)
    yield from _wrong_beam(made)
    if isinstance(made, MlpSettings):
        yield from _wrong_lattices(made, made.lattice)
        yield from _wrong_distillation(made, made.distillation.teacher, teachers)
    yield from _wrong_machine(made)


def _unknown_words(made: Settings) -> Iterator[str]:
    """The choices that other packages know."""
    words: list[tuple[str, str | None, Iterable[str | None]]] = [
        ("system", made.system, transitions.names()),
        ("strategy", made.strategy, list(oracles.Strategy)),
        ("ties", made.ties, [None, *(ties for ties in oracles.TIES if ties != "none")]),
        ("projectivization", made.projectivization, oracles.PROJECTIVIZATIONS),
        ("classifier.activation", made.classifier.activation, list(ACTIVATIONS)),
    ]
    if isinstance(made.beam, LocalBeamSettings):
        words.append(("beam.merge", made.beam.merge, list(Merge)))
    if isinstance(made, MlpSettings):
        words.append(("lattice.gold", made.lattice.gold, list(MissingPath)))
    for key, value, known in words:
        if value not in known:
            listed = ", ".join("null" if word is None else word for word in known)
            yield f"{key}={'null' if value is None else value} is unknown; known: {listed}"


def _wrong_system(made: Settings) -> Iterator[str]:
    """System, column and degree, the oracle and its ties."""
    system = transitions.system_class(made.system)
    if made.system != "arc_standard" and made.column is not None:
        yield f"column={made.column} is only for system=arc_standard; leave column= out with system={made.system}"
    if made.system != "attardi" and made.degree is not None:
        yield f"degree={made.degree} is only for system=attardi; leave degree= out with system={made.system}"
    if made.oracle not in system.oracles:
        yield f"oracle={made.oracle} is unknown to system={made.system}; known: {', '.join(system.oracles)}"
    if made.ties is not None and "ties" not in signature(oracles.oracle_class(made.oracle)).parameters:
        yield (
            f"ties={made.ties} is not known to oracle={made.oracle}; leave ties= out, or choose "
            "system=arc_standard with oracle=context_rows or nederhof_cubic"
        )
    try:
        oracle_of(made).create()  # an oracle may know only some of the strategies
    except ValueError as error:
        yield str(error)


def _wrong_features(made: Settings) -> Iterator[str]:
    """What is read, at which positions, and what it is embedded in."""
    templates = templates_of(made)
    for key, table in (("features", made.features), ("encoder.slots", templates)):
        for attribute, positions in table.items():
            for position in positions:
                if not isinstance(position, str):  # OmegaConf lets lists within lists of positions pass
                    yield f"{key}.{attribute}: {position} is not a position; give a list of them, such as [s0,s1,b0]"
    for attribute in made.embeddings:
        if attribute not in (*ATTRIBUTES, RELATION):
            yield f"embeddings.{attribute}: there is no such attribute; known: {', '.join([*ATTRIBUTES, RELATION])}"
    if (both := made.vectors.attribute) is not None and both in made.embeddings:
        yield f"embeddings.{both} and vectors.attribute={both} are both given; drop one"
    for attribute, positions in made.features.items():
        if positions and attribute in ELEMENTS and attribute not in made.embeddings:
            yield f"features.{attribute}: its values are sets; embed them, give embeddings.{attribute}"
    if isinstance(made, BiLSTMSettings):
        yield from _wrong_encoder(made, made.encoder)
    own = transitions.system_class(made.system).candidate_positions
    for attribute, positions in templates.items():
        for position in positions:
            if (base := position.partition(".")[0]) in CANDIDATE_POSITIONS and base not in own:
                able = [name for name in transitions.names() if base in transitions.system_class(name).candidate_positions]
                yield (
                    f"{attribute} is read at {position}, which system={made.system} does not have; choose another position, "
                    f"or system={' or '.join(able)}"
                )


def _wrong_encoder(made: Settings, encoder: EncoderSettings) -> Iterator[str]:
    for attribute in encoder.slots:
        if attribute not in (TOKEN, RELATION):
            yield f"encoder.slots.{attribute}: with an encoder, slots can read only {TOKEN} or {RELATION}"
    if not encoder.slots.get(TOKEN):
        yield f"encoder.slots.{TOKEN} is empty: no slot would read what the encoder makes of the words"
    if made.classifier.slot_dropout:
        yield "classifier.slot_dropout is for model=mlp; with an encoder, encoder.attribute_dropout is its counterpart"
    for attribute, positions in made.features.items():
        if positions and attribute not in (RELATION, *made.embeddings, made.vectors.attribute):
            yield (
                f"features.{attribute}: model={made.model} reads embedded attributes; choose recipe=accurate, which "
                f"embeds them all, or give embeddings.{attribute}=SIZE"
            )
    if (tagger := encoder.tagger) is None:
        return
    if not tagger.weights:
        yield "encoder.tagger.weights is empty: nothing would be predicted; or choose encoder.tagger=null"
    for column in tagger.weights:
        if column not in TAGS:
            yield f"encoder.tagger.weights.{column}: there is no such column; known: {', '.join(TAGS)}"


def _wrong_linear(made: LinearSettings) -> Iterator[str]:
    online = made.online
    if made.device != "cpu":
        yield f"device={made.device}: model=linear is trained on the CPU; leave device= out"
    if online.explore_after and online.mode != Mode.explore:
        yield f"online.explore_after={online.explore_after} is only for online.mode=explore; leave it out"
    if online.follow != 1 and online.mode != Mode.explore:
        yield f"online.follow={online.follow} is only for online.mode=explore; leave it out"


def _wrong_passes(made: Settings) -> Iterator[str]:
    """The first two passes: their trees, what they take from each other and from another run."""
    first, second = made.first_pass, made.second_pass
    system = transitions.system_class(made.system)
    if second.trees == TrainingTrees.original and oracles.oracle_class(made.oracle).needs_projective_gold:
        able = [name for name in system.oracles if not oracles.oracle_class(name).needs_projective_gold]
        yield (
            f"oracle={made.oracle} needs projective trees, and second_pass.trees=original has non-projective ones; choose "
            f"{' or '.join(f'oracle={name}' for name in able) or 'another system'}, or second_pass.trees=projectivized"
        )
    if first.trees == TrainingTrees.original and oracles.oracle_class(system.gold_oracle).needs_projective_gold:
        yield (
            f"first_pass.trees=original: gold computations of system={made.system} need projective trees; "
            "choose projectivized or projective_subset"
        )
    joins_others = second.examples == ExampleUse.join and first.trees == TrainingTrees.projective_subset != second.trees
    if joins_others and isinstance(made, BiLSTMSettings):
        yield "second_pass.examples=join with an encoder needs the same sentences in both passes; choose column=4 or 5"
    if first.model is not None and start_of(made) is not None:
        yield "first_pass.model and beam.training.start are both given; the latter replaces both passes: drop one"
    if first.model is not None and second.trees is None:
        yield "first_pass.model is given, but there is no second pass (column=3, 4 or 5)"
    if vocabulary_is_of_subset(made) and second.trees not in (None, TrainingTrees.projective_subset):
        yield (
            f"vocabulary_from=first_pass, but the second pass (second_pass.trees={second.trees}) learns from "
            "sentences that the first one leaves out; choose vocabulary_from=all"
        )


def _wrong_beam(made: Settings) -> Iterator[str]:
    beam, network = made.beam, not isinstance(made, LinearSettings)
    if beam.name not in BEAMS or type(beam) is not BEAMS[beam.name]:
        yield f"beam.name={beam.name} is of another choice of the group; choose beam={' or beam='.join(BEAMS)}"
    if made.second_pass.policy == Policy.beam and not isinstance(beam, LocalBeamSettings):
        yield (
            f"second_pass.policy=beam explores with the parser's beam, and beam={beam.name} has none; choose beam=local or "
            "beam=global, or another policy"
        )
    if isinstance(beam, LocalBeamSettings) and beam.merge == Merge.SIGNATURE and (made.system != "arc_standard" or not network):
        yield (
            f"beam.merge={beam.merge} is only for system=arc_standard, and not for model=linear; choose "
            f"beam.merge={Merge.CONFIGURATION}"
        )
    if network and training_of(made) is not None and vocabulary_is_of_subset(made):
        yield (
            f"vocabulary_from=first_pass, but the third pass (beam={beam.name}) learns from all sentences; choose "
            "vocabulary_from=all"
        )
    if isinstance(beam, GlobalBeamSettings):
        yield from _wrong_global_training(made, beam.training)
    if isinstance(beam, ExactSettings):
        slots = [f"{position}:{attribute}" for attribute, positions in templates_of(made).items() for position in positions]
        try:
            check_exact(made.system, isinstance(made, BiLSTMSettings), slots)
        except BeamError as error:
            yield f"beam={EXACT}: {error} (beam={Scores.LOCAL})"


def _wrong_global_training(made: Settings, training: BeamTrainingSettings) -> Iterator[str]:
    system = transitions.system_class(made.system)
    if not isinstance(made, LinearSettings):
        if training.update != UpdateStep.max_violation:
            yield f"beam.training.update={training.update} is only for model=linear; leave it out"
        if made.system != "arc_standard":
            yield (
                f"beam=global is supported with system=arc_standard, and with model=linear, not with system={made.system} "
                f"model={made.model}; choose system=arc_standard, or beam=local"
            )
        return
    if system.reorders_buffer:
        yield (
            f"beam=global compares computations step by step, and those of system={made.system} differ in length; "
            "choose another system, or beam=local"
        )
    if made.oracle != system.oracles[0]:
        yield (
            "beam=global of model=linear uses only the system's first oracle, which says what is gold everywhere in a beam, "
            f"not oracle={made.oracle}; choose oracle={system.oracles[0]}"
        )
    if training.start is not None:
        yield f"beam.training.start={training.start} is not supported with model=linear; leave it out"


def _wrong_lattices(made: Settings, lattice: LatticeSettings) -> Iterator[str]:
    given = {part: name for part in ("train", "dev", "test") if (name := getattr(lattice, part)) is not None}
    if not given:
        return
    if "train" not in given:
        yield f"lattice.{next(iter(given))} is given, but lattice.train is not: give the lattices of the training part, too"
    if made.system not in ("arc_standard", "attardi"):
        yield f"lattice.train is only for system=arc_standard or attardi, not for system={made.system}"
    if not isinstance(made.treebank.train, str):
        yield "lattice.train belongs to one file of trees: give one treebank.train"
    if held_out_of(made.treebank):
        yield (f"treebank.held_out={made.treebank.held_out} is not supported with lattices; give treebank.dev, and lattice.dev")
    for part in given:
        if getattr(made.treebank, part) is None:
            yield f"lattice.{part} is given, but treebank.{part}, its trees, is not"
    if lattice.choices and made.second_pass.policy == Policy.beam:
        yield (
            "lattice.choices=true learns along single computations, and second_pass.policy=beam follows many; choose another "
            "policy, or lattice.choices=false"
        )
    if lattice.choices and made.first_pass.trees == TrainingTrees.projective_subset:
        yield (
            "lattice.choices=true learns from all sentences, and first_pass.trees=projective_subset leaves some out; choose "
            "column=2, 4, 5 or 6, or lattice.choices=false"
        )


def _wrong_distillation(made: MlpSettings, given: Any, teachers: tuple[str, ...]) -> Iterator[str]:
    if given is None:
        return
    if not teachers:
        yield f"distillation.teacher={given} names no teacher; give a run folder of model=bilstm, or null"
    if made.second_pass.trees is None:
        yield f"distillation.teacher={given} teaches in the second pass, and there is none; choose column=3, 4, 5 or 6"
    unable = {
        "system=lr_spine": made.system == "lr_spine",
        "lattices": made.lattice.train is not None,
        "second_pass.policy=beam": made.second_pass.policy == Policy.beam,
        "beam.training.start, which leaves no second pass": start_of(made) is not None,
    }
    for what in (what for what, there in unable.items() if there):
        yield f"distillation.teacher={given} is not supported with {what}; leave it out"


def _wrong_machine(made: Settings) -> Iterator[str]:
    try:
        check_device(made.device)
    except ValueError as error:
        yield f"device={made.device}: {error}"
    if made.tokenizer == Tokenizer.udpipe:
        package()  # says how to install it


def templates_of(made: Settings) -> dict[str, list[str]]:
    """By attribute, the positions at which the slots of a network read it."""
    if isinstance(made, LinearSettings):
        return {}
    return made.encoder.slots if isinstance(made, BiLSTMSettings) else made.features


def training_of(made: Settings) -> ExactTrainingSettings | None:
    """Settings of global training (beam.training); None if there is none."""
    return made.beam.training if isinstance(made.beam, GlobalBeamSettings | ExactSettings) else None


def start_of(made: Settings) -> str | None:
    """The model that the pass over whole computations begins with, in place of the passes before it; None: there is none."""
    training = training_of(made)
    return None if training is None else training.start


def oracle_of(made: Settings) -> OraclePlan:
    """The oracle of all passes but the first."""
    ties = {} if made.ties is None else {"ties": made.ties}
    return OraclePlan(made.oracle, oracles.Strategy(made.strategy), {**system_options(made), **ties})


def system_options(made: Settings) -> dict[str, int]:
    """What the transition system is made with besides the relations."""
    return {} if made.degree is None else {"degree": made.degree}
