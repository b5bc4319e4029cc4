"""Sentences as Stanza's dicts: what is expected is CoNLL.conll2doc(...).to_dict() of Stanza 1.15,
with lists for tuples.
"""

import json
from io import BytesIO

import pytest

from parser.conllu.dicts import as_json, conllu_as_json, dicts_of, sentence_dicts
from parser.conllu.stream import read_raw_sentences, without_multiwords

# A word with everything, a multiword token, empty nodes at the beginning and after words,
# underscores, odd values.
LINES = """# sent_id = x
0.1\tnothing\t_\t_\t_\t_\t_\t_\t0:root\tA=b
1-2\tdu\t_\t_\t_\tTypo=Yes\t_\t_\t_\tSpaceAfter=No
1\tde\tde\tADP\tP\t_\t3\tcase\t_\t_
2\tle\tle\tDET\t_\tCase=Nom|Number=Sing\t3\tdet\t3:det|4:x\tX=1|Y=2
2.1\tcopy\tcopy\tVERB\t_\t_\t_\t_\t3:conj\t_
3\t_\t_\tX\t_\t_\t0\troot\t_\t_
4\ta b\t_\t_\t_\t_\t_\t_\t_\t_
"""
DICTS = [
    {"id": [0, 1], "text": "nothing", "deps": "0:root", "misc": "A=b"},
    {"id": [1, 2], "text": "du", "misc": "SpaceAfter=No"},
    {"id": 1, "text": "de", "lemma": "de", "upos": "ADP", "xpos": "P", "head": 3, "deprel": "case"},
    {
        **{
            "id": 2,
            "text": "le",
            "lemma": "le",
            "upos": "DET",
            "feats": "Case=Nom|Number=Sing",
            "head": 3,
            "deprel": "det",
        },
        **{"deps": "3:det|4:x", "misc": "X=1|Y=2"},
    },
    {"id": [2, 1], "text": "copy", "lemma": "copy", "upos": "VERB", "deps": "3:conj"},
    {"id": 3, "text": "_", "lemma": "_", "upos": "X", "head": 0, "deprel": "root"},
    {"id": 4, "text": "a b"},
]


def dicts(lines: str, **options) -> list[dict]:
    [sentence] = read_raw_sentences(BytesIO(lines.encode()))
    return sentence_dicts(sentence, **options)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_keys_are_those_of_stanza(end):
    found = dicts(LINES.replace("\n", end))
    assert found == DICTS
    assert [list(one) for one in found] == [list(one) for one in DICTS]  # in its order
    assert dicts(LINES, words_only=True) == [one for one in DICTS if one["id"] != [1, 2]]


ROW = "{}\t{}\t_\t_\t_\t_\t_\t_\t_\t{}\n"


@pytest.mark.parametrize(
    ("token", "words", "places"),
    [
        ("don't", ["do", "n't"], [(7, 9), (9, 12)]),
        ("a  b", ["a", "b"], [(7, 8), (10, 11)]),
        ("du", ["de", "le"], [None, None]),
        ("Don't", ["do", "n't"], [None, None]),
        ("a.", ["a", "."], [(7, 8), (8, 9)]),
        ("ab", ["a.", "b"], [None, None]),
        ("du", ["de"], [(7, 9)]),
    ],
)
@pytest.mark.parametrize("misc", ["X=1|TokenRange={}:{}|Y=2", "X=1|start_char={}|end_char={}|Y=2"])
def test_words_of_a_token_have_places_if_they_are_its_parts(token, words, places, misc):
    start, end = 7, 7 + len(token)
    lines = ROW.format(f"1-{len(words)}", token, misc.format(start, end))
    lines += "".join(ROW.format(number, word, "_") for number, word in enumerate(words, 1))
    lines += ROW.format(len(words) + 1, "c", misc.format(end, end + 1))
    first, *own, last = dicts(lines)
    assert (first["start_char"], first["end_char"], first["misc"]) == (start, end, "X=1|Y=2")
    assert (last["start_char"], last["end_char"], last["misc"]) == (end, end + 1, "X=1|Y=2")
    assert [
        (one["start_char"], one["end_char"]) if "start_char" in one else None for one in own
    ] == places
    rows = [
        [identifier, form, *"_" * 8]
        for identifier, form in [(f"1-{len(words)}", token), *enumerate(words, 1)]
    ]
    given = dicts_of([[str(one) for one in row] for row in rows], [(start, end)])
    assert [one.get("start_char") for one in given] == [
        start,
        *(place and place[0] for place in places),
    ]


@pytest.mark.parametrize(
    "misc",
    ["TokenRange=3", "TokenRange=a:b", "start_char=3", "end_char=3", "x_start_char=1|end_char=2"],
)
def test_what_is_no_place_stays_in_misc(misc):
    assert dicts(ROW.format(1, "a", misc)) == [{"id": 1, "text": "a", "misc": misc}]


def test_a_head_that_is_no_number_stays():
    assert dicts("1\ta\t_\t_\t_\t_\tx\t_\t_\t_\n") == [{"id": 1, "text": "a", "head": "x"}]


def test_each_sentence_is_a_line_of_unicode():
    odd = 'a\x85\u2028\u2029\x1e"\\é🎉'
    content = "\ufeff# only\n\n" + ROW.format(1, odd, "_") + "\n" + ROW.format(1, "b", "_")
    found = conllu_as_json(
        content.encode() + ROW.format(2, "c", "_").encode().replace(b"c", b"c\xe9")
    ).decode()
    assert len(found.splitlines()) == found.count("\n") == 2
    assert "é🎉" in found
    assert [[one["text"] for one in json.loads(line)] for line in found.splitlines()] == [
        [odd],
        ["b", "c\ufffd"],
    ]
    assert conllu_as_json(b"") == b""
    assert as_json([]) == "[]"


def test_a_byte_order_mark_is_of_the_file_and_not_of_a_later_part():
    line = ROW.format("\ufeff1", "a", "_").encode()
    assert json.loads(conllu_as_json(line)) == [{"id": 1, "text": "a"}]
    with pytest.raises(ValueError, match="line 2"):
        conllu_as_json(line, first=False)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_lines_of_multiword_tokens_are_left_out(mark):
    lines = LINES[LINES.index("1-2") :].replace("_\n", "_\r\n")
    comment = "# 1-2\tdu\n"
    found = without_multiwords(f"{mark}{lines}\n{comment}{lines}".encode()).decode()
    kept = "".join(line for line in lines.splitlines(keepends=True) if not line.startswith("1-2"))
    assert found == f"{mark}{kept}\n{comment}{kept}"
