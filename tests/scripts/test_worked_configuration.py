"""The configuration that a page works through: its numbers are those of the oracles,
and those that the text repeats.
"""

import random
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import oracles
from oracles.arc_standard import nederhof_projective
from oracles.arc_standard.nederhof_projective import FRESH, GONE, SPENT
from oracles.tabular import MAX_PLUS
from oracles.trees import GoldChildren
from parser.conllu.stream import read_sentences
from parser.drawing import UNKNOWN_HEAD, DrawnTree
from parser.drawing.configurations import configuration_as_svg
from scripts.worked_configuration import WorkedConfiguration, picture
from tests.random_trees import random_projective_tree
from tests.toy import ROOT

EXAMPLES = ROOT / "docs" / "examples"
FILE = EXAMPLES / "shifted_too_soon.conllu"
STEPS = ("shift", "reduce_left", "reduce_right")


def example() -> WorkedConfiguration:
    configuration = WorkedConfiguration.read(FILE)
    assert configuration is not None
    return configuration


def test_the_tree_is_that_of_the_example_made_projective():
    (gold,), (ours,) = (list(read_sentences(path)) for path in (EXAMPLES / "hearing.conllu", FILE))
    assert oracles.projectivize(gold.heads()) == ours.heads()
    assert gold.column(1) == ours.column(1)


@pytest.mark.parametrize(
    "name", ["nederhof_cubic", "nederhof_quadratic", "nederhof_linear", "context_rows"]
)
@pytest.mark.parametrize("seed", range(10))
def test_scores_are_those_of_the_oracles(name, seed):
    rng = random.Random(seed)
    n = rng.randrange(1, 9)
    heads = random_projective_tree(rng, n)
    front = rng.randrange(1, n + 2)
    stack = [0, *(node for node in range(1, front) if rng.random() < 0.7)]
    buffer = list(range(front, n + 1))
    worked = WorkedConfiguration(["w"] * n, heads, stack, buffer)
    scores = {step.transition.name: step.score for step in worked.transitions}
    assert tuple(map(scores.get, STEPS)) == oracles.create(name).step_scores(heads, stack, buffer)


def test_the_text_repeats_the_numbers_of_the_chart():
    shift, left, right = example().transitions
    assert [step.transition.name for step in (shift, left, right)] == [*STEPS]
    chart = left.chart  # positions 0 to 3: ROOT, A, hearing, scheduled
    to_a, to_hearing = chart.left["S", 1, 2], chart.left["S", 2, 3]
    by_hearing = chart.left_arc["S", "S", 2, 3] + to_a
    by_a = chart.left_arc["P", "S", 1, 3]
    reach = chart.left["S", 1, 3]
    assert reach == max(by_hearing, by_a)
    last, other = chart.right_arc["P", "S", 0, 3], chart.right_arc["S", "S", 0, 3]
    assert chart.weight == max(last, other)
    assert chart.right_arc["P", "P", 0, 1] == 0
    assert chart.right["S", 0, 1] == MAX_PLUS.zero
    page = " ".join((ROOT / "docs" / "oracles_and_systems.md").read_text(encoding="utf-8").split())
    for told in (
        (
            f"0 + 0, and the arc is gold: {chart.left_arc['P', 'S', 1, 2]}. "
            f"So *hearing* to the left has {to_a}."
        ),
        f"and *scheduled* to the left has {to_hearing}.",
        (
            f"the arc has {chart.left_arc['S', 'S', 2, 3]} and the left half of *hearing* {to_a}, "
            f"together {by_hearing}."
        ),
        f"With *A*, the arc has {by_a}: it is not gold",
        f"So the best is {reach}.",
        f"ROOT is bare, 0; *scheduled* to the left has {reach}; the arc is gold: {last}.",
        f"and the arc has only {other}.",
        f"the weight of the chart, {chart.weight}. With the {left.aside} arcs inside the buffer",
        f"the score of *reduce_left* is {left.score}.",
    ):
        assert told in page
    gold = len(example().heads)
    assert [gold - step.score for step in (shift, left, right)] == [1, 1, 2]


@pytest.mark.parametrize("skip", [True, False])
def test_the_linear_oracle_works_through_the_same_configuration(skip):
    _, left, _ = example().transitions
    trees = oracles.Trees.from_heads([example().heads])
    children = GoldChildren.of(trees)
    k, front = len(left.stack) - 1, left.transition.after.buffer[0]
    work = np.full((nederhof_projective._ROWS, k + 3), -1, np.int32)
    work[nederhof_projective._STACK, : k + 1] = left.stack
    where = np.zeros(len(trees.heads), np.int32)
    value = nederhof_projective._value(trees.heads, 0, children, k, front, 0, -1, skip, where, work)
    rows = [nederhof_projective._ABOVE + case for case in (FRESH, SPENT, GONE)] + [
        nederhof_projective._UNDER
    ]
    lines = ["level  token  FRESH  SPENT  GONE  under"]
    for level in range(k, -1, -1):
        fresh, spent, gone, under = (
            str(work[row, level]) if work[row, level] >= 0 else "-" for row in rows
        )
        lines.append(f"{level:>5}{left.stack[level]:>7}{fresh:>7}{spent:>7}{gone:>6}{under:>7}")
    told = nederhof_projective.__doc__ or ""
    assert "".join(f"    {line}\n" for line in lines) in told
    buffer = left.transition.after.buffer
    inside = sum(example().heads[node - 1] in buffer for node in buffer)
    best = work[nederhof_projective._ABOVE + FRESH, 0]
    assert f"The value is {best} + {inside} = {value}." in told
    assert value + left.own == left.score


def test_a_configuration_is_drawn_with_its_nodes_and_the_gold_arcs_between_them():
    gold = DrawnTree(["a", "b", "c", "d"], ["X"] * 4, [2, 0, 2, UNKNOWN_HEAD], ["p", "q", "r", "s"])
    texts = texts_of(configuration_as_svg(gold, [0, 2], [3, 4]))
    assert {"ROOT", "b_2", "c_3", "d_4", "a0", "a1", "b", "q", "r", "stack", "buffer"} <= texts
    assert not {"a_1", "p", "s", "b_1"} & texts
    assert "buffer" not in texts_of(configuration_as_svg(gold, [0, 2], []))
    assert picture(EXAMPLES / "hearing.conllu") is None


def texts_of(svg: str) -> set[str]:
    return {
        element.text or ""
        for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    }


def test_boxes_stand_around_their_words_and_apart():
    made = picture(FILE)
    assert made is not None
    frames = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', made)
    boxes = [(float(x), float(x) + float(width)) for x, width in frames]
    centers = [float(x) for x in re.findall(r'<text x="([\d.]+)" y="[\d.]+" font-size="15"', made)]
    inside = [[i for i, x in enumerate(centers) if left < x < right] for left, right in boxes]
    assert inside == [[0, 1, 2, 3], [4, 5, 6, 7, 8]]
    assert boxes[0][0] >= 0
    assert boxes[0][1] < boxes[1][0]
    assert boxes[1][1] <= float(ElementTree.fromstring(made).get("width", "0"))
