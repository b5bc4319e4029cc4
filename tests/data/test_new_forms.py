"""What keeps lemmas close to new forms: each check against a slow one."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parser.data.lemma_rules import LemmaRule
from parser.data.new_forms import (
    Endings,
    _common,
    has_digits,
    is_symbol,
    keeps_half,
    keeps_numbers,
    often_far,
    unwritten_marks,
    without_marks,
)


@cache
def slow_common(one: str, other: str) -> int:
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + slow_common(one[1:], other[1:])
    return max(slow_common(one[1:], other), slow_common(one, other[1:]))


@given(st.text("abc", max_size=9), st.text("abc", max_size=9))
def test_common_subsequences_are_longest(one, other):
    assert _common(one, other) == slow_common(one, other)


@pytest.mark.parametrize(
    ("form", "rule", "lemma", "kept"),
    [
        ("wept", "keep\t0\t\t4\tgo", "go", False),
        ("bled", "keep\t0\t\t2\tow", "blow", True),
        ("apples", "keep\t0\t\t6\tbe", "be", False),
        # g, s, e: more than the rule keeps in one piece
        ("geese", "keep\t1\tgoo\t2\t", "goose", True),
        ("했다", "keep\t1\t하+았+\t0\t", "하+았+다", True),  # four of seven parts of syllables
        ("fák", "keep\t0\t\t2\ta", "fa", True),  # an accent apart
        ("ab-", "keep\t0\t\t2\t-", "a-", True),
        ("ab-", "keep\t2\t\t0\t", "-", False),
    ],
)
def test_half_of_the_letters_of_a_lemma_come_from_the_form(form, rule, lemma, kept):
    assert keeps_half(form, LemmaRule.of(rule), lemma) == kept


def test_long_words_are_compared_in_one_piece():
    assert not keeps_half("a" * 99, LemmaRule.of("keep\t0\t\t99\taaa"), "aaa")
    assert keeps_half("a" * 10**6, LemmaRule.of("keep\t0\t\t1\t"), "a" * (10**6 - 1))


def test_kinds_of_forms():
    forms = {
        "a": "",
        "🎉": "symbol",
        "½": "symbol",
        "٣": "digits",
        "a1": "digits",
        "": "symbol",
        "c\u2019": "",
        "-": "symbol",
    }
    for form, kind in forms.items():
        assert (is_symbol(form), has_digits(form)) == (kind == "symbol", kind == "digits")
    assert keeps_numbers("388조6000억", "388+조+6000+억")
    assert not keeps_numbers("1.500", "1500")
    assert not keeps_numbers("5,000", "5,000000")


def test_thousands_marks_are_those_that_most_lemmas_leave_out():
    seen = [
        {"1,000": "1000", "2,000": "2,000", "3,000": "3000", "1.000": "1.000"},
        {"4\u00a0000": "4000"},
    ]
    marks = unwritten_marks(seen)
    assert marks == {",", "\u00a0"}
    assert without_marks("7,000-8,000", marks) == "7000-8000"
    assert without_marks("1.000,5", marks) == "1.000,5"
    assert unwritten_marks([{"1,000": "1000", "2,000": "2,000"}]) == frozenset()


def test_an_ending_speaks_for_the_change_that_more_forms_had():
    more = {"cities": "city", "tables": "table"}
    endings = Endings(
        [
            {
                "files": "file",
                "Miles": "mile",
                "styles": "style",
                "families": "family",
                "ladies": "lady",
                **more,
            }
        ]
    )
    cut, change, same = (LemmaRule.of(f"keep\t0\t\t{rule}") for rule in ("1\t", "3\ty", "0\t"))
    gains = endings.gains("apples", [cut, change])
    assert gains[0] > gains[1] == 0
    gains = endings.gains("cherries", [cut, change])
    assert gains[1] > gains[0] == 0
    front = LemmaRule.of("lower\t1\tm\t1\t")
    assert endings.gains("apples", [cut, front]) == [0, 0], "only the ends tell"
    assert endings.gains("xyz", [cut, same]) == [0, 0]
    assert endings.gains("s", [cut, same]) == [0, 0], "nothing would be left"


def test_letters_that_no_change_took_away_speak_against_a_rule():
    endings = Endings([{"tables": "table", "families": "family", "ladies": "lady", "Flies": "Fly"}])
    cut, change = LemmaRule.of("keep\t0\t\t1\t"), LemmaRule.of("keep\t0\t\t3\ty")
    assert [endings.loss("apples", rule) for rule in (cut, change)] == [0, 1]
    assert [endings.loss("CHERRIES", rule) for rule in (cut, change)] == [0, 0]
    assert [endings.loss(form, LemmaRule.of("keep\t0\t\t0\t")) for form in ("apples", "")] == [
        0,
        0,
    ], "nothing is taken away"


def test_lemmas_are_often_far_in_some_treebanks():
    near = {f"{one}oks": f"{one}ok" for one in "abcdefghijklmnopqrst"}
    assert not often_far([near])
    assert often_far([near, {"went": "go"}])
    assert not often_far([])
