"""What is wrong with files of trees, all of it at once."""

from __future__ import annotations

import re
import sys

import pytest

from parser.commands.check import main
from parser.data.treebank import TreebankError, read_treebank
from tests.toy import ROOT

SAMPLE = ROOT / "data" / "sample" / "sample-ud-dev.conllu"
TWO_ROOTS = "1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n2\tb\tb\tX\t_\t_\t0\troot\t_\t_\n\n"
GOOD = TWO_ROOTS.replace("0\troot\t_\t_\n\n", "1\tdep\t_\t_\n\n")


def test_faults_of_all_files_and_their_kinds(tmp_path, capsys):
    (tmp_path / "a.conllu").write_text(TWO_ROOTS + GOOD + TWO_ROOTS)
    (tmp_path / "b.conllu").write_text(GOOD.replace("2\tb", "3\tb") + GOOD)
    assert main([str(tmp_path / "a.conllu"), str(tmp_path / "b.conllu"), str(tmp_path / "none.conllu")]) == 1
    found = capsys.readouterr().out
    for place in ("a.conllu, line 2, sentence 1: several roots", "a.conllu, line 8, sentence 3: several roots"):
        assert place in found
    assert "a.conllu: 1 sentence to train on, 2 faults, of which parsing refuses 0; treebank.on_error=skip" in found
    assert "b.conllu: 1 sentence to train on, 1 fault, of which parsing refuses 1;" in found
    assert "none.conllu: there is no such file" in found
    assert "none.conllu: 0 sentences" not in found
    (tmp_path / "empty.conllu").write_text("# nothing\n\n")
    assert main([str(tmp_path / "empty.conllu")]) == 1
    assert "empty.conllu: there is no sentence in this file" in capsys.readouterr().out
    assert re.search(r"\n +2  several roots\n +1  word \.\.\. where word", found)


def test_what_leaves_nothing_to_train_on_is_no_advice(tmp_path, capsys):
    (tmp_path / "a.conllu").write_text(TWO_ROOTS * 2)
    assert main([str(tmp_path / "a.conllu")]) == 1
    assert "0 sentences to train on, 2 faults, of which parsing refuses 0\n" in capsys.readouterr().out
    for skip in (False, True):
        with pytest.raises(TreebankError, match=r"2 faults; optimal-step check FILE lists all$"):
            read_treebank(tmp_path / "a.conllu", skip)


def test_all_faults_of_a_sentence(tmp_path, capsys):
    """But not those that only follow from others."""
    word = "\ta\t_\tX\t_\t_\t{}\tdep\t_\t_\n"
    ids = "".join(identifier + word.format(head) for identifier, head in [("1", 0), ("x", 9), ("3", "y"), ("4", 99), ("z", 1)])
    columns = "1" + word.format(0) + "2 b\n3\tb\n4" + word.format("_")
    heads = "".join(f"{number}{word.format(head)}" for number, head in enumerate([0, "_", 9, 1], 1))
    trees = "".join(f"{number}{word.format(head)}" for number, head in enumerate([0, 0, 4, 3, 6, 5], 1))
    file = tmp_path / "a.conllu"
    file.write_text("\n".join([ids, columns, heads, trees, GOOD]), encoding="utf-8")
    assert main([str(file)]) == 1
    *found, summary = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert [re.sub(r".*, line (\d+), sentence (\d+): (.{12}).*", r"\2 \1 \3", fault) for fault in found] == [
        "1 2 'x' is not a",
        "1 3 the head 'y'",
        "1 4 the head 99 ",
        "1 5 'z' is not a",
        "2 8 1 column whe",
        "2 9 2 columns wh",
        "2 10 the head '_'",
        "3 13 the head '_'",
        "3 14 the head 9 i",
        "4 18 several root",
        "4 19 a cycle: the",
        "4 21 a cycle: the",
    ]
    assert "1 sentence to train on, 12 faults, of which parsing refuses 4; treebank.on_error=skip" in summary
    assert read_treebank(file, skip=True).n_left_out == 4  # sentences, not faults


def test_every_line_in_another_encoding(tmp_path, capsys):
    """The whole file is to be converted, so that no sentence of it can be left out."""
    file = tmp_path / "a.conllu"
    file.write_bytes((GOOD + GOOD.replace("\ta", "\tß") + GOOD.replace("\tb", "\tß") + TWO_ROOTS).encode("latin-1"))
    assert main([str(file)]) == 1
    *found, summary = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert [re.sub(r".*, line (\d+)(, sentence 4)?: ", r"\1 ", fault)[:18] for fault in found] == [
        "4 this is not UTF-",
        "8 this is not UTF-",
        "11 several roots: ",
    ]
    assert "1 sentence to train on, 3 faults, of which parsing refuses 0" in summary
    assert "on_error" not in summary
    with pytest.raises(TreebankError, match=r"line 4: this is not UTF-8(.*\n)*3 faults; optimal-step check FILE lists all$"):
        read_treebank(file, skip=True)


def test_a_file_that_cannot_be_read_has_a_kind_and_no_sentence_to_skip(tmp_path, capsys):
    file = tmp_path / "a_2.conllu"
    file.write_bytes(GOOD.encode("utf-16"))
    assert main([str(file)]) == 1
    found = capsys.readouterr().out
    assert "--on-error" not in found
    assert re.search(r"\n +1  this is UTF-...\n$", found)


def test_nothing_is_wrong_with_the_sample(capsys):
    assert main([str(SAMPLE)]) == 0
    assert capsys.readouterr().out == f"{SAMPLE}: 150 sentences, no fault\n"


def test_the_validator_of_universal_dependencies(tmp_path, capsys):
    file = tmp_path / "a.conllu"
    file.write_text("# sent_id = a\n# text = a b\n" + GOOD.replace("\tX", "\tNUON"))
    assert main([str(file)]) == 0
    capsys.readouterr()
    assert main([str(file), "--level", "2"]) == 1
    found = capsys.readouterr().out
    assert re.search(r"a\.conllu, line 3: error unknown-upos \(level 2\): .*NUON", found)
    assert re.search(r"\n +2  error unknown-upos \(level 2\)", found)
    assert main([str(file), "--level", "1"]) == 0


def test_without_the_validator(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "udtools", None)
    with pytest.raises(ValueError, match=r"^--level needs udtools, which is not installed: pip install udtools"):
        main([str(SAMPLE), "--level", "1"])
