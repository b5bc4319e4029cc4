"""The command line of an experiment: a typed configuration of configs/experiments, KEY=VALUE on
top, errors in one line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from oracles.errors import OptimalStepError, did_you_mean
from parser.commands import command_line
from parser.commands.arguments import Arguments
from parser.settings.files import CONFIGS
from parser.settings.given import NOTHING_GIVEN, Given
from parser.settings.groups import PathKind, Paths, PathSetting, keys_of
from parser.settings.overrides import composed
from parser.settings.overrides import explained as refused
from parser.settings.paths import for_hydra, quoted, shell_command, split

ROOT = Path(__file__).resolve().parent.parent
FOLDER = CONFIGS / "experiments"

S = TypeVar("S")

# What a key is called in other experiments, or elsewhere.
_ELSEWHERE = {
    "treebanks": "languages",
    "langs": "languages",
    "seed": "seeds",
    "jobs": "workers",
    "threads": "workers",
}
_ELSEWHERE |= {
    "output": "results",
    "out": "results",
    "run_dir": "runs",
    "force": "fresh",
    "settings": "overrides",
}


# Metadata of fields that name paths: an output, the folder of a run or a model,
# and a dictionary of such folders.
OUTPUT, MODEL = {"path": PathSetting(PathKind.OUTPUT)}, {"path": PathSetting(PathKind.MODEL)}
MODELS = {"path": PathSetting(PathKind.MODEL, inside=True)}


@dataclass
class Pictures:
    """Settings of all experiments that measure and draw;
    configs/experiments/pictures.yaml explains the keys.
    """

    published: str = field(metadata=OUTPUT)
    output: str = field(metadata=OUTPUT)
    publish: bool
    format: str
    paths: Paths

    @property
    def stem(self) -> str:
        """The stem of file names, if a folder holds several files of a kind."""
        return ""

    @property
    def folder(self) -> Path:
        """The folder that files are written to."""
        return ROOT / self.published if self.publish else Path(self.output)


@dataclass
class Trainings:
    """Settings of all experiments that train;
    configs/experiments/trainings.yaml explains the keys.
    """

    languages: list[str]
    seeds: int
    workers: int
    published: str | None = field(metadata=OUTPUT)
    results: str = field(metadata=OUTPUT)
    runs: str = field(metadata=OUTPUT)
    fresh: bool
    publish: bool
    recipe: str
    title: str
    about: str
    paths: Paths

    def head(self, more: str = "") -> str:
        """Return the head of a page: its title, and a description."""
        return f"# {self.title}\n\n{self.about}{more}\n\n"


def run(main: Callable[[S], None], kind: type[S], config: str, doc: str | None) -> NoReturn:
    """Call ``main`` with the settings that the command line asks for, and exit,
    as command_line.run() does.

    Args:
        main: what to do.
        kind: the dataclass of its settings.
        config: the name of a file of configs/experiments, unless --config-name gives another.
        doc: printed by --help, before the configuration.
    """
    parser = Arguments(add_help=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--config-name", default=config)
    parser.add_argument("overrides", nargs="*")
    args = parser.parse_args()

    def do() -> None:
        if args.help:
            print(f"{doc}\n{explained(args.config_name)}", end="")
            return
        main(settings_of(kind, args.config_name, args.overrides))

    command_line.run(do)


def settings_of(kind: type[S], config: str, overrides: Iterable[str] = ()) -> S:
    """Return the settings of a file of configs/experiments with overrides,
    as the dataclass ``kind``.

    Raises:
        OptimalStepError: there is no such file or key, the file is for another experiment, or a
            value has the wrong type.
    """
    words = list(overrides)
    if wrong := [override for override in words if "=" not in override]:
        raise OptimalStepError(f"{wrong[0]!r} is not KEY=VALUE")
    lists = {
        key.name for key in keys_of(kind) if key.path is None and str(key.type).startswith("list")
    }
    for setting in Given(words).settings:
        if setting.name in lists and not setting.text.startswith("[") and setting.text != "null":
            raise OptimalStepError(
                f"{setting.word} is not a list; write "
                f"{shell_command([f'{setting.name}=[{setting.text}]'])}"
            )
    if not (FOLDER / f"{config}.yaml").is_file():
        file_names = sorted(path.stem for path in FOLDER.glob("*.yaml"))
        near = did_you_mean(config, file_names)
        raise OptimalStepError(
            f"--config-name={config}: there is no such file in {FOLDER}{near}; "
            f"the files are {', '.join(file_names)}"
        )
    try:
        paths = {key.name: key.path for key in keys_of(kind) if key.path is not None}
        config_tree = composed(
            config, for_hydra(map(with_quotes, words), paths, sweep=None), FOLDER
        )
        if not set(config_tree) <= {declared.name for declared in fields(cast(Any, kind))}:
            raise OptimalStepError(f"--config-name={config}: this file is not for {kind.__name__}")
        return cast(
            S, OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(kind), config_tree))
        )
    except OptimalStepError:
        raise
    except Exception as error:
        if (said := in_one_line(error)) is None:
            raise
        names = [key.name for key in keys_of(kind)]
        wrong_names = (
            setting.name for setting in Given(words).settings if f"'{setting.name}'" in said
        )
        near = next((did_you_mean(name, names, _ELSEWHERE) for name in wrong_names), "")
        raise OptimalStepError(
            f"{said}{near}; --help shows the keys, and how values are written"
        ) from error


def in_one_line(error: Exception) -> str | None:
    """Return the first lines of an error of composing settings and of its cause;
    None for any other error.
    """
    if isinstance(error, OverrideParseException) or not isinstance(
        error, HydraException | OmegaConfBaseException
    ):
        told = refused(error, NOTHING_GIVEN)
        return None if told is None else str(told)
    said = [
        str(e).strip().splitlines()[0].rstrip(".:")
        for e in (error, error.__cause__)
        if e is not None and str(e).strip()
    ]
    return ": ".join(
        dict.fromkeys(
            re.sub(
                r"^Ambiguous value for argument '(.*)'$",
                r"\1 has several values, and takes one",
                line,
            )
            for line in said
        )
    )


def with_quotes(override: str) -> str:
    """Quote the elements of a list of settings for hydra: KEY=[A=1,B=[x,y]] becomes
    KEY=["A=1","B=[x,y]"].
    """
    key, _, value = override.partition("=")
    inside = value[1:-1]
    if not (value.startswith("[") and value.endswith("]") and "=" in inside):
        return override
    elements = (
        element if element[:1] in ("'", '"') else quoted(element) for element in split(inside)
    )
    return f"{key}=[{','.join(elements)}]"


def explained(config: str) -> str:
    """Return the text of a file of configs/experiments, and of the files that it builds on."""
    text = (FOLDER / f"{config}.yaml").read_text(encoding="utf-8")
    parsed = OmegaConf.create(text)
    defaults = parsed.get("defaults", []) if isinstance(parsed, DictConfig) else []
    below = [name for name in defaults if name != "_self_"]
    return "\n".join([f"{config}.yaml\n\n{text}", *map(explained, below)])


def check_known(key: str, values: Iterable[Any], known: Collection[Any]) -> None:
    """Refuse unknown values.

    Raises:
        OptimalStepError: the message lists the unknown and the known values, quoted,
            as names may have commas.
    """
    if unknown := [value for value in values if value not in known]:
        near = did_you_mean(str(unknown[0]), map(str, known))
        raise OptimalStepError(
            f"{key} has {', '.join(map(repr, unknown))}{near}; "
            f"known are {', '.join(map(repr, known))}"
        )


def check_at_least(key: str, value: int, least: int) -> None:
    """Refuse a number below ``least``.

    Raises:
        OptimalStepError: the number is too small.
    """
    if value < least:
        raise OptimalStepError(f"{key}={value} is too small; it must be at least {least}")
