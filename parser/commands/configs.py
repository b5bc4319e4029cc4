"""Settings composed by hydra from the files of configs/, for code that is not a command itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from parser.settings import Settings, register
from parser.settings.files import HOME
from parser.settings.groups import path_settings
from parser.settings.overrides import check_overrides, explained
from parser.settings.paths import for_hydra

CONFIGS = HOME / "configs"


def composed(name: str, overrides: Sequence[str], folder: Path = CONFIGS) -> DictConfig:
    """The configuration of a file of the folder, with the overrides.

    Raises:
        HydraException, OmegaConfBaseException: no such file or key, or a value of another type.
    """
    with initialize_config_dir(str(folder), version_base="1.3"):
        return compose(name, overrides=list(overrides))


def training_settings(overrides: Sequence[str]) -> Settings:
    """The settings of optimal-step train with these overrides, written as on its command line.

    Raises:
        SettingsError: no such key, or a value that it cannot have; names the key and the fix.
    """
    register()
    words = for_hydra(overrides, path_settings(), sweep=False)
    check_overrides(words, sweep=False)
    try:
        return composed("train", words)  # type: ignore[return-value]
    except (AssertionError, AttributeError, ValueError, HydraException, OmegaConfBaseException) as error:
        if (told := explained(error, words)) is None:
            raise
        raise told from error
