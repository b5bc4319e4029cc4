"""start=FOLDER: training that goes on with a model, on what it knows and on what is new to it."""

import json
import random
import re
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf

from parser.beam_settings import Beam
from parser.data.treebank import Sentence
from parser.data.vocabulary import N_RESERVED, SetVocabulary
from parser.model.trained_model import TrainedModel
from parser.model_folder import CARD, TEXT_FILES, read_tensors
from parser.settings import SettingsError
from parser.settings.given import Given
from parser.settings.groups import TrainingTrees
from parser.settings.plan import NetworkPlan, plan
from parser.settings.started import started as started_settings
from parser.training.examples.corpus import Corpus
from parser.training.model_card import ModelCard
from parser.training.observers.console import final_table
from parser.training.run import train
from tests.forgery import change
from tests.random_trees import random_projective_tree
from tests.toy import ROOT, composed, sentence, settings, write_conllu
from tests.training.small_runs import BILSTM, TEXT, check_resumes, run, run_alone

# A learning rate of next to nothing: what was known is to be seen as it was.
STILL = ["optimizer.learning_rate=1e-30"]
KINDS = {
    "paper": [],
    "one pass": ["column=1"],
    "mlp": ["recipe=accurate"],
    "bilstm": [*BILSTM, "optimizer.batch_size=60"],
    "text": TEXT,
}


def sentences(words: str, relations: str, seed: int) -> list[Sentence]:
    """Sentences of words over these letters, whose tags and features follow from their last
    ones.
    """
    rng = random.Random(seed)
    made: list[Sentence] = []
    while len(made) < 12:
        one = sentence(random_projective_tree(rng, rng.randint(2, 7)), rng)
        if one.heads.count(0) != 1:
            continue
        one.forms = [
            "".join(rng.choice(words) for _ in range(rng.randint(1, 2))) for _ in one.forms
        ]
        one.lemmas = [form[:-1] or form for form in one.forms]
        one.upos = [f"TAG{form[-1]}" for form in one.forms]
        one.feats = [
            "Case=Nom|Number=Sing" if form[-1] in "ac" else f"Letter={form[-1]}"
            for form in one.forms
        ]
        one.deprels = ["root" if head == 0 else rng.choice(relations.split()) for head in one.heads]
        made.append(one)
    return made


@pytest.fixture(scope="module")
def treebanks(tmp_path_factory):
    """Of some words and relations, and with others besides."""
    folder = tmp_path_factory.mktemp("treebanks")
    old = write_conllu(folder / "old.conllu", sentences("abc", "obj nsubj", 0))
    return old, write_conllu(folder / "new.conllu", sentences("abxyz", "obj det advmod", 1))


@pytest.fixture(scope="module")
def of_kind(treebanks, tmp_path_factory) -> Callable[[str], Path]:
    """Return a function that gives the folder of a model of some kind
    that has learned the first treebank.
    """

    @cache
    def trained(kind: str) -> Path:
        folder = tmp_path_factory.mktemp("started")
        train(run(treebanks[0], *KINDS[kind]), folder)
        return folder

    return trained


@pytest.fixture(params=KINDS)
def started(request, of_kind) -> tuple[list[str], Path]:
    """Return the overrides of a kind of model, and its folder."""
    return KINDS[request.param], of_kind(request.param)


def test_a_run_is_not_to_replace_what_it_starts_with(treebanks, started):
    kind, folder = started
    for start in (folder, folder / "model"):
        with pytest.raises(
            SettingsError,
            match=r"this run would replace that model; choose another hydra\.run\.dir",
        ):
            train(run(treebanks[1], *kind, f"start={start}"), folder)


def rows(
    model: TrainedModel, tensors: dict[str, np.ndarray], seen: TrainedModel
) -> dict[str, list[bytes]]:
    """Of some tensors, the rows of what a model has seen, in its order."""
    found = {}
    for name, vocabulary in seen.vocabularies.by_attribute.items():
        for prefix in ("tokens.inputs.vectors.", "tokens.embeddings.vectors."):
            if prefix + name in tensors:
                ours = model.vocabularies.by_attribute[name]
                numbers = [0, 1, 2, *ours.encode_exactly(vocabulary.symbols)]
                if isinstance(ours, SetVocabulary) and isinstance(vocabulary, SetVocabulary):
                    numbers = [
                        0,
                        1,
                        2,
                        *(
                            3 + ours.elements.symbols.index(one)
                            for one in vocabulary.elements.symbols
                        ),
                    ]
                found[name] = [tensors[prefix + name][number].tobytes() for number in numbers]
    for column, vocabulary in seen.vocabularies.tags.items():
        numbers = [
            number - 3
            for number in model.vocabularies.tags[column].encode_exactly(vocabulary.symbols)
        ]
        found[column] = [
            tensors[f"tokens.tagger.biases.{column}"][number].tobytes() for number in numbers
        ]
    classifier = model.classifier
    for column, start in zip(
        classifier.one_hot_columns.tolist(), classifier.one_hot_starts.tolist(), strict=True
    ):
        name = model.slots[column].attribute
        both = [
            one.relations if name == "deprel" else one.vocabularies.by_attribute[name]
            for one in (model, seen)
        ]
        ours, vocabulary = both
        numbers = [start + number for number in (0, 1, 2, *ours.encode_exactly(vocabulary.symbols))]
        found[str(model.slots[column])] = [
            tensors["one_hot.weight"][number].tobytes() for number in numbers
        ]
    blocks = zip(model.system.block_starts.tolist(), model.system.block_sizes.tolist(), strict=True)
    relations = [number - 3 for number in model.relations.encode_exactly(seen.relations.symbols)]
    outputs = [
        start + number for start, size in blocks for number in (relations if size > 1 else [0])
    ]
    found["outputs"] = [tensors["output.weight"][number].tobytes() for number in outputs]
    return found


def test_with_nothing_new_a_model_goes_on_as_it_is(started, treebanks, tmp_path):
    overrides, folder = started
    train(run(treebanks[0], *overrides, *STILL, f"start={folder}", "seed=5"), tmp_path)
    old, new = TrainedModel.load(folder), TrainedModel.load(tmp_path)
    assert new.described() == old.described()
    tensors, before = read_tensors(tmp_path / "model"), read_tensors(folder / "model")
    assert tensors.keys() == before.keys()
    for name, tensor in tensors.items():
        if not name.startswith("tokens.lemmas."):
            np.testing.assert_allclose(tensor, before[name], atol=1e-20, err_msg=name)


def test_what_is_new_joins_and_what_was_known_stays(started, treebanks, tmp_path, caplog):
    overrides, folder = started
    caplog.set_level("INFO")
    more = ["vectors.min_count=1", *STILL]
    metrics = train(run(treebanks[1], *overrides, *more, f"start={folder}"), tmp_path)
    # The model to begin with is measured at the start. A run without one, or with one pass,
    # has no scores of it.
    expected = "dev after the first pass" if overrides == KINDS["one pass"] else "dev at the start"
    scored = [
        line
        for line in ("dev at the start", "dev after the first pass")
        if line in final_table(metrics)
    ]
    assert scored == [expected]
    assert "dev after the first pass" in final_table(
        json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    )
    old, new = TrainedModel.load(folder), TrainedModel.load(tmp_path)
    assert "relations 2 (advmod, det)" in caplog.text or "relations 2 (det, advmod)" in caplog.text
    assert {*new.relations.symbols} == {"root", "obj", "nsubj", "det", "advmod"}
    assert new.relations.symbols[:3] == old.relations.symbols
    for name, vocabulary in new.vocabularies.by_attribute.items():
        before = old.vocabularies.by_attribute[name].symbols
        assert vocabulary.symbols[: len(before)] == before
        embedding = old.spec.embeddings.get(name)
        assert (len(vocabulary.symbols) > len(before)) == (
            embedding is None or embedding.trained
        ), name
    tensors, before = read_tensors(tmp_path / "model"), read_tensors(folder / "model")
    assert rows(new, tensors, old) == rows(old, before, old)
    if new.vocabularies.lemmas is not None:
        assert new.vocabularies.lemmas.seen[()].keys() > set("xyz")
        assert new.vocabularies.lemmas.knows_use
    if new.vocabularies.tags:
        known, first = new.vocabularies.tag_sets.described(), old.vocabularies.tag_sets.described()
        assert known[: len(first)] == first


def test_a_killed_run_that_goes_on_resumes_to_the_same_end(started, treebanks, tmp_path):
    overrides, folder = started
    made = run(
        treebanks[1], *overrides, f"start={folder}", "second_pass.epochs=2", "first_pass.epochs=2"
    )
    check_resumes(made, tmp_path, 1)


@pytest.mark.parametrize(
    ("kind", "changed", "key"),
    [
        (
            "mlp",
            "classifier.hidden=33",
            r"classifier\.hidden=33.*classifier\.hidden=32; leave out classifier\.hidden",
        ),
        ("mlp", "classifier.hidden=33 beam=global", r"classifier\.hidden=33"),
        ("mlp", "embeddings.upos=7", r"embeddings\.upos=7.*embeddings\.upos=32"),
        ("mlp", "system=arc_hybrid", "system=arc_hybrid.*system=arc_standard; leave out system"),
        ("mlp", "degree=2", "degree=2.*degree=null"),
        ("mlp", "features.upos=[s0]", r"features\.upos=\[s0\].*features\.upos=\[s0,s1,"),
        ("mlp", "vectors.trained=false", "vectors.trained=false"),
        ("mlp", "vectors.attribute=lower", "vectors.attribute=lower"),
        ("mlp", "model=bilstm encoder.hidden=12", "model=bilstm.*model=mlp"),
        ("mlp", "recipe=paper", "recipe=paper.*recipe=accurate; leave out recipe"),
        ("paper", "recipe=accurate", "recipe=accurate.*recipe=paper"),
        ("paper", "features.form=[]", r"features\.form=\[\]"),
        ("bilstm", "encoder.hidden=13", "encoder.hidden=13.*encoder.hidden=8"),
        ("bilstm", "recipe=text", "recipe=text.*recipe=accurate"),
        ("text", "model=mlp", "model=mlp.*model=bilstm"),
        ("text", "encoder.slots.token=[s0]", r"encoder\.slots\.token=\[s0\]"),
        ("text", "features.form=[]", r"features\.form=\[\]"),
        ("text", "encoder.tagger.size=5", "encoder.tagger.size=5"),
        ("text", "encoder.tagger=null", "encoder.tagger=null"),
        ("text", "encoder.lemmas.size=99", "encoder.lemmas.size=99"),
        ("text", "~encoder.tagger.weights.feats", "encoder.tagger.weights.feats"),
        ("bilstm", "pretrained.save=true", r"leave pretrained\.\* out"),
        ("bilstm", "pretrained.cache=cache", r"leave pretrained\.\* out"),
    ],
)
def test_a_value_by_hand_that_is_not_the_models_is_refused_by_name(
    kind, changed, key, treebanks, of_kind, tmp_path
):
    with pytest.raises(SettingsError, match=f"start=.*{key}"):
        train(
            run_alone(treebanks[0], *KINDS[kind], *changed.split(), f"start={of_kind(kind)}"),
            tmp_path,
        )


def test_files_by_treebank_are_for_a_model_of_several(treebanks, of_kind, tmp_path):
    with pytest.raises(SettingsError, match=r"start=.*one treebank"):
        train(
            run_alone(f"{{a: {treebanks[0]}}}", *KINDS["bilstm"], f"start={of_kind('bilstm')}"),
            tmp_path,
        )


def test_nothing_else_is_typed(started, treebanks, tmp_path):
    """Recipe, model, system and network are the model's,
    and so is what training would otherwise choose by the recipe.
    """
    kind, folder = started
    alone, wanted = run_alone(treebanks[1], f"start={folder}"), run(treebanks[1], *kind)
    for key in ("recipe", "model", "system"):
        assert alone.labels[key] == wanted.labels[key]
    assert isinstance(alone.model, NetworkPlan)
    assert isinstance(wanted.model, NetworkPlan)
    assert alone.model.spec.encoder == wanted.model.spec.encoder
    few = ["first_pass.epochs=1", "second_pass.epochs=1", "tensorboard.figures=false"]
    train(run_alone(treebanks[1], f"start={folder}", *few), tmp_path)
    old, new = TrainedModel.load(folder), TrainedModel.load(tmp_path)
    assert (new.spec, new.slots, new.system.name) == (old.spec, old.slots, old.system.name)


def test_what_is_composed_stays_as_it_was(treebanks, of_kind):
    made = composed(
        f"treebank.train={treebanks[0]}",
        f"start={of_kind('text')}",
        *KINDS["text"],
        "encoder.lemmas=null",
    )
    before = OmegaConf.to_container(made)
    assert started_settings(made, Given(["encoder.lemmas=null"])) is not made
    assert OmegaConf.to_container(made) == before


def test_dropout_and_search_may_differ(treebanks, of_kind):
    changed = [
        "classifier.dropout=0.1",
        "encoder.dropout=0.1",
        "encoder.tagger.dropout=0.1",
        "beam=local",
        "beam.size=3",
    ]
    made = run_alone(treebanks[0], "recipe=text", f"start={of_kind('text')}", *changed)
    assert isinstance(made.model, NetworkPlan)
    spec = made.model.spec
    assert spec.encoder is not None
    assert spec.encoder.tagger is not None
    assert (spec.dropout, spec.encoder.dropout, spec.encoder.tagger.dropout) == (0.1, 0.1, 0.1)
    assert made.search == Beam(3)


@pytest.mark.parametrize(
    ("system", "options"),
    [("attardi", ["degree=3"]), ("arc_eager", ["nonmonotonic=true"]), ("pointer", [])],
)
def test_the_options_of_a_system_and_places_of_candidates_are_kept(
    system, options, treebanks, tmp_path
):
    few = ["recipe=accurate", "classifier.hidden=8", "first_pass.epochs=1", "second_pass.epochs=1"]
    train(run_alone(treebanks[0], f"system={system}", *options, *few), tmp_path / "old")
    made = run_alone(treebanks[1], f"start={tmp_path}/old", "second_pass.epochs=1")
    old = TrainedModel.load(tmp_path / "old")
    assert (made.system.name, dict(made.system.options)) == (system, old.system.options)
    train(made, tmp_path / "new")
    assert TrainedModel.load(tmp_path / "new").slots == old.slots


@pytest.mark.parametrize("known_by", ["run", "card", "nothing"])
def test_the_recipe_is_that_of_the_run_or_the_card_or_fits_the_network(
    known_by, treebanks, of_kind, tmp_path
):
    for kind in ("paper", "mlp", "bilstm", "text"):
        place = tmp_path / kind
        shutil.copytree(of_kind(kind), place)
        recipe = json.loads((place / "run.json").read_text(encoding="utf-8"))["settings"]["recipe"]
        if known_by != "run":
            (place / "run.json").unlink()
        if known_by == "card":
            text = (
                "# A parser\n\nTrained by optimal-step on 3 sentences. "
                f"system=arc_standard, recipe={recipe}, model=mlp.\n"
            )
            (place / "model" / "README.md").write_text(text, encoding="utf-8")
        assert run_alone(treebanks[0], f"start={place}/model").labels["recipe"] == recipe
        if known_by != "nothing":
            with pytest.raises(SettingsError, match="recipe=paper_tuned"):
                run_alone(treebanks[0], f"start={place}", "recipe=paper_tuned")


def test_a_linear_model_is_refused(treebanks, tmp_path):
    train(run_alone(treebanks[0], "model=linear", "online.iterations=1"), tmp_path)
    with pytest.raises(SettingsError, match=r"start=.*linear model.*model=mlp or model=bilstm"):
        run_alone(treebanks[0], f"start={tmp_path}")


def parts_for_text() -> dict[str, bytes]:
    """Return the files of tokenizer and segmenter of a shipped model."""
    with zipfile.ZipFile(ROOT / "models" / "ga.zip") as pack:
        return {name: pack.read(name) for name in TEXT_FILES if name in pack.namelist()}


def test_tokenizer_and_segmenter_are_kept_unless_told_otherwise(treebanks, of_kind, tmp_path):
    shutil.copytree(of_kind("mlp"), tmp_path / "old")
    for name, content in parts_for_text().items():
        (tmp_path / "old" / "model" / name).write_bytes(content)
    few = [f"start={tmp_path}/old", "second_pass.epochs=1"]
    train(run_alone(treebanks[1], *few), tmp_path / "new", [card := ModelCard("train")])
    found = [tmp_path / "new" / "model" / name for name in TEXT_FILES]
    assert {path.name: path.read_bytes() for path in found if path.is_file()} == parts_for_text()
    assert card is not None
    text = (tmp_path / "new" / "model" / CARD).read_text(encoding="utf-8")
    assert "* tokenizer and segmenter: from start (old), unchanged\n" in text
    made = settings(f"treebank.train={treebanks[1]}", *few)
    train(plan(made, Given(["tokenizer=none"])), tmp_path / "none", [ModelCard("train")])
    assert not any((tmp_path / "none" / "model" / name).exists() for name in TEXT_FILES)
    assert "tokenizer" not in (tmp_path / "none" / "model" / CARD).read_text(encoding="utf-8")


def test_a_column_without_gold_values_teaches_nothing_and_has_no_score(
    treebanks, of_kind, tmp_path, caplog
):
    caplog.set_level("INFO")
    bare = sentences("abxyz", "obj det advmod", 1)
    for one in bare:
        one.feats, one.lemmas = ["_"] * len(one), ["_"] * len(one)
    path = write_conllu(tmp_path / "bare.conllu", bare)
    folder = of_kind("text")
    metrics = train(run(path, *TEXT, f"start={folder}"), tmp_path / "new", [ModelCard("train")])
    old, new = TrainedModel.load(folder), TrainedModel.load(tmp_path / "new")
    assert new.vocabularies.tags["feats"].symbols == old.vocabularies.tags["feats"].symbols
    assert len(new.vocabularies.tags["upos"].symbols) > len(old.vocabularies.tags["upos"].symbols)
    assert new.vocabularies.lemmas is not None
    assert old.vocabularies.lemmas is not None
    assert new.vocabularies.lemmas.described() == old.vocabularies.lemmas.described()
    tensors, before = read_tensors(tmp_path / "new" / "model"), read_tensors(folder / "model")
    own = [
        name
        for name in before
        if name.startswith(("tokens.tagger.outputs.feats", "tokens.tagger.biases.feats"))
    ]
    assert len(own) == 3
    for name in own:
        np.testing.assert_array_equal(tensors[name], before[name], err_msg=name)
    assert not np.array_equal(tensors["hidden_bias"], before["hidden_bias"])
    assert f"{path}: no gold value of FEATS, LEMMA, so it teaches none" in caplog.text
    for part in ("dev", "test"):
        assert "upos" in metrics[part]
        assert metrics[part].keys().isdisjoint(["feats", "lemma"])
    assert "dev tags at the end: LEMMA - UPOS " in (
        table := final_table(metrics, new.vocabularies.predicted)
    )
    assert table.splitlines()[-1].endswith(" FEATS -")
    assert re.search(r" UPOS [\d.]+ FEATS -; ", caplog.text)  # of an epoch
    text = (tmp_path / "new" / "model" / CARD).read_text(encoding="utf-8")
    assert "| UPOS | FEATS | LEMMA |" in text
    assert re.search(r"^\| dev \|.*\d \| - \| - \|$", text, re.MULTILINE)
    named = f"start ({folder.name})"
    assert f"* FEATS: as {named} predicts; bare.conllu has no gold value\n" in text
    assert f"* lemmas: from {named}\n" in text


def test_such_a_run_resumes_to_the_same_end(treebanks, of_kind, tmp_path):
    bare = sentences("abxyz", "obj det advmod", 1)
    for one in bare:
        one.feats = ["_"] * len(one)
    made = run(write_conllu(tmp_path / "bare.conllu", bare), *TEXT, f"start={of_kind('text')}")
    check_resumes(made, tmp_path, 1)


def test_of_several_files_each_teaches_what_it_has(treebanks, of_kind, tmp_path):
    bare = sentences("abxyz", "obj det advmod", 1)
    for one in bare:
        one.feats = ["_"] * len(one)
    path = write_conllu(tmp_path / "bare.conllu", bare)
    made = run_alone(
        f"[{treebanks[0]},{path}]",
        "recipe=text",
        f"start={of_kind('text')}",
        "second_pass.epochs=1",
    )
    corpus = Corpus.continued(made, TrainedModel.load(of_kind("text"), int8=False))
    data = corpus.training_sentences(TrainingTrees.original)
    upos, feats = (
        data.gold["tagger"][[*corpus.vocabularies.tags].index(column)]
        for column in ("upos", "feats")
    )
    split = data.sentences.offsets[-len(bare) - 1]
    taught = feats >= N_RESERVED
    assert taught[:split].sum() == (upos[:split] >= N_RESERVED).sum()
    assert not taught[split:].any()
    values = {value for one in corpus.tagged[-len(bare) :] for value in one.feats}
    assert values <= {*corpus.vocabularies.tags["feats"].symbols}
    assert all(one.feats == ["_"] * len(one) for one in corpus.known[-len(bare) :])


def test_calibration_and_arithmetic_stay_where_dev_says_nothing(treebanks, of_kind, tmp_path):
    shutil.copytree(of_kind("text"), tmp_path / "old")
    calibration = {"log_odds": [0.5, 1.5], "shares": [0.25, 0.75], "certain": 0.5}
    more = {"calibration": calibration, "int8": True, "int8_lost_las": 0.05}
    change(tmp_path / "old" / "model" / "settings.json", lambda found: found.update(more))
    few = [f"start={tmp_path}/old", "second_pass.epochs=1"]
    train(run_alone(treebanks[1], *few), tmp_path / "new", [ModelCard("train")])
    new = TrainedModel.load(tmp_path / "new")
    assert (asdict(new.calibration), new.int8, new.int8_lost_las) == (
        {"log_odds": (0.5, 1.5), "shares": (0.25, 0.75), "certain": 0.5},
        True,
        0.05,
    )
    text = (tmp_path / "new" / "model" / CARD).read_text(encoding="utf-8")
    assert "* calibration of probabilities: from start (old)\n" in text
    assert "0.05 LAS on the dev part of start" in text
