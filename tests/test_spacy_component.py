"""The component of spaCy, in real pipelines."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

import pytest

from parser import Parser
from parser.decoding.missing_columns import MissingColumnsError
from parser.decoding.tag_writing import NoTagsError
from parser.model_folder import ModelError
from tests.classifier.test_text_model import random_text_model
from tests.forgery import small_model
from tests.toy import ROOT

spacy = pytest.importorskip("spacy", reason="spaCy is not installed (extra spacy)")
from spacy import displacy  # noqa: E402
from spacy.tokens import Doc  # noqa: E402

import parser.spacy_component  # noqa: E402, F401 - registers the factory

TEXTS = ["ab a éa bb. ba a!", "a", "", "  \n ", "ab  b\n ba. \n éab"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spacy") / "model"
    random_text_model().save(folder)
    return folder


def pipeline(folder, **config):
    nlp = spacy.blank("hu")
    nlp.add_pipe("optimal_step", config={"model": str(folder), "allow_missing_columns": True, **config})
    return nlp


def test_the_trees_are_those_of_the_library(folder):
    doc = pipeline(folder)(TEXTS[0])
    sentences = [["ab", "a", "éa", "bb", "."], ["ba", "a", "!"]]
    assert [[token.text for token in sentence] for sentence in doc.sents] == sentences
    expected = Parser.load(folder).parse(sentences, allow_missing_columns=True)
    for sentence, tree in zip(doc.sents, expected, strict=True):
        words = list(sentence)
        assert [0 if word.head == word else word.head.i - sentence.start + 1 for word in words] == tree.heads
        assert [word.dep_ for word in words] == ["ROOT" if deprel == "root" else deprel for deprel in tree.deprels]
        assert [word._.arc_probability for word in words] == pytest.approx(tree.probabilities)
        assert sentence.root.dep_ == "ROOT"
    assert not doc.has_annotation("POS")
    assert doc.has_annotation("DEP")


def test_sentences_that_are_set_stay(folder):
    nlp = pipeline(folder)
    doc = Doc(nlp.vocab, ["a", "b", "a", "b"], sent_starts=[True, False, False, True])
    doc = nlp.get_pipe("optimal_step")(doc)
    assert [len(sentence) for sentence in doc.sents] == [3, 1]
    assert [sentence.root.dep_ for sentence in doc.sents] == ["ROOT", "ROOT"]


def test_whitespace_hangs_on_the_word_before_it(folder):
    nlp = pipeline(folder)
    doc = nlp("a  b \n\n aé.")
    for token in doc:
        if token.is_space:
            assert (token.head.i, token.dep_) == (token.i - 1, "dep")
    words = [[token.text for token in sentence if not token.is_space] for sentence in doc.sents]
    [tree] = Parser.load(folder).parse(words, allow_missing_columns=True)
    assert [token.dep_.lower() for token in doc if not token.is_space] == tree.deprels
    assert [token.dep_ for token in nlp(" \n ")] == ["ROOT"]


@pytest.mark.parametrize("size", [1, 2, 100])
def test_pipe_gives_the_same_documents(folder, size):
    nlp = pipeline(folder)
    for doc, text in zip(nlp.pipe(TEXTS, batch_size=size), TEXTS, strict=True):
        alone = nlp(text)
        assert doc.text == text
        assert [(token.head.i, token.dep_) for token in doc] == [(token.head.i, token.dep_) for token in alone]


def test_tags_are_set_where_they_are_asked_for(folder):
    tags = Parser.load(folder).parse([["ab", "a", "b"]], allow_missing_columns=True)[0].tags
    tags["upos"] = ["X"] * 3  # the model's X, and its Y, which spaCy does not know
    for use, before, upos in (
        ("keep", None, ["", "", ""]),
        ("fill", None, tags["upos"]),
        ("fill", ["NOUN", "", "VERB"], ["NOUN", "", "VERB"]),
        ("overwrite", ["NOUN", "", "VERB"], tags["upos"]),
    ):
        nlp = pipeline(folder, tags=use)
        doc = nlp.get_pipe("optimal_step")(Doc(nlp.vocab, ["ab", "a", "b"], pos=before))
        assert [token.pos_ for token in doc] == upos
        if use != "keep":
            assert [str(token.morph) or "_" for token in doc] == tags["feats"]


def test_a_pipeline_is_saved_with_its_model(tmp_path):
    random_text_model().save(tmp_path / "run" / "model")
    nlp = pipeline(tmp_path / "run")
    expected = [(token.head.i, token.dep_) for token in nlp(TEXTS[0])]
    nlp.to_disk(tmp_path / "pipeline")
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    loaded = spacy.load(tmp_path / "pipeline")
    assert [(token.head.i, token.dep_) for token in loaded(TEXTS[0])] == expected
    loaded.to_disk(tmp_path / "pipeline")
    loaded.to_disk(tmp_path / "copy")
    assert (tmp_path / "copy" / "optimal_step" / "settings.json").is_file()
    assert [(token.head.i, token.dep_) for token in spacy.load(tmp_path / "copy")(TEXTS[0])] == expected


def test_displacy_draws_it(folder):
    drawn = displacy.render(pipeline(folder)(TEXTS[0]), style="dep", page=True)
    assert drawn.count("displacy-arrow") >= 6


def test_what_is_wrong_is_said(folder, tmp_path):
    small_model("static").save(tmp_path / "static")
    with pytest.raises(ModelError, match="no such model folder"):
        pipeline(tmp_path / "nowhere")("a")
    with pytest.raises(ModelError, match="has no model"):
        spacy.blank("hu").add_pipe("optimal_step")(Doc(spacy.blank("hu").vocab, ["a"]))
    with pytest.raises(ValueError, match="tags='all' of optimal_step is unknown"):
        pipeline(folder, tags="all")
    with pytest.raises(NoTagsError, match="predicts no tags"):
        pipeline(tmp_path / "static", tags="fill")("a")
    many = " ".join(["a"] * 200)
    with pytest.raises(MissingColumnsError, match="FEATS is _"):
        pipeline(tmp_path / "static", allow_missing_columns=False)(many)


def test_an_error_handler_leaves_documents_out(tmp_path):
    nlp = pipeline(tmp_path / "nowhere")
    failed = []
    nlp.set_error_handler(lambda name, component, docs, error: failed.append((name, len(docs), type(error))))
    assert list(nlp.pipe(["a", "b"], batch_size=1)) == []
    assert failed == [("optimal_step", 1, ModelError)] * 2


def test_an_installed_package_is_found_without_an_import(folder, tmp_path):
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["spacy_factories"]
    metadata = tmp_path / "optimal_step-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: optimal-step\nVersion: 0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[spacy_factories]", *lines, ""]))
    code = "import sys, spacy; nlp = spacy.blank('hu'); nlp.add_pipe('optimal_step', config={'model': sys.argv[1]}); "
    code += "print([token.dep_ for token in nlp('a')])"
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    found = subprocess.check_output(
        [sys.executable, "-c", code, str(folder)], env=os.environ | {"PYTHONPATH": paths}, text=True
    )
    assert found.strip() == "['ROOT']"
