"""Rows of signatures against the sums of what their slots add, and that they depend on nothing else."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parser.inference.precomputed_tokens as module
from parser import batch_sizes
from parser.data.sentences import NO_NODE, Sentences
from parser.data.vocabulary import ABSENT, N_RESERVED
from parser.inference.precomputed import SlotPrecomputation
from parser.inference.precomputed_tokens import SignatureActivations
from tests.random_models import random_static_model
from tests.toy import flat_sentences


@pytest.fixture(scope="module")
def model():
    return random_static_model(flat_sentences([9] * 20), {"form": 5, "deprel": 3})


def maker_of(model) -> SlotPrecomputation:
    return SlotPrecomputation(model.weights(), model.table)


def signature_activations(model, **bounds) -> SignatureActivations:
    return SignatureActivations(maker_of(model), model.table, model.system.n_relations, **bounds)


def one_sentence(values: np.ndarray) -> Sentences:
    return Sentences(values, np.array([0, values.shape[1]], np.int64))


def draw_values(model, seed: int, tokens: int) -> np.ndarray:
    sizes = [len(vocabulary) for vocabulary in model.vocabularies.by_attribute.values()]
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, size, tokens) for size in sizes]).astype(np.int32)


def check_rows(model, activations: np.ndarray, values: np.ndarray) -> None:
    """The rows of all signatures among these values are those of activations that were asked for nothing before."""
    of_signatures = signature_activations(model)
    expected = of_signatures(one_sentence(values))
    end = of_signatures.first + (expected.signatures.max() + 1) * of_signatures.per_signature
    np.testing.assert_array_equal(activations[:end], expected.activations[:end])


def test_a_row_is_the_sum_of_the_rows_of_the_slots_less_what_absent_adds(model):
    of_signatures = signature_activations(model)
    values = draw_values(model, 1, 50)
    typed = of_signatures(one_sentence(values))
    of_slots = maker_of(model).for_sentences(one_sentence(values))
    for token in range(50):
        expected = np.zeros((len(model.table.programs), len(of_signatures.bias)))
        for start, (position, attribute) in zip(of_slots.starts, model.table.columns, strict=True):
            if attribute != NO_NODE:
                expected[position] += of_slots.rows[start + of_slots.values[attribute, token]] - of_slots.rows[start + ABSENT]
        for position, place in enumerate(of_signatures.places):
            if place != NO_NODE:
                found = typed.activations[of_signatures.first + typed.signatures[token] * of_signatures.per_signature + place]
                np.testing.assert_allclose(found, expected[position], rtol=1e-4, atol=1e-5)


def test_relations_and_the_configuration_without_nodes(model):
    of_signatures = signature_activations(model)
    typed = of_signatures(one_sentence(draw_values(model, 1, 1)))
    of_slots = maker_of(model).for_values(np.full((2, 1), ABSENT, np.int32))
    np.testing.assert_allclose(
        of_signatures.bias, of_slots.bias + of_slots.rows[of_slots.starts + ABSENT].sum(axis=0), rtol=1e-5, atol=1e-5
    )
    for start, (position, attribute) in zip(of_slots.starts, model.table.columns, strict=True):
        if attribute == NO_NODE:
            for relation in range(model.system.n_relations):
                expected = of_slots.rows[start + N_RESERVED + relation] - of_slots.rows[start + ABSENT]
                np.testing.assert_array_equal(typed.activations[of_signatures.relation_rows[position] + relation], expected)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 20)), min_size=1, max_size=4), st.sampled_from([0, 5_000, 2**26]))
def test_rows_are_the_same_to_the_last_bit_whatever_was_asked_before(model, asked, max_bytes):
    of_signatures = signature_activations(model, max_bytes=max_bytes)
    places = np.arange(of_signatures.per_signature)
    for seed, tokens in asked:
        values = draw_values(model, seed, tokens)
        typed = of_signatures(one_sentence(values))
        for token in range(tokens):
            alone = signature_activations(model)(one_sentence(values[:, token : token + 1]))
            found = typed.activations[of_signatures.first + typed.signatures[token] * of_signatures.per_signature + places]
            np.testing.assert_array_equal(found, alone.activations[of_signatures.first + places])


def test_equal_tokens_have_equal_signatures(model):
    values = draw_values(model, 3, 500)
    of_signatures = signature_activations(model)
    parts = (of_signatures(one_sentence(part)).signatures for part in (values[:, :200], values[:, 200:]))
    pairs = {(*token, signature) for *token, signature in zip(*values.tolist(), np.concatenate([*parts]).tolist(), strict=True)}
    assert len(pairs) == len({tuple(token) for *token, _ in pairs}) == len({signature for *_, signature in pairs})


def test_signatures_that_could_not_be_begun_are_not_taken_for_known(model, monkeypatch):
    """Of an error in the middle, such as of want of memory, the next sentence sees nothing."""
    of_signatures, sentences = signature_activations(model), one_sentence(draw_values(model, 5, 30))
    monkeypatch.setattr(module, "Future", Mock(side_effect=MemoryError))
    with pytest.raises(MemoryError):
        of_signatures(sentences)
    monkeypatch.undo()
    of_signatures._rows._rows[of_signatures.first :] = np.nan
    found = of_signatures(sentences)
    check_rows(model, found.activations, sentences.values)
    np.testing.assert_array_equal(found.signatures, signature_activations(model)(sentences).signatures)


def test_who_meets_signatures_that_another_computes_waits_for_their_rows(model, monkeypatch):
    asked_to_wait = threading.Event()

    class Watched(Future):
        def result(self, timeout=None):
            asked_to_wait.set()
            return super().result(timeout)

    monkeypatch.setattr(module, "Future", Watched)
    values = draw_values(model, 4, 30)
    of_signatures = signature_activations(model)
    make = of_signatures._rows._make
    making = threading.Event()

    def make_when_another_waits(new, rows):
        making.set()
        assert asked_to_wait.wait(timeout=60), "nobody waits"
        make(new, rows)

    monkeypatch.setattr(of_signatures._rows, "_make", make_when_another_waits)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(of_signatures, one_sentence(values))
        assert making.wait(timeout=60)
        second = pool.submit(lambda: of_signatures(one_sentence(values)).activations.copy())
        check_rows(model, second.result(), values)
    check_rows(model, first.result().activations, values)


def small_batches(model, monkeypatch):
    """The values of some tokens, and what makes their rows, four signatures at a time; and how."""
    monkeypatch.setattr(batch_sizes, "SIGNATURES_PER_BATCH", 4)
    of_signatures = signature_activations(model)
    return draw_values(model, 4, 30), of_signatures, of_signatures._rows._make


def test_who_waits_computes_the_batches_that_nobody_has_begun(model, monkeypatch):
    values, of_signatures, make = small_batches(model, monkeypatch)
    computed = []
    first_begun, all_but_one_done = threading.Event(), threading.Event()

    def make_slowly(new, rows):
        if not first_begun.is_set():
            first_begun.set()
            assert all_but_one_done.wait(timeout=60), "nobody else computes"
        make(new, rows)
        computed.append(new.shape[1])
        if sum(computed) == n_signatures - 4:
            all_but_one_done.set()

    n_signatures = len(np.unique(values, axis=1).T)
    monkeypatch.setattr(of_signatures._rows, "_make", make_slowly)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(of_signatures, one_sentence(values))
        assert first_begun.wait(timeout=60)
        second = pool.submit(of_signatures, one_sentence(values[:, :1]))
        second.result()
    assert sum(computed) == n_signatures > 12
    check_rows(model, first.result().activations, values)


def test_signatures_whose_rows_could_not_be_computed_are_computed_again(model, monkeypatch):
    values, of_signatures, make = small_batches(model, monkeypatch)
    calls = []

    def fail_once(new, rows):
        calls.append(new)
        if len(calls) == 2:
            raise MemoryError("full")
        make(new, rows)

    monkeypatch.setattr(of_signatures._rows, "_make", fail_once)
    with pytest.raises(MemoryError, match="full"):
        of_signatures(one_sentence(values))
    found = of_signatures(one_sentence(values))
    check_rows(model, found.activations, values)
    np.testing.assert_array_equal(found.signatures, signature_activations(model)(one_sentence(values)).signatures)


def test_an_error_of_another_thread_comes_to_who_needs_the_rows(model, monkeypatch):
    values, of_signatures, make = small_batches(model, monkeypatch)
    first_begun, other_failed = threading.Event(), threading.Event()

    def fail_in_the_other_thread(new, rows):
        if first_begun.is_set() and not other_failed.is_set():
            raise MemoryError("full")
        first_begun.set()
        assert other_failed.wait(timeout=60)
        make(new, rows)

    monkeypatch.setattr(of_signatures._rows, "_make", fail_in_the_other_thread)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(of_signatures, one_sentence(values))
        assert first_begun.wait(timeout=60)
        second = pool.submit(of_signatures, one_sentence(values))
        with pytest.raises(MemoryError, match="full"):
            second.result()
        other_failed.set()
        with pytest.raises(MemoryError, match="full"):
            first.result()
