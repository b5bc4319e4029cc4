"""Refuses settings of beams, of exact search and of their training that no run can have."""

from __future__ import annotations

from parser import transitions
from parser.beam_settings import EXACT, BeamError, Merge, Scores, check_exact
from parser.settings import BeamTrainingSettings, Settings, SettingsError, UpdateStep, update_of, vocabulary_is_of_subset
from parser.settings.choices import Policy
from parser.training.representation_settings import MODELS


def check_beam(settings: Settings) -> None:
    """Refuses beams, and third passes, that no run can have.

    Raises:
        SettingsError: names the key and what to choose.
    """
    beam = settings.beam
    if beam.name == EXACT:
        _check_exact_search(settings)
        return
    for key, value in (("size", beam.size), ("merge", beam.merge)):
        if value is None:
            raise SettingsError(f"beam.{key}=null is only for beam={EXACT}; leave it out, or choose the group, beam={EXACT}")
    if beam.name == "none" and beam.size != 1:
        raise SettingsError(f"beam.size={beam.size}, but beam=none is greedy parsing; choose beam=local or beam=global")
    if settings.second_pass.policy == Policy.BEAM and beam.name == "none":
        raise SettingsError(
            f"second_pass.policy={Policy.BEAM} explores with the parser's beam, and beam=none is greedy parsing; choose "
            f"beam={Scores.LOCAL} or beam={Scores.GLOBAL}, or another policy"
        )
    if beam.merge == Merge.SIGNATURE and settings.model == "linear":
        raise SettingsError(
            f"beam.merge={beam.merge} is not supported with model=linear; choose beam.merge={Merge.CONFIGURATION}"
        )
    if beam.merge == Merge.SIGNATURE and settings.system != "arc_standard":
        raise SettingsError(f"beam.merge={beam.merge} is only for system=arc_standard; choose beam.merge={Merge.CONFIGURATION}")
    if beam.name == Scores.GLOBAL:
        _check_global_training(settings)
    elif beam.training is not None:
        raise SettingsError(f"beam.training is not read with beam={beam.name}; leave it out, or choose beam={Scores.GLOBAL}")


def _check_global_training(settings: Settings) -> None:
    training = settings.beam.training
    if training is None:
        raise SettingsError(
            f"beam.name={Scores.GLOBAL}: scores are global only after global training, and there is no beam.training; choose "
            f"the group, beam={Scores.GLOBAL}, or beam.name={Scores.LOCAL}"
        )
    if (update := update_of(training)) not in [*UpdateStep]:
        raise SettingsError(f"beam.training.update={update} is unknown; known: {', '.join(UpdateStep)}")
    if update != UpdateStep.MAX_VIOLATION and settings.model != "linear":
        raise SettingsError(
            f"beam.training.update={update} is only for model=linear; choose beam.training.update={UpdateStep.MAX_VIOLATION}"
        )
    if training.gold_size is None:
        raise SettingsError(f"beam.training.gold_size=null is only for beam={EXACT}; give a number of items")
    if settings.model == "linear":
        _check_structured_perceptron(settings, training)
        return
    if settings.system != "arc_standard":
        raise SettingsError(
            f"beam={Scores.GLOBAL} is supported with system=arc_standard, and with model=linear, not with "
            f"system={settings.system} model={settings.model}; choose system=arc_standard, or beam={Scores.LOCAL}"
        )
    _check_vocabulary_of_third_pass(settings)


def _check_structured_perceptron(settings: Settings, training: BeamTrainingSettings) -> None:
    """Refuses what the structured perceptron of linear models does not know."""
    system = transitions.system_class(settings.system)
    if system.reorders_buffer:
        raise SettingsError(
            f"beam={Scores.GLOBAL} compares computations step by step, and those of system={settings.system} differ in length; "
            f"choose another system, or beam={Scores.LOCAL}"
        )
    if settings.oracle != system.oracles[0]:
        raise SettingsError(
            f"beam={Scores.GLOBAL} of model=linear uses only the system's first oracle, which says what is gold everywhere "
            f"in a beam, not oracle={settings.oracle}; choose oracle={system.oracles[0]}"
        )
    if training.start is not None:
        raise SettingsError(f"beam.training.start={training.start} is not supported with model=linear; leave it out")


def _check_exact_search(settings: Settings) -> None:
    """Refuses what exact search cannot be, and settings of a beam beside it."""
    templates = MODELS[settings.model].templates(settings)
    slots = [f"{address}:{attribute}" for attribute, addresses in templates.items() for address in addresses]
    try:
        check_exact(settings.system, settings.model == "bilstm", slots)
    except BeamError as error:
        raise SettingsError(f"beam={EXACT}: {error} (beam={Scores.LOCAL})") from error
    if settings.second_pass.policy == Policy.BEAM:
        raise SettingsError(
            f"second_pass.policy={Policy.BEAM} explores with a beam, not with beam={EXACT}; choose another policy"
        )
    beam, training = settings.beam, settings.beam.training
    of_beam: dict[str, object] = {"size": beam.size, "merge": beam.merge}
    if training is not None:
        of_beam |= {"training.update": update_of(training), "training.gold_size": training.gold_size}
        _check_vocabulary_of_third_pass(settings)
    for key, value in of_beam.items():
        if value is not None:
            raise SettingsError(f"beam.{key}={value} is not read with beam={EXACT}; leave it out")


def _check_vocabulary_of_third_pass(settings: Settings) -> None:
    if vocabulary_is_of_subset(settings):
        raise SettingsError(
            f"vocabulary_from=first_pass, but the third pass (beam={settings.beam.name}) learns from all sentences; choose "
            "vocabulary_from=all"
        )
