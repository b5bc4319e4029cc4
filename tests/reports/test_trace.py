"""A computation step by step: what is said of each step is what parsing and the oracle say by
themselves.
"""

import random
import re

import pytest
import torch

import oracles
from parser import Parser, transitions
from parser.commands import trace as command
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
from parser.decoding.search import parse
from parser.inference.calibration import Calibration
from parser.model.trained_model import TrainedModel
from parser.network_spec import ClassifierSpec
from parser.reports import trace
from parser.reports.trace import (
    GoldTree,
    JudgedTransition,
    Step,
    Trace,
    as_html,
    as_text,
    candidates,
    drawn,
    gold_trace,
    model_trace,
)
from parser.transitions.features import slots_of
from tests.random_trees import random_projective_tree
from tests.serving.browser import browser, in_browser
from tests.toy import sentence, write_conllu
from tests.transition_systems import systems

RELATIONS = ["det", "nsubj", "obj", "punct", "root"]


def new_model() -> TrainedModel:
    torch.manual_seed(1)
    slots = slots_of({"upos": ["s0", "s1", "b0"], "deprel": ["s0.l1"]})
    tags = Vocabularies({"upos": Vocabulary(["ADJ", "DET", "NOUN", "PUNCT", "VERB"])})
    return TrainedModel.new(
        tags, Vocabulary(RELATIONS), slots, ClassifierSpec(8, "relu", 0.0, 0.0, 0.0, {})
    )


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    return new_model()


@pytest.fixture(params=range(5))
def toy(request):
    rng = random.Random(request.param)
    return sentence(random_projective_tree(rng, 7), rng)


def test_a_gold_computation_makes_the_gold_tree_and_loses_nothing(toy):
    system = transitions.create("arc_standard", len(RELATIONS), RELATIONS.index("root"))
    found = gold_trace(
        GoldTree(toy.heads, toy.deprels), RELATIONS, system, oracles.create("context_rows")
    )
    assert (found.heads, found.deprels) == (toy.heads, toy.deprels)
    assert len(found.steps) == 2 * len(toy)
    assert all(step.lost == 0 for step in found.steps)


def test_a_models_computation_is_that_of_parsing_and_scored_as_by_the_oracle(model, toy):
    oracle = oracles.create("context_rows")
    found = model_trace(model, toy, len(toy), oracle, GoldTree(toy.heads, toy.deprels))
    parsed = parse(model, [toy])
    assert found.heads == parsed.heads[1:].tolist()
    assert found.deprels == [RELATIONS[r] for r in parsed.relations[1:]]
    names = ("shift", "reduce_left", "reduce_right")
    for step in found.steps:
        scores = dict(
            zip(names, oracle.step_scores(toy.heads, step.stack, step.buffer), strict=True)
        )
        assert all(
            scores[transition.name] == transition.gold_arcs for transition in step.transitions
        )
        assert (
            step.lost
            == max(s for s in scores.values() if s is not None)
            - scores[step.transitions[step.taken].name]
        )


def test_the_transition_that_is_taken_is_the_most_probable_of_those_allowed(model, monkeypatch):
    monkeypatch.setattr(trace, "_TOP", 1000)
    monkeypatch.setattr(trace, "_LEAST", 0.0)
    found = model_trace(model, sentence([2, 0, 2, 3]), 4, oracles.create("context_rows"))
    outputs = 1 + 2 * len(RELATIONS)
    for step in found.steps:
        listed = step.transitions
        allowed = {
            i: one.probability for i, one in enumerate(listed) if one.probability is not None
        }
        assert (len(listed), max(allowed, key=allowed.__getitem__)) == (outputs, step.taken)
        raw = sum(one.raw_probability for one in listed)
        assert (raw, sum(allowed.values())) == (pytest.approx(1), pytest.approx(1))
        # what is not allowed leaves its share to the others
        share = sum(listed[i].raw_probability for i in allowed)
        assert all(listed[i].raw_probability == pytest.approx(share * allowed[i]) for i in allowed)
    last = found.steps[-1]
    assert [one.relation for one in last.transitions if one.probability is not None] == ["root"]
    assert (
        last.transitions[last.taken].probability
        == 1.0
        > last.transitions[last.taken].raw_probability
    )


def test_a_step_lists_a_few_labelled_transitions_and_one_of_each_that_is_allowed(model):
    found = model_trace(model, sentence([2, 0, 2, 3]), 4, oracles.create("context_rows"))
    for step in found.steps:
        assert len(step.transitions) <= trace._TOP + 2
        assert {one.name for one in step.transitions if one.probability is not None} == {
            name
            for name, there in {
                "shift": step.buffer,
                "reduce_left": len(step.stack) > 2 or not step.buffer,
                "reduce_right": len(step.stack) > 2,
            }.items()
            if there
        }


def test_the_calibrated_probability_is_that_of_the_library(model):
    toy = sentence([2, 0, 2, 3])
    calibrated = new_model()
    calibrated.calibration = Calibration((-2.0, 2.0), (0.25, 0.75), 0.875)
    found = model_trace(calibrated, toy, 4, oracles.create("context_rows"))
    [parsed] = Parser(calibrated).parse([list(zip(toy.forms, toy.upos, strict=True))])
    assert [of_word[0].calibrated for of_word in candidates(found)] == pytest.approx(
        parsed.probabilities
    )
    assert [of_word[0].probability for of_word in candidates(found)] != pytest.approx(
        parsed.probabilities
    )
    assert "calibrated: 0.8750 that this arc is right" in as_text(found, toy.forms)
    plain = model_trace(model, toy, 4, oracles.create("context_rows"))
    assert "This model has no calibrated probabilities" in as_text(plain, toy.forms)


def test_an_arc_that_was_undone_is_one_that_was_considered():
    def step(head: int | None, relation: str, probability: float) -> Step:
        child = None if head is None else 1
        return Step(
            [0, 1],
            [2],
            [JudgedTransition("la", head, child, relation, None, probability, probability)],
            0,
            None,
        )

    undone = Trace([step(2, "obj", 0.9), step(3, "det", 0.5)], [3, 3, 0], ["det"] * 3)
    [[got, other], *_] = candidates(undone)
    assert (got.head, got.step, got.taken) == (3, 2, True)
    assert (other.head, other.step, other.taken) == (2, 1, False)
    made = "".join(as_html(undone, drawn(undone, ["a"] * 3, ["X"] * 3, None)))
    assert re.findall(r'data-made="(.*?)"', made) == ["", "1"]


def test_without_a_gold_tree_there_is_nothing_to_lose(model):
    toy = sentence([2, 0, 2])
    found = model_trace(model, toy, 3, oracles.create("context_rows"))
    assert {step.lost for step in found.steps} == {None}
    assert "gold" not in as_text(found, toy.forms)


@pytest.mark.parametrize("system", systems())
def test_every_system_can_be_traced_and_an_arc_is_named_for_the_side_of_its_child_as_textbooks_do(
    system,
):
    made = transitions.create(system, len(RELATIONS), RELATIONS.index("root"))
    for heads in ([3, 4, 0, 3], [2, 0, 2, 3]):
        toy = sentence(heads)
        found = gold_trace(
            GoldTree(toy.heads, toy.deprels), RELATIONS, made, oracles.create(made.oracles[0])
        )
        assert found.heads == toy.heads or (made.projective and heads[0] == 3)
        shown = as_text(found, toy.forms)
        assert shown.count("\nstep ") + 1 == shown.count("  *  ") == len(found.steps)
    names = ("reduce_right", "reduce_left") if system == "arc_standard" else ("la", "ra")
    for name, side in zip(names, ("LEFT", "RIGHT"), strict=True):
        lines = [line for line in shown.splitlines() if f"{name} ({side}-ARC)" in line]
        assert lines
        for line in lines:
            ends = re.findall(r"(\S+) -> (\S+)", line)[0]
            head, child = (int(end.replace("ROOT", "_0").rpartition("_")[2]) for end in ends)
            assert (child > head) == (side == "RIGHT")


def test_pages(model):
    toy = sentence([2, 0, 2])
    toy.forms[0] = "<b>"
    gold = GoldTree(toy.heads, toy.deprels)
    found = model_trace(model, toy, 3, oracles.create("context_rows"), gold)
    made = "".join(as_html(found, drawn(found, toy.forms, toy.upos, gold)))
    assert made.count("<h3>") == made.count("<section") == len(found.steps)
    sections = re.findall(
        r'<section data-made="([ \d]*)">.*?>\*</td><td>([^<]*)</td>', made, re.DOTALL
    )
    heads = [(len(words.split()), name) for words, name in sections]
    assert [n for n, _ in heads] == [
        sum("ARC" in name for _, name in heads[:step]) for step in range(1, len(heads) + 1)
    ]
    drawn_children = set(re.findall(r'<g data-child="(\d)"', made.partition("<section")[0]))
    assert set(sections[-1][0].split()) == drawn_children == {"1", "2", "3"}
    assert "of allowed: the probability among the transitions" in made
    assert "&lt;b&gt;_1" in made


def test_a_page_calls_arcs_gold_where_they_are(model):
    """A gold computation is not the parser's; one of a model has gold arcs,
    gold heads with another relation, and others.
    """
    for heads, told in (
        ([2, 0, 2], "All arcs of the drawing are gold."),
        ([3, 4, 0, 3], "Above the words are its arcs: gold, or "),
    ):
        toy = sentence(heads)
        gold = GoldTree(toy.heads, toy.deprels)
        system = transitions.create("arc_standard", len(RELATIONS), RELATIONS.index("root"))
        found = gold_trace(gold, RELATIONS, system, oracles.create("context_rows"))
        made = "".join(as_html(found, tree := drawn(found, toy.forms, toy.upos, gold)))
        assert f"This is a gold computation. {told}" in made
        assert "of the parser" not in made
        assert made.count("This arc is gold.") == len(heads) - len(tree.missed())
    toy = sentence([2, 0, 2, 3])
    gold = GoldTree(toy.heads, toy.deprels)
    found = model_trace(model, toy, 4, oracles.create("context_rows"), gold)
    made = "".join(as_html(found, tree := drawn(found, toy.forms, toy.upos, gold)))
    assert "Above the words are the arcs of the parser" in made
    assert made.count("This arc is gold.") == 4 - len(tree.missed())
    same_heads = sum(ours == theirs for ours, theirs in zip(found.heads, toy.heads, strict=True))
    assert made.count("The head is gold; the gold relation is ") == same_heads - made.count(
        "This arc is gold."
    )
    found = model_trace(model, toy, 4, oracles.create("context_rows"))
    assert "gold" not in "".join(as_html(found, drawn(found, toy.forms, toy.upos, None)))


VISIBLE = """[[...document.querySelectorAll(".steps g[data-child]")].filter(
  arc => arc.style.visibility !== "hidden").length,
  document.querySelector("section:not([hidden]) h3, .end:not([hidden]) b").textContent]"""


@pytest.mark.extras
@in_browser
def test_a_page_begins_with_the_first_configuration_and_ends_with_the_tree(tmp_path):
    """Already the first step of this system makes an arc."""
    path = write_conllu(tmp_path / "a.conllu", [sentence([2, 0, 2])])
    command.main([str(path), "--system", "pointer", "-o", str(tmp_path / "a.html")])
    with browser(tmp_path, "900,900") as opened:
        opened.go((tmp_path / "a.html").as_uri())
        seen = [opened.value(VISIBLE)]
        while not opened.value("(on = document.querySelectorAll('.steps button')[1]).disabled"):
            opened.value("on.click()")
            seen.append(opened.value(VISIBLE))
    assert seen == [[0, "step 1 of 3"], [1, "step 2 of 3"], [2, "step 3 of 3"], [3, "After step 3"]]


def test_the_command(tmp_path, capsys, model):
    path = write_conllu(tmp_path / "a.conllu", [sentence([2, 0, 2]), sentence([0])])
    command.main([str(path), "--sentence", "2"])
    assert "\n2 steps, 0 of them not optimal; 0 gold arcs lost\n" in capsys.readouterr().out
    model.save(tmp_path / "model")
    command.main([str(path), "--model", str(tmp_path / "model"), "-o", str(tmp_path / "a.html")])
    assert "of allowed" in (tmp_path / "a.html").read_text()


def test_what_cannot_be_traced(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_conllu(tmp_path / "a", [sentence([2, 0, 2]), sentence([0]), sentence([3, 4, 0, 3])])
    (tmp_path / "untagged").write_text("1\ta\t_\tX" + "\t_" * 6 + "\n\n")
    crossed = "a --sentence 3 --system"
    for arguments, message in (
        ("a --oracle swap_lazy", r"swap_lazy .*arc_standard.*: context_rows"),
        ("a --sentence 4", "there is no sentence 4"),
        (
            f"{crossed} arc_hybrid --oracle arc_hybrid_local",
            r"sentence 3.* arc_hybrid_rows or --oracle arc_hybrid_tabular",
        ),
        # the sums are not exact
        (f"{crossed} arc_eager --oracle arc_eager_local", r"sentence 3.* arc_eager_rows$"),
        ("untagged", r"no word has a HEAD.* --model"),
    ):
        with pytest.raises(ValueError, match=message):
            command.main(arguments.split())
    for options, message in (
        ("--model model --system swap", "the model sets --system and --degree"),
        ("--system swap --degree 3", "--degree is only for --system attardi"),
    ):
        with pytest.raises(SystemExit):
            command.main(["a", *options.split()])
        assert message in capsys.readouterr().err
