"""Forms are looked up composed and without invisible characters, and as they stand if a vocabulary
has them so.
"""

from types import SimpleNamespace
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parser.data.lemma_lexicon import LemmaLexicon
from parser.data.lemmas import Lemmas
from parser.data.parts.characters import Characters
from parser.data.spelling import INVISIBLE, Spelling
from parser.data.tasks.lemmas import LemmaTask
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import N_RESERVED, UNKNOWN, Vocabulary
from parser.text.segmenter import ATTRIBUTES, encoded
from parser.text.tokens import Token

E, DECOMPOSED = "\u00e9", "e\u0301"
SYMBOLS = {
    "form": ["\u00c9t\u00e9", "a", "\u00e1b", "\uac00\ub098"],
    "lower": ["\u00e9t\u00e9"],
    "prefix2": ["\u00e9t", "et", "\u00e1b", "ab"],
    "suffix3": ["\u00e9t\u00e9", "\uac00\ub098", "\u0301b"],
    "lemma": ["\u00e1b"],
}
VOCABULARIES = Vocabularies(
    {name: Vocabulary(symbols) for name, symbols in SYMBOLS.items()},
    [Characters(["a", "e", "\u00e9", "\u0301", "\uac00"], 4)],
)
# without invisible characters
FORMS = st.lists(
    st.text(min_size=1, max_size=6).map(lambda form: INVISIBLE.sub("", form) or "a")
    | st.text("aeb\u00e9\u00c9\u0301\u0323\uac00\ub098", min_size=1, max_size=6),
    max_size=5,
)


def words(forms, lemmas=None):
    empty = ["_"] * len(forms)
    return SimpleNamespace(forms=forms, lemmas=lemmas or forms, upos=empty, xpos=empty, feats=empty)


@given(FORMS)
def test_decomposed_forms_have_the_numbers_of_composed_ones(forms):
    composed, decomposed = ([normalize(form, one) for one in forms] for form in ("NFC", "NFD"))
    one, other = (
        VOCABULARIES.encode([words(given), words(["a"])]) for given in (composed, decomposed)
    )
    np.testing.assert_array_equal(one.values, other.values)
    by_part = [part.encode([words(composed), words(["a"])]) for part in VOCABULARIES.parts]
    # what is composed is looked up as it stands
    np.testing.assert_array_equal(one.values, np.concatenate(by_part))


@given(FORMS, st.data())
def test_invisible_characters_are_not_looked_up(forms, data):
    hidden = [
        "".join(data.draw(st.sampled_from(("", "\u00ad", "\u200b\u200e"))) + one for one in form)
        for form in forms
    ]
    one, other = (VOCABULARIES.encode([words(given), words(["a"])]) for given in (forms, hidden))
    np.testing.assert_array_equal(one.values, other.values)


def test_a_vocabulary_may_have_forms_with_invisible_characters():
    some = Vocabularies({"form": Vocabulary(["co\u00adop", "coop", "\u00ad"])})
    hidden = words(["co\u00adop", "co\u200bop", "\u00ad", "\u200b"])
    assert some.encode([hidden]).values[0, 1:].tolist() == [
        N_RESERVED,
        N_RESERVED + 1,
        N_RESERVED + 2,
        UNKNOWN,
    ]


def test_a_vocabulary_may_have_decomposed_forms():
    """A form that is not composed in the vocabulary is found; others are composed,
    unless most are decomposed.
    """
    some = Vocabularies(
        {
            "form": Vocabulary([DECOMPOSED, "\u00e1", "\u00ed"]),
            "suffix3": Vocabulary([DECOMPOSED, "\u00fa"]),
        }
    )
    found = some.encode([words([DECOMPOSED, "a\u0301", "u\u0301"])]).values[:, 1:]
    assert found.tolist() == [
        [N_RESERVED, N_RESERVED + 1, UNKNOWN],
        [N_RESERVED, UNKNOWN, N_RESERVED + 1],
    ]
    most = Vocabularies(
        {
            "form": Vocabulary([DECOMPOSED, "i\u0301", "\u00e1"]),
            "suffix3": Vocabulary(["u\u0301", "\u00fa"]),
        }
    )
    assert most.encode([words(["u\u0301"])]).values[:, 1].tolist() == [UNKNOWN, N_RESERVED]
    assert most.encode([words([DECOMPOSED])]).values[0, 1] == N_RESERVED


@pytest.mark.parametrize("forms", [[], ["a", "b"], ["\u00e9", "\u0301"], ["\uac00"]])
def test_forms_that_need_no_change_are_not_copied(forms):
    def unused():
        raise AssertionError("the vocabulary is not read")

    assert Spelling(unused)(forms) is forms


def test_lemmas_are_predicted_from_composed_forms():
    lemmas = Lemmas(["keep\t0\t\t0\t"], seen={(): {"i\u0301": "i", "\u00e1": "a", "\u00fa": "u"}})
    model = Vocabularies({"form": Vocabulary([])}, tasks=[LemmaTask(lemmas, {})])
    assert model.tokens_to_lemmatize([["a\u0301", "i\u0301"], ["b"]]) == [
        "",
        "\u00e1",
        "i\u0301",
        "",
        "b",
    ]


def test_a_lexicon_of_lemmas_may_be_decomposed(tmp_path):
    (tmp_path / "lexicon.tsv").write_text(
        f"{DECOMPOSED}ta\t_\t{E}tat\n{E}t\t_\tx\ne\u0301t\t_\ty\n", encoding="utf-8"
    )
    lexicon = LemmaLexicon.read(tmp_path / "lexicon.tsv")
    assert (
        lexicon.lemma(f"{E}ta", "X", "_") == lexicon.lemma(f"{DECOMPOSED}ta", "X", "_") == f"{E}tat"
    )
    assert (lexicon.lemma(f"{E}t", "X", "_"), lexicon.lemma(f"{DECOMPOSED}t", "X", "_")) == (
        "x",
        "y",
    )


def test_the_segmenter_reads_composed_tokens():
    vocabularies = {
        name: Vocabulary(["\u00e9t\u00e9", "\u00e9t", "t\u00e9", "\u00e9", "111"])
        for name in ATTRIBUTES
    }
    one, other = (
        encoded(vocabularies, [Token(form, (form,), True)])
        for form in ("\u00c9t\u00e9", "E\u0301te\u0301")
    )
    assert one.tolist() == other.tolist()
