"""What is chosen to be annotated, and how it is written."""

from __future__ import annotations

import pytest

from parser import Parser
from parser.commands import annotate
from parser.commands.annotate import least_certain
from parser.conllu.checks import COLUMN_NAMES
from parser.conllu.files import open_input
from parser.conllu.stream import read_raw_sentences
from parser.data.treebank import read_treebank
from parser.decoding.files.missing_columns import MissingColumnsError
from parser.library import ParsedSentence
from tests.forgery import small_model
from tests.random_models import with_random_weights

LINE = "{}\t{}\t_\tX\t_\tA=b|C=d\t_\t_\t_\t{}\n"
WORD = "X", None, "A=b|C=d"
SENTENCES = [[("a", "_"), ("b", "SpaceAfter=No"), ("c", "_")], [("a", "_"), ("b", "_"), ("c", "_")], [("b", "_"), ("a", "_")]]
TEXT = "".join(
    "".join(["# text = x\n", *(LINE.format(i, *word) for i, word in enumerate(words, 1)), "\n"]) for words in SENTENCES
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model"
    with_random_weights(small_model("static")).save(path)
    return path


def written(folder, tmp_path, *options: str) -> list[list[str]]:
    source, target = tmp_path / "in.conllu", tmp_path / "out.conllu"
    source.write_text(TEXT, encoding="utf-8")
    annotate.main([str(folder), str(source), "-o", str(target), *options])
    lines = target.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and line[0] != "#"]


def test_the_least_certain_words_are_asked_for_and_what_is_sure_is_filled_in(folder, tmp_path, capsys):
    rows = written(folder, tmp_path, "--words", "2", "--sure", "0")
    assert "2 words to annotate in" in capsys.readouterr().err
    asked = [row for row in rows if "Ask=" in row[9]]
    assert len(asked) == 2
    assert all((row[6] == "_") == ("Ask=" in row[9]) == (row[7] == "_") for row in rows)
    parsed = Parser.load(folder).parse(
        [[("a", "X", None, "A=b|C=d"), ("b", "X", None, "A=b|C=d"), ("c", "X", None, "A=b|C=d")]]
    )
    lowest = sorted(p for sentence in parsed for p in sentence.probabilities)[0]
    assert any(f"Sure={lowest:.2f}" in row[9] for row in asked)
    assert all(row[9].startswith("SpaceAfter=No|Sure=") or row[9].startswith("Sure=") for row in rows)
    assert read_treebank(tmp_path / "out.conllu", partial=True).n_known_heads == len(rows) - 2


def test_a_second_best_head_is_another_one(folder, tmp_path):
    rows = written(folder, tmp_path, "--sure", "1")
    said = [dict(part.split("=") for part in row[9].split("|")) for row in rows]
    seconds = [(one["Ask"].split(":")[0], one["Second"]) for one in said if "Second" in one]
    assert seconds
    assert all(own != second for own, second in seconds)
    assert all(row[6] == "_" for row in rows)


def test_no_two_of_one_kind():
    same = ParsedSentence(["a", "b"], [2, 0], ["obj", "root"], [0.1, 0.9], 0.1)
    other = ParsedSentence(["a", "c"], [2, 0], ["obj", "root"], [0.2, 0.8], 0.1)
    asked = least_certain([same, same, other], 10)
    assert [(one.sentence, one.word) for one in asked] == [(0, 0), (2, 0), (2, 1), (0, 1)]
    assert least_certain([same, other], 1) == asked[:1]


@pytest.mark.parametrize("sure", ["2", "nan", "abc"])
def test_what_is_no_probability_is_refused(folder, tmp_path, capsys, sure):
    with pytest.raises(SystemExit):
        written(folder, tmp_path, "--sure", sure)
    assert f"{sure} is not a probability" in capsys.readouterr().err


def test_sentences_that_are_done_are_not_chosen_again(folder, tmp_path, capsys):
    done = tmp_path / "done.conllu"
    done.write_text(TEXT.split("\n\n")[2] + "\n\n", encoding="utf-8")
    rows = written(folder, tmp_path, "--done", str(done))
    assert [row[1] for row in rows] == ["a", "b", "c"]
    (tmp_path / "out.conllu").unlink()
    command = [str(folder), str(tmp_path / "in.conllu"), "--done", str(done), str(tmp_path / "in.conllu")]
    annotate.main([*command, "-o", str(tmp_path / "out.conllu")])
    assert "no words to annotate; nothing is written" in capsys.readouterr().err
    assert not (tmp_path / "out.conllu").exists()


def test_what_was_said_before_is_said_anew(folder, tmp_path):
    once = written(folder, tmp_path, "--words", "9")
    (tmp_path / "again.conllu").write_bytes((tmp_path / "out.conllu").read_bytes())
    annotate.main([str(folder), str(tmp_path / "again.conllu"), "-o", str(tmp_path / "twice.conllu"), "--words", "9"])
    assert (tmp_path / "twice.conllu").read_text(encoding="utf-8") == (tmp_path / "out.conllu").read_text(encoding="utf-8")
    assert any(row[9].count("=") == 4 for row in once)  # SpaceAfter=No, Sure=, Ask= and Second=


def test_the_columns_of_conllu_plus_are_named_whatever_is_chosen(folder, tmp_path):
    lines = [f"{line}\t*" if "\t" in line else line for line in TEXT.splitlines()]
    columns = f"# global.columns = {' '.join(COLUMN_NAMES)} MWE"
    (tmp_path / "in.conllup").write_text("\n".join([columns, *lines, ""]), encoding="utf-8")
    (tmp_path / "first.conllu").write_text(TEXT.split("\n\n")[0] + "\n\n", encoding="utf-8")
    for name, more in (("all", []), ("others", ["--done", str(tmp_path / "first.conllu")])):
        target = tmp_path / f"{name}.conllup"
        annotate.main([str(folder), str(tmp_path / "in.conllup"), "-o", str(target), *more])
        assert target.read_text(encoding="utf-8").count(columns) == 1
        with open_input(target) as stream:
            assert len(list(read_raw_sentences(stream))) == {"all": 2, "others": 1}[name]


def test_the_work_of_before_is_not_overwritten(folder, tmp_path):
    (tmp_path / "out.conllu").write_text("work", encoding="utf-8")
    with pytest.raises(ValueError, match=r"out\.conllu is there already, perhaps with somebody's work"):
        written(folder, tmp_path)
    assert (tmp_path / "out.conllu").read_text(encoding="utf-8") == "work"


def test_words_without_the_tags_that_the_model_reads(tmp_path):
    model = with_random_weights(small_model("static"))
    model.save(tmp_path / "model")
    source = tmp_path / "bare.conllu"
    source.write_text("1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n" * 200, encoding="utf-8")
    with pytest.raises(MissingColumnsError, match=r"bare\.conllu: .* or take a model that needs no tags \(recipe=text\)$"):
        annotate.main([str(tmp_path / "model"), str(source), "-o", str(tmp_path / "out.conllu")])
