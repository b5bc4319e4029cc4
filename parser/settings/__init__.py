"""The settings of a training run, and the plan made from them.
configs/ gives their values and explains each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

import oracles
from parser.settings.groups import BEAMS, MODELS, Settings, SettingsError
from parser.settings.paths import unresolved

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = ["Settings", "SettingsError", "register"]


def register() -> None:
    """Register with hydra the names that configs/ uses: the classes of settings by model and beam,
    the group ``oracle``, the callback for folders, and the resolver ``as_noted``.

    Register your own oracles (``oracles.register``) first; they are then choices of ``oracle=``.
    """
    store = ConfigStore.instance()
    for name in oracles.all_names():
        store.store(group="oracle", name=name, node={"oracle": name}, package="_global_")
    # Below hydra/, since hydra does not list these groups as choices.
    for group, kinds in (("model", MODELS), ("beam", BEAMS)):
        for name, node in kinds.items():
            store.store(group=f"hydra/settings/{group}", name=name, node=node)
    callback = {"_target_": "parser.training.sweeps.JobFolders"}
    OmegaConf.register_new_resolver("as_noted", _as_noted, replace=True)
    store.store(
        group="hydra/callbacks", name="sweeps", node={"sweeps": callback}, package="hydra.callbacks"
    )


def _as_noted(key: str, *, _root_: DictConfig) -> str:
    """Return the text of a key, in which ``${`` has no meaning; see unresolved()."""
    group, _, name = key.rpartition(".")
    return str(unresolved(OmegaConf.select(_root_, group), name))
