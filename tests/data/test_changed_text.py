"""Treebanks as people also write: words and multiword tokens change alike,
and the text stays that of the tokens.
"""

import pytest

from parser.conllu.stream import read_sentences
from parser.data.changed_text import (
    changed_lines,
    decomposed,
    in_capitals,
    in_lower_case,
    other_quotes,
    typographic,
)
from parser.evaluation import evaluate_files
from parser.text.tokens import read_paragraphs, text_of

# A multiword token, an empty node, and letters that become longer: ß in capitals,
# İ in lower case, é in NFD.
LINES = """# text = Zum "Café"  Straße's İ.
1-2\tZum\t_\t_\t_\t_\t_\t_\t_\t_
1\tZu\tzu\tADP\t_\t_\t4\tcase\t_\t_
2\tdem\tder\tDET\t_\t_\t4\tdet\t_\t_
3\t"\t"\tPUNCT\t_\t_\t4\tpunct\t_\tSpaceAfter=No
4\tCafé\tCafé\tNOUN\t_\t_\t0\troot\t_\tSpaceAfter=No
4.1\tleer\t_\tVERB\t_\t_\t_\t_\t4:dep\t_
5\t"\t"\tPUNCT\t_\t_\t4\tpunct\t_\t_
6\tStraße's\tStraße\tNOUN\t_\t_\t4\tdep\t_\t_
7\tİ\ti\tX\t_\t_\t4\tdep\t_\tSpaceAfter=No
8\t.\t.\tPUNCT\t_\t_\t4\tpunct\t_\t_

"""
TEXTS = {
    in_capitals: 'ZUM "CAFÉ" STRASSE\'S İ.',
    in_lower_case: 'zum "café" straße\'s i\u0307.',
    typographic: "Zum \u201cCafé\u201d Straße\u2019s İ.",
    decomposed: 'Zum "Cafe\u0301" Straße\'s I\u0307.',
}


@pytest.mark.parametrize("change", TEXTS)
def test_words_and_text_change_alike(change, tmp_path):
    gold, changed = tmp_path / "gold.conllu", tmp_path / "changed.conllu"
    gold.write_text(LINES, encoding="utf-8")
    (sentence,) = read_sentences(gold)
    changed.write_text("".join(changed_lines(sentence, change)), encoding="utf-8")
    ((tokens,),) = read_paragraphs(changed)
    assert text_of(tokens) == TEXTS[change]
    assert tokens[0].words == tuple(change(["Zu", "dem"])), "words of a multiword token change"
    (again,) = read_sentences(changed)
    assert again.column(2) == sentence.column(2), "lemmas stay"
    assert not any(line.startswith("# text") for line in again.lines)
    assert [line.split("\t")[:2] for line in again.lines if line.startswith("4.1")] == [
        ["4.1", "leer"]
    ]
    scores = evaluate_files(changed, changed)
    assert scores["words"].f1 == scores["las"].f1 == 100


def test_quotes_open_and_close_across_tokens():
    assert typographic(['"', "a", '"', '""']) == ["\u201c", "a", "\u201d", "\u201c\u201d"]
    assert typographic(["\u2019", "'"]) == ["\u2019", "\u2019"], "typographic ones stay"
    assert other_quotes(["\u2019", "'"]) == ["'", "'"]
