"""Settings that cannot be are refused, before data are read, with the fix."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from parser.settings import SettingsError
from parser.training.checks.settings_check import check
from parser.training.checks.settings_ranges import RANGES, numbers
from parser.training.run import train
from tests.toy import settings
from tests.training.small_runs import run


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
        ("second_pass.policy=wander", "known: prediction, mixed, sample, beam"),
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
    known = set(RANGES)
    found = {"degree", "vectors.limit"}  # null unless they are given
    for overrides in (["model=bilstm", "recipe=accurate"], ["model=linear"], ["recipe=text"], ["beam=global"]):
        made = settings(*overrides)
        keys = {key for key, _ in numbers(OmegaConf.to_container(made, resolve=True))} - {"column"}  # checked by name
        found |= {key if key in known else f"{key.rpartition('.')[0]}.*" for key in keys}
        check(made)
    assert found == known


def test_a_device_that_is_not_there_is_refused(treebank, tmp_path):
    with pytest.raises(ValueError, match="device=tpu: there is no device 'tpu' here; available: cpu"):
        train(run(treebank, "device=tpu"), tmp_path)


@pytest.mark.parametrize("key", ["features.form", "encoder.slots.token"])
def test_a_list_is_no_address(tmp_path, key):
    with pytest.raises(SettingsError, match=rf"{key}: \['s0'\] is not an address; give a list of them"):
        train(settings("treebank.train=nowhere.conllu", "recipe=accurate", "model=bilstm", f"{key}=[s1,[s0]]"), tmp_path)


@pytest.mark.parametrize("oracle", ["static", "nederhof_linear"])
def test_an_oracle_that_cannot_do_the_trees_of_the_second_pass_is_refused_before_data_are_read(tmp_path, oracle):
    with pytest.raises(ValueError, match=rf"oracle={oracle} needs projective trees.*oracle=nederhof_cubic"):
        train(settings("treebank.train=nowhere.conllu", "column=5", f"oracle={oracle}"), tmp_path)


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
