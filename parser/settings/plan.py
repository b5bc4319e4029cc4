"""The plan of a run: its settings, validated and resolved, as frozen dataclasses; plan() makes it.

Training code is given the plan, or a part of it, never the settings. Every field of a plan is read, and its
parts fit one another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import oracles
from parser.beam_settings import Beam
from parser.data.treebank import PartFiles, TrainingFiles
from parser.data.word_vectors import VectorTraining
from parser.lattices.gold_paths import MissingPath
from parser.network_spec import ClassifierSpec
from parser.settings.choices import ExampleUse, Mode, Policy, Target, TrainingTrees, UpdateStep


@dataclass(frozen=True)
class Span:
    """The epochs that a schedule spans: ``epochs`` in all, of which ``done`` lie behind when the pass begins."""

    done: int
    epochs: int


@dataclass(frozen=True)
class OptimizerPlan:
    """How the weights of a pass are fitted.

    Attributes:
        name: sgd or adam.
        learning_rate: the highest; see ``schedule``.
        schedule: of the learning rate: constant, cosine or linear.
        span: the epochs that the schedule spans.
        batch_size: examples between two updates; of a GlobalPlan, sentences.
        rate_key: the setting that the learning rate comes from, for messages.
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
        name: for messages, and for its stages in metrics.json.
        epochs: passes over the examples, or the sentences.
        trees: which trees it learns from.
    """

    name: ClassVar[str]
    epochs: int
    trees: TrainingTrees


@dataclass(frozen=True)
class GoldPlan(PassPlan):
    """The first pass: on gold computations.

    Attributes:
        optimizer: how the classifier is fitted.
        given: whether the model of ``Plan.start`` takes its place, so that it is only measured; else it is trained.
    """

    name = "first_pass"
    optimizer: OptimizerPlan
    given: bool = False


@dataclass(frozen=True)
class ExplorationPlan(PassPlan):
    """The second pass: on the parser's own computations; ``Plan.oracle`` says which transitions are optimal.

    Attributes:
        optimizer: how the classifier is fitted.
        target: what an example teaches where several transitions are optimal.
        start_from_first_pass: whether it begins with the first pass's weights; else with fresh ones, after those have explored.
        examples: whether its examples replace or join those of the first pass.
        explore_every: epochs between two explorations; 0: it explores once, before the first epoch.
        policy: which transitions exploration takes.
        exploration_probability: with Policy.mixed, that of the prediction.
        teachers: run folders of other models, the mean of whose distributions is learned beside the oracle's steps.
    """

    name = "second_pass"
    optimizer: OptimizerPlan
    target: Target
    start_from_first_pass: bool
    examples: ExampleUse
    explore_every: int
    policy: Policy
    exploration_probability: float
    teachers: tuple[str, ...] = ()


@dataclass(frozen=True)
class GlobalPlan(PassPlan):
    """The third pass: on whole computations, which compete in a beam.

    Attributes:
        search: how the parser will search.
        optimizer: how the classifier is fitted; a batch has ``batch_size`` sentences.
        gold_size: items of the beam of gold computations.
    """

    name = "third_pass"
    search: Beam
    optimizer: OptimizerPlan
    gold_size: int


@dataclass(frozen=True)
class StructuredPlan(PassPlan):
    """The pass of a linear model on whole computations, which compete in a beam: the structured perceptron.

    Attributes:
        search: how the parser will search.
        update: the step of the search that is learned from.
        gold_size: items of the beam of gold computations.
    """

    name = "beam"
    search: Beam
    update: UpdateStep
    gold_size: int


@dataclass(frozen=True)
class OnlinePlan(PassPlan):
    """The pass of a linear model, which learns at every step.

    Attributes:
        mode: what is learned, and along which computations.
        explore_after: with Mode.explore, epochs on gold computations first.
        exploration_probability: with Mode.explore, that of the prediction where it is not optimal.
    """

    name = "online"
    mode: Mode
    explore_after: int
    exploration_probability: float


@dataclass(frozen=True)
class SystemPlan:
    """The transition system: its name, and what it and its oracles are made with besides the relations."""

    name: str
    options: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class OraclePlan:
    """The oracle of exploration and of online learning: its name, and the arguments of ``oracles.create``."""

    name: str
    strategy: oracles.Strategy
    options: Mapping[str, Any] = field(default_factory=dict)

    def create(self) -> oracles.Oracle:
        """The oracle."""
        return oracles.create(self.name, self.strategy, **self.options)


@dataclass(frozen=True)
class VectorPlan:
    """Word vectors: whose values they are for, where they come from, and whether the classifier's training changes them.

    Attributes:
        attribute: of tokens.
        trained: whether the classifier's training changes them.
        training: how they are trained on the training part, if they are.
        file: of word2vec or fastText, that they are read from; None: they are trained.
        limit: how many vectors of the file are read; None: all.
        restrict: whether only those of forms in the training part are kept.
    """

    attribute: str
    trained: bool
    training: VectorTraining
    file: str | None = None
    limit: int | None = None
    restrict: bool = False


@dataclass(frozen=True)
class PretrainedPlan:
    """How a pretrained encoder is read, and trained.

    Attributes:
        name: its folder, or its name on the Hugging Face hub; None: there is none, but that of ``Plan.start``.
        tuned: see network_spec.PretrainedSpec.
        learning_rate: the highest one of the encoder's own weights; its schedule is that of all others.
        warmup: updates of a pass in which its learning rate rises to that.
        save: whether the model folder holds it.
        cache: the folder of its vectors; None: one for all runs of the user.
    """

    name: str | None
    tuned: bool
    learning_rate: float
    warmup: int
    save: bool
    cache: str | None


@dataclass(frozen=True)
class NetworkPlan:
    """A classifier over learned representations, model=mlp or model=bilstm.

    Attributes:
        attributes: of tokens that it reads, which there will be vocabularies of.
        templates: by attribute, the positions at which slots read it.
        spec: of the network. Its embeddings are those that settings give a length for; those of word vectors follow.
        vectors: None: there are none.
        subwords: the folder of the pretrained encoder that vectors of subwords come from; None: there are none.
        pretrained: how a pretrained encoder is read; None with model=mlp.
        word_dropout: a value seen n times is taken for unknown with probability w / (w + n); this is w, 0 for never.
        max_grad_norm: the norm that longer gradients of an encoder are scaled down to; None without an encoder.
        tag_weights: by column that the encoder predicts, the weight of its loss beside the parser's.
        heads_weight: that of the heads' and relations' loss; 0: they are not predicted.
        lemma_epochs: how often lemmas are learned from the training words; 0: they are not predicted.
    """

    attributes: tuple[str, ...]
    templates: Mapping[str, tuple[str, ...]]
    spec: ClassifierSpec
    vectors: VectorPlan | None
    word_dropout: float
    max_grad_norm: float | None = None
    tag_weights: Mapping[str, float] = field(default_factory=dict)
    heads_weight: float = 0.0
    subwords: str | None = None
    pretrained: PretrainedPlan | None = None
    lemma_epochs: int = 0


@dataclass(frozen=True)
class LinearPlan:
    """A linear model: the attributes that its templates read."""

    attributes: tuple[str, ...]


@dataclass(frozen=True)
class FilesPlan:
    """What a run reads.

    Attributes:
        train: the files of the training sentences, and which of these are held out.
        dev, test: their files; None where there are none.
        named: by setting, every file that is read, the lattices and word vectors, too.
        treebanks: the folder of the treebanks known by name.
    """

    train: TrainingFiles
    dev: PartFiles | None = None
    test: PartFiles | None = None
    named: Mapping[str, str] = field(default_factory=dict)
    treebanks: str = ""


@dataclass(frozen=True)
class LatticePlan:
    """Word lattices of the parts, and how they are learned from.

    Attributes:
        files: by part (train, always; dev; test), a file of lattices.
        lookahead: words decided ahead; slots that read further are left out.
        gold: how training sentences without a gold path are handled.
        max_arcs: a sentence with more is refused; None: none is.
        choices: whether the choice among arcs is learned; else only gold paths are.
        beam: how lattices are searched where other input is parsed greedily.
    """

    files: Mapping[str, str]
    lookahead: int
    gold: MissingPath
    max_arcs: int | None
    choices: bool
    beam: Beam


@dataclass(frozen=True)
class TokenizerPlan:
    """UDPipe's tokenizer is trained besides the parser, for ``epochs``; ``segmenter``: and an LSTM that finds the sentences."""

    epochs: int
    segmenter: bool


@dataclass(frozen=True)
class TensorBoardPlan:
    """What the events hold besides curves: trees of dev after each epoch, figures after each pass."""

    trees: int
    figures: bool


@dataclass(frozen=True)
class Plan:
    """A run.

    Attributes:
        labels: what metrics.json says of the settings: treebank, column, recipe, model, system, degree, beam, oracle, strategy,
            ties, seed.
        files: what it reads.
        system: the transition system.
        oracle: of all passes but the first.
        projectivization: how trees are made projective; see oracles.PROJECTIVIZATIONS.
        model: what is trained.
        passes: one after the other; a GoldPlan and what follows it, or an OnlinePlan and what follows it.
        start: the folder of the model that training begins with; None: it begins with fresh weights.
        search: how dev and test are parsed at the end, and as the model remembers; None: greedily.
        lattices: None: there are none.
        vocabulary_of_subset: whether vocabularies and word vectors are made only of the sentences with projective trees.
        seed, device, threads: of the computation.
        single_root: whether parses have exactly one child of the root.
        keep_best: whether a pass ends with the weights of its best epoch on dev; else with the last.
        resume: whether a run that was interrupted in the same folder is resumed.
        tokenizer: None: none is trained.
        tensorboard: what is recorded.
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
    lattices: LatticePlan | None
    vocabulary_of_subset: bool
    seed: int
    device: str
    threads: int
    single_root: bool
    keep_best: bool
    resume: bool
    tokenizer: TokenizerPlan | None
    tensorboard: TensorBoardPlan

    @property
    def teachers(self) -> tuple[str, ...]:
        """The run folders of the models that teach; none if there are none."""
        return tuple(teacher for one in self.passes if isinstance(one, ExplorationPlan) for teacher in one.teachers)

    @property
    def trees(self) -> set[TrainingTrees]:
        """The kinds of trees that its passes learn from."""
        return {one.trees for one in self.passes}
