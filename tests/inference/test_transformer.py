"""A pretrained encoder without torch against plain NumPy, sentence by sentence; tests/networks/
compares with transformers.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.errors import OptimalStepError
from parser.data.vocabulary import N_RESERVED
from parser.inference.arithmetic import quantized
from parser.inference.transformer import (
    SCALES,
    EncoderConfig,
    FrozenTransformer,
    float_weights,
    gelu,
    rounded_weights,
)
from parser.kernels import kernel
from tests.jit import COMPILED

PIECES, POSITIONS, EPSILON = 23, 40, 1e-5
BEFORE, AFTER = [1], [2]


def random_weights(
    rng: np.random.Generator, width: int, wide: int, layers: int
) -> dict[str, np.ndarray]:
    """Return the weights of a BERT by their names in transformers."""
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (PIECES, width),
        "embeddings.position_embeddings.weight": (POSITIONS + 2, width),
        "embeddings.token_type_embeddings.weight": (2, width),
    }
    norms = ["embeddings.LayerNorm"]
    matrices: dict[str, tuple[int, int]] = {}
    for layer in (f"encoder.layer.{number}." for number in range(layers)):
        matrices |= {
            f"{layer}attention.self.{name}": (width, width) for name in ("query", "key", "value")
        }
        matrices |= {f"{layer}attention.output.dense": (width, width)}
        matrices |= {
            f"{layer}intermediate.dense": (wide, width),
            f"{layer}output.dense": (width, wide),
        }
        norms += [f"{layer}attention.output.LayerNorm", f"{layer}output.LayerNorm"]
    shapes |= {f"{name}.weight": shape for name, shape in matrices.items()}
    shapes |= {f"{name}.bias": shape[:1] for name, shape in matrices.items()}
    shapes |= {f"{name}.{part}": (width,) for name in norms for part in ("weight", "bias")}
    return {name: rng.normal(0, 0.4, shape).astype(np.float32) for name, shape in shapes.items()}


def normalized(vectors: np.ndarray, weights: dict[str, np.ndarray], name: str) -> np.ndarray:
    centred = vectors - vectors.mean(axis=1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPSILON)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def products(
    vectors: np.ndarray, weights: dict[str, np.ndarray], name: str, int8: bool
) -> np.ndarray:
    matrix = weights[f"{name}.weight"].astype(np.float64)
    if int8:
        scales = np.abs(vectors).max(axis=1, keepdims=True) / 127
        vectors = np.floor(vectors / scales + 0.5) * scales
        integers, of_rows = quantized(weights[f"{name}.weight"])
        matrix = integers * of_rows[:, None].astype(np.float64)
    return vectors @ matrix.T + weights[f"{name}.bias"]


def read(
    pieces: list[int], weights: dict[str, np.ndarray], config: EncoderConfig, int8: bool = False
) -> list[np.ndarray]:
    """By layer, float64[pieces, width]: the encoder of Devlin et al. (2019),
    written down plainly.
    """
    table, positions = (
        weights[f"embeddings.{name}_embeddings.weight"].astype(np.float64)
        for name in ("word", "position")
    )
    places = config.first_position + np.arange(len(pieces))
    vectors = (
        table[pieces] + positions[places] + weights["embeddings.token_type_embeddings.weight"][0]
    )
    vectors = normalized(vectors, weights, "embeddings.LayerNorm")
    by_layer = [vectors]
    for layer in (f"encoder.layer.{number}." for number in range(config.layers)):
        parts = (
            products(vectors, weights, f"{layer}attention.self.{name}", int8)
            for name in ("query", "key", "value")
        )
        queries, keys, values = (np.split(part, config.heads, axis=1) for part in parts)
        of_heads = []
        for query, key, value in zip(queries, keys, values, strict=True):
            scores = np.exp(query @ key.T / math.sqrt(query.shape[1]))
            of_heads.append(scores / scores.sum(axis=1, keepdims=True) @ value)
        added = products(
            np.concatenate(of_heads, axis=1), weights, f"{layer}attention.output.dense", int8
        )
        vectors = normalized(vectors + added, weights, f"{layer}attention.output.LayerNorm")
        hidden = products(vectors, weights, f"{layer}intermediate.dense", int8)
        hidden *= np.vectorize(math.erfc)(-hidden / math.sqrt(2)) / 2
        vectors = normalized(
            vectors + products(hidden, weights, f"{layer}output.dense", int8),
            weights,
            f"{layer}output.LayerNorm",
        )
        by_layer.append(vectors)
    return by_layer


def columns(sentences: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the arguments of vectors() for sentences whose words have a piece each."""
    values = np.concatenate(
        [[0, *(N_RESERVED + piece for piece in pieces)] for pieces in sentences]
    ).astype(np.int32)
    return values[None], np.cumsum([0, *(1 + len(pieces) for pieces in sentences)])


def expected(
    sentences: list[list[int]], weights: dict[str, np.ndarray], config: EncoderConfig, int8: bool
) -> np.ndarray:
    vectors = []
    for pieces in sentences:
        by_layer = np.stack(read([*BEFORE, *pieces, *AFTER], weights, config, int8), axis=1)[:-1]
        centred = by_layer - by_layer.mean(axis=2, keepdims=True)
        vectors.append(centred / np.sqrt((centred**2).mean(axis=2, keepdims=True) + 1e-5))
    return np.concatenate(vectors)


SENTENCES = st.lists(st.lists(st.integers(0, PIECES - 1), max_size=30), min_size=1, max_size=4)
SIZES = st.sampled_from([(1, 6, 9), (2, 12, 16), (3, 48, 40), (1, 17, 5)])


@given(SENTENCES, SIZES, st.integers(0, 2), st.booleans(), st.integers(0, 99))
def test_vectors_are_those_of_the_plain_encoder_and_depend_on_their_sentence_alone(
    sentences, sizes, layers, int8, seed
):
    heads, width, wide = sizes
    weights = random_weights(np.random.default_rng(seed), width, wide, layers)
    config = EncoderConfig(layers, heads, EPSILON, seed % 3, POSITIONS)
    encoder = FrozenTransformer(config, weights, 1 + layers, BEFORE, AFTER, int8)
    found = encoder.vectors(*columns(sentences))
    assert (found.dtype, found.shape[1:]) == (np.float16, (1 + layers, width))
    # In 8 bits, a number at the border of two integers may be rounded either way.
    np.testing.assert_allclose(
        found, expected(sentences, weights, config, int8), atol=0.2 if int8 else 4e-3
    )
    alone = [encoder.vectors(*columns([pieces])) for pieces in sentences]
    assert np.concatenate(alone).tobytes() == found.tobytes()
    last = FrozenTransformer(config, weights, 1, BEFORE, AFTER, int8).vectors(*columns(sentences))
    assert last.tobytes() == np.ascontiguousarray(found[:, -1:]).tobytes()


def test_a_model_folder_holds_matrices_in_8_bits_and_parses_as_before():
    weights = random_weights(np.random.default_rng(0), 12, 16, 2)
    config, sentences = EncoderConfig(2, 2, EPSILON, 0, POSITIONS), columns([[3, 4, 5], [6]])
    rounded = rounded_weights(weights)
    table = "embeddings.word_embeddings.weight"
    assert rounded[table].dtype == np.int8
    assert rounded[f"{table}{SCALES}"].shape == (PIECES,)
    floats = float_weights(rounded)
    assert floats.keys() == weights.keys()
    np.testing.assert_allclose(
        floats[table], weights[table], atol=np.abs(weights[table]).max() / 127
    )
    for int8 in (False, True):
        held, again = (
            FrozenTransformer(config, some, 1, BEFORE, AFTER, int8) for some in (rounded, floats)
        )
        assert held.vectors(*sentences).tobytes() == again.vectors(*sentences).tobytes()


@kernel()
def _each(values):
    for i in range(len(values)):
        values[i] = gelu(values[i])


def test_gelu():
    values = np.linspace(-20, 20, 4001, dtype=np.float32)
    found = values.copy()
    _each(found)
    plain = [x * math.erfc(-x / math.sqrt(2)) / 2 for x in values.tolist()]
    np.testing.assert_allclose(found, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("int8", [False, True])
def test_the_smallest_numbers_become_0_also_where_numpy_raises(int8):
    weights = random_weights(np.random.default_rng(0), 12, 16, 1)
    for part in ("weight", "bias"):
        weights[f"encoder.layer.0.output.LayerNorm.{part}"] *= 1e-12
    config, sentences = EncoderConfig(1, 2, EPSILON, 0, POSITIONS), columns([[3, 4]])
    encoder = FrozenTransformer(config, weights, 1, BEFORE, AFTER, int8)
    with np.errstate(under="raise"):
        assert not encoder.vectors(*sentences).any()


def test_whatever_the_weights_are_nothing_fails():
    weights = random_weights(np.random.default_rng(0), 12, 16, 1)
    config = EncoderConfig(1, 2, EPSILON, 0, POSITIONS)
    for number in (np.nan, np.inf, -3e38):
        weights["encoder.layer.0.intermediate.dense.weight"][0, 0] = number
        for int8 in (False, True):
            found = FrozenTransformer(config, weights, 1, BEFORE, AFTER, int8).vectors(
                *columns([[3, 4]])
            )
            assert found.shape == (3, 1, 12)


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("embeddings.word_embeddings.weight", None, "have no embeddings.word_embeddings"),
        (
            "embeddings.word_embeddings.weight",
            np.zeros((2, 12), np.float32),
            "special token has no vector",
        ),
        (
            "embeddings.position_embeddings.weight",
            np.zeros((4, 12), np.float32),
            "only 4 of 40 positions have vectors",
        ),
        ("embeddings.token_type_embeddings.weight", np.zeros((0, 12), np.float32), "does not fit"),
        (
            "encoder.layer.0.attention.self.key.weight",
            None,
            "have no encoder.layer.0.attention.self.key.weight",
        ),
        (
            "encoder.layer.0.attention.self.key.weight",
            np.zeros((12, 11), np.float32),
            "for 12 inputs",
        ),
        ("encoder.layer.0.attention.self.key.weight", np.zeros(12, np.float32), "no matrix"),
        (
            "encoder.layer.0.attention.self.key.weight",
            np.zeros((12, 12), np.int8),
            "have no .*scales",
        ),
        ("encoder.layer.0.output.dense.bias", np.zeros(13, np.float32), "does not fit"),
        ("encoder.layer.0.output.LayerNorm.weight", np.zeros(3, np.float32), "does not fit"),
    ],
)
def test_weights_that_do_not_belong_together(name, tensor, message):
    weights = random_weights(np.random.default_rng(0), 12, 16, 1)
    weights = {key: value for key, value in weights.items() if key != name} | (
        {} if tensor is None else {name: tensor}
    )
    with pytest.raises(OptimalStepError, match=message):
        FrozenTransformer(EncoderConfig(1, 2, EPSILON, 0, POSITIONS), weights, 1, BEFORE, AFTER)


CONFIG = {
    "model_type": "xlm-roberta",
    "hidden_act": "gelu",
    "num_hidden_layers": 12,
    "num_attention_heads": 8,
    "max_position_embeddings": 514,
    "layer_norm_eps": 1e-5,
    "pad_token_id": 1,
}


def test_which_encoders_are_read():
    assert EncoderConfig.of(CONFIG) == (12, 8, 1e-5, 2, 512)
    assert EncoderConfig.of(CONFIG | {"model_type": "bert"}) == (12, 8, 1e-5, 0, 514)
    for other in (
        {"model_type": "modernbert"},
        {"hidden_act": "relu"},
        {"position_embedding_type": "relative_key"},
    ):
        assert EncoderConfig.of(CONFIG | other) is None
    for wrong in (
        {"num_hidden_layers": "12"},
        {"num_attention_heads": 0},
        {"pad_token_id": None},
        {"layer_norm_eps": "1"},
    ):
        with pytest.raises(TypeError):
            EncoderConfig.of(CONFIG | wrong)


def test_heads_that_do_not_fit():
    weights = random_weights(np.random.default_rng(0), 12, 16, 1)
    with pytest.raises(OptimalStepError, match="cannot be divided among 5"):
        FrozenTransformer(EncoderConfig(1, 5, EPSILON, 0, POSITIONS), weights, 1, BEFORE, AFTER)
    with pytest.raises(OptimalStepError, match="3 cannot be read"):
        FrozenTransformer(EncoderConfig(1, 2, EPSILON, 0, POSITIONS), weights, 3, BEFORE, AFTER)


pytestmark = pytest.mark.skipif(not COMPILED, reason="plain Python takes minutes")
