"""A pretrained encoder without torch: BERT and encoders with its architecture (Devlin et al. 2019;
Liu et al. 2019).

In 8-bit arithmetic, a matrix has a scale for each output, and the inputs of a product have a scale
for each piece. Attention, sums and normalization are in single precision. A model's folder holds a
tuned encoder with its matrices in 8 bits.

Each piece is computed by itself, except that it attends to the pieces of its window; so a vector
depends only on its sentence, whatever other sentences are read with it. The reference
implementation, networks/pretrained.py, computes the same with transformers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from oracles.errors import OptimalStepError
from parser import batch_sizes
from parser.inference.arithmetic import INT8_ZERO, quantized
from parser.inference.windows import PieceWindows
from parser.kernels import array_kernel, kernel
from parser.kernels.interpreted import instead_of
from parser.kernels.processor import fused
from parser.kernels.products import (
    Panels,
    multiply,
    panels_of_floats,
    panels_of_integers,
    width_of,
)
from parser.kernels.tiles import ROWS, WIDTH, strided_tile_of_one_row, strided_tile_of_rows

KINDS = ("bert", "roberta", "xlm-roberta", "camembert")
"""The ``model_type`` of the encoders that are read without transformers."""

SCALES = ".scales"
"""The scales of a matrix in 8 bits have the name of the matrix with this ending."""

_TABLE = "embeddings.word_embeddings.weight"
# Small tables, which are not rounded.
_IN_FLOATS = ("position_embeddings.weight", "token_type_embeddings.weight")
_F = np.float32


class EncoderConfig(NamedTuple):
    """The sizes of an encoder.

    Attributes:
        layers: how many layers it has.
        heads: the attention heads of a layer.
        epsilon: added to variances.
        first_position: the position of the first piece.
        positions: how many pieces a window may have, special tokens included.
    """

    layers: int
    heads: int
    epsilon: float
    first_position: int
    positions: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> EncoderConfig | None:
        """Return the sizes in a config.json of transformers;
        None for an encoder that is not read here.

        Raises:
            KeyError, TypeError: a size is missing, or is not a number.
        """
        usual = (
            config.get("hidden_act") == "gelu"
            and config.get("position_embedding_type", "absolute") == "absolute"
        )
        if config.get("model_type") not in KINDS or not usual or config.get("is_decoder"):
            return None
        epsilon = config["layer_norm_eps"]
        names = "num_hidden_layers", "num_attention_heads", "max_position_embeddings"
        layers, heads, positions = sizes = [config[name] for name in names]
        # RoBERTa's positions begin after the number of the padding
        first = 0 if config["model_type"] == "bert" else config["pad_token_id"] + 1
        if (
            not all(type(size) is int and size > 0 for size in sizes)
            or type(first) is not int
            or type(epsilon) is not float
        ):
            raise TypeError(f"{', '.join(names)} are not numbers above 0")
        return cls(layers, heads, epsilon, first, positions - first)


class _Product(NamedTuple):
    """A matrix of the encoder; ``bias``, float32[outputs], is added after products are scaled."""

    panels: Panels
    bias: np.ndarray


class _Norm(NamedTuple):
    """The weights of a normalization, float32[width]."""

    weight: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True)
class _Layer:
    """The weights of a layer; ``of_attention`` has queries, keys and values side by side."""

    of_attention: _Product
    attended: _Product
    after_attention: _Norm
    widened: _Product
    narrowed: _Product
    after: _Norm


class FrozenTransformer:
    """Computes the vectors of pieces; thread-safe.

    Args:
        config: the sizes.
        tensors: the weights by their names in transformers; a matrix may be int8,
            with its scales beside it (SCALES).
        layers: how many of its last layers are returned; the embeddings are one more layer,
            below the others.
        before, after: the numbers of the special tokens that a window begins and ends with.
        int8: whether weights and inputs of products are rounded to 8 bits.

    Attributes:
        width: the length of a vector.
        n_pieces: how many pieces have a vector.

    Raises:
        OptimalStepError: the tensors do not fit the sizes.
    """

    def __init__(
        self,
        config: EncoderConfig,
        tensors: Mapping[str, np.ndarray],
        layers: int,
        before: list[int],
        after: list[int],
        int8: bool = False,
    ) -> None:
        prefix = next(
            (name.removesuffix(_TABLE) for name in tensors if name.endswith(_TABLE)), None
        )
        if prefix is None:
            raise OptimalStepError(f"the weights of the pretrained encoder have no {_TABLE}")
        self._config, self._layers, self._before, self._after, self._int8 = (
            config,
            layers,
            before,
            after,
            int8,
        )
        self._room, self._tensors = config.positions - len(before) - len(after), tensors
        self._table = self._matrix(f"{prefix}{_TABLE}")
        self.width, self.n_pieces = self._table.shape[1], len(self._table)
        if config.heads < 1 or self.width % config.heads:
            raise OptimalStepError(
                f"{self.width} numbers of a vector cannot be divided among {config.heads} "
                "attention heads"
            )
        if not 0 < layers <= 1 + config.layers:
            raise OptimalStepError(
                f"of {config.layers} layers and the embeddings, {layers} cannot be read"
            )
        if max(*before, *after, -1, -1) >= self.n_pieces:
            raise OptimalStepError(
                f"a special token has no vector among those of {self.n_pieces:,} pieces"
            )
        positions = self._floats(
            f"{prefix}embeddings.position_embeddings.weight", None, self.width
        )[config.first_position :]
        if len(positions) < config.positions:
            raise OptimalStepError(
                f"only {len(positions):,} of {config.positions:,} positions have vectors"
            )
        self._positions = (
            positions
            + self._floats(f"{prefix}embeddings.token_type_embeddings.weight", None, self.width)[:1]
        )
        self._norm = self._norm_of(f"{prefix}embeddings.LayerNorm")
        self._of_layers = [
            self._layer(f"{prefix}encoder.layer.{number}.") for number in range(config.layers)
        ]
        del self._tensors  # the panels of the products have the weights

    def _layer(self, prefix: str) -> _Layer:
        within = f"{prefix}attention.self."
        widened = self._product(self.width, None, f"{prefix}intermediate.dense")
        return _Layer(
            self._product(
                self.width, self.width, *(f"{within}{name}" for name in ("query", "key", "value"))
            ),
            self._product(self.width, self.width, f"{prefix}attention.output.dense"),
            self._norm_of(f"{prefix}attention.output.LayerNorm"),
            widened,
            self._product(len(widened.bias), self.width, f"{prefix}output.dense"),
            self._norm_of(f"{prefix}output.LayerNorm"),
        )

    def _product(self, inputs: int, outputs: int | None, *names: str) -> _Product:
        """Return the product with matrices of these sizes, concatenated; ``outputs`` is the number
        of outputs of each, None for any number.
        """
        matrices = [self._matrix(f"{name}.weight") for name in names]
        for name, matrix in zip(names, matrices, strict=True):
            if matrix.shape[1] != inputs or len(matrix) != (outputs or len(matrix)):
                raise OptimalStepError(
                    f"{name}.weight has the shape {matrix.shape}, for {inputs} inputs"
                )
        bias = np.concatenate(
            [self._floats(f"{name}.bias", len(m)) for name, m in zip(names, matrices, strict=True)]
        )
        if self._int8:
            rounded = [matrix.rounded() for matrix in matrices]
            integers, scales = (np.concatenate(arrays) for arrays in zip(*rounded, strict=True))
            return _Product(panels_of_integers(integers, scales, INT8_ZERO), bias)
        return _Product(
            panels_of_floats(np.concatenate([matrix.rows() for matrix in matrices])), bias
        )

    def _norm_of(self, name: str) -> _Norm:
        return _Norm(
            self._floats(f"{name}.weight", self.width), self._floats(f"{name}.bias", self.width)
        )

    def _matrix(self, name: str) -> _Matrix:
        matrix = _tensor(self._tensors, name)
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise OptimalStepError(f"{name} has the shape {matrix.shape}, which is no matrix")
        scales = self._floats(f"{name}{SCALES}", len(matrix)) if matrix.dtype == np.int8 else None
        return _Matrix(matrix, scales)

    def _floats(self, name: str, *shape: int | None) -> np.ndarray:
        """Return a tensor in single precision; None in the shape: any number, at least 1."""
        tensor = _tensor(self._tensors, name)
        fits = tensor.ndim == len(shape) and all(
            n == (size or n) and n for n, size in zip(tensor.shape, shape, strict=True)
        )
        if not fits:
            raise OptimalStepError(
                f"{name} has the shape {tensor.shape}, which does not fit the other weights"
            )
        return np.ascontiguousarray(tensor, np.float32)

    def vectors(self, pieces: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return float16[tokens, layers, width].

        Args:
            pieces: int32[longest, tokens], see FormPart.encode().
            offsets: int64[sentences + 1], where sentences begin among the tokens.
        """
        over = PieceWindows.over(pieces, np.diff(offsets), self._room, self._before, self._after)
        by_layer = [np.zeros((0, self.width), np.float32) for _ in range(self._layers)]
        sizes = np.array([len(window) for window in over.pieces], np.int64)
        some_layers = []
        for first, last in _batches(sizes, batch_sizes.PIECES_PER_READ):
            some_layers.append(
                self._read(np.concatenate(over.pieces[first:last]), sizes[first:last])
            )
        if some_layers:
            by_layer = [np.concatenate(parts) for parts in zip(*some_layers, strict=True)]
        vectors_by_layer = np.stack([over.vectors(vectors) for vectors in by_layer], axis=1)
        with np.errstate(under="ignore"):  # the smallest values become 0, as they should
            return vectors_by_layer.astype(np.float16)

    def _read(self, pieces: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
        """Return float32[pieces, width] of each layer that is returned.

        Args:
            pieces: int64[pieces], the numbers of the pieces of some windows side by side.
            sizes: int64[windows], how many pieces each has.
        """
        starts = np.cumsum(sizes) - sizes
        places = np.arange(len(pieces)) - np.repeat(starts, sizes)
        vectors = self._table.rows(pieces) + self._positions[places]
        _normalize(vectors, *self._norm, _F(self._config.epsilon))
        read = [vectors.copy()]
        ends = np.append(starts, len(pieces))
        work = np.empty(vectors.shape, np.float32)
        for layer in self._of_layers:
            projected = self._multiplied(vectors, layer.of_attention)
            _attend(projected, ends, self._config.heads, work)
            _add(self._multiplied(work, layer.attended), vectors)
            _normalize(vectors, *layer.after_attention, _F(self._config.epsilon))
            hidden = self._multiplied(vectors, layer.widened)
            _gelu(hidden)
            _add(self._multiplied(hidden, layer.narrowed), vectors)
            _normalize(vectors, *layer.after, _F(self._config.epsilon))
            read.append(vectors.copy())
        return read[-self._layers :]

    def _multiplied(self, vectors: np.ndarray, product: _Product) -> np.ndarray:
        """Return float32[n, outputs], the product plus the bias."""
        n, outputs = len(vectors), len(product.bias)
        products = np.empty((n, len(product.panels.bias)), np.float32)
        scales = np.ones(n, np.float32)
        if self._int8:
            # the padding meets weights of 0
            integers = np.zeros((n, width_of(product.panels)), np.uint8)
            _round(vectors, integers, scales)
            multiply(integers, n, product.panels, products)
        else:
            multiply(vectors, n, product.panels, products)
        if products.shape[1] != outputs:
            products = np.ascontiguousarray(products[:, :outputs])
        _scale(products, scales, product.bias)
        return products


class _Matrix(NamedTuple):
    """A matrix of the weights, in floats or in 8 bits; ``scales`` is float32[outputs] in 8 bits,
    otherwise None.
    """

    numbers: np.ndarray
    scales: np.ndarray | None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.numbers.shape

    def __len__(self) -> int:
        return len(self.numbers)

    def rows(self, numbers: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return float32[n, inputs], some rows."""
        rows = self.numbers[numbers].astype(np.float32)
        return rows if self.scales is None else rows * self.scales[numbers][:, None]

    def rounded(self) -> tuple[np.ndarray, np.ndarray]:
        """Return int8[outputs, inputs] and float32[outputs]; see quantized()."""
        return quantized(self.rows()) if self.scales is None else (self.numbers, self.scales)


def rounded_weights(tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the weights of an encoder as a model's folder holds them: matrices in 8 bits,
    everything else in single precision. Matrices that are already in 8 bits stay so.
    """
    rounded: dict[str, np.ndarray] = {}
    for name, tensor in tensors.items():
        if tensor.dtype == np.int8:
            rounded[name] = tensor
        elif tensor.ndim == 2 and not name.endswith(_IN_FLOATS):
            rounded[name], rounded[f"{name}{SCALES}"] = quantized(tensor.astype(np.float32))
        else:
            rounded[name] = tensor.astype(np.float32)
    return rounded


def float_weights(tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the weights of rounded_weights() in single precision, as transformers names them."""
    return {
        name: tensor * tensors[f"{name}{SCALES}"][:, None] if tensor.dtype == np.int8 else tensor
        for name, tensor in tensors.items()
        if not name.endswith(SCALES)
    }


def _tensor(tensors: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    if name not in tensors:
        raise OptimalStepError(f"the weights of the pretrained encoder have no {name}")
    return tensors[name]


def _batches(sizes: np.ndarray, most: int) -> list[tuple[int, int]]:
    """Return spans of windows with about ``most`` pieces together."""
    batches = (np.cumsum(sizes) - 1) // most
    borders = [0, *(np.flatnonzero(np.diff(batches)) + 1).tolist(), len(sizes)]
    return [(first, last) for first, last in pairwise(borders) if last > first]


# exp(x) = 2 ** n * exp(r), where n is x / ln 2 rounded; exp(r) by a polynomial (Cephes, expf).
# Compilers turn it into vector instructions, unlike the library's function.
_LOG2E, _LN2_HIGH, _LN2_LOW = _F(1.44269504088896341), _F(0.693359375), _F(-2.12194440e-4)
_E0, _E1, _E2 = _F(1.9875691500e-4), _F(1.3981999507e-3), _F(8.3334519073e-3)
_E3, _E4, _E5 = _F(4.1665795894e-2), _F(1.6666665459e-1), _F(5.0000001201e-1)
_ONE, _HALF, _LOWEST = _F(1), _F(0.5), _F(-87.0)

# erf(x) by Abramowitz and Stegun (1964), 7.1.26, with an error of at most 1.5e-7.
_P, _ROOT = _F(0.3275911), _F(0.70710678118654752)
_R1, _R2, _R3, _R4, _R5 = (
    _F(0.254829592),
    _F(-0.284496736),
    _F(1.421413741),
    _F(-1.453152027),
    _F(1.061405429),
)


@kernel(fastmath={"contract"}, error_model="numpy", inline="always")
def exponential(x):
    """Return exp(x) of a float32 that is at most 0, accurate except for the last digits;
    0 below -87.
    """
    below = x < _LOWEST
    x = max(x, _LOWEST)
    n = np.floor(x * _LOG2E + _HALF)
    r = x - n * _LN2_HIGH - n * _LN2_LOW
    y = ((((_E0 * r + _E1) * r + _E2) * r + _E3) * r + _E4) * r + _E5
    y = y * r * r + r + _ONE
    power = np.int32((np.int32(n) + np.int32(127)) << np.int32(23))
    return _F(0) if below else y * power.view(np.float32)


# How many partial sums are made side by side, then added one by one: the same order everywhere.
_SUMS = 16


@kernel(fastmath={"contract"}, error_model="numpy", inline="always")
def gelu(x):
    """Return a float32 x times the probability that a standard normal number is below x
    (Hendrycks and Gimpel 2016).
    """
    z = abs(x) * _ROOT
    t = _ONE / (_ONE + _P * z)
    # 1 - erf(z)
    tail = t * (_R1 + t * (_R2 + t * (_R3 + t * (_R4 + t * _R5)))) * exponential(-z * z)
    return x * (_ONE - _HALF * tail) if x > _F(0) else x * _HALF * tail


@kernel(fastmath={"contract"}, error_model="numpy")
def _gelu(vectors):
    """Apply gelu() to float32[n, width], in place."""
    for i in range(len(vectors)):
        row = vectors[i]
        for j in range(len(row)):
            row[j] = gelu(row[j])


@kernel(fastmath={"nnan", "nsz"}, error_model="numpy")
def _round(vectors, integers, scales):
    """Round float32[n, width] to uint8[n, >= width], with a scale for each row: the integer for x
    is x / scale + INT8_ZERO.
    """
    half = _F(INT8_ZERO + 0.5)
    for i in range(len(vectors)):
        row, rounded = vectors[i], integers[i]
        largest = _F(0)
        for j in range(len(row)):
            largest = max(largest, abs(row[j]))
        scales[i] = largest / _F(127)
        factor = _F(127) / largest if largest > _F(0) else _F(0)
        for j in range(len(row)):
            rounded[j] = np.uint8(np.int32(row[j] * factor + half))


@kernel(fastmath={"contract"}, error_model="numpy")
def _scale(products, scales, bias):
    """Multiply the rows of float32[n, outputs] by float32[n], and add float32[outputs],
    in place.
    """
    for i in range(len(products)):
        row, scale = products[i], scales[i]
        for j in range(len(row)):
            row[j] = row[j] * scale + bias[j]


@kernel(error_model="numpy")
def _add(terms, vectors):
    """Add float32[n, width] to the vectors, in place."""
    for i in range(len(vectors)):
        row, term = vectors[i], terms[i]
        for j in range(len(row)):
            row[j] += term[j]


@array_kernel(fastmath={"contract"}, error_model="numpy")
def _normalize(vectors, weight, bias, epsilon):
    """Normalize the rows of float32[n, width] to mean 0 and variance 1, in place;
    then apply weight and bias.
    """
    sums = np.empty(_SUMS, np.float32)
    width = vectors.shape[1]
    whole = width - width % _SUMS
    for i in range(len(vectors)):
        row = vectors[i]
        mean = _F(0)
        for squared in range(2):
            for k in range(_SUMS):
                sums[k] = _F(0)
            for first in range(0, whole, _SUMS):
                for k in range(_SUMS):
                    x = row[first + k]
                    sums[k] += (x - mean) * (x - mean) if squared else x
            total = _F(0)
            for k in range(_SUMS):
                total += sums[k]
            for j in range(whole, width):
                total += (row[j] - mean) * (row[j] - mean) if squared else row[j]
            if squared:
                factor = _ONE / np.sqrt(total / _F(width) + epsilon)
                for j in range(width):
                    row[j] = (row[j] - mean) * factor * weight[j] + bias[j]
            else:
                mean = total / _F(width)


@array_kernel(fastmath={"contract"}, error_model="numpy")
def _attend(projected, ends, heads, attended):
    """Let each piece attend to all pieces of its window (Vaswani et al. 2017, Section 3.2).

    Args:
        projected: float32[pieces, 3 * width], queries, keys and values.
        ends: int64[windows + 1], where the windows begin, and the end of the last.
        heads: how many heads there are.
        attended: float32[pieces, width], overwritten.
    """
    width = attended.shape[1]
    size = width // heads
    longest = 0
    for w in range(len(ends) - 1):
        longest = max(longest, ends[w + 1] - ends[w])
    # Rows are padded to whole tiles; the padding is 0, or is not read.
    columns, wide = longest + -longest % WIDTH, size + -size % WIDTH
    keys = np.zeros((size, columns), np.float32)
    values = np.zeros((longest, wide), np.float32)
    scores = np.empty((longest, columns), np.float32)
    results = np.empty((longest, wide), np.float32)
    factor = _ONE / np.sqrt(_F(size))
    for w in range(len(ends) - 1):
        start, n = ends[w], ends[w + 1] - ends[w]
        for head in range(heads):
            first = head * size
            for j in range(n):
                key = projected[start + j, width + first : width + first + size]
                value = projected[start + j, 2 * width + first : 2 * width + first + size]
                for d in range(size):
                    keys[d, j] = key[d]
                    values[j, d] = value[d]
            _sum_up(projected, start * 3 * width + first, 3 * width, keys, size, scores, n, n)
            for i in range(n):
                _share_out(scores[i], n, factor)
            _sum_up(scores, 0, columns, values, n, results, n, size)
            for i in range(n):
                result = attended[start + i, first : first + size]
                for d in range(size):
                    result[d] = results[i, d]


@kernel()
def _sum_up(a, a_start, a_row, b, steps, c, rows, columns):
    """Store the products of the rows of ``a`` with ``b`` in the first rows and columns of ``c``;
    see strided_tile_of_rows.

    ``b`` and ``c`` have rows of whole tiles; c is overwritten up to the end of a tile.
    """
    whole = rows - rows % ROWS
    for column in range(0, columns, WIDTH):
        for i in range(0, whole, ROWS):
            place = i * c.shape[1] + column
            strided_tile_of_rows(
                a,
                a_start + i * a_row,
                a_row,
                1,
                b,
                column,
                b.shape[1],
                steps,
                c,
                place,
                c.shape[1],
            )
        for i in range(whole, rows):
            place = i * c.shape[1] + column
            strided_tile_of_one_row(
                a,
                a_start + i * a_row,
                a_row,
                1,
                b,
                column,
                b.shape[1],
                steps,
                c,
                place,
                c.shape[1],
            )


@kernel(fastmath={"contract"}, error_model="numpy")
def _share_out(scores, n, factor):
    """Replace the first n scores (float32) by their softmax,
    after they are multiplied by a factor.
    """
    largest = scores[0]
    for j in range(1, n):
        largest = max(largest, scores[j])
    for j in range(n):
        scores[j] = exponential((scores[j] - largest) * factor)
    total = _F(0)
    for j in range(n):
        total += scores[j]
    share = _ONE / total
    for j in range(n):
        scores[j] *= share


# The same in NumPy; see parser/kernels/interpreted.py.


def _exponential_in_numpy(x: np.ndarray) -> np.ndarray:
    below, x = x < _LOWEST, np.maximum(x, _LOWEST)
    n = np.floor(fused(x, _LOG2E, _HALF))
    r = fused(-n, _LN2_LOW, fused(-n, _LN2_HIGH, x))
    y = _E0
    for factor in (_E1, _E2, _E3, _E4, _E5):
        y = fused(y, r, factor)
    y = fused(y * r, r, r) + _ONE
    power = ((n.astype(np.int32) + np.int32(127)) << np.int32(23)).view(np.float32)
    return np.where(below, _F(0), y * power)


@instead_of(_gelu)
def _gelu_in_numpy(vectors: np.ndarray) -> None:
    z = np.abs(vectors) * _ROOT
    t = _ONE / fused(_P, z, _ONE)
    y = _R5
    for factor in (_R4, _R3, _R2, _R1):
        y = fused(t, y, factor)
    tail = t * y * _exponential_in_numpy(-z * z)
    vectors[:] = np.where(vectors > 0, vectors * fused(-_HALF, tail, _ONE), vectors * _HALF * tail)


@instead_of(_round)
def _round_in_numpy(vectors: np.ndarray, integers: np.ndarray, scales: np.ndarray) -> None:
    largest = np.abs(vectors).max(axis=1, initial=0)
    scales[: len(vectors)] = largest / _F(127)
    factors = np.where(largest > 0, _F(127) / largest, _F(0))[:, None]
    rounded = (vectors * factors + _F(INT8_ZERO + 0.5)).astype(np.int32)
    integers[: len(vectors), : vectors.shape[1]] = rounded


@instead_of(_scale)
def _scale_in_numpy(products: np.ndarray, scales: np.ndarray, bias: np.ndarray) -> None:
    products[:] = fused(products, scales[: len(products), None], bias[: products.shape[1]])


@instead_of(_add)
def _add_in_numpy(terms: np.ndarray, vectors: np.ndarray) -> None:
    vectors += terms[: len(vectors)]


@instead_of(_normalize)
def _normalize_in_numpy(
    vectors: np.ndarray, weight: np.ndarray, bias: np.ndarray, epsilon: np.float32
) -> None:
    width = _F(vectors.shape[1])

    def total(terms: Callable[[np.ndarray, Any], np.ndarray]) -> np.ndarray:
        """Add up the columns in the order of _normalize()."""
        whole = vectors.shape[1] - vectors.shape[1] % _SUMS
        sums: Any = np.zeros((len(vectors), _SUMS), np.float32)
        for first in range(0, whole, _SUMS):
            sums = terms(vectors[:, first : first + _SUMS], sums)
        result = np.zeros((len(vectors), 1), np.float32)
        for k in range(_SUMS):
            result = result + sums[:, k : k + 1]
        for j in range(whole, vectors.shape[1]):
            result = terms(vectors[:, j : j + 1], result)
        return result

    mean = total(lambda x, sums: sums + x) / width
    variance = total(lambda x, sums: fused(x - mean, x - mean, sums)) / width
    factor = _ONE / np.sqrt(variance + epsilon)
    vectors[:] = fused((vectors - mean) * factor, weight, bias)


@instead_of(_sum_up)
def _sum_up_in_numpy(
    a: np.ndarray,
    a_start: int,
    a_row: int,
    b: np.ndarray,
    steps: int,
    c: np.ndarray,
    rows: int,
    columns: int,
) -> None:
    wide = columns + -columns % WIDTH
    factors = a.reshape(-1)
    starts = a_start + np.arange(rows)[:, None] * a_row
    sums: Any = np.zeros((rows, wide), np.float32)
    for step in range(steps):
        sums = fused(factors[starts + step], b[step, :wide], sums)
    c[:rows, :wide] = sums


@instead_of(_share_out)
def _share_out_in_numpy(scores: np.ndarray, n: int, factor: np.float32) -> None:
    powers = _exponential_in_numpy((scores[:n] - scores[:n].max()) * factor)
    scores[:n] = powers * (_ONE / np.cumsum(powers)[-1])  # added up one after the other
