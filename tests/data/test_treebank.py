"""Gold data: what is read, what is left out, and what every kind of bad input is told."""

import bz2
import gzip
import lzma
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parser.conllu.checks import LineError, check_tree
from parser.data.treebank import Treebank, TreebankError, read_treebank
from tests.toy import real_treebank

PLAIN = """\
# newdoc id = d
# sent_id = first
# text = Aux two words
1-2\tAux\t_\t_\t_\t_\t_\t_\t_\t_
1\tà\tà\tADP\tE\t_\t3\tcase\t_\t_
2\tles\tle\tDET\tDA\tDefinite=Def|Number=Plur\t3\tdet\t_\t_
2.1\tnothing\tnothing\tX\t_\t_\t_\t_\t3:dep\t_
3\ttwo  words\ttwo  word\tNOUN\tS\tOdd=a=b\t0\troot\t0:root\tGloss=a=b|SpaceAfter=No

# sent_id = second
1\t#\t#\tSYM\t_\t_\t0\troot\t_\t_

"""


def written(folder: Path, content: str | bytes, name: str = "file.conllu") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def assert_plain(treebank: Treebank) -> None:
    first, second = treebank
    assert first.forms == ["à", "les", "two  words"]
    assert first.lemmas == ["à", "le", "two  word"]
    assert first.upos == ["ADP", "DET", "NOUN"]
    assert first.xpos == ["E", "DA", "S"]
    assert first.feats == ["_", "Definite=Def|Number=Plur", "Odd=a=b"]
    assert first.heads == [3, 3, 0]
    assert first.deprels == ["case", "det", "root"]
    assert second.forms == ["#"]
    assert len(first) == 3
    assert (
        len(treebank),
        treebank.n_words,
        treebank.n_multiword_tokens,
        treebank.n_empty_nodes,
    ) == (2, 4, 1, 1)


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        PLAIN.replace("\n", "\r\n"),
        "\ufeff" + PLAIN,
        PLAIN.rstrip("\n"),
        PLAIN.replace("\n", "\r\n").rstrip("\r\n"),
        "\n\n" + PLAIN.replace("\n\n", "\n\n \n\n"),
        PLAIN + "# the end\n",
        "# a\n\n" + PLAIN,
    ],
)
def test_the_same_is_read_however_it_is_written(tmp_path, content):
    assert_plain(read_treebank(written(tmp_path, content)))


@pytest.mark.parametrize(("package", "ending"), [(gzip, "gz"), (lzma, "xz"), (bz2, "bz2")])
def test_compressed_files_by_name(tmp_path, package, ending):
    assert_plain(
        read_treebank(written(tmp_path, package.compress(PLAIN.encode()), f"file.conllu.{ending}"))
    )


def test_where_and_report(tmp_path):
    treebank = read_treebank(written(tmp_path, PLAIN))
    assert re.fullmatch(
        r".*file\.conllu, line 10, sentence 2 \(sent_id second\)", treebank[1].where
    )
    assert treebank.summary == {
        "sentences": 2,
        "words": 4,
        "nonprojective_percent": 0.0,
        "multiword_tokens_skipped": 1,
        "empty_nodes_skipped": 1,
        "sentences_skipped": 0,
    }
    assert (
        "2 sentences, 4 words, 0.0% non-projective trees (skipped: 1 multiword token, 1 empty node)"
        in str(treebank)
    )


def test_trees_are_packed_for_the_oracles(tmp_path):
    treebank = read_treebank(written(tmp_path, PLAIN + with_heads(3, 4, 0, 3)))
    assert [treebank.trees[s] for s in range(3)] == [[3, 3, 0], [0], [3, 4, 0, 3]]
    assert treebank.nonprojective_percent == pytest.approx(100 / 3)


WORDS = "1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n2\tb\tb\tX\t_\t_\t1\tdep\t_\t_\n"
SECOND_WORD = WORDS.splitlines(keepends=True)[1]
THIRD_WORD = SECOND_WORD.replace("2\tb", "3\tc")


def with_heads(*heads: object) -> str:
    return "".join(f"{i}\ta\ta\tX\t_\t_\t{head}\tdep\t_\t_\n" for i, head in enumerate(heads, 1))


def without_columns(identifier: str) -> str:
    return f"{identifier}\tab" + 8 * "\t_" + "\n"


LONG, SHOWN = "9" * 5000, "9" * 60  # Python converts no number of more than 4,300 digits.

# Sentences behind two comments, the lines of their faults, and what is said of them.
BAD_SENTENCES = [
    (
        WORDS.replace("\t_\t_\n", "\t_\n"),
        3,
        "9 columns where CoNLL-U has 10; separate the columns by tabs",
    ),
    (WORDS.replace(SECOND_WORD, SECOND_WORD[:-1] + "\t_\n"), 4, "11 columns"),
    (WORDS.replace("\t_\n", "\t_\t\n"), 3, "11 columns"),
    (WORDS.replace("\t", "    "), 3, "1 column where CoNLL-U has 10: they are separated by spaces"),
    ("All happy families are alike.\n", 3, "1 column"),
    (WORDS + "word\n", 5, "1 column"),
    (" #\n" + WORDS, 3, "1 column"),
    ("\r" + WORDS, 3, r"'\r1' is not an id"),
    (with_heads(0, LONG), 4, f"the head {SHOWN}... (5,000 characters) is outside 0..2"),
    (LONG + WORDS[1:], 3, f"word {SHOWN}... (5,000 characters) where word 1"),
    (
        without_columns(f"1-{LONG}") + WORDS,
        3,
        f"multiword token 1-{SHOWN[2:]}... (5,002 characters) ends after the last word",
    ),
    (
        WORDS + without_columns(f"{LONG}.1"),
        5,
        f"empty node {SHOWN}... (5,002 characters) after word 2",
    ),
    (WORDS.replace("2\tb", "x" * 2**20 + "\tb"), 4, f"'{'x' * 60}... (1,048,576 characters)' is"),
    (
        with_heads(0, "x" * 2**20),
        4,
        f"the head '{'x' * 60}... (1,048,576 characters)' is not a number",
    ),
    (WORDS.replace("2\tb", "3\tb"), 4, "word 3 where word 2 is expected; number the words 1, 2, 3"),
    (WORDS + SECOND_WORD, 5, "word 2 where word 3"),
    (WORDS.replace("1\ta\ta", "0\ta\ta"), 3, "word 0 where word 1"),
    (
        WORDS.replace("2\tb", "b\tb"),
        4,
        "'b' is not an id; write 1 for a word, 1-2 for a multiword token, 1.1 for an empty",
    ),
    (WORDS.replace("2\tb", "٢\tb"), 4, "is not an id"),
    (WORDS + without_columns("1-2"), 5, "multiword token 1-2 before word 3; put its line before"),
    (without_columns("1-0") + WORDS, 3, "multiword token 1-0 ends before it begins"),
    (without_columns("1-3") + WORDS, 3, "multiword token 1-3 ends after the last word"),
    (
        without_columns("1-2")
        + WORDS.replace(SECOND_WORD, without_columns("2-3") + SECOND_WORD)
        + THIRD_WORD,
        5,
        "multiword token 2-3 overlaps",
    ),
    (without_columns("1.1") + WORDS, 3, "empty node 1.1 after word 0; its place is after"),
    (without_columns("0.1"), 3, "a sentence without words"),
    (with_heads(0, 3), 4, "the head 3 is outside 0..2"),
    (with_heads(0, 3).replace("2\ta", "# b\n2\ta"), 5, "the head 3 is outside"),
    (without_columns("1-2") + with_heads(0, 3), 5, "the head 3 is outside"),
    (with_heads(0, -1), 4, "the head '-1' is not a number"),
    (
        with_heads(0, "_"),
        4,
        "the head '_' is not a number; write the id of a word, or 0 for the root",
    ),
    (with_heads(0, "1.0"), 4, "the head '1.0' is not a number"),
    (with_heads(0, "1_0"), 4, "the head '1_0' is not a number"),  # int() would take it
    (with_heads(0, 2), 4, "a cycle: the heads lead from 2 -> 2; attach"),
    (with_heads(0, 4, 2, 3, 2), 4, "a cycle: the heads lead from 2 -> 4 -> 3 -> 2"),
    (with_heads(2, 1), 3, "no root: no word has head 0; give the root of the sentence head 0"),
    (
        with_heads(2, 0, 0),
        5,
        "several roots: the words 2, 3 have head 0; give all but one of them another head",
    ),
]


@pytest.mark.parametrize(("text", "line", "message"), BAD_SENTENCES, ids=range(len(BAD_SENTENCES)))
def test_bad_sentences_are_named_with_their_line_and_mend(tmp_path, text, line, message):
    path = written(tmp_path, "# sent_id = bad\n# other comment\n" + text)
    with pytest.raises(TreebankError) as raised:
        read_treebank(path)
    assert re.match(
        rf"{re.escape(str(path))}, line {line}, sentence 1( \(sent_id bad\))?: ", str(raised.value)
    ), raised.value
    assert message in str(raised.value)

    # The same after another sentence, without comments: other numbers.
    with pytest.raises(TreebankError, match=rf", line {line + 2}, sentence 2: "):
        read_treebank(written(tmp_path, WORDS + "\n\n" + text))


def test_values_are_as_they_are_written(tmp_path):
    """Long ones are cut in messages alone."""
    (read,) = read_treebank(written(tmp_path, WORDS.replace("\ta\ta\t", "\t a \ta  \t")))
    assert (read.forms, read.lemmas) == ([" a ", "b"], ["a  ", "b"])
    # a last column may be empty
    (read,) = read_treebank(written(tmp_path, WORDS.replace("\t_\n", "\t\n")))
    assert (read.forms, read.lemmas) == (["a", "b"], ["a", "b"])
    (read,) = read_treebank(written(tmp_path, with_heads(0, "0" * 5000 + "1")))
    assert read.heads == [0, 1]
    with pytest.raises(TreebankError, match=rf"\(sent_id {'s' * 60}\.\.\. \(10,000 characters\)\)"):
        read_treebank(written(tmp_path, f"# sent_id = {'s' * 10_000}\n" + with_heads(1)))


NOT_NUMBERED = WORDS.replace("2\tb", "x\tb")
FAULTY = "\n".join(
    [
        WORDS,
        with_heads(0, 0),
        WORDS,
        with_heads(0, "_"),
        NOT_NUMBERED,
        WORDS + WORDS,
        without_columns("0.1"),
    ]
)


def test_all_faults_are_told(tmp_path):
    path = written(tmp_path, FAULTY)
    with pytest.raises(TreebankError) as raised:
        read_treebank(path)
    *faults, summary = str(raised.value).splitlines()
    assert [
        re.sub(r".*, line (\d+), sentence (\d+): ", r"\1 \2 ", fault)[:20] for fault in faults
    ] == [
        "5 2 several roots: t",
        "11 4 the head '_' is",
        "14 5 'x' is not an i",
        "18 6 word 1 where wo",
        "21 7 a sentence with",
    ]
    assert re.match(r"5 faults; .*treebank\.on_error=skip", summary)
    many = written(tmp_path, "\n".join([with_heads(0, 0)] * 70))
    with pytest.raises(
        TreebankError,
        match=r"line 59, sentence 20: .*\n70 faults, of which these are the first 20; ",
    ):
        read_treebank(many)


def test_faulty_sentences_can_be_left_out(tmp_path):
    treebank = read_treebank(written(tmp_path, FAULTY), skip=True)
    assert [len(sentence) for sentence in treebank] == [2] * 2
    assert (treebank.n_left_out, len(treebank.faults)) == (5, 5)
    assert treebank.summary["sentences_skipped"] == 5
    assert ", 5 faulty sentences)" in str(treebank)
    assert [fault.kind for fault in treebank.faults] == [
        "several roots",
        "the head ... is not a number",
        "... is not an id",
        "word ... where word ... is expected",
        "a sentence without words",
    ]
    # no sentence is left, or what follows cannot be read
    for content in (with_heads(0, 0), FAULTY.encode() + b"\n\xff\n"):
        with pytest.raises(TreebankError, match=r"several roots"):
            read_treebank(written(tmp_path, content), skip=True)


def test_what_is_odd_is_counted(tmp_path):
    assert read_treebank(written(tmp_path, PLAIN)).oddities() == ""
    one = WORDS.replace("\ta\ta", "\t\ta").replace("root", "dep").replace("1\tdep", "1\t_")
    others = WORDS.replace("1\tdep", "1\troot"), WORDS.replace("dep", "_")
    treebank = read_treebank(written(tmp_path, "\n".join([WORDS, one, *others])))
    assert treebank.oddities() == (
        "FORM is empty in 1 word (the first in line 4, sentence 2); "
        "DEPREL is empty in 2 words (the first in line 4, sentence 2); "
        "DEPREL of the root is not root in 1 word (the first in line 4, sentence 2); "
        "DEPREL is root, and HEAD is not 0 in 1 word (the first in line 7, sentence 3)"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "there is no sentence in this file"),
        (b"\n\r\n \n", "there is no sentence in this file"),
        (b"# text = a\n\n# text = b\n", "there is no sentence in this file"),
        (bytes(range(32)) * 10, "a NUL byte, so this is not text"),
        (WORDS.encode() + b"\n" + "1\tß\n".encode("latin-1"), ", line 4: this is not UTF-8"),
        (WORDS.encode() + b"\t" * 9 + b"\n", ", line 3, sentence 1: '' is not an id"),
    ],
)
def test_bad_files(tmp_path, content, message):
    path = written(tmp_path, content)
    with pytest.raises(TreebankError, match=f"^{re.escape(str(path))}.*{message}"):
        read_treebank(path)


def test_files_that_cannot_be_opened(tmp_path):
    for path, message in (
        (tmp_path / "missing.conllu", r"missing\.conllu: there is no such file"),
        (tmp_path, "is a folder"),
    ):
        with pytest.raises(TreebankError, match=message):
            read_treebank(path)
    for name, content in (
        ("plain.conllu.gz", PLAIN.encode()),
        ("short.conllu.gz", gzip.compress(PLAIN.encode() * 100)[:-30]),
        ("plain.conllu.xz", PLAIN.encode()),
        ("short.conllu.xz", lzma.compress(PLAIN.encode() * 100)[:-30]),
    ):
        with pytest.raises(TreebankError, match=rf"{name}: it cannot be uncompressed"):
            read_treebank(written(tmp_path, content, name))


@given(st.integers(1, 7).flatmap(lambda n: st.lists(st.integers(0, n), min_size=n, max_size=n)))
def test_trees_are_told_from_other_heads_as_by_following_heads_from_every_word(heads):
    def reaches_root(word: int) -> bool:
        for _ in heads:
            word = heads[word - 1] if word else 0
        return word == 0

    is_tree = all(reaches_root(word) for word in range(1, len(heads) + 1))
    for several_roots in (False, True):
        expected = is_tree and (several_roots or heads.count(0) == 1)
        try:
            check_tree(heads, several_roots)
        except LineError:
            assert not expected
        else:
            assert expected


# Words of the training parts and percentage of non-projective trees as Nederhof (2019),
# Table 7, has them.
@pytest.mark.parametrize(
    ("name", "words", "nonprojective"),
    [
        ("UD_Hungarian-Szeged/hu_szeged-ud-train.conllu", 20166, 26),
        ("UD_Gothic-PROIEL/got_proiel-ud-train.conllu", 35024, 22),
        ("UD_Old_Church_Slavonic-PROIEL/cu_proiel-ud-train.conllu", 37432, 20),
        ("UD_Greek-GDT/el_gdt-ud-train.conllu", 42326, 12),
    ],
)
def test_real_treebanks_have_the_published_size(name, words, nonprojective):
    treebank = read_treebank(real_treebank(name))
    assert treebank.n_words == words
    assert round(treebank.nonprojective_percent) == nonprojective
    assert int(np.sum(treebank.trees.lengths)) == words
