"""Parsing lattices: against all computations over all paths of small ones, and against plain parsing."""

from __future__ import annotations

import io
import math
import random
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
import torch

from parser.beam_settings import Beam, BeamError, Merge, Scores
from parser.classifier.shape import ClassifierShape, Embedding
from parser.data.vocabulary import ABSENT, N_RESERVED, Vocabularies, Vocabulary
from parser.decoding.file_parsing import parse_file
from parser.decoding.lattice_parser import LatticeParser
from parser.decoding.parsers import beam_parser_of, parser_of
from parser.lattices.lattice import Arc, Lattice, SurfaceToken
from parser.lattices.output import conllu
from parser.model import Model
from parser.transitions.features import slots_of
from tests.decoding.computations import find
from tests.decoding.test_greedy import random_model
from tests.jit import COMPILED
from tests.lattices.made import all_paths, drawn_lattice
from tests.toy import sentence
from tests.transitions.reference_systems import State, applicable, take

SLOTS = {
    "form": ["s0", "b0", "b1", "s1.l1"],
    "upos": ["s1", "b0", "b1"],
    "length": ["s0", "b0"],
    "deprel": ["s0.r1", "s1.l1"],
}


def lattice_model(lookahead: int | None, read: int = 2, system: str = "arc_standard") -> Model:
    """A model with random weights of the size of trained ones; ``read`` words ahead are read."""
    torch.manual_seed(7)
    known = {"form": ["w0", "w1", "w2", "w3"], "upos": ["DET", "NOUN", "VERB"], "length": ["1", "2"]}
    vocabularies = Vocabularies({name: Vocabulary(symbols) for name, symbols in known.items()})
    slots = {name: [a for a in addresses if a not in ("b0", "b1")[read:]] for name, addresses in SLOTS.items()}
    shape = ClassifierShape(11, "tanh", 0.0, 0.0, 0.0, {"form": Embedding(4, True)})
    options = {"degree": 2} if system == "attardi" else {}
    arguments = vocabularies, Vocabulary(["root", "obj"]), slots_of(slots), shape, system, options, lookahead
    model = Model.new(*arguments)
    with torch.no_grad():
        for parameter in model.classifier.parameters():
            parameter.normal_(std=0.7)
    return model


def read_slots(model: Model, values: np.ndarray, state: State) -> tuple[int, ...]:
    """What the slots of a model read; ``values``: int32[attributes, arcs + 1]."""
    row = []
    for slot in model.slots:
        token, relation = find(state, slot.address)
        if slot.attribute == "deprel":
            row.append(ABSENT if relation < 0 else relation + N_RESERVED)
        else:
            row.append(ABSENT if token < 0 else int(values[model.table.attributes.index(slot.attribute), token]))
    return tuple(row)


class SlowSearch:
    """All computations over all paths, by recursion over lists."""

    def __init__(self, model: Model, lattice: Lattice, lookahead: int, local: bool, single_root: bool) -> None:
        self.model, self.lattice, self.lookahead, self.local = model, lattice, lookahead, local
        self.single_root = single_root
        self.values = model.vocabularies.encode([lattice]).values
        self.scorer = model.scorer()
        self.known: dict[tuple[int, ...], list[float]] = {}

    def all(self) -> list[tuple[float, tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
        """(score, arcs from 0, heads by place, relations) of every computation."""
        found = []
        for total, state in self._begin(State([0], []), 0.0, 0):
            for score, final in self._follow(state, total):
                words = sorted(final.arcs)
                place = {0: 0, **{word: number for number, word in enumerate(words, 1)}}
                heads = tuple(place[final.arcs[word][0]] for word in words)
                found.append((score, tuple(w - 1 for w in words), heads, tuple(final.arcs[word][1] for word in words)))
        return found

    def _begin(self, state: State, total: float, node: int) -> Iterator[tuple[float, State]]:
        if len(state.buffer) == self.lookahead or node == self.lattice.last_node:
            yield total, state
            return
        for score, after in self._choices(state, node):
            yield from self._begin(after, total + score, int(self.lattice.ends[after.buffer[-1] - 1]))

    def _choices(self, state: State, node: int) -> list[tuple[float, State]]:
        arcs = [number + 1 for number in range(len(self.lattice)) if self.lattice.starts[number] == node]
        states = [State([*state.stack], [*state.buffer, arc], dict(state.arcs)) for arc in arcs]
        if self.model.lookahead is None or (self.local and len(arcs) == 1):
            return [(0.0, after) for after in states]
        scores = [self._scores(after)[self.model.system.n_outputs] for after in states]
        norm = math.log(sum(map(math.exp, scores))) if self.local else 0.0
        return [(score - norm, after) for score, after in zip(scores, states, strict=True)]

    def _follow(self, state: State, total: float) -> Iterator[tuple[float, State]]:
        if state.final:
            yield total, state
            return
        system = self.model.system
        degree, root = getattr(system, "degree", 1), system.root_relation
        scores, possible = self._scores(state), []
        for column in range(1 + 2 * degree):
            if not applicable("attardi", degree, state, column, self.single_root):
                continue
            for relation in range(2 if column else 1):
                after = State([*state.stack], [*state.buffer], dict(state.arcs))
                take("attardi", degree, after, column, relation)
                made = next((arc for child, arc in after.arcs.items() if child not in state.arcs), None)
                if made and self.single_root and (made[0] == 0) != (relation == root):
                    continue
                possible.append((scores[0 if column == 0 else 1 + (column - 1) * 2 + relation], column, after))
        norm = math.log(sum(math.exp(score) for score, _, _ in possible)) if self.local else 0.0
        for score, column, after in possible:
            node = int(self.lattice.ends[state.buffer[-1] - 1]) if state.buffer else self.lattice.last_node
            if column == 0 and node < self.lattice.last_node:
                for chosen, further in self._choices(after, node):
                    yield from self._follow(further, total + score - norm + chosen)
            else:
                yield from self._follow(after, total + score - norm)

    def _scores(self, state: State) -> list[float]:
        key = read_slots(self.model, self.values, state)
        if key not in self.known:
            self.known[key] = self.scorer(np.array([key], np.int32))[0].tolist()
        return self.known[key]


N_LATTICES = 6 if COMPILED else 1


@pytest.mark.parametrize(("learned", "local", "single_root"), list(product([True, False], repeat=3)))
@pytest.mark.parametrize("lookahead", [1, 2, 3])
def test_a_wide_beam_finds_all_computations(learned, local, single_root, lookahead):
    rng = random.Random(lookahead)
    model = lattice_model(lookahead if learned else None, min(lookahead, 2))
    for _ in range(N_LATTICES):
        lattice = drawn_lattice(rng, rng.randint(1, 3), rng.randint(0, 2))
        expected = sorted(SlowSearch(model, lattice, lookahead, local, single_root).all(), reverse=True)
        if len(expected) > 1000:
            continue
        scores = Scores.LOCAL if local else Scores.GLOBAL
        parser = LatticeParser(model, Beam(1000, Merge.NONE, scores), lookahead)
        (found,) = parser.best_of_lattices([lattice], model.vocabularies, single_root=single_root)
        np.testing.assert_allclose([one.score for one in found], [one[0] for one in expected], rtol=1e-4, atol=1e-4)
        best: dict[tuple, float] = {}
        for score, *parse in expected:
            best.setdefault(tuple(parse), score)
        parser = LatticeParser(model, Beam(1000, Merge.CONFIGURATION, scores), lookahead)
        (merged,) = parser.best_of_lattices([lattice], model.vocabularies, single_root=single_root)
        by_parse = {tuple(map(tuple, (p.arcs.tolist(), p.heads.tolist(), p.relations.tolist()))): p.score for p in merged}
        assert by_parse.keys() == best.keys()
        assert len(merged) == len(best)
        for parse, score in by_parse.items():
            assert score == pytest.approx(best[parse], rel=1e-4, abs=1e-4)
        assert {parse[0] for parse in by_parse} == set(map(tuple, all_paths(lattice)))


def test_with_steps_for_a_clock_a_wide_beam_finds_the_same():
    rng = random.Random(3)
    model = lattice_model(2)
    for _ in range(N_LATTICES):
        lattice = drawn_lattice(rng, 3, 1)
        one, other = (
            LatticeParser(model, Beam(1000, Merge.NONE), clock=clock).best_of_lattices([lattice], model.vocabularies)[0]
            for clock in (True, False)
        )
        np.testing.assert_allclose([parse.score for parse in one], [parse.score for parse in other], rtol=1e-6)


def test_attardis_system_parses_lattices():
    model = lattice_model(2, 2, "attardi")
    lattice = drawn_lattice(random.Random(1), 3, 0)
    expected = sorted(SlowSearch(model, lattice, 2, True, True).all(), reverse=True)
    parser = LatticeParser(model, Beam(1000, Merge.NONE))
    (found,) = parser.best_of_lattices([lattice], model.vocabularies)
    np.testing.assert_allclose([one.score for one in found], [one[0] for one in expected], rtol=1e-4, atol=1e-4)


@pytest.fixture(scope="module")
def sentences():
    rng = random.Random(5)
    longest = 20 if COMPILED else 5
    return [sentence([0] + [1] * (rng.randint(1, longest) - 1), rng) for _ in range(20 if COMPILED else 3)]


@pytest.mark.parametrize("single_root", [True, False])
def test_a_single_path_is_plain_parsing(sentences, single_root):
    model = random_model(sentences, {"form": 5, "deprel": 3}, "tanh")
    encoded = model.vocabularies.encode(sentences)
    for size, merge, scores in product((1, 2, 7), (Merge.NONE, Merge.CONFIGURATION), Scores):
        beam = Beam(size, merge, scores)
        expected = beam_parser_of(model, beam).parse(encoded, single_root=single_root)
        for lookahead in (None, 4):
            found = LatticeParser(model, beam, lookahead, threads=2).parse(encoded, single_root=single_root)
            np.testing.assert_array_equal(found.heads, expected.heads)
            np.testing.assert_array_equal(found.relations, expected.relations)
    greedy = parser_of(model).parse(encoded, single_root=single_root)
    found = LatticeParser(model, Beam(1)).parse(encoded, single_root=single_root)
    np.testing.assert_array_equal(found.heads, greedy.heads)


def test_output_is_a_path_with_a_tree():
    rng = random.Random(2)
    model = lattice_model(2)
    lattices = [drawn_lattice(rng, rng.randint(1, 12), 2) for _ in range(10)]
    for size in (1, 4):
        one = LatticeParser(model, Beam(size)).parse_lattices(lattices, model.vocabularies)
        other = LatticeParser(model, Beam(size), threads=3).parse_lattices(lattices, model.vocabularies)
        for lattice, parse, again in zip(lattices, one, other, strict=True):
            assert lattice.is_path(parse.arcs.tolist())
            assert (parse.heads == 0).sum() == 1
            np.testing.assert_array_equal(parse.heads == 0, parse.relations == model.system.root_relation)
            np.testing.assert_array_equal(parse.heads, again.heads)
            np.testing.assert_array_equal(parse.arcs, again.arcs)
            names = [model.relations.symbols[r] for r in parse.relations]
            text = conllu(lattice, parse.arcs.tolist(), parse.heads.tolist(), names)
            assert text.endswith("\n\n")


def test_words_that_come_from_no_lattice_are_of_length_one(tmp_path):
    model = lattice_model(2)
    words = sentence([0, 1, 2], random.Random(1))
    pairs = list(enumerate(zip(words.forms, words.upos, strict=True)))
    tokens = [SurfaceToken(i, i + 1, form) for i, (form, _) in pairs]
    unit = Lattice.of([Arc(i, i + 1, form, upos=tag) for i, (form, tag) in pairs], tokens)
    one, other = model.vocabularies.encode([words]), model.vocabularies.encode([unit])
    np.testing.assert_array_equal(one.values, other.values)
    text = conllu(unit, [0, 1, 2], [0, 1, 2], ["root", "obj", "obj"])
    target = io.BytesIO()
    parse_file(model, io.BytesIO(text.encode()), target)
    expected = parser_of(model).parse(one)
    heads = [int(line.split("\t")[6]) for line in target.getvalue().decode().splitlines() if line]
    assert heads == expected.heads[1:].tolist()


def test_scores_that_are_no_numbers_give_a_tree():
    model = lattice_model(2)
    with torch.no_grad():
        model.classifier.output.bias[:] = torch.tensor([math.nan, math.inf, -math.inf, 0, math.nan, math.inf])
    lattice = drawn_lattice(random.Random(1), 6, 3)
    for scores in Scores:
        (parse,) = LatticeParser(model, Beam(3, scores=scores)).parse_lattices([lattice], model.vocabularies)
        assert lattice.is_path(parse.arcs.tolist())


def test_a_model_remembers_its_lookahead(tmp_path):
    model = lattice_model(2)
    model.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    assert loaded.lookahead == 2
    assert loaded.n_outputs == model.system.n_outputs + 1
    lattice = drawn_lattice(random.Random(1), 6, 3)
    one, other = (LatticeParser(m, Beam(3)).parse_lattices([lattice], m.vocabularies)[0] for m in (model, loaded))
    assert one.score == other.score
    plain = lattice_model(None)
    plain.save(tmp_path / "plain")
    assert Model.load(tmp_path / "plain").lookahead is None


def test_what_cannot_be_is_refused():
    model = lattice_model(None)
    assert model.table.read_ahead == 2
    with pytest.raises(BeamError, match="lookahead=1, but the model reads b1; give at least 2"):
        LatticeParser(model, Beam(1), 1)
    with pytest.raises(BeamError, match="take merge=configuration"):
        LatticeParser(model, Beam(2, Merge.SIGNATURE))
    other = Model.new(model.vocabularies, model.relations, model.slots, model.shape, "arc_hybrid")
    with pytest.raises(BeamError, match="system=arc_hybrid"):
        LatticeParser(other, Beam(2))
