"""The packs in models/: each is the one that the index lists, and parses a sentence of ours to the
tree that is committed.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from parser import Parser
from parser.model import packs
from parser.model_folder import CARD, EXAMPLE, INDEX, has_tokenizer, text_folder
from parser.storage import sha256_of
from scripts import make_models
from tests.toy import ROOT

MODELS = ROOT / "models"
LISTED = json.loads((MODELS / INDEX).read_text(encoding="utf-8"))
TREES = json.loads((ROOT / "tests" / "shipped_trees.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("OPTIMAL_STEP_MODELS", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache" / "optimal-step"


def skip_without_tokenizer(folder: Path) -> None:
    if not has_tokenizer(folder):
        pytest.skip("the pack was made before our tokenizer, so it parses no text")


@pytest.mark.parametrize("name", sorted(LISTED))
def test_a_shipped_model_parses_by_name(name, cache):
    assert sha256_of(MODELS / LISTED[name]["file"]) == LISTED[name]["sha256"]
    parser = Parser.load(name)
    (folder,) = cache.glob(f"{name}-*")
    assert LISTED[name]["licence"] in (folder / CARD).read_text(encoding="utf-8")
    example = (text_folder(folder) / EXAMPLE).read_text(encoding="utf-8")
    assert f"# text = {make_models.MODELS[name].example}\n" in example, "no sentence of a treebank"
    skip_without_tokenizer(folder)
    trees = parser.parse_text(make_models.MODELS[name].example)
    assert [
        [list(word) for word in zip(tree.forms, tree.heads, tree.deprels, strict=True)]
        for tree in trees
    ] == TREES[name]


@pytest.mark.extras
def test_the_noun_chunks_of_the_page_are_those_of_the_model():
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed (extra spacy)")
    # as the entry point of an installed package
    importlib.import_module("parser.library.spacy_component")
    nlp = spacy.blank("en")
    nlp.add_pipe("optimal_step", config={"model": "en", "tags": "fill"})
    chunks = [chunk.text for chunk in nlp("The old man saw a small dog in the park.").noun_chunks]
    assert f"prints `{chunks}`" in (ROOT / "docs" / "library.md").read_text(encoding="utf-8")


@pytest.mark.extras
def test_portuguese_contractions_stay_whole_with_a_warning(caplog, cache):
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed (extra spacy)")
    importlib.import_module("parser.library.spacy_component")
    nlp = spacy.blank("pt")
    nlp.add_pipe("optimal_step", config={"model": "pt"})
    skip_without_tokenizer(next(cache.glob("pt-*")))
    for _ in range(2):
        nlp("Ela foi ao mercado da vila.")
    [message] = [message for message in caplog.messages if "whole" in message]
    assert "such as ao (a o), da (de a);" in message


def test_what_is_filled_fits_the_upos_given():
    """Of a model from before folders named the tags and rules that each UPOS had."""
    given = [
        [("the", "DET"), ("felt", "NOUN")],
        [("They", "PRON"), ("felt", "VERB"), ("rose", "NOUN")],
    ]
    found = [
        [(word.lemma, word.xpos, word.feats) for word in tree.words]
        for tree in Parser.load("en").parse(given)
    ]
    assert found[0] == [("the", "DT", "Definite=Def|PronType=Art"), ("felt", "NN", "Number=Sing")]
    assert found[1][1][:2] == ("feel", "VBD")
    assert found[1][2] == ("rose", "NN", "Number=Sing")


def test_all_of_them_are_small():
    sizes = {name: (MODELS / entry["file"]).stat().st_size for name, entry in LISTED.items()}
    tuned = sum(size for name, size in sizes.items() if LISTED[name]["recipe"] == "tuned")
    assert tuned < 30e6, "a pretrained encoder is in it"
    assert sum(sizes.values()) - tuned < 60e6
    assert sizes["en"] < 6e6, "it is in the wheel"


def test_pages_say_what_the_index_says():
    assert make_models.tables(LISTED) in (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    readme = (MODELS / "README.md").read_text(encoding="utf-8")
    for entry in LISTED.values():
        assert f"`{entry['file']}`" in readme
        assert entry["treebank"].split()[0] in readme


def test_the_index_is_that_of_a_checkout():
    assert Path(packs.SHIPPED) == MODELS
    assert {"en"} <= set(packs.shipped_packs()) == set(LISTED) <= set(make_models.MODELS)
