"""Vectors of subwords: the input embeddings of a pretrained encoder, which give any form a vector.

The encoder's own tokenizer segments a form into pieces. The vector of the form is the mean of its
pieces' embeddings, centred, and projected to their first principal components over the forms of the
training part. All of this is linear, so each piece has a fixed vector. Only the table of input
embeddings of the encoder is used.

The pretrained encoder is a folder in the layout of transformers, of which two files are read:
``model.safetensors`` and ``tokenizer.json``. Training and parsing need neither transformers nor
torch, but the package ``tokenizers`` unless the tokenizer is plain (unigram.py).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from oracles.errors import OptimalStepError
from parser.conllu.checks import counted
from parser.data.attributes import SUBWORDS, AttributeColumns
from parser.data.parts.kept_pieces import keep, kept_pieces
from parser.data.parts.part import FormPart, PartWishes, WordPart
from parser.data.parts.unigram import UnigramPieces
from parser.data.vocabulary import N_RESERVED, UNKNOWN
from parser.model_folder import SUBWORD_TOKENIZER, Contents
from parser.network_spec import ClassifierSpec, Embedding, Shapes
from parser.storage import from_json, sha256_of

log = logging.getLogger(__name__)

WEIGHTS, TOKENIZER = FILES = "model.safetensors", "tokenizer.json"
"""The files that are read in the folder of a pretrained encoder."""

# The names of the input embeddings in transformers: BERT and similar ones, ModernBERT, GPT-2, T5,
# and decoders since Llama.
_TABLES = tuple(
    f"{name}.weight"
    for name in ("word_embeddings", "tok_embeddings", "wte", "shared", "embed_tokens")
)

COMPONENTS = 100
"""The length of a vector. With 200 and 384, LAS on hu was no higher
(experiments/pretrained_vectors.md).
"""


class SubwordError(OptimalStepError):
    """Subwords cannot be read, or need a missing package; the message says why and what to do."""


def package() -> Any:
    """Return the module ``tokenizers``, loaded on the first call.

    Raises:
        SubwordError: it is not installed.
    """
    try:
        import tokenizers
    except ImportError as error:
        raise SubwordError(
            "the package tokenizers, which segments into subwords, is not installed; pip install "
            "tokenizers, or pip install '.[subwords]' in a checkout"
        ) from error
    return tokenizers


class PieceReader(FormPart):
    """A segmenter of forms, which numbers their first pieces. Threads may share it.

    Args:
        description: a tokenizer, in the JSON of the package ``tokenizers``.

    Raises:
        SubwordError: the description is invalid, or the package is not installed.
    """

    def __init__(self, description: str) -> None:
        self.description = description
        self._plain = UnigramPieces.of(from_json(description))
        if self._plain is not None:
            self._size = len(self._plain)
            return
        tokenizers = package()
        try:
            self._tokenizer = tokenizers.Tokenizer.from_str(description)
            self._tokenizer.no_padding()
            self._tokenizer.no_truncation()
            self._tokenizer.encode("\U0010ffff")  # fails if it has no piece for unknown characters
        except Exception as error:  # the package raises no other class
            raise SubwordError(
                f"the package tokenizers cannot use this tokenizer: {error}"
            ) from error
        self._size = 1 + max(self._tokenizer.get_vocab().values(), default=-1)

    def __len__(self) -> int:
        """Return the number of rows in a table of the pieces' vectors, reserved ones included."""
        return N_RESERVED + self._size

    def pieces(self, form: str) -> tuple[list[int], list[str]]:
        """Return all pieces of a form: their places in the vocabulary, and their texts."""
        if self._plain is not None:
            return self._plain.pieces(form)
        encoding = self._tokenizer.encode(form, add_special_tokens=False)
        return encoding.ids, encoding.tokens

    @property
    def is_plain(self) -> bool:
        """Whether it is read without the package ``tokenizers``; see unigram.py."""
        return self._plain is not None

    def special_tokens(self) -> tuple[list[int], list[int]]:
        """Return the places in the vocabulary of the special tokens that the tokenizer puts before
        and after a text.
        """
        if self._plain is not None:
            return self._plain.around
        encoding = self._tokenizer.encode("a", add_special_tokens=True)
        ordinary = [
            place for place, special in enumerate(encoding.special_tokens_mask) if not special
        ]
        first, last = (
            (ordinary[0], ordinary[-1]) if ordinary else (len(encoding.ids), len(encoding.ids))
        )
        return encoding.ids[:first], encoding.ids[last + 1 :]

    def numbers_of(self, form: str) -> list[int]:
        """Return the pieces of a form; UNKNOWN for a form without pieces."""
        # The package does not accept lone surrogates.
        pieces, _ = self.pieces(form.encode("utf-8", "replace").decode())
        return [N_RESERVED + piece for piece in pieces[: self.rows]] or [UNKNOWN]


class Subwords(PieceReader):
    """Pieces with fixed vectors, which training does not change."""

    name = SUBWORDS
    half = (f"inputs.vectors.{SUBWORDS}",)
    setting = "vectors.subwords"

    rows = 8
    """With XLM-R's tokenizer, 4 of 1,000 forms have more pieces on cu, 3 on el, 1 on hu."""

    _vectors: np.ndarray | None = None  # the vectors at the start of training

    @classmethod
    def new(cls, wanted: PartWishes, sentences: Sequence[AttributeColumns]) -> Subwords | None:
        if (folder := wanted.subwords) is None:
            return None
        log.info("%s: reading the vectors of subwords", folder)
        subwords, vectors = read_pretrained(
            Path(folder), chain.from_iterable(sentence.forms for sentence in sentences)
        )
        log.info("%s of subwords: %.1f MB", counted(len(vectors), "vector"), vectors.nbytes / 1e6)
        subwords._vectors = vectors
        return subwords

    @classmethod
    def files(cls, named: str) -> dict[str, Path]:
        return {name: Path(named) / name for name in FILES}

    @classmethod
    def refuse_start(cls, wanted: PartWishes, known: WordPart | None) -> str | None:
        return (
            None
            if wanted.subwords is None
            else f"a model keeps its own subwords; leave out {cls.setting}"
        )

    def extended(
        self,
        wanted: PartWishes,
        sentences: Sequence[AttributeColumns],
        tensors: Mapping[str, np.ndarray],
    ) -> Subwords:
        same = copy(self)
        (same._vectors,) = (tensors[name] for name in self.half)
        return same

    def completed(self, spec: ClassifierSpec) -> ClassifierSpec:
        assert self._vectors is not None, "new() or extended() has set them"
        embedding = Embedding(self._vectors.shape[1], trained=False)
        return replace(spec, embeddings={**spec.embeddings, self.name: embedding})

    def tables(self) -> dict[str, int]:
        return {self.name: len(self)}

    def vectors(self) -> dict[str, np.ndarray]:
        return {} if self._vectors is None else {self.name: self._vectors}

    def size(self, spec: ClassifierSpec) -> int:
        return spec.embeddings[self.name].size

    def shapes(self, spec: ClassifierSpec) -> Shapes:
        return {name: (len(self), self.size(spec)) for name in self.half}

    def described(self) -> dict[str, Any]:
        return {self.name: sha256(self.description.encode()).hexdigest()}

    def save(self, folder: Path, reader: Any) -> dict[str, Any]:
        (folder / SUBWORD_TOKENIZER).write_bytes(self.description.encode())
        return {}

    @classmethod
    def read(cls, contents: Contents) -> Subwords | None:
        """Return the subwords of a folder.

        Raises:
            SubwordError: the package that segments is needed, and not installed.
        """
        if contents.spec is None or cls.name not in contents.spec.embeddings:
            return None
        with contents.errors_in_vocabularies():
            digest = contents.vocabularies[cls.name]
        with contents.file(SUBWORD_TOKENIZER) as path:
            description = path.read_text(encoding="utf-8")
            if sha256_of(path) != digest:
                raise OptimalStepError("its SHA-256 is not the one in vocabularies.json")
            return cls(description)


def read_pretrained(
    folder: Path, forms: Iterable[str], components: int = COMPONENTS
) -> tuple[Subwords, np.ndarray]:
    """Return the subwords of a pretrained encoder, and their vectors.

    From a unigram model's vocabulary, pieces with letters of scripts that no form has are left out.

    Args:
        folder: the encoder's folder, in the layout of transformers.
        forms: the forms of the training part, for the principal components.
        components: the largest length of a vector; the embeddings may be shorter.

    Returns:
        The subwords, and float16[len(subwords), size]. The reserved rows are zero; the mean squared
        length of the forms' vectors is 1.

    Raises:
        SubwordError: a file is missing or cannot be read.
    """
    description, table = (
        tokenizer_of_forms(read_tokenizer(folder / TOKENIZER)),
        _read_table(folder / WEIGHTS),
    )
    whole = Subwords(json.dumps(description))
    if len(whole) - N_RESERVED > len(table):
        raise SubwordError(
            f"{folder}: {TOKENIZER} has {len(whole) - N_RESERVED:,} pieces, {WEIGHTS} "
            f"{len(table):,} vectors"
        )
    components = min(components, table.shape[1])
    pieces = {form: whole.pieces(form)[0] for form in sorted(set(forms))}
    means = np.array(
        [table[numbers].mean(axis=0, dtype=np.float64) for numbers in pieces.values() if numbers]
    )
    if not len(means):
        raise SubwordError(
            f"{folder}: {TOKENIZER} finds no pieces in any form; take another pretrained encoder"
        )
    centre = means.mean(axis=0)
    projected = _principal(means - centre, components)
    scale = np.sqrt((((means - centre) @ projected) ** 2).sum(axis=1).mean())
    kept = kept_pieces(description["model"], "".join(pieces))
    table = table[: len(whole) - N_RESERVED] if kept is None else table[kept]
    description = description if kept is None else keep(description, kept)
    subwords = Subwords(json.dumps(description, ensure_ascii=False))
    vectors = np.zeros((len(subwords), components), np.float16)
    vectors[N_RESERVED:] = (table - centre) @ projected / (scale or 1.0)
    return subwords, vectors


def _principal(centred: np.ndarray, n: int) -> np.ndarray:
    """Return float64[size, n], the first principal components of float64[vectors, size]; the number
    of each with the largest absolute value is positive.
    """
    _, components = np.linalg.eigh(centred.T @ centred)
    first = components[:, ::-1][:, :n]
    return first * np.sign(first[np.abs(first).argmax(axis=0), np.arange(n)])


def read_tokenizer(path: Path) -> dict[str, Any]:
    """Return the description of a tokenizer, in the JSON of the package ``tokenizers``.

    Raises:
        SubwordError: the file cannot be read.
    """
    try:
        description: dict[str, Any] = from_json(path.read_bytes())
        tokenizer_of_forms(description)
        return description
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        wanted = f"name a folder of a pretrained encoder with {WEIGHTS} and {TOKENIZER} in it"
        raise SubwordError(f"{path} cannot be read ({error}); {wanted}") from error


def tokenizer_of_forms(description: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a tokenizer, changed to segment single forms.

    It finds no special tokens in forms; a byte-level tokenizer sees a space before each form.
    """
    description, model = {**description}, description.get("model", {})
    special = {
        token["content"] for token in description.get("added_tokens", []) if token["special"]
    }
    # Its vocabulary contains the special tokens. A space is added to them, so that they are never
    # found: no piece has a space.
    if model.get("type") == "Unigram":
        vocabulary = [
            [f"{piece} " if piece in special else piece, score] for piece, score in model["vocab"]
        ]
        description["model"] = model | {"vocab": vocabulary}
    kinds = [description.get("pre_tokenizer") or {}]
    kinds += kinds[0].get("pretokenizers", [])
    if any(kind.get("type") == "ByteLevel" and not kind.get("add_prefix_space") for kind in kinds):
        before = [description["normalizer"]] if description.get("normalizer") else []
        blank = {"type": "Prepend", "prepend": " "}
        description["normalizer"] = {"type": "Sequence", "normalizers": [*before, blank]}
    return description | {"added_tokens": []}


def _read_table(path: Path) -> np.ndarray:
    """Return float[pieces, size], the input embeddings."""
    try:
        with safe_open(path, framework="np") as tensors:
            named = [name for name in tensors.keys() if name.endswith(_TABLES)]  # noqa: SIM118 - it is not a mapping
            if not named:
                raise OptimalStepError(f"no tensor in it ends in {', '.join(_TABLES)}")
            # numpy has no BF16
            if (dtype := tensors.get_slice(named[0]).get_dtype()) not in ("F16", "F32"):
                raise OptimalStepError(
                    f"{named[0]} is {dtype}; save the encoder in float16 or float32"
                )
            table: np.ndarray = tensors.get_tensor(named[0])
        if table.ndim != 2 or not np.isfinite(table).all():
            raise OptimalStepError(f"{named[0]} is no table of finite numbers")
    except (OSError, ValueError, SafetensorError) as error:
        raise SubwordError(
            f"{path}: the input embeddings of a pretrained encoder cannot be read ({error})"
        ) from error
    return table
