"""The model card names files, licence, scores and the command."""

import hashlib
import random
from typing import Any

from parser.model.model import Model
from parser.model_folder import MODEL, TOKENIZER
from parser.training.model_card import ModelCard
from parser.training.observers import Observer, RunStart
from parser.training.run import train
from tests.toy import planned, sentence, write_conllu
from tests.training.small_runs import TEXT


def test_a_card_lies_beside_the_model(tmp_path):
    path = write_conllu(tmp_path / "toy.conllu", [sentence([2, 0, 2], random.Random(seed)) for seed in range(4)])
    (tmp_path / "LICENSE.txt").write_text("\nCC BY-SA 4.0\nmore\n")
    few = ["classifier.hidden=4", "vectors.attribute=null", "features.form=[]", "first_pass.epochs=1", "column=1"]
    run = planned(f"treebank.train={path}", f"treebank.dev={path}", "treebank.test=null", "treebank.name=toy", *few)
    metrics = train(run, tmp_path / "run", [ModelCard("optimal-step train column=1")])
    card = (tmp_path / "run" / "model" / "README.md").read_text()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert f"| treebank.train | toy.conllu | `{digest}` | CC BY-SA 4.0 |" in card
    assert f"| dev | {metrics['dev']['uas']:.2f} | {metrics['dev']['las']:.2f} |" in card
    assert "    optimal-step train column=1\n" in card
    assert "4 sentences, 12 words" in card
    assert str(tmp_path) not in card
    assert "Percentages, with the gold tags of the files (UPOS). LAS counts subtypes" in card
    assert "The input needs UPOS, tagged as the treebank is." in card
    assert "    optimal-step parse THIS_FOLDER input.conllu -o output.conllu\n" in card
    Model.load(tmp_path / "run")


def test_the_card_of_a_model_that_goes_on_names_the_data_of_all_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    few = ["classifier.hidden=4", "vectors.attribute=null", "features.form=[]", "first_pass.epochs=1", "column=1"]
    names = {"hu": "hu_toy-ud-train", "el": "el_toy-ud-train", "mine": "mine"}
    sums, before = {}, None
    for licence, (name, file) in enumerate(names.items()):
        folder = tmp_path / name
        folder.mkdir()
        path = write_conllu(folder / f"{file}.conllu", [sentence([2, 0, 2], random.Random(seed)) for seed in range(4)])
        (folder / "LICENSE.txt").write_text(f"licence {licence}")
        sums[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        start = [] if before is None else [f"start={before}"]
        parts = [f"treebank.train={path}", "treebank.dev=null", "treebank.test=null", f"treebank.name={name}"]
        run = planned(*parts, *few, *start)
        command = (
            f"optimal-step train 'treebank.train={{{name}: {path}}}' 'treebank.dev=[{path}, {path}]' {''.join(start)}/model"
        )
        train(run, folder / "run", [ModelCard(command)])
        before = folder / "run"
    card = (before / "model" / "README.md").read_text()
    assert f"| treebank.train | mine.conllu | `{sums['mine']}` | licence 2 |\n" in card
    assert f"| start/treebank.train | el_toy-ud-train.conllu | `{sums['el']}` | licence 1 |\n" in card
    assert f"| start/start/treebank.train | hu_toy-ud-train.conllu | `{sums['hu']}` | licence 0 |\n" in card
    assert "4 sentences, 12 words, and before on the data of start. " in card
    assert "\n* language: el, hu\n* date: 2023-11-14, UTC\n* size: 0.0 MB\n\n## Data" in card
    written = "'treebank.train={mine: mine.conllu}' 'treebank.dev=[mine.conllu, mine.conllu]' start=run/model"
    assert f"\n    optimal-step train {written}\n" in card
    assert str(tmp_path) not in card
    (before / "model" / "README.md").unlink()
    train(planned(f"treebank.train={path}", "treebank.name=x", *few, f"start={before}"), tmp_path / "run", [ModelCard("train")])
    card = (tmp_path / "run" / "model" / "README.md").read_text()
    assert "| start | data of a model without a card | | not known |" in card
    assert "words per second (trees of dev, one thread" in card


class HasTokenizer(Observer):
    """Stands for the training of a tokenizer."""

    def on_start(self, start: RunStart) -> None:
        self.folder = start.folder / MODEL

    def on_end(self, metrics: dict[str, Any]) -> None:
        (self.folder / TOKENIZER).touch()


def test_the_card_of_a_model_of_text_asks_for_no_tags_and_names_a_treebank(tmp_path):
    sentences = [sentence([2, 0, 2], random.Random(seed)) for seed in range(8)]
    for one in sentences:
        one.feats = [f"Case={tag.title()}" for tag in one.upos]
        one.lemmas = one.forms
    path = write_conllu(tmp_path / "toy.conllu", sentences)
    files = [f"treebank.{part}={{a: {path}, b: {path}}}" for part in ("train", "dev")]
    run = planned(*files, "treebank.test=null", "treebank.name=toy", *TEXT, "beam=local")
    metrics = train(run, tmp_path / "run", [HasTokenizer(), ModelCard(f"optimal-step train 'treebank.train={{a:{path}}}'")])
    card = (tmp_path / "run" / "model" / "README.md").read_text()
    assert "recipe=text, model=bilstm, beam=local, seed=1" in card
    assert "    optimal-step train 'treebank.train={a:toy.conllu}'\n" in card  # a is no drive
    assert "Percentages, of forms alone, without tags; upos, feats and lemma: predicted values that are right. LAS" in card
    assert "The input needs no tags; --tags=fill writes those that the model predicts; --treebank names" in card
    assert "names the one that it resembles (a, b). " in card
    assert "    optimal-step parse THIS_FOLDER text.txt --text --treebank a -o output.conllu\n" in card
    assert "* language" not in card
    assert " words per second (trees of dev, one thread, on the machine that trained it)\n" in card
    assert f"| {metrics['dev']['upos']:.2f} | {metrics['dev']['feats']:.2f} | {metrics['dev']['lemma']:.2f} |\n" in card
    assert "gold tags" not in card
