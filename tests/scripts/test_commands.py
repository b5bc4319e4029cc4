"""The commands check and draw, and options of parse.py that the input has no use for."""

import io
import os
import re
import sys

import pytest

from oracles.errors import OptimalStepError
from parser.beam_settings import Beam, BeamError, Merge, searching
from parser.commands import check, draw, parse, projectivize, trace
from parser.conllu.checks import ConlluError
from parser.conllu.files import open_input
from parser.data import attributes
from parser.data.attributes import ATTRIBUTES
from parser.data.treebank import TreebankError, read_treebank
from parser.decoding.files.file_parsing import FileCounts
from parser.model.trained_model import TrainedModel
from tests.forgery import small_linear_model, small_model
from tests.random_models import random_text_model, with_random_weights
from tests.toy import ROOT, SAMPLE, write_conllu

DEV = SAMPLE / "sample-ud-dev.conllu"
TWO_ROOTS = "1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n2\tb\tb\tX\t_\t_\t0\troot\t_\t_\n\n"
GOOD = TWO_ROOTS.replace("0\troot\t_\t_\n\n", "1\tdep\t_\t_\n\n")


def test_faults_of_all_files_and_their_kinds(tmp_path, capsys):
    (tmp_path / "a.conllu").write_text(TWO_ROOTS + GOOD + TWO_ROOTS)
    (tmp_path / "b.conllu").write_text(GOOD.replace("2\tb", "3\tb") + GOOD)
    assert (
        check.main(
            [str(tmp_path / "a.conllu"), str(tmp_path / "b.conllu"), str(tmp_path / "none.conllu")]
        )
        == 1
    )
    found = capsys.readouterr().out
    for place in (
        "a.conllu, line 2, sentence 1: several roots",
        "a.conllu, line 8, sentence 3: several roots",
    ):
        assert place in found
    assert (
        "a.conllu: 1 sentence to train on, 2 faults, "
        "of which parsing refuses 0; treebank.on_error=skip" in found
    )
    assert "b.conllu: 1 sentence to train on, 1 fault, of which parsing refuses 1;" in found
    assert "none.conllu: there is no such file" in found
    assert "none.conllu: 0 sentences" not in found
    assert re.search(r"\n +2  several roots\n +1  word \.\.\. where word", found)


def test_what_leaves_nothing_to_train_on_is_no_advice(tmp_path, capsys):
    (tmp_path / "a.conllu").write_text(TWO_ROOTS * 2)
    status, found = check_file(capsys, tmp_path / "a.conllu")
    assert (
        status,
        "0 sentences to train on, 2 faults, of which parsing refuses 0\n" in found,
    ) == (
        1,
        True,
    )
    for skip in (False, True):
        with pytest.raises(TreebankError, match=r"2 faults; optimal-step check FILE lists all$"):
            read_treebank(tmp_path / "a.conllu", skip)


def test_all_faults_of_a_sentence(tmp_path, capsys):
    """But not those that only follow from others."""
    word = "\ta\t_\tX\t_\t_\t{}\tdep\t_\t_\n"
    ids = "".join(
        identifier + word.format(head)
        for identifier, head in [("1", 0), ("x", 9), ("3", "y"), ("4", 99), ("z", 1)]
    )
    columns = "1" + word.format(0) + "2 b\n3\tb\n4" + word.format("_")
    heads = "".join(f"{number}{word.format(head)}" for number, head in enumerate([0, "_", 9, 1], 1))
    trees = "".join(
        f"{number}{word.format(head)}" for number, head in enumerate([0, 0, 4, 3, 6, 5], 1)
    )
    file = tmp_path / "a.conllu"
    file.write_text("\n".join([ids, columns, heads, trees, GOOD]), encoding="utf-8")
    status, said = check_file(capsys, file)
    assert status == 1
    *found, summary = said.split("\n\n")[0].splitlines()
    assert [
        re.sub(r".*, line (\d+), sentence (\d+): (.{12}).*", r"\2 \1 \3", fault) for fault in found
    ] == [
        *("1 2 'x' is not a", "1 3 the head 'y'", "1 4 the head 99 ", "1 5 'z' is not a"),
        *("2 8 1 column whe", "2 9 2 columns wh", "2 10 the head '_'"),
        *("3 13 the head '_'", "3 14 the head 9 i"),
        *("4 18 several root", "4 19 a cycle: the", "4 21 a cycle: the"),
    ]
    assert (
        "1 sentence to train on, 12 faults, of which parsing refuses 4; treebank.on_error=skip"
        in summary
    )
    assert read_treebank(file, skip=True).n_left_out == 4  # sentences, not faults


def test_every_line_in_another_encoding(tmp_path, capsys):
    """The whole file is to be converted, so that no sentence of it can be left out."""
    file = tmp_path / "a.conllu"
    file.write_bytes(
        (GOOD + GOOD.replace("\ta", "\tß") + GOOD.replace("\tb", "\tß") + TWO_ROOTS).encode(
            "latin-1"
        )
    )
    status, said = check_file(capsys, file)
    assert status == 1
    *found, summary = said.split("\n\n")[0].splitlines()
    assert [re.sub(r".*, line (\d+)(, sentence 4)?: ", r"\1 ", fault)[:18] for fault in found] == [
        "4 this is not UTF-",
        "8 this is not UTF-",
        "11 several roots: ",
    ]
    assert "1 sentence to train on, 3 faults, of which parsing refuses 0" in summary
    assert "on_error" not in summary
    with pytest.raises(
        TreebankError,
        match=r"line 4: this is not UTF-8(.*\n)*3 faults; optimal-step check FILE lists all$",
    ):
        read_treebank(file, skip=True)


def check_file(capsys, path, *options: str) -> tuple[int, str]:
    """Return the exit status of check, and what it prints."""
    status = check.main([str(path), *options])
    return status, capsys.readouterr().out


def test_files_without_a_sentence_to_skip_and_without_a_fault(tmp_path, capsys):
    (tmp_path / "a_2.conllu").write_bytes(GOOD.encode("utf-16"))
    status, found = check_file(capsys, tmp_path / "a_2.conllu")
    assert (status, "--on-error" in found) == (1, False)
    assert re.search(r"\n +1  this is UTF-...\n$", found)
    (tmp_path / "empty.conllu").write_text("# nothing\n\n")
    status, found = check_file(capsys, tmp_path / "empty.conllu")
    assert (status, "empty.conllu: there is no sentence in this file" in found) == (1, True)
    assert check_file(capsys, DEV) == (0, f"{DEV}: 150 sentences, no fault\n")


def test_a_upos_that_ud_does_not_have_is_found(tmp_path, capsys):
    """In sentences with other faults, too; the first by its line."""
    file = tmp_path / "a, line 9.conllu"
    head = GOOD.replace("\tX\t", "\tnoun\t").replace("\t0\t", "\t_\t")
    file.write_text(
        GOOD + head + GOOD.replace("\tX\t", "\tNUON\t", 1) + GOOD.replace("\tX\t", "\t_\t")
    )
    status, found = check_file(capsys, file)
    n = GOOD.count("\tX\t")
    said = (
        f"UPOS is not one of UD's in {n + 1} words (the first in line "
        f"{1 + len(GOOD.splitlines())}, sentence 2): "
    )
    said += (
        "'noun' (did you mean NOUN?), 'NUON' (did you mean NOUN?); "
        "training and parsing accept them unchanged"
    )
    assert (status, f"{file}: {said}" in found) == (1, True)
    file.write_text(GOOD)
    assert check_file(capsys, file) == (0, f"{file}: 1 sentence, no fault\n")


def test_the_validator_of_universal_dependencies(tmp_path, capsys, monkeypatch):
    file = tmp_path / "a.conllu"
    file.write_text("# sent_id = a\n# text = a b\n" + GOOD.replace("\tX", "\tNUON"))
    assert [check_file(capsys, file, *level)[0] for level in ([], ["--level", "1"])] == [0, 0]
    status, found = check_file(capsys, file, "--level", "2")
    assert status == 1
    assert re.search(r"a\.conllu, line 3: error unknown-upos \(level 2\): .*NUON", found)
    assert re.search(r"\n +2  error unknown-upos \(level 2\)", found)
    monkeypatch.setitem(sys.modules, "udtools", None)
    with pytest.raises(ValueError, match="pip install udtools"):
        check_file(capsys, file, "--level", "1")


GOLD = SAMPLE / "sample-ud-test.conllu"


def test_one_sentence_in_the_terminal_and_formats_by_name(tmp_path, capsys):
    draw.main([str(GOLD), "--sentence", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("# sentence 2")
    assert len(lines) == 2 + len(read_treebank(GOLD)[1])
    texts = [(name, "# sentence 1") for name in ("a.text", "a.txt", "a")]
    for name, start in (
        ("a.svg", "<svg"),
        ("a.html", "<!DOCTYPE html>"),
        ("a.htm", "<!DOCTYPE html>"),
        *texts,
    ):
        draw.main([str(GOLD), "-o", str(tmp_path / name)])
        assert (tmp_path / name).read_text().startswith(start)
    assert (tmp_path / "a.html").read_text().count("<svg") == len(read_treebank(GOLD))


def test_what_is_wrong_alone(tmp_path, capsys):
    sentences = read_treebank(GOLD).sentences[:3]
    gold = write_conllu(tmp_path / "gold.conllu", sentences)
    sentences[1].deprels[0] = "wrong"
    ours = write_conllu(tmp_path / "ours.conllu", sentences)
    draw.main([str(ours), "--gold", str(gold), "--wrong"])
    drawn = capsys.readouterr().out
    assert drawn.count("# sentence") == 1
    assert "# sentence 2" in drawn
    assert "<- gold: " in drawn
    draw.main([str(ours), "--gold", str(gold), "--wrong", "--sentence", "1"])
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (f"other.conllu --gold {GOLD}", "have different words here"),
        ("none.conllu -o none.svg", r"none\.conllu: there is no sentence in this file"),
        ("none.conllu --sentence 1", r"none\.conllu: there is no sentence in this file"),
        (f"{GOLD} --sentence 1000", "there is no sentence 1000"),
        ("dev.conllul.bz2", r"dev\.conllul\.bz2: lattices"),
        (
            f"{GOLD} -o none.jpg",
            (
                r"^none\.jpg: nothing is drawn as \.jpg; choose a name in \.txt, .*, or add"
                r" --format text$"
            ),
        ),
        (f"{GOLD} -o none.svg.conllu.gz", r"nothing is drawn as \.conllu"),
    ],
)
def test_what_cannot_be_drawn(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    write_conllu(tmp_path / "other.conllu", read_treebank(GOLD).sentences[1:])
    (tmp_path / "none.conllu").write_text("# nothing\n\n")
    with pytest.raises(ValueError, match=message):
        draw.main(arguments.split())
    assert not (tmp_path / "none.svg").exists()


@pytest.mark.parametrize("arguments", [["-o", "a.png"], ["-o", "a.PDF.gz"], ["--format", "pdf"]])
def test_pictures_need_a_package_and_say_which(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(
        OptimalStepError,
        match=r"needs typst, which is not installed; pip install typst, .* or write \.svg or",
    ):
        draw.main([str(GOLD), *arguments])
    assert not any(tmp_path.iterdir())


def test_pictures_are_written_by_the_name_of_the_output(tmp_path, monkeypatch, capsysbinary):
    drawn = []
    monkeypatch.setattr(draw.pictures, "check_installed", lambda kind: None)
    monkeypatch.setattr(
        draw.pictures,
        "as_picture",
        lambda trees, kind: drawn.append((len(trees), kind)) or b"\x89\0",
    )
    for name in ("a.png", "a.PNG", "a.pdf"):
        draw.main([str(GOLD), "-o", str(tmp_path / name)])
        assert (tmp_path / name).read_bytes() == b"\x89\0"
    draw.main([str(GOLD), "--format", "png", "--sentence", "2"])
    assert capsysbinary.readouterr().out == b"\x89\0"
    assert drawn == [(1, "png"), (1, "png"), (len(read_treebank(GOLD)), "pdf"), (1, "png")]
    with pytest.raises(OptimalStepError, match="nothing to draw; leave out --wrong"):
        draw.main([str(GOLD), "--gold", str(GOLD), "--wrong", "-o", str(tmp_path / "b.png")])
    assert not (tmp_path / "b.png").exists()
    monkeypatch.setattr(sys, "stdout", Terminal())
    with pytest.raises(
        OptimalStepError, match=r"a terminal cannot show \.png; name a file: -o tree\.png"
    ):
        draw.main([str(GOLD), "--format", "png"])


PARTIAL = """1\told\t_\tADJ\t_\t_\t_\t_\t_\tProb=0.40
2\tbooks\t_\tNOUN\t_\t_\t0\troot\t_\t_
3\tburn\t_\tVERB\t_\t_\t_\t_\t_\t_

"""


def test_known_arcs_are_drawn(tmp_path, capsys):
    path, other = tmp_path / "partial.conllu", tmp_path / "other.conllu"
    path.write_text(PARTIAL, encoding="utf-8")
    draw.main([str(path)])
    _, old, books, burn, *_ = capsys.readouterr().out.splitlines()
    assert old.split()[-3:] == ["_", "ADJ", "old"]
    assert books.split()[-3:] == ["root", "NOUN", "books"]
    assert burn.split()[-3:] == ["_", "VERB", "burn"]
    draw.main([str(path), "-o", str(tmp_path / "a.svg")])
    assert (tmp_path / "a.svg").read_text().count("<g data-child") == 1
    other.write_text(PARTIAL.replace("_\t_\t_\tProb", "2\tdet\t_\tProb"), encoding="utf-8")
    draw.main([str(other), "--gold", str(path), "--wrong"])  # nothing that is known is wrong
    assert capsys.readouterr().out == ""
    draw.main([str(path), "--gold", str(other), "--wrong"])
    assert "old   <- gold: det of 2 books" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["--sentence", "2"]])
def test_without_sentences_there_is_nothing_to_trace(tmp_path, arguments):
    path = tmp_path / "empty.conllu"
    path.write_text("")
    with pytest.raises(
        OptimalStepError, match="there is no sentence in this file, so there is nothing to trace"
    ):
        trace.main([str(path), *arguments])


def test_other_commands_take_partial_trees(tmp_path, capsys):
    path = tmp_path / "partial.conllu"
    path.write_text(PARTIAL, encoding="utf-8")
    trace.main([str(path)])
    assert "0 gold arcs lost" in capsys.readouterr().out
    crossing = (
        "".join(f"{i}\tw\t_\t_\t_\t_\t{head}\tx\t_\t_\n" for i, head in enumerate("304__", 1))
        + "\n"
    )
    path.write_text(PARTIAL + crossing, encoding="utf-8")
    projectivize.main([str(path)])
    out, err = capsys.readouterr()
    assert out.startswith(PARTIAL)
    heads = [line.split("\t")[6] for line in out.splitlines() if line[2:3] == "w"]
    assert heads[3:] == ["_", "_"] != heads[:2]
    assert "2 sentences, 1 of them not projective" in err
    assert " of 4 heads kept" in err
    for arguments in ([str(path), "--method", "lifting"], [str(path), "--count"]):
        with pytest.raises(
            ConlluError,
            match=r"the head '_' is not a number; write the id of a word, or 0 for the root$",
        ):
            projectivize.main(arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["in.conllul", "--tags=fill"],
            "--tags fill is not supported with lattices; leave it out",
        ),
        (["in.txt", "--lattice", "--text"], "--text is not supported with lattices; leave it out"),
        (
            ["in.conllu", "--tokenizer=t.udpipe"],
            "--tokenizer t.udpipe is not supported with CoNLL-U; add --text",
        ),
        (
            ["in.conllu", "--sentences=line"],
            "--sentences line is not supported with CoNLL-U; add --text",
        ),
        (
            ["in.conllul", "--tokens=space"],
            "--tokens space is not supported with lattices; leave it out",
        ),
        (
            ["in.txt", "--text", "--tokens=space", "--tokenizer=t"],
            "--tokens space uses no tokenizer",
        ),
        (
            ["in.conllu", "--max-arcs=3"],
            "--max-arcs 3 is not supported with CoNLL-U; leave it out",
        ),
        (
            ["in.txt", "--text", "--max-arcs=3"],
            "--max-arcs 3 is not supported with text; leave it out",
        ),
        (
            ["in.conllu", "--lexicon=l.tsv"],
            "--lexicon l.tsv has no use, as no lemmas are written; add --tags=fill, or",
        ),
        (
            ["in.conllul", "--probabilities"],
            "--probabilities is not supported with lattices; leave it out",
        ),
        (
            ["in.conllu", "--probabilities", "--k-best=2"],
            "--k-best 2 is not supported with --probabilities; omit one of",
        ),
        (
            ["in.conllul", "--lexicon=l.tsv"],
            "--lexicon l.tsv is not supported with lattices; leave it out",
        ),
        (
            ["in.txt", "--text", "-o", "./in.txt"],
            r"\./in.txt: this input file would be overwritten; choose ",
        ),
        (["in.conllu", "-o", "in.conllu"], "in.conllu: this input file would be overwritten"),
        (
            ["in.conllu", "--tags=fill", "--lexicon=l.tsv", "-o", "l.tsv"],
            "l.tsv: this input file would be over",
        ),
        (
            ["in.txt", "--text", "--tokenizer=t.udpipe", "-o", "t.udpipe"],
            "t.udpipe: this input file would be",
        ),
        (["in.conllul", "-o", "in.conllul"], "in.conllul: this input file would be overwritten"),
    ],
)
def test_they_are_refused_before_anything_is_read(monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["parse.py", "no_model", *arguments])
    with pytest.raises(ValueError, match=message):
        parse.main()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        *(
            (option, "give a number from 1 to")
            for option in ("--k-best=0", "--k-best=-1", "--beam=0", "--max-arcs=0")
        ),
        ("--max-arcs=x", "give a number from 1 to"),
        ("--merge=all", "'all' is unknown; known: none, configuration, signature"),
        ("--on-error=all", "'all' is unknown; known: stop, skip, keep"),
        ("--tags=all", "'all' is unknown; known: keep, fill, overwrite"),
    ],
)
def test_a_value_that_there_is_not_is_answered_with_those_that_there_are(
    monkeypatch, capsys, option, message
):
    monkeypatch.setattr("sys.argv", ["parse.py", "no_model", option])
    with pytest.raises(SystemExit):
        parse.main()
    assert message in capsys.readouterr().err


def test_a_greedy_parser_merges_nothing():
    for own, size in ((None, None), (None, 1), (Beam(8), 1)):
        with pytest.raises(BeamError, match="merge=none needs a beam"):
            searching(own, size, Merge.NONE)
    assert searching(Beam(8), None, Merge.NONE) == Beam(8, Merge.NONE)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def counts(sentences: int, words: int) -> FileCounts:
    return FileCounts(words + sentences, sentences, words, {})


@pytest.mark.parametrize(
    ("errors", "output", "name", "shown"),
    [
        (Terminal, None, "out.conllu", True),
        (Terminal, None, "-", True),
        (Terminal, Terminal, "-", False),
        (io.StringIO, None, "out.conllu", False),
    ],
)
def test_a_terminal_shows_words_and_the_rest_of_a_file(
    tmp_path, monkeypatch, errors, output, name, shown
):
    monkeypatch.setattr(parse, "_QUIET_SECONDS", 0)
    monkeypatch.setattr(parse, "_SECONDS_BETWEEN", 0)
    monkeypatch.setattr(sys, "stderr", said := errors())
    if output is not None:
        monkeypatch.setattr(sys, "stdout", output())
    (tmp_path / "in").write_bytes(bytes(400_000))
    with (
        open_input(tmp_path / "in") as source,
        parse.ParsingProgress(name).shown(source, "in") as progress,
    ):
        source.read(90_000)  # some more are read ahead
        progress(counts(10, 100))
    written = said.getvalue()
    assert bool(re.search(r"parsing: +2[0-9]%.* 100/[34][0-9]{2} .*<.* words/s", written)) == shown
    assert written.endswith("\r") == shown  # nothing stays of it


def test_short_work_shows_nothing_and_a_pipe_no_rest(monkeypatch):
    monkeypatch.setattr(sys, "stderr", said := Terminal())
    for seconds in (parse._QUIET_SECONDS, 0):
        monkeypatch.setattr(parse, "_QUIET_SECONDS", seconds)
        monkeypatch.setattr(parse, "_SECONDS_BETWEEN", 0)
        with parse.ParsingProgress("out").shown(io.BytesIO(), "in") as progress:
            progress(counts(10, 100))
            assert ("100 words [" in said.getvalue()) == (seconds == 0)
        assert "%" not in said.getvalue()


@pytest.mark.parametrize(
    ("output", "sentences", "note"),
    [
        ("out.conllu", 5, "nothing was written"),
        ("-", 0, "nothing was written"),
        ("-", 1, "1 sentence was written"),
        ("-", 1234, "1,234 sentences were written"),
        (os.devnull, 2, "2 sentences were written"),
    ],
)
def test_what_is_interrupted_says_what_was_written(tmp_path, monkeypatch, output, sentences, note):
    def stopping(predictor, source, target, name, *, progress, **options):
        target.write(b"a")
        progress(counts(sentences, 10))
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").write_text(GOOD)
    monkeypatch.setattr(parse, "load_model", lambda folder, options: small_linear_model())
    monkeypatch.setattr(parse, "parse_file", stopping)
    monkeypatch.setattr(sys, "argv", ["parse", "model", "in", "-o", output])
    with pytest.raises(KeyboardInterrupt) as stopped:
        parse.main()
    assert stopped.value.__notes__ == [f"interrupted; {note}"]
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_what_is_interrupted_before_it_begins_has_written_nothing(monkeypatch):
    def stopping(folder, options):
        raise KeyboardInterrupt

    monkeypatch.setattr(parse, "load_model", stopping)
    monkeypatch.setattr(sys, "argv", ["parse", "model", "in"])
    with pytest.raises(KeyboardInterrupt) as stopped:
        parse.main()
    assert stopped.value.__notes__ == ["interrupted; nothing was written"]


def test_words_that_training_never_saw_are_told_in_plain_words():
    assert {*attributes._VALUES} == {*ATTRIBUTES}
    told = str(FileCounts(20, 2, 10, {"form": 1, "upos": 0, "suffix3": 3}))
    shares = (
        "10.00% of the words, 0.00% of the values of UPOS, 30.00% of the endings of three letters"
    )
    assert told == f"2 sentences, 10 words; never seen in training: {shares}"
    assert str(FileCounts(20, 2, 10, {})) == "2 sentences, 10 words"
    assert "never seen in training" in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def small_static_model() -> TrainedModel:
    return with_random_weights(small_model("static"))


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (small_linear_model, []),
        (small_static_model, []),
        (small_static_model, ["--lattice"]),
        (random_text_model, []),
        (random_text_model, ["--beam", "4"]),
    ],
)
def test_warming_up_parses_nothing(tmp_path, monkeypatch, make, options):
    make().save(tmp_path / "model")
    monkeypatch.setattr(parse, "write_bytecode", lambda: None)
    monkeypatch.setattr(sys, "argv", ["parse", str(tmp_path / "model"), "--warm-up", *options])
    assert parse.main() == 0
