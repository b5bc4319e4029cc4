"""What a run reads besides data: checkpoints, and settings."""

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import torch
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from parser.settings import Settings, SettingsError
from parser.settings.plan import plan
from parser.training.run_folder import CheckpointError, Progress, load_checkpoint, save_checkpoint
from tests.fuzz.mutations import VALUES, mutate_bytes, mutate_tensors
from tests.toy import settings

_RECIPES = (
    ["recipe=paper"],
    ["recipe=accurate"],
    ["recipe=accurate", "model=bilstm"],
    ["recipe=text"],
    ["model=linear"],
)


def fuzz_checkpoint(rng: Random, folder: Path) -> None:
    """Damage is told; or what is read is what was written."""
    path = folder / "checkpoint.safetensors"
    origin = {"settings": {"seed": 1}, "files": {}}
    progress = Progress(origin, rng.randrange(2), rng.randrange(9), None, {}, {"read": 0.5}, 2.0)
    torch.manual_seed(rng.randrange(1000))
    weights = {"a": torch.rand(3, 2), "b": torch.rand(0)}
    groups = {"weights": weights, "optimizer": {"step": torch.tensor(3.0)}}
    save_checkpoint(path, progress, groups)
    if rng.random() < 0.5:
        path.write_bytes(mutate_bytes(path.read_bytes(), rng))
    else:
        mutate_tensors(path, rng)
    try:
        found, tensors = load_checkpoint(path)
    except CheckpointError as error:
        assert str(error).startswith(str(path))
        assert "resume=false" in str(error)
        return
    assert found == progress
    assert tensors.keys() == groups.keys()
    for group, named in groups.items():
        assert tensors[group].keys() == named.keys()
        assert all(torch.equal(tensors[group][name], tensor) for name, tensor in named.items())


def fuzz_settings(rng: Random, folder: Path) -> None:
    """Any values of settings are refused with their key, or taken."""
    overrides = tuple(rng.choice(_RECIPES))
    wanted = deepcopy(_plain(overrides))
    for _ in range(rng.choice([1, 1, 2, 3])):
        leaves = list(_leaves(wanted))
        group, key = rng.choice(leaves)
        group[key] = rng.choice(
            [*VALUES, *(deepcopy(other[name]) for other, name in rng.sample(leaves, 3))]
        )
    try:
        typed: Any = OmegaConf.merge(_typed(overrides), wanted)
    except OmegaConfBaseException:  # of another type: hydra's own
        return
    try:
        plan(typed)
    except SettingsError as error:
        assert len(str(error)) < 1500


@cache
def _typed(overrides: tuple[str, ...]) -> Settings:
    """Return settings that others are put on top of, for their types."""
    return settings(*overrides)


@cache
def _plain(overrides: tuple[str, ...]) -> Any:
    return OmegaConf.to_container(_typed(overrides), resolve=True)


def _leaves(group: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the keys that are no groups of others, each with the group that it is in."""
    for key, value in group.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value)
        else:
            yield group, key
