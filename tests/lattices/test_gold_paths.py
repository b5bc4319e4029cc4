"""Gold paths: found where they are, infused where they are not; and of the real lattices as many as
were counted elsewhere.
"""

import bz2
import io
import random
import re
from collections.abc import Iterable

import pytest

from parser.conllu.stream import RawSentence, read_raw_sentences
from parser.lattices import Arc, Lattice, LatticeError, SurfaceToken, conllu, read_lattices
from parser.lattices.gold_paths import (
    MissingPath,
    gold_path,
    gold_paths,
    joined,
    read_trees,
    surface_tokens,
)
from tests.lattices.made import all_paths, drawn_lattice, shared


def tree(text: str) -> RawSentence:
    (sentence,) = read_raw_sentences(io.BytesIO(text.replace(" ", "\t").encode()), "t.conllu")
    return sentence


def words(forms: Iterable[str]) -> list[str]:
    return [
        f"{i} {form} _ X _ _ {i - 1} {'dep' if i > 1 else 'root'} _ _"
        for i, form in enumerate(forms, 1)
    ]


GOLD = """1-2 ab _ _ _ _ _ _ _ SpaceAfter=No
1 a a ADP _ _ 2 case _ _
2 b b NOUN _ Case=Nom 3 obl _ _
3 c c VERB _ _ 0 root _ _

"""


def lattice(*further: Arc) -> Lattice:
    tokens = [SurfaceToken(0, 2, "ab", "SpaceAfter=No"), SurfaceToken(2, 3, "c")]
    return Lattice.of(
        [Arc(0, 2, "ab", upos="NOUN"), Arc(2, 3, "c", "c", "VERB"), *further], tokens, [], "here"
    )


def test_the_path_agrees_best():
    arcs = [
        Arc(0, 1, "a", upos="DET"),
        Arc(0, 1, "a", upos="ADP"),
        Arc(1, 2, "b", upos="NOUN", feats="Case=Gen"),
        Arc(1, 2, "b", upos="VERB", feats="Case=Nom"),
        Arc(1, 2, "b", upos="NOUN", feats="Case=Nom"),
        Arc(1, 2, "x", upos="NOUN", feats="Case=Nom"),
    ]
    given = lattice(*arcs)
    path = gold_path(given, tree(GOLD))
    found = [given.arcs[number] for number in path.arcs]
    assert found == [arcs[1], arcs[4], Arc(2, 3, "c", "c", "VERB")]
    assert path.with_forms.all()
    assert path.with_upos.all()
    assert path.sentence.heads == [2, 3, 0]
    assert path.sentence.feats == ["_", "Case=Nom", "_"]
    without = gold_path(lattice(*arcs[:1], *arcs[2:4]), tree(GOLD))
    assert without.with_forms.all()
    assert without.with_upos.tolist() == [False, True]
    assert without.sentence.upos == ["DET", "NOUN", "VERB"]  # the lattice's, not the tree's


def test_gold_words_are_infused():
    path = gold_path(lattice(), tree(GOLD))
    assert path.with_forms.tolist() == [False, True]
    assert path.sentence.forms == ["a", "b", "c"]
    assert path.sentence.upos == ["ADP", "NOUN", "VERB"]
    assert len(path.lattice) == 4
    assert path.lattice.is_path(path.arcs.tolist())
    assert path.lattice.last_node == 3


def test_nodes_are_made_for_gold_words():
    tokens = [SurfaceToken(0, 1, "ab"), SurfaceToken(1, 2, "c"), SurfaceToken(2, 3, "d")]
    given = Lattice.of([Arc(0, 1, "ab"), Arc(1, 2, "x"), Arc(2, 3, "d")], tokens)
    rows = words("abpqrd")
    text = "\n".join(["1-2 ab" + " _" * 8, *rows[:2], "3-5 c" + " _" * 8, *rows[2:], "", ""])
    path = gold_path(given, tree(text))
    assert path.sentence.forms == [*"abpqrd"]
    assert path.lattice.tokens == [
        SurfaceToken(0, 2, "ab"),
        SurfaceToken(2, 5, "c"),
        SurfaceToken(5, 6, "d"),
    ]
    assert path.lattice.is_path(path.arcs.tolist())
    assert len(all_paths(path.lattice)) == 4


def test_what_becomes_of_sentences_without_a_gold_path():
    whole, broken = lattice(Arc(0, 1, "a"), Arc(1, 2, "b")), lattice()
    paths, found = gold_paths([whole, broken], [tree(GOLD), tree(GOLD)], MissingPath.SKIP)
    assert len(paths) == 1
    assert (found.sentences, found.with_forms, found.tokens, found.tokens_with_forms) == (
        2,
        1,
        4,
        3,
    )
    assert "in 75.0% of the tokens" in str(found)
    assert len(gold_paths([whole, broken], [tree(GOLD), tree(GOLD)], MissingPath.INFUSED)[0]) == 2
    with pytest.raises(ValueError, match="no sentence has a gold path"):
        gold_paths([broken], [tree(GOLD)], MissingPath.SKIP)


def one_to_one(*forms: str) -> RawSentence:
    return tree("\n".join([*words(forms), "", ""]))


def test_other_tokens_are_refused():
    with pytest.raises(LatticeError, match=r"here: 2 tokens, .*3 .*\(t\.conllu, line 1"):
        gold_path(lattice(), one_to_one("w", "w", "w"))


def test_tokens_that_are_written_otherwise_are_counted_and_many_refused():
    number = Lattice.of(
        [Arc(0, 1, "a"), Arc(1, 2, "12")],
        [SurfaceToken(0, 1, "a"), SurfaceToken(1, 2, "12")],
        [],
        "here",
    )
    same, other = one_to_one("a", "12"), one_to_one("a", "21")
    assert gold_path(number, other).differing == [("12", "21")]
    paths, found = gold_paths([number] * 5, [*[same] * 4, other])
    assert len(paths) == 5
    assert str(found).endswith("; 1 tokens are written differently in the trees")
    assert "written" not in str(gold_paths([number], [same])[1])
    with pytest.raises(LatticeError, match=r"^here: .*'12' is '21' .* 1 of 8 tokens"):
        gold_paths([number] * 4, [other, *[same] * 3])


def test_lattices_and_trees_are_joined_by_name():
    named = [tree(f"# sent_id = {name}\n" + GOLD) for name in "abc"]
    of = {name: Lattice.of([], [], sent_id=name) for name in "cdb"}
    pairs = list(joined(list(of.values()), named))
    assert [(lattice.sent_id, tree.lines[0][-2]) for lattice, tree in pairs] == [
        ("c", "c"),
        ("b", "b"),
    ]
    with pytest.raises(LatticeError, match="no sent_id"):
        list(joined([of["d"]], named))
    with pytest.raises(LatticeError, match="1 lattices for 2 trees"):
        list(joined([Lattice.of([], [])], named[:2]))


def test_the_gold_path_of_a_lattice_that_holds_it_is_found():
    for seed in range(30):
        rng = random.Random(seed)
        given = drawn_lattice(rng, rng.randint(1, 8), rng.randint(0, 3), forms=3)
        arcs = rng.choice(all_paths(given))
        heads = [0, *(rng.randint(1, place) for place in range(1, len(arcs)))]
        text = conllu(given, arcs, heads, ["root", *("dep" for _ in arcs[1:])])
        (sentence,) = read_raw_sentences(io.BytesIO(text.encode()), "t")
        assert [form for form, _ in surface_tokens(sentence)] == [
            token.form for token in given.tokens
        ]
        path = gold_path(given, sentence)
        assert path.with_upos.all()
        assert path.lattice is given
        assert path.sentence.forms == [given.forms[number] for number in arcs]
        assert path.sentence.upos == [given.upos[number] for number in arcs]
        assert path.sentence.heads == heads


def test_what_is_no_path_is_not_written():
    with pytest.raises(ValueError, match=r"here: arcs \[0\] are not a path"):
        conllu(lattice(), [0], [0], ["root"])


FIGURES = [
    (
        "tr/tr_imst-ud-test.trmorph2",
        "ud-v2.2/UD_Turkish-IMST/tr_imst-ud-test.conllu",
        "99.1 93.3 91.5 58.8",
    ),
    ("he/he_htb-ud-test.heblex", "lattices/he/he_htb-ud-test.conllu", "96.8 86.0 58.0 15.3"),
]


@pytest.mark.parametrize(("lattices", "trees", "expected"), FIGURES)
def test_figures_of_the_real_lattices(lattices, trees, expected):
    pairs = read_lattices(shared(f"lattices/{lattices}.conllul.bz2")), read_trees(shared(trees))
    paths, found = gold_paths(*pairs)
    assert " ".join(re.findall(r"([0-9.]+)%", str(found))) == expected
    for path in paths:
        assert path.lattice.is_path(path.arcs.tolist())
        assert path.sentence.heads.count(0) == 1


def test_turkish_paths_are_those_that_the_file_marks():
    """Its last column names gold words: for this check alone, the reader passes over it."""
    name = shared("lattices/tr/tr_imst-ud-dev.trmorph2.conllul.bz2")
    trees = read_trees(shared("ud-v2.2/UD_Turkish-IMST/tr_imst-ud-dev.conllu"))
    marked: list[dict[int, set[tuple[str, ...]]]] = []
    for block in bz2.decompress(name.read_bytes()).decode().split("\n\n"):
        found: dict[int, set[tuple[str, ...]]] = {}
        for line in block.splitlines():
            if match := re.search(r"goldId=(\d+)", line):
                found.setdefault(int(match[1]), set()).add(tuple(line.split("\t")[2:7]))
        if block.strip():
            marked.append(found)
    agree = total = 0
    for path, marks in zip(gold_paths(read_lattices(name), trees)[0], marked, strict=True):
        s = path.sentence
        for word, columns in enumerate(
            zip(s.forms, s.lemmas, s.upos, s.xpos, s.feats, strict=True), 1
        ):
            if word in marks:
                total += 1
                agree += columns in marks[word]
    assert total > 7000
    assert agree / total > 0.9
