"""Scores, as of the official script in the package udtools, and by hand; errors by group,
and tests of two systems.
"""

import io
import json
import random
import re
import sys
import tempfile
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from udtools import udeval

from oracles import Trees
from parser.commands.evaluate import as_json, as_table, main
from parser.conllu.checks import ConlluError
from parser.data.treebank import Sentence
from parser.evaluation import attachment_scores, compare, evaluate_files, nonprojective_edges
from parser.evaluation.comparison import GROUPINGS, f1, interval, randomization_test
from tests.forked import script
from tests.random_trees import random_mildly_nonprojective_tree
from tests.toy import real_treebank, sentence, write_conllu

OFFICIAL_NAMES = [
    "UAS",
    "CLAS",
    "MLAS",
    "BLEX",
    "UPOS",
    "XPOS",
    "UFeats",
    "AllTags",
    "Lemmas",
    "Words",
    "Tokens",
    "Sentences",
]
OFFICIAL = {name.lower(): name for name in OFFICIAL_NAMES} | {"las_universal": "LAS"}
RELATIONS = [
    "nsubj",
    "nsubj:pass",
    "obj",
    "nmod",
    "nmod:poss",
    "det",
    "case",
    "case:x",
    "aux:pass",
    "cc",
    "punct",
    "dep",
]
FEATS = [
    "_",
    "Case=Nom",
    "Case=Nom|Number=Sing",
    "Number=Sing|Case=Nom",
    "Odd=Yes",
    "Case=Acc|Odd=Yes",
    "Number[psor]=Plur",
]


def written(folder: Path, gold: str, system: str) -> tuple[Path, Path]:
    paths = folder / "gold.conllu", folder / "system.conllu"
    for path, text in zip(paths, (gold, system), strict=True):
        path.write_text(text, encoding="utf-8", newline="")
    return paths


def scores_of(gold: str, system: str):
    with tempfile.TemporaryDirectory() as folder:
        return evaluate_files(*written(Path(folder), gold, system))


def assert_official(gold: str, system: str) -> None:
    ours = scores_of(gold, system)
    official = udeval.evaluate(
        *(udeval.load_conllu(io.StringIO(text), "a file", {}) for text in (gold, system))
    )
    for key, name in OFFICIAL.items():
        mine, theirs = ours[key], official[name]
        assert (mine.correct, mine.gold, mine.system) == (
            theirs.correct,
            theirs.gold_total,
            theirs.system_total,
        ), key
        assert mine.precision == 100 * theirs.precision, key
        assert mine.recall == 100 * theirs.recall, key
        assert mine.f1 == 100 * theirs.f1, key
        if mine.aligned_accuracy is not None:
            assert mine.aligned_accuracy == 100 * (theirs.aligned_accuracy or 0.0), key


def random_heads(rng: random.Random, n: int) -> list[int]:
    """Return a tree with one root: every word hangs from one before it in a random order."""
    order = rng.sample(range(1, n + 1), n)
    heads = [0] * n
    for i, word in enumerate(order[1:], 1):
        heads[word - 1] = order[rng.randrange(i)]
    return heads


def random_analysis(rng: random.Random, text: str, smallest: int) -> str:
    """CoNLL-U of the text, split anyhow into sentences, tokens,
    multiword tokens and empty nodes, with any trees.
    """
    lines: list[str] = []
    while text:
        sentence, text = (
            (text, "")
            if len(text) < 2 * smallest or rng.random() < 0.4
            else (text[:smallest], text[smallest:])
        )
        rows: list[list[str]] = []
        n = 0
        while sentence:
            size = rng.choice([1, 1, 1, 2, 3, 4])
            token, sentence = sentence[:size], sentence[size:]
            spaced = " ".join(token) if rng.random() < 0.1 else token
            words = [spaced]
            # words of the token's own letters, which differ, are alike, or repeat
            if rng.random() < 0.3:
                words = [
                    rng.choice([rng.choice(token), token, token.upper(), "b"])
                    for _ in range(rng.randint(1, 4))
                ]
                rows.append([f"{n + 1}-{n + len(words)}", spaced, *"________"])
            for form in words:
                n += 1
                tag, xpos = rng.choice(["NOUN", "VERB", "PUNCT"]), rng.choice("xy")
                rows.append(
                    [
                        str(n),
                        form,
                        rng.choice("_ab"),
                        tag,
                        xpos,
                        rng.choice(FEATS),
                        "",
                        rng.choice(RELATIONS),
                        *"__",
                    ]
                )
                if rng.random() < 0.05:
                    rows.append([f"{n}.1", "nothing", *"______", "1:dep", "_"])
        heads = iter(random_heads(rng, n))
        for row in rows:
            if row[0].isdigit():
                row[6] = str(next(heads))
                row[7] = "root" if row[6] == "0" else row[7]
        lines += ["# a comment", *map("\t".join, rows), ""]
    return "\n".join(lines) + "\n"


@given(
    st.text("abB", min_size=1, max_size=14), st.randoms(use_true_random=False), st.integers(1, 8)
)
def test_any_two_analyses_of_a_text_score_as_officially(text, rng, smallest):
    gold, system = random_analysis(rng, text, smallest), random_analysis(rng, text, smallest)
    assert_official(gold, system)
    assert_official(gold, gold)


def test_a_word_that_sticks_out_of_a_region_is_passed_as_officially():
    gold = conllu([("cd", "X", 0, "root"), ("b", "X", 1, "dep")]).replace(
        "2\tb", "2-2\tef" + "\t_" * 8 + "\n2\tb"
    )
    system = conllu(
        [("a", "X", 0, "root"), ("a", "X", 1, "dep"), ("b", "X", 1, "dep"), ("ef", "X", 1, "dep")]
    )
    system = system.replace("1\ta", "1-2\tc" + "\t_" * 8 + "\n1\ta").replace(
        "3\tb", "3-3\td" + "\t_" * 8 + "\n3\tb"
    )
    assert_official(gold, system)
    assert scores_of(gold, system)["words"].correct == 1


def mutated(gold: str, rng: random.Random, share: float) -> str:
    """Return a gold file as a poor parser might have it:
    other heads, relations, tags, features and lemmas.
    """
    values = {7: RELATIONS, 3: ["NOUN", "PUNCT"], 2: ["_", "lemma"], 5: FEATS}
    blocks = []
    for block in gold.strip("\n").split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if not line.startswith("#")]
        words = [row for row in rows if row[0].isdigit()]
        if rng.random() < share:
            for row, head in zip(words, random_heads(rng, len(words)), strict=True):
                row[6] = str(head)
        for row in words:
            row[:] = [
                rng.choice(values[i]) if i in values and rng.random() < share else old
                for i, old in enumerate(row)
            ]
        blocks.append("\n".join(map("\t".join, rows)) + "\n\n")
    return "".join(blocks)


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "UD_German-GSD/de_gsd-ud-dev.conllu",
        "UD_Greek-GDT/el_gdt-ud-dev.conllu",
        "UD_Hungarian-Szeged/hu_szeged-ud-dev.conllu",
    ],
)
def test_real_dev_files_score_as_officially(name):
    gold = real_treebank(name).read_text(encoding="utf-8")
    assert_official(gold, mutated(gold, random.Random(7), 0.2))


def conllu(*sentences: list[tuple[str, str, int, str]]) -> str:
    """Sentences of (form, UPOS, head, relation)."""
    return "".join(
        "".join(
            f"{i}\t{form}\t_\t{tag}\t_\t_\t{head}\t{rel}\t_\t_\n"
            for i, (form, tag, head, rel) in enumerate(words, 1)
        )
        + "\n"
        for words in sentences
    )


GOLD = [
    ("She", "PRON", 2, "nsubj"),
    ("sleeps", "VERB", 0, "root"),
    ("his", "PRON", 4, "nmod:poss"),
    ("cat", "NOUN", 2, "obj"),
]
GOLD.append((".", "PUNCT", 2, "punct"))


def test_by_hand():
    system = [
        *GOLD[:2],
        ("his", "PRON", 4, "nmod"),
        ("cat", "PUNCT", 1, "obj"),
        (".", "NOUN", 1, "punct"),
    ]
    scores = {key: score.f1 for key, score in scores_of(conllu(GOLD), conllu(system)).items()}
    assert scores["uas"] == 60
    assert scores["las"] == 40
    assert scores["las_universal"] == 60
    assert scores["uas_nopunct"] == 75  # gold tags say what is punctuation
    assert scores["las_nopunct"] == 50
    assert scores["upos"] == 60


def test_punctuation_of_unaligned_words():
    system = [
        *GOLD[:3],
        ("ca", "NOUN", 2, "obj"),
        ("t", "PUNCT", 2, "punct"),
        (".", "X", 2, "punct"),
    ]
    score = scores_of(conllu(GOLD), conllu(system))["uas_nopunct"]
    # Gold: four words. System: She, sleeps, his, and of the unaligned ones ca. His head, cat,
    # is not aligned.
    assert (score.correct, score.gold, score.system) == (2, 4, 4)


def test_crlf_bom_and_missing_last_newline_change_nothing():
    plain = conllu(GOLD, GOLD)
    odd = "\ufeff" + plain.replace("\n", "\r\n").rstrip("\r\n")
    assert scores_of(plain, odd) == scores_of(plain, plain)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_arrays_score_as_files(lengths, rng):
    def trees():
        relations = [*RELATIONS, "root"]
        return [
            [
                ("w", rng.choice(["X", "PUNCT"]), h, rng.choice(relations))
                for h in random_heads(rng, n)
            ]
            for n in lengths
        ]

    gold, system = trees(), trees()
    files = scores_of(conllu(*gold), conllu(*system))
    _, tags, gold_heads, gold_relations = zip(
        *(word for words in gold for word in words), strict=True
    )
    _, _, heads, relations = zip(*(word for words in system for word in words), strict=True)
    punctuation = np.array(tags) == "PUNCT"
    arrays = scores_of_arrays(gold_heads, gold_relations, heads, relations, punctuation)
    assert set(arrays) == {"uas", "las", "las_universal", "uas_nopunct", "las_nopunct"}
    assert arrays == {key: files[key].f1 for key in arrays}


def scores_of_arrays(gold_heads, gold_relations, heads, relations, punctuation) -> dict[str, float]:
    names = sorted({*gold_relations, *relations})
    universals = sorted({name.split(":")[0] for name in names})
    numbers = (
        np.array([names.index(name) for name in column], int)
        for column in (gold_relations, relations)
    )
    universal_numbers = np.array([universals.index(name.split(":")[0]) for name in names], int)
    of_gold, of_system = zip(map(np.array, (gold_heads, heads)), numbers, strict=True)
    return attachment_scores(*of_gold, *of_system, punctuation, universal_numbers)


def test_of_no_words_every_score_is_0():
    assert set(scores_of_arrays([], [], [], [], np.array([], bool)).values()) == {0.0}


def test_all_spaces_of_unicode_are_left_out_of_the_text():
    spaces = [
        chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) == "Zs"
    ]
    tree = [("She", "PRON", 0, "root")]
    for space in spaces:
        spaced = [(f"S{space}he", "PRON", 0, "root")]
        assert scores_of(conllu(tree), conllu(spaced))["words"].f1 == 100


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([("a", "X", 2, "dep"), ("b", "X", 1, "dep")], "line 5, sentence 2: no root"),
        ([("a", "X", 0, "root"), ("b", "X", 0, "root")], "line 6, sentence 2: several roots"),
        (
            [("a", "X", 0, "root"), ("b", "X", 3, "dep"), ("c", "X", 2, "dep")],
            "line 6, sentence 2: a cycle",
        ),
        (
            [("a", "X", 0, "root"), ("b", "X", 3, "dep")],
            "line 6, sentence 2: the head 3 is outside",
        ),
        ([("a", "X", 0, "root"), (" ", "X", 1, "dep")], "line 6, sentence 2: an empty form"),
    ],
)
def test_files_that_are_no_trees(words, message):
    good = [("a", "X", 0, "root"), ("b", "X", 1, "dep"), ("c", "X", 1, "dep")]
    gold, system = conllu(good, good), conllu(good, words)
    with pytest.raises(ConlluError, match=message):
        scores_of(gold, system)
    with pytest.raises(udeval.UDError):  # the official script refuses it, too
        udeval.evaluate(*(udeval.load_conllu(io.StringIO(text), "", {}) for text in (gold, system)))


@pytest.mark.parametrize(
    ("gold", "system", "message"),
    [
        (
            [GOLD],
            [[*GOLD[:3], ("dog", "NOUN", 2, "obj"), GOLD[4]]],
            r"system.conllu, line 4, .*'dog.' .*gold.conllu, line 4",
        ),
        ([GOLD, GOLD], [GOLD], r"system.conllu, line 5, .*line 7, sentence 2"),
        ([GOLD], [], r"no sentence in this file"),
    ],
)
def test_different_texts(gold, system, message):
    with pytest.raises(ConlluError, match=message):
        scores_of(conllu(*gold), conllu(*system))


@pytest.mark.parametrize(("gold", "system"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_the_same_text_in_another_normalization_is_named(gold, system):
    texts = [
        conllu([(unicodedata.normalize(form, "\u00e1rv\u00edz"), "NOUN", 0, "root")])
        for form in (gold, system)
    ]
    with pytest.raises(
        ConlluError, match=rf"normalization \({system}, the gold file {gold}\); convert"
    ):
        scores_of(*texts)


def test_script(tmp_path, capsys, monkeypatch):
    gold, system = tmp_path / "gold.conllu", tmp_path / "system.conllu"
    gold.write_text(conllu(GOLD))
    system.write_text(conllu([*GOLD[:4], (".", "PUNCT", 4, "punct")]))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(system.read_bytes())))
    main([str(gold), "-", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert printed["uas"] == 80
    assert printed["uas_nopunct"] == 100
    assert printed["details"]["las"]["correct"] == 4
    assert set(printed) == {*OFFICIAL, "las", "uas_nopunct", "las_nopunct", "details"}

    main([str(gold), str(system)])
    assert (
        "LAS (official)           80.00     80.00     80.00      80.00" in capsys.readouterr().out
    )


def test_script_reports_bad_input_in_one_line(tmp_path):
    done = script("scripts/evaluate.py", tmp_path / "a.conllu", "-")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(f"error: {tmp_path}/a.conllu: there is no such file")


def test_heads_that_are_not_known_do_not_count(tmp_path):
    """Nor do system words aligned with such words; LAS counts where the relation is known, too."""
    columns = [("2", "a"), ("0", "root"), ("_", "_"), ("2", "_"), ("2", "b")]
    gold = (
        "".join(
            f"{i}\tw\t_\tX\t_\t_\t{head}\t{deprel}\t_\t_\n"
            for i, (head, deprel) in enumerate(columns, 1)
        )
        + "\n"
    )
    system = (
        "".join(f"{i}\tw\t_\tX\t_\t_\t{head}\tb\t_\t_\n" for i, head in enumerate("20121", 1))
        + "\n"
    )
    paths = written(tmp_path, gold, system)
    scores = evaluate_files(*paths)
    assert (scores["uas"].correct, scores["uas"].gold, scores["uas"].system) == (3, 4, 4)
    assert (scores["las"].correct, scores["las"].gold, scores["las"].system) == (0, 3, 3)
    assert scores["words"].gold == 5
    assert "of 5 gold heads 4 are known" in as_table(scores)
    with pytest.raises(ConlluError, match="the head '_' is not a number"):
        evaluate_files(paths[1], paths[0])
    paths[0].write_text(gold.replace("\t2\t", "\t_\t").replace("\t0\t", "\t_\t"), encoding="utf-8")
    with pytest.raises(ConlluError, match="no head is known"):
        evaluate_files(*paths)


def test_columns_without_gold_values_are_marked(tmp_path):
    """The figure stays the official one: any lemma is right, and no feature."""
    columns = {"upos": 3, "xpos": 4, "ufeats": 5, "lemmas": 2}
    system = (
        "".join(
            f"{i}\tw\tl\tX\tY\tCase=Nom\t{head}\tdep\t_\t_\n" for i, head in enumerate("201", 1)
        )
        + "\n"
    )
    for kept in ("", "upos", "xpos", "ufeats", "lemmas"):
        rows = [row.split("\t") for row in system.split("\n")]
        for row in rows[:-2]:
            for name in columns.keys() - {kept}:
                row[columns[name]] = "_"
        paths = written(tmp_path, "\n".join("\t".join(row) for row in rows), system)
        scores = evaluate_files(*paths)
        bare = columns.keys() - {kept} | ({"alltags"} if kept in ("", "lemmas") else set())
        assert {key for key, score in scores.items() if not score.has_gold} == bare
        assert (scores["lemmas"].f1, scores["ufeats"].f1) == (100.0, 100.0 * (kept == "ufeats"))
        lines = [
            line for line in as_table(scores).splitlines() if line.endswith("  no gold values")
        ]
        assert {line.split()[0].lower() for line in lines} == bare
        found = json.loads(as_json(scores))
        assert found["lemmas"] == 100.0
        assert {
            key for key, details in found["details"].items() if details.get("no_gold_values")
        } == bare


def test_relations_that_are_not_known_do_not_count(tmp_path):
    """As in training; where no word counts, nothing is said to be measured."""
    whole = (
        "".join(f"{i}\tw\t_\tX\t_\t_\t{head}\tdep\t_\t_\n" for i, head in enumerate("20222", 1))
        + "\n"
    )
    paths = written(tmp_path, whole.replace("\tdep\t", "\t_\t"), whole)
    scores = evaluate_files(*paths)
    assert (scores["uas"].gold, scores["las"].gold, scores["clas"].system) == (5, 0, 0)
    assert re.search(r"\nLAS \(official\) +- +- +-\n", as_table(scores))
    found = json.loads(as_json(scores))
    assert (found["uas"], found["las"], found["blex"]) == (100.0, None, None)
    for hidden in (whole.replace("\t0\tdep", "\t0\t_"), whole.replace("\t0\tdep", "\t_\tdep")):
        paths[0].write_text(hidden, encoding="utf-8")
        scores = evaluate_files(*paths)
        assert (scores["las"].gold, scores["las"].f1, scores["clas"].f1) == (4, 100.0, 100.0)
        with pytest.raises(ConlluError, match="omit --by and --confusion"):
            compare(*paths)


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        ([], []),
        ([0], []),
        ([2, 0, 2], []),
        ([3, 4, 0, 3], [2]),  # 3 lies between 4 and 2, and is above 4
        ([0, 4, 1, 1], [2]),  # 3 lies between 4 and 2, and hangs on 1
        ([3, 0, 2], [1]),  # 2 lies between 3 and 1
        ([2, 0, 0], []),  # several children of the root
        ([3, 3, 0, 2], [4]),
    ],
)
def test_nonprojective_edges_by_hand(heads, expected):
    assert nonprojective_edges(heads) == expected


def test_a_tree_is_projective_if_it_has_no_nonprojective_edge():
    rng = random.Random(1)
    trees = [random_mildly_nonprojective_tree(rng, rng.randint(1, 12)) for _ in range(300)]
    projective = Trees.from_heads(trees).projective.tolist()
    assert {True, False} == set(projective)
    assert [not nonprojective_edges(heads) for heads in trees] == projective


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> tuple[Path, Path, list[Sentence], list[Sentence]]:
    rng = random.Random(5)
    gold = [sentence(random_heads(rng, rng.randrange(1, 13)), rng) for _ in range(40)]
    system = []
    for s in gold:
        heads = s.heads if rng.random() < 0.5 else random_heads(rng, len(s))
        deprels = [
            "root" if h == 0 else rng.choice([d, "obj", "flat"])
            for h, d in zip(heads, s.deprels, strict=True)
        ]
        system.append(Sentence(s.forms, s.lemmas, s.upos, s.xpos, s.feats, heads, deprels, s.where))
    folder = tmp_path_factory.mktemp("files")
    return (
        write_conllu(folder / "gold.conllu", gold),
        write_conllu(folder / "system.conllu", system),
        gold,
        system,
    )


def group_by_hand(what: str, s: Sentence, i: int) -> str:
    """Return the group of word i, from 0, said again."""
    if what == "relation":
        return s.deprels[i]
    if what == "length":
        return "1-10" if len(s) <= 10 else "11-20"
    if what == "distance":
        distance = abs(s.heads[i] - i - 1)
        return "root" if s.heads[i] == 0 else str(distance) if distance < 7 else "7 or more"
    if what == "depth":
        depth, at = 1, s.heads[i]
        while at:
            depth, at = depth + 1, s.heads[at - 1]
        return str(depth) if depth < 7 else "7 or more"
    head, ends = s.heads[i], sorted((s.heads[i], i + 1))
    below = {head}
    while more := {k for k, h in enumerate(s.heads, 1) if h in below} - below:
        below |= more
    return "projective" if head == 0 or below >= set(range(ends[0], ends[1])) else "not projective"


@pytest.mark.parametrize("what", GROUPINGS)
def test_groups_are_those_of_plain_counting(files, what):
    gold_file, system_file, gold, system = files
    found = compare(gold_file, system_file).by(what)
    words = [(g, s, i) for g, s in zip(gold, system, strict=True) for i in range(len(g))]
    for name, score in found.items():
        of_gold = [(g, s, i) for g, s, i in words if group_by_hand(what, g, i) == name]
        assert score.gold == len(of_gold), name
        assert score.system == sum(group_by_hand(what, s, i) == name for _, s, i in words), name
        assert score.correct == sum(
            g.heads[i] == s.heads[i] and g.deprels[i] == s.deprels[i] for g, s, i in of_gold
        ), name
    las = evaluate_files(gold_file, system_file)["las"]
    for key in ("correct", "gold", "system"):
        assert sum(getattr(score, key) for score in found.values()) == getattr(las, key)


def test_counts_confusion_and_worst_sentences(files):
    gold_file, system_file, gold, system = files
    found, scores = compare(gold_file, system_file), evaluate_files(gold_file, system_file)
    assert f1(found.las_counts().sum(axis=0)) == pytest.approx(scores["las"].f1)
    assert f1(found.uas_counts().sum(axis=0)) == pytest.approx(scores["uas"].f1)
    pairs = [
        (a, b)
        for g, s in zip(gold, system, strict=True)
        for a, b in zip(g.deprels, s.deprels, strict=True)
    ]
    assert found.confusion() == {pair: pairs.count(pair) for pair in set(pairs)}
    wrong = [
        sum(
            (h, d) != (i, e)
            for h, d, i, e in zip(g.heads, g.deprels, s.heads, s.deprels, strict=True)
        )
        for g, s in zip(gold, system, strict=True)
    ]
    assert [wrong[s] for s in found.worst(5)] == sorted(wrong, reverse=True)[:5]
    assert compare(gold_file, gold_file).worst(5) == []


def test_intervals_and_the_test_of_two_systems():
    rng = np.random.default_rng(0)
    words = rng.integers(5, 30, 200)
    good, bad = rng.binomial(words, 0.9), rng.binomial(words, 0.8)
    one, other = (np.stack([right, words, words], axis=1) for right in (good, bad))
    low, high = interval(one)
    assert low < f1(one.sum(axis=0)) < high
    assert high - low < 4
    assert randomization_test(one, other) < 0.001
    assert randomization_test(one, one) == 1
    # the same system on other sentences: no difference in truth
    shuffled = one[rng.permutation(len(one))]
    shuffled[:, 1:] = one[:, 1:]
    assert randomization_test(one, shuffled) > 0.9


def test_the_command(files, tmp_path, capsys):
    gold, system, _, _ = files
    main([str(gold), str(system), "--by", "relation,distance", "--confusion"])
    printed = capsys.readouterr().out
    assert "LAS by relation" in printed
    assert "7 or more" in printed
    assert "gold                 system" in printed
    with pytest.raises(SystemExit):
        main([str(gold), str(system), "--by", "colour"])
    assert "colour unknown; known: relation, length" in capsys.readouterr().err
    other = write_conllu(tmp_path / "other.conllu", files[2][1:])
    with pytest.raises(ConlluError, match="not that of the gold file"):
        compare(gold, other)
