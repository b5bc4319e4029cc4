"""Rules between settings: each yields a message that says what is wrong, and how to fix it.

With the classes of groups.py, hydra itself refuses wrong types, keys and most words. Ranges, and
words that other packages define, are declared there and checked here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from inspect import signature
from typing import Any

from omegaconf import MISSING

import oracles
from oracles import arc_eager, covington
from oracles.errors import OptimalStepError, did_you_mean
from parser import transitions
from parser.beam_settings import Merge
from parser.data.attributes import ATTRIBUTES, ELEMENTS, TAGS
from parser.network_spec import range_of
from parser.settings.files import held_out_of, wanted_shares
from parser.settings.given import Given
from parser.settings.groups import (
    AUGMENTS,
    BEAMS,
    CHANGES,
    BiLSTMSettings,
    EncoderSettings,
    ExampleUse,
    GlobalBeamSettings,
    LatticeSettings,
    LinearSettings,
    LocalBeamSettings,
    MlpSettings,
    Mode,
    OnTreebankError,
    Policy,
    Settings,
    SettingsError,
    TokenizerName,
    TrainingTrees,
    TreebankFiles,
    VocabularySource,
    keys,
)
from parser.settings.nearest import meant_value
from parser.transitions.features import CANDIDATE_POSITIONS, RELATION, TOKEN

# Torch's names of devices for training; whether there is a GPU is checked when torch is loaded.
DEVICES = ("cpu", "cuda")

_NETWORK_KEYS = (
    *("column", "recipe", "vocabulary_from", "start", "vectors", "features", "embeddings"),
    *("classifier", "optimizer", "first_pass", "second_pass"),
    *("beam.training.learning_rate", "beam.training.batch_sentences"),
)
_FIRST_PASSES_KEYS = (
    *("oracle", "strategy", "ties", "optimizer.name", "optimizer.learning_rate"),
    *("optimizer.batch_size", "first_pass", "second_pass"),
)
_SECOND_PASS = "second_pass.trees=TREES (column=3 to 6 have them)"


def refusals(settings: Settings, given: Given) -> Iterator[str]:
    """Yield what is wrong with settings, in order: later rules assume that earlier rules hold.

    Args:
        settings: typed, not as hydra's tree.
        given: the settings given by hand; one that the run would not read is refused.
    """
    for key, needed in _unread(settings):
        if (value := _given(settings, key, given)) is not None:
            yield f"{value} is used only with {needed}; leave it out, or choose {needed}"
    yield from _wrong_values(settings)
    if settings.treebank.folds is not None and settings.treebank.fold is None:
        fix = "give treebank.fold=K, or use optimal-step train, which runs all folds"
        yield (
            f"treebank.folds={settings.treebank.folds} asks for several runs, "
            f"but this is one; {fix}"
        )
    if (held_out := given.find("treebank.held_out")) is not None and not held_out.is_deleted:
        yield from _useless_share(settings.treebank, held_out.word)
    yield from _wrong_treebanks(settings)
    yield from _wrong_oracle(settings)
    if settings.treebank.partial:
        yield from _wrong_partial(settings)
    if isinstance(settings, LinearSettings):
        if settings.device != "cpu":
            yield (
                f"device={settings.device}: model=linear is trained on the CPU; leave out device="
            )
    else:
        yield from _wrong_features(settings)
        yield from _wrong_passes(settings)
    if isinstance(settings, BiLSTMSettings) and settings.pretrained.tune:
        yield from _wrong_tuning(settings)
    if type(settings.beam) is not BEAMS.get(settings.beam.name):
        choices = " or ".join(f"beam={name}" for name in BEAMS)
        yield (
            f"beam.name={settings.beam.name} does not match the chosen beam; leave it out, "
            f"and choose {choices}"
        )
    yield from _wrong_beam(settings)
    if isinstance(settings, MlpSettings):
        yield from _wrong_lattices(settings, settings.lattice)
    if settings.device.partition(":")[0] not in DEVICES:
        yield _unknown(f"device={settings.device}", DEVICES)


def _wrong_tuning(settings: BiLSTMSettings) -> Iterator[str]:
    if settings.start is None and settings.encoder.pretrained is None:
        yield (
            f"recipe={settings.recipe} trains a pretrained encoder further; give "
            "encoder.pretrained=FOLDER, "
            "or its name on the Hugging Face hub (docs/text.md names a small one)"
        )
    if (cache := settings.pretrained.cache) is not None:
        yield (
            f"pretrained.cache={cache}: with pretrained.tune=true no vectors are cached; "
            "leave it out"
        )


def _unread(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield each setting or group that this run does not read, and the setting that it needs."""
    treebank, vectors, anew = settings.treebank, settings.vectors, settings.start is None
    wanting = [
        (["treebank.folds"], treebank.test is None, "treebank.test=null"),
        (["treebank.fold"], treebank.folds is not None, "treebank.folds=N"),
        (["degree"], settings.system == "attardi", "system=attardi"),
        (["nonmonotonic"], settings.system == "arc_eager", "system=arc_eager"),
        (["segmenter"], settings.tokenizer is not TokenizerName.none, "tokenizer=characters"),
        (_NETWORK_KEYS, not isinstance(settings, LinearSettings), "model=mlp or model=bilstm"),
        (["beam.training.update"], isinstance(settings, LinearSettings), "model=linear"),
        (
            _FIRST_PASSES_KEYS,
            anew or not isinstance(settings.beam, GlobalBeamSettings),
            "start=null or beam!=global",
        ),
        (["vectors.file"], anew, "start=null"),
        (["vectors.limit", "vectors.restrict"], vectors.file is not None, "vectors.file=FILE"),
        (["vectors.subwords"], isinstance(settings, BiLSTMSettings), "model=bilstm"),
        (
            ["second_pass.exploration_probability"],
            settings.second_pass.policy == Policy.mixed,
            "second_pass.policy=mixed",
        ),
    ]
    if isinstance(settings, LinearSettings):
        exploring = ["online.explore_after", "online.exploration_probability"]
        wanting += [(exploring, settings.online.mode == Mode.explore, "online.mode=explore")]
    if isinstance(settings, BiLSTMSettings):
        pretrained, tuned = settings.encoder.pretrained is not None, settings.pretrained.tune
        of_tuning = ["pretrained.learning_rate", "pretrained.warmup"]
        of_files = ["pretrained.save", "pretrained.cache"]
        tuning = "pretrained.tune=true"
        wanting += [
            (["pretrained.tune"], anew, "start=null"),
            (["pretrained.tune"], pretrained, "encoder.pretrained=FOLDER"),
            (["encoder.augment"], tuned or not pretrained, f"{tuning} or encoder.pretrained=null"),
            (of_tuning, tuned or not anew, f"{tuning} or start=RUN_FOLDER"),
            (of_files, pretrained or not anew, "encoder.pretrained=FOLDER or start=RUN_FOLDER"),
            (["pretrained.layers"], pretrained or not anew or tuned, "encoder.pretrained=FOLDER"),
            (["pretrained.pieces"], tuned or not anew, tuning),
        ]
    if isinstance(settings, MlpSettings):
        others = [
            f"lattice.{name}"
            for name in ("dev", "test", "lookahead", "gold", "max_arcs", "choices", "beam")
        ]
        wanting += [
            (
                ["lattice.train"],
                settings.system in ("arc_standard", "attardi"),
                "system=arc_standard or system=attardi",
            ),
            (others, settings.lattice.train is not None, "lattice.train=FILE"),
            (["lattice.dev"], treebank.dev is not None, "treebank.dev=FILE"),
            (["lattice.test"], treebank.test is not None, "treebank.test=FILE"),
            (["lattice.beam"], settings.beam.name == "none", "beam=none"),
        ]
    yield from ((key, needed) for names, is_read, needed in wanting if not is_read for key in names)


def _given(settings: Settings, key: str, given: Given) -> str | None:
    """Return a setting that was given, or one in a group, as KEY=VALUE; None if none was.

    An optional setting that is not null counts as given, even if it was not given by hand.
    """
    if (setting := given.find(key)) is not None:
        return setting.word
    if key not in keys() or not keys()[key].optional:
        return None
    value: Any = settings
    for name in key.split("."):
        value = getattr(value, name, None)
    return None if value is None else f"{key}={value}"


def _wrong_values(settings: Any, prefix: str = "") -> Iterator[str]:
    """Refuse unknown words, and numbers out of their range."""
    declared = {setting.name: setting for setting in fields(settings)}
    for name, value in vars(settings).items():
        key = f"{prefix}{name}"
        if (setting := declared.get(name)) is None:  # hydra accepts any key after a plus
            choices = " or ".join(keys()[key].choices) if key in keys() else "another key"
            yield f"there is no {key} in this run; leave it out, or choose {choices}"
        elif value == MISSING:
            yield f"{key} has no value; give {key}=VALUE"
        elif is_dataclass(value):
            yield from _wrong_values(value, f"{key}.")
        elif (words := setting.metadata.get("words")) is not None and value not in words:
            yield _unknown(f"{key}={value}", words)
        elif value is not None and (allowed := range_of(setting)) is not None:
            for inner, number in value.items() if isinstance(value, dict) else [("", value)]:
                if (said := allowed.violation(number)) is not None:
                    yield f"{key}{inner and '.'}{inner}={number} is out of range; {said}"


def check_column(settings: Settings) -> None:
    """Refuse an unknown column. Call first: oracle and trees are interpolated from it.

    Raises:
        SettingsError: the message lists the columns of configs/table7.yaml.
    """
    columns = ", ".join(settings.table7)
    if settings.column is not None and str(settings.column) not in settings.table7:
        raise SettingsError(
            f"column={settings.column} is unknown; known: {columns} (configs/table7.yaml)"
        )
    if settings.column is None and settings.system == "arc_standard":
        raise SettingsError(
            "column=null is only for systems other than arc_standard; "
            f"give column= one of {columns}"
        )


def _unknown(setting: str, choices: Any) -> str:
    names = ["null" if choice is None else str(choice) for choice in choices]
    key, _, value = setting.rpartition("=")
    near = meant_value(key, value, names) if key else did_you_mean(value.rpartition(".")[2], names)
    return f"{setting} is unknown{near}; known: {', '.join(names)}"


def _useless_share(treebank: TreebankFiles, word: str) -> Iterator[str]:
    """Refuse treebank.held_out if all parts that it asks for are there already."""
    there = {
        "treebank.dev": treebank.dev is not None,
        "treebank.test": treebank.test is not None,
        "treebank.folds": treebank.folds is not None,
    }
    for_dev, for_test = (share > 0 for share in wanted_shares(treebank))
    keys_of = (["treebank.dev"] if for_dev else []) + (
        ["treebank.test", "treebank.folds"] if for_test else []
    )
    taken = [key for key in keys_of if there[key]]
    if len(taken) == for_dev + for_test > 0:
        nulls = " ".join(f"{key}=null" for key in taken)
        because = " and ".join(taken)
        yield f"{word} changes nothing, because of {because}; leave it out, or give {nulls}"


_BY_NAME = "treebank.train={NAME: FILE, NAME: FILE}"


def _wrong_treebanks(settings: Settings) -> Iterator[str]:
    if not isinstance(settings.treebank.train, dict):
        for split in ("dev", "test"):
            if isinstance(getattr(settings.treebank, split), dict):
                yield (
                    f"treebank.{split}={{...}} names treebanks, but treebank.train does not; "
                    f"give {_BY_NAME}"
                )
        return
    if not isinstance(settings, BiLSTMSettings):
        yield (
            f"{_BY_NAME}: only an encoder tells treebanks apart; choose model=bilstm, "
            "or give a list of files"
        )
    for split in ("dev", "test"):
        if (files := getattr(settings.treebank, split)) is not None and not isinstance(files, dict):
            yield f"treebank.{split}={files}: name the treebank of each file, as in {_BY_NAME}"
        elif unknown := sorted({*(files or {})} - {*settings.treebank.train}):
            near = did_you_mean(unknown[0], settings.treebank.train)
            yield (
                f"treebank.{split}: {unknown[0]} is unknown{near}; treebank.train names "
                f"{', '.join(settings.treebank.train)}"
            )


def _wrong_partial(settings: Settings) -> Iterator[str]:
    key, oracle = "treebank.partial=true", oracles.oracle_class(settings.oracle)
    if not oracle.takes_partial_gold:
        able = [f"oracle={name}" for name in oracle.alternatives]
        fix = f"choose {' or '.join(able)}" if able else "choose another system"
        yield f"{key}: oracle={settings.oracle} of system={settings.system} needs all heads; {fix}"
    if isinstance(settings, LinearSettings):
        yield (
            f"{key}: model={settings.model} cannot learn from several right outputs; "
            "choose model=mlp or model=bilstm"
        )
    if isinstance(settings, MlpSettings) and settings.lattice.train is not None:
        yield f"{key} is not supported with lattices; leave out lattice.train="


# The values of ties by system; all other systems have oracles.TIES.
_TIES = {"arc_eager": arc_eager.TIES, "covington": covington.TIES}


def _wrong_oracle(settings: Settings) -> Iterator[str]:
    if settings.system not in transitions.names():
        yield _unknown(f"system={settings.system}", transitions.names())
    if settings.system != "arc_standard" and settings.column is not None:
        yield (
            f"column={settings.column} is only for system=arc_standard; with "
            f"system={settings.system}, leave out column="
        )
    if settings.oracle not in (choices := transitions.system_class(settings.system).oracles):
        yield (
            f"oracle={settings.oracle} is not for system={settings.system}; "
            f"known: {', '.join(choices)}"
        )
    knows_ties = "ties" in signature(oracles.oracle_class(settings.oracle)).parameters
    if settings.ties is not None and not (
        knows_ties and settings.ties in _TIES.get(settings.system, oracles.TIES)
    ):
        eager = settings.ties in arc_eager.TIES
        system, able = (
            ("arc_eager", "arc_eager_rows")
            if eager
            else ("arc_standard", "context_rows or nederhof_cubic")
        )
        fix = f"leave out ties=, or choose system={system} with oracle={able}"
        yield f"ties={settings.ties} is unknown to oracle={settings.oracle}; {fix}"
    try:
        oracles.create(
            settings.oracle, oracles.Strategy(settings.strategy), **oracle_options(settings)
        )  # refuses unsupported strategies
    except OptimalStepError as error:
        yield str(error)


def _wrong_features(settings: Settings) -> Iterator[str]:
    templates = templates_of(settings)
    candidates = transitions.system_class(settings.system).candidate_positions
    for key, table in (("features", settings.features), ("encoder.slots", templates)):
        for attribute, positions in table.items():
            for position in positions:
                # OmegaConf lets lists within lists of positions pass
                if not isinstance(position, str):
                    yield (
                        f"{key}.{attribute}: {position} is not a position; "
                        "give a list of positions, such as [s0,s1,b0]"
                    )
    yield from _unknown_names("embeddings", settings.embeddings, [*ATTRIBUTES, RELATION])
    if (both := settings.vectors.attribute) in settings.embeddings:
        yield (
            f"embeddings.{both} and vectors.attribute={both} exclude one another; "
            "leave out one of them"
        )
    for attribute, positions in settings.features.items():
        if positions and attribute in ELEMENTS and attribute not in settings.embeddings:
            yield (
                f"features.{attribute}: its values are sets, which must be embedded; "
                f"give embeddings.{attribute}=SIZE"
            )
    if isinstance(settings, BiLSTMSettings):
        yield from _wrong_encoder(settings, settings.encoder)
    for attribute, positions in templates.items():
        for position in positions:
            if (
                base := position.partition(".")[0]
            ) in CANDIDATE_POSITIONS and base not in candidates:
                able = [
                    name
                    for name, system in transitions.registered().items()
                    if base in system.candidate_positions
                ]
                missing = (
                    f"{attribute} is read at {position}, a position that system={settings.system} "
                    "does not have"
                )
                yield f"{missing}; choose another position, or system={' or '.join(able)}"


def _unknown_names(key: str, names: Any, choices: Any) -> Iterator[str]:
    yield from (_unknown(f"{key}.{name}", choices) for name in names if name not in choices)


def _wrong_encoder(settings: Settings, encoder: EncoderSettings) -> Iterator[str]:
    yield from _unknown_names("encoder.slots", encoder.slots, [TOKEN, RELATION])
    if not encoder.slots.get(TOKEN):
        yield (
            f"encoder.slots.{TOKEN} is empty: no slot would read the encoder's output; "
            "give positions, such as [s0,s1,b0]"
        )
    if settings.classifier.slot_dropout:
        yield (
            "classifier.slot_dropout is for model=mlp; with model=bilstm give "
            "encoder.attribute_dropout instead"
        )
    for attribute, positions in settings.features.items():
        if positions and attribute not in (
            RELATION,
            *settings.embeddings,
            settings.vectors.attribute,
        ):
            fix = (
                "choose recipe=accurate, which embeds all attributes, "
                f"or give embeddings.{attribute}=SIZE"
            )
            yield (
                f"features.{attribute}: model={settings.model} reads only embedded attributes; "
                f"{fix}"
            )
    yield from _unknown_names("encoder.augment", encoder.augment, AUGMENTS)
    if (total := sum(encoder.augment.get(name, 0.0) for name in CHANGES)) > 1:
        shares = ", ".join(f"encoder.augment.{name}" for name in CHANGES)
        yield (
            f"{shares} are together {total:g}, but a sentence has only one of these changes; "
            "lower them to 1 or less"
        )
    if encoder.tagger is not None:
        if not encoder.tagger.weights:
            yield (
                "encoder.tagger.weights is empty, so nothing would be predicted; give weights, "
                "or encoder.tagger=null"
            )
        yield from _unknown_names("encoder.tagger.weights", encoder.tagger.weights, TAGS)


def _wrong_passes(settings: Settings) -> Iterator[str]:
    """Refuse wrong trees of the first two passes, and passes that do not fit one another."""
    first = settings.first_pass
    second = settings.second_pass
    system = transitions.system_class(settings.system)
    oracle = oracles.oracle_class(settings.oracle)
    if second.trees == TrainingTrees.original and oracle.needs_projective_gold:
        able = [f"oracle={name}" for name in oracle.alternatives]
        wrong = (
            f"oracle={settings.oracle} needs projective trees, "
            "and second_pass.trees=original includes non-projective trees"
        )
        yield (
            f"{wrong}; choose {' or '.join(able) or 'another system'}, or "
            "second_pass.trees=projectivized"
        )
    if (
        first.trees == TrainingTrees.original
        and oracles.oracle_class(system.gold_oracle).needs_projective_gold
    ):
        wrong = (
            f"first_pass.trees=original: gold computations of system={settings.system} need "
            "projective trees"
        )
        yield f"{wrong}; choose projectivized or projective_subset"
    joins_others = (
        second.examples == ExampleUse.join
        and first.trees == TrainingTrees.projective_subset != second.trees
    )
    if joins_others and isinstance(settings, BiLSTMSettings):
        yield (
            "second_pass.examples=join with an encoder needs the same sentences in both passes; "
            "choose column=4 or 5"
        )
    if vocabulary_is_of_subset(settings):
        third = isinstance(settings.beam, GlobalBeamSettings)
        if third or second.trees not in (None, TrainingTrees.projective_subset):
            more = (
                f"third pass (beam={settings.beam.name})"
                if third
                else f"second pass (second_pass.trees={second.trees})"
            )
            wrong = (
                f"vocabulary_from=first_pass, but the {more} learns from sentences that the first "
                "pass leaves out"
            )
            yield f"{wrong}; choose vocabulary_from=all"


def _wrong_beam(settings: Settings) -> Iterator[str]:
    beam, linear = settings.beam, isinstance(settings, LinearSettings)
    if (
        isinstance(beam, LocalBeamSettings)
        and beam.merge == Merge.SIGNATURE
        and (linear or settings.system != "arc_standard")
    ):
        fix = f"choose beam.merge={Merge.CONFIGURATION}"
        yield (
            f"beam.merge={beam.merge} is only for system=arc_standard, "
            f"and not for model=linear; {fix}"
        )
    if isinstance(beam, GlobalBeamSettings) and linear:
        yield from _wrong_linear_training(settings)
    elif isinstance(beam, GlobalBeamSettings) and settings.system != "arc_standard":
        here = f"system={settings.system}, model={settings.model}"
        wrong = f"beam=global needs system=arc_standard or model=linear, and here are {here}"
        yield f"{wrong}; choose system=arc_standard, or beam=local"


def _wrong_linear_training(settings: Settings) -> Iterator[str]:
    system = transitions.system_class(settings.system)
    if system.reorders_buffer:
        wrong = (
            f"beam=global compares computations step by step, but with system={settings.system} "
            "their lengths differ"
        )
        yield f"{wrong}; choose another system, or beam=local"
    if settings.oracle != system.oracles[0]:  # the first one scores every configuration of a beam
        yield (
            f"oracle={settings.oracle} does not work for beam=global with model=linear; "
            f"choose oracle={system.oracles[0]}"
        )


def _wrong_lattices(settings: Settings, lattice: LatticeSettings) -> Iterator[str]:
    if lattice.train is None:
        return
    if not isinstance(settings.treebank.train, str):
        yield "lattice.train goes with one file of trees: give one file as treebank.train"
    if any(held_out_of(settings.treebank)):
        held_out = settings.treebank.held_out
        yield (
            f"treebank.held_out={held_out} is not supported with lattices; "
            "give treebank.dev and lattice.dev"
        )
    for key, value in (
        ("folds", settings.treebank.folds),
        ("on_error", settings.treebank.on_error),
    ):
        if value not in (None, OnTreebankError.stop):
            yield f"treebank.{key}={value} is not supported with lattices; leave it out"
    if lattice.choices and settings.first_pass.trees == TrainingTrees.projective_subset:
        wrong = (
            "lattice.choices=true learns from all sentences, but "
            "first_pass.trees=projective_subset leaves some out"
        )
        yield f"{wrong}; choose column=2, 4, 5 or 6, or lattice.choices=false"


def templates_of(settings: Settings) -> dict[str, list[str]]:
    """Return the positions at which the slots of a network read each attribute."""
    if isinstance(settings, LinearSettings):
        return {}
    return settings.encoder.slots if isinstance(settings, BiLSTMSettings) else settings.features


def vocabulary_is_of_subset(settings: Settings) -> bool:
    """Return whether vocabularies and word vectors are made only from the sentences with projective
    trees.
    """
    from_first_pass = settings.vocabulary_from == VocabularySource.first_pass
    return from_first_pass and settings.first_pass.trees == TrainingTrees.projective_subset


def system_options(settings: Settings) -> dict[str, int]:
    """Return the options of the transition system."""
    degree = {} if settings.degree is None else {"degree": settings.degree}
    return {**degree, "nonmonotonic": 1} if settings.nonmonotonic else degree


def oracle_options(settings: Settings) -> dict[str, Any]:
    """Return the options, besides the strategy,
    of the oracle that all passes after the first use.
    """
    # If arcs can be undone, shift and right always tie, and neither would be taught.
    undoes = settings.nonmonotonic and settings.oracle == "arc_eager_rows"
    ties = "monotonic" if settings.ties is None and undoes else settings.ties
    return {**system_options(settings), **({} if ties is None else {"ties": ties})}
