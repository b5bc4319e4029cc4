"""Models that read subwords: trained, saved, packed, loaded and parsed with, and without what they need."""

from __future__ import annotations

import random
import shutil
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch

from parser import Parser
from parser.commands import get, pack
from parser.data.attributes import SUBWORDS
from parser.data.parts.subwords import WEIGHTS, SubwordError, Subwords, read_pretrained
from parser.data.vocabulary import N_RESERVED
from parser.decoding.parsers import parse
from parser.model.model import Model
from parser.model_folder import MODEL, SUBWORD_TOKENIZER, TENSORS, VOCABULARIES, ModelError, read_header, read_tensors
from parser.settings.groups import SettingsError
from parser.storage import sha256_of
from parser.training.model_card import ModelCard
from parser.training.run import train
from parser.training.run_folder import Manifest
from tests.forgery import change, set_at
from tests.parsed_files import parse_file
from tests.pretrained import tokenizers, write_encoder
from tests.toy import planned, sentence, write_conllu

pytestmark = pytest.mark.extras
tokenizers()

VECTORS = "tokens.inputs.vectors.subwords"
SMALL = [
    "recipe=text", "encoder.layers=2", "encoder.hidden=6", "encoder.characters.hidden=4", "encoder.heads.size=4",
    "encoder.heads.relation_size=4", "encoder.lemmas=null", "classifier.hidden=8", "vectors.dimensions=4", "vectors.epochs=1",
    "first_pass.epochs=1", "second_pass.epochs=1",
]  # fmt: skip


def planned_run(folder: Path, *more: str):
    toys = [sentence([2, 0, 2, 2], random.Random(seed)) for seed in range(30)]
    parts = {"train": toys[:20], "dev": toys[20:25], "test": toys[25:]}
    files = [f"treebank.{part}={write_conllu(folder / f'{part}.conllu', some)}" for part, some in parts.items()]
    return planned(*files, f"vectors.subwords={folder / 'encoder'}", *SMALL, *more)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("subwords")
    write_encoder(folder / "encoder")
    train(planned_run(folder), folder / "run", [ModelCard("optimal-step train")])
    return folder / "run"


@pytest.fixture
def copied(run, tmp_path) -> Path:
    return shutil.copytree(run / MODEL, tmp_path / "model")


def test_training_leaves_the_vectors_as_they_were_read(run):
    toys = (line.split("\t")[1] for line in (run.parent / "train.conllu").read_text().splitlines() if "\t" in line)
    subwords, vectors = read_pretrained(run.parent / "encoder", toys)
    assert read_header(run / MODEL)[VECTORS].type == "F16"
    np.testing.assert_array_equal(read_tensors(run / MODEL)[VECTORS], vectors)
    assert (run / MODEL / SUBWORD_TOKENIZER).read_text(encoding="utf-8") == subwords.description
    assert len(vectors) > N_RESERVED


def test_the_same_seed_gives_the_same_bytes(run, tmp_path):
    train(planned_run(run.parent), tmp_path)
    for name in (TENSORS, SUBWORD_TOKENIZER, VOCABULARIES):
        assert (tmp_path / MODEL / name).read_bytes() == (run / MODEL / name).read_bytes()


def test_the_run_says_what_it_was_made_from(run):
    sums = Manifest.of(planned_run(run.parent)).files
    assert sums[f"vectors.subwords/{WEIGHTS}"] in (run / MODEL / "README.md").read_text(encoding="utf-8")
    assert len([key for key in sums if key.startswith("vectors.subwords/")]) == 2


def test_what_is_loaded_parses_as_what_was_trained(run):
    model, text = Model.load(run), (run.parent / "test.conllu").read_bytes()
    trained = Model.load(run)
    assert trained.classifier is not None  # torch's
    written = []
    for one in (model, trained):
        written.append(BytesIO())
        parse_file(one, BytesIO(text), written[-1])
    assert written[0].getvalue() == written[1].getvalue() != text
    assert model._classifier is None
    parsed = Parser.load(run).parse([["the", "w1", "☃", ""]])[0]
    assert len(parsed.heads) == 4


def test_frozen_vectors_of_tokens_are_torchs(run):
    model = Model.load(run)
    words = sentence([0, 1, 1, 1])
    words.forms = ["the", "nevermet", "☃", "w" * 50]
    encoded = model.vocabularies.encode([words, sentence([0])])
    expected = model.classifier.tokens.encoded(encoded)
    torch.testing.assert_close(
        torch.from_numpy(model.classifier.tokens.frozen().encode(encoded)), expected, rtol=1e-4, atol=1e-5
    )


def test_a_form_goes_in_as_the_mean_of_the_vectors_of_its_pieces(run):
    model, words = Model.load(run), sentence([0, 1, 1])
    words.forms = ["the", "nevermet", ""]
    pieces = [[], *(model.vocabularies.parts[1].pieces(form)[0] for form in words.forms)]
    assert {len(some) for some in pieces} == {0, 1, 8}
    values = torch.from_numpy(model.vocabularies.encode([words]).values.T.copy())
    table = read_tensors(run / MODEL)[VECTORS][N_RESERVED:]
    expected = [table[some].mean(axis=0) if some else np.zeros(table.shape[1], np.float32) for some in pieces]
    tokens = model.classifier.tokens
    first = sum(size for name, size in tokens.inputs.sizes.items() if name != SUBWORDS)
    found = tokens._embed(values, np.array([len(values)]), dropping=False)[:, first : first + table.shape[1]]
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-5, atol=1e-6)


def test_it_is_packed_and_fetched(run, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(
        sys, "argv", ["pack", str(run), "-o", str(tmp_path / "toy.zip"), "--dev", str(run.parent / "dev.conllu")]
    )
    pack.main()
    monkeypatch.setattr(sys, "argv", ["get", "toy", "--from", str(tmp_path)])
    get.main()
    words = [["w1", "w2", "the"]]
    assert [p.heads for p in Parser.load("toy").parse(words)] == [p.heads for p in Parser.load(run).parse(words)]


def test_it_is_served(run):
    pytest.importorskip("fastapi", reason="FastAPI is not installed (extra serve)")
    client = pytest.importorskip("fastapi.testclient", reason="httpx2 is not installed (extra dev)").TestClient
    from parser.serving.app import Limits, create_app
    from parser.serving.service import Service

    model, text = Model.load(run), (run.parent / "test.conllu").read_text(encoding="utf-8")
    with client(create_app(Service(model, "toy"), Limits(bytes=100_000, seconds=600))) as asked:
        answer = asked.post("/process", data={"data": text, "parser": ""}).json()
    parse_file(model, BytesIO(text.encode()), written := BytesIO())
    assert answer["result"] == written.getvalue().decode()


def test_pipelines_of_spacy_hold_it(run):
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed (extra spacy)")
    nlp = spacy.blank("hu")
    nlp.add_pipe("optimal_step", config={"model": str(run), "allow_missing_columns": True})
    doc = nlp("the w1 nost")
    [expected] = Parser.load(run).parse([["the", "w1", "nost"]])
    assert [0 if word.head == word else word.head.i + 1 for word in doc] == expected.heads
    again = spacy.blank("hu")
    again.add_pipe("optimal_step")
    assert [word.head.i for word in again.from_bytes(nlp.to_bytes())("the w1 nost")] == [word.head.i for word in doc]


def test_a_model_that_goes_on_keeps_its_subwords(run, tmp_path):
    files = [f"treebank.{part}={run.parent / part}.conllu" for part in ("train", "dev", "test")]
    train(planned(*files, *SMALL, f"start={run}"), tmp_path / "run")
    np.testing.assert_array_equal(read_tensors(tmp_path / "run" / MODEL)[VECTORS], read_tensors(run / MODEL)[VECTORS])
    name = SUBWORD_TOKENIZER
    assert (tmp_path / "run" / MODEL / name).read_bytes() == (run / MODEL / name).read_bytes()
    with pytest.raises(SettingsError, match="leave out"):
        train(planned_run(run.parent, f"start={run}"), tmp_path / "other")


EDITS = {
    "another tokenizer": lambda folder: change(folder / SUBWORD_TOKENIZER, set_at("version", "1.0 ")),
    "a sum that is no sum": lambda folder: change(folder / VOCABULARIES, set_at("subwords", 3)),
    "no sum": lambda folder: change(folder / VOCABULARIES, lambda parts: parts.pop("subwords")),
    "no tokenizer": lambda folder: (folder / SUBWORD_TOKENIZER).unlink(),
    "a tokenizer that is none": lambda folder: (folder / SUBWORD_TOKENIZER).write_text("{"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_parts_that_do_not_belong_together(copied, edit):
    EDITS[edit](copied)
    with pytest.raises(ModelError, match=rf"{SUBWORD_TOKENIZER}|{VOCABULARIES}"):
        Model.load(copied)


def test_a_tokenizer_with_more_pieces_than_vectors(copied):
    path = copied / SUBWORD_TOKENIZER
    change(path, lambda parts: parts["model"]["vocab"].append(["more", -1.0]))
    change(copied / VOCABULARIES, set_at("subwords", sha256_of(path)))
    assert len(Subwords(path.read_text(encoding="utf-8"))) == len(read_tensors(copied)[VECTORS]) + 1
    with pytest.raises(ModelError, match=rf"{VECTORS} is F16"):
        Model.load(copied)


def test_parsing_without_the_package_says_how_to_install_it(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(SubwordError, match="pip install tokenizers"):
        Parser.load(run)


def test_a_folder_that_is_not_there(run, tmp_path):
    with pytest.raises(SubwordError, match=r"cannot be read .* name a folder"):
        train(planned_run(run.parent, f"vectors.subwords={tmp_path / 'no'}"), tmp_path / "run")


def test_beside_a_parser_without_an_encoder_they_are_refused():
    with pytest.raises(SettingsError, match=r"vectors\.subwords=encoder is used only with model=bilstm"):
        planned("treebank=sample", "vectors.subwords=encoder")


def test_files_are_parsed_as_sentences_one_by_one(run):
    model = Model.load(run)
    gold = [sentence([2, 0, 2, 2], random.Random(seed)) for seed in range(25, 30)]
    written = BytesIO()
    parse_file(model, BytesIO((run.parent / "test.conllu").read_bytes()), written)
    heads = [line.split("\t")[6] for line in written.getvalue().decode().splitlines() if line and not line.startswith("#")]
    parses = parse(model, gold)
    assert heads == [str(parses.heads[5 * s + i]) for s in range(len(gold)) for i in range(1, 5)]
