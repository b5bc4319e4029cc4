"""Options of scripts/parse.py that the input has no use for."""

from __future__ import annotations

import io
import sys

import pytest

from parser.beam_settings import Beam, BeamError, Merge, searching
from parser.commands import parse
from tests.forgery import small_model


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.conllul", "--tags=fill"], "--tags fill is not supported with lattices; leave it out"),
        (["in.txt", "--lattice", "--text"], "--text is not supported with lattices; leave it out"),
        (["in.conllul", "--tokenizer=t.udpipe"], "--tokenizer t.udpipe is not supported with lattices; leave it out"),
        (["in.conllu", "--tokenizer=t.udpipe"], "--tokenizer t.udpipe is not supported with CoNLL-U; add --text"),
        (["in.conllu", "--sentences=line"], "--sentences line is not supported with CoNLL-U; add --text"),
        (["in.conllul", "--tokens=space"], "--tokens space is not supported with lattices; leave it out"),
        (["in.txt", "--text", "--tokens=space", "--tokenizer=t"], "--tokens space uses no tokenizer"),
        (["in.conllu", "--max-arcs=3"], "--max-arcs 3 is not supported with CoNLL-U; leave it out"),
        (["in.txt", "--text", "--max-arcs=3"], "--max-arcs 3 is not supported with text; leave it out"),
        (["in.conllu", "--lexicon=l.tsv"], "--lexicon l.tsv has no use, as no lemmas are written; add --tags=fill, or"),
        (["in.conllu", "--lexicon=l.tsv", "--tags=keep"], "--lexicon l.tsv has no use, as no lemmas are written"),
        (["in.conllul", "--probabilities"], "--probabilities is not supported with lattices; leave it out"),
        (["in.conllu", "--probabilities", "--k-best=2"], "--k-best 2 is not supported with --probabilities; omit one of"),
        (["in.conllul", "--lexicon=l.tsv"], "--lexicon l.tsv is not supported with lattices; leave it out"),
        (["in.txt", "--text", "-o", "./in.txt"], r"\./in.txt: this input file would be overwritten; choose "),
        (["-o", "in.conllul", "in.conllul"], "in.conllul: this input file would be overwritten"),
        (["in.conllu", "-o", "in.conllu"], "in.conllu: this input file would be overwritten"),
        (["in.conllu", "--tags=fill", "--lexicon=l.tsv", "-o", "l.tsv"], "l.tsv: this input file would be over"),
        (["in.txt", "--text", "--tokenizer=t.udpipe", "-o", "t.udpipe"], "t.udpipe: this input file would be"),
        (["in.conllul", "-o", "in.conllul"], "in.conllul: this input file would be overwritten"),
    ],
)
def test_they_are_refused_before_anything_is_read(monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["parse.py", "no_model", *arguments])
    with pytest.raises(ValueError, match=message):
        parse.main()


@pytest.mark.parametrize("option", ["--k-best=0", "--k-best=-1", "--beam=0", "--max-arcs=0", "--max-arcs=x"])
def test_numbers_are_positive(monkeypatch, capsys, option):
    monkeypatch.setattr("sys.argv", ["parse.py", "no_model", option])
    with pytest.raises(SystemExit):
        parse.main()
    assert "give a number from 1 to" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "known"),
    [
        ("--merge=all", "none, configuration, signature"),
        ("--on-error=all", "stop, skip, keep"),
        ("--tags=all", "keep, fill, overwrite"),
    ],
)
def test_a_choice_that_there_is_not_is_answered_with_those_that_there_are(monkeypatch, capsys, option, known):
    monkeypatch.setattr("sys.argv", ["parse.py", "no_model", option])
    with pytest.raises(SystemExit):
        parse.main()
    assert f"'all' is unknown; known: {known}" in capsys.readouterr().err


def test_a_gpu_is_only_for_a_pretrained_encoder(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["parse.py", "a-model", "in.conllu", "--device=cuda"])
    monkeypatch.setattr(parse, "load_model", lambda *arguments: small_model("text"))
    with pytest.raises(ValueError, match="--device cuda: this model reads no pretrained encoder"):
        parse.main()


def test_a_greedy_parser_merges_nothing():
    for own, size in ((None, None), (None, 1), (Beam(8), 1)):
        with pytest.raises(BeamError, match="merge=none needs a beam"):
            searching(own, size, Merge.NONE)
    assert searching(Beam(8), None, Merge.NONE) == Beam(8, Merge.NONE)


def test_a_terminal_shows_how_much_is_written(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    target = io.BytesIO()
    with parse.with_progress(target, "out.conllu") as progress:
        progress.write(bytes(1000))
    assert target.getvalue() == bytes(1000)
    assert "written: " in terminal.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with parse.with_progress(target, "out.conllu") as progress:
        assert progress is target
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, "stdout", Terminal())
    with parse.with_progress(target, "-") as progress:
        assert progress is target
