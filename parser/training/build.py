"""Construction of the model of a run, and of the passes that train it."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from parser.data.parts import PARTS
from parser.data.sentences import Sentences
from parser.data.tasks import TASKS
from parser.linear.model import LinearModel
from parser.linear.perceptron import Perceptron
from parser.linear.templates import TEMPLATES
from parser.model.extension import difference, transfer_weights
from parser.model.trained_model import TrainedModel
from parser.network_spec import Embedding
from parser.networks.bilstm import BiLSTM
from parser.networks.parts import prepare
from parser.settings.groups import ExampleUse, SettingsError
from parser.settings.plan import (
    ExplorationPlan,
    GlobalPlan,
    GoldPlan,
    LinearPlan,
    NetworkPlan,
    OnlinePlan,
    Plan,
    StructuredPlan,
)
from parser.training.examples.corpus import Corpus
from parser.training.passes import RunContext, TrainingPass
from parser.training.passes.classifier_passes import (
    ExplorationPass,
    GlobalPass,
    GoldPass,
    TrainedClassifier,
)
from parser.training.passes.online import OnlinePass, StructuredPass, TrainedLinearModel
from parser.transitions.features import RELATION

log = logging.getLogger(__name__)


def build(
    plan: Plan, context: RunContext
) -> tuple[TrainedModel | LinearModel, list[TrainingPass[Any]]]:
    """Return a new model, and the passes that train it, in their order."""
    if isinstance(plan.model, LinearPlan):
        return _linear(plan, context)
    return _classifier(plan, plan.model, context)


def _classifier(
    plan: Plan, network: NetworkPlan, context: RunContext
) -> tuple[TrainedModel, list[TrainingPass[Any]]]:
    def fresh() -> TrainedModel:
        return new_model(plan, network, context.corpus)

    torch.manual_seed(plan.seed)
    model = fresh()
    model.classifier.to(plan.device)
    if plan.start is not None:
        old = TrainedModel.load(Path(plan.start), int8=False)
        _check_start(plan, network, model, old)
        # after the new model: both draw numbers from the same generator
        old.classifier.to(plan.device)
        transfer_weights(model, old)
        # kept if there is no dev split; otherwise later stages measure them again
        model.calibration, model.int8_lost_las = old.calibration, old.int8_lost_las
        tokens = model.classifier.tokens
        for module in tokens.tasks.values() if isinstance(tokens, BiLSTM) else ():
            module.keep(context.corpus.silent)
    _prepare_parts(model, network, context)
    trained = TrainedClassifier(
        model, network, context.corpus, torch.Generator().manual_seed(plan.seed), fresh
    )
    passes: list[TrainingPass[Any]] = []
    for pass_plan in plan.passes:
        match pass_plan:
            case GoldPlan():
                passes.append(gold := GoldPass(pass_plan, trained, context))
            case ExplorationPlan():
                joined = gold if pass_plan.settings.examples is ExampleUse.join else None
                passes.append(ExplorationPass(pass_plan, trained, context, plan.oracle, joined))
            case GlobalPlan():
                passes.append(GlobalPass(pass_plan, trained, context))
    return model, passes


def _linear(plan: Plan, context: RunContext) -> tuple[LinearModel, list[TrainingPass[Any]]]:
    corpus, system = context.corpus, plan.system
    model = LinearModel.new(
        corpus.vocabularies, corpus.relations, TEMPLATES, system.name, dict(system.options)
    )
    trained = TrainedLinearModel(
        model,
        Perceptron(model.system, model.templates),
        plan.passes[0].trees,
        plan.oracle,
        context,
    )
    passes: list[TrainingPass[Any]] = []
    for pass_plan in plan.passes:
        match pass_plan:
            case OnlinePlan():
                passes.append(OnlinePass(pass_plan, trained, context))
            case StructuredPlan():
                passes.append(StructuredPass(pass_plan, trained, context))
    return model, passes


def _check_start(plan: Plan, network: NetworkPlan, model: TrainedModel, old: TrainedModel) -> None:
    """Refuse to continue training a model that differs from the model that this run would train."""
    if plan.files.train.names and not old.vocabularies.treebanks:
        raise SettingsError(
            f"start={plan.start}: that model has only one treebank; "
            "give treebank.train a list of files"
        )
    for kind in PARTS:
        old_part = next((part for part in old.vocabularies.parts if isinstance(part, kind)), None)
        if (refusal := kind.refuse_start(network, old_part)) is not None:
            raise SettingsError(f"start={plan.start}: {refusal}")
    if (differing_setting := difference(model, old)) is not None:
        key, here, there = differing_setting
        raise SettingsError(
            f"start={plan.start}: this run has {key}={here}, and that model {key}={there}; "
            "features, layers and system must be the same; leave them out, "
            "and only change settings of training"
        )
    columns = [(task.name, column) for task in old.vocabularies.tasks for column in task.columns]
    if unlearned := [
        (name, column) for name, column in columns if column not in network.task_weights
    ]:
        name, column = unlearned[0]
        raise SettingsError(
            f"start={plan.start}: that model predicts {column}; give "
            f"encoder.{name}.weights.{column}"
        )


def _prepare_parts(model: TrainedModel, network: NetworkPlan, context: RunContext) -> None:
    """Compute, for all sentences, the vectors of the word parts that training does not change."""
    corpus = context.corpus
    fixed = [(part, rows) for part, rows in corpus.vocabularies.placed if part.fixed]
    if not fixed:
        return
    encoded = [corpus.vocabularies.encode(corpus.train.sentences)]
    encoded += [part.sentences for part in (corpus.dev, corpus.test) if part is not None]
    for part, rows in fixed:
        with context.stopwatch(part.name):
            part_sentences = [Sentences(some.values[rows], some.offsets) for some in encoded]
            prepare(part, network, model.readers.get(part.name), part_sentences)


def new_model(plan: Plan, network: NetworkPlan, corpus: Corpus) -> TrainedModel:
    """Return a model with the corpus's word vectors;
    its other weights are drawn from torch's global generator.
    """
    attributes = [*corpus.vocabularies.attributes, RELATION]
    embeddings = {
        name: embedding for name, embedding in network.spec.embeddings.items() if name in attributes
    }
    if network.vectors is not None and (length := corpus.vector_length) is not None:
        embeddings[str(network.vectors.attribute)] = Embedding(length, network.vectors.trained)
    spec = replace(network.spec, embeddings=embeddings)
    system = (plan.system.name, dict(plan.system.options))
    for part in corpus.vocabularies.parts:
        spec = part.completed(spec)
    if spec.encoder is not None and (
        unread := [table for table in corpus.vocabularies.tables if table not in spec.embeddings]
    ):
        raise SettingsError(
            f"start={plan.start}: that model also reads {', '.join(unread)}; "
            "leave out features and embeddings"
        )
    if spec.encoder is not None:
        tasks = {task.name for task in corpus.vocabularies.tasks}
        absent: dict[str, Any] = {
            kind.name: None for kind in TASKS if not kind.in_passes and kind.name not in tasks
        }
        spec = replace(spec, encoder=replace(spec.encoder, **absent))
    lookahead = (
        plan.lattices.lookahead if plan.lattices is not None and plan.lattices.choices else None
    )
    model = TrainedModel.new(
        corpus.vocabularies, corpus.relations, corpus.slots, spec, *system, lookahead
    )
    if network.vectors is not None and corpus.vectors is not None:
        model.classifier.tokens.set_vectors(str(network.vectors.attribute), corpus.vectors.matrix)
    for part in corpus.vocabularies.parts:
        for name, vectors in part.vectors().items():
            model.classifier.tokens.set_vectors(name, vectors)
    return model
