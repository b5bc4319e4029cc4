"""Rows of types against the sums of what their slots add,
and that they depend on nothing else, also among threads.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parser.inference.precomputed_tokens as module
from parser import batch_sizes
from parser.data.sentences import NO_NODE, Sentences
from parser.inference.precomputed import SlotPrecomputation
from parser.inference.precomputed_tokens import Make, TypeActivations, TypeRows, add_up_slots
from tests.random_models import STATIC_SLOTS, random_static_model
from tests.toy import flat_sentences


@pytest.fixture(scope="module")
def model():
    return random_static_model(flat_sentences([9] * 20), {"form": 5, "deprel": 3})


def type_activations(model, **bounds) -> TypeActivations:
    return TypeActivations(
        SlotPrecomputation(model.frozen().weights, model.table),
        model.table,
        model.system.n_relations,
        **bounds,
    )


def one_sentence(values: np.ndarray) -> Sentences:
    return Sentences(values, np.array([0, values.shape[1]], np.int64))


def draw_values(model, seed: int, tokens: int) -> np.ndarray:
    sizes = [len(vocabulary) for vocabulary in model.vocabularies.by_attribute.values()]
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, size, tokens) for size in sizes]).astype(np.int32)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 20)), min_size=1, max_size=4),
    st.sampled_from([0, 5_000, 2**26]),
)
def test_rows_are_the_same_to_the_last_bit_whatever_was_asked_before(model, asked, max_bytes):
    of_types = type_activations(model, max_bytes=max_bytes)
    places = np.arange(of_types.per_type)
    for seed, tokens in asked:
        values = draw_values(model, seed, tokens)
        typed = of_types(one_sentence(values))
        for token in range(tokens):
            alone = type_activations(model)(one_sentence(values[:, token : token + 1]))
            found = typed.activations[
                of_types.first + typed.types[token] * of_types.per_type + places
            ]
            np.testing.assert_array_equal(found, alone.activations[of_types.first + places])


def test_equal_tokens_have_equal_types(model):
    values = draw_values(model, 3, 500)
    of_types = type_activations(model)
    parts = (of_types(one_sentence(part)).types for part in (values[:, :200], values[:, 200:]))
    pairs = {
        (*token, kind)
        for *token, kind in zip(*values.tolist(), np.concatenate([*parts]).tolist(), strict=True)
    }
    assert (
        len(pairs)
        == len({tuple(token) for *token, _ in pairs})
        == len({kind for *_, kind in pairs})
    )


# of one attribute, whose value is to be the row of a type
TOKENS = np.arange(30, dtype=np.int32)[None]


def fill(values: np.ndarray, rows: np.ndarray) -> None:
    rows[: values.shape[1]] = values.T


def asking(make: Make) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    """Asks for the types of TOKENS, and for rows as they are at once;
    what makes the rows is the same for all who ask.
    """
    rows = TypeRows(make, 1, np.zeros((2, 1), np.float32))

    def ask() -> tuple[np.ndarray, np.ndarray]:
        types, found = rows(TOKENS)
        return types, found[: 2 + TOKENS.size].copy()

    return ask


def check_filled(types: np.ndarray, rows: np.ndarray) -> None:
    np.testing.assert_array_equal(rows[2 + types], TOKENS.T)


def test_types_that_could_not_be_begun_are_not_taken_for_known(monkeypatch):
    """Of an error in the middle, such as of want of memory, the next sentence sees nothing."""
    ask = asking(fill)
    monkeypatch.setattr(module, "Future", Mock(side_effect=MemoryError))
    with pytest.raises(MemoryError):
        ask()
    monkeypatch.undo()
    check_filled(*ask())


def test_who_meets_types_that_another_computes_waits_for_their_rows(monkeypatch):
    making, asked_to_wait = threading.Event(), threading.Event()

    class Watched(Future):
        def result(self, timeout=None):
            asked_to_wait.set()
            return super().result(timeout)

    def make_when_another_waits(values, rows):
        making.set()
        assert asked_to_wait.wait(timeout=60), "nobody waits"
        fill(values, rows)

    monkeypatch.setattr(module, "Future", Watched)
    ask = asking(make_when_another_waits)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask)
        assert making.wait(timeout=60)
        check_filled(*pool.submit(ask).result())
    check_filled(*first.result())


def test_who_waits_computes_the_batches_that_nobody_has_begun(monkeypatch):
    monkeypatch.setattr(batch_sizes, "TYPES_PER_BATCH", 4)
    first_begun, all_but_one_done = threading.Event(), threading.Event()
    computed = []

    def make_slowly(values, rows):
        if not first_begun.is_set():
            first_begun.set()
            assert all_but_one_done.wait(timeout=60), "nobody else computes"
        fill(values, rows)
        computed.append(values.shape[1])
        if sum(computed) == TOKENS.size - 4:
            all_but_one_done.set()

    ask = asking(make_slowly)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask)
        assert first_begun.wait(timeout=60)
        check_filled(*pool.submit(ask).result())
    check_filled(*first.result())
    assert sum(computed) == TOKENS.size


def test_types_whose_rows_could_not_be_computed_are_computed_again(monkeypatch):
    monkeypatch.setattr(batch_sizes, "TYPES_PER_BATCH", 4)
    calls = []

    def fail_once(values, rows):
        calls.append(values)
        if len(calls) == 2:
            raise MemoryError("full")
        fill(values, rows)

    ask = asking(fail_once)
    with pytest.raises(MemoryError, match="full"):
        ask()
    check_filled(*ask())


def test_an_error_of_another_thread_comes_to_who_needs_the_rows(monkeypatch):
    monkeypatch.setattr(batch_sizes, "TYPES_PER_BATCH", 4)
    first_begun, other_failed = threading.Event(), threading.Event()

    def fail_in_the_other_thread(values, rows):
        if first_begun.is_set() and not other_failed.is_set():
            raise MemoryError("full")
        first_begun.set()
        assert other_failed.wait(timeout=60)
        fill(values, rows)

    ask = asking(fail_in_the_other_thread)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask)
        assert first_begun.wait(timeout=60)
        with pytest.raises(MemoryError, match="full"):
            pool.submit(ask).result()
        other_failed.set()
        with pytest.raises(MemoryError, match="full"):
            first.result()


ALL_SLOTS = STATIC_SLOTS | {"feats_pairs": ["s0", "b0", "s1"]}


@pytest.mark.parametrize(
    "embeddings",
    [{}, {"form": 5}, {"form": 4, "upos": 3}, {"form": 16, "feats_pairs": 7, "deprel": 3}],
)
@pytest.mark.parametrize("types", [0, 1, 40, 512])
def test_sums_are_those_of_the_activations_one_after_the_other(embeddings, types):
    model = random_static_model(flat_sentences([9] * 20), embeddings, slots=ALL_SLOTS)
    maker, numbers = (
        SlotPrecomputation(model.frozen().weights, model.table),
        np.random.default_rng(types),
    )
    columns = model.table.columns
    positions = [
        np.flatnonzero((columns[:, 0] == a) & (columns[:, 1] != NO_NODE))
        for a in range(columns[:, 0].max() + 1)
    ]
    absent = numbers.normal(size=(len(positions), 37)).astype(np.float32)
    values = draw_values(model, types, types)
    rows = np.full((types * len(positions) + 1, 37), np.nan, np.float32)
    add_up_slots(maker, [of_position.tolist() for of_position in positions], absent, values, rows)
    assert np.isnan(rows[-1]).all()
    of_slots = maker.for_values(values)
    for place, of_position in enumerate(positions):
        expected = np.tile(-absent[place], (types, 1))
        for column in of_position:
            expected += of_slots.rows[of_slots.starts[column] + of_slots.values[columns[column, 1]]]
        np.testing.assert_array_equal(rows[place : -1 : len(positions)], expected)
