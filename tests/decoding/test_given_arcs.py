"""Given arcs are kept: as many as a system can make together, by enumeration of its trees,
whatever the scores.
"""

import copy
import random
import re
from collections.abc import Iterable, Sequence
from functools import cache
from io import BytesIO
from itertools import product

import numpy as np
import pytest

from oracles import UNKNOWN_HEAD, Oracle, Trees
from oracles.arc_standard.context_rows import ContextRows
from parser import Parser, transitions
from parser.beam_settings import Beam, BeamError, Merge
from parser.conllu.checks import ConlluError
from parser.data.sentences import Sentences
from parser.decoding import given_arcs as given_arcs_module
from parser.decoding.beam.batched import search_batched
from parser.decoding.files import file_parsing
from parser.decoding.given_arcs import GivenArcs, GivenArcsError, lost_arcs, steps_keeping
from parser.decoding.greedy.batched import parse_batched
from parser.decoding.parse_options import OnError
from parser.decoding.search import SearchWish, searches
from parser.library.parsed_sentence import InputError
from parser.model.trained_model import TrainedModel
from parser.transitions import TransitionSystem
from parser.transitions.features import FeatureTable, Slot
from tests import brute_force, random_trees
from tests.forgery import small_model
from tests.jit import COMPILED
from tests.parsed_files import parse_file
from tests.random_models import with_random_weights
from tests.transition_systems import variant_name, variants

# Swap's oracle is not exact, so no heads can be given to it.
VARIANTS = {variant_name(variant): variant for variant in variants("swap")}
LARGEST = 4 if not COMPILED else 6


def system_of(name: str) -> TransitionSystem:
    system, options = VARIANTS[name]
    return transitions.create(system, 3, 1, **options)


def makes_fewer_trees(system: TransitionSystem) -> bool:
    """Whether some trees are beyond the system."""
    return system.projective or "degree" in system.options


@cache
def trees_of(name: str, n: int, single_root: bool) -> np.ndarray:
    """int[trees, n]: those that the system can make."""
    found: Iterable[Sequence[int]] = random_trees.all_trees(n)
    system = system_of(name)
    if makes_fewer_trees(system):
        found = brute_force.attardi_trees(n, 1 if system.projective else system.options["degree"])
    return np.array(
        [tree for tree in found if not single_root or list(tree).count(0) == 1], np.int32
    )


def sampled(n: int, single_root: bool) -> np.ndarray:
    """int[m, n]: parts of all trees: with up to three tokens every subset of the arcs,
    else some.
    """
    rng = random.Random(n)
    trees = [tree for tree in random_trees.all_trees(n) if not single_root or tree.count(0) == 1]
    masks = list(product((False, True), repeat=n))
    parts = {
        tuple(head if kept else UNKNOWN_HEAD for head, kept in zip(tree, mask, strict=True))
        for tree in (trees if n < 6 else rng.sample(trees, 3000))
        for mask in (masks if n < 4 else rng.sample(masks, 2))
    }
    return np.array(sorted(parts), np.int32)


def most_kept(given: np.ndarray, trees: np.ndarray) -> np.ndarray:
    return np.array([(trees == own).sum(axis=1).max() for own in given])


class Given:
    """Sentences of n words with given heads, and what parses them: scores are drawn."""

    def __init__(self, name: str, given: np.ndarray, single_root: bool) -> None:
        self.system, n = system_of(name), given.shape[1]
        offsets = np.arange(len(given) + 1) * (n + 1)
        self.sentences = Sentences(np.full((1, offsets[-1]), 3, np.int32), offsets)
        self.parts = GivenArcs(given.tolist()).numbered([], offsets)
        self.keeping = steps_keeping(self.parts, self.system, single_root)(0, len(given))
        slot = Slot.parse(f"{self.system.always_there}:upos")
        self.table, self.rng = (
            FeatureTable([slot], ["upos"], self.system.candidate_positions),
            np.random.default_rng(n),
        )

    def scorer(self, features: np.ndarray) -> np.ndarray:
        return self.rng.normal(size=(len(features), self.system.n_outputs)).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "n", "single_root"),
    # Of six tokens Attardi's systems make too many trees to enumerate.
    [
        (name, n, single_root)
        for single_root in (True, False)
        for name in VARIANTS
        for n in range(1, LARGEST + 1)
        if n < 6 or not name.startswith("attardi")
    ],
)
def test_as_many_as_the_system_can_make_together_are_kept(name, n, single_root):
    single_root |= name == "covington"  # which makes no other trees
    given = sampled(n, single_root)
    of = Given(name, given, single_root)
    how = {"single_root": single_root, "restriction": of.keeping}
    parses = parse_batched(of.sentences, of.system, of.table, of.scorer, **how)
    found = parses.heads.reshape(len(given), n + 1)[:, 1:]
    trees = trees_of(name, n, single_root)
    assert {*map(tuple, found.tolist())} <= {*map(tuple, trees.tolist())}
    kept = ((found == given) & (given != UNKNOWN_HEAD)).sum(axis=1)
    np.testing.assert_array_equal(kept, most_kept(given, trees))
    if not makes_fewer_trees(of.system):
        assert not len(lost_arcs(of.parts, parses))


@pytest.mark.parametrize("single_root", [True, False])
def test_restrictions_are_those_of_the_exact_oracle(single_root, monkeypatch):
    """Where arcs can be kept together; where they cannot, they are some of the oracle's. Of random
    trees, with any scores.
    """
    rng, n = random.Random(1), 7
    trees = [
        random_trees.random_mildly_nonprojective_tree(rng, n, rehung)
        for rehung in (0, 1, 2)
        for _ in range(40)
    ]
    trees = [tree for tree in trees if not single_root or tree.count(0) == 1]
    shares = [rng.random() for _ in trees]
    given = np.array(
        [
            [UNKNOWN_HEAD if rng.random() < p else h for h in t]
            for t, p in zip(trees, shares, strict=True)
        ],
        np.int32,
    )
    fast = Given("arc_standard", given, single_root)
    monkeypatch.setattr(ContextRows, "bind_lossless", Oracle.bind_lossless)
    slow = Given("arc_standard", given, single_root)
    possible, compared = Trees.from_heads(given, partial=True).projective, 0
    assert 0 < possible.sum() < len(possible)

    def both(*arguments):
        nonlocal compared
        found, expected = fast.keeping(*arguments), slow.keeping(*arguments)
        together = possible[arguments[2]]
        np.testing.assert_array_equal(found.columns[together], expected.columns[together])
        assert found.columns.any(axis=1).all()
        assert not (found.columns & ~expected.columns).any()
        compared += len(expected.columns)
        return found

    parse_batched(
        fast.sentences,
        fast.system,
        fast.table,
        fast.scorer,
        single_root=single_root,
        restriction=both,
    )
    assert compared > 12 * len(given)


def test_arcs_that_exclude_each_other_are_kept_without_scores(monkeypatch):
    """Scores take time that grows with the square of the sentence, at each step."""
    monkeypatch.setattr(ContextRows, "bind", lambda *_: pytest.fail("scores are asked for"))
    given = np.array([[3, 4, UNKNOWN_HEAD, UNKNOWN_HEAD, 0, 4, 4, 6, 5]], np.int32)
    of = Given("arc_standard", given, True)
    parses = parse_batched(
        of.sentences, of.system, of.table, of.scorer, single_root=True, restriction=of.keeping
    )
    assert lost_arcs(of.parts, parses).tolist() == [2, 6, 7]


@pytest.mark.parametrize("name", VARIANTS)
def test_all_items_of_a_beam_keep_them(name):
    given = sampled(4, True)[::20]
    of = Given(name, given, True)
    items = search_batched(
        of.sentences, of.system, of.table, of.scorer, Beam(4), restriction=of.keeping
    )
    own = given[items.numbers]
    kept = ((items.now.heads[:, 1:5] == own) & (own != UNKNOWN_HEAD)).sum(axis=1)
    np.testing.assert_array_equal(kept, most_kept(given, trees_of(name, 4, True))[items.numbers])
    assert len(items.numbers) > len(given)


WORDS = "".join(f"{number}\ta\t_\tX\t_\t_\t{{}}\t{{}}\t_\t_\n" for number in range(1, 5)) + "\n"


def conllu(heads: str, deprels: str = "_ _ _ _") -> str:
    return WORDS.format(
        *(value for pair in zip(heads.split(), deprels.split(), strict=True) for value in pair)
    )


@pytest.fixture(scope="module")
def model():
    return with_random_weights(small_model("static"))


def parsed(model, text: str, **options) -> tuple[list[str], list[str], list[str]]:
    """Of the words that come out, HEAD and DEPREL; and what was reported."""
    target, told = BytesIO(), []
    kind = {"keep_heads": True, **options}
    parse_file(
        model,
        BytesIO(text.encode()),
        target,
        "a.conllu",
        report=lambda error: told.append(str(error)),
        **kind,
    )
    columns = [line.split("\t") for line in target.getvalue().decode().splitlines() if line]
    return [line[6] for line in columns], [line[7] for line in columns], told


def test_a_file_keeps_its_arcs_and_where_none_is_given_it_is_parsed_as_always(model):
    text = "".join(conllu(heads) for heads in ("_ _ _ _", "2 _ 4 _", "_ _ _ 0", "2 0 4 2"))
    heads, _, told = parsed(model, text)
    assert [heads[4], heads[6], heads[11], *heads[12:]] == ["2", "4", "0", "2", "0", "4", "2"]
    assert not told
    assert heads[:4] == parsed(model, text, keep_heads=False)[0][:4]
    untouched = conllu("_ _ _ _") * 3
    assert parsed(model, untouched)[0] == heads[:4] * 3


def test_relations_of_given_arcs_are_kept_as_they_stand(model):
    known = model.relations.symbols[-1]
    heads, deprels, _ = parsed(
        model, conllu("2 _ 4 _", f"new:label obj {known} _"), keep_relations=True
    )
    assert (heads[0], heads[2], deprels[0], deprels[2]) == ("2", "4", "new:label", known)
    assert deprels[1] in model.relations
    assert parsed(model, conllu("2 _ 4 _", f"new:label _ {known} _"))[1][0] in model.relations


@pytest.mark.parametrize("relations", [False, True])
def test_any_chunks_and_threads_keep_the_same(model, relations):
    rng, labels = random.Random(1), [*model.relations.symbols, "_", "new:label"]
    trees = [tree for tree in brute_force.projective_trees(4) if list(tree).count(0) == 1] + [
        [3, 4, 0, 3]
    ]
    parts = [
        " ".join(str(head) if rng.random() < 0.5 else "_" for head in tree) for tree in trees * 3
    ]

    def deprels(heads: str) -> str:
        """Return relations that mostly fit the root."""
        return " ".join(
            rng.choice([label for label in labels if (label == "root") == (head == "0")])
            if rng.random() < 0.95
            else rng.choice(labels)
            for head in heads.split()
        )

    text = "".join(conllu(heads, deprels(heads)) for heads in [*parts, CROSSING, *parts])
    how = {"keep_relations": relations, "on_error": OnError.KEEP, "allow_missing_columns": True}
    found = parsed(model, text, **how)
    for threads, chunk_bytes in ((1, 1), (1, 300), (3, 100)):
        *trees, told = parsed(model, text, threads=threads, chunk_bytes=chunk_bytes, **how)
        # arcs that are lost are told after the other errors of a chunk
        assert (trees, sorted(told)) == ([*found[:2]], sorted(found[2]))
    assert found[2]


CROSSING = "3 4 _ _"


def test_words_with_given_arcs_are_read_in_compiled_code_unless_a_relation_is_new(
    model, monkeypatch
):
    known = model.relations.symbols[-1]
    text = (
        conllu("2 _ 4 _", f"{known} new _ _")
        + conllu("_ _ _ _")
        + conllu("2 0 4 2", f"{known} root _ _")
    )
    # the last one needs the stream
    slowly = parsed(model, text + conllu("_ 1 _ _", "_ new _ _"), keep_relations=True)
    monkeypatch.setattr(file_parsing, "read_raw_sentences", None)
    heads, deprels, told = parsed(model, text, keep_relations=True)
    assert (heads, deprels, told) == (slowly[0][:12], slowly[1][:12], [])
    assert (deprels[0], deprels[8], deprels[9]) == (known, known, "root")
    assert parsed(model, text)[0][8:] == ["2", "0", "4", "2"]


@pytest.mark.parametrize("chunk_bytes", [1, 2**18])
@pytest.mark.parametrize(
    ("deprels", "message"),
    [
        ("_ root _ root", "line 9, sentence 2: word 4, with head 2, cannot have the relation root"),
        ("_ {} _ _", "line 7, sentence 2: word 2, with head 0, cannot have the relation {}; give"),
        ("_ new _ _", "line 7, sentence 2: word 2, with head 0, cannot have the relation new;"),
        ("new new _ _", "line 7, sentence 2: word 2, with head 0, cannot have the relation new;"),
    ],
)
def test_only_the_root_keeps_the_relation_of_the_root(model, chunk_bytes, deprels, message):
    known = next(symbol for symbol in model.relations.symbols if symbol != "root")
    text = conllu("_ _ _ 0") + conllu("2 0 4 2", deprels.format(known)) + conllu("_ 1 _ _")
    how = {"keep_relations": True, "chunk_bytes": chunk_bytes}
    with pytest.raises(ConlluError, match=rf"a\.conllu, {message.format(known)}"):
        parsed(model, text, **how)
    heads, _, told = parsed(model, text, on_error=OnError.SKIP, **how)
    assert (len(heads), len(told)) == (8, 1)
    assert re.search(message.format(known), told[0])
    assert parsed(model, text, several_roots=True, **how)[2] == []
    assert parsed(model, text, chunk_bytes=chunk_bytes)[2] == [], "relations are not kept"


def test_a_subtype_of_root_is_kept_and_so_is_root_of_a_word_without_a_head(model):
    given = conllu("2 0 _ _", "_ root:x root _")
    heads, deprels, _ = parsed(model, given, keep_relations=True)
    assert (heads[1], deprels[1]) == ("0", "root:x")
    assert "root" not in deprels
    free = copy.copy(model)
    free.system = transitions.create("arc_standard", model.system.n_relations)
    found = parsed(free, conllu("2 0 _ _", "root x _ _"), keep_relations=True)[1]
    assert found[:2] == ["root", "x"]


@pytest.mark.parametrize("relations", ["_ _ _ _", "new _ _ _"])
def test_a_chunk_with_a_lost_arc_is_parsed_once(model, monkeypatch, relations):
    calls, predict = [], file_parsing.Predictor.predict
    monkeypatch.setattr(
        file_parsing.Predictor, "predict", lambda *a, **k: calls.append(a) or predict(*a, **k)
    )
    text = conllu("2 _ _ _", relations) + conllu(CROSSING) + conllu("_ _ _ 0")
    for on_error, words in ((OnError.KEEP, 12), (OnError.SKIP, 8)):
        heads, _, told = parsed(model, text, on_error=on_error, keep_relations=True)
        assert (len(heads), len(told), heads[-1]) == (words, 1, "0")
    assert len(calls) == 2


def test_an_arc_that_is_lost_is_named_and_on_error_says_what_becomes_of_the_sentence(model):
    text = conllu("_ 1 _ _") + conllu(CROSSING)
    where = (
        r"a\.conllu, line [67], sentence 2: the arc from [34] to [12] is lost: system=arc_standard"
    )
    with pytest.raises(ConlluError, match=rf"{where}.*--on-error=keep"):
        parsed(model, text)
    heads, _, told = parsed(model, text, on_error=OnError.SKIP)
    assert len(heads) == 4
    assert re.match(where, told[0])
    heads, _, told = parsed(model, text, on_error=OnError.KEEP)
    assert heads[4:] == CROSSING.split()
    assert len(told) == 1


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ("5 _ _ _", r"line 6, sentence 2: the head 5 is outside 0\.\.4"),
        ("x _ _ _", r"line 6, sentence 2: the head 'x' is not a number"),
        ("2 3 1 _", r"line \d, sentence 2: a cycle"),
        ("0 _ 0 _", r"line 8, sentence 2: several roots"),
    ],
)
def test_given_heads_that_are_no_part_of_a_tree_are_named(model, heads, message):
    text = conllu("_ _ _ 0") + conllu(heads) + conllu("_ _ _ 1")
    with pytest.raises(ConlluError, match=rf"a\.conllu, {message}"):
        parsed(model, text)
    found, _, told = parsed(model, text, on_error=OnError.SKIP)
    assert len(found) == 8
    assert re.search(message, told[0])
    assert parsed(model, text, on_error=OnError.KEEP)[0][4:8] == heads.split()
    if "several roots" in message:
        assert parsed(model, text, several_roots=True)[0][4:8:2] == ["0", "0"]


@pytest.mark.parametrize("chunk_bytes", [1, 2**18])
@pytest.mark.parametrize("heads", ["_ _ _ _", "_ 1 _ _"])
def test_a_sentence_too_long_to_keep_heads_in_loses_itself_alone(
    model, monkeypatch, heads, chunk_bytes
):
    for module in (file_parsing, given_arcs_module):
        monkeypatch.setattr(module, "MOST_WORDS", 3)
    short = "".join(conllu("_ 1 _ _").splitlines(keepends=True)[:3]) + "\n"
    found, _, told = parsed(
        model, short + conllu(heads) + short, on_error=OnError.SKIP, chunk_bytes=chunk_bytes
    )
    assert len(found) == 6
    (error,) = told
    assert error.startswith("a.conllu, line 5, sentence 2: 4 words; ")
    parser = Parser(model)
    with pytest.raises(GivenArcsError, match=r"4 words, .* up to 3"):
        parser.parse([["a"] * 4], heads=[[None] * 4], allow_missing_columns=True)
    assert len(parser.parse([["a"] * 4], allow_missing_columns=True)) == 1


@pytest.mark.parametrize("beam", [None, Beam(3)])
def test_the_library_keeps_them(model, beam):
    parser = Parser(model, beam=beam)
    words = [["a", "b", "c"], ["a", "b"]]
    found = parser.parse(words, heads=[[None, 1, None], [0, None]], allow_missing_columns=True)
    assert (found[0].heads[1], found[1].heads) == (1, [0, 1])
    assert all(0 <= p <= 1 for sentence in found for p in sentence.probabilities)
    label = next(symbol for symbol in model.relations.symbols if symbol != "root")
    found = parser.parse(
        words[:1],
        heads=[[None, 1, None]],
        deprels=[[None, label, None]],
        allow_missing_columns=True,
    )
    assert found[0].deprels[1] == label


def test_the_library_takes_arcs_of_any_kind_and_relations_that_the_model_does_not_know(model):
    parser, words = Parser(model), [["a", "b", "c"], ["a", "b"]]
    heads, deprels = [[2, 0, 2], [0, None]], [["x", "root", "y"], ["root", "z"]]
    expected = parser.parse(words, heads=heads, deprels=deprels, allow_missing_columns=True)
    assert expected[0].heads == heads[0]
    assert expected[0].deprels == deprels[0]
    assert expected[1].deprels[1] != "z"  # of an arc that is not given
    others = (
        (iter(heads), iter(deprels)),
        (map(iter, heads), (iter(own) for own in deprels)),
        ([np.array(heads[0]), heads[1]], tuple(map(tuple, deprels))),
    )
    for given, labels in others:
        assert (
            parser.parse(words, heads=given, deprels=labels, allow_missing_columns=True) == expected
        )


@pytest.mark.parametrize(
    ("heads", "deprels", "message"),
    [
        ([[1, None]], None, "heads= must have a list for each sentence"),
        ([[4, None, None]], None, r"sentence 1: the head int 4 is not one of 0\.\.3"),
        ([["2", None, None]], None, "sentence 1: the head str '2' is not one of"),
        ([[0, 0, None]], None, "sentence 1, word 2: several roots"),
        ([[2, 1, None]], None, "sentence 1, word 1: a cycle"),
        ([[True, None, None]], None, "sentence 1: the head bool True is not one of"),
        ([[None] * 3], [["x"]], "deprels= must have a list"),
        ([[None] * 3], ["xyz"], "deprels= must have a list"),
        ([None], None, "heads= must have a list"),
        (5, None, "heads= must have a list for each sentence"),
        ([[None] * 3], 5, "deprels= must have a list for each sentence"),
        ([[None] * 3], [["x", 2, "z"]], "sentence 1: the relation int 2 is neither a str nor None"),
        (None, [[None] * 3], "add heads="),
        (
            [[2, 0, None]],
            [["root", None, None]],
            "sentence 1, word 1, with head 2, cannot have the relation root; give another .*None",
        ),
        (
            [[2, 0, None]],
            [[None, "x", None]],
            "sentence 1, word 2, with head 0, cannot have the relation x; give root, or None",
        ),
    ],
)
def test_the_library_names_what_is_wrong(model, heads, deprels, message):
    with pytest.raises(InputError, match=message):
        Parser(model).parse(
            [["a", "b", "c"]], heads=heads, deprels=deprels, allow_missing_columns=True
        )


def test_what_cannot_keep_them_says_so(model):
    with pytest.raises(BeamError, match="merge=signature"):
        searches(model, SearchWish(Beam(4, Merge.SIGNATURE), keeps_arcs=True))
    swap = TrainedModel.new(model.vocabularies, model.relations, model.slots, model.spec, "swap")
    with pytest.raises(GivenArcsError, match=r"system=swap .*covington"):
        searches(swap, SearchWish(keeps_arcs=True))
