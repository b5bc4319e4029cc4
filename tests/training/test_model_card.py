"""The model card names files, licence, scores and the command."""

from __future__ import annotations

import hashlib
import random

from parser.model.model import Model
from parser.training.model_card import ModelCard
from parser.training.run import train
from tests.toy import sentence, settings, write_conllu
from tests.training.small_runs import TEXT


def test_a_card_lies_beside_the_model(tmp_path):
    path = write_conllu(tmp_path / "toy.conllu", [sentence([2, 0, 2], random.Random(seed)) for seed in range(4)])
    (tmp_path / "LICENSE.txt").write_text("\nCC BY-SA 4.0\nmore\n")
    few = ["classifier.hidden=4", "vectors.attribute=null", "features.form=[]", "first_pass.epochs=1", "column=1"]
    run = settings(f"treebank.train={path}", f"treebank.dev={path}", "treebank.test=null", "treebank.name=toy", *few)
    metrics = train(run, tmp_path / "run", [ModelCard("optimal-step train column=1")])
    card = (tmp_path / "run" / "model" / "README.md").read_text()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert f"| treebank.train | toy.conllu | `{digest}` | CC BY-SA 4.0 |" in card
    assert f"| dev | {metrics['dev']['uas']:.2f} | {metrics['dev']['las']:.2f} |" in card
    assert "    optimal-step train column=1\n" in card
    assert "4 sentences, 12 words" in card
    assert str(tmp_path) not in card
    assert "Percentages, with the gold tags of the files (UPOS); las" in card
    assert "The input needs UPOS, tagged as the treebank is." in card
    Model.load(tmp_path / "run")


def test_the_card_of_a_model_of_text_asks_for_no_tags(tmp_path):
    sentences = [sentence([2, 0, 2], random.Random(seed)) for seed in range(8)]
    for one in sentences:
        one.feats = [f"Case={tag.title()}" for tag in one.upos]
        one.lemmas = one.forms
    path = write_conllu(tmp_path / "toy.conllu", sentences)
    files = [f"treebank.train={path}", f"treebank.dev={path}", "treebank.test=null", "treebank.name=toy"]
    run = settings(*files, *TEXT, "beam=local")
    metrics = train(run, tmp_path / "run", [ModelCard("optimal-step train recipe=text")])
    card = (tmp_path / "run" / "model" / "README.md").read_text()
    assert "recipe=text, model=bilstm, beam=local, seed=1" in card
    assert "Percentages, of forms alone, without tags; upos, feats and lemma: predicted values that are right; las" in card
    assert "The input needs no tags; --tags=fill writes those that the model predicts." in card
    assert f"| {metrics['dev']['upos']:.2f} | {metrics['dev']['feats']:.2f} | {metrics['dev']['lemma']:.2f} |\n" in card
    assert "gold tags" not in card
