"""What models lose on changed words: each line compares the same words before and after."""

import sys

import pytest

from experiments import robust
from oracles.errors import OptimalStepError
from parser.data.treebank import read_treebank
from parser.decoding.parse_options import ParseOptions, TagUse
from parser.decoding.predictor import Predictor
from tests.random_models import random_lemma_model, small_bilstm_model
from tests.toy import sentence, write_conllu


@pytest.fixture
def treebank(tmp_path):
    one, other = sentence([2, 0, 2]), sentence([0, 1])
    one.forms, other.forms = ["a", "é", "."], ["b", '"a']
    return write_conllu(tmp_path / "gold.conllu", [one, other])


def test_the_command_prints_a_table_for_each_model(treebank, tmp_path, monkeypatch, capsys):
    random_lemma_model().save(tmp_path / "model")
    monkeypatch.setattr(
        sys, "argv", ["robust.py", str(treebank), str(tmp_path / "model"), str(tmp_path / "model")]
    )
    robust.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[: len(lines) // 2] == lines[len(lines) // 2 :]
    rows = {
        cells[1].strip(): cells
        for cells in (line.split("|") for line in lines[: len(lines) // 2])
        if len(cells) > 2
    }
    assert [*rows][2:] == [*robust.CHANGES, robust.UNFINISHED]
    assert rows["in NFD"][2:] == rows[robust.AS_IT_IS][2:]
    assert rows[robust.AS_IT_IS][-2].strip() == "+0.00"
    monkeypatch.setattr(sys, "argv", ["robust.py", str(treebank), str(tmp_path / "absent")])
    with pytest.raises(SystemExit, match="absent"):
        robust.main()


def test_the_gold_tree_of_a_model_is_right(treebank, monkeypatch):
    """What the model predicts, taken for gold, is right for all words."""
    sentences = read_treebank(treebank).sentences
    predictor = Predictor(small_bilstm_model(sentences), ParseOptions(tags=TagUse.KEEP))
    found = predictor.predict(predictor.model.vocabularies.encode(sentences))
    for one, (start, end) in zip(
        sentences, zip(found.parses.offsets, found.parses.offsets[1:], strict=False), strict=True
    ):
        one.heads, one.deprels = (
            found.parses.heads[start + 1 : end].tolist(),
            found.deprels[start + 1 : end],
        )
    right = robust.right_words(predictor, sentences)
    assert right.percentages() == [100.0, None, None]
    assert right.sentences.tolist() == [0, 0, 0, 1, 1]


def score(las, difference):
    return robust.ChangeScore(las, None, 90.0, difference)


def test_groups_have_means_and_deviations(treebank, tmp_path, monkeypatch, capsys):
    one = dict.fromkeys(robust.CHANGES, score(80.0, 0.0)) | {robust.UNFINISHED: score(79.0, -0.5)}
    other = dict.fromkeys(robust.CHANGES, score(81.0, 0.0)) | {robust.UNFINISHED: score(79.0, -0.7)}
    lines = robust.group_table({"before": [one, other], "now": [one]}).splitlines()
    head = ["LAS", "seeds", *robust.CHANGES, "without final marks, change"]
    assert lines[0] == f"| {' | '.join(head)} |"
    cells = ["80.50 ± 0.71"] * len(robust.CHANGES)
    assert lines[2:] == [
        f"| before | 2 | {' | '.join(cells)} | -0.60 |",
        f"| now | 1 | {' | '.join(['80.00'] * len(cells))} | -0.50 |",
    ]
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- measured: gold -->\nold\n<!-- end -->\nb\n")
    random_lemma_model().save(tmp_path / "model")
    group = ["--group", "now", str(tmp_path / "model"), str(tmp_path / "model")]
    monkeypatch.setattr(sys, "argv", ["robust.py", str(treebank), *group, "--page", str(page)])
    robust.main()
    printed = capsys.readouterr().out
    assert page.read_text() == f"a\n<!-- measured: gold -->\n\n{printed}\n<!-- end -->\nb\n"
    assert "| now | 2 |" in printed
    assert "± 0.00" in printed


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--group", "now"], "--group now names no model"),
        ([], "no model is named"),
    ],
)
def test_what_is_not_named(given, said, treebank, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["robust.py", str(treebank), *given])
    with pytest.raises(SystemExit, match=said):
        robust.main()


def test_a_page_without_a_place_for_the_table():
    with pytest.raises(OptimalStepError, match="measured: gold"):
        robust.filled("a page", "gold", "|")
