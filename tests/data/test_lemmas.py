"""What a model knows of lemmas, lexicons, and which of them comes first."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from parser.conllu.checks import ConlluError
from parser.data.lemma_rules import LemmaRule
from parser.data.lemmas import KNOWN_LEMMA, LemmaLexicon, Lemmas, Lemmatizer, affixes
from parser.data.vocabularies import N_RESERVED, ROOT, UNKNOWN
from tests.toy import sentence

KNOWN = ["lower\t0\t\t0\t", "lower\t0\t\t2\ta", "keep\t0\t\t0\t"]
A, B = ("NOUN", "_"), ("VERB", "F=1")


def columns(words: list[tuple[str, str, str, str]]):
    """A sentence of words: form, lemma, UPOS, FEATS."""
    made = sentence([0, *range(1, len(words))])
    made.forms, made.lemmas, made.upos, made.feats = (list(column) for column in zip(*words, strict=True))
    return made


TREEBANK = [
    columns([("Fák", "fa", *A), ("vár", "vár", *A), ("vár", "vár", *B), ("_", "_", *A)]),
    columns([("szívek", "szív", *A), ("szívek", "szívek", *A), ("hol", "_", *B), ("szívek", "szív", *B), ("ég", "ég", *A)]),
    columns([("ég", "ég", *A), ("ég", "éget", *B), ("ég", "ég", *B), ("ég", "éget", *B)]),
]


def test_forms_that_always_had_one_lemma_are_remembered_and_of_others_the_most_frequent_with_their_tags():
    always = {"Fák": "fa", "vár": "vár", "_": "_"}
    found = Lemmas.of(TREEBANK, ["upos", "feats"])
    assert found.seen == {(): always, A: {"ég": "ég"}, B: {"szívek": "szív", "ég": "éget"}}
    assert Lemmas.of(TREEBANK, []).seen == {(): always}


def test_the_rules_of_words_are_numbered():
    found = Lemmas.of(TREEBANK, ["upos"])
    numbers = found.encode(TREEBANK)
    assert numbers[[0, 5, 11]].tolist() == [ROOT] * 3
    assert numbers[8] == UNKNOWN  # the lemma of "hol" is not known
    for one, offset in zip(TREEBANK, (1, 6, 12), strict=True):
        for place, (form, lemma) in enumerate(zip(one.forms, one.lemmas, strict=True), offset):
            assert place == 8 or LemmaRule.of(found.rules.symbols[numbers[place] - N_RESERVED])(form) == lemma
    assert Lemmas(KNOWN).encode([columns([("Fák", "fa", *A), ("Fák", "bokor", *A)])]).tolist() == [
        ROOT,
        N_RESERVED + 1,
        UNKNOWN,
    ]


def test_a_treebank_without_lemmas_has_none():
    assert Lemmas.of([columns([("a", "_", *A), ("_", "_", *A)])], ["upos"]) is None
    assert Lemmas.of([], []) is None


@pytest.mark.parametrize("rules", [[], ["keep"], [KNOWN[0], KNOWN[0]]])
def test_rules_that_cannot_be_are_refused(rules):
    with pytest.raises(ValueError, match=r"rule|twice|at least one"):
        Lemmas(rules)


def test_rules_that_do_not_apply_are_passed_over():
    scores = np.array([[1, 3, 2], [1, 3, 2], [2, 3, 2], [np.nan] * 3, [1, 3, 2]], np.float32)
    assert Lemmas(KNOWN).by_rules(["Fák", "K", "K", "K", ""], scores) == ["fa", "K", "k", "k", ""]


def test_what_new_sentences_say_comes_before_what_was_known():
    old = Lemmas(KNOWN, ["upos", "feats"], {(): {"Fák": "fák", "vár": "vár", "ház": "ház"}, A: {"szívek": "x", "hol": "hol"}})
    found = old.extended(Lemmas.of(TREEBANK, ["upos", "feats"]))
    always = {"Fák": "fa", "vár": "vár", "ház": "ház", "_": "_"}
    assert found.seen == {(): always, A: {"szívek": "x", "hol": "hol", "ég": "ég"}, B: {"szívek": "szív", "ég": "éget"}}
    assert found.rules.symbols[:3] == KNOWN
    assert {*Lemmas.of(TREEBANK, []).rules.symbols} < {*found.rules.symbols}
    ambiguous = Lemmas(KNOWN, ["upos", "feats"], {(): {"ég": "ég", "x": "x"}})
    assert ambiguous.extended(Lemmas.of(TREEBANK, ["upos", "feats"])).seen[()] == {
        "x": "x",
        "Fák": "fa",
        "vár": "vár",
        "_": "_",
    }


def test_a_rule_that_leads_to_a_known_lemma_is_better_by_a_constant():
    lemmas = Lemmas([*KNOWN, "lower\t0\t\t1\t"], [], {(): {"x": "fá", "y": "Fák"}})  # fák, fáka, Fák, fá
    less, more = KNOWN_LEMMA - 0.1, KNOWN_LEMMA + 0.1
    for scores, lemma in (
        ([0, -9, -less, -9], "Fák"),
        ([0, -9, -more, -9], "fák"),
        ([0, -9, -2, -1], "fá"),
        ([0, -9, 1, 0], "Fák"),
    ):
        assert lemmas.by_rules(["Fák"], np.array([scores], np.float32)) == [lemma]


def test_which_rules_lead_to_lemmas_of_other_forms():
    lemmas = Lemmas(KNOWN)
    assert lemmas.rules_to_known("Fák", {"fák": {"x", "Fák"}, "Fák": {"Fák"}, "fáa": {"y"}}) == [0]
    assert lemmas.rules_to_known("F", {}) == []


def test_affixes_are_hashed_whatever_the_case_of_a_form():
    found = affixes(forms := ["Abcdef", "abcdef", "xxbcdef", "abxx", "", "a", "a1", "\ud800\U0001d518ß"], 2**30).tolist()
    prefixes, suffixes, shapes = ([row[columns] for row in found] for columns in (slice(3), slice(3, 8), slice(8, 9)))
    for place, form in enumerate(forms):
        for other, of_other in enumerate(forms):
            for length in range(1, 6):
                same = form.lower()[-length:] == of_other.lower()[-length:]
                assert (suffixes[place][length - 1] == suffixes[other][length - 1]) == same
                same = form.lower()[:length] == of_other.lower()[:length]
                assert length > 3 or (prefixes[place][length - 1] == prefixes[other][length - 1]) == same
    assert [shapes.index(shape) for shape in shapes] == [0, 1, 1, 1, 4, 1, 4, 4]  # capitals, and letters alone
    assert {*affixes(["Abcdef"], 3)[0].tolist()} <= {0, 1, 2}
    assert affixes(["xyz", "abcdef"], 9)[1].tolist() == affixes(["abcdef"], 9)[0].tolist()
    assert affixes([], 3).shape == (0, 9)


def lines(path, *written: str):
    path.write_bytes("".join(f"{line}\n" for line in written).encode())
    return LemmaLexicon.read(path)


def test_what_a_lexicon_says_of_tags_comes_before_what_it_says_of_any(tmp_path):
    found = lines(tmp_path / "l.tsv", "\ufeffa\t_\tany", "a\tX\tx", "a\tX\txf\tF=1", "a\t_\tf\tF=2", "a\tX\tlate", "b\tX\tb\r")
    asked = [("X", "F=1"), ("X", "_"), ("X", "F=2"), ("Y", "F=2"), ("Y", "F=1")]
    assert [found.lemma("a", *tags) for tags in asked] == ["xf", "x", "x", "f", "any"]
    assert found.lemma("b", "X", "_") == "b"
    assert found.lemma("b", "Y", "_") is found.lemma("B", "X", "_") is None


def test_a_compressed_lexicon_is_read(tmp_path):
    with gzip.open(tmp_path / "l.gz", "wt", encoding="utf-8") as target:
        target.write("őz\t_\tőz")
    assert LemmaLexicon.read(tmp_path / "l.gz").lemma("őz", "X", "_") == "őz"


@pytest.mark.parametrize("line", [b"a\tX", b"a\tX\tb\tF=1\t", b"\tX\tb", b"a\tX\t", b"a\tX\tb ", b"", b"\xff\tX\tb"])
def test_what_is_no_lexicon_is_refused_with_its_line(tmp_path, line):
    (tmp_path / "l.tsv").write_bytes(b"a\t_\tb\n" + line + b"\n")
    with pytest.raises(ConlluError, match=r"l\.tsv, line 2: a line of a lexicon is form, UPOS or _, lemma"):
        LemmaLexicon.read(tmp_path / "l.tsv")


def test_a_lexicon_comes_before_training_and_that_before_rules():
    lemmas = Lemmas(KNOWN, ["upos"], {("X",): {"a": "seen", "b": "seen"}, (): {"always": "so"}})
    asked: list[list[int]] = []

    def scores(new: list[str], places: np.ndarray) -> np.ndarray:
        asked.append(places.tolist())
        assert new == [forms[place] for place in places]
        return np.tile(np.array([1, 2, 0], np.float32), (len(places), 1))

    forms = ["", "a", "b", "b", "Fák", "C", "always"]
    tags = {"feats": ["_"] * 7, "upos": ["Y", "X", "X", "Y", "X", "X", "Y"]}
    assert Lemmatizer(lemmas)(forms, tags, scores) == ["_", "seen", "seen", "b", "fa", "c", "so"]
    lexicon = LemmaLexicon({("_", "_"): {"b": "written"}})
    assert Lemmatizer(lemmas, lexicon)(forms, tags, scores) == ["_", "seen", "written", "written", "fa", "c", "so"]
    assert asked == [[3, 4, 5], [4, 5]]
    assert Lemmatizer(Lemmas(KNOWN, [], {(): {"b": "seen"}}))(["b"], {}, scores) == ["seen"]
    assert Lemmatizer(lemmas)([], {"upos": []}, scores) == []
