"""Search errors and model errors: scores of gold trees against the beam's, what is left out, and the command."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from experiments import search_errors
from experiments.command import settings_of
from parser.beam_settings import Beam, Merge, Scores
from parser.data.treebank import Sentence, Treebank, read_treebank
from parser.decoding.parsers import beam_parser_of, parser_of
from parser.evaluation.gold_part import GoldPart
from parser.model.model import Model
from tests.forgery import KINDS, small_model
from tests.random_trees import random_projective_tree
from tests.toy import sentence, write_conllu


def treebank_of(tmp_path: Path, sentences: list[Sentence]) -> Treebank:
    return read_treebank(write_conllu(tmp_path / "part.conllu", sentences))


def sure_of_itself(kind: str, scores: Scores) -> Model:
    """With a beam's settings, and scores that are far apart."""
    model = small_model(kind)
    model.beam = Beam(4, scores=scores)
    model.classifier.output.weight.data *= 5
    return model


def random_sentences(relations: list[str], sizes: range = range(1, 6)) -> list[Sentence]:
    rng = random.Random(1)
    trees = [random_projective_tree(rng, n) for n in sizes for _ in range(20)]
    made = [sentence(tree, rng) for tree in trees if tree.count(0) == 1]
    for one in made:
        one.deprels[:] = ["root" if head == 0 else rng.choice(relations) for head in one.heads]
    return made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scores", list(Scores))
def test_the_score_of_a_greedy_tree_is_that_of_the_beam_of_one(kind, scores, tmp_path):
    model = sure_of_itself(kind, scores)
    plain = treebank_of(tmp_path, random_sentences(["det", "obj"]))
    part = GoldPart.of(plain.sentences, model.vocabularies, model.relations)
    parses = parser_of(model).parse(part.sentences, single_root=True)
    for one, start in zip(plain.sentences, parses.offsets.tolist(), strict=False):
        inside = slice(start + 1, start + 1 + len(one.heads))
        one.heads[:] = parses.heads[inside].tolist()
        one.deprels[:] = [model.relations.symbols[r] for r in parses.relations[inside].tolist()]
    part = GoldPart.of(plain.sentences, model.vocabularies, model.relations)
    totals, made = search_errors.gold_scores(model, part, scores)
    assert np.array_equal(made.heads, parses.heads)
    assert np.array_equal(made.relations, parses.relations)
    found = beam_parser_of(model, Beam(1, Merge.NONE, scores)).k_best(part.sentences, 1)
    assert totals == pytest.approx([trees[0].score for trees in found], abs=1e-4)
    (row,) = search_errors.rows_of("its own", model, ["none"], [1], plain)
    assert row[-3:] == (len(plain), 0, 0)


@pytest.mark.parametrize("scores", list(Scores))
def test_a_beam_that_holds_all_items_makes_no_search_errors(scores, tmp_path):
    model = sure_of_itself("static", scores)
    part = treebank_of(tmp_path, random_sentences(["det", "obj"], range(1, 4)))
    rows = search_errors.rows_of("any", model, ["none"], [1, 1000], part)
    narrow, wide = (dict(zip(search_errors.COLUMNS, row, strict=True)) for row in rows)
    assert narrow["sentences"] == wide["sentences"] == len(part)
    assert narrow["found"] + narrow["search_errors"] + narrow["model_errors"] == len(part)
    assert narrow["search_errors"] > 0 == wide["search_errors"]


def test_what_cannot_be_made_is_left_out(tmp_path):
    crossing, unknown = sentence([3, 4, 0, 3]), sentence([0, 1])
    crossing.deprels[:], unknown.deprels[:] = ["det", "det", "root", "det"], ["root", "never:seen"]
    part = treebank_of(tmp_path, [*random_sentences(["det"]), crossing, unknown])
    (row,) = search_errors.rows_of("any", small_model("static"), ["configuration"], [2], part)
    assert row[3:5] == (len(part) - 2, 2)


def test_the_command(tmp_path, capsys):
    (tmp_path / "UD_Hungarian-Szeged").mkdir()
    write_conllu(tmp_path / "UD_Hungarian-Szeged" / "hu_szeged-ud-dev.conllu", random_sentences(["det", "obj"]))
    small_model("static").save(tmp_path / "model")
    overrides = [f"+models={{any: {tmp_path}/model}}", f"output={tmp_path}/out", f"paths.treebanks={tmp_path}", "sizes=[1,2]"]
    search_errors.EXPERIMENT.main(settings_of(search_errors.SearchErrors, "search_errors", overrides))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"results.csv", "table.md"}
    assert capsys.readouterr().out.count("| any | configuration |") == 2
