"""What is wrong with files of trees, all of it at once."""

from __future__ import annotations

import re
import sys

import pytest

from parser.commands.check import main
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
    assert re.search(r"\n +2  several roots\n +1  word \.\.\. where word", found)


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
    with pytest.raises(ValueError, match=r"^udtools is not installed, which --level needs: pip install udtools"):
        main([str(SAMPLE), "--level", "1"])
