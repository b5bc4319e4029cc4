"""Vectors of subwords: the input embeddings of a pretrained encoder, with which any form has a vector.

A form is segmented into pieces by the encoder's own tokenizer, and its vector is the mean of its pieces' embeddings, centred,
in the space of their first principal components over the forms of the training part. All of this is linear, so that each piece
has a vector of its own once and for all. Nothing of the encoder but the table of its input embeddings is used.

The pretrained encoder is a folder in the layout of transformers, of which two files are read: ``model.safetensors`` and
``tokenizer.json``. Neither transformers nor torch is needed, only the package ``tokenizers``, in training and in parsing.
"""

from __future__ import annotations

import json
import logging
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from parser.conllu.checks import counted
from parser.data.attributes import SUBWORDS, AttributeColumns
from parser.data.parts.part import FormPart, PartWishes
from parser.data.vocabulary import N_RESERVED, UNKNOWN
from parser.model_folder import SUBWORD_TOKENIZER, Contents
from parser.network_spec import ClassifierSpec, Embedding, Shapes
from parser.storage import sha256_of

log = logging.getLogger(__name__)

WEIGHTS, TOKENIZER = FILES = "model.safetensors", "tokenizer.json"
"""What is read of the folder of a pretrained encoder."""

# What transformers calls the table of input embeddings: of BERT and its kin, ModernBERT, GPT-2, T5, and decoders since Llama.
_TABLES = tuple(f"{name}.weight" for name in ("word_embeddings", "tok_embeddings", "wte", "shared", "embed_tokens"))

COMPONENTS = 100
"""Length of a vector. With 200 and 384, LAS on hu was no higher (experiments/pretrained_vectors.md)."""


class SubwordError(ValueError):
    """Subwords cannot be read, or not without a package that is not installed; the message says why, and the fix."""


def package() -> Any:
    """The module ``tokenizers``, loaded on the first call.

    Raises:
        SubwordError: it is not installed.
    """
    try:
        import tokenizers
    except ImportError as error:
        raise SubwordError(
            "the package tokenizers, which segments into subwords, is not installed; pip install tokenizers, or "
            "pip install '.[subwords]' in a checkout"
        ) from error
    return tokenizers


class PieceReader(FormPart):
    """How forms are segmented, and the numbers of their pieces, the first ones. Threads may use one side by side.

    Args:
        description: a tokenizer, in the JSON of the package ``tokenizers``.

    Raises:
        SubwordError: it is none, or the package is not installed.
    """

    def __init__(self, description: str) -> None:
        self.description = description
        tokenizers = package()
        try:
            self._tokenizer = tokenizers.Tokenizer.from_str(description)
            self._tokenizer.no_padding()
            self._tokenizer.no_truncation()
            self._tokenizer.encode("\U0010ffff")  # it may know no piece for what is unknown
        except Exception as error:  # the package knows no other class
            raise SubwordError(f"the package tokenizers cannot use this tokenizer: {error}") from error
        self._size = 1 + max(self._tokenizer.get_vocab().values(), default=-1)

    def __len__(self) -> int:
        """Rows of a table of their vectors, reserved numbers included."""
        return N_RESERVED + self._size

    def pieces(self, form: str) -> tuple[list[int], list[str]]:
        """The pieces of a form, all of them: their places in the vocabulary, and what they are."""
        found = self._tokenizer.encode(form, add_special_tokens=False)
        return found.ids, found.tokens

    def special_tokens(self) -> tuple[list[int], list[int]]:
        """The places in the vocabulary of the special tokens that the tokenizer puts before and after a text."""
        found = self._tokenizer.encode("a", add_special_tokens=True)
        ordinary = [place for place, special in enumerate(found.special_tokens_mask) if not special]
        first, last = (ordinary[0], ordinary[-1]) if ordinary else (len(found.ids), len(found.ids))
        return found.ids[:first], found.ids[last + 1 :]

    def numbers_of(self, form: str) -> list[int]:
        """The pieces of a form; UNKNOWN for one that has none."""
        # Half a character cannot be given to the package.
        pieces, _ = self.pieces(form.encode("utf-8", "replace").decode())
        return [N_RESERVED + piece for piece in pieces[: self.rows]] or [UNKNOWN]


class Subwords(PieceReader):
    """Pieces with a vector each, which training does not change."""

    name = SUBWORDS
    half = (f"inputs.vectors.{SUBWORDS}",)

    rows = 8
    """Of XLM-R's pieces, 4 forms of 1,000 have more on cu, 3 on el, 1 on hu."""

    _vectors: np.ndarray | None = None  # that training begins with

    @classmethod
    def new(cls, wanted: PartWishes, sentences: Sequence[AttributeColumns]) -> Subwords | None:
        if (folder := wanted.subwords) is None:
            return None
        log.info("%s: reading the vectors of subwords", folder)
        made, vectors = read_pretrained(Path(folder), chain.from_iterable(sentence.forms for sentence in sentences))
        log.info("%s of subwords: %.1f MB", counted(len(vectors), "vector"), vectors.nbytes / 1e6)
        made._vectors = vectors
        return made

    def extended(
        self, wanted: PartWishes, sentences: Sequence[AttributeColumns], tensors: Mapping[str, np.ndarray]
    ) -> Subwords:
        same = copy(self)
        (same._vectors,) = (tensors[name] for name in self.half)
        return same

    def completed(self, spec: ClassifierSpec) -> ClassifierSpec:
        assert self._vectors is not None, "it is about to be trained with"
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
            SubwordError: the package that segments is not installed.
        """
        if contents.spec is None or cls.name not in contents.spec.embeddings:
            return None
        package()
        with contents.vocabularies_named():
            digest = contents.vocabularies[cls.name]
        with contents.file(SUBWORD_TOKENIZER) as path:
            description = path.read_text(encoding="utf-8")
            if sha256_of(path) != digest:
                raise ValueError("its SHA-256 is not the one in vocabularies.json")
            return cls(description)


def read_pretrained(folder: Path, forms: Iterable[str], components: int = COMPONENTS) -> tuple[Subwords, np.ndarray]:
    """The subwords of a pretrained encoder, and their vectors.

    Of a vocabulary that is a unigram model, pieces with letters of other scripts than those of the forms are left out.

    Args:
        folder: of the encoder, in the layout of transformers.
        forms: of the training part, over which the components are principal.
        components: length of a vector, at most; the embeddings may be shorter.

    Returns:
        The subwords, and float16[len(subwords), size]. The reserved rows are zero, and the mean square of the length of
        the vectors of the forms is 1.

    Raises:
        SubwordError: a file is missing or cannot be read.
    """
    description, table = tokenizer_of_forms(folder / TOKENIZER), _read_table(folder / WEIGHTS)
    whole = Subwords(json.dumps(description))
    if len(whole) - N_RESERVED > len(table):
        raise SubwordError(f"{folder}: {TOKENIZER} has {len(whole) - N_RESERVED:,} pieces, {WEIGHTS} {len(table):,} vectors")
    components = min(components, table.shape[1])
    pieces = {form: whole.pieces(form)[0] for form in sorted(set(forms))}
    means = np.array([table[numbers].mean(axis=0, dtype=np.float64) for numbers in pieces.values() if numbers])
    if not len(means):
        raise SubwordError(f"{folder}: {TOKENIZER} finds no pieces in any form; take another pretrained encoder")
    centre = means.mean(axis=0)
    projected = _principal(means - centre, components)
    scale = np.sqrt((((means - centre) @ projected) ** 2).sum(axis=1).mean())
    kept = _keep_scripts(description, "".join(pieces), len(whole) - N_RESERVED)
    subwords = Subwords(json.dumps(description, ensure_ascii=False))
    vectors = np.zeros((len(subwords), components), np.float16)
    vectors[N_RESERVED:] = (table[kept] - centre) @ projected / (scale or 1.0)
    return subwords, vectors


def _principal(centred: np.ndarray, n: int) -> np.ndarray:
    """float64[size, n]: the first principal components of float64[vectors, size]; the largest number of each is positive."""
    _, found = np.linalg.eigh(centred.T @ centred)
    first = found[:, ::-1][:, :n]
    return first * np.sign(first[np.abs(first).argmax(axis=0), np.arange(n)])


def tokenizer_of_forms(path: Path) -> dict[str, Any]:
    """The description of a tokenizer as it segments forms one by one.

    It finds no special tokens in them, and the pieces of a byte-level one begin with the blank before a word.

    Raises:
        SubwordError: the file cannot be read.
    """
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        model = found.get("model", {})
        special = {token["content"] for token in found.get("added_tokens", []) if token["special"]}
        if model.get("type") == "Unigram":  # whose vocabulary has them, too, but no blanks
            vocabulary = [[f"{piece} " if piece in special else piece, score] for piece, score in model["vocab"]]
            found["model"] = model | {"vocab": vocabulary}
        kinds = [found.get("pre_tokenizer") or {}]
        kinds += kinds[0].get("pretokenizers", [])
        if any(kind.get("type") == "ByteLevel" and not kind.get("add_prefix_space") for kind in kinds):
            before = [found["normalizer"]] if found.get("normalizer") else []
            blank = {"type": "Prepend", "prepend": " "}
            found["normalizer"] = {"type": "Sequence", "normalizers": [*before, blank]}
        return found | {"added_tokens": []}
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        wanted = f"name a folder of a pretrained encoder with {WEIGHTS} and {TOKENIZER} in it"
        raise SubwordError(f"{path} cannot be read ({error}); {wanted}") from error


def _read_table(path: Path) -> np.ndarray:
    """float[pieces, size]: the input embeddings."""
    try:
        with safe_open(path, framework="np") as tensors:
            named = [name for name in tensors.keys() if name.endswith(_TABLES)]  # noqa: SIM118 - it is not a mapping
            if not named:
                raise ValueError(f"no tensor in it ends in {', '.join(_TABLES)}")
            if (dtype := tensors.get_slice(named[0]).get_dtype()) not in ("F16", "F32"):  # numpy knows no BF16
                raise ValueError(f"{named[0]} is {dtype}; save the encoder in float16 or float32")
            table: np.ndarray = tensors.get_tensor(named[0])
        if table.ndim != 2 or not np.isfinite(table).all():
            raise ValueError(f"{named[0]} is no table of finite numbers")
    except (OSError, ValueError, SafetensorError) as error:
        raise SubwordError(f"{path}: the input embeddings of a pretrained encoder cannot be read ({error})") from error
    return table


def _keep_scripts(description: dict[str, Any], text: str, n: int) -> np.ndarray:
    """Leaves out of a tokenizer with a unigram model the pieces with letters of scripts that a text lacks.

    Returns:
        int64[pieces], of its ``n`` pieces the places of those that stay.
    """
    model = description["model"]
    if model.get("type") != "Unigram":
        return np.arange(n)
    scripts = {_script(character) for character in text if character.isalpha()}
    stay = [
        place
        for place, (piece, _) in enumerate(model["vocab"])
        if place == model["unk_id"] or all(_script(c) in scripts for c in piece if c.isalpha())
    ]
    description["model"] = model | {
        "vocab": [model["vocab"][place] for place in stay],
        "unk_id": stay.index(model["unk_id"]),
    }
    return np.array(stay)


def _script(letter: str) -> str:
    """The first word of its name, such as LATIN."""
    return unicodedata.name(letter, "").partition(" ")[0]
