"""Parsing lattices: against all computations over all paths of small ones,
and against plain parsing.
"""

import math
import random
from itertools import product

import numpy as np
import pytest
import torch

from parser.beam_settings import Beam, BeamError, Merge, Scores
from parser.data.sentences import Parses, Sentences
from parser.decoding.lattice.compiled import Arcs, LatticeBeam
from parser.decoding.lattice.parser import LatticeParse, LatticeParser, lattice_parser
from parser.decoding.sentence_parser import distinct, write_trees
from parser.lattices import Arc, Lattice, SurfaceToken, conllu
from parser.model.trained_model import TrainedModel
from tests.decoding.slow_lattices import SlowSearch, lattice_model
from tests.jit import COMPILED
from tests.lattices.made import all_paths, drawn_lattice
from tests.parsed_files import parsed
from tests.random_models import random_static_model
from tests.searches import beam_parser_of, parser_of
from tests.toy import assert_same_trees, drawn_sentences, sentence

N_LATTICES = 6 if COMPILED else 1


def all_parses(
    parser: LatticeParser, model: TrainedModel, lattice: Lattice, single_root: bool = True
) -> list[LatticeParse]:
    """Those of the last bucket, however often."""
    arcs = [Arcs.of(lattice.starts, lattice.ends, lattice.last_node)]
    (trees,) = parser._search.lattice_trees(model.vocabularies.encode([lattice]), arcs, single_root)
    return [LatticeParse.of(tree) for tree in trees]


@pytest.mark.parametrize(
    ("learned", "local", "single_root"), list(product([True, False], repeat=3))
)
@pytest.mark.parametrize(
    ("system", "lookahead"),
    [("arc_standard", 1), ("arc_standard", 2), ("arc_standard", 3), ("attardi", 2)],
)
def test_a_wide_beam_finds_all_computations(system, learned, local, single_root, lookahead):
    rng = random.Random(lookahead)
    model = lattice_model(lookahead if learned else None, min(lookahead, 2), system)
    for _ in range(N_LATTICES):
        lattice = drawn_lattice(rng, rng.randint(1, 3), rng.randint(0, 2))
        expected = sorted(
            SlowSearch(model, lattice, lookahead, local, single_root).all(), reverse=True
        )
        if len(expected) > 1000:
            continue
        scores = Scores.LOCAL if local else Scores.GLOBAL
        parser = LatticeParser(model, Beam(1000, Merge.NONE, scores), lookahead)
        found = all_parses(parser, model, lattice, single_root)
        np.testing.assert_allclose(
            [one.score for one in found], [one[0] for one in expected], rtol=1e-4, atol=1e-4
        )
        best: dict[tuple, float] = {}
        for score, *parse in expected:
            best.setdefault(tuple(parse), score)
        parser = LatticeParser(model, Beam(1000, Merge.CONFIGURATION, scores), lookahead)
        merged = all_parses(parser, model, lattice, single_root)
        by_parse = {
            tuple(map(tuple, (p.arcs.tolist(), p.heads.tolist(), p.relations.tolist()))): p.score
            for p in merged
        }
        assert by_parse.keys() == best.keys()
        assert len(merged) == len(best)
        for parse, score in by_parse.items():
            assert score == pytest.approx(best[parse], rel=1e-4, abs=1e-4)
        assert {parse[0] for parse in by_parse} == set(map(tuple, all_paths(lattice)))


def parse_as_paths(search: LatticeBeam, sentences: Sentences, single_root: bool = True) -> Parses:
    """Sentences as lattices of a single path."""
    parses, nodes = (
        Parses.allocate(sentences.offsets),
        np.arange(sentences.lengths.max() + 1, dtype=np.int32),
    )
    arcs = [Arcs.of(nodes[:n], nodes[1 : n + 1], n) for n in sentences.lengths.tolist()]
    write_trees(
        (distinct(trees, 1)[0] for trees in search.lattice_trees(sentences, arcs, single_root)),
        parses,
    )
    return parses


@pytest.mark.parametrize("single_root", [True, False])
def test_a_single_path_is_plain_parsing(single_root):
    sentences = drawn_sentences(5, *((20, 20) if COMPILED else (3, 5)))
    model = random_static_model(sentences, {"form": 5, "deprel": 3}, "tanh")
    encoded = model.vocabularies.encode(sentences)
    for size, merge, scores in product((1, 2, 7), (Merge.NONE, Merge.CONFIGURATION), Scores):
        beam = Beam(size, merge, scores)
        expected = beam_parser_of(model, beam).parse(encoded, single_root=single_root)
        for lookahead in (None, 4):
            found = parse_as_paths(
                LatticeParser(model, beam, lookahead)._search, encoded, single_root
            )
            assert_same_trees(found, expected)
    greedy = parser_of(model).parse(encoded, single_root=single_root)
    found = parse_as_paths(LatticeParser(model, Beam(1))._search, encoded, single_root)
    np.testing.assert_array_equal(found.heads, greedy.heads)


def test_output_is_a_path_with_a_tree():
    rng = random.Random(2)
    model = lattice_model(2)
    lattices = [drawn_lattice(rng, rng.randint(1, 12), 2) for _ in range(10)]
    for size in (1, 4):
        one = LatticeParser(model, Beam(size)).k_best(lattices, model.vocabularies)
        other = LatticeParser(model, Beam(size), threads=3).k_best(lattices, model.vocabularies)
        for lattice, (parse,), (again,) in zip(lattices, one, other, strict=True):
            assert lattice.is_path(arcs := parse.arcs.tolist())
            assert (parse.heads == 0).sum() == 1
            np.testing.assert_array_equal(
                parse.heads == 0, parse.relations == model.system.root_relation
            )
            assert (arcs, parse.heads.tolist()) == (again.arcs.tolist(), again.heads.tolist())
            names = [model.relations.symbols[r] for r in parse.relations]
            assert conllu(lattice, arcs, parse.heads.tolist(), names).endswith("\n\n")


def test_words_that_come_from_no_lattice_are_of_length_one():
    model = lattice_model(2)
    words = sentence([0, 1, 2], random.Random(1))
    pairs = list(enumerate(zip(words.forms, words.upos, strict=True)))
    tokens = [SurfaceToken(i, i + 1, form) for i, (form, _) in pairs]
    unit = Lattice.of([Arc(i, i + 1, form, upos=tag) for i, (form, tag) in pairs], tokens)
    one, other = model.vocabularies.encode([words]), model.vocabularies.encode([unit])
    np.testing.assert_array_equal(one.values, other.values)
    text = conllu(unit, [0, 1, 2], [0, 1, 2], ["root", "obj", "obj"])
    expected = parser_of(model).parse(one)
    heads = [
        int(line.split("\t")[6])
        for line in parsed(model, text.encode()).decode().splitlines()
        if line
    ]
    assert heads == expected.heads[1:].tolist()


def test_scores_that_are_no_numbers_give_a_tree():
    model = lattice_model(2)
    with torch.no_grad():
        model.classifier.output.bias[:] = torch.tensor(
            [math.nan, math.inf, -math.inf, 0, math.nan, math.inf]
        )
    lattice = drawn_lattice(random.Random(1), 6, 3)
    for scores in Scores:
        ((parse,),) = LatticeParser(model, Beam(3, scores=scores)).k_best(
            [lattice], model.vocabularies
        )
        assert lattice.is_path(parse.arcs.tolist())


def test_a_model_remembers_its_lookahead(tmp_path):
    model = lattice_model(2)
    model.save(tmp_path / "model")
    loaded = TrainedModel.load(tmp_path / "model")
    assert loaded.lookahead == 2
    assert loaded.n_outputs == model.system.n_outputs + 1
    lattice = drawn_lattice(random.Random(1), 6, 3)
    one, other = (
        LatticeParser(m, Beam(3)).k_best([lattice], m.vocabularies)[0][0] for m in (model, loaded)
    )
    assert one.score == other.score
    plain = lattice_model(None)
    plain.save(tmp_path / "plain")
    assert TrainedModel.load(tmp_path / "plain").lookahead is None


def test_what_cannot_be_is_refused():
    model = lattice_model(None)
    assert model.table.read_ahead == 2
    with pytest.raises(BeamError, match=r"lookahead=1, .* b1.* 2"):
        LatticeParser(model, Beam(1), 1)
    with pytest.raises(
        BeamError, match="merge=signature is not supported with lattices; use merge=configuration"
    ):
        lattice_parser(model, Beam(2, Merge.SIGNATURE))
    with pytest.raises(BeamError, match="ask for 1 to 2"):
        LatticeParser(model, Beam(2)).k_best([], model.vocabularies, 3)
    other = TrainedModel.new(
        model.vocabularies, model.relations, model.slots, model.spec, "arc_hybrid"
    )
    with pytest.raises(BeamError, match="system=arc_hybrid"):
        lattice_parser(other, Beam(2))
