"""Exact search against recursion over all computations, and against a beam with room for all of them."""

from __future__ import annotations

import random
from argparse import ArgumentTypeError
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parser import Parser
from parser.beam_settings import EXACT, Beam, BeamError, Exact, Merge, Scores, of_fields, searching
from parser.commands.command_line import size_of_beam
from parser.data.sentences import NO_NODE
from parser.data.treebank import Sentence
from parser.decoding import batch_sizes
from parser.decoding.exact import exact
from parser.decoding.exact.chart import ChartRules, StateScores, best_tree, choose_outputs, n_states, states
from parser.decoding.files.file_parsing import parse_file
from parser.decoding.lattice.parser import parse_lattice_file
from parser.decoding.parsers import beam_parser_of, parser_with_beam
from parser.model.model import Model
from tests.decoding.arc_hybrid_sums import over_computations
from tests.decoding.drawn_scores import check_trees
from tests.jit import COMPILED
from tests.random_models import small_bilstm_model
from tests.toy import sentence


def found_tree(scores: np.ndarray, n: int, rules: ChartRules, local: bool = False) -> tuple[float, dict[int, tuple[int, int]]]:
    """The score of the best tree, and its arcs."""
    tops, fronts = states(n)
    transitions = StateScores.allocate(n_states(n))
    for first in range(0, len(scores), 7):
        some = slice(first, first + 7)
        choose_outputs(scores[some], tops[some], fronts[some], n, rules, local, first, transitions)
    heads, relations = np.full((2, n + 1), NO_NODE, np.int32)
    score = best_tree(n, rules.n_relations, transitions, heads, relations)
    return score, {i: (int(heads[i]), int(relations[i])) for i in range(1, n + 1)}


def drawn_scores(seed: int, n: int, n_relations: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 2, (n_states(n), 1 + 2 * n_relations)).astype(np.float32)


@settings(max_examples=60 if COMPILED else 5, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 8),
    n_relations=st.integers(1, 3),
    single_root=st.booleans(),
    local=st.booleans(),
)
def test_it_finds_the_best_of_all_computations(seed, n, n_relations, single_root, local):
    root_relation = seed % n_relations if single_root and n_relations > 1 else NO_NODE
    scores = drawn_scores(seed, n, n_relations)
    score, arcs = found_tree(scores, n, ChartRules(n_relations, root_relation, single_root), local)
    space = {"root_relation": root_relation, "single_root": single_root, "local": local}
    plain = scores.tolist()
    assert score == pytest.approx(over_computations(plain, n, max, **space), abs=1e-9)
    assert score == pytest.approx(over_computations(plain, n, max, **space, arcs=arcs), abs=1e-9)
    if single_root:
        assert [head for head, _ in arcs.values()].count(0) == 1


def test_states_are_numbered_as_the_chart_reads_them():
    tops, fronts = states(3)
    pairs = [(i, j) for j in range(1, 5) for i in range(j)]
    assert [*zip(tops.tolist(), fronts.tolist(), strict=True)] == pairs
    assert len(pairs) == n_states(3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("single_root", [True, False])
def test_whatever_a_classifier_says_a_tree_comes_out(value, single_root):
    rng = np.random.default_rng(1)
    for n in (1, 2, 6):
        for local in (False, True):
            scores = drawn_scores(n, n, 3)
            scores[rng.random(scores.shape) < 0.7] = value
            _, arcs = found_tree(scores, n, ChartRules(3, 1 if single_root else NO_NODE, single_root), local)
            assert all(0 <= head <= n and 0 <= relation < 3 for head, relation in arcs.values())
            for token in arcs:
                seen = set()
                while token:
                    assert token not in seen
                    seen.add(token)
                    token = arcs[token][0]


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    rng = random.Random(4)
    return [sentence([0] + [1] * (n - 1), rng) for n in (1, 3, 4, 2, 4)]


@pytest.fixture(scope="module")
def model(sentences) -> Model:
    return small_bilstm_model(sentences)


@pytest.mark.parametrize("scores", [*Scores])
@pytest.mark.parametrize("single_root", [True, False])
def test_it_finds_what_a_beam_with_room_for_all_finds(model, sentences, scores, single_root):
    encoded = model.vocabularies.encode(sentences)
    found = beam_parser_of(model, Exact(scores)).k_best(encoded, 1, single_root=single_root)
    expected = beam_parser_of(model, Beam(1000, scores=scores)).k_best(encoded, 1, single_root=single_root)
    parses = parser_with_beam(model, Exact(scores)).parse(encoded, single_root=single_root)
    for start, [ours], [its] in zip(encoded.offsets, found, expected, strict=False):
        assert ours.score == pytest.approx(its.score, abs=1e-3)
        np.testing.assert_array_equal(ours.heads, its.heads)
        np.testing.assert_array_equal(ours.relations, its.relations)
        np.testing.assert_array_equal(parses.heads[start + 1 : start + 1 + len(ours.heads)], ours.heads)
        if single_root:
            check_trees([ours], len(ours.heads), model.system.root_relation)


def test_it_scores_at_least_what_a_beam_finds_in_longer_sentences(monkeypatch):
    monkeypatch.setattr(batch_sizes, "STATES_PER_BATCH", 100)
    rng = random.Random(1)
    sentences = [sentence([0] + [1] * (n - 1), rng) for n in (9, 23, 0, 30)]
    model = small_bilstm_model(sentences)
    encoded = model.vocabularies.encode(sentences)
    found = beam_parser_of(model, Exact(Scores.GLOBAL)).k_best(encoded, 1)
    beam = beam_parser_of(model, Beam(4, scores=Scores.GLOBAL)).k_best(encoded, 1)
    gains = [ours.score - its.score for [ours], [its] in zip(found, beam, strict=True)]
    assert min(gains) > -1e-3
    assert max(gains) > 1  # what a beam of 4 loses


def test_very_long_sentences_are_searched_with_a_beam_and_named(model, monkeypatch, caplog):
    monkeypatch.setattr(exact, "LONGEST", 5)
    rng = random.Random(1)
    encoded = model.vocabularies.encode([sentence([0] + [1] * (n - 1), rng) for n in (3, 6, 9)])
    found = beam_parser_of(model, Exact()).parse(encoded)
    assert "of more than 5 words are not searched exactly, but with a beam of 8: 2" in caplog.text
    expected = beam_parser_of(model, Beam(8)).parse(encoded)
    longer = slice(encoded.offsets[1], None)
    np.testing.assert_array_equal(found.heads[longer], expected.heads[longer])


def test_the_library_and_files_are_parsed_so(model, sentences):
    encoded = model.vocabularies.encode(sentences)
    expected = beam_parser_of(model, Exact()).parse(encoded)
    words = [[(form,) for form in s.forms] for s in sentences]
    parsed = Parser(model, beam=Exact()).parse(words)
    assert [head for s in parsed for head in s.heads] == expected.heads[expected.heads != NO_NODE].tolist()
    assert all(0 <= s.probability <= 1 for s in parsed)
    lines = "".join(
        "".join(f"{i}\t{form}\t_\t_\t_\t_\t0\t_\t_\t_\n" for i, form in enumerate(s.forms, 1)) + "\n" for s in sentences
    )
    target = BytesIO()
    parse_file(model, BytesIO(lines.encode()), target, beam=Exact())
    heads = [int(line.split("\t")[6]) for line in target.getvalue().decode().splitlines() if line]
    assert heads == expected.heads[expected.heads != NO_NODE].tolist()


def test_lattices_are_not_searched_exactly(model):
    with pytest.raises(BeamError, match="not with beam=exact"):
        parse_lattice_file(model, BytesIO(), BytesIO(), "there", beam=Exact())


def test_the_command_line_takes_a_number_or_exact():
    assert [size_of_beam("8"), size_of_beam(EXACT)] == [8, EXACT]
    with pytest.raises(ArgumentTypeError, match="wide is not a beam size"):
        size_of_beam("wide")


def test_a_model_remembers_exact_search(model, tmp_path):
    model.beam = Exact(Scores.GLOBAL)
    model.save(tmp_path)
    model.beam = None
    assert Model.load(tmp_path).beam == Exact(Scores.GLOBAL)


@pytest.mark.parametrize(
    ("own", "size", "merge", "expected"),
    [
        (Exact(Scores.GLOBAL), None, None, Exact(Scores.GLOBAL)),
        (Exact(Scores.GLOBAL), 4, None, Beam(4, scores=Scores.GLOBAL)),
        (Beam(4, Merge.NONE, Scores.GLOBAL), EXACT, None, Exact(Scores.GLOBAL)),
        (Beam(4, Merge.NONE, Scores.GLOBAL), 8, None, Beam(8, Merge.NONE, Scores.GLOBAL)),
        (None, EXACT, None, Exact()),
        (None, 2, Merge.NONE, Beam(2, Merge.NONE)),
    ],
)
def test_what_is_said_goes_over_what_a_model_remembers(own, size, merge, expected):
    assert searching(own, size, merge) == expected


@pytest.mark.parametrize(
    ("own", "size", "merge", "message"),
    [
        (None, EXACT, Merge.NONE, "exact search has none"),
        (Exact(), None, Merge.NONE, "give the size of a beam"),
        (None, "all", None, "a beam of all is not possible; give a number of items, or exact"),
    ],
)
def test_searches_that_cannot_be(own, size, merge, message):
    with pytest.raises(BeamError, match=message):
        searching(own, size, merge)


@pytest.mark.parametrize("fields", [{"search": "deep"}, {"search": EXACT, "scores": "log"}])
def test_searches_of_a_damaged_model(fields):
    with pytest.raises(BeamError, match="unknown"):
        of_fields(fields)


@pytest.mark.parametrize(
    ("system", "slots", "message"),
    [
        ("arc_standard", {"token": ["s0", "b0"]}, "system=arc_standard; train one with system=arc_hybrid"),
        ("arc_hybrid", {"token": ["s0", "s1", "b0"]}, r"s1:token\); train one with encoder.slots.token=\[s0,b0\]"),
        ("arc_hybrid", {"token": ["s0", "b0"], "deprel": ["s0.l1"]}, r"s0.l1:deprel.*deprel=\[\], or search with a beam"),
    ],
)
def test_models_that_cannot_be_searched_exactly(sentences, system, slots, message):
    with pytest.raises(BeamError, match=message):
        parser_with_beam(small_bilstm_model(sentences, slots, system), Exact())


def test_exact_search_finds_one_tree(model, sentences):
    with pytest.raises(BeamError, match="such as 8"):
        beam_parser_of(model, Exact()).k_best(model.vocabularies.encode(sentences), 2)
