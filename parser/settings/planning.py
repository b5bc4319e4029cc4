"""From settings to the plan of a run."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

import oracles
from parser.beam_settings import Beam, Merge, Scores
from parser.data.attributes import TREEBANK
from parser.lattices.gold_paths import MissingPath
from parser.network_spec import BiLSTMSpec, ClassifierSpec, Embedding, MlpSpec
from parser.settings import (
    check_column,
    named_files,
    part_files,
    training_files,
    training_part,
    vector_training,
    vocabulary_is_of_subset,
)
from parser.settings.choices import KeptEpoch, OnlineSentences, OptimizerName, SettingsError, TrainingTrees
from parser.settings.groups import (
    BeamTrainingSettings,
    BiLSTMSettings,
    LinearSettings,
    LocalBeamSettings,
    MlpSettings,
    Settings,
    UdpipeSettings,
)
from parser.settings.plan import (
    ExplorationPlan,
    FilesPlan,
    GlobalPlan,
    GoldPlan,
    LatticePlan,
    LinearPlan,
    NetworkPlan,
    OnlinePlan,
    OptimizerPlan,
    PassPlan,
    Plan,
    PretrainedPlan,
    Span,
    StructuredPlan,
    SystemPlan,
    TensorBoardPlan,
    TokenizerPlan,
    VectorPlan,
)
from parser.settings.rules import broken, check_values, oracle_of, system_options, templates_of, training_of, unread_shares
from parser.transitions.features import RELATION

log = logging.getLogger(__name__)

# The length of the vector that tells treebanks apart, where a model does: that of this run, or the one that it begins with.
_TREEBANK_SIZE = 12


def plan(settings: Settings) -> Plan:
    """The plan of a run with these settings, which hydra has composed; nothing of the treebank is read.

    Raises:
        SettingsError: the settings are invalid; the message names the key and the fix.
    """
    try:
        check_column(settings)
        if not training_files(settings):
            raise SettingsError("there is no training part: give treebank=NAME or treebank.train=FILE")
        teachers = tuple(named_files(settings, ["distillation.teacher"]).values())
        made: Settings = OmegaConf.to_object(settings)  # type: ignore[assignment]
    except OmegaConfBaseException as error:
        raise SettingsError(f"{error.full_key} has no value; give {error.full_key}=VALUE") from error
    except SettingsError:
        raise
    except ValueError as error:  # of a part of the encoder, see network_spec.py
        raise SettingsError(f"encoder.{error}") from error
    check_values(settings, made)
    for message in broken(made, teachers):
        raise SettingsError(message)
    for message in unread_shares(made):
        log.warning("%s", message)
    udpipe = made.tokenizer
    return Plan(
        labels=_labels(made),
        files=FilesPlan(
            training_part(settings),
            part_files(settings, "dev"),
            part_files(settings, "test"),
            named_files(settings),
            made.paths.treebanks,
        ),
        system=SystemPlan(made.system, system_options(made)),
        oracle=oracle_of(made),
        projectivization=made.projectivization,
        model=LinearPlan(("form", "upos")) if isinstance(made, LinearSettings) else _network(made),
        passes=tuple(_passes(made, teachers)),
        start=made.start,
        search=_search(made),
        lattices=_lattices(made),
        vocabulary_of_subset=vocabulary_is_of_subset(made),
        seed=made.seed,
        device=made.device,
        threads=made.threads,
        single_root=made.single_root,
        keep_best=made.keep == KeptEpoch.best,
        resume=made.resume,
        tokenizer=TokenizerPlan(udpipe.epochs, made.segmenter != "none") if isinstance(udpipe, UdpipeSettings) else None,
        tensorboard=TensorBoardPlan(made.tensorboard.trees, made.tensorboard.figures),
    )


def check_files(files: FilesPlan) -> None:
    """Refuses files that are not there, before any of them is read.

    Raises:
        SettingsError: names the file, the key and what to set.
    """
    for key, name in files.named.items():
        if Path(name).is_dir():
            raise SettingsError(f"{key}={name}: this is a folder; name a file in it")
        if not Path(name).is_file():
            known = f"{Path(files.treebanks).as_posix()}/" in Path(name).as_posix()
            fix = f"; paths.treebanks={files.treebanks} must be the folder that holds the treebanks known by name"
            raise SettingsError(f"{key}={name}: there is no such file{fix if known else ''}")


def _labels(made: Settings) -> dict[str, str | int | None]:
    of_run = ("column", "recipe", "model", "system", "degree")
    return {
        "treebank": made.treebank.name,
        **{name: getattr(made, name) for name in of_run},
        "beam": made.beam.name,
        **{name: getattr(made, name) for name in ("oracle", "strategy", "ties", "seed")},
        **({"column": None} if isinstance(made, LinearSettings) else {}),
    }


def _network(made: Settings) -> NetworkPlan:
    wanted, encoder = made.classifier, made.encoder if isinstance(made, BiLSTMSettings) else None
    attributes = tuple(name for name, positions in made.features.items() if name != RELATION and positions)
    embeddings = {name: Embedding(size, True) for name, size in (made.embeddings | {TREEBANK: _TREEBANK_SIZE}).items()}
    attributes = (*attributes, TREEBANK) if isinstance(made.treebank.train, dict) else attributes
    tagger, heads, lemmas = (None, None, None) if encoder is None else (encoder.tagger, encoder.heads, encoder.lemmas)
    return NetworkPlan(
        attributes=attributes,
        templates={attribute: tuple(positions) for attribute, positions in templates_of(made).items()},
        spec=ClassifierSpec(
            **vars(MlpSpec.of(wanted)),
            embeddings=embeddings,
            encoder=None if encoder is None else BiLSTMSpec.of(encoder),
        ),
        vectors=_vectors(made) if made.vectors.attribute in attributes else None,
        word_dropout=wanted.word_dropout,
        max_grad_norm=None if encoder is None else encoder.max_grad_norm,
        tag_weights={} if tagger is None else tagger.weights,
        heads_weight=0.0 if heads is None else heads.weight,
        lemma_epochs=0 if lemmas is None else lemmas.epochs,
        subwords=made.vectors.subwords,
        pretrained=_pretrained(made) if isinstance(made, BiLSTMSettings) else None,
    )


def _pretrained(made: BiLSTMSettings) -> PretrainedPlan:
    wanted = made.pretrained
    of_training = wanted.learning_rate, wanted.warmup, wanted.save, wanted.cache
    return PretrainedPlan(made.encoder.pretrained, wanted.tune, *of_training)


def _vectors(made: Settings) -> VectorPlan:
    wanted = made.vectors
    attribute, training = str(wanted.attribute), vector_training(wanted)
    return VectorPlan(attribute, wanted.trained, training, wanted.file, wanted.limit, wanted.restrict)


def _search(made: Settings) -> Beam | None:
    beam = made.beam
    if isinstance(beam, LocalBeamSettings):
        return Beam(beam.size, Merge(beam.merge), Scores(beam.name))
    return None


def _lattices(made: Settings) -> LatticePlan | None:
    if not isinstance(made, MlpSettings) or made.lattice.train is None:
        return None
    wanted, beam = made.lattice, made.beam
    files = {part: name for part in ("train", "dev", "test") if (name := getattr(wanted, part)) is not None}
    greedily = Beam(wanted.beam, Merge(beam.merge) if isinstance(beam, LocalBeamSettings) else Merge.CONFIGURATION)
    return LatticePlan(files, wanted.lookahead, MissingPath(wanted.gold), wanted.max_arcs, wanted.choices, greedily)


def _passes(made: Settings, teachers: tuple[str, ...]) -> Iterator[PassPlan]:
    if isinstance(made, LinearSettings):
        yield from _online_passes(made)
        return
    first, second, search, training = made.first_pass, made.second_pass, _search(made), training_of(made)
    epochs = [first.epochs, *([] if second.trees is None else [second.epochs])]
    # A model to begin with has all passes behind it but the last, which it goes through again.
    given = made.start is not None and (training is not None or second.trees is not None)
    yield GoldPlan(first.epochs, first.trees, _optimizer(made, epochs, 0), given)
    if second.trees is not None and not (given and training is not None):
        yield ExplorationPlan(
            epochs=second.epochs,
            trees=second.trees,
            optimizer=_optimizer(made, epochs, 1),
            target=second.target,
            start_from_first_pass=second.start_from_first_pass,
            examples=second.examples,
            explore_every=second.explore_every,
            policy=second.policy,
            exploration_probability=second.exploration_probability,
            teachers=teachers,
        )
    if training is not None and search is not None:
        optimizer = _optimizer_of_searches(made, training)
        yield GlobalPlan(training.epochs, TrainingTrees.original, search, optimizer, training.gold_size)


def _online_passes(made: LinearSettings) -> Iterator[PassPlan]:
    online, trees = made.online, TrainingTrees.original
    if online.sentences == OnlineSentences.projective:
        trees = TrainingTrees.projective_subset
    elif oracles.oracle_class(made.oracle).needs_projective_gold:
        trees = TrainingTrees.projectivized
    yield OnlinePlan(online.iterations, trees, online.mode, online.explore_after, online.exploration_probability)
    search, training = _search(made), training_of(made)
    if training is not None and search is not None:
        yield StructuredPlan(training.epochs, trees, search, training.update, training.gold_size)


def _optimizer(made: Settings, epochs: list[int], number: int) -> OptimizerPlan:
    """That of one of the first two passes."""
    wanted = made.optimizer
    each = wanted.schedule_over == "pass"
    span = Span(0, epochs[number]) if each else Span(sum(epochs[:number]), sum(epochs))
    return OptimizerPlan(wanted.name, wanted.learning_rate, wanted.schedule, span, wanted.batch_size)


def _optimizer_of_searches(made: Settings, training: BeamTrainingSettings) -> OptimizerPlan:
    """That of the third pass: Adam, whose schedule is that of the passes before."""
    rate, schedule, span = training.learning_rate, made.optimizer.schedule, Span(0, training.epochs)
    key = "beam.training.learning_rate"
    return OptimizerPlan(OptimizerName.adam, rate, schedule, span, training.batch_sentences, key)
