"""What a model knows of lemmas, lexicons, and which of them comes first."""

import gzip
import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parser.conllu.checks import ConlluError
from parser.data import irregular_forms as lists
from parser.data.irregular_forms import irregular_forms, irregular_lists
from parser.data.known_lemmas import KNOWN_LEMMA, SAME_UPOS, KnownLemmas, interchangeable
from parser.data.lemma_lexicon import LemmaLexicon
from parser.data.lemma_rules import LemmaRule, is_lemma
from parser.data.lemmas import Lemmas, affixes, lemmatize
from parser.data.new_forms import keeps_half
from parser.data.treebank import UD_TAGS
from parser.data.vocabulary import N_RESERVED, ROOT, UNKNOWN
from tests.toy import sentence

KNOWN = ["lower\t0\t\t0\t", "lower\t0\t\t2\ta", "keep\t0\t\t0\t"]
A, B = ("NOUN", "_"), ("VERB", "F=1")


def columns(words: list[tuple[str, str, str, str]]):
    """Return a sentence of words: form, lemma, UPOS, FEATS."""
    made = sentence([0, *range(1, len(words))])
    made.forms, made.lemmas, made.upos, made.feats = (
        list(column) for column in zip(*words, strict=True)
    )
    return made


TREEBANK = [
    columns([("Fák", "fa", *A), ("vár", "vár", *A), ("vár", "vár", *B), ("_", "_", *A)]),
    columns(
        [
            ("szívek", "szív", *A),
            ("szívek", "szívek", *A),
            ("hol", "_", *B),
            ("szívek", "szív", *B),
            ("ég", "ég", *A),
        ]
    ),
    columns([("ég", "ég", *A), ("ég", "éget", *B), ("ég", "ég", *B), ("ég", "éget", *B)]),
]


def test_forms_with_one_lemma_are_remembered_and_of_others_the_most_frequent_with_their_tags():
    always = {"Fák": "fa", "vár": "vár", "_": "_"}
    found = Lemmas.of(TREEBANK, ["upos", "feats"])
    assert found.seen == {(): always, A: {"ég": "ég"}, B: {"szívek": "szív", "ég": "éget"}}
    assert Lemmas.of(TREEBANK, []).seen == {(): always}
    known = {
        "NOUN": ["ég", "fa", "vár", "_", "szív", "szívek"],
        "VERB": ["éget", "vár", "szív", "ég"],
    }
    assert found.known.by_upos == known
    assert {*Lemmas.of(TREEBANK, ["feats"]).known.by_upos} == {""}


def test_the_rules_of_words_are_numbered():
    found = Lemmas.of(TREEBANK, ["upos"])
    numbers = found.encode(TREEBANK)
    assert numbers[[0, 5, 11]].tolist() == [ROOT] * 3
    assert numbers[8] == UNKNOWN  # the lemma of "hol" is not known
    for one, offset in zip(TREEBANK, (1, 6, 12), strict=True):
        for place, (form, lemma) in enumerate(zip(one.forms, one.lemmas, strict=True), offset):
            assert (
                place == 8
                or LemmaRule.of(found.rules.symbols[numbers[place] - N_RESERVED])(form) == lemma
            )
    assert Lemmas(KNOWN).encode([columns([("Fák", "fa", *A), ("Fák", "bokor", *A)])]).tolist() == [
        ROOT,
        N_RESERVED + 1,
        UNKNOWN,
    ]


def test_no_other_form_has_an_odd_lemma():
    """A misspelt word has the lemma of another, which it keeps;
    of a word that is written apart only a part has one.
    """
    odd, whole = (
        ("Zsuzsanna", "zs@pelda", "PROPN"),
        [("szívek", "szív", *A), ("fények", "fény", *A)],
    )
    typo, apart, plain = (columns([*whole, (*odd, feats)]) for feats in ("Typo=Yes", "_", "_"))
    apart.forms += ["@pelda"]
    apart.lemmas, apart.upos, apart.feats = (
        [*apart.lemmas, "_"],
        [*apart.upos, "X"],
        [*apart.feats, "_"],
    )
    apart.heads, apart.deprels = [0, 1, 1, 3], ["root", "dep", "dep", "goeswith"]
    own = {"Zsuzsanna": "zs@pelda"}
    for one, learned in ((typo, own), (apart, {}), (plain, own)):
        found = Lemmas.of([one], ["upos"])
        assert found.seen == {(): {"szívek": "szív", "fények": "fény", **learned}}
        assert found.odd == {symbol for symbol in found.rules.symbols if "@" in symbol} != set()
        scores = np.array([[symbol in found.odd for symbol in found.rules.symbols]], np.float32)
        assert "@" not in found.by_rules(["zsuzsanna"], ["PROPN"], scores)[0]
        assert found.extended(Lemmas.of([columns(whole)], ["upos"])).odd == found.odd


CASED = [
    ("alma", "alma", "NOUN"),
    ("Kutyák", "kutya", "NOUN"),
    ("vár", "vár", "VERB"),
    ("Vár", "Vár", "PROPN"),
]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            [],
            (
                "KUTYÁK/NOUN/kutya Alma/NOUN/alma ALMÁK/NOUN/almá Almák/NOUN/Almá VÁR/VERB/vár "
                "VÁR/PROPN/Vár Alma/PROPN/Alma HA/CCONJ/HA mTa/NOUN/mTa MÁR/PROPN/Már"
            ),
        ),
        (
            [("DNS", "DNS", "NOUN"), ("ÁFA", "ÁFA", "NOUN")],
            "DNS/NOUN/DNS KUTYÁK/NOUN/kutya TNS/NOUN/TNS ÁSK/NOUN/ÁS",
        ),
        (
            [("Hund", "Hund", "NOUN"), ("Tag", "Tag", "NOUN"), ("Ei", "Ei", "NOUN")],
            "HUND/NOUN/Hund TAGK/NOUN/Tag VÁR/VERB/vár",
        ),
    ],
)
def test_new_forms_with_capitals_are_read_in_the_case_of_lemmas(more, words):
    """That of the lemmas of a UPOS in training; whatever rules make of them,
    no lemma mixes cases.
    """
    lemmas = Lemmas.of([columns([(*word, "_") for word in [*CASED, *more]])], ["upos"])
    lemmas = Lemmas(
        ["keep\t0\t\t1\t", "keep\t0\t\t0\t"], ["upos"], lemmas.seen, lemmas.known, lemmas.casings
    )
    forms, upos, expected = zip(*(word.split("/") for word in words.split()), strict=True)

    def scores(new: list[str], places: np.ndarray) -> np.ndarray:
        return np.array([[2 * (form[-1] in "kK"), 0.5] for form in new], np.float32)

    found = lemmatize(lemmas, ["", "x", *forms], {"upos": ["", "X", *upos]}, scores)
    assert found[2:] == [*expected]


def test_the_first_word_of_a_sentence_is_read_in_the_case_of_lemmas():
    lemmas = Lemmas.of([columns([(*word, "_") for word in CASED])], ["upos"])
    words = [("Almák", "NOUN"), ("Ék", "PROPN"), ("Ég", "X"), ("İn", "NOUN")]
    assert [lemmas.cased(*word, True) for word in words] == ["almák", "Ék", "Ég", "i̇n"]
    assert [lemmas.cased(*word, False) for word in words] == ["Almák", "Ék", "Ég", "İn"]
    assert Lemmas(KNOWN, ["upos"]).cased("ALMÁK", "NOUN", True) == "ALMÁK"  # as in models of before


def test_no_lemma_mixes_cases():
    lemmas = Lemmas(
        ["keep\t1\tk\t0\t", "keep\t0\t\t1\ta"], ["upos"], {}, None, {"NOUN": ["lower", "keep"]}
    )
    for form, rule, lemma in (
        ("KUTYA", 0, "kutya"),
        ("KUTYÁ", 1, "kutya"),
        ("Kutya", 1, "Kutya"),
        ("KfT", 1, "Kfa"),
    ):
        assert lemmas.by_rules([form], ["NOUN"], np.eye(2, dtype=np.float32)[[rule]]) == [lemma]
    assert Lemmas(["keep\t1\tk\t0\t"]).by_rules(
        ["KUTYA"], ["NOUN"], np.ones((1, 1), np.float32)
    ) == ["kUTYA"]


def test_of_a_form_with_several_lemmas_its_upos_tells_which():
    found = Lemmas.of(TREEBANK, ["upos", "feats"])
    tags = {"upos": ["", "VERB", "VERB", "NOUN"], "feats": ["_", "F=2", "F=1", "F=2"]}
    rules = np.zeros((1, len(found.rules.symbols)), np.float32)
    lemmas = lemmatize(
        found, ["", "ÉG", "ég", "szívek"], tags, lambda new, places: rules, tags["upos"]
    )
    assert lemmas[:3] == ["_", "éget", "éget"]


def test_a_treebank_without_lemmas_has_none():
    assert Lemmas.of([columns([("a", "_", *A), ("_", "_", *A)])], ["upos"]) is None
    assert Lemmas.of([], []) is None


@pytest.mark.parametrize("rules", [[], ["keep"], [KNOWN[0], KNOWN[0]]])
def test_rules_that_cannot_be_are_refused(rules):
    with pytest.raises(ValueError, match=r"rule|twice|at least one"):
        Lemmas(rules)


def test_rules_that_do_not_apply_are_passed_over():
    scores = np.array([[1, 3, 2], [1, 3, 2], [2, 3, 2], [np.nan] * 3, [1, 3, 2]], np.float32)
    assert Lemmas(KNOWN).by_rules(["Fák", "K", "K", "K", ""], [""] * 5, scores) == [
        "fa",
        "K",
        "k",
        "k",
        "",
    ]


def test_what_new_sentences_say_comes_before_what_was_known():
    old = Lemmas(
        KNOWN,
        ["upos", "feats"],
        {(): {"Fák": "fák", "vár": "vár", "ház": "ház"}, A: {"szívek": "x", "hol": "hol"}},
    )
    found = old.extended(Lemmas.of(TREEBANK, ["upos", "feats"]))
    always = {"Fák": "fa", "vár": "vár", "ház": "ház", "_": "_"}
    assert found.seen == {
        (): always,
        A: {"szívek": "x", "hol": "hol", "ég": "ég"},
        B: {"szívek": "szív", "ég": "éget"},
    }
    assert found.rules.symbols[:3] == KNOWN
    assert {*Lemmas.of(TREEBANK, []).rules.symbols} < {*found.rules.symbols}
    ambiguous = Lemmas(KNOWN, ["upos", "feats"], {(): {"ég": "ég", "x": "x"}})
    assert ambiguous.extended(Lemmas.of(TREEBANK, ["upos", "feats"])).seen[()] == {
        "x": "x",
        "Fák": "fa",
        "vár": "vár",
        "_": "_",
    }


def test_a_form_whose_lemma_depends_on_its_tags_keeps_that_though_new_sentences_have_one_of_them():
    old = Lemmas.of(TREEBANK, ["upos", "feats"])
    assert old.told_by_tags == {"szívek", "ég"}
    new = Lemmas.of(
        [columns([("ég", "éget", *B), ("szívek", "szív", *A)])],
        ["upos", "feats"],
        old.told_by_tags,
    )
    found = old.extended(new)
    assert found.seen == {**old.seen, A: {"ég": "ég", "szívek": "szív"}}


def test_a_rule_leads_to_a_known_lemma_in_whatever_spelling():
    lemmas = Lemmas(
        KNOWN, [], {}, KnownLemmas({"NOUN": ["fak", "faá"], "VERB": ["Fak"]}, {"á": "a"})
    )
    assert lemmas.rules_by_lemma("Fák", set()) == {"fak": [0], "fa": [1], "Fak": [2]}
    assert lemmas.rules_by_lemma("Fák", {("fak", ""), ("fak", "NOUN")}) == {
        "fák": [0],
        "fa": [1],
        "Fak": [2],
    }


def test_what_is_known_through_a_form_alone_is_not_for_it():
    assert Lemmas(KNOWN, [], {(): {"x": "fá", "y": "Fák"}}).known.by_upos == {"": ["fá", "Fák"]}
    known = KnownLemmas({"NOUN": ["fa", "szív"], "VERB": ["szív"], "": ["ég"]}, {})
    assert known.gain("szív", "VERB") == KNOWN_LEMMA + SAME_UPOS
    assert (
        known.gain("szív", "VERB", {("szív", "VERB")}) == known.gain("szív", "ADJ") == KNOWN_LEMMA
    )
    assert known.gain("ég", "") == known.gain("ég", "VERB") == KNOWN_LEMMA
    assert known.gain("fa", "NOUN", {("fa", ""), ("fa", "NOUN")}) == known.gain("x", "NOUN") == 0


@pytest.mark.parametrize("form", ["Fák", "fa", "FÁKAT", "İfa", "ΟΔΟΣ", "x", "", "z" * 51])
def test_known_lemmas_begin_with_the_beginning_of_a_form(form):
    """Whatever rules leave of a form, and add at its end."""
    lemmas = ["fakat", "Fak", "οδος", "ΟΔΟΣ", "i̇f", "xx", "z" * 55]
    known = KnownLemmas({"X": lemmas}, {"á": "a", "x": ""})
    length = known.beginning(form)
    for casing in (str, str.lower, str.capitalize):
        for kept in range(len(casing(form)) + 1):
            stem = casing(form)[:kept]
            made = {
                known.spelled(stem + lemma[begin:])
                for lemma in lemmas
                for begin in range(len(lemma) + 1)
            }
            assert kept <= length or not made.intersection(lemmas)


def test_long_lemmas_take_no_square_of_their_length():
    long = "a" * 100_000
    known = KnownLemmas({"X": [long]}, {})
    assert [known.beginning(form) for form in (long, "a" * 60, "a" * 40 + "b" * 10, "ab")] == [
        100_000,
        60,
        40,
        1,
    ]


def test_which_characters_are_written_for_others():
    assert interchangeable(
        [
            ["kün", "kun", "kunő"],
            ["sün", "Sun"],
            ["t'i", "ti"],
            ["on'", "on"],
            ["mosü", "mosu", "mos"],
        ]
    ) == {
        "ü": "u",
        "'": "",
    }
    # one pair each is too few
    assert interchangeable([["a'", "a"], ["b", "c"], ["dx", "ex"]]) == {}
    assert (
        interchangeable([["a'", "a"], ["b'", "b"], *([f"'{number}x"] for number in range(30))])
        == {}
    )
    chain = [["ax", "ay"], ["bx", "by"], ["cy", "cz"], ["dy", "dz"], ["x"], ["1x"], ["2x"]]
    assert interchangeable(chain) == {"y": "x", "z": "x"}
    # numbers are not spellings
    assert interchangeable([["15", "16", "25", "26"], ["7a", "8a"], ["7b", "8b"]]) == {}
    # of which a lemma stands for all
    kinds = [f"{one}{other}" for one in "abcde" for other in "vwxyz"]
    assert interchangeable([kinds[:20]]) != interchangeable([kinds]) == {}
    assert interchangeable([["Fa", "fa"], [], ["é"]]) == {}
    # it would take gigabytes
    assert interchangeable([["a" * 100_000, "a" * 99_999 + "b"]] * 2) == {}


def test_of_all_rules_the_best_is_taken():
    rng = np.random.default_rng(0)
    parts = product(("keep", "lower"), (0, 1), (0, 1, 2), ("", "a", "b"))
    written = [f"{casing}\t{front}\t\t{end}\t{added}" for casing, front, end, added in parts]
    known = KnownLemmas({"X": ["ab", "ba"], "Y": ["Aba", "b", "ab"]}, {"c": "b"})
    lemmas = Lemmas(written, [], {}, known)
    for _ in range(500):
        form, upos = (
            "".join(rng.choice([*"abcAB"], rng.integers(1, 5))),
            str(rng.choice(["X", "Y", "Z"])),
        )
        scores = rng.normal(0, 4, len(written)).astype(np.float32)
        made = [LemmaRule.of(symbol)(form) for symbol in written]
        near = [
            one == form or (one and keeps_half(form, LemmaRule.of(rule), one))
            for rule, one in zip(written, made, strict=True)
        ]
        found = {
            number: known.spelled(lemma)
            for number, lemma in enumerate(made)
            if lemma is not None and near[number]
        }
        # as training saw no form
        losses = [0 < LemmaRule.of(rule).end < len(form) for rule in written]
        best = max(
            found,
            key=lambda number: scores[number] + known.gain(found[number], upos) - losses[number],
        )
        assert lemmas.by_rules([form], [upos], scores[None]) == [found[best]]


def test_affixes_are_hashed_whatever_the_case_of_a_form():
    found = affixes(
        forms := ["Abcdef", "abcdef", "xxbcdef", "abxx", "", "a", "a1", "\ud800\U0001d518ß"], 2**30
    ).tolist()
    prefixes, suffixes, shapes = (
        [row[columns] for row in found] for columns in (slice(3), slice(3, 8), slice(8, 9))
    )
    for place, form in enumerate(forms):
        for other, of_other in enumerate(forms):
            for length in range(1, 6):
                same = form.lower()[-length:] == of_other.lower()[-length:]
                assert (suffixes[place][length - 1] == suffixes[other][length - 1]) == same
                same = form.lower()[:length] == of_other.lower()[:length]
                assert (
                    length > 3
                    or (prefixes[place][length - 1] == prefixes[other][length - 1]) == same
                )
    # capitals, and letters alone
    assert [shapes.index(shape) for shape in shapes] == [0, 1, 1, 1, 4, 1, 4, 4]
    assert {*affixes(["Abcdef"], 3)[0].tolist()} <= {0, 1, 2}
    assert affixes(["xyz", "abcdef"], 9)[1].tolist() == affixes(["abcdef"], 9)[0].tolist()
    assert affixes([], 3).shape == (0, 9)


def test_trigrams_are_hashed_by_their_distance_from_the_end():
    forms = ["Abcdef", "xbcdeg", "abcdefh", "cde", "de", ""]
    found = affixes(forms, 2**30, 2)
    assert found[:, :9].tolist() == affixes(forms, 2**30).tolist()
    trigrams = found[:, 9:].tolist()
    for place, form in enumerate(forms):
        for other, of_other in enumerate(forms):
            for number in (1, 2):
                same = form.lower()[:-number][-3:] == of_other.lower()[:-number][-3:]
                assert (trigrams[place][number - 1] == trigrams[other][number - 1]) == same
    assert len({*map(tuple, found[:1, 9:].T.tolist())}) == 2


def lines(path, *written: str):
    content = "".join(f"{line}\n" for line in written).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return LemmaLexicon.read(path)


def test_what_a_lexicon_says_of_tags_comes_before_what_it_says_of_any(tmp_path):
    found = lines(
        tmp_path / "l.gz",
        "\ufeffa\t_\tany",
        "a\tX\tx",
        "a\tX\txf\tF=1",
        "a\t_\tf\tF=2",
        "a\tX\tlate",
        "b\tX\tb\r",
    )
    asked = [("X", "F=1"), ("X", "_"), ("X", "F=2"), ("Y", "F=2"), ("Y", "F=1")]
    assert [found.lemma("a", *tags) for tags in asked] == ["xf", "x", "x", "f", "any"]
    assert found.lemma("b", "X", "_") == "b"
    assert found.lemma("b", "Y", "_") is found.lemma("c", "X", "_") is None


def test_a_lexicon_has_forms_in_whatever_case_and_comments(tmp_path):
    written = [
        "# form UPOS lemma",
        "",
        "#\tSYM\tnumber",
        "Kutyák\tNOUN\tkutya",
        "KUTYÁK\tNOUN\tKUTYÁK",
        " ",
    ]
    found = lines(tmp_path / "l.tsv", *written, "STRASSE\t_\tStraße")
    assert (found.lemma("kutya", "NOUN", "_"), found.applied) == (None, False)
    forms = ["Kutyák", "KUTYÁK", "kutyák", "straße"]
    assert [found.lemma(form, "NOUN", "_") for form in forms] == [
        "kutya",
        "KUTYÁK",
        "kutya",
        "Straße",
    ]
    assert found.applied
    assert found.lemma("#", "SYM", "_") == "number"


@pytest.mark.parametrize(
    "line", [b"a\tX", b"a\tX\tb\tF=1\t", b"\tX\tb", b"a\tX\t", b"a\tX\tb ", b"word", b"\xff\tX\tb"]
)
def test_what_is_no_lexicon_is_refused_with_its_line(tmp_path, line):
    (tmp_path / "l.tsv").write_bytes(b"a\t_\tb\n" + line + b"\n")
    with pytest.raises(
        ConlluError, match=r"l\.tsv, line 2: a line of a lexicon is form, UPOS or _, lemma"
    ):
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
    assert lemmatize(lemmas, forms, tags, scores) == ["_", "seen", "seen", "b", "fa", "c", "so"]
    lexicon = LemmaLexicon({("_", "_"): {"b": "written"}})
    assert lemmatize(lemmas, forms, tags, scores, lexicon=lexicon) == [
        "_",
        "seen",
        "written",
        "written",
        "fa",
        "c",
        "so",
    ]
    assert asked == [[3, 4, 5], [4, 5]]
    assert lemmatize(Lemmas(KNOWN, [], {(): {"b": "seen"}}), ["b"], {}, scores) == ["seen"]
    assert lemmatize(lemmas, [], {"upos": []}, scores) == []


# In training *felt* and *fell* are verbs; their lemmas are also nouns'.
USED = [
    ("felt", "feel", "VERB", "_"),
    ("feel", "feel", "VERB", "_"),
    ("feel", "feel", "NOUN", "_"),
    ("feels", "feel", "NOUN", "_"),
    ("mice", "mouse", "NOUN", "_"),
    ("mouse", "mouse", "NOUN", "_"),
    ("mouse", "mouse", "VERB", "_"),
    ("went", "go", "VERB", "_"),
    ("was", "be", "AUX", "_"),
    ("be", "be", "VERB", "_"),
]


def with_upos(lemmas: Lemmas, upos: str, strictly: bool = True) -> dict[str, str]:
    """Return the lemmas of forms that are given this UPOS;
    the rule of *felt* has the highest score, the identity the next.
    """
    forms = ["felt", "went", "mice", "was", "knelt"]
    ranks = {"keep\t0\t\t2\tel": 1000, "keep\t0\t\t0\t": 100}
    own = np.array([ranks.get(symbol, 0) for symbol in lemmas.rules.symbols], np.float32)
    tags = {"upos": [upos] * 5, "feats": ["_"] * 5}
    found = lemmatize(
        lemmas,
        forms,
        tags,
        lambda new, _: np.tile(own, (len(new), 1)),
        (),
        None,
        [(upos, strictly)] * 5,
    )
    return dict(zip(forms, found, strict=True))


def test_irregular_forms_of_a_list_come_after_what_training_saw_and_before_rules():
    words = [("mice", "mouse", "NOUN", "_"), ("tore", "rip", "VERB", "_"), ("ran", "ran", "X", "_")]
    lemmas = Lemmas.of([columns(words)], ["upos", "feats"], irregular="en")
    forms = ["tore", "wept", "Wept", "WEPT", "Wept", "wept", "bled", "kicked"]
    upos = ["VERB", "VERB", "VERB", "VERB", "PROPN", "NOUN", "VERB", "VERB"]
    expected = ["rip", "weep", "weep", "weep", "Wept", "wept", "bleed", "kicked"]
    described = json.loads(json.dumps(lemmas.described()))
    assert described["irregular"] == "en"
    tags = {"upos": upos, "feats": ["_"] * len(forms)}
    keep = np.array([symbol == "keep\t0\t\t0\t" for symbol in lemmas.rules.symbols], np.float32)
    for one in (lemmas, Lemmas.read(described, ["upos", "feats"])):
        assert lemmatize(one, forms, tags, lambda new, _: np.tile(keep, (len(new), 1))) == expected
    plain = Lemmas.of([columns(words)], ["upos", "feats"])
    assert "irregular" not in plain.described()
    assert plain.extended(lemmas).irregular == lemmas.extended(plain).irregular == "en"
    with pytest.raises(ValueError, match="names a list 'xx', and this version has en"):
        Lemmas.read({**described, "irregular": "xx"}, ["upos", "feats"])


@pytest.mark.parametrize("language", irregular_lists())
def test_a_list_of_irregular_forms_has_each_form_once_with_a_lemma_of_its_own(language):
    folder = Path(lists.__file__).parent
    lines = (folder / f"{language}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    assert len({(form, upos) for form, upos, _ in rows}) == len(rows)
    assert {upos for _, upos, _ in rows} <= {*UD_TAGS}
    assert all(form != lemma and is_lemma(lemma) for form, _, lemma in rows)
    assert len(irregular_forms(language)) == len(rows)


def test_lemmas_fit_a_given_upos():
    lemmas = Lemmas.of([columns(USED)], ["upos", "feats"])
    read = Lemmas.read(lemmas.described(), ["upos", "feats"])
    for known in (lemmas, read):
        verbs = {"felt": "feel", "went": "go", "mice": "miel", "was": "be", "knelt": "kneel"}
        assert with_upos(known, "VERB") == verbs
        assert with_upos(known, "AUX") == verbs | {"mice": "mice", "knelt": "knelt"}
        nouns = {"felt": "felt", "went": "went", "mice": "mouse", "was": "was", "knelt": "knelt"}
        assert with_upos(known, "NOUN") == nouns
        assert with_upos(known, "X")["felt"] == "feel", "training never saw X"
        assert with_upos(known, "") == {
            "felt": "feel",
            "went": "go",
            "mice": "mouse",
            "was": "be",
            "knelt": "kneel",
        }
    described = lemmas.described()
    assert described["use"]["absent"] == {
        "AUX": ["be"],
        "NOUN": ["felt"],
        "VERB": ["feels", "mice", "was"],
    }


def test_an_older_folder_tells_from_its_lemmas_which_upos_had_a_form_and_a_rule():
    frequent = [("dogs", "dog", "NOUN", "_"), ("mouse", "mouse", "NOUN", "_")] * 3
    described = Lemmas.of(
        [columns([*USED, ("dealt", "deal", "VERB", "_"), *frequent])], ["upos", "feats"]
    ).described()
    del described["use"]
    older = Lemmas.read(described, ["upos", "feats"])
    assert not older.knows_use
    nouns = with_upos(older, "NOUN")
    assert (nouns["felt"], nouns["went"], nouns["mice"]) == ("felt", "went", "mouse")
    verbs = with_upos(older, "VERB")
    assert (verbs["felt"], verbs["went"], verbs["was"]) == ("feel", "go", "be")
    # no noun has the lemma go; feel may be that of felt
    loose = with_upos(older, "NOUN", strictly=False)
    assert loose["felt"] == "feel"
    assert loose["went"] != "go"
    assert "use" not in older.described()


def test_lemmas_that_are_learned_later_are_used_too():
    first = Lemmas.of([columns(USED)], ["upos", "feats"])
    second = Lemmas.of(
        [columns([("felt", "feel", "NOUN", "_"), ("knelt", "kneel", "NOUN", "_")])],
        ["upos", "feats"],
    )
    found = first.extended(second)
    assert with_upos(found, "NOUN")["felt"] == "feel"
    assert with_upos(found, "NOUN")["knelt"] == "kneel"
    assert with_upos(found, "VERB")["felt"] == "feel"
    assert Lemmas.read(found.described(), ["upos", "feats"]).described() == found.described()


def slips() -> Lemmas:
    """English as people type it: *s* is often a misspelt *'s*, and once a letter."""
    usual = [("to", "to", "PART", "_")] * 30 + [("s", "s", "NOUN", "_"), ("is", "be", "AUX", "_")]
    typos = [("s", "be", "AUX", "Typo=Yes")] * 3 + [
        ("to", "too", "ADV", "Typo=Yes"),
        ("teh", "the", "DET", "Typo=Yes"),
    ]
    found = Lemmas.of([columns([*usual, *typos])], ["upos", "feats"])
    assert found is not None
    return found


def test_a_misspelt_form_keeps_its_lemma_and_gives_it_to_no_other_form():
    lemmas = slips()
    words = [
        ("s", "AUX", "Typo=Yes"),
        ("s", "AUX", "Mood=Ind"),
        ("s", "NOUN", "_"),
        ("to", "ADV", "_"),
        ("teh", "DET", "_"),
    ]
    forms, upos, feats = ([*column] for column in zip(*words, strict=True))
    rules = np.array([[symbol == "keep\t0\t\t0\t" for symbol in lemmas.rules.symbols]], np.float32)
    found = lemmatize(
        lemmas, forms, {"upos": upos, "feats": feats}, lambda new, _: np.repeat(rules, len(new), 0)
    )
    assert found == ["be", "be", "s", "to", "the"]
    assert "the" not in lemmas.known.by_upos.get("DET", [])
    assert lemmas.always("teh", "DET") == "the"
    read = Lemmas.read(lemmas.described(), ["upos", "feats"])
    assert read.remembered("s", "s", ("AUX", "Mood=Ind"), "AUX", "") == "be"


CITY = [
    ("Apple", "Apple", "PROPN", "_"),
    ("apples", "apple", "NOUN", "_"),
    ("CITY", "City", "PROPN", "_"),
]
CITY += [
    ("city", "city", "NOUN", "_"),
    ("Germany", "Germany", "PROPN", "_"),
    ("in", "in", "ADP", "_"),
    ("'s", "be", "AUX", "_"),
]


def test_capitals_are_looked_up_in_lower_case_before_any_rule():
    lemmas = Lemmas.of([columns(CITY)], ["upos", "feats"])

    def scores(new: list[str], places: np.ndarray) -> np.ndarray:
        pytest.fail(f"{new} need no rule")

    words = {
        "GERMANY": "PROPN Germany",
        "APPLES": "NOUN apple",
        "CITY": "NOUN city",
        "IN": "ADP in",
        "'S": "AUX be",
    }
    tags = {"upos": [word.split()[0] for word in words.values()], "feats": ["_"] * len(words)}
    assert lemmatize(lemmas, [*words], tags, scores) == [word.split()[1] for word in words.values()]
    assert lemmatize(lemmas, ["CITY"], {"upos": ["PROPN"], "feats": ["_"]}, scores) == ["City"]


def test_a_rule_loses_by_letters_that_it_never_took_away():
    words = {"tables": "table", "miles": "mile", "families": "family", "ladies": "lady"}
    lemmas = Lemmas.of(
        [columns([(*word, "NOUN", "_") for word in words.items()])], ["upos", "feats"]
    )
    likely = np.array(
        [
            {"keep\t0\t\t1\t": 2.0, "keep\t0\t\t3\ty": 2.4}.get(one, 0)
            for one in lemmas.rules.symbols
        ],
        np.float32,
    )
    tags = {"upos": ["NOUN"] * 2, "feats": ["_"] * 2}
    found = lemmatize(
        lemmas, ["apples", "cherries"], tags, lambda new, _: np.tile(likely, (len(new), 1))
    )
    assert found == ["apple", "cherry"]


NUMBERS = [
    ("1,000", "1000", "NUM", "_"),
    ("2,500", "2500", "NUM", "_"),
    ("3.250", "3.250", "NUM", "_"),
    ("2", "2", "NUM", "_"),
]


def by_any_rules(lemmas: Lemmas, forms: list[str], scores: np.ndarray) -> list[str]:
    """Return the lemmas of forms by rules with these scores."""
    tags = {"upos": ["NUM"] * len(forms), "feats": ["_"] * len(forms)}
    return lemmatize(lemmas, forms, tags, lambda new, _: np.tile(scores, (len(new), 1)))


def test_thousands_marks_go_as_in_training_in_any_number_of_groups():
    lemmas = Lemmas.of([columns(NUMBERS)], ["upos", "feats"])
    scores = np.array([symbol != "keep\t0\t\t0\t" for symbol in lemmas.rules.symbols], np.float32)
    plain = {
        "1,000,000": "1000000",
        "12,345,678": "12345678",
        "1,234,567.89": "1234567.89",
        "12,34,567": "1234567",
    }
    kept = {
        "5.000.000": "5.000.000",
        "3,14": "3,14",
        "1,2,3": "1,2,3",
        "0,500": "0,500",
        "1,0000": "1,0000",
        "7,000th": "7000th",
    }
    assert by_any_rules(lemmas, [*plain, *kept], scores) == [*plain.values(), *kept.values()]
    dots = Lemmas.of(
        [columns([("1.000", "1.000", "NUM", "_"), ("2", "2", "NUM", "_")])], ["upos", "feats"]
    )
    assert by_any_rules(
        dots, ["1,000,000", "9.000"], np.zeros(len(dots.rules.symbols), np.float32)
    ) == ["1,000,000", "9.000"]


@given(
    st.from_regex(r"[a-z$]{0,2}[0-9٣½²]{1,3}([.,:/-][0-9]{1,3}){0,3}[a-z%]{0,2}", fullmatch=True),
    st.integers(0, 2**32 - 1),
)
@example("\u00bd\u00bda", 1)  # without a digit, and no symbol
def test_digits_never_change(form, seed):
    lemmas = Lemmas.of(
        [columns([*NUMBERS, ("5th", "fifth", "ADJ", "_"), ("7-kor", "7", "NOUN", "_")])],
        ["upos", "feats"],
    )
    scores = np.random.default_rng(seed).normal(0, 4, len(lemmas.rules.symbols)).astype(np.float32)
    lemma = by_any_rules(lemmas, ["", form], scores)[1]
    assert form in lemmas._forms or [one for one in form if one.isdigit()] == [
        one for one in lemma if one.isdigit()
    ]


@pytest.mark.parametrize(
    "form", ["🎉", "❤️", "★", "™", "😂😂😂", "👍🏽", "→", "§§", "$$$", "…", "½", "\u20e3"]
)
def test_symbols_and_emoji_are_their_own_lemmas(form):
    lemmas = Lemmas([*KNOWN, f"keep\t0\t\t{len(form)}\tbe"], ["upos", "feats"], {(): {"m": "be"}})
    assert by_any_rules(lemmas, [form], np.array([0, 0, 0, 1], np.float32)) == [form]


def test_a_rule_that_keeps_less_than_half_of_a_lemma_is_not_for_new_forms():
    went, slept = ("went", "go", "VERB", "_"), ("slept", "sleep", "VERB", "_")
    goes = [(form, "go", "VERB", "_") for form in ("go", "goes", "going", "gone")]
    words = [
        *goes,
        went,
        slept,
        *((f"{a}{b}ook", f"{a}{b}ook", "NOUN", "_") for a in "bcdfghklmn" for b in "aeiouyáéíóú"),
    ]
    lemmas = Lemmas.of([columns(words)], ["upos", "feats"])
    ranks = {"keep\t0\t\t4\tgo": 9.0, "keep\t0\t\t2\tep": 5.0}
    scores = np.array([ranks.get(symbol, 0.0) for symbol in lemmas.rules.symbols], np.float32)
    tags = {"upos": ["VERB"] * 2, "feats": ["_"] * 2}
    assert lemmatize(
        lemmas, ["went", "wept"], tags, lambda new, _: np.tile(scores, (len(new), 1))
    ) == ["go", "weep"]


def test_an_auxiliary_may_have_a_known_lemma_that_is_far_from_it():
    words = [
        ("dur", "i", "AUX", "_"),
        ("idi", "i", "AUX", "_"),
        ("i", "i", "AUX", "_"),
        ("ev", "ev", "NOUN", "_"),
    ]
    words += [
        (f"{a}{b}ok", f"{a}{b}ok", "NOUN", "_")
        for a in "bcdfghklmn"
        for b in "aeiouyáéíóúöüőűäåàèìòùâêîôû"
    ]
    lemmas = Lemmas.of([columns(words)], ["upos", "feats"])
    scores = np.array(
        [[9.0 * (symbol == "keep\t0\t\t3\ti") for symbol in lemmas.rules.symbols]] * 2, np.float32
    )
    assert "keep\t0\t\t3\ti" in lemmas.rules.symbols
    assert lemmas.by_rules(["dar", "dar"], ["AUX", "NOUN"], scores) == ["i", "dar"]
