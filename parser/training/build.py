"""Builds the model of a run, and the passes that train it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from parser.linear.model import LinearModel
from parser.linear.templates import FEATS_TEMPLATES, TEMPLATES
from parser.model.loading import AnyModel
from parser.model.model import Model
from parser.network_spec import Embedding
from parser.settings.choices import ExampleUse, SettingsError
from parser.settings.plan import (
    ExplorationPlan,
    GivenModel,
    GlobalPlan,
    GoldPlan,
    LinearPlan,
    NetworkPlan,
    OnlinePlan,
    Plan,
    StructuredPlan,
)
from parser.training.examples.corpus import Corpus
from parser.training.examples.teacher import load_teachers
from parser.training.passes.classifier_passes import ExplorationPass, GlobalPass, GoldPass, TrainedClassifier
from parser.training.passes.online import OnlinePass, StructuredPass, TrainedLinearModel
from parser.training.passes.training_pass import RunContext, TrainingPass
from parser.transitions.features import RELATION


def build(plan: Plan, context: RunContext) -> tuple[AnyModel, list[TrainingPass]]:
    """A new model, and the passes that train it, one after the other."""
    if isinstance(plan.model, LinearPlan):
        return _linear(plan, plan.model, context)
    return _classifier(plan, plan.model, context)


def _classifier(plan: Plan, network: NetworkPlan, context: RunContext) -> tuple[Model, list[TrainingPass]]:
    def fresh() -> Model:
        return new_model(plan, network, context.corpus)

    torch.manual_seed(plan.seed)
    model = fresh()
    model.classifier.to(plan.device)
    for one in plan.passes:
        if isinstance(one, GoldPlan) and one.given is not None:
            model = _model_of_another_run(one.given, model, plan.device)
    trained = TrainedClassifier(model, network, context.corpus, plan.seed, fresh)
    passes: list[TrainingPass] = []
    for one in plan.passes:
        match one:
            case GoldPlan():
                passes.append(gold := GoldPass(one, trained, context))
            case ExplorationPlan():
                teachers = [] if one.distillation is None else load_teachers(one.distillation, model, plan.device)
                joined = gold if one.examples is ExampleUse.join else None
                passes.append(ExplorationPass(one, trained, context, plan.oracle, joined, teachers))
            case GlobalPlan():
                passes.append(GlobalPass(one, trained, context, plan.single_root))
    return model, passes


def _linear(plan: Plan, linear: LinearPlan, context: RunContext) -> tuple[LinearModel, list[TrainingPass]]:
    corpus, system = context.corpus, plan.system
    templates = [*TEMPLATES, *(FEATS_TEMPLATES if linear.feats else ())]
    model = LinearModel.new(corpus.vocabularies, corpus.relations, templates, system.name, dict(system.options))
    trained = TrainedLinearModel(model, plan.passes[0].trees, plan.oracle, context)
    passes: list[TrainingPass] = []
    for one in plan.passes:
        match one:
            case OnlinePlan():
                passes.append(OnlinePass(one, trained, context))
            case StructuredPlan():
                passes.append(StructuredPass(one, trained, context))
    return model, passes


def new_model(plan: Plan, network: NetworkPlan, corpus: Corpus) -> Model:
    """A model with fresh weights, drawn from torch's global generator, and the corpus's word vectors."""
    known = [*corpus.vocabularies.attributes, RELATION]
    embeddings = {name: embedding for name, embedding in network.spec.embeddings.items() if name in known}
    if network.vectors is not None and corpus.vectors is not None:
        embeddings[network.vectors.attribute] = Embedding(corpus.vectors.matrix.shape[1], network.vectors.trained)
    spec, system = replace(network.spec, embeddings=embeddings), (plan.system.name, dict(plan.system.options))
    if spec.encoder is not None and corpus.vocabularies.lemmas is None:
        spec = replace(spec, encoder=replace(spec.encoder, lemmas=None))
    lookahead = plan.lattices.lookahead if plan.lattices is not None and plan.lattices.choices else None
    model = Model.new(corpus.vocabularies, corpus.relations, corpus.slots, spec, *system, lookahead)
    if network.vectors is not None and corpus.vectors is not None:
        model.classifier.tokens.set_vectors(network.vectors.attribute, corpus.vectors.matrix)
    return model


def _model_of_another_run(given: GivenModel, fresh: Model, device: str) -> Model:
    """Another run's model, which takes the place of passes of this run; ``fresh`` is what this run would train."""
    other = Model.load(Path(given.folder))
    if not fresh.is_like(other):
        raise SettingsError(
            f"{given.key}={given.folder} has other features, vocabularies or layers than this run; they depend on the "
            "training part, on vectors.*, on classifier.* and on encoder.*"
        )
    other.classifier.to(device)  # made here: it draws numbers from the same generator as what follows
    # What was chosen and fitted for its weights is not for those that come.
    other.beam, other.lattice_beam, other.calibration = fresh.beam, fresh.lattice_beam, fresh.calibration
    return other
