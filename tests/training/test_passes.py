"""Whole runs on tiny treebanks: learning by heart, determinism, resuming, what is written, what is refused."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from parser.data.treebank import read_treebank
from parser.decoding.parsers import parse
from parser.model import Model
from parser.settings import SettingsError
from parser.training import checkpoint, passes
from parser.training.checkpoint import CheckpointError
from parser.training.console import final_table
from parser.training.passes import train
from parser.training.settings_check import check
from parser.training.settings_ranges import RANGES, numbers
from parser.training.tensorboard import COMPARED
from tests.random_trees import random_mildly_nonprojective_tree
from tests.toy import sentence, settings, write_conllu

SMALL = [
    "classifier.hidden=32",
    "vectors.dimensions=16",
    "optimizer.batch_size=20",
    "first_pass.epochs=3",
    "second_pass.epochs=3",
]


@pytest.fixture(scope="module")
def treebank(tmp_path_factory) -> Path:
    rng = random.Random(0)
    trees: list[list[int]] = []
    while len(trees) < 30:  # with a single child of the root, as gold data must have
        heads = random_mildly_nonprojective_tree(rng, rng.randint(2, 9))
        if heads.count(0) == 1:
            trees.append(heads)
    return write_conllu(tmp_path_factory.mktemp("toy") / "toy.conllu", [sentence(heads, rng) for heads in trees])


def run(treebank: Path, *overrides: str):
    files = [f"treebank.{part}={treebank}" for part in ("train", "dev", "test")]
    return settings("treebank.name=toy", *files, *SMALL, *overrides)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "model").iterdir())}


@pytest.fixture(scope="module")
def finished(treebank, tmp_path_factory) -> tuple[Path, dict]:
    folder = tmp_path_factory.mktemp("run")
    return folder, train(run(treebank), folder)


def test_it_learns_a_tiny_treebank_by_heart(treebank, tmp_path):
    """Random trees cannot be guessed, so only a parser that has learned them gets them right."""
    metrics = train(
        run(
            treebank,
            "column=5",
            "classifier.hidden=128",
            "optimizer.name=adam",
            "optimizer.learning_rate=0.01",
            "vectors.trained=true",
            "first_pass.epochs=30",
            "second_pass.epochs=30",
            "second_pass.explore_every=5",
        ),
        tmp_path,
    )
    trees = read_treebank(treebank).trees
    words, projective_words = trees.lengths.sum(), trees.lengths[trees.projective].sum()
    assert metrics["test"]["las"] > 100 * projective_words / words  # all of the projective ones, and much of the others
    assert metrics["test"]["las"] > 90


def test_what_a_run_writes(finished):
    folder, metrics = finished
    assert json.loads((folder / "metrics.json").read_text()) == metrics
    keys = {"treebank", "column", "recipe", "oracle", "strategy", "seed", "train", "dev", "test", "after_first_pass", "seconds"}
    assert keys | {"ties"} < set(metrics)
    scores = {"uas", "las", "las_universal", "uas_nopunct", "las_nopunct"}
    for found in (metrics["dev"], metrics["test"], metrics["after_first_pass"]["dev"], metrics["after_first_pass"]["test"]):
        assert set(found) == scores
        assert all(0 <= value <= 100 for value in found.values())
    assert metrics["train"]["sentences"] == 30
    assert list(folder.glob("events.out.tfevents.*"))
    assert not list(folder.glob("*checkpoint*"))
    assert "test at the end" in final_table(metrics)


def test_tensorboard_events(finished):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder, metrics = finished
    events = EventAccumulator(str(folder)).Reload()
    tags = set(events.Tags()["scalars"])
    for tag in ("train/loss", "train/learning_rate", "train/words_per_second", "dev/uas", "dev/las"):
        assert [event.step for event in events.Scalars(tag)] == list(range(6))  # both passes on one time line
    assert [event.value for event in events.Scalars("pass")] == [1, 1, 1, 2, 2, 2]
    exploration = {"left_optimum_percent", "mean_optimal_steps", "reached_gold_percent", "lost_edges"}
    for tag in exploration:
        assert [event.step for event in events.Scalars(f"exploration/{tag}")] == [3]
    assert {tag for tag in tags if tag.startswith("final/")} == {
        f"final/{p}_{k}" for p in ("dev", "test") for k in ("uas", "las")
    }
    assert events.Scalars("final/test_las")[0].value == pytest.approx(metrics["test"]["las"])
    (text,) = events.Tensors("settings/text_summary")
    assert b"explore_every: 0" in text.tensor_proto.string_val[0]
    hparams = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    assert all(key.encode() in hparams for key in COMPARED)
    assert b"vectors.window" not in hparams


def test_the_written_model_gives_the_reported_metrics(finished, treebank):
    folder, metrics = finished
    sentences = read_treebank(treebank).sentences
    parses = parse(Model.load(folder / "model"), sentences)
    heads = [head for s in sentences for head in s.heads]
    predicted = [h for a, b in zip(parses.offsets, parses.offsets[1:], strict=False) for h in parses.heads[a + 1 : b]]
    assert 100 * sum(a == b for a, b in zip(heads, predicted, strict=True)) / len(heads) == pytest.approx(
        metrics["test"]["uas"]
    )


def test_the_same_seed_gives_the_same_bytes(finished, treebank, tmp_path):
    folder, metrics = finished
    again = train(run(treebank), tmp_path)
    assert files_of(tmp_path) == files_of(folder)
    assert {k: v for k, v in again.items() if k != "seconds"} == {k: v for k, v in metrics.items() if k != "seconds"}


def test_another_seed_gives_another_model(finished, treebank, tmp_path):
    train(run(treebank, "seed=2"), tmp_path)
    assert files_of(tmp_path) != files_of(finished[0])


class KilledError(Exception):
    """Stands for the death of the process."""


@pytest.mark.parametrize("epochs_until_death", [1, 3, 4, 5])
@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["classifier.dropout=0.5", "keep=last", "second_pass.explore_every=2", "second_pass.examples=join"],
        ["recipe=accurate", *SMALL, "second_pass.policy=sample"],
    ],
)
def test_a_killed_run_is_resumed_to_the_same_end(treebank, tmp_path, monkeypatch, epochs_until_death, overrides):
    whole = train(run(treebank, *overrides), tmp_path / "whole")
    saved = 0
    save = checkpoint.save

    def save_and_die(*arguments):
        nonlocal saved
        save(*arguments)
        saved += 1
        if saved == epochs_until_death:
            raise KilledError

    monkeypatch.setattr(passes.checkpoint, "save", save_and_die)
    with pytest.raises(KilledError):
        train(run(treebank, *overrides), tmp_path / "killed")
    monkeypatch.undo()
    assert not (tmp_path / "killed" / "model").exists()
    resumed = train(run(treebank, *overrides), tmp_path / "killed")
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
    assert resumed["test"] == whole["test"]
    assert resumed["after_first_pass"] == whole["after_first_pass"]


def test_other_settings_do_not_resume_a_killed_run(treebank, tmp_path, monkeypatch):
    save = checkpoint.save

    def save_and_die(*arguments):
        save(*arguments)
        raise KilledError

    monkeypatch.setattr(passes.checkpoint, "save", save_and_die)
    with pytest.raises(KilledError):
        train(run(treebank), tmp_path)
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="resume=false"):
        train(run(treebank, "column=2"), tmp_path)
    train(run(treebank, "column=2", "resume=false"), tmp_path)


@pytest.mark.parametrize("column", [1, 2, 3, 4, 5, 6])
def test_every_column_of_table_7(treebank, tmp_path, column):
    metrics = train(run(treebank, f"column={column}"), tmp_path)
    assert metrics["column"] == column
    if column <= 2:
        assert metrics["after_first_pass"]["test"] == metrics["test"]
    assert ("second_pass_exploration" in metrics["seconds"]) == (column > 2)


def test_a_first_pass_can_be_shared(treebank, tmp_path):
    first = train(run(treebank, "column=2"), tmp_path / "first")
    second = train(run(treebank, "column=5", f"first_pass.model={tmp_path}/first/model"), tmp_path / "second")
    assert second["after_first_pass"] == first["after_first_pass"]
    assert "first_pass_fit" not in second["seconds"]
    with pytest.raises(SettingsError, match="other features"):
        train(run(treebank, "classifier.hidden=33", f"first_pass.model={tmp_path}/first/model"), tmp_path / "third")


@pytest.mark.parametrize(
    "overrides",
    [
        ["second_pass.target=marginal"],
        ["second_pass.target=fixed_order", "second_pass.start_from_first_pass=false"],
        ["second_pass.examples=join", "second_pass.target=marginal"],
        ["features.form=[]", "+features.lower=[s0,b0]", "vectors.attribute=lower"],
        ["features.form=[]", "features.upos=[]", "+features.xpos=[s0]", "+features.feats=[s0,b0.l1]"],
        ["single_root=false", "projectivization=arbitrary", "strategy=right_before_left"],
        ["treebank.dev=null", "treebank.test=null"],
    ],
)
def test_settings_that_can_be_combined(treebank, tmp_path, overrides):
    metrics = train(run(treebank, *overrides), tmp_path)
    assert (metrics["test"] is None) == ("treebank.test=null" in overrides)


@pytest.mark.parametrize("missing", [(), ("upos",), ("xpos", "feats"), ("upos", "xpos", "feats")])
@pytest.mark.parametrize("vectors", [(), ("vectors.attribute=null", "+embeddings.form=8")])
def test_the_accurate_recipe_copes_with_missing_columns(tmp_path, missing, vectors, caplog):
    """Each sentence has its own tags, so that a parser which reads any column can learn the trees by heart."""
    rng = random.Random(4)
    sentences = []
    for i in range(12):
        heads = [0, *(rng.randint(1, n) for n in range(1, 5))]
        columns = {name: "_" if name in missing else f"{name}={i % 4}|x={i % 3}" for name in ("upos", "xpos", "feats")}
        made = sentence(heads, rng)
        sentences.append(replace(made, **{name: [value] * len(heads) for name, value in columns.items()}))
    file = write_conllu(tmp_path / "toy.conllu", sentences)
    small = ("vectors.dimensions=8", "optimizer.batch_size=20", "optimizer.learning_rate=0.01", "second_pass.epochs=20")
    metrics = train(run(file, "recipe=accurate", *small, "classifier.hidden=64", *vectors), tmp_path / "run")
    left_out = {name for name in ("upos", "xpos", "feats", "feats_pairs") if f"every word has {name} '_'" in caplog.text}
    assert left_out == {*missing, *(["feats_pairs"] if "feats" in missing else [])}
    assert metrics["test"]["uas"] > 60
    assert parse(Model.load(tmp_path / "run" / "model"), sentences).heads.max() <= 5


def test_an_earlier_vector_and_a_learned_one_for_the_same_attribute_are_refused(treebank, tmp_path):
    with pytest.raises(SettingsError, match="drop one"):
        train(run(treebank, "+embeddings.form=8"), tmp_path)


def test_a_classifier_that_would_read_nothing_is_refused(treebank, tmp_path):
    with pytest.raises(SettingsError, match="no feature slot is left"):
        train(run(treebank, "features.form=[]", "features.upos=[]", "features.deprel=[]"), tmp_path)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("column=7", "column=7 is unknown; known: 1, 2, 3, 4, 5, 6"),
        ("oracle=swap_lazy", "oracle=swap_lazy is unknown to system=arc_standard; known: "),
        ("ties=random", "ties=random is unknown; known: null, nearest_ancestor"),
        ("strategy=lucky", "strategy=lucky is unknown; known: left_before_right"),
        ("optimizer.name=lbfgs", "known: sgd, adam"),
        ("classifier.activation=step", "known: relu"),
        ("classifier.dropout=1", "dropout=1"),
        ("second_pass.trees=some", "known: null, projective_subset"),
        ("treebank.train=null", "treebank.train=FILE"),
        ("+colunm=2", "there is no setting colunm; the nearest is column"),
        ("+optimizer.lr=0.01", "there is no setting optimizer.lr; the nearest is optimizer.learning_rate"),
        ("+experiment=table7", "there is no setting experiment; the nearest is "),
        ("optimizer.batch_size=0", "at least 1"),
        ("optimizer.schedule_over=night", "known: pass, run"),
        ("second_pass.policy=wander", "known: prediction, mixed, sample"),
        ("second_pass.follow=1.5", "at least 0 and at most 1"),
        ("classifier.slot_dropout=1", "slot_dropout=1"),
        ("classifier.word_dropout=-1", "word_dropout=-1"),
        ("+embeddings.shape=3", "embeddings.shape: there is no such attribute; known: form"),
        ("+embeddings.upos=0", "embeddings.upos=0 is out of range"),
        ("model=bilstm", "choose recipe=accurate"),
        ("+features.feats_pairs=[s0]", "give embeddings.feats_pairs"),
    ],
)
def test_settings_that_cannot_be(treebank, tmp_path, override, message):
    with pytest.raises(SettingsError) as raised:
        train(run(treebank, override), tmp_path)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seed", -1),
        ("seed", 2**32),
        ("seed", 2**33),
        ("threads", 0),
        ("threads", 1_000_000),
        ("vectors.epochs", -1),
        ("vectors.window", -1),
        ("vectors.window", 0),
        ("vectors.min_count", 0),
        ("vectors.dimensions", 10**9),
        ("classifier.hidden", 10**10),
        ("classifier.word_dropout", "nan"),
        ("optimizer.learning_rate", 0),
        ("optimizer.learning_rate", -1),
        ("optimizer.learning_rate", "inf"),
        ("optimizer.momentum", 5),
        ("optimizer.weight_decay", 1e9),
        ("optimizer.weight_decay", -0.1),
        ("optimizer.batch_size", 0),
        ("first_pass.epochs", 0),
    ],
)
def test_numbers_out_of_range_are_refused_before_data_are_read(tmp_path, key, value):
    with pytest.raises(SettingsError, match=rf"^{key}=.* is out of range; .* must be (at least|above) .* and (at most|below) "):
        train(settings("treebank.train=nowhere.conllu", f"{key}={value}"), tmp_path)


def test_every_number_has_a_range():
    """With a new number, the table of ranges grows."""
    made = settings("model=bilstm", "recipe=accurate")
    known = {one.key for one in RANGES}
    keys = {key for key, _ in numbers(OmegaConf.to_container(made, resolve=True))} - {"column"}  # checked by name
    assert {key if key in known else f"{key.partition('.')[0]}.*" for key in keys} | {"degree"} == known
    check(made)


def test_a_device_that_is_not_there_is_refused(treebank, tmp_path):
    with pytest.raises(ValueError, match="no device 'tpu' here; there is cpu"):
        train(run(treebank, "device=tpu"), tmp_path)


def test_an_oracle_that_cannot_do_the_trees_of_the_second_pass_is_refused_before_data_are_read(tmp_path):
    with pytest.raises(ValueError, match=r"oracle=static needs projective trees.*oracle=nederhof_cubic"):
        train(settings("treebank.train=nowhere.conllu", "column=5", "oracle=static"), tmp_path)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["treebank.train=nowhere.conllu"], r"^treebank\.train=nowhere\.conllu: there is no such file$"),
        (["treebank=hu"], r"hu_szeged-ud-train\.conllu: there is no such file; paths\.treebanks=data must be the folder "),
        (["~treebank"], r"there is no training part: give treebank=NAME or treebank\.train=FILE"),
    ],
)
def test_a_missing_treebank_is_named_with_what_to_set(tmp_path, overrides, message):
    with pytest.raises(SettingsError, match=message):
        train(settings(*overrides), tmp_path)


def test_a_run_without_dev_and_test_says_why_there_is_no_table(treebank, tmp_path):
    table = final_table(train(run(treebank, "column=1", "treebank.dev=null", "treebank.test=null"), tmp_path))
    assert table.startswith("nothing was measured")
    assert "treebank.dev=FILE" in table


def test_relations_that_training_never_saw_are_counted_not_fatal(treebank, tmp_path, caplog):
    other = tmp_path / "other.conllu"
    other.write_text(treebank.read_text().replace("\tobj\t", "\tobj:strange\t"))
    metrics = train(run(treebank, f"treebank.test={other}"), tmp_path / "run")
    assert "obj:strange" in caplog.text
    assert metrics["test"]["las"] <= metrics["test"]["las_universal"]
