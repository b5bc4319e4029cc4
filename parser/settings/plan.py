"""The plan of a run: its settings, checked and resolved. A job makes it first.

Training code is given the plan, or a part of it, and never sees the settings. Every field is used,
and the parts fit one another; groups of settings that need no change stand in the plan unchanged.
Making it does not import torch, so that errors are reported at once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

import oracles
from oracles.errors import OptimalStepError
from parser.beam_settings import Beam, Merge, Scores
from parser.data.attributes import TREEBANK
from parser.data.tasks import TASKS
from parser.data.tasks.task import Task
from parser.data.word_vectors import VectorRequest
from parser.network_spec import BiLSTMSpec, ClassifierSpec, Embedding, MlpSpec
from parser.settings.files import FilesPlan, completed
from parser.settings.given import NOTHING_GIVEN, Given
from parser.settings.groups import (
    BeamTrainingSettings,
    BiLSTMSettings,
    ClassifierSettings,
    EncoderSettings,
    GlobalBeamSettings,
    KeptEpoch,
    LatticeSettings,
    LinearSettings,
    LocalBeamSettings,
    MlpSettings,
    OnlineSentences,
    OnlineSettings,
    OptimizerName,
    PretrainedSettings,
    SecondPass,
    SegmenterName,
    Settings,
    SettingsError,
    TensorBoardSettings,
    TokenizerName,
    TrainingTrees,
    VectorSettings,
)
from parser.settings.rules import (
    check_column,
    oracle_options,
    refusals,
    system_options,
    templates_of,
    vocabulary_is_of_subset,
)
from parser.transitions.features import RELATION

log = logging.getLogger(__name__)

# Length of the vector that tells treebanks apart, in a model of several treebanks.
_TREEBANK_SIZE = 12

# Gradients of an encoder are clipped to this norm.
_MAX_GRAD_NORM = 5.0


@dataclass(frozen=True)
class Span:
    """The epochs that a schedule spans: ``epochs`` in all; ``done`` of them are over when the pass
    begins.
    """

    done: int
    epochs: int


@dataclass(frozen=True)
class OptimizerPlan:
    """How the weights of a pass are fitted.

    Attributes:
        name: sgd or adam.
        learning_rate: the highest learning rate; see ``schedule``.
        schedule: the schedule of the learning rate: constant, cosine or linear.
        span: the epochs that the schedule spans.
        batch_size: the number of examples between two updates; in a GlobalPlan, of sentences.
        rate_key: the setting that gives the learning rate, for messages.
    """

    name: str
    learning_rate: float
    schedule: str
    span: Span
    batch_size: int
    rate_key: str = "optimizer.learning_rate"


@dataclass(frozen=True)
class PassPlan:
    """A pass.

    Attributes:
        name: names the pass in messages, and its stages in metrics.json.
        epochs: over the examples, or the sentences.
        trees: which trees it learns from.
    """

    name: ClassVar[str]
    epochs: int
    trees: TrainingTrees


@dataclass(frozen=True)
class GoldPlan(PassPlan):
    """The first pass, on gold computations.

    Attributes:
        optimizer: how the classifier is fitted.
        given: whether the model of ``Plan.start`` replaces this pass, and is only measured.
    """

    name = "first_pass"
    optimizer: OptimizerPlan
    given: bool = False


@dataclass(frozen=True)
class ExplorationPlan(PassPlan):
    """The second pass, on the parser's own computations;
    ``Plan.oracle`` says which transitions are optimal.

    Attributes:
        optimizer: how the classifier is fitted.
        settings: how it explores, and what its examples teach.
    """

    name = "second_pass"
    optimizer: OptimizerPlan
    settings: SecondPass


@dataclass(frozen=True)
class GlobalPlan(PassPlan):
    """The third pass, on whole computations that compete in a beam.

    Attributes:
        search: how the parser will search.
        optimizer: how the classifier is fitted; a batch has ``batch_size`` sentences.
        training: the other settings of the pass.
    """

    name = "third_pass"
    search: Beam
    optimizer: OptimizerPlan
    training: BeamTrainingSettings


@dataclass(frozen=True)
class StructuredPlan(PassPlan):
    """The pass of a linear model on whole computations that compete in a beam:
    the structured perceptron.

    Attributes:
        search: how the parser will search.
        training: how it learns from a search.
    """

    name = "beam"
    search: Beam
    training: BeamTrainingSettings


@dataclass(frozen=True)
class OnlinePlan(PassPlan):
    """The pass of a linear model that learns at every step; ``settings`` say what it learns, and
    along which computations.
    """

    name = "online"
    settings: OnlineSettings


@dataclass(frozen=True)
class SystemPlan:
    """The transition system: its name, and the options of the system and its oracles."""

    name: str
    options: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class OraclePlan:
    """The oracle of exploration and of online learning, as arguments of ``oracles.create``."""

    name: str
    strategy: oracles.Strategy
    options: Mapping[str, Any] = field(default_factory=dict)

    def create(self) -> oracles.Oracle:
        """Return the oracle."""
        return oracles.create(self.name, self.strategy, **self.options)


@dataclass(frozen=True)
class NetworkPlan:
    """A classifier over learned representations, model=mlp or model=bilstm.

    Attributes:
        attributes: the attributes of words that it reads; each gets a vocabulary.
        templates: the positions at which slots read each attribute.
        spec: the spec of the network, with the embeddings whose length the settings give; word
            vectors are added later.
        vectors: how word vectors are made; None: there are none.
        subwords: the folder of the pretrained encoder that gives vectors of subwords; None:
            there are none.
        classifier: how the hidden layer is trained.
        encoder: how the encoder is trained, and what it predicts; None with model=mlp.
        pretrained: how a pretrained encoder is used, and trained; None with model=mlp.
    """

    attributes: tuple[str, ...]
    templates: Mapping[str, tuple[str, ...]]
    spec: ClassifierSpec
    vectors: VectorSettings | None
    subwords: str | None
    classifier: ClassifierSettings
    encoder: EncoderSettings | None = None
    pretrained: PretrainedSettings | None = None

    @property
    def max_grad_norm(self) -> float | None:
        """The norm to which gradients of an encoder are clipped; None without an encoder."""
        return None if self.encoder is None else _MAX_GRAD_NORM

    @property
    def _tasks(self) -> list[tuple[type[Task], Any]]:
        """The kinds of tasks, and the group of settings of each;
        None where a task is not wanted.
        """
        return (
            []
            if self.encoder is None
            else [(kind, getattr(self.encoder, kind.name, None)) for kind in TASKS]
        )

    @property
    def task_weights(self) -> Mapping[str, float]:
        """By name, the weight of each loss of the encoder's tasks, relative to the parser's loss;
        see Task.weights().
        """
        return {
            learned: weight
            for kind, group in self._tasks
            for learned, weight in kind.weights(group).items()
        }

    @property
    def task_epochs(self) -> Mapping[str, int]:
        """By name of a task that is learned after the parser, its epochs."""
        return {
            kind.name: group.epochs
            for kind, group in self._tasks
            if group is not None and not kind.in_passes
        }

    @property
    def augment(self) -> Mapping[str, float]:
        """By name in AUGMENTS, the share of the sentences that each epoch changes."""
        return {} if self.encoder is None else self.encoder.augment

    @property
    def similar(self) -> bool:
        """Whether unknown forms and characters count as similar known ones; see data/similar.py."""
        return self.encoder is not None and self.encoder.characters is not None

    @property
    def pretrained_encoder(self) -> str | None:
        """The folder of a pretrained encoder, or its name on the Hugging Face hub; None: there is
        none, or a model has it.
        """
        return None if self.encoder is None else self.encoder.pretrained


@dataclass(frozen=True)
class LinearPlan:
    """A linear model: the attributes that its templates read."""

    attributes: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """A run.

    A field with the name and the type of a setting is this setting.

    Attributes:
        labels: the settings named in metrics.json: treebank, column, recipe, model, system, degree,
            beam, oracle, strategy, ties, seed.
        oracle: the oracle of all passes after the first.
        projectivization: how trees are made projective; see oracles.PROJECTIVIZATIONS.
        passes: the passes, in order; the first is a GoldPlan or an OnlinePlan.
        start: the folder of the model that training starts from; None: it starts from new weights.
        search: how dev and test are parsed at the end, recorded in the model folder;
            None: greedily.
        lattices: word lattices of the parts, and how training uses them; None: there are none.
        vocabulary_of_subset: whether vocabularies and word vectors are made only from the sentences
            with projective trees.
        seed, device, threads: the seed, device and threads of the computation.
        single_root: whether parses have exactly one child of the root.
        keep_best: whether a pass ends with the weights of its best epoch on dev; otherwise with
            those of the last.
        resume: whether a run that was interrupted in the same folder is resumed.
        tokenizer: whether a tokenizer is trained.
        segmenter: whether an LSTM that finds sentences is trained beside it.
        keeps_text: whether tokenizer and segmenter are those of the model of ``start``,
            if it has them.
        names_treebank: whether treebank.name was given by hand.
        tensorboard: what is logged besides curves.
        recorded: the settings as plain values; a run folder keeps them to recognize its run.
        swept: the settings in which the run may differ from others of its sweep.
    """

    labels: Mapping[str, str | int | None]
    files: FilesPlan
    system: SystemPlan
    oracle: OraclePlan
    projectivization: str
    model: NetworkPlan | LinearPlan
    passes: tuple[PassPlan, ...]
    start: str | None
    search: Beam | None
    lattices: LatticeSettings | None
    vocabulary_of_subset: bool
    seed: int
    device: str
    threads: int
    single_root: bool
    keep_best: bool
    resume: bool
    tokenizer: bool
    segmenter: SegmenterName
    keeps_text: bool
    names_treebank: bool
    tensorboard: TensorBoardSettings
    recorded: Mapping[str, Any]
    swept: tuple[str, ...] = ()

    @property
    def trees(self) -> set[TrainingTrees]:
        """The kinds of trees that the passes learn from."""
        return {pass_plan.trees for pass_plan in self.passes}

    @property
    def vector_request(self) -> VectorRequest | None:
        """The word vectors that the run trains; None if it uses none,
        or takes them from a file or a model.
        """
        vectors = self.model.vectors if isinstance(self.model, NetworkPlan) else None
        if vectors is None or vectors.file is not None or self.start is not None:
            return None
        return VectorRequest(
            self.files.train,
            self.vocabulary_of_subset,
            str(vectors.attribute),
            vectors.training,
            self.seed,
        )

    def for_words(self, words: int) -> Plan:
        """Return the plan for this many training words: ``most_words`` limits the second pass,
        to one epoch at least.
        """
        passes = list(self.passes)
        for place, pass_plan in enumerate(passes):
            if (
                isinstance(pass_plan, ExplorationPlan)
                and (most := pass_plan.settings.most_words) is not None
            ):
                epochs = min(pass_plan.epochs, max(1, most // max(1, words)))
                if epochs < pass_plan.epochs:
                    log.info(
                        "second pass: %d epochs, not %d, by second_pass.most_words=%d",
                        epochs,
                        pass_plan.epochs,
                        most,
                    )
                passes[place] = replace(
                    pass_plan,
                    epochs=epochs,
                    optimizer=_shorter(pass_plan.optimizer, pass_plan.epochs - epochs),
                )
                before = passes[place - 1] if place else None
                # a schedule over the run
                if isinstance(before, GoldPlan) and before.optimizer.span.epochs > before.epochs:
                    passes[place - 1] = replace(
                        before, optimizer=_shorter(before.optimizer, pass_plan.epochs - epochs)
                    )
        return replace(self, passes=tuple(passes))

    def for_fold(self, number: int) -> Plan:
        """Return the plan of the same run with another fold as its test part."""
        treebank = self.recorded["treebank"]
        train = replace(self.files.train, fold=(number, treebank["folds"]))
        recorded = {**self.recorded, "treebank": {**treebank, "fold": number}}
        return replace(self, files=replace(self.files, train=train), recorded=recorded)


def plans(
    settings: Settings, given: Given = NOTHING_GIVEN, start: Path | None = None
) -> list[Plan]:
    """Return the plan of a run, or with treebank.folds the plan of each fold's run; see plan()."""
    with _settings_errors():
        folds = settings.treebank.folds
    if folds is None or folds < 2 or settings.treebank.fold is not None:
        return [plan(settings, given, start)]
    first = plan(settings, given, start, fold=1)
    return [first.for_fold(number) for number in range(1, folds + 1)]


def plan(
    settings: Settings,
    given: Given = NOTHING_GIVEN,
    start: Path | None = None,
    fold: int | None = None,
) -> Plan:
    """Return the plan of a run, without reading the treebank.

    Args:
        settings: the settings as hydra has composed them; they are not changed.
        given: the settings given by hand; one that the run would not read is refused.
        start: the folder that relative paths begin in; None: they stay relative.
        fold: the number of the fold that is tested; None: as the settings say.

    Raises:
        SettingsError: the settings are invalid; the message names the key and the fix.
    """
    with _settings_errors():
        check_column(settings)
        settings = completed(settings, given, start, fold)
        run_settings: Settings = OmegaConf.to_object(settings)  # type: ignore[assignment]
        recorded: Any = OmegaConf.to_container(settings, resolve=True, enum_to_str=True)
    files = FilesPlan.of(run_settings)
    for message in refusals(run_settings, given):
        raise SettingsError(message)
    return Plan(
        **_unchanged(run_settings),
        labels=_labels(run_settings),
        files=files,
        system=SystemPlan(run_settings.system, system_options(run_settings)),
        oracle=OraclePlan(
            run_settings.oracle,
            oracles.Strategy(run_settings.strategy),
            oracle_options(run_settings),
        ),
        model=LinearPlan(("form", "upos"))
        if isinstance(run_settings, LinearSettings)
        else _network(run_settings),
        passes=tuple(
            _online_passes(run_settings)
            if isinstance(run_settings, LinearSettings)
            else _passes(run_settings, files)
        ),
        search=_search(run_settings),
        lattices=run_settings.lattice
        if isinstance(run_settings, MlpSettings) and run_settings.lattice.train is not None
        else None,
        vocabulary_of_subset=vocabulary_is_of_subset(run_settings),
        keep_best=run_settings.keep == KeptEpoch.best,
        tokenizer=run_settings.tokenizer is TokenizerName.characters,
        keeps_text=run_settings.start is not None and given.find("tokenizer") is None,
        names_treebank="treebank.name" in given.names,
        recorded=recorded,
    )


def _unchanged(settings: Settings) -> dict[str, Any]:
    """Return the settings that stand in a plan as they are:
    its fields of the same name and type.
    """
    declared = {setting.name: setting.type for setting in fields(Settings)}
    return {
        plan_field.name: getattr(settings, plan_field.name)
        for plan_field in fields(Plan)
        if declared.get(plan_field.name) == plan_field.type
    }


@contextmanager
def _settings_errors() -> Iterator[None]:
    """Turn errors of a value, which OmegaConf finds when it is read,
    into a SettingsError that names the key.
    """
    try:
        yield
    except OmegaConfBaseException as error:
        raise SettingsError(
            f"{error.full_key} has no value; give {error.full_key}=VALUE"
        ) from error
    except SettingsError:
        raise
    except OptimalStepError as error:  # from a part of the encoder in network_spec.py
        raise SettingsError(f"encoder.{error}") from error


def _shorter(optimizer: OptimizerPlan, epochs: int) -> OptimizerPlan:
    return replace(optimizer, span=replace(optimizer.span, epochs=optimizer.span.epochs - epochs))


def _labels(settings: Settings) -> dict[str, str | int | None]:
    labels = {
        name: getattr(settings, name) for name in ("column", "recipe", "model", "system", "degree")
    }
    if isinstance(settings, LinearSettings):
        labels["column"] = None
    more = {name: getattr(settings, name) for name in ("oracle", "strategy", "ties", "seed")}
    return {"treebank": settings.treebank.name, **labels, "beam": settings.beam.name, **more}


def _network(settings: Settings) -> NetworkPlan:
    encoder, pretrained = (
        (settings.encoder, settings.pretrained)
        if isinstance(settings, BiLSTMSettings)
        else (None, None)
    )
    attributes = [
        name for name, positions in settings.features.items() if name != RELATION and positions
    ]
    if isinstance(settings.treebank.train, dict):
        attributes.append(TREEBANK)
    spec = ClassifierSpec(
        **vars(MlpSpec.of(settings.classifier)),
        embeddings={
            name: Embedding(size, True)
            for name, size in (settings.embeddings | {TREEBANK: _TREEBANK_SIZE}).items()
        },
        encoder=None if encoder is None else BiLSTMSpec.of(encoder),
    )
    return NetworkPlan(
        attributes=tuple(attributes),
        templates={
            attribute: tuple(positions) for attribute, positions in templates_of(settings).items()
        },
        spec=spec,
        vectors=settings.vectors if settings.vectors.attribute in attributes else None,
        subwords=settings.vectors.subwords,
        classifier=settings.classifier,
        encoder=encoder,
        pretrained=pretrained,
    )


def _search(settings: Settings) -> Beam | None:
    beam = settings.beam
    return (
        Beam(beam.size, Merge(beam.merge), Scores(beam.name))
        if isinstance(beam, LocalBeamSettings)
        else None
    )


def _passes(settings: Settings, files: FilesPlan) -> Iterator[PassPlan]:
    first = settings.first_pass
    second = settings.second_pass
    optimizer = settings.optimizer
    search = _search(settings)
    training = settings.beam.training if isinstance(settings.beam, GlobalBeamSettings) else None
    epochs = first.epochs, 0 if second.trees is None else second.epochs
    each = optimizer.schedule_over == "pass"
    spans = (
        (Span(0, epochs[0]), Span(0, epochs[1]))
        if each
        else (Span(0, sum(epochs)), Span(epochs[0], sum(epochs)))
    )
    how = optimizer.name, optimizer.learning_rate, optimizer.schedule
    # A model to start from has finished all passes, and repeats only the last.
    is_given = settings.start is not None and (training is not None or second.trees is not None)
    yield GoldPlan(
        first.epochs, first.trees, OptimizerPlan(*how, spans[0], optimizer.batch_size), is_given
    )
    if second.trees is not None and not (is_given and training is not None):
        yield ExplorationPlan(
            second.epochs, second.trees, OptimizerPlan(*how, spans[1], optimizer.batch_size), second
        )
    if training is not None and search is not None:
        how = OptimizerName.adam, training.learning_rate, optimizer.schedule
        key, span = "beam.training.learning_rate", Span(0, training.epochs)
        adam = OptimizerPlan(*how, span, training.batch_sentences, key)
        yield GlobalPlan(training.epochs, TrainingTrees.original, search, adam, training)


def _online_passes(settings: LinearSettings) -> Iterator[PassPlan]:
    online, trees, search = settings.online, TrainingTrees.original, _search(settings)
    if online.sentences == OnlineSentences.projective:
        trees = TrainingTrees.projective_subset
    elif oracles.oracle_class(settings.oracle).needs_projective_gold:
        trees = TrainingTrees.projectivized
    yield OnlinePlan(online.iterations, trees, online)
    if isinstance(settings.beam, GlobalBeamSettings) and search is not None:
        yield StructuredPlan(settings.beam.training.epochs, trees, search, settings.beam.training)
