"""The plans of passes, as the settings say; for settings that check() lets pass."""

from __future__ import annotations

from inspect import signature
from typing import TypeVar

import oracles
from parser.beam_settings import EXACT, Beam, Exact, Merge, Scores, Search
from parser.network_spec import ClassifierSpec, MlpSpec
from parser.settings import Settings, SettingsError, system_options, teachers, update_of
from parser.settings.choices import ExampleUse, Mode, Over, Policy, Target, TrainingTrees, UpdateStep
from parser.settings.plan import (
    DistillationPlan,
    ExplorationPlan,
    GivenModel,
    GlobalPlan,
    GoldPlan,
    NetworkPlan,
    OnlinePlan,
    OptimizerPlan,
    OraclePlan,
    PassPlan,
    Span,
    StructuredPlan,
    SystemPlan,
    VectorPlan,
)
from parser.training.representation_settings import MODELS

T = TypeVar("T")


def system_plan(settings: Settings) -> SystemPlan:
    """The transition system."""
    return SystemPlan(settings.system, system_options(settings))


def search_of(settings: Settings) -> Search | None:
    """How dev and test are parsed at the end, and as the model remembers; None: greedily."""
    beam = settings.beam
    if beam.name == "none":
        return None
    if beam.name == EXACT:
        return Exact(Scores.LOCAL if beam.training is None else Scores.GLOBAL)
    return Beam(_given(beam.size), Merge(_given(beam.merge)), Scores(beam.name))


def oracle_plan(settings: Settings) -> OraclePlan:
    """The oracle of all passes but the first.

    Raises:
        ValueError: it does not know the strategy, or has no ties; the message says what it knows.
    """
    ties = {} if settings.ties is None else {"ties": settings.ties}
    if ties and "ties" not in signature(oracles.oracle_class(settings.oracle)).parameters:
        raise SettingsError(
            f"ties={settings.ties} is not known to oracle={settings.oracle}; leave ties= out, or choose "
            "system=arc_standard with oracle=context_rows or nederhof_cubic"
        )
    plan = OraclePlan(settings.oracle, oracles.Strategy(settings.strategy), system_options(settings) | ties)
    plan.create()
    return plan


def lattice_beam_of(settings: Settings) -> Beam | None:
    """How lattices are searched where other input is parsed greedily; None: there are none."""
    return None if settings.lattice.train is None else Beam(settings.lattice.beam, Merge(str(settings.beam.merge)))


def network_plan(settings: Settings) -> NetworkPlan:
    """The classifier."""
    wanted, encoder, kind = settings.classifier, settings.encoder, MODELS[settings.model]
    spec = ClassifierSpec(**vars(MlpSpec.of(wanted)), embeddings={}, encoder=kind.encoder(settings))
    vectors = settings.vectors
    return NetworkPlan(
        tuple(kind.attributes(settings)),
        {attribute: tuple(addresses) for attribute, addresses in kind.templates(settings).items()},
        spec,
        None if vectors.attribute is None else VectorPlan(vectors.attribute, vectors.trained, file=vectors.file),
        wanted.word_dropout,
        None if encoder is None else encoder.max_grad_norm,
        {} if encoder is None or encoder.tagger is None else dict(encoder.tagger.weights),
        0.0 if encoder is None or encoder.heads is None else encoder.heads.weight,
    )


def pass_plans(settings: Settings) -> list[PassPlan]:
    """The passes, one after the other."""
    return _linear_passes(settings) if settings.online is not None else _classifier_passes(settings)


def _classifier_passes(settings: Settings) -> list[PassPlan]:
    first, second, whole = settings.first_pass, settings.second_pass, settings.beam.training
    start = None if whole is None else whole.start
    epochs = [first.epochs, *([] if second.trees is None else [second.epochs])]
    spans = [Span(sum(epochs[:i]), sum(epochs)) for i in range(len(epochs))]
    if settings.optimizer.schedule_over == "pass":
        spans = [Span(0, of_pass) for of_pass in epochs]
    given = None
    if start is not None:
        given = GivenModel("beam.training.start", start)
    elif first.model is not None:
        given = GivenModel("first_pass.model", first.model)
    passes: list[PassPlan] = [GoldPlan(first.epochs, TrainingTrees(first.trees), _optimizer(settings, spans[0]), given)]
    if second.trees is not None and start is None:
        policy, search = Policy(second.policy), search_of(settings)
        passes.append(
            ExplorationPlan(
                second.epochs,
                TrainingTrees(second.trees),
                _optimizer(settings, spans[1]),
                Target(second.target),
                second.start_from_first_pass,
                ExampleUse(second.examples),
                second.explore_every,
                policy,
                second.follow,
                search if policy is Policy.BEAM and isinstance(search, Beam) else None,
                _distillation(settings),
            )
        )
    if whole is not None:
        optimizer = _optimizer(settings, Span(0, whole.epochs))
        own = OptimizerPlan(
            "adam",
            whole.learning_rate,
            optimizer.schedule,
            optimizer.span,
            0.0,
            optimizer.weight_decay,
            whole.batch_sentences,
            "beam.training.learning_rate",
        )
        beam = search_of(settings)
        assert beam is not None, "see beam_check.py"
        trees = TrainingTrees.PROJECTIVIZED if isinstance(beam, Exact) else TrainingTrees.ORIGINAL
        passes.append(GlobalPlan(whole.epochs, trees, beam, own, whole.gold_size or 1))
    return passes


def _linear_passes(settings: Settings) -> list[PassPlan]:
    online, whole, search = _given(settings.online), settings.beam.training, search_of(settings)
    (trees,) = (TrainingTrees(kind) for kind in MODELS[settings.model].trees(settings))
    passes: list[PassPlan] = [
        OnlinePlan(online.iterations, trees, Mode(online.mode), online.explore_after, online.follow),
    ]
    if whole is not None and isinstance(search, Beam):
        passes.append(
            StructuredPlan(whole.epochs, trees, search, UpdateStep(_given(update_of(whole))), _given(whole.gold_size))
        )
    return passes


def _optimizer(settings: Settings, span: Span) -> OptimizerPlan:
    wanted = settings.optimizer
    return OptimizerPlan(
        wanted.name,
        wanted.learning_rate,
        wanted.schedule,
        span,
        wanted.momentum,
        wanted.weight_decay,
        wanted.batch_size,
    )


def _distillation(settings: Settings) -> DistillationPlan | None:
    wanted, folders = settings.distillation, tuple(teachers(settings).values())
    return DistillationPlan(folders, wanted.weight, wanted.temperature, Over(wanted.over)) if folders else None


def _given(value: T | None) -> T:
    assert value is not None, "see beam_check.py"
    return value
