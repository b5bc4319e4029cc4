"""start=FOLDER: training that goes on with a model, on what it knows and on what is new to it."""

import json
import random
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from parser.data.treebank import Sentence
from parser.data.vocabulary import SetVocabulary
from parser.model.model import Model
from parser.model_folder import read_tensors
from parser.settings import SettingsError
from parser.training.observers.console import final_table
from parser.training.run import train
from tests.random_trees import random_projective_tree
from tests.toy import sentence, write_conllu
from tests.training.small_runs import BILSTM, TEXT, check_resumes, run

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
    """Sentences of words over these letters, whose tags and features follow from their last ones."""
    rng = random.Random(seed)
    made: list[Sentence] = []
    while len(made) < 12:
        one = sentence(random_projective_tree(rng, rng.randint(2, 7)), rng)
        if one.heads.count(0) != 1:
            continue
        one.forms = ["".join(rng.choice(words) for _ in range(rng.randint(1, 2))) for _ in one.forms]
        one.lemmas = [form[:-1] or form for form in one.forms]
        one.upos = [f"TAG{form[-1]}" for form in one.forms]
        one.feats = ["Case=Nom|Number=Sing" if form[-1] in "ac" else f"Letter={form[-1]}" for form in one.forms]
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
    """The folder of a model of some kind that has learned the first treebank."""

    @cache
    def trained(kind: str) -> Path:
        folder = tmp_path_factory.mktemp("started")
        train(run(treebanks[0], *KINDS[kind]), folder)
        return folder

    return trained


@pytest.fixture(params=KINDS)
def started(request, of_kind) -> tuple[list[str], Path]:
    """The overrides of a kind of model, and its folder."""
    return KINDS[request.param], of_kind(request.param)


def test_a_run_is_not_to_replace_what_it_starts_with(treebanks, started):
    kind, folder = started
    for start in (folder, folder / "model"):
        with pytest.raises(SettingsError, match=r"this run would replace that model; choose another hydra\.run\.dir"):
            train(run(treebanks[1], *kind, f"start={start}"), folder)


def rows(model: Model, tensors: dict[str, np.ndarray], seen: Model) -> dict[str, list[bytes]]:
    """Of some tensors, the rows of what a model has seen, in its order."""
    found = {}
    for name, vocabulary in seen.vocabularies.by_attribute.items():
        for prefix in ("tokens.inputs.vectors.", "tokens.embeddings.vectors."):
            if prefix + name in tensors:
                ours = model.vocabularies.by_attribute[name]
                numbers = [0, 1, 2, *ours.encode_exactly(vocabulary.symbols)]
                if isinstance(ours, SetVocabulary) and isinstance(vocabulary, SetVocabulary):
                    numbers = [0, 1, 2, *(3 + ours.elements.symbols.index(one) for one in vocabulary.elements.symbols)]
                found[name] = [tensors[prefix + name][number].tobytes() for number in numbers]
    for column, vocabulary in seen.vocabularies.tags.items():
        numbers = [number - 3 for number in model.vocabularies.tags[column].encode_exactly(vocabulary.symbols)]
        found[column] = [tensors[f"tokens.tagger.biases.{column}"][number].tobytes() for number in numbers]
    classifier = model.classifier
    for column, start in zip(classifier.one_hot_columns.tolist(), classifier.one_hot_starts.tolist(), strict=True):
        name = model.slots[column].attribute
        both = [one.relations if name == "deprel" else one.vocabularies.by_attribute[name] for one in (model, seen)]
        ours, vocabulary = both
        numbers = [start + number for number in (0, 1, 2, *ours.encode_exactly(vocabulary.symbols))]
        found[str(model.slots[column])] = [tensors["one_hot.weight"][number].tobytes() for number in numbers]
    blocks = zip(model.system.block_starts.tolist(), model.system.block_sizes.tolist(), strict=True)
    relations = [number - 3 for number in model.relations.encode_exactly(seen.relations.symbols)]
    outputs = [start + number for start, size in blocks for number in (relations if size > 1 else [0])]
    found["outputs"] = [tensors["output.weight"][number].tobytes() for number in outputs]
    return found


def test_with_nothing_new_a_model_goes_on_as_it_is(started, treebanks, tmp_path):
    overrides, folder = started
    train(run(treebanks[0], *overrides, *STILL, f"start={folder}", "seed=5"), tmp_path)
    old, new = Model.load(folder), Model.load(tmp_path)
    assert new._description() == old._description()
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
    # The model to begin with is measured at the start. A run without one, or with one pass, has no scores of it.
    expected = "dev after the first pass" if overrides == KINDS["one pass"] else "dev at the start"
    scored = [line for line in ("dev at the start", "dev after the first pass") if line in final_table(metrics)]
    assert scored == [expected]
    assert "dev after the first pass" in final_table(json.loads((folder / "metrics.json").read_text(encoding="utf-8")))
    old, new = Model.load(folder), Model.load(tmp_path)
    assert "relations 2 (advmod, det)" in caplog.text or "relations 2 (det, advmod)" in caplog.text
    assert {*new.relations.symbols} == {"root", "obj", "nsubj", "det", "advmod"}
    assert new.relations.symbols[:3] == old.relations.symbols
    for name, vocabulary in new.vocabularies.by_attribute.items():
        before = old.vocabularies.by_attribute[name].symbols
        assert vocabulary.symbols[: len(before)] == before
        embedding = old.spec.embeddings.get(name)
        assert (len(vocabulary.symbols) > len(before)) == (embedding is None or embedding.trained), name
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
    made = run(treebanks[1], *overrides, f"start={folder}", "second_pass.epochs=2", "first_pass.epochs=2")
    check_resumes(made, tmp_path, 1)


@pytest.mark.parametrize(
    ("kind", "changed", "key"),
    [
        ("mlp", ["classifier.hidden=33"], r"classifier\.hidden=33.*classifier\.hidden=32"),
        ("mlp", ["classifier.hidden=33", "beam=global"], r"classifier\.hidden=33"),
        ("mlp", ["embeddings.upos=7"], "embeddings.upos.size=7"),
        ("mlp", ["system=arc_hybrid"], "system=arc_hybrid"),
        ("mlp", ["features.upos=[s0]"], "slots=s0:form"),
        ("mlp", ["model=bilstm", "encoder.hidden=12"], "encoder"),
        ("bilstm", ["encoder.hidden=13"], "encoder.hidden=13"),
        ("text", ["encoder.tagger.size=5"], "encoder.tagger.size=5"),
        ("text", ["~encoder.tagger.weights.feats"], "encoder.tagger.weights.feats"),
        ("bilstm", ["pretrained.save=true"], r"leave pretrained\.\* out"),
        ("bilstm", ["pretrained.cache=cache"], r"leave pretrained\.\* out"),
        ("bilstm", ["treebank.train={a: FILE}", "treebank.dev=null", "treebank.test=null"], "one treebank"),
    ],
)
def test_settings_that_the_weights_are_not_for_are_refused(kind, changed, key, treebanks, of_kind, tmp_path):
    changed = [one.replace("FILE", str(treebanks[0])) for one in changed]
    with pytest.raises(SettingsError, match=f"start=.*{key}"):
        train(run(treebanks[0], *KINDS[kind], *changed, f"start={of_kind(kind)}"), tmp_path)


@pytest.mark.parametrize(("old", "new"), [("bilstm", "text"), ("text", "bilstm"), ("text", "paper"), ("mlp", "text")])
def test_another_recipe_is_refused_with_the_command_of_the_first(old, new, treebanks, of_kind, tmp_path):
    """The command is in the card, which is copied with the model. A model without a card is refused as well."""
    shutil.copytree(of_kind(old), tmp_path / "old")
    begin = run(treebanks[0], *KINDS[new], f"start={tmp_path}/old"), tmp_path / "new"
    with pytest.raises(SettingsError, match=r"start=.*of its run(?!, as)"):
        train(*begin)
    command = "optimal-step train recipe=accurate seed=7 encoder.hidden=12"
    (tmp_path / "old" / "model" / "README.md").write_text(f"# A\n\n    {command}\n", encoding="utf-8")
    again = f"as in optimal-step train recipe=accurate encoder.hidden=12 start={tmp_path}/old"
    with pytest.raises(SettingsError, match=f"start=.*of its run, {re.escape(again)}"):
        train(*begin)
