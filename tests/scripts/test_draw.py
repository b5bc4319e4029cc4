"""The command draw."""

from __future__ import annotations

import pytest

from parser.commands import projectivize, trace
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


def test_what_cannot_be_drawn(tmp_path):
    other = write_conllu(tmp_path / "other.conllu", read_treebank(GOLD).sentences[1:])
    with pytest.raises(ConlluError, match="have different words here"):
        main([str(other), "--gold", str(GOLD)])
    (tmp_path / "none.conllu").write_text("# nothing\n\n")
    with pytest.raises(ValueError, match=r"none\.conllu: there is no sentence in this file"):
        main([str(tmp_path / "none.conllu"), "-o", str(tmp_path / "none.svg")])
    assert not (tmp_path / "none.svg").exists()
    with pytest.raises(ValueError, match="there is no sentence 1000"):
        main([str(GOLD), "--sentence", "1000"])
    with pytest.raises(ValueError, match=r"dev\.conllul\.bz2: lattices"):
        main(["dev.conllul.bz2"])


PARTIAL = """1\told\t_\tADJ\t_\t_\t_\t_\t_\tProb=0.40
2\tbooks\t_\tNOUN\t_\t_\t0\troot\t_\t_
3\tburn\t_\tVERB\t_\t_\t_\t_\t_\t_

"""


def test_known_arcs_are_drawn(tmp_path, capsys):
    path, other = tmp_path / "partial.conllu", tmp_path / "other.conllu"
    path.write_text(PARTIAL, encoding="utf-8")
    main([str(path)])
    _, old, books, burn, *_ = capsys.readouterr().out.splitlines()
    assert old.split()[-3:] == ["_", "ADJ", "old"]
    assert books.split()[-3:] == ["root", "NOUN", "books"]
    assert burn.split()[-3:] == ["_", "VERB", "burn"]
    main([str(path), "-o", str(tmp_path / "a.svg")])
    assert (tmp_path / "a.svg").read_text().count("<g data-child") == 1
    other.write_text(PARTIAL.replace("_\t_\t_\tProb", "2\tdet\t_\tProb"), encoding="utf-8")
    main([str(other), "--gold", str(path), "--wrong"])  # nothing that is known is wrong
    assert capsys.readouterr().out == ""
    main([str(path), "--gold", str(other), "--wrong"])
    assert "old   <- gold: det of 2 books" in capsys.readouterr().out


def test_other_commands_take_partial_trees(tmp_path, capsys):
    path = tmp_path / "partial.conllu"
    path.write_text(PARTIAL, encoding="utf-8")
    trace.main([str(path)])
    assert "0 gold arcs lost" in capsys.readouterr().out
    crossing = "".join(f"{i}\tw\t_\t_\t_\t_\t{head}\tx\t_\t_\n" for i, head in enumerate("304__", 1)) + "\n"
    path.write_text(PARTIAL + crossing, encoding="utf-8")
    projectivize.main([str(path)])
    out, err = capsys.readouterr()
    assert out.startswith(PARTIAL)
    heads = [line.split("\t")[6] for line in out.splitlines() if line[2:3] == "w"]
    assert heads[3:] == ["_", "_"] != heads[:2]
    assert "2 sentences, 1 of them not projective" in err
    assert " of 4 heads kept" in err
    for arguments in ([str(path), "--method", "lifting"], [str(path), "--count"]):
        with pytest.raises(ConlluError, match=r"the head '_' is not a number; write the id of a word, or 0 for the root$"):
            projectivize.main(arguments)
