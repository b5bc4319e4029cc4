"""The command draw."""

from __future__ import annotations

import pytest

from parser.commands.draw import main
from parser.conllu.checks import ConlluError
from parser.data.treebank import read_treebank
from tests.toy import ROOT, write_conllu

GOLD = ROOT / "data" / "sample" / "sample-ud-test.conllu"


def test_one_sentence_in_the_terminal(capsys):
    main([str(GOLD), "--sentence", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("# sentence 2")
    assert len(lines) == 2 + len(read_treebank(GOLD)[1])


def test_formats_by_name(tmp_path):
    for name, start in (("a.svg", "<svg"), ("a.html", "<!DOCTYPE html>"), ("a.text", "# sentence 1")):
        main([str(GOLD), "-o", str(tmp_path / name)])
        assert (tmp_path / name).read_text().startswith(start)
    assert (tmp_path / "a.html").read_text().count("<svg") == len(read_treebank(GOLD))


def test_what_is_wrong_alone(tmp_path, capsys):
    sentences = read_treebank(GOLD).sentences[:3]
    gold = write_conllu(tmp_path / "gold.conllu", sentences)
    sentences[1].deprels[0] = "wrong"
    ours = write_conllu(tmp_path / "ours.conllu", sentences)
    main([str(ours), "--gold", str(gold), "--wrong"])
    drawn = capsys.readouterr().out
    assert drawn.count("# sentence") == 1
    assert "# sentence 2" in drawn
    assert "<- gold: " in drawn
    main([str(ours), "--gold", str(gold), "--wrong", "--sentence", "1"])
    assert capsys.readouterr().out == ""


def test_a_name_that_promises_another_format_is_refused(tmp_path):
    for name in ("tree.png", "tree.PDF", "tree.jpg.gz"):
        with pytest.raises(ValueError, match=rf"{name}: .*\.svg"):
            main([str(GOLD), "-o", str(tmp_path / name)])
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_drawn(tmp_path):
    other = write_conllu(tmp_path / "other.conllu", read_treebank(GOLD).sentences[1:])
    with pytest.raises(ConlluError, match="differ in their words here"):
        main([str(other), "--gold", str(GOLD)])
    (tmp_path / "none.conllu").write_text("# nothing\n\n")
    with pytest.raises(ValueError, match=r"none\.conllu: there is no sentence in this file"):
        main([str(tmp_path / "none.conllu"), "-o", str(tmp_path / "none.svg")])
    assert not (tmp_path / "none.svg").exists()
    with pytest.raises(ValueError, match="there is no sentence 1000"):
        main([str(GOLD), "--sentence", "1000"])
    with pytest.raises(ValueError, match=r"dev\.conllul\.bz2: lattices"):
        main(["dev.conllul.bz2"])
