"""What models lose on changed words: each line compares the same words before and after."""

import sys

import pytest

from experiments import robust
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
    monkeypatch.setattr(sys, "argv", ["robust.py", str(treebank), str(tmp_path / "model"), str(tmp_path / "model")])
    robust.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[: len(lines) // 2] == lines[len(lines) // 2 :]
    rows = {cells[1].strip(): cells for cells in (line.split("|") for line in lines[: len(lines) // 2]) if len(cells) > 2}
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
    for one, (start, end) in zip(sentences, zip(found.parses.offsets, found.parses.offsets[1:], strict=False), strict=True):
        one.heads, one.deprels = found.parses.heads[start + 1 : end].tolist(), found.deprels[start + 1 : end]
    right = robust.right_words(predictor, sentences)
    assert right.percentages() == [100.0, None, None]
    assert right.sentences.tolist() == [0, 0, 0, 1, 1]
