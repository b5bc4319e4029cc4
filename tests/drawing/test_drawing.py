"""Trees as text, SVG and HTML: every arc is there, at a height of its own;
nothing a file holds breaks a picture.
"""

import random
import re
from xml.etree import ElementTree

import pytest

from parser.drawing import (
    DrawnArc,
    DrawnTree,
    NamedTree,
    as_svg,
    as_text,
    display_width,
    levels,
    printable,
)
from parser.drawing.html import drawing, page
from tests.random_trees import random_tree

PAPER = DrawnTree(
    ["A", "hearing", "is", "scheduled", "on", "the", "issue", "today"],
    ["DET", "NOUN", "AUX", "VERB", "ADP", "DET", "NOUN", "NOUN"],
    [2, 4, 4, 0, 7, 7, 2, 4],
    ["det", "nsubj", "aux", "root", "case", "det", "nmod", "obl"],
)


def tree(heads: list[int], **gold) -> DrawnTree:
    n = len(heads)
    return DrawnTree(
        [f"w{i}" for i in range(1, n + 1)],
        ["X"] * n,
        heads,
        ["root" if h == 0 else "dep" for h in heads],
        **gold,
    )


@pytest.mark.parametrize(
    ("form", "shown"),
    [("10\u00a0000", "10 000"), ("a\u3000b", "a  b"), ("a\u2028\x85", "a\ufffd\ufffd")],
)
def test_spaces_are_plain_ones(form, shown):
    assert printable(form) == shown
    assert display_width(printable(form)) == len(shown)


@pytest.mark.parametrize(
    ("number", "sent_id", "title"),
    [
        (1, "1", "sentence 1"),
        (1, "", "sentence 1"),
        (2, "1", "sentence 2, 1"),
        (1, "hearing", "sentence 1, hearing"),
    ],
)
def test_a_title_names_a_sentence_once(number, sent_id, title):
    assert NamedTree(number, sent_id, PAPER).title == title


def test_the_papers_example_in_the_terminal():
    assert as_text(PAPER).splitlines() == [
        "      ┌─> 1 det    DET   A",
        "┌───┬─┴─> 2 nsubj  NOUN  hearing",
        "│   │ ┌─> 3 aux    AUX   is",
        "│ ┌─┴─┴── 4 root   VERB  scheduled",
        "│ │ ┌───> 5 case   ADP   on",
        "│ │ │ ┌─> 6 det    DET   the",
        "└─┼─┴─┴─> 7 nmod   NOUN  issue",
        "  └─────> 8 obl    NOUN  today",
    ]


def test_arcs_of_a_chain_lie_on_one_line():
    assert as_text(tree([0, 1, 2])).splitlines() == [
        "┌── 1 root  X  w1",
        "├─> 2 dep   X  w2",
        "└─> 3 dep   X  w3",
    ]


@pytest.mark.parametrize("seed", range(20))
def test_arcs_over_the_same_words_have_different_heights(seed):
    rng = random.Random(seed)
    arcs = [arc for arc in tree(random_tree(rng, rng.randrange(1, 15))).arcs() if arc.head]
    heights = levels(arcs)
    for one, at in zip(arcs, heights, strict=True):
        for other, there in zip(arcs, heights, strict=True):
            overlap = min(one.span[1], other.span[1]) - max(one.span[0], other.span[0])
            if one != other and overlap > 0:
                assert at != there
                inside = one.span[0] >= other.span[0] and one.span[1] <= other.span[1]
                assert not inside or at < there
        assert at == 1 or any(there == at - 1 for there in heights)


def test_gold_against_predicted():
    drawn = tree([2, 0, 2], gold_heads=[2, 0, 1], gold_deprels=["dep", "root", "dep"])
    assert [arc.kind for arc in drawn.arcs()] == ["right", "right", "wrong"]
    assert drawn.missed() == [DrawnArc(1, 3, "dep", "missed")]
    first, second, third = as_text(drawn).splitlines()
    assert third.endswith("w3   <- gold: dep of 1 w1")
    assert "gold" not in first + second
    assert as_text(drawn, color=True).splitlines()[2].startswith("\x1b[31m")
    assert as_svg(drawn).count("stroke-dasharray") == 1
    label = tree([0, 1], gold_heads=[0, 1], gold_deprels=["root", "obj"])
    assert [arc.deprel for arc in label.missed()] == ["obj"]


def test_every_word_and_relation_is_in_a_picture_that_is_xml():
    odd = DrawnTree(
        ["<&\"'", "\x00\ud800", "私", "كتاب"],
        ["_"] * 4,
        [0, 1, 1, 3],
        ["root", "a<b", "dep", "dep"],
    )
    texts = [
        element.text
        for element in ElementTree.fromstring(as_svg(odd)).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert {"<&\"'", "\ufffd\ufffd", "私", "كتاب", "root", "a<b", "dep"} <= set(texts)
    made = page("a < b", [drawing(odd, "<b>")])
    assert "&lt;b&gt;" in made
    # nothing from the network
    assert "http" not in made.replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_relations_are_drawn_over_the_lines_that_cross_them():
    """Those of the root cross all that they meet, and those of an arc only lower ones."""
    made = as_svg(PAPER)
    drawn = [made.index(f">{name}</text></g>") for name in ("root", "nmod", "obl", "nsubj")]
    assert drawn == sorted(drawn)


SVG = "{http://www.w3.org/2000/svg}"
RELATIONS = ["nsubj", "obj", "nmod", "nmod:poss", "case", "acl:relcl", "compound:prt", "cc", "OBJA"]


def lines_and_relation(
    arc: ElementTree.Element,
) -> tuple[list[tuple[float, float, float]], tuple[float, float, float]]:
    """Return the vertical lines of a drawn arc, with their upper and lower ends, and the left,
    right and middle of its relation.
    """
    path = arc.findall(f"{SVG}path")[0].get("d", "")
    x, y = map(float, re.findall(r"^M([\d.]+),([\d.]+) ", path)[0])
    tops = re.findall(r"V([\d.]+)", path)
    lines = [(x, float(tops[0]), y)]
    if "H" in path:
        lines.append(
            (float(re.findall(r"Q([\d.]+),[\d.]+ [\d.]+,[\d.]+ V", path)[0]), float(tops[0]), y)
        )
    text = arc.findall(f"{SVG}text")[-1]
    letters = text.text or ""
    half = (7 * len(letters) + 4 * sum(letter in "mOBA" for letter in letters)) / 2
    middle = float(text.get("x", "0"))
    return [(x, min(a, b), max(a, b)) for x, a, b in lines], (
        middle - half,
        middle + half,
        float(text.get("y", "0")) - 4,
    )


@pytest.mark.parametrize("seed", range(40))
def test_relations_keep_clear_of_the_lines_of_other_arcs(seed):
    """Trees of any kind, a third of them from right to left,
    half of them with a gold tree below.
    """
    rng = random.Random(seed)
    n = rng.randrange(2, 25)
    trees = [random_tree(rng, n) for _ in range(2)]
    ours, gold = (
        (heads, ["root" if h == 0 else rng.choice(RELATIONS) for h in heads]) for heads in trees
    )
    forms = [("ש" if seed % 3 == 0 else "n") * rng.randrange(1, 8) for _ in range(n)]
    made = ElementTree.fromstring(
        as_svg(DrawnTree(forms, ["X"] * n, *ours, *(gold if seed % 2 else ())))
    )
    drawn = [lines_and_relation(arc) for arc in made.findall(f"{SVG}g")]
    for number, (_, (left, right, middle)) in enumerate(drawn):
        assert 0 <= left < right <= float(made.get("width", "0"))
        for other, (lines, (other_left, other_right, other_middle)) in enumerate(drawn):
            for x, top, bottom in lines:
                assert not (left < x < right and top < middle + 5 and middle - 5 < bottom)
            if other > number and abs(other_middle - middle) < 10:
                assert other_right <= left or right <= other_left


@pytest.mark.parametrize(
    ("forms", "direction"),
    [
        (["هذا", "كتاب", "جديد"], "rtl"),
        (["this", "is", "new"], None),
        (["(", "שלום", ")"], "rtl"),  # so that brackets open in the direction of the script
        (["[", "hello", ")"], None),
    ],
)
def test_scripts_from_right_to_left_are_drawn_so(forms, direction):
    made = as_svg(DrawnTree(forms, ["_"] * 3, [0, 1, 2], ["root", "a", "b"]))
    texts = [
        one
        for one in ElementTree.fromstring(made).iter("{http://www.w3.org/2000/svg}text")
        if one.text in forms
    ]
    assert [one.get("direction") for one in texts] == [direction] * 3
    places = {one.text: float(one.get("x", "0")) for one in texts}
    assert (places[forms[0]] > places[forms[2]]) == (direction == "rtl")


def test_wide_and_combining_letters():
    assert display_width("私は") == 4
    assert display_width("e\u0301") == 1
    lines = as_text(DrawnTree(["x", "y"], ["名詞", "N"], [0, 1], ["root", "dep"])).splitlines()
    assert [
        display_width(line[: line.rindex(form)]) for line, form in zip(lines, "xy", strict=True)
    ] == [18, 18]
