"""Rules for lemmas: rule and inverse, and the choice of few against a slow one."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parser.data.lemma_rules import (
    CASINGS,
    IDENTITY,
    LemmaRule,
    casings_of,
    choose_rules,
    is_lemma,
    odd_rules,
    rule_elements,
    rules_for,
)

# Letters whose case is odd: ß has two capitals, İ two small ones, sigma is small in two ways, ǅ is
# a title, ŉ has no capital.
LETTERS = "aAbBőŐßẞİ\u0131Ii\u03a3\u03c3\u03c2\u039f\u03bfǅǆŉ \u0301_-1"
WORDS = st.text(LETTERS, min_size=1, max_size=8).filter(is_lemma) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\n"), min_size=1, max_size=12
).filter(is_lemma)
PAIRS = st.tuples(WORDS, WORDS) | WORDS.map(lambda form: (form, form.lower())).filter(
    lambda pair: is_lemma(pair[1])
)


@given(PAIRS)
def test_rules_give_the_lemmas_that_they_were_made_for(pair):
    """None gives anything to a shorter form, and each is its symbol."""
    form, lemma = pair
    found = [*rules_for(form, lemma)]
    assert {rule.casing for rule in found} == {*CASINGS}
    for rule in found:
        assert rule(form) == lemma
        assert LemmaRule.of(rule.symbol) == rule
        assert rule_elements(rule.symbol)[0] == rule.casing
        too_short = "a" * (rule.front + rule.end - 1)
        assert rule.front + rule.end == 0 or rule(too_short) is None
    assert (IDENTITY in found) == (form == lemma)


@pytest.mark.parametrize(
    ("form", "rule", "lemma"),
    [
        ("Házaikban", "lower\t0\t\t6\t", "ház"),
        ("legnagyobb", "keep\t3\t\t3\t", "nagy"),
        ("ΟΔΟΣ", "lower\t0\t\t0\t", "οδος"),  # final, so ς
        ("ÁΣ", "capitalize\t0\t\t0\t", "Áς"),
        ("İzmir'de", "keep\t0\t\t3\t", "İzmir"),
        ("İZ", "lower\t0\t\t1\t", "i̇"),  # a dot of its own
        ("ẞ", "lower\t0\t\t0\t", "ß"),
        ("ŐRÜLT", "capitalize\t0\t\t1\t", "Őrül"),
        ("New York-i", "keep\t0\t\t2\t", "New York"),
        ("New York-i", "keep\t0\t\t6\t", None),  # a blank at the end
        ("ab", "keep\t1\t\t1\tlenni", "lenni"),
        ("ab", "keep\t1\t\t2\tlenni", None),
        ("ab", "keep\t1\t\t1\t", None),
        ("_", "keep\t0\t\t0\t", "_"),
    ],
)
def test_a_rule_changes_case_cuts_and_adds(form, rule, lemma):
    assert LemmaRule.of(rule)(form) == lemma


def slow_choice(words: set[tuple[str, str]]) -> list[LemmaRule]:
    """choose_rules(), counting anew each time."""
    chosen, left = [], set(words)
    while left:
        counts = Counter(rule for word in left for rule in {*rules_for(*word)})
        chosen.append(
            min(counts, key=lambda rule: (-counts[rule], [*CASINGS].index(rule.casing), rule))
        )
        left = {(form, lemma) for form, lemma in left if chosen[-1] not in rules_for(form, lemma)}
    return chosen if IDENTITY in chosen else [*chosen, IDENTITY]


def slow_substrings(one: str, other: str) -> set[tuple[int, int, int]]:
    common = {
        (start, place, length)
        for start in range(len(one))
        for place in range(len(other))
        for length in range(1, len(one) + 1)
        if one[start : start + length] == other[place : place + length]
        and len(one) >= start + length
    }
    longest = max((length for _, _, length in common), default=0)
    return {place for place in common if place[2] == longest} or {(0, 0, 0)}


@given(
    st.lists(
        st.tuples(st.text("abA", min_size=1, max_size=6), st.text("ab", min_size=1, max_size=6)),
        max_size=12,
    )
)
def test_few_rules_are_chosen_as_by_counting_anew(words):
    chosen = choose_rules(words)
    assert chosen == slow_choice({*words}) == choose_rules([*words, *words[::-1]])
    for form, lemma in words:
        assert any(rule(form) == lemma for rule in chosen)
        for casing, change in CASINGS.items():
            cased = change(form)
            found = [rule for rule in rules_for(form, lemma) if rule.casing == casing]
            kept = {
                (rule.front, len(rule.prefix), len(cased) - rule.front - rule.end) for rule in found
            }
            assert kept == slow_substrings(cased, lemma)


@pytest.mark.parametrize(
    ("words", "odd"),
    [
        ([("Zsuzsanna", "hivatal@pelda.example")], True),
        ([("Zsuzsanna", "hivatal@pelda.example"), ("zsuzsanna", "hivatal@pelda.example")], True),
        ([("info", "info@pelda.example.hu")], True),
        ([("Zsuzsanna", "kutya"), ("kutyák", "kutya")], True),
        ([("gaft", "giban"), ("gibiþ", "giban"), ("gebun", "giban")], False),
        ([("lovak", "ló")], True),
        ([("lovak", "ló"), ("szavak", "szó")], False),
        ([("megy", "menni")], False),
        ([("a", "az")], False),
        ([("Péter", "Péter")], False),
        ([], True),
    ],
)
def test_a_rule_is_odd_that_leaves_little_of_a_single_form(words, odd):
    rules = choose_rules(words or [("lovak", "ló")])
    assert odd_rules(rules, words) == [
        rule for rule in rules if odd and rule in {*rules_for(*(words or [("lovak", "ló")])[0])}
    ]


def test_casings_are_listed_in_one_order():
    words = [
        (f"Word{number}", "word", upos)
        for number, upos in enumerate(["VERB", "ADJ", "NOUN", "PROPN", "X", "ADV"])
    ]
    assert list(casings_of(words)) == sorted(upos for _, _, upos in words)


def test_long_words_are_not_searched():
    form, lemma = "ab" * 5_000, "ab" * 4_000 + "c"
    assert {rule(form) for rule in rules_for(form, lemma)} == {lemma}


@pytest.mark.parametrize(
    "symbol",
    ["", "keep\t0\t\t0", "KEEP\t0\t\t0\t", "keep\t-1\t\t0\t", "keep\t00\t\t0\t", "keep\t0\t\t٣\t"],
)
def test_what_is_no_rule_is_refused(symbol):
    with pytest.raises(ValueError, match="not a rule for lemmas"):
        LemmaRule.of(symbol)
