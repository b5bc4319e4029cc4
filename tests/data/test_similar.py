"""Unknown forms and characters that count as similar known ones."""

import json
from types import SimpleNamespace

import pytest

from parser.data.lemmas import Lemmas
from parser.data.parts.characters import Characters
from parser.data.similar import SimilarCharacters, SimilarVocabulary, attribute_vocabulary
from parser.data.tasks.lemmas import LemmaTask
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import N_RESERVED, UNKNOWN, SetVocabulary, Vocabulary
from parser.model.trained_model import TrainedModel
from parser.model_folder import ModelError
from parser.network_spec import CharacterSpec
from tests.forgery import change, small_model

FORMS = ["don't", "\u00ab", "\u00bb", "House", "house", "-", "l\u2019", "US", "\u0130n"]


@pytest.mark.parametrize(
    ("form", "found"),
    [
        ("don't", "don't"),
        ("don\u2019t", "don't"),
        ("DON\u2019T", "don't"),
        ("\u201c", "\u00ab"),
        ("\u201d", "\u00bb"),
        ('"', "\u00ab"),  # the more frequent one
        ("HOUSE", "house"),
        ("us", "US"),
        ("\u2013", "-"),
        ("l'", "l\u2019"),
        ("L\u02bc", "l\u2019"),
        ("i\u0307n", "\u0130n"),
        ("horse", None),
        ("--", None),
        ("x" * 1000, None),
        ("", None),
    ],
)
def test_forms(form, found):
    vocabulary = SimilarVocabulary(FORMS)
    assert vocabulary.encode([form]) == [
        UNKNOWN if found is None else N_RESERVED + FORMS.index(found)
    ]
    assert vocabulary.encode_exactly([form]) == [
        N_RESERVED + FORMS.index(form) if form in FORMS else UNKNOWN
    ]


CHARACTERS = ["a", "e", "1", "'", "\u00bb", "-", "(", "\u00c9", "\u2192", "."]


@pytest.mark.parametrize(
    ("character", "found"),
    [
        *((one, one) for one in CHARACTERS),
        ("\u00e1", "a"),
        ("\u00c1", "a"),
        ("A", "a"),
        ("\u00e9", "\u00c9"),
        ("\u00ea", "e"),
        ("\uff11", "1"),
        ("\u0661", "1"),
        ("7", "1"),
        ("\u2019", "'"),
        ("\u201d", "\u00bb"),
        ('"', "\u00bb"),
        ("\u2014", "-"),
        ("[", "("),
        ("\u21d2", "\u2192"),
        ("\u0431", None),
        ("\uac00", None),
        ("!", None),
        ("\ud800", None),
    ],
)
def test_characters(character, found):
    expected = UNKNOWN if found is None else N_RESERVED + CHARACTERS.index(found)
    assert SimilarCharacters(CHARACTERS).encode(character) == [expected]


def test_only_attributes_of_forms_have_similar_values():
    kinds = {
        name: type(attribute_vocabulary(name, ["a"], True))
        for name in ("form", "suffix3", "upos", "lemma", "feats_pairs")
    }
    assert [*kinds.values()] == [
        SimilarVocabulary,
        SimilarVocabulary,
        Vocabulary,
        Vocabulary,
        SetVocabulary,
    ]
    assert type(attribute_vocabulary("form", ["a"], False)) is Vocabulary


def test_a_vocabulary_without_symbols_knows_nothing_similar():
    assert SimilarVocabulary([]).encode(["a"]) == SimilarCharacters([]).encode("a") == [UNKNOWN]
    assert SimilarVocabulary(["a\nb", "c"]).encode(["C"]) == [N_RESERVED + 1]


def test_a_form_has_the_lemma_of_one_with_other_quotes():
    """In any case, whether or not similar forms count otherwise; a dash stays."""
    seen = {(): {"don't": "do not", "l\u2019": "le", "x-y": "x"}, ("X",): {"\u00abx\u00bb": "x"}}
    forms = [
        [
            "don\u2019t",
            "don't",
            "l'",
            '"x"',
            "Don\u2019t",
            "DON\u2019T",
            "a\u2019b",
            "c\u2011d",
            "\u2014",
            "e",
        ]
    ]
    own = [
        "don't",
        "don't",
        "l\u2019",
        "\u00abx\u00bb",
        "Don't",
        "DON'T",
        "a\u2019b",
        "c-d",
        "\u2014",
        "e",
    ]
    for similar in (False, True):
        lemmas = Lemmas(["keep\t0\t\t0\t"], ["upos"], seen)
        vocabularies = Vocabularies(
            {"form": attribute_vocabulary("form", ["e"], similar)}, tasks=[LemmaTask(lemmas, {})]
        )
        assert vocabularies.tokens_to_lemmatize(forms) == ["", *own]


def test_new_forms_have_the_quotes_that_forms_with_lemmas_have():
    for known, other in (("'", "\u2019"), ("\u2019", "'")):
        lemmas = Lemmas(["keep\t0\t\t0\t"], [], {(): {f"m{known}athair": "mo"}})
        vocabularies = Vocabularies(
            {"form": attribute_vocabulary("form", ["e"], False)}, tasks=[LemmaTask(lemmas, {})]
        )
        assert vocabularies.tokens_to_lemmatize([[f"d{other}uncail"]]) == ["", f"d{known}uncail"]


def similar_model() -> TrainedModel:
    model = small_model("text")
    known = model.vocabularies
    by_attribute = {
        name: attribute_vocabulary(name, own.symbols, True)
        for name, own in known.by_attribute.items()
    }
    characters = Characters(["a", "b", "\u00e9"], 4, similar=True)
    model.vocabularies = Vocabularies(by_attribute, [characters], known.tasks)
    return model


def test_further_characters_leave_it_as_it_was():
    wanted = SimpleNamespace(
        spec=SimpleNamespace(encoder=SimpleNamespace(characters=CharacterSpec(2, 2, longest=3))),
        similar=True,
    )
    for similar in (False, True):
        more = Characters(["a"], 3, similar).extended(wanted, [SimpleNamespace(forms=["bb"])], {})
        assert (more.numbers_of("B"), more.symbols) == (
            [N_RESERVED + 1 if similar else UNKNOWN],
            ["a", "b"],
        )
    new = Characters.new(wanted, [SimpleNamespace(forms=["bb"])])
    assert new is not None
    assert new.numbers_of("B") == [N_RESERVED]


def test_a_folder_says_whether_similar_values_count(tmp_path):
    small_model("text").save(tmp_path / "exact")
    similar_model().save(tmp_path / "similar")
    for name in ("exact", "similar"):
        found = TrainedModel.load(tmp_path / name).vocabularies
        assert found.similar is (name == "similar")
        encode = [found.by_attribute["form"].encode(["B"]), found.parts[1].numbers_of("B")]
        assert encode == ([[N_RESERVED + 1]] * 2 if name == "similar" else [[UNKNOWN]] * 2)
        assert ("similar" in json.loads((tmp_path / name / "vocabularies.json").read_text())) is (
            name == "similar"
        )
    change(tmp_path / "similar" / "vocabularies.json", lambda found: found.update(similar="yes"))
    with pytest.raises(ModelError, match="similar"):
        TrainedModel.load(tmp_path / "similar")
