"""The settings that a run takes over from the model of ``start=``: recipe, model, system,
and sizes of the network.

Nobody types these settings again. A value that is given by hand must be the model's, because its
weights fit no other network. Dropout belongs to training: by hand, it may differ.

Recipe, model and system are choices of groups, which hydra must know before it composes the
settings (``choices``). The other settings are numbers and lists in these groups (``started``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hydra.core.override_parser.types import ChoiceSweep
from omegaconf import OmegaConf

from oracles.errors import OptimalStepError
from parser.data.attributes import ATTRIBUTES, TREEBANK
from parser.data.tasks import TASKS
from parser.data.tasks.task import Task
from parser.model.loading import load
from parser.model.model import NetworkModel
from parser.model.packs import named_folder
from parser.model_folder import CARD, MODEL, find_model
from parser.network_spec import BiLSTMSpec, MlpSpec
from parser.settings.files import CONFIGS
from parser.settings.given import Given
from parser.settings.groups import Settings, SettingsError
from parser.transitions.features import RELATION, at_candidates

# The run folder's file with the settings of its run; see training/run_folder.py.
_MANIFEST = "run.json"
# The recipe, in the first paragraph of a card.
_RECIPE = re.compile(r"^Trained by optimal-step on .*\brecipe=(\w+)", re.MULTILINE)

# Groups of the encoder that a model need not have, and the tasks that they are for.
_ENCODER_GROUPS: dict[str, type[Task] | None] = {
    "characters": None,
    **{kind.name: kind for kind in TASKS},
}


@dataclass(frozen=True)
class StartModel:
    """The model that a run starts from.

    Attributes:
        named: the model, as the user names it.
        recipe: the recipe that it was trained with, or one that fits its network.
        recipe_is_known: whether its run or its card names the recipe.
    """

    named: str
    model: NetworkModel
    recipe: str
    recipe_is_known: bool

    @classmethod
    def read(cls, named: str, start: Path) -> StartModel | None:
        """Read a model without torch; None if it is missing or damaged,
        which the run reports when it begins.

        Args:
            named: a folder, or the name of a model.
            start: the folder that relative paths begin in.

        Raises:
            SettingsError: it is a linear model.
        """
        folder = start / named_folder(Path(named))
        try:
            model = load(folder, int8=False)
        except OptimalStepError:
            return None
        if not isinstance(model, NetworkModel):
            raise SettingsError(
                f"start={named}: this is a linear model, which cannot be trained further; name one "
                "that was trained with model=mlp or model=bilstm"
            )
        recipe = _recipe_of(find_model(folder))
        return cls(named, model, recipe or _likely_recipe(model), recipe is not None)

    @property
    def chosen(self) -> dict[str, str]:
        """The choices of groups that a run takes over."""
        kind = "mlp" if self.model.spec.encoder is None else "bilstm"
        return {"recipe": self.recipe, "model": kind, "system": self.model.system.name}

    def choices(self, given: Given) -> dict[str, str]:
        """Return the choices that were not made by hand.

        Raises:
            SettingsError: recipe, model or system was chosen by hand, and is not the model's.
        """
        by_hand = {setting.name: setting for setting in given.settings if setting.read is not None}
        for name, model_choice in self.chosen.items():
            setting = by_hand.get(name)
            if setting is None or setting.is_sweep or setting.value == model_choice:
                continue
            if name != "recipe" or self.recipe_is_known:
                raise self.refusal(name, setting.value, model_choice)
        return {name: choice for name, choice in self.chosen.items() if name not in by_hand}

    def refusal(self, key: str, here: Any, model_value: Any) -> SettingsError:
        """Return the error about a setting that was given by hand, and is not the model's."""
        said, model_said = (_shown(value) for value in (here, model_value))
        return SettingsError(
            f"start={self.named}: this run has {key}={said}, and that model {key}={model_said}; "
            f"leave out {key}"
        )


def start_choices(given: Given, start: Path) -> list[str]:
    """Return the choices of groups that a command line takes over from the model of ``start=``,
    as KEY=VALUE.

    A sweep over models takes over what all of them have in common.

    Args:
        given: what the command line gives.
        start: the folder that relative paths begin in.

    Raises:
        SettingsError: recipe, model or system was chosen by hand, and is not the model's.
    """
    named = [
        setting
        for setting in given.settings
        if setting.name == "start" and setting.read is not None
    ]
    if not named:
        return []
    value = named[-1].value
    values = value.list if isinstance(value, ChoiceSweep) else [value]
    texts = [OmegaConf.create([getattr(choice, "text", choice)])[0] for choice in values]
    models = [
        model
        for text in texts
        if isinstance(text, str) and (model := StartModel.read(text, start)) is not None
    ]
    choices = [model.choices(given) for model in models]
    first = choices[0] if choices else {}
    return [
        f"{name}={choice}"
        for name, choice in first.items()
        if all(others.get(name) == choice for others in choices)
    ]


def started(settings: Settings, given: Given, start: Path | None = None) -> Settings:
    """Return the settings of a run with those that it takes over from the model of ``start=``;
    without ``start``, the same.

    Args:
        settings: the settings as hydra has composed them; they are not changed.
        given: the settings given by hand.
        start: the folder that relative paths begin in; None: the working folder.

    Raises:
        SettingsError: a setting was given by hand, and is not the model's.
    """
    if (
        settings.start is None
        or (start_model := StartModel.read(settings.start, start or Path())) is None
    ):
        return settings
    missing = start_model.choices(given)
    if any(getattr(settings, name) != choice for name, choice in missing.items()):
        from parser.settings.overrides import composed as compose  # imports this module

        run_settings: Any = compose(
            "train", [*(f"{name}={choice}" for name, choice in missing.items()), *given.words]
        )
    else:
        run_settings = deepcopy(settings)
    _take_over(start_model, run_settings, given)
    return run_settings


def _take_over(start_model: StartModel, settings: Any, given: Given) -> None:
    """Change composed settings to those of the model's network.

    Raises:
        SettingsError: see started().
    """
    model = start_model.model
    for key, model_value, must_be in _values(model, settings):
        here = _plain(settings, key)
        by_hand = any(setting.touches(key) for setting in given.settings)
        if here == model_value:
            continue
        if by_hand and must_be:
            raise start_model.refusal(key, here, model_value)
        if not by_hand:
            OmegaConf.update(settings, key, model_value, merge=False, force_add=True)
    for table in _tables(model, settings):
        for name in {**table.there, **table.here}:
            key = f"{table.key}.{name}"
            here = table.here.get(name, table.none)
            model_value = table.there.get(name, table.none)
            if (
                here != model_value
                and model.lookahead is None
                and any(setting.touches(key) for setting in given.settings)
            ):
                raise start_model.refusal(key, here, model_value)
        if [*table.here.items()] != [*table.there.items()]:
            OmegaConf.update(settings, table.key, table.there | table.others, merge=False)
    if model.lookahead is not None and (
        "lattice" not in settings or settings.lattice.train is None
    ):
        raise SettingsError(
            f"start={start_model.named}: that model chooses among the words of lattices; "
            "give lattice.train=FILE"
        )


def _values(model: NetworkModel, settings: Any) -> Iterator[tuple[str, Any, bool]]:
    """Yield settings of a model's network: key, value,
    and whether a value by hand must be the same.

    Args:
        model: the model that the run starts from.
        settings: the composed settings, which may have a value already.
    """
    spec, options = model.spec, model.system.options
    yield "degree", options.get("degree"), True
    if bool(settings.nonmonotonic) != (nonmonotonic := bool(options.get("nonmonotonic"))):
        yield "nonmonotonic", nonmonotonic, True
    if model.lookahead is not None and "lattice" in settings:
        yield "lattice.lookahead", model.lookahead, True
        yield "lattice.choices", True, True
    yield from (
        (f"classifier.{name}", value, "dropout" not in name)
        for name, value in vars(MlpSpec.of(spec)).items()
    )
    vectors, length = _vectors(model, settings), None
    if vectors is not None:
        length = spec.embeddings[vectors]
        yield from (
            ("vectors.trained", length.trained, True),
            ("vectors.dimensions", length.size, True),
        )
    if settings.vectors.attribute != vectors and (
        vectors is not None or settings.vectors.attribute in model.vocabularies.by_attribute
    ):
        yield "vectors.attribute", vectors, True
    if spec.encoder is not None:
        for name in dict.fromkeys([*settings.features, *model.vocabularies.by_attribute]):
            is_read = name in model.vocabularies.by_attribute
            if name not in (RELATION, TREEBANK) and is_read != bool(settings.features.get(name)):
                yield f"features.{name}", ["s0"] if is_read else [], True
        yield from _encoder(model, spec.encoder, settings.encoder)


def _vectors(model: NetworkModel, settings: Any) -> str | None:
    """Return the attribute that a model has word vectors for; None if there are none."""
    embedded = [
        name
        for name in model.vocabularies.by_attribute
        if name in model.spec.embeddings and name in ATTRIBUTES
    ]
    # training keeps only word vectors as they are
    likely = [name for name in embedded if not model.spec.embeddings[name].trained]
    likely += [name for name in (settings.vectors.attribute, "form", "lower") if name in embedded]
    return likely[0] if likely else None


class _Table(NamedTuple):
    """A dictionary among the settings, which is the model's as a whole.

    Attributes:
        key: the setting that it is the value of.
        here, there: the entries in the run and in the model, without those that nothing reads.
        others: further entries, which nothing reads.
        none: what stands for an entry that is missing.
    """

    key: str
    here: dict[str, Any]
    there: dict[str, Any]
    others: dict[str, Any]
    none: Any


def _tables(model: NetworkModel, settings: Any) -> Iterator[_Table]:
    """Yield the lengths of vectors by attribute, and where slots read each attribute."""
    vectors, spec = _vectors(model, settings), model.spec
    attributes = [name for name in (*model.vocabularies.by_attribute, RELATION) if name != TREEBANK]
    here = _plain(settings, "embeddings")
    sizes = {
        name: spec.embeddings[name].size
        for name in attributes
        if name in spec.embeddings and name != vectors
    }
    others = {name: size for name, size in here.items() if name not in attributes}
    yield _Table(
        "embeddings",
        {name: here[name] for name in attributes if name in here},
        sizes,
        others,
        None,
    )
    places: dict[str, list[str]] = {}
    for slot in model.slots:
        position, _, attribute = str(slot).rpartition(":")
        places.setdefault(attribute, []).append(position)
    key = "features" if spec.encoder is None else "encoder.slots"
    here = _plain(settings, key)
    placed = {
        name: positions
        for name, positions in at_candidates(here, type(model.system)).items()
        if positions
    }
    yield _Table(key, placed, places, {name: [] for name in here if name not in places}, [])


def _encoder(
    model: NetworkModel, spec: BiLSTMSpec, settings: Any
) -> Iterator[tuple[str, Any, bool]]:
    """Yield the sizes of an encoder, and which of its groups there are."""
    for name, value in vars(spec).items():
        key, kind = f"encoder.{name}", _ENCODER_GROUPS.get(name)
        task = None if kind is None else model.vocabularies.task(kind)
        columns, fixed = () if task is None else task.columns, kind is None or kind.in_passes
        if name not in _ENCODER_GROUPS or isinstance(value, int | float):
            yield key, value, "dropout" not in name
        elif value is None:
            if fixed:  # else it may be new to the model
                yield key, None, True
        elif settings[name] is None:
            yield key, asdict(value) | ({} if kind is None else kind.learned_with(columns)), fixed
        else:
            yield from (
                (f"{key}.{field_name}", size, field_name != "dropout")
                for field_name, size in asdict(value).items()
            )
            for column in columns:
                if column not in settings[name].weights:
                    yield f"{key}.weights.{column}", 1.0, True


def _plain(settings: Any, key: str) -> Any:
    """Return the value of a setting as a plain value; None if it is null,
    or there is no such setting.
    """
    value = OmegaConf.select(settings, key, default=None)
    return OmegaConf.to_container(value, enum_to_str=True) if OmegaConf.is_config(value) else value


def _recipe_of(folder: Path) -> str | None:
    """Return the recipe that a model's run or card names; None if there is no such recipe."""
    named = None
    manifest, card = folder.parent / _MANIFEST, folder / CARD
    if folder.name == MODEL and manifest.is_file():
        with suppress(ValueError, KeyError, TypeError):
            named = json.loads(manifest.read_text(encoding="utf-8"))["settings"]["recipe"]
    if named is None and card.is_file():
        stated = _RECIPE.search(card.read_text(encoding="utf-8", errors="replace"))
        named = None if stated is None else stated[1]
    return named if named in {path.stem for path in (CONFIGS / "recipe").glob("*.yaml")} else None


def _likely_recipe(model: NetworkModel) -> str:
    """Return a recipe whose training fits a network."""
    if model.vocabularies.tags:
        return "text"
    return "accurate" if model.contextual or RELATION in model.spec.embeddings else "paper"


def _shown(value: Any) -> str:
    """Return a value as it is written on a command line."""
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{name}:{_shown(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_shown, value))}]"
    return (
        {None: "null", True: "true", False: "false"}[value]
        if value is None or isinstance(value, bool)
        else str(value)
    )
