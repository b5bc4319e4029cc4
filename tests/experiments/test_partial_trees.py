"""Experiments on trees that are known in part: what is hidden, what is trained on, and who is asked what."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from experiments import annotation, hiding, partial_trees
from experiments.annotation import RANDOM, UNCERTAINTY, Annotation
from experiments.command import settings_of
from experiments.hiding import ARCS, FEW, SENTENCES
from experiments.partial_trees import COMPLETED, TRAINED, PartialTrees
from parser.conllu.checks import DEPREL, EMPTY, FORM, HEAD
from parser.data.treebank import read_treebank
from tests.toy import ROOT

SAMPLE = ROOT / "data" / "sample" / "sample-ud-train.conllu"
METRICS = {"train": {"words": 10, "known_heads": 5}, "dev": {"las": 70.0}, "test": {"las": 71.0, "uas": 75.0}}


def hidden(tmp_path, how: str, amounts: list[float], seed: int = 1) -> list:
    file = tmp_path / "hidden.conllu"
    file.write_text("".join(hiding.hidden(hiding.read(SAMPLE), how, amounts, seed)), encoding="utf-8")
    assert read_treebank(file, partial=True).n_known_heads > 0
    return hiding.read(file)


def known_share(sentences) -> float:
    words = sum(len(sentence) for sentence in hiding.read(SAMPLE))
    return sum(head != EMPTY for sentence in sentences for head in sentence.column(HEAD)) / words


def test_arcs_are_hidden_by_chance_and_sentences_as_a_whole(tmp_path):
    arcs = hidden(tmp_path, ARCS, [0.5])
    assert known_share(arcs) == pytest.approx(0.5, abs=0.02)
    assert all(
        (head == EMPTY) == (deprel == EMPTY) for s in arcs for head, deprel in zip(*map(s.column, (HEAD, DEPREL)), strict=True)
    )
    assert all(set(sentence.column(HEAD)) != {EMPTY} for sentence in arcs)
    sentences = hidden(tmp_path, SENTENCES, [0.5])
    assert known_share(sentences) == pytest.approx(0.5, abs=0.02)
    assert not any(EMPTY in sentence.column(HEAD) for sentence in sentences)
    few = [sum(head != EMPTY for head in sentence.column(HEAD)) for sentence in hidden(tmp_path, FEW, [5, 7, 2])]
    assert (len(few), sum(count == 2 for count in few) >= 7) == (12, True)


def test_what_is_hidden_depends_on_the_seed(tmp_path):
    lines = [[s.lines for s in hidden(tmp_path, ARCS, [0.5], seed)] for seed in (1, 1, 2)]
    assert lines[0] == lines[1] != lines[2]
    with pytest.raises(ValueError, match="--few asks for 100,000 sentences"):
        hidden(tmp_path, FEW, [99_999, 1, 1])


def test_hiding_is_a_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["hiding.py", str(SAMPLE), "-o", str(tmp_path / "out.conllu"), "--few", "3", "4", "1"])
    hiding.main()
    assert len(hiding.read(tmp_path / "out.conllu")) == 7
    assert capsys.readouterr().err == "7 sentences\n"


def test_what_is_trained_on(tmp_path, monkeypatch):
    trained, completed = [], []

    def train(training, folder, first_pass=None, fresh=False):
        training.settings()  # which are understood
        trained.append((folder.name, training.overrides, training.files))
        return METRICS

    def complete(model, given, target, beam):
        completed.append((model, given, beam))
        there = {tuple(one.column(FORM)) for one in hiding.read(given)}
        gold = ("".join(one.lines) for one in hiding.read(SAMPLE) if tuple(one.column(FORM)) in there)
        hiding.write(target, "".join(gold))

    monkeypatch.setattr(partial_trees, "run_training", train)
    monkeypatch.setattr(partial_trees, "complete", complete)
    monkeypatch.chdir(ROOT)
    wanted = settings_of(PartialTrees, "partial_trees", [f"runs={tmp_path}", "languages=[sample]", "shares=[0.5,1.0]"])
    cells = partial_trees.cells(wanted)
    assert [cell.key[:3] for cell in cells] == [
        (SENTENCES, "0.5", TRAINED),
        (SENTENCES, "1.0", TRAINED),
        (ARCS, "0.5", TRAINED),
        (ARCS, "0.5", COMPLETED),
        (FEW, "100+0+0", TRAINED),
        (FEW, "100+800+2", TRAINED),
        (FEW, "100+800+2", COMPLETED),
    ]
    found = list(partial_trees.measure(wanted, cells[2:4]))
    assert [key for key, _ in found] == [cell.key for cell in cells[2:4]]
    assert [values.get("completed_right") for _, values in found] == [None, "100.0000"]
    folder = tmp_path / "sample-arcs-0.5-seed1"
    partial = ("treebank.partial=true",)
    assert trained == [
        (TRAINED, partial, (f"treebank.train={folder / 'train.conllu'}",)),
        (COMPLETED, partial, (f"treebank.train={folder / 'completed.conllu'}",)),
    ]
    assert completed == [(folder / TRAINED / "model", folder / "train.conllu", 8)]


def parsed(sentence, sure: float):
    """What a parser might say of a sentence: the gold tree, but for its root, which is below the first word."""
    heads = [0, *map(int, sentence.column(HEAD)[1:])]
    heads[sentence.column(HEAD).index("0")] = 1
    return SimpleNamespace(
        forms=sentence.column(FORM),
        heads=heads,
        deprels=sentence.column(DEPREL),
        probabilities=[sure] * len(heads),
    )


def test_words_that_are_asked_about_are_corrected_and_the_rest_stays_sure_or_unknown():
    gold = next(one for one in hiding.read(SAMPLE) if len(one) > 5 and one.column(HEAD)[0] != "0")
    root = gold.column(HEAD).index("0")
    other = 1 if root != 1 else 2
    for sure, word, others in ((0.99, other, True), (0.5, other, False), (0.99, root, False)):  # there would be two roots
        text = annotation.corrected(gold, parsed(gold, sure), {word}, 0.98)
        heads = [line.split("\t")[HEAD] for line in text.splitlines() if line[:1].isdigit()]
        assert heads[word] == gold.column(HEAD)[word]
        assert (heads.count(EMPTY) < len(heads) - 1) == others


def test_the_loop_goes_on_with_all_files(tmp_path, monkeypatch):
    trained, asked, completed = [], [], []

    def train(training, folder, first_pass=None, fresh=False):
        training.settings()
        trained.append((folder.name, first_pass and first_pass.parent.name, training.files[-1].count(".conllu")))
        return METRICS

    def ask(parser, pool, strategy, most, sure, seed):
        asked.append((strategy, len(pool)))
        return "", pool[1:], most

    monkeypatch.setattr(annotation, "run_training", train)
    monkeypatch.setattr(annotation, "ask", ask)
    monkeypatch.setattr(
        annotation, "complete", lambda model, given, target, beam: completed.append((model.parent.name, given.name))
    )
    monkeypatch.setattr(annotation.Parser, "load", lambda folder: None)
    monkeypatch.chdir(ROOT)
    wanted = settings_of(
        Annotation, "annotation", [f"runs={tmp_path}", "languages=[sample]", "sentences=10", "words=[100]", "seeds=1"]
    )
    cells = annotation.cells(wanted)
    found = list(annotation.measure(wanted, cells))
    assert [key for key, _ in found] == [cell.key for cell in cells]
    assert [values["corrected"] for _, values in found] == ["0", "100", "200"] * 2
    assert trained == [
        ("first", None, 1),
        *(
            (f"{one}{n}", before.format(one), n + 1)
            for one in (UNCERTAINTY, RANDOM)
            for n, before in ((1, "first"), (2, "{}1"))
        ),
    ]
    before_each = [before for _, before, _ in trained if before]
    assert completed == [*zip(before_each, (f"{name}.conllu" for name, before, _ in trained if before), strict=True)]
    others = len(hiding.read(SAMPLE)) - 10
    assert asked == [(one, others - n) for one in (UNCERTAINTY, RANDOM) for n in (0, 1)]
