"""What a run is made of: its model, and the passes that train it."""

from __future__ import annotations

from pathlib import Path

import torch

from parser.linear.model import LinearModel
from parser.linear.templates import FEATS_TEMPLATES, TEMPLATES
from parser.model.loading import AnyModel
from parser.model.model import Model
from parser.network_spec import ClassifierSpec, Embedding, MlpSpec
from parser.settings import Settings, SettingsError, system_options
from parser.settings.choices import ExampleUse
from parser.settings.plan import ExplorationPlan, GivenModel, GlobalPlan, GoldPlan, OnlinePlan, StructuredPlan
from parser.training.examples.corpus import Corpus
from parser.training.examples.teacher import load_teachers
from parser.training.passes.classifier_passes import ExplorationPass, GlobalPass, GoldPass, TrainedClassifier
from parser.training.passes.online import OnlinePass, StructuredPass, TrainedLinearModel
from parser.training.passes.training_pass import RunContext, TrainingPass
from parser.training.plans import network_plan, oracle_plan, pass_plans
from parser.training.representation_settings import MODELS
from parser.transitions.features import RELATION


def build(settings: Settings, context: RunContext) -> tuple[AnyModel, list[TrainingPass]]:
    """A new model, and the passes that train it, one after the other."""
    return _linear(settings, context) if settings.online is not None else _classifier(settings, context)


def _classifier(settings: Settings, context: RunContext) -> tuple[Model, list[TrainingPass]]:
    def fresh() -> Model:
        return new_model(settings, context.corpus)

    torch.manual_seed(settings.seed)
    model = fresh()
    model.classifier.to(settings.device)
    plans = pass_plans(settings)
    for plan in plans:
        if isinstance(plan, GoldPlan) and plan.given is not None:
            model = _model_of_another_run(plan.given, model, settings.device)
    trained = TrainedClassifier(model, network_plan(settings), context.corpus, settings.seed, fresh)
    passes: list[TrainingPass] = []
    for plan in plans:
        match plan:
            case GoldPlan():
                passes.append(gold := GoldPass(plan, trained, context))
            case ExplorationPlan():
                teachers = [] if plan.distillation is None else load_teachers(plan.distillation, model, settings.device)
                joined = gold if plan.examples is ExampleUse.JOIN else None
                passes.append(ExplorationPass(plan, trained, context, oracle_plan(settings), joined, teachers))
            case GlobalPlan():
                passes.append(GlobalPass(plan, trained, context, settings.single_root))
    return model, passes


def _linear(settings: Settings, context: RunContext) -> tuple[LinearModel, list[TrainingPass]]:
    assert settings.online is not None
    corpus, system = context.corpus, context.system
    templates = [*TEMPLATES, *(FEATS_TEMPLATES if settings.online.feats else ())]
    model = LinearModel.new(corpus.vocabularies, corpus.relations, templates, system.name, dict(system.options))
    plans = pass_plans(settings)
    trained = TrainedLinearModel(model, plans[0].trees, oracle_plan(settings), context)
    passes: list[TrainingPass] = []
    for plan in plans:
        match plan:
            case OnlinePlan():
                passes.append(OnlinePass(plan, trained, context))
            case StructuredPlan():
                passes.append(StructuredPass(plan, trained, context))
    return model, passes


def new_model(settings: Settings, corpus: Corpus) -> Model:
    """A model with fresh weights, drawn from torch's global generator, and the corpus's word vectors."""
    known = [*corpus.vocabularies.attributes, RELATION]
    embeddings = {name: Embedding(size, True) for name, size in settings.embeddings.items() if name in known}
    if corpus.vectors is not None:
        size = corpus.vectors.matrix.shape[1]
        embeddings[str(settings.vectors.attribute)] = Embedding(size, settings.vectors.trained)
    layer, encoder = MlpSpec.of(settings.classifier), MODELS[settings.model].encoder(settings)
    spec = ClassifierSpec(**vars(layer), embeddings=embeddings, encoder=encoder)
    system = settings.system, system_options(settings)
    lookahead = settings.lattice.lookahead if corpus.lattices and settings.lattice.choices else None
    model = Model.new(corpus.vocabularies, corpus.relations, corpus.slots, spec, *system, lookahead)
    if corpus.vectors is not None:
        model.classifier.tokens.set_vectors(str(settings.vectors.attribute), corpus.vectors.matrix)
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
