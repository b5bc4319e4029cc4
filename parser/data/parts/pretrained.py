"""The pretrained encoder of a model: its files, where they are,
and how its tokenizer segments forms.

It is a folder in the layout of transformers, with ``config.json``, ``tokenizer.json`` and
safetensors. Other formats, such as pickle, are not read. A model folder records the SHA-256
checksums of these files, and may hold them itself. networks/pretrained.py computes vectors with it.
"""

from __future__ import annotations

import heapq
import json
import logging
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from operator import ne
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from safetensors import SafetensorError, safe_open

from oracles.errors import OptimalStepError
from parser.data.attributes import AttributeColumns
from parser.data.parts.kept_pieces import keep, kept_pieces
from parser.data.parts.part import PartTuning, PartWishes, WordPart
from parser.data.parts.subwords import (
    TOKENIZER,
    PieceReader,
    Subwords,
    read_tokenizer,
    tokenizer_of_forms,
)
from parser.data.vocabulary import N_RESERVED
from parser.model_folder import SETTINGS, Contents, read_json
from parser.network_spec import ClassifierSpec, PretrainedSpec, Shapes, prefixed
from parser.storage import from_json, sha256_of
from parser.stored_values import checked

log = logging.getLogger(__name__)

CONFIG = "config.json"
HELD = "pretrained"
"""The encoder's folder within a model's folder."""

# The length of the vectors that the encoder's vectors are projected to.
_SIZE = 256
# Above this share of words with unknown characters, the encoder was made for other languages.
_MANY_UNKNOWN = 0.01

_INDEX = "model.safetensors.index.json"
_WEIGHTS = re.compile(r"model(-\d+-of-\d+)?\.safetensors")
# Types of numbers that numpy has, as safetensors names them.
_OF_NUMPY = {"F64", "F32", "F16", "I8"}
_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w.-]+)?")


class _StoredEncoder(TypedDict):
    """What settings.json says of the encoder."""

    name: str
    sha256: dict[str, str]


class PretrainedError(OptimalStepError):
    """A pretrained encoder cannot be used, or needs a missing package;
    the message says why and what to do.
    """


def package() -> Any:
    """Return the module ``transformers``, loaded on the first call.

    Raises:
        PretrainedError: it, or ``tokenizers``, or torch is not installed.
    """
    try:
        import tokenizers  # noqa: F401 - transformers could be there without the others
        import torch  # noqa: F401
        import transformers
    except ImportError as error:
        raise PretrainedError(
            "a pretrained encoder needs the packages transformers, tokenizers and torch "
            f"({error}); pip install transformers tokenizers torch, "
            "or pip install '.[pretrained]' in a checkout"
        ) from error
    return transformers


def find_encoder(name: str, *, download: bool = False) -> Path:
    """Return the folder of a pretrained encoder.

    Args:
        name: a folder, or the name of a model on the Hugging Face hub.
        download: whether to download a model that has not been fetched before.

    Raises:
        PretrainedError: there is no such folder, and no such model.
    """
    folder = Path(name)
    if folder.is_dir():
        return folder
    if not _HUB_NAME.fullmatch(name):
        raise PretrainedError(
            f"{name}: there is no such folder; name one with {CONFIG}, {TOKENIZER} and "
            "model.safetensors in it"
        )
    package()
    from huggingface_hub import snapshot_download

    wanted = [CONFIG, TOKENIZER, "model.safetensors", "model-*.safetensors", _INDEX]
    try:
        return Path(snapshot_download(name, allow_patterns=wanted, local_files_only=not download))
    except Exception as error:  # the network, the hub or the disk may raise any error
        said = (str(error) or type(error).__name__).splitlines()[0]
        tried = (
            "the hub does not give it"
            if download
            else f"it has not been fetched (hf download {name})"
        )
        raise PretrainedError(f"{name}: there is no such folder, and {tried}: {said}") from error


def files_of(folder: Path) -> list[str]:
    """Return the names of the encoder's files.

    Raises:
        PretrainedError: a file is missing.
    """
    weights = (
        sorted(path.name for path in folder.iterdir() if _WEIGHTS.fullmatch(path.name))
        if folder.is_dir()
        else []
    )
    names = [CONFIG, TOKENIZER, *weights, *([_INDEX] if (folder / _INDEX).is_file() else [])]
    missing = [name for name in (CONFIG, TOKENIZER) if not (folder / name).is_file()]
    if missing or not weights:
        what = {CONFIG: "of transformers", TOKENIZER: "of a fast tokenizer"}
        said = f"{missing[0]} {what[missing[0]]}" if missing else "model.safetensors"
        raise PretrainedError(
            f"{folder}: this is not the folder of a pretrained encoder, it lacks {said}; in "
            "Python, AutoModel.from_pretrained(NAME).save_pretrained(FOLDER) and "
            "AutoTokenizer.from_pretrained(NAME).save_pretrained(FOLDER) write one"
        )
    return names


def sums_of(folder: Path) -> dict[str, str]:
    """Return, by name, the SHA-256 checksums of the files; see files_of()."""
    return {name: sha256_of(folder / name) for name in files_of(folder)}


class PretrainedTokenizer(PieceReader):
    """The tokenizer of a pretrained encoder, which segments forms.

    Args:
        folder: the encoder's folder.
        source: its name in the settings, to find it again.
        sums: the checksums of its files.
        held: whether models hold it in their folders.
        kept: int64[kept], the places of the pieces that are kept; None: all.

    Attributes:
        folder, source, sums, held, kept: as passed.
        whole: the description of the tokenizer, with the kept pieces.
        before, after: the numbers of the special tokens that a sentence begins and ends with.

    Raises:
        PretrainedError: a package is not installed, or the tokenizer cannot be used.
    """

    name = "pretrained"
    in_sentences = True
    setting = "encoder.pretrained"
    incidental = ("pretrained.cache",)

    rows = 16

    _spec: PretrainedSpec | None = None  # the sizes that its vectors are read with

    def __init__(
        self,
        folder: Path,
        source: str,
        sums: Mapping[str, str],
        held: bool = False,
        kept: np.ndarray | None = None,
    ) -> None:
        # The encoder is read later, when the working folder may be another one.
        self.folder = folder.absolute()
        self.source = source
        self.sums = dict(sums)
        self.held = held
        self.kept = kept
        try:
            self.whole = read_tokenizer(folder / TOKENIZER)
            if kept is not None:
                self.whole = keep(self.whole, kept)
            super().__init__(json.dumps(tokenizer_of_forms(self.whole)))
            # A plain tokenizer knows the special tokens without finding them in forms.
            reader = self if self.is_plain else Subwords(json.dumps(self.whole))
            self.before, self.after = reader.special_tokens()
        except (OSError, ValueError) as error:
            raise PretrainedError(f"{folder / TOKENIZER}: {error}") from error

    @classmethod
    def new(
        cls, wanted: PartWishes, sentences: Sequence[AttributeColumns]
    ) -> PretrainedTokenizer | None:
        """Return the tokenizer of the encoder that a plan names;
        an encoder that is tuned keeps only some pieces.

        Raises:
            PretrainedError: the encoder is missing, or cannot be used.
        """
        source, how = wanted.pretrained_encoder, wanted.pretrained
        if source is None or how is None:
            return None
        log.info("%s: reading the tokenizer of the pretrained encoder", source)
        tokenizer = cls.of(source, download=True)
        width, layers = tokenizer.sizes()
        if how.layers is not None and how.layers > layers:
            raise PretrainedError(
                f"pretrained.layers={how.layers}: {source} has {layers} layers; "
                f"give pretrained.layers={layers}"
            )
        n_kept = 0 if how.layers in (None, layers) else how.layers
        spec = PretrainedSpec(
            width, 1 if how.tune else 1 + (n_kept or layers), _SIZE, how.tune, n_kept
        )
        forms = Counter(form for sentence in sentences for form in sentence.forms)
        numbers = {form: tokenizer.numbers_of(form) for form in forms}
        tokenizer._warn_of_unknown(forms, numbers)
        if how.tune:
            tokenizer = tokenizer._with_pieces_of(numbers, how.pieces)
        tokenizer.held, tokenizer._spec = how.save, spec
        return tokenizer

    def _with_pieces_of(
        self, numbers: Mapping[str, list[int]], most: int | None
    ) -> PretrainedTokenizer:
        """Return the tokenizer with the pieces that forms of a language need; see kept_pieces().

        ``numbers``: by form, the numbers of its pieces.
        """
        added = [token["id"] for token in self.whole.get("added_tokens") or []]
        always = [
            *self.before,
            *self.after,
            *(place for place in added if place < len(self) - N_RESERVED),
        ]
        needed = {number - N_RESERVED for pieces in numbers.values() for number in pieces}
        kept = kept_pieces(self.whole["model"], "".join(numbers), needed, most, always)
        if kept is None:
            return self
        log.info(
            "%s of %s pieces of the pretrained encoder are kept",
            f"{len(kept):,}",
            f"{len(self) - N_RESERVED:,}",
        )
        return PretrainedTokenizer(self.folder, self.source, self.sums, self.held, kept)

    def _warn_of_unknown(self, forms: Mapping[str, int], numbers: Mapping[str, list[int]]) -> None:
        """Warn if many words have characters without a piece.

        Args:
            forms: how often each form occurs in the training part.
            numbers: by form, the numbers of its pieces.
        """
        model = self.whole["model"]
        if model.get("type") == "Unigram":
            unknown = model.get("unk_id")
        else:
            unknown = model["vocab"].get(model.get("unk_token"))
        affected = {
            form: count
            for form, count in forms.items()
            if unknown is not None and N_RESERVED + unknown in numbers[form]
        }
        share = sum(affected.values()) / max(1, sum(forms.values()))
        if share > _MANY_UNKNOWN:
            common = ", ".join(heapq.nlargest(3, affected, key=affected.__getitem__))
            log.warning(
                "%s: %.1f%% of the words (%s) have characters that the pretrained encoder does not "
                "know; choose one that has read this language",
                self.source,
                100 * share,
                common,
            )

    @classmethod
    def files(cls, named: str) -> dict[str, Path]:
        """Return the files of the encoder.

        Raises:
            PretrainedError: the encoder is missing, or a package that it needs.
        """
        package()
        folder = find_encoder(named, download=True)
        return {name: folder / name for name in files_of(folder)}

    @classmethod
    def refuse_start(cls, wanted: PartWishes, known: WordPart | None) -> str | None:
        how = wanted.pretrained
        if wanted.pretrained_encoder is not None:
            return f"a model keeps its own {cls.name}; leave out {cls.setting}"
        if known is None and how is not None and (how.save or how.cache is not None):
            return "that model reads no pretrained encoder; leave pretrained.* out"
        return None

    def encode(self, sentences: Sequence[AttributeColumns]) -> np.ndarray:
        """Return the numbers of the forms' pieces; sentences in capitals are read in lower case."""
        return self.encode_forms([without_capitals(sentence.forms) for sentence in sentences])

    @property
    def fixed(self) -> bool:
        return self._spec is not None and not self._spec.tuned

    def tuning(self, wanted: PartWishes) -> PartTuning | None:
        how = wanted.pretrained
        if how is None or self._spec is None or not self._spec.tuned:
            return None
        return PartTuning(f"{self.name}.transformer.", how.learning_rate, how.warmup)

    def extended(
        self,
        wanted: PartWishes,
        sentences: Sequence[AttributeColumns],
        tensors: Mapping[str, np.ndarray],
    ) -> PretrainedTokenizer:
        same = copy(self)
        same.held |= wanted.pretrained is not None and wanted.pretrained.save
        return same

    def completed(self, spec: ClassifierSpec) -> ClassifierSpec:
        return replace(spec, pretrained=self._spec)

    def size(self, spec: ClassifierSpec) -> int:
        return _known(spec).size

    def shapes(self, spec: ClassifierSpec) -> Shapes:
        return prefixed(f"{self.name}.", _known(spec).shapes())

    def save(self, folder: Path, reader: Any) -> dict[str, Any]:
        """Write the encoder if the model's folder holds it; return its name and checksums.

        Raises:
            PretrainedError: its files have changed.
        """
        sums = self.sums
        if self._spec is not None and self._spec.tuned:
            sums = reader.save(folder / HELD)
        elif self.held:
            (folder / HELD).mkdir()
            for name in sums:
                shutil.copyfile(self.folder / name, folder / HELD / name)
            if differing := [
                name for name, digest in sums_of(folder / HELD).items() if sums[name] != digest
            ]:
                raise PretrainedError(
                    f"{self.folder / differing[0]} is not what it was when training began; restore "
                    "the old file, and start the run again in its folder"
                )
        return {self.name: {"name": self.source, "sha256": sums}}

    @classmethod
    def packed(cls, model: Path) -> list[str]:
        if (model / HELD).is_dir():
            return [f"{HELD}/{name}" for name in sorted(files_of(model / HELD))]
        if cls.name in read_json(model, SETTINGS):
            raise PretrainedError(
                f"{model}: it does not hold the pretrained encoder that it needs; train it with "
                f"pretrained.save=true, or copy the encoder's folder as {model / HELD}"
            )
        return []

    @classmethod
    def read(cls, contents: Contents) -> PretrainedTokenizer | None:
        """Return the tokenizer of the encoder that a model's folder names.

        Raises:
            PretrainedError: the encoder that the model needs is missing.
        """
        if contents.spec is None or contents.spec.pretrained is None:
            return None
        with contents.errors_in_settings():
            stored = checked(contents.settings[cls.name], _StoredEncoder, cls.name)
        tokenizer = cls.needed_by(contents.folder, stored["name"], stored["sha256"])
        tokenizer._spec = contents.spec.pretrained
        return tokenizer

    def sizes(self) -> tuple[int, int]:
        """Return the length of the encoder's vectors, and the number of its layers."""
        try:
            config = package().AutoConfig.from_pretrained(
                self.folder, trust_remote_code=False, local_files_only=True
            )
            return int(config.hidden_size), int(config.num_hidden_layers)
        except Exception as error:  # any configuration of transformers may raise any error
            raise PretrainedError(
                f"{self.folder / CONFIG}: transformers knows no such encoder ({error})"
            ) from error

    def config(self) -> dict[str, Any]:
        """Return the encoder's config.json."""
        return checked(from_json((self.folder / CONFIG).read_bytes()), dict[str, Any], CONFIG)

    def weights(self) -> dict[str, np.ndarray] | None:
        """Return the encoder's weights by their names in transformers;
        None if numpy has no numbers of their type.

        Raises:
            PretrainedError: a file cannot be read.
        """
        tensors: dict[str, np.ndarray] = {}
        with self.errors_in_files():
            for path in sorted(self.folder.iterdir()):
                if _WEIGHTS.fullmatch(path.name):
                    with safe_open(path, framework="np") as file:
                        names = list(file.keys())
                        if not {file.get_slice(name).get_dtype() for name in names} <= _OF_NUMPY:
                            return None
                        tensors |= {name: file.get_tensor(name) for name in names}
        return tensors

    def check_encoder(self, n_vectors: int, positions: int) -> None:
        """Refuse an encoder that does not fit.

        ``n_vectors``: how many pieces have a vector; ``positions``: how many pieces it reads at a
        time.

        Raises:
            PretrainedError: it does not fit the tokenizer.
        """
        if positions - len(self.before) - len(self.after) < self.rows:
            raise PretrainedError(
                f"{self.folder}: it reads only {positions} pieces at a time; "
                "take another pretrained encoder"
            )
        if len(self) - N_RESERVED > n_vectors:
            raise PretrainedError(
                f"{self.folder}: {TOKENIZER} has more pieces than the encoder has vectors; "
                "are both from the same model?"
            )

    @contextmanager
    def errors_in_files(self) -> Iterator[None]:
        """Turn errors of damaged files into a PretrainedError."""
        try:
            yield
        except PretrainedError:
            raise
        except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
            said = f"{error} is missing" if isinstance(error, KeyError) else error
            raise PretrainedError(
                f"{self.folder}: this pretrained encoder cannot be read ({said})"
            ) from error

    @classmethod
    def of(cls, name: str, *, download: bool = False) -> PretrainedTokenizer:
        """Return the tokenizer of an encoder; see find_encoder()."""
        folder = find_encoder(name, download=download)
        return cls(folder, str(folder.absolute()) if Path(name).is_dir() else name, sums_of(folder))

    @classmethod
    def needed_by(cls, model: Path, name: str, sums: Mapping[str, str]) -> PretrainedTokenizer:
        """Return the tokenizer of the encoder that a model holds, or of the one that it was trained
        with.

        Args:
            model: the model's folder.
            name, sums: the name and checksums of the encoder in the folder.

        Raises:
            PretrainedError: the encoder is missing, or is another one.
        """
        held = model / HELD
        try:
            folder = held if held.is_dir() else find_encoder(name)
            actual_sums = sums_of(folder)
        except PretrainedError as error:
            raise PretrainedError(
                f"{model}: the pretrained encoder that this model reads with is not there "
                f"({error}); copy its folder, or make a link to it, as {held}"
            ) from error
        if actual_sums != sums:
            differing = sorted(
                file for file in {*actual_sums, *sums} if actual_sums.get(file) != sums.get(file)
            )
            raise PretrainedError(
                f"{folder}: this is not the pretrained encoder that {model} was trained with, the "
                f"SHA-256 sum of {differing[0]} differs; copy the right one, "
                f"or make a link to it, as {held}"
            )
        return cls(folder, name, sums, folder == held)


def without_capitals(forms: list[str]) -> list[str]:
    """Return the forms of a sentence, in lower case if the whole sentence is in capitals.

    Encoders split words in capitals into many pieces, which they have seldom seen: read in lower
    case, such sentences have 5.4 LAS more with en-tuned (experiments/tuned.md). A sentence is in
    capitals if it has no small letter, and at least two words with several capitals: a single one
    may be an abbreviation.
    """
    if any(form != form.upper() for form in forms):
        return forms
    lower = [form.lower() for form in forms]
    changed = (sum(map(ne, *pair)) for pair in zip(forms, lower, strict=True))
    return lower if sum(capitals > 1 for capitals in changed) > 1 else forms


def _known(spec: ClassifierSpec) -> PretrainedSpec:
    assert spec.pretrained is not None, "a spec with a pretrained encoder"
    return spec.pretrained
