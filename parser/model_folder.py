"""Reads the parts of a model folder, which may come from a stranger,
so that nothing in them is trusted.

Everything is checked before it is used: types and ranges of the settings, values of vocabularies,
and the names, types and shapes of the tensors, which the header of the safetensors file lists. No
setting can ask for more numbers than the file holds. Every failure is a ModelError that names the
part and the fix.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeVar

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file

from oracles.errors import OptimalStepError
from parser.network_spec import ClassifierSpec
from parser.storage import replacing
from parser.stored_values import checked

SETTINGS, VOCABULARIES, TENSORS = "settings.json", "vocabularies.json", "classifier.safetensors"
# The parts that parser/text reads: a tokenizer and a segmenter.
# Older folders may have a tokenizer of UDPipe 1.
TOKENIZER = "tokenizer.json"
TOKENIZER_TENSORS = "tokenizer.safetensors"
UDPIPE_TOKENIZER = "tokenizer.udpipe"
SEGMENTER, SEGMENTER_TENSORS = "segmenter.json", "segmenter.safetensors"
# All files of these parts: what turns text into words and sentences.
TEXT_FILES = (TOKENIZER, TOKENIZER_TENSORS, SEGMENTER, SEGMENTER_TENSORS)
# The folder with a folder of such files for each treebank, in a model that tells treebanks apart.
TEXT = "text"
# How a model with subwords segments forms; see data/parts/subwords.py.
SUBWORD_TOKENIZER = "subwords.json"
# For people: how it was trained, and on what; a sentence to try it with.
CARD, EXAMPLE = "README.md", "example.conllu"
# The list of the models in a folder of packs; see commands/pack.py.
INDEX = "index.json"

# The folder of the model within the folder of its run.
MODEL = "model"
# How many characters of a text an error quotes.
_QUOTED = 300
# The types of tensors, as safetensors calls them; packed models have the second.
_FLOAT32, _FLOAT16 = "F32", "F16"

# The format of model folders, and all that upgrade() can convert to it.
FORMAT = 2
FORMATS = (1, FORMAT)

# New names of tensors of format 1: the first prefix that fits is replaced.
_RENAMED = {
    "vectors.context": "tokens.reserved",
    "vectors.": "tokens.embeddings.vectors.",
    "words.vectors.": "tokens.inputs.vectors.",
    "words.": "tokens.",
}

# Tensors, or their entries in a header.
_T = TypeVar("_T")

# The last commit that reads models with settings that have been removed since; see _removed().
_LAST_COMMIT = "f3f2ff4a"

# More arcs than any feature reads ahead; see transitions/features.py.
MAX_LOOKAHEAD = 10


class ModelError(OptimalStepError):
    """A folder is not a model that this version can load;
    the message names the part and the fix.
    """


@dataclass(frozen=True)
class TensorInfo:
    """The entry of a tensor in the header of a safetensors file."""

    type: str
    shape: tuple[int, ...]


def find_model(folder: Path) -> Path:
    """Return the model's folder: ``folder``, or the one in it if it is a run's folder;
    look up no names.

    Raises:
        ModelError: there is none.
    """
    with errors_named(folder):
        folder = Path(folder)
        if folder.is_file():
            raise ModelError(
                f"{folder}: this is a file; give the folder of a model, "
                "before the file to be parsed"
            )
        if not folder.is_dir():
            raise ModelError(
                f"{folder}: there is neither a folder nor a model of this name; give the folder of "
                "a run, or a name that optimal-step get lists"
            )
        inside = folder / MODEL
        found = inside if not os.path.lexists(folder / SETTINGS) and inside.is_dir() else folder
        if not _holds_parts(found):
            raise ModelError(
                f"{folder}: this folder holds no model; give the folder of a run, "
                "or the folder model/ in it"
            )
        return found


def text_folder(folder: Path, treebank: str | None = None) -> Path:
    """Return the folder with the files that turn text into words and sentences: the treebank's own,
    or the whole model's if the treebank has none.

    Args:
        folder: the folder of the model.
        treebank: the name of the treebank, in a model that tells treebanks apart; None: the model's
            default treebank.

    Raises:
        ModelError: the settings are damaged.
    """
    if not ((folder / TEXT).is_dir() and (folder / SETTINGS).is_file()):
        return folder
    name = read_settings(folder).get("treebank") if treebank is None else treebank
    own = treebank_text_folder(folder, str(name))
    return own if (own / TOKENIZER).is_file() else folder


def treebank_text_folder(folder: Path, treebank: str) -> Path:
    """Return the folder for the text files of a treebank, in the folder of a model that tells
    treebanks apart; it need not be there.
    """
    digest = hashlib.sha256(treebank.encode("utf-8", "surrogatepass")).hexdigest()
    return folder / TEXT / (treebank if is_plain_name(treebank) else f"treebank-{digest[:16]}")


def has_tokenizer(folder: Path, treebank: str | None = None) -> bool:
    """Return whether a model's folder has a tokenizer that this version reads, so not one of UDPipe
    1; for ``treebank`` see text_folder().
    """
    return (text_folder(folder, treebank) / TOKENIZER).is_file()


def text_files(folder: Path) -> list[str]:
    """Return the files in a model's folder that turn text into words and sentences, as paths within
    it with slashes.
    """
    folders = [folder, *sorted((folder / TEXT).glob("*"))]
    return [
        (inside / name).relative_to(folder).as_posix()
        for inside in folders
        for name in TEXT_FILES
        if (inside / name).is_file()
    ]


def copy_text_files(source: Path, target: Path) -> None:
    """Copy what turns text into words and sentences from a model's folder to another; remove what
    was there before.
    """
    for name in text_files(target):
        (target / name).unlink()
    for name in text_files(source):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        with replacing(target / name) as temporary:
            shutil.copyfile(source / name, temporary)


def holds_model(folder: Path) -> bool:
    """Return whether a folder looks like a model's or a run's."""
    return _holds_parts(folder) or _holds_parts(folder / MODEL)


def _holds_parts(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in (SETTINGS, TENSORS))


def fetched_models(what: str = "a fetched model") -> Path:
    """Return the folder of models that ``optimal-step get`` has fetched: below XDG_CACHE_HOME if
    this is absolute, otherwise below ~/.cache.

    Raises:
        ModelError: there is no home folder, as for an unknown user in a container; the message
            calls the model ``what``.
    """
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (given if given.is_absolute() else Path.home() / ".cache") / "optimal-step"
    except RuntimeError as error:
        fix = "set HOME, or XDG_CACHE_HOME to the absolute path of a folder"
        raise ModelError(
            f"{what} would be in the home folder, and this user has none; {fix}"
        ) from error


def is_plain_name(name: str) -> bool:
    """Return whether a name is valid for a pack, or a model in an index."""
    return re.fullmatch(r"\w[\w.-]*", name) is not None and name != INDEX


def plain_name(name: str) -> str:
    """Return the name of a file or a model, which cannot lead to another folder.

    Raises:
        OptimalStepError: it is not a plain name.
    """
    if not is_plain_name(name):
        raise OptimalStepError(
            f"{name!r} is not a plain name: letters, digits, . _ and -, and not {INDEX}"
        )
    return name


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """Return the contents of a part that is a JSON object.

    Raises:
        ModelError: it is missing, or not a JSON object.
    """
    path = _part(folder, name)
    with errors_named(path):
        value = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
        if not isinstance(value, dict):
            raise OptimalStepError("not an object")
        return value


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the contents of settings.json.

    Raises:
        ModelError: it is missing, or not a JSON object; or a setting was removed.
    """
    settings = read_json(folder, SETTINGS)
    path = folder / SETTINGS
    with errors_named(path):
        for name in _removed(settings):
            raise ModelError(
                f"{path}: it was trained with {name}, which was removed; "
                f"optimal-step at commit {_LAST_COMMIT} reads it"
            )
    return settings


def _removed(settings: dict[str, Any]) -> Iterator[str]:
    """Yield the settings of a model that were removed from this project."""
    if "search" in settings.get("beam", {}):
        yield "beam=exact"
    if (system := settings.get("transition_system")) in ("two_planar", "arc_eager_unshift"):
        yield f"system={system}"


def predicted_columns(folder: Path) -> list[str]:
    """Return the columns that a model predicts: upos, xpos, feats, lemma.

    Raises:
        ModelError: vocabularies.json is missing, or not a JSON object.
    """
    found = read_json(folder, VOCABULARIES)
    return [*found.get("tags", {}), *(["lemma"] if "lemmas" in found else [])]


def read_header(folder: Path, name: str = TENSORS) -> dict[str, TensorInfo]:
    """Return names, types and shapes of the tensors in a file, without reading the tensors.

    Raises:
        ModelError: the file is missing, or is not a safetensors file.
    """
    path = _part(folder, name)
    with errors_named(path), safe_open(path, framework="np") as tensors:
        slices = {name: tensors.get_slice(name) for name in tensors.keys()}  # noqa: SIM118 - it is not a mapping
        return {
            name: TensorInfo(found.get_dtype(), tuple(found.get_shape()))
            for name, found in slices.items()
        }


def read_tensors(folder: Path, name: str = TENSORS) -> dict[str, np.ndarray]:
    """Return the tensors in a file of the folder, 16-bit ones as float32.

    Raises:
        ModelError: the file is damaged, or a number is not finite.
    """
    path = _part(folder, name)
    with errors_named(path):
        tensors = load_file(path)
        for key, tensor in tensors.items():
            if not np.isfinite(tensor).all():
                raise OptimalStepError(
                    f"{key} holds NaN or infinity, as after a training that diverged; "
                    "train the model again"
                )
            if tensor.dtype == np.float16:
                tensors[key] = tensor.astype(np.float32)
        return tensors


def check_tensors(found: Mapping[str, TensorInfo], expected: Mapping[str, tuple[int, ...]]) -> None:
    """Compare the tensors in the header with the classifier that the settings describe.

    Raises:
        OptimalStepError: names, types or shapes differ.
    """
    for name in [*expected, *found]:
        if name not in found:
            raise OptimalStepError(
                f"{name} is missing, so the parts do not belong to the same model"
            )
        if name not in expected:
            raise OptimalStepError(f"{name} belongs to another model")
        here, there = found[name], TensorInfo(_FLOAT32, expected[name])
        if here.shape != there.shape or here.type not in (_FLOAT32, _FLOAT16):
            is_there = (
                f"{name} is {here.type}{list(here.shape)} where the settings expect "
                f"{there.type}{list(there.shape)}"
            )
            raise OptimalStepError(f"{is_there}, so the parts do not belong to the same model")


class StoredSystem(TypedDict):
    """What settings.json says of transition system and calibration, for models of all kinds."""

    transition_system: NotRequired[str]
    transition_options: NotRequired[dict[str, int]]
    calibration: NotRequired[dict[str, float | list[float] | None]]


class _StoredLattice(TypedDict):
    lookahead: NotRequired[int | None]


class _StoredModel(StoredSystem):
    slots: list[str]
    lattice: NotRequired[_StoredLattice]
    int8: NotRequired[bool]
    int8_lost_las: NotRequired[float]


def check_settings(settings: dict[str, Any], header: Mapping[str, TensorInfo]) -> ClassifierSpec:
    """Check types and ranges of the settings of classifier and features;
    return the classifier's spec.

    No size may be larger than the number of numbers in all tensors, so that the layout to compare
    with the header is small.

    Raises:
        KeyError, TypeError, ValueError: something is missing or invalid.
    """
    spec = ClassifierSpec.read(settings["classifier"], n_numbers(header), "classifier")
    stored = checked(settings, _StoredModel, "settings")
    if stored.get("int8") and spec.encoder is None:
        raise OptimalStepError("int8 is for a model with an encoder")
    lookahead = stored.get("lattice", {}).get("lookahead")
    if lookahead is not None and not 1 <= lookahead <= MAX_LOOKAHEAD:
        raise OptimalStepError(f"lookahead must be from 1 to {MAX_LOOKAHEAD}")
    return spec


def n_numbers(header: Mapping[str, TensorInfo]) -> int:
    """Return how many numbers all tensors hold."""
    return sum(math.prod(info.shape) for info in header.values())


@dataclass(frozen=True)
class Contents:
    """The contents of a model folder, for the parts that interpret them.

    Attributes:
        folder: the folder.
        settings: the contents of settings.json, unchecked.
        spec: the network's, checked; None if the model has no network.
        without_lemmas: whether the folder's lemmas cannot be used.
    """

    folder: Path
    settings: dict[str, Any]
    spec: ClassifierSpec | None = None
    without_lemmas: bool = False

    @cached_property
    def vocabularies(self) -> dict[str, Any]:
        """The contents of vocabularies.json, unchecked."""
        return read_json(self.folder, VOCABULARIES)

    def errors_in_settings(self) -> AbstractContextManager[None]:
        """Turn errors into a ModelError that names settings.json."""
        return errors_named(self.folder / SETTINGS)

    def errors_in_vocabularies(self) -> AbstractContextManager[None]:
        """Turn errors into a ModelError that names vocabularies.json."""
        return errors_named(self.folder / VOCABULARIES)

    @contextmanager
    def file(self, name: str) -> Iterator[Path]:
        """Yield the path of another file; turn errors into a ModelError that names it."""
        path = _part(self.folder, name)
        with errors_named(path):
            yield path


def check_written(kind: str, value: str) -> None:
    """Refuse a value that cannot be written in a column."""
    if "\t" in value or "\n" in value:
        raise OptimalStepError(f"the {kind} {value!r} would break the lines of the output")
    value.encode("utf-8")  # UnicodeEncodeError is a ValueError


def upgrade(
    settings: dict[str, Any], tensors: dict[str, _T]
) -> tuple[dict[str, Any], dict[str, _T]]:
    """Convert settings and tensors of any of FORMATS to FORMAT.

    In format 1, slots that read a token itself read ``context``, and the tensors of the token
    representation had other names. Older scorers of lemmas (scores_older_lemmas) are left out.
    """
    if scores_older_lemmas(settings):
        classifier = settings["classifier"]
        encoder = {name: value for name, value in classifier["encoder"].items() if name != "lemmas"}
        settings = settings | {"classifier": classifier | {"encoder": encoder}}
        tensors = {
            name: tensor
            for name, tensor in tensors.items()
            if not name.startswith("tokens.lemmas.")
        }
    if settings["format"] == FORMAT:
        return settings, tensors
    slots = [slot.replace(":context", ":token") for slot in settings["slots"]]
    return settings | {"format": FORMAT, "slots": slots}, {
        _renamed(name): tensor for name, tensor in tensors.items()
    }


def scores_older_lemmas(settings: dict[str, Any]) -> bool:
    """Return whether a model learned lemmas together with its parser, as in older versions,
    from an encoder's layer.
    """
    encoder = settings["classifier"].get("encoder")
    return bool(encoder) and "layer" in (encoder.get("lemmas") or {})


def _renamed(name: str) -> str:
    old = next((old for old in _RENAMED if name.startswith(old)), "")
    return _RENAMED.get(old, "") + name.removeprefix(old)


@contextmanager
def errors_named(path: Path) -> Iterator[None]:
    """Turn errors into a ModelError that names a part."""
    try:
        yield
    except ModelError:
        raise
    except OSError as error:
        raise ModelError(
            f"{path}: it cannot be read ({error.strerror or error}); copy the whole folder again"
        ) from error
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        RuntimeError,
        SafetensorError,
    ) as error:
        said = f"there is no field {error}" if isinstance(error, KeyError) else str(error)
        said = said if len(said) <= _QUOTED else f"{said[:_QUOTED]}..."
        raise ModelError(
            f"{path}: this part of the model is damaged ({said}); copy the folder again"
        ) from error


def _part(folder: Path, name: str) -> Path:
    path = folder / name
    with errors_named(path):
        if not os.path.lexists(path):
            raise ModelError(
                f"{path}: this part of the model is missing; copy the whole folder again"
            )
        if not path.is_file():  # reading a pipe would wait
            raise ModelError(f"{path}: not a regular file; copy the whole folder again")
    return path


def _refuse_constant(name: str) -> None:
    raise OptimalStepError(f"{name} is not a number")
