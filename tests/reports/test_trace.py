"""A computation step by step: what is said of each step is what parsing and the oracle say by themselves."""

from __future__ import annotations

import random

import pytest
import torch

import oracles
from parser import transitions
from parser.commands import trace as command
from parser.data.vocabularies import Vocabularies, Vocabulary
from parser.decoding.parsers import parse
from parser.model.model import Model
from parser.network_spec import ClassifierSpec
from parser.reports.trace import GoldTree, gold_trace, model_trace
from parser.reports.trace_pages import as_html, as_text, drawn
from parser.transitions.features import slots_of
from tests.random_trees import random_projective_tree
from tests.toy import sentence, write_conllu

RELATIONS = ["det", "nsubj", "obj", "punct", "root"]


@pytest.fixture(scope="module")
def model() -> Model:
    torch.manual_seed(1)
    slots = slots_of({"upos": ["s0", "s1", "b0"], "deprel": ["s0.l1"]})
    tags = Vocabularies({"upos": Vocabulary(["ADJ", "DET", "NOUN", "PUNCT", "VERB"])})
    return Model.new(tags, Vocabulary(RELATIONS), slots, ClassifierSpec(8, "relu", 0.0, 0.0, 0.0, {}))


@pytest.mark.parametrize("seed", range(5))
def test_a_gold_computation_makes_the_gold_tree_and_loses_nothing(seed):
    rng = random.Random(seed)
    toy = sentence(random_projective_tree(rng, 7), rng)
    gold = GoldTree(toy.heads, toy.deprels)
    system = transitions.create("arc_standard", len(RELATIONS), RELATIONS.index("root"))
    found = gold_trace(gold, RELATIONS, system, oracles.create("context_rows"))
    assert (found.heads, found.deprels) == (toy.heads, toy.deprels)
    assert len(found.steps) == 2 * len(toy)
    assert all(step.lost == 0 for step in found.steps)


@pytest.mark.parametrize("seed", range(5))
def test_a_models_computation_is_that_of_parsing_and_scored_as_by_the_oracle(model, seed):
    rng = random.Random(seed)
    toy = sentence(random_projective_tree(rng, 7), rng)
    oracle = oracles.create("context_rows")
    found = model_trace(model, toy, len(toy), oracle, GoldTree(toy.heads, toy.deprels))
    parsed = parse(model, [toy])
    assert found.heads == parsed.heads[1:].tolist()
    assert found.deprels == [RELATIONS[r] for r in parsed.relations[1:]]
    names = ("shift", "reduce_left", "reduce_right")
    for step in found.steps:
        scores = dict(zip(names, oracle.step_scores(toy.heads, step.stack, step.buffer), strict=True))
        assert all(scores[transition.name] == transition.gold_arcs for transition in step.transitions)
        assert sum(transition.probability or 0 for transition in step.transitions) == pytest.approx(1)
        assert step.lost == max(s for s in scores.values() if s is not None) - scores[step.transitions[step.taken].name]


def test_without_a_gold_tree_there_is_nothing_to_lose(model):
    toy = sentence([2, 0, 2])
    found = model_trace(model, toy, 3, oracles.create("context_rows"))
    assert {step.lost for step in found.steps} == {None}
    assert "gold" not in as_text(found, toy.forms)


@pytest.mark.parametrize("system", ["attardi", "lr_spine", "swap"])
def test_every_system_can_be_traced(system):
    toy = sentence([3, 4, 0, 3])
    made = transitions.create(system, len(RELATIONS), RELATIONS.index("root"))
    oracle = oracles.create(made.oracles[0])
    found = gold_trace(GoldTree(toy.heads, toy.deprels), RELATIONS, made, oracle)
    if not made.projective:
        assert found.heads == toy.heads
    shown = as_text(found, toy.forms)
    assert shown.count("\nstep ") + 1 == shown.count("  *  ") == len(found.steps)


def test_pages(model):
    toy = sentence([2, 0, 2])
    toy.forms[0] = "<b>"
    gold = GoldTree(toy.heads, toy.deprels)
    found = model_trace(model, toy, 3, oracles.create("context_rows"), gold)
    made = "".join(as_html(found, drawn(found, toy.forms, toy.upos, gold)))
    assert made.count("<h3>") == len(found.steps)
    assert "&lt;b&gt;_1" in made


def test_the_command(tmp_path, capsys, model):
    path = write_conllu(tmp_path / "a.conllu", [sentence([2, 0, 2]), sentence([0])])
    command.main([str(path), "--sentence", "2"])
    assert capsys.readouterr().out.endswith("2 steps, 0 of them not optimal; 0 gold arcs lost\n")
    model.save(tmp_path / "model")
    command.main([str(path), "--model", str(tmp_path / "model"), "-o", str(tmp_path / "a.html")])
    assert "probability" in (tmp_path / "a.html").read_text()
    with pytest.raises(ValueError, match=r"swap_lazy .*arc_standard.*: context_rows"):
        command.main([str(path), "--oracle", "swap_lazy"])
    with pytest.raises(SystemExit):
        command.main([str(path), "--model", str(tmp_path / "model"), "--system", "swap"])
    assert "--system and --degree are those of the model" in capsys.readouterr().err
    with pytest.raises(ValueError, match="there is no sentence 3"):
        command.main([str(path), "--sentence", "3"])
    with pytest.raises(SystemExit):
        command.main([str(path), "--system", "swap", "--degree", "3"])
    assert "--degree is only for --system attardi" in capsys.readouterr().err
    crossed = str(write_conllu(tmp_path / "c.conllu", [sentence([0]), sentence([3, 4, 0, 3])]))
    with pytest.raises(ValueError, match=r"sentence 2.* --oracle arc_hybrid_rows or --oracle arc_hybrid_tabular"):
        command.main([crossed, "--sentence", "2", "--system", "arc_hybrid", "--oracle", "arc_hybrid_local"])
    (tmp_path / "b.conllu").write_text("1\ta\t_\tX" + "\t_" * 6 + "\n\n")
    with pytest.raises(ValueError, match=r"HEAD is empty.* --model"):
        command.main([str(tmp_path / "b.conllu")])
