"""The component of spaCy, in real pipelines."""

import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import tomllib

import numpy as np
import pytest
from safetensors.numpy import save

from oracles.errors import OptimalStepError
from parser import Parser
from parser.beam_settings import BeamError
from parser.data.tag_sets import TagSets
from parser.data.tasks.tags import TagTask
from parser.decoding.files.missing_columns import MissingColumnsError
from parser.decoding.parse_options import NoTagsError
from parser.model_folder import ModelError
from tests.forgery import small_model
from tests.random_models import random_lemma_model, random_text_model
from tests.text.tiny_tokenizer import save_tiny_tokenizer
from tests.toy import ROOT

spacy = pytest.importorskip("spacy", reason="spaCy is not installed (extra spacy)")
from spacy import displacy  # noqa: E402
from spacy.tokens import Doc  # noqa: E402
from spacy.training import Example  # noqa: E402

import parser.library.spacy_component  # noqa: E402 - registers the factory
from parser.library.spacy_component import OptimalStep  # noqa: E402

pytestmark = pytest.mark.extras

TEXTS = ["ab a éa bb. ba a!", "a", "", "  \n ", "ab  b\n ba. \n éab"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spacy") / "model"
    random_text_model().save(folder)
    return folder


def pipeline(folder, **config):
    nlp = spacy.blank("hu")
    nlp.add_pipe(
        "optimal_step", config={"model": str(folder), "allow_missing_columns": True, **config}
    )
    return nlp


def test_the_trees_are_those_of_the_library(folder):
    doc = pipeline(folder)(TEXTS[0])
    sentences = [["ab", "a", "éa", "bb", "."], ["ba", "a", "!"]]
    assert [[token.text for token in sentence] for sentence in doc.sents] == sentences
    expected = Parser.load(folder).parse(sentences, allow_missing_columns=True)
    for sentence, tree in zip(doc.sents, expected, strict=True):
        words = list(sentence)
        assert [
            0 if word.head == word else word.head.i - sentence.start + 1 for word in words
        ] == tree.heads
        assert [word.dep_ for word in words] == [
            "ROOT" if deprel == "root" else deprel for deprel in tree.deprels
        ]
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


def test_a_sentence_start_that_nobody_decided_is_found(folder):
    """As in spaCy's own example, a component decides for some tokens alone:
    None means that others decide.
    """
    nlp = pipeline(folder)
    component = nlp.get_pipe("optimal_step")
    words = ["a", "-", "b", ".", "ba", "!", "ab", ".", "a"]
    for starts, expected in (
        ({2: True}, [2, 2, 2, 2, 1]),
        ({4: False}, [6, 2, 1]),
        ({2: True, 4: False, 8: False}, [2, 4, 3]),
        ({}, [4, 2, 2, 1]),
        (dict.fromkeys(range(1, 9), False), [9]),
    ):
        doc = Doc(nlp.vocab, words)
        for place, start in starts.items():
            doc[place].is_sent_start = start
        assert [len(sentence) for sentence in component(doc).sents] == expected
    doc = Doc(nlp.vocab, ["a", ".", "\n", "b", ".", "\n", "a"])
    doc[2].is_sent_start, doc[6].is_sent_start = True, False
    assert [sentence.start for sentence in component(doc).sents] == [0, 2]


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
    first, word, *_ = nlp("  b.")
    assert (first.is_space, first.head, first.dep_) == (True, word, "dep")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("a bb.\n", ["a bb.\n"]),
        ("a bb.\n\nba!\n", ["a bb.\n\n", "ba!\n"]),
        ("\na bb. ba", ["\na bb.", "ba"]),
        ("a", ["a"]),
    ],
)
def test_whitespace_begins_no_sentence_but_the_first(folder, text, sentences):
    assert [
        sentence.text_with_ws.strip(" ") for sentence in pipeline(folder)(text).sents
    ] == sentences


@pytest.mark.parametrize("size", [1, 2, 100])
def test_pipe_gives_the_same_documents(folder, size):
    nlp = pipeline(folder)
    for doc, text in zip(nlp.pipe(TEXTS, batch_size=size), TEXTS, strict=True):
        assert doc.text == text
        assert trees(doc) == trees(nlp(text))


@pytest.mark.parametrize(
    ("use", "before", "predicted"),
    [
        ("keep", None, False),
        ("fill", None, True),
        ("fill", ["X", "", "VERB"], False),
        ("overwrite", ["X", "", "VERB"], True),
    ],
)
@pytest.mark.parametrize("column", ["upos", "lemma"])
def test_tags_and_lemmas_are_set_where_they_are_asked_for(tmp_path, column, use, before, predicted):
    random_lemma_model().save(tmp_path / "model")
    tags = Parser.load(tmp_path).parse([["ab", "a", "b"]], allow_missing_columns=True)[0].tags
    tags["upos"] = ["X"] * 3  # the model's X, and its Y, which spaCy does not know
    nlp = pipeline(tmp_path, tags=use)
    doc = nlp.get_pipe("optimal_step")(
        Doc(nlp.vocab, ["ab", "a", "b"], **{"pos" if column == "upos" else "lemmas": before})
    )
    found = [token.pos_ if column == "upos" else token.lemma_ for token in doc]
    assert found == (tags[column] if predicted else before or ["", "", ""])
    if use != "keep":
        assert [str(token.morph) or "_" for token in doc] == tags["feats"]


def test_filled_tags_fit_those_of_earlier_components_and_overwritten_ones_do_not(tmp_path):
    model = random_lemma_model()
    tagger = model.vocabularies.task(TagTask)
    tagger.sets = TagSets(["upos", "feats"], [(0, 0), (1, 1), (1, 2)])
    model.save(tmp_path / "model")
    for use, given, expected in (("fill", "X", {""}), ("overwrite", "X", None)):
        nlp = pipeline(tmp_path, tags=use)
        found, plain = (
            {
                str(token.morph)
                for token in nlp.get_pipe("optimal_step")(Doc(nlp.vocab, ["ab", "a", "b"], pos=pos))
            }
            for pos in ([given] * 3, None)
        )
        assert found == (plain if expected is None else expected)


def trees(doc):
    return [(token.head.i, token.dep_) for token in doc]


def test_a_component_is_pickled_without_what_is_loaded(folder):
    written = pickle.dumps(pipeline(folder).get_pipe("optimal_step"))
    assert len(written) < 2000
    assert pickle.loads(written).name == "optimal_step"


def test_processes_that_are_spawned_parse(folder):
    nlp = pipeline(folder)
    expected = [trees(nlp(text)) for text in TEXTS]
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method("spawn", force=True)
    try:
        assert [trees(doc) for doc in nlp.pipe(TEXTS, n_process=2, batch_size=1)] == expected
    finally:
        multiprocessing.set_start_method(before, force=True)


def test_bytes_hold_the_model(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "model")
    (tmp_path / "model" / "tokenizer.udpipe").write_text("not needed")
    nlp = pipeline(tmp_path / "model")
    expected = trees(nlp(TEXTS[0]))
    written, of_component = nlp.to_bytes(), nlp.get_pipe("optimal_step").to_bytes()
    shutil.rmtree(tmp_path / "model")
    without = spacy.blank("hu")
    without.add_pipe("optimal_step", config={"allow_missing_columns": True})
    # which names the folder that is gone
    for taken in (without, type(nlp).from_config(nlp.config)):
        taken.from_bytes(written)
        assert trees(taken(TEXTS[0])) == expected
        assert taken.get_pipe("optimal_step").to_bytes() == of_component
    assert trees(pickle.loads(pickle.dumps(taken))(TEXTS[0])) == expected
    taken.to_disk(tmp_path / "pipeline")
    assert {path.name for path in (tmp_path / "pipeline" / "optimal_step").iterdir()} == {
        p.name for p in folder.iterdir()
    }
    assert trees(spacy.load(tmp_path / "pipeline")(TEXTS[0])) == expected


def test_bytes_without_a_model_leave_that_of_the_settings(folder):
    without = spacy.blank("hu")
    without.add_pipe("optimal_step")
    nlp = pipeline(folder).from_bytes(without.to_bytes())
    assert trees(nlp("a")) == [(0, "ROOT")]


def test_a_relative_folder_is_that_of_loading(folder, tmp_path, monkeypatch):
    """Folders of the same names with another model lie in the later working folder."""
    shutil.copytree(folder, tmp_path / "here" / "model")
    small_model("static").save(tmp_path / "there" / "model")
    monkeypatch.chdir(tmp_path / "here")
    nlp = pipeline("model")
    expected = [trees(doc) for doc in nlp.pipe(TEXTS)]
    nlp.to_disk("saved")
    # which load the model with the first text
    read, made = spacy.load("saved"), type(nlp).from_config(nlp.config)
    (tmp_path / "there" / "saved").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    again = pickle.loads(pickle.dumps(nlp.get_pipe("optimal_step")))
    for one in (nlp, read, made):
        assert [trees(doc) for doc in one.pipe(TEXTS, n_process=2)] == expected
        assert [trees(one(text)) for text in TEXTS] == expected
        one.to_disk(tmp_path / "copy")
        assert [trees(doc) for doc in spacy.load(tmp_path / "copy").pipe(TEXTS)] == expected
    assert trees(again(nlp.make_doc(TEXTS[0]))) == expected[0]


def test_a_name_is_that_of_loading(folder, tmp_path, monkeypatch):
    """Where a pack is unpacked stays, also if a folder with the name lies in the later working
    folder.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shutil.copytree(folder, tmp_path / "optimal-step" / "hu")
    small_model("static").save(tmp_path / "there" / "hu")
    nlp = pipeline("hu")
    monkeypatch.chdir(tmp_path / "there")
    again = pickle.loads(pickle.dumps(nlp.get_pipe("optimal_step")))
    assert trees(again(nlp.make_doc(TEXTS[0]))) == trees(nlp(TEXTS[0]))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"settings",
        save({"../settings.json": np.zeros(1, np.uint8)}),
        save({"..": np.zeros(1)}),
    ],
    ids=["nothing", "short", "path", "parent"],
)
def test_bytes_that_are_no_model_are_refused(data):
    with pytest.raises(ModelError, match=r"^optimal_step: .*nlp\.to_bytes\(\)"):
        parser.library.spacy_component.OptimalStep().from_bytes(data)


def test_saving_replaces_what_is_there(folder, tmp_path, monkeypatch):
    saved = tmp_path / "pipeline" / "optimal_step"
    pipeline(folder).to_disk(tmp_path / "pipeline")
    (saved / "stale.json").write_text("{}")
    whole = {path.name for path in folder.iterdir()}

    def fail(source, target, **options):
        (target / "settings.json").write_text("half of i")
        raise OSError(28, "the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copytree", fail)
        with pytest.raises(OSError, match="the disk is full"):
            pipeline(folder).to_disk(tmp_path / "pipeline")
    assert {path.name for path in saved.iterdir()} == whole | {"stale.json"}
    assert (saved / "settings.json").read_bytes() == (folder / "settings.json").read_bytes()
    pipeline(folder).to_disk(tmp_path / "pipeline")
    assert {path.name for path in saved.iterdir()} == whole
    assert [path.name for path in saved.parent.iterdir() if path.name.startswith(".")] == []


def test_a_copy_without_the_model_is_refused(folder, tmp_path):
    pipeline(folder).to_disk(tmp_path / "pipeline")
    shutil.rmtree(tmp_path / "pipeline" / "optimal_step")
    with pytest.raises(ModelError, match=r"optimal_step: .* is missing"):
        spacy.load(tmp_path / "pipeline")
    without = spacy.blank("hu")
    without.add_pipe("optimal_step")
    pipeline(folder).to_disk(tmp_path / "without")
    without.to_disk(tmp_path / "without")
    with pytest.raises(ModelError, match="has no model"):
        spacy.load(tmp_path / "without")("a")


def test_heads_and_relations_are_scored(folder):
    nlp = pipeline(folder)
    examples = []
    for n_wrong in (0, 1):
        doc = nlp("ab a éa bb")
        heads, deps = [token.head.i for token in doc], [token.dep_ for token in doc]
        assert "punct" not in deps
        wrong = next(i for i in range(len(doc)) if heads[i] != i)
        if n_wrong:
            deps[wrong] = "another"
        examples.append(
            Example(
                nlp.make_doc(doc.text),
                Doc(nlp.vocab, [token.text for token in doc], heads=heads, deps=deps),
            )
        )
    scores = nlp.evaluate(examples)
    assert (scores["dep_uas"], scores["dep_las"], scores["sents_f"]) == (1.0, 7 / 8, 1.0)


def test_a_pipeline_is_saved_with_its_model(tmp_path):
    random_text_model().save(tmp_path / "run" / "model")
    nlp = pipeline(tmp_path / "run")
    expected = trees(nlp(TEXTS[0]))
    nlp.to_disk(tmp_path / "pipeline")
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    loaded = spacy.load(tmp_path / "pipeline")
    assert trees(loaded(TEXTS[0])) == expected
    loaded.to_disk(tmp_path / "pipeline")
    loaded.to_disk(tmp_path / "copy")
    assert (tmp_path / "copy" / "optimal_step" / "settings.json").is_file()
    assert trees(spacy.load(tmp_path / "copy")(TEXTS[0])) == expected
    assert displacy.render(loaded(TEXTS[0]), style="dep", page=True).count("displacy-arrow") >= 6


def test_what_is_wrong_is_said(folder, tmp_path):
    small_model("static").save(tmp_path / "static")
    with pytest.raises(ModelError, match="neither a folder nor a model"):
        pipeline(tmp_path / "nowhere")
    with pytest.raises(ModelError, match="has no model"):
        spacy.blank("hu").add_pipe("optimal_step")(Doc(spacy.blank("hu").vocab, ["a"]))
    with pytest.raises(
        ValueError, match=r"tags='fil' of optimal_step is unknown \(did you mean fill\?\)"
    ):
        pipeline(folder, tags="fil")
    with pytest.raises(ValueError, match="tags='all' of optimal_step"):
        pipeline(folder, tags="all")
    with pytest.raises(NoTagsError, match="predicts no tags"):
        pipeline(tmp_path / "static", tags="fill")
    with pytest.raises(BeamError, match="a beam of 0 items"):
        pipeline(tmp_path / "static", beam=0)
    with pytest.raises(BeamError, match="reranking needs several trees"):
        pipeline(folder, rerank=True)
    with pytest.raises(ModelError, match="there is no device 'gpu' here"):
        pipeline(folder, device="gpu")
    for option in ("rerank", "allow_missing_columns"):
        for value in ("no", "", 2, 0.0, []):
            with pytest.raises(
                OptimalStepError, match=f"{option}=.* is not possible; give True or False"
            ):
                pipeline(folder, **{option: value})
        assert pipeline(folder, **{option: 0})
        with pytest.raises(OptimalStepError, match=f"{option}='no'"):
            OptimalStep(model=str(folder), **{option: "no"})
    assert OptimalStep(model=str(folder), beam=2, rerank=np.True_, allow_missing_columns=np.False_)
    many = " ".join(["a"] * 200)
    with pytest.raises(MissingColumnsError, match="FEATS is _"):
        pipeline(tmp_path / "static", allow_missing_columns=False)(many)


def test_a_missing_model_is_refused_by_add_pipe_whoever_calls_it(folder, tmp_path):
    """A user's function may have the name of spaCy's own, which makes saved pipelines."""

    def from_config(folder):
        return pipeline(folder)

    class Other(type(spacy.blank("hu"))):
        def add_pipe(self, *given, **named):
            return super().add_pipe(*given, **named)

    assert from_config(folder)
    with pytest.raises(ModelError, match="neither a folder nor a model"):
        from_config(tmp_path / "nowhere")
    with pytest.raises(ModelError, match="neither a folder nor a model"):
        Other().add_pipe("optimal_step", config={"model": str(tmp_path / "nowhere")})
    nlp = pipeline(folder)
    nlp.config["components"]["optimal_step"]["model"] = str(tmp_path / "nowhere")
    for language in (type(nlp), Other):  # which from_bytes() or from_disk() gives the model
        assert trees(language.from_config(nlp.config).from_bytes(nlp.to_bytes())("a")) == [
            (0, "ROOT")
        ]


def test_a_pipeline_that_leaves_words_whole_warns_once(folder, tmp_path, monkeypatch, caplog):
    """The tokenizer knows ``du`` as ``de le``. The model is as good as without it,
    and so are its trees.
    """
    shutil.copytree(folder, tmp_path / "model")
    save_tiny_tokenizer(tmp_path / "model")
    nlp = pipeline(tmp_path / "model")
    text = "ab du a. a_b\n\nDu du"
    assert trees(nlp("ab a")) == trees(pipeline(folder)("ab a"))
    assert caplog.messages == []
    for _ in range(2):
        assert trees(nlp(text)) == trees(pipeline(folder)(text))
    [message] = caplog.messages
    assert "optimal_step: this pipeline leaves whole" in message
    assert "such as du (de le), Du (De le); " in message
    again = pickle.loads(pickle.dumps(nlp.get_pipe("optimal_step")))
    again(nlp.make_doc(text))
    assert len(caplog.messages) == 1
    split = pipeline(tmp_path / "model")
    split(Doc(split.vocab, ["ab", "de", "le", "a"]))
    assert len(caplog.messages) == 1
    monkeypatch.setattr(parser.library.spacy_component.WholeTokens, "MOST", 2)
    few = pipeline(tmp_path / "model")
    few("a b c du")
    assert few.get_pipe("optimal_step")._whole is None
    assert len(caplog.messages) == 1


def test_an_error_handler_leaves_documents_out(tmp_path):
    small_model("static").save(tmp_path / "model")
    nlp = pipeline(tmp_path / "model", allow_missing_columns=False)
    many = " ".join(["a"] * 200)
    failed = []
    nlp.set_error_handler(
        lambda name, component, docs, error: failed.append((name, len(docs), type(error)))
    )
    assert list(nlp.pipe([many, many], batch_size=1)) == []
    assert failed == [("optimal_step", 1, MissingColumnsError)] * 2


def test_an_installed_package_is_found_without_an_import(folder, tmp_path):
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][
        "spacy_factories"
    ]
    metadata = tmp_path / "optimal_step-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: optimal-step\nVersion: 0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[spacy_factories]", *lines, ""]))
    code = (
        "import sys, spacy; nlp = spacy.blank('hu'); nlp.add_pipe('optimal_step', config={'model': "
        "sys.argv[1]}); "
    )
    code += "print([token.dep_ for token in nlp('a')])"
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    found = subprocess.check_output(
        [sys.executable, "-c", code, str(folder)],
        env=os.environ | {"PYTHONPATH": paths},
        text=True,
    )
    assert found.strip() == "['ROOT']"
