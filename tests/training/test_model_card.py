"""The model card names files, licence, scores and the command."""

from __future__ import annotations

import hashlib
import random

from parser.model import Model
from parser.training.model_card import ModelCard
from parser.training.passes import train
from tests.toy import sentence, settings, write_conllu


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
    Model.load(tmp_path / "run")
