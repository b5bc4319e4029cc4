"""How oracles are found, and what all of them refuse: trees,
options and configurations that cannot be.
"""

from typing import Any

import numpy as np
import pytest

import oracles
from oracles import NonProjectiveGoldError, OptimalStepError, Trees
from oracles.errors import did_you_mean, nearest, question
from parser import transitions
from parser.beam_settings import Beam

# By system, the oracles in their order, and with a star those that take any gold tree.
NAMES = {
    "arc_hybrid": "arc_hybrid_rows* arc_hybrid_local arc_hybrid_tabular*",
    "attardi": "attardi_search* attardi_tabular attardi_static*",
    "lr_spine": "lr_spine_chart* lr_spine_tabular lr_spine_partial",
    "swap": "swap_dynamic* swap_eager* swap_lazy*",
}
EMPTY = {"lr_spine": [[[0], [0]]]}  # the stack at the end of an empty sentence


@pytest.mark.parametrize("system", NAMES)
def test_they_are_found_by_their_system_and_know_one_strategy(system):
    names = NAMES[system].split()
    assert oracles.names(system=system) == [name.rstrip("*") for name in names]
    assert oracles.names(any_gold=True, system=system) == [
        name.rstrip("*") for name in names if name.endswith("*")
    ]
    assert not {*oracles.names(system=system)} & {*oracles.names()}
    for name in oracles.names(system=system):
        assert oracles.create(name).strategy == "any"
        assert oracles.create(name).step_scores([], EMPTY.get(system, [0]), []) == {}
        with pytest.raises(ValueError, match="it knows: any"):
            oracles.create(name, "left_before_right")


@pytest.mark.parametrize(
    ("ask", "meant"),
    [
        (lambda: oracles.create("nederhof_liner"), "nederhof_linear"),
        (lambda: oracles.create("NederhofCubic"), "nederhof_cubic"),
        (lambda: oracles.create("nederhof_cubic", "left_before_rigth"), "left_before_right"),
        (lambda: oracles.create("attardi_search", degre=2), "degree"),
        (lambda: oracles.create("context_rows", ties="nearest_ancester"), "nearest_ancestor"),
        (lambda: oracles.names(system="arceager"), "arc_eager"),
        (lambda: oracles.projectivize([2, 0], "arbitary"), "arbitrary"),
        (lambda: transitions.system_class("covingtn"), "covington"),
        (lambda: Beam(8, "configration"), "configuration"),  # type: ignore[arg-type]
    ],
)
def test_the_name_that_was_meant_is_named(ask, meant):
    with pytest.raises(oracles.OptimalStepError, match=rf" \(did you mean {meant}\?\); "):
        ask()


def test_the_likeliest_names_come_first_and_names_that_are_not_near_do_not_come():
    assert nearest("pares", ["parse_many", "parse", "report"]) == ["parse"]
    assert [nearest(word, ["cy", "en", "de"]) for word in ("em", "ne", "el", "me", "xy")] == [
        ["en"],
        ["en"],
        ["en"],
        [],
        [],
    ]
    assert nearest("EN_TEXT", ["en", "en-text"]) == ["en-text"]
    assert nearest(
        "hungarian", ["hu", "hy"], {"Hungarian": "hu", "Armenian": "hy", "Finnish": "fi"}
    ) == ["hu"]
    assert nearest("lang", ["languages", "seeds"]) == ["languages"]
    assert (
        nearest("finnish", ["hu", "hy"], {"Finnish": "fi"})
        == nearest("", ["a"])
        == nearest("--", ["a"])
        == []
    )
    assert nearest("x" * 10**6, ["y"]) == []
    assert [did_you_mean("zzz", ["a"]), question(["a", "b", "c"])] == [
        "",
        " (did you mean a, b or c?)",
    ]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("arc_hybrid_local", {"degree": 2}, r"option 'degree'.*: none"),
        ("attardi_search", {"depth": 2}, r"option 'depth'.*: degree"),
        ("attardi_static", {"depth": 2}, r"option 'depth'.*: degree"),
        ("context_rows", {"tie": "none"}, r"option 'tie'.*: ties, max_bytes"),
        ("nederhof_cubic", {"strategy": "up_before_down"}, "left_before_right"),
    ],
)
def test_options_that_are_not_known_are_refused_with_those_that_are(name, options, message):
    with pytest.raises(ValueError, match=message):
        oracles.create(name, **options)
    with pytest.raises(ValueError, match=r"transition system 'easy_first'; .*arc_standard"):
        oracles.names(system="easy_first")


@pytest.mark.parametrize(
    ("name", "others"),
    [
        *(
            (name, "context_rows, nederhof_cubic")
            for name in oracles.names()
            if name not in oracles.names(any_gold=True)
        ),
        ("arc_hybrid_local", "projectivize .*arc_hybrid_rows"),
        ("lr_spine_tabular", "lr_spine_chart"),
        ("lr_spine_partial", "lr_spine_chart"),
    ],
)
def test_trees_that_are_not_projective_are_refused_with_the_oracles_that_take_them(name, others):
    with pytest.raises(NonProjectiveGoldError, match=rf"sentence 1 .*{others}"):
        oracles.create(name).bind(Trees.from_heads([[0, 1], [3, 4, 0, 0]]))


@pytest.mark.parametrize(
    "heads", [["a"], [None], [[0]], "ab", 5, [10**30], [2**31], [float("nan")], {}, [0.5], ["0"]]
)
def test_heads_that_are_no_integers_are_refused(heads):
    for use in (
        oracles.projectivize,
        oracles.lift,
        oracles.count_projectivizations,
        lambda heads: Trees.from_heads([heads]),
    ):
        with pytest.raises(
            OptimalStepError, match="the heads of sentence 0 must be a sequence of integers"
        ):
            use(heads)
    oracle = oracles.create("nederhof_cubic")
    for place in range(3):
        given = [[0, 1], [0], [1, 2]]
        given[place] = heads
        with pytest.raises(
            OptimalStepError,
            match=f"^{('heads', 'stack', 'buffer')[place]} must be a sequence of integers",
        ):
            oracle.step_scores(*given)


@pytest.mark.parametrize(
    "name", {oracles.oracle_class(name).system: name for name in oracles.all_names()}.values()
)
def test_numbers_are_not_cut_to_integers(name):
    """In any argument of every system's step_scores(); 1.0 is 1."""
    oracle, system = oracles.create(name), oracles.oracle_class(name).system
    given: dict[str, Any] = {"heads": [2, 0, 2], "stack": [0, 1], "buffer": [2, 3]}
    if system == "lr_spine":
        given["stack"] = [[[0], [0]], [[1], [1]]]
    if system in ("arc_eager", "covington", "pointer"):
        given["made"] = [0]
    assert oracle.step_scores(
        **{**given, "heads": np.array([2.0, 0.0, 2.0])}
    ) == oracle.step_scores(**given)
    # whose stack is not read
    for place in given.keys() - ({"stack"} if system == "pointer" else set()):
        for wrong in (0.5, "0", b"0", 1j):
            first = [[wrong], [wrong]] if (system, place) == ("lr_spine", "stack") else wrong
            with pytest.raises(
                OptimalStepError, match=r"must be a sequence of integers of 32 bits, not "
            ):
                oracle.step_scores(**{**given, place: [first, *given[place][1:]]})


# By system, configurations of a sentence of three words that cannot be: stack, buffer, perhaps the
# heads made, and the message.
CONFIGURATIONS: dict[str, list[tuple[Any, ...]]] = {
    "arc_eager": [
        ([], [1, 2, 3], "the stack must begin with 0"),
        ([0, 9], [3], "ascend to at most 2"),
        ([0, 2, 1], [3], "ascend"),
        ([0], [2, 3, 1], "the buffer must hold the last tokens"),
        ([0, 1], [2, 3], [7], "a head from 0 to 3"),
    ],
    "attardi": [
        ([], [1, 2, 3], "the stack must begin with 0"),
        ([1], [2, 3], "the stack must begin with 0"),
        ([0, 2, 1], [3], "ascend"),
        ([0, 3], [3], "ascend to at most 2"),
        ([0], [1, 3], "the buffer must hold the last tokens"),
    ],
    "covington": [
        ([0, 2], [3], r"first nodes 0\.\.i"),
        ([0, 1, 2], [2, 3], r"first nodes 0\.\.i"),
        ([0, 1], [3], [4], "a head from 0 to 3"),
    ],
    "lr_spine": [
        ([], [1, 2, 3], "the stack is empty"),
        ([[[1], [1]]], [2, 3], "the first element must be the artificial root's"),
        ([[[0], [0]]], [1, 3], "the buffer must hold the last tokens"),
        ([[[0], [0]], [[2], [3]]], [], "begin with 2 and 3; both must begin with the root"),
        ([[[0], [0]], [[2, 3], [2]]], [], "decrease along a left spine"),
        ([[[0], [0]], [[1], [1, 3, 2]]], [], "increase along a right spine"),
        ([[[0], [0]], [[2, 1], [2, 1]]], [3], "increase along a right spine"),
        (
            [[[0], [0, 2]], [[2, 1], [2, 3]]],
            [],
            "overlaps the elements before it, which reach to 2",
        ),
        (
            [[[0], [0]], [[2], [2]], [[1], [1]]],
            [3],
            "overlaps the elements before it, which reach to 2",
        ),
        ([[[0], [0]], [[1], [1, 2]]], [2, 3], "the buffer begins with 2; they must not overlap"),
        ([[[0], [0]], [[1], []]], [2, 3], r"an element is \[left spine, right spine\]"),
    ],
    "pointer": [
        ([0], [3], made, r"made must (begin with|hold a head)")
        for made in ([], [0], [0, None], [0, 4], [0, -1])
    ],
    "swap": [
        ([], [1, 2, 3], "must begin with 0"),
        ([1], [2, 3], "must begin with 0"),
        ([0, 1], [1, 2, 3], "each at most once"),
        ([0, 0], [1, 2, 3], "tokens from 1 to 3"),
        ([0, 1], [2, 4], "tokens from 1 to 3"),
    ],
}


@pytest.mark.parametrize(
    ("name", "case"),
    [
        (name, case)
        for system, cases in CONFIGURATIONS.items()
        for name in oracles.names(system=system)
        for case in cases
    ],
)
def test_what_is_no_configuration_is_refused(name, case):
    stack, buffer, *made, message = case
    with pytest.raises(ValueError, match=message):
        oracles.create(name).step_scores(
            [2, 0, 2], stack, buffer, **{"made": made[0]} if made else {}
        )
