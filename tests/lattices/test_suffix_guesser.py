"""Tags by the last letters: probabilities against a plain recursion, and which forms are alike."""

from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from parser.lattices.lexicon import SuffixGuesser, Tags

NOUN, VERB, NUM, PROPN = (("NOUN", "_", "_"), ("VERB", "_", "_"), ("NUM", "_", "_"), ("PROPN", "_", "_"))


def kind(form: str) -> tuple[bool, bool]:
    return form[:1].isupper(), any(letter.isdigit() for letter in form)


def probability(tags: Tags, form: str, letters: int, forms: dict[str, list[Tags]]) -> Fraction:
    """Written down as it is defined, over all forms."""
    ending = form[len(form) - letters :]
    alike = [one for other, known in forms.items() if kind(other) == kind(form) and other.endswith(ending) for one in known]
    if not alike:
        return probability(tags, form, letters - 1, forms)
    share = Fraction(alike.count(tags), len(alike))
    if letters == 0:
        return share
    return (share + Fraction(3, 10) * probability(tags, form, letters - 1, forms)) / Fraction(13, 10)


FORMS = st.text("ab1", min_size=1, max_size=8)
TAGS = st.lists(st.sampled_from([NOUN, VERB, NUM]), max_size=3, unique=True)


@given(st.dictionaries(FORMS, TAGS), FORMS)
def test_the_most_probable_tags(forms, form):
    guessed = SuffixGuesser(forms.items(), 3)(form)
    alike = {tags for other, known in forms.items() if kind(other) == kind(form) for tags in known}
    assert set(guessed) == alike
    chances = [probability(tags, form, min(6, len(form)), forms) for tags in guessed]
    assert all(first >= second - Fraction(1, 10**9) for first, second in pairwise(chances))


def test_longer_endings_weigh_more():
    guesser = SuffixGuesser({"walked": [VERB], "talked": [VERB], "bed": [NOUN], "cat": [NOUN], "dog": [NOUN]}.items(), 2)
    assert guesser("balked") == [VERB, NOUN]
    assert guesser("hog") == guesser("zzz") == [NOUN, VERB]


def test_capitals_and_digits_are_apart():
    guesser = SuffixGuesser({"ed": [VERB], "Ted": [PROPN], "1980ed": [NUM], "TED": [NOUN]}.items(), 5)
    assert guesser("bed") == [VERB]
    assert guesser("Ned") == [NOUN, PROPN]  # equally probable, in alphabetical order
    assert guesser("2000ed") == [NUM]
    assert guesser("R2D2ed") == []  # no form with both is known


def test_only_so_many():
    assert SuffixGuesser({"a": [NOUN, VERB, NUM]}.items(), 2)("b") == [NOUN, NUM]
