"""The events of a run: curves over both passes, trees and figures of dev, word vectors on request."""

import errno
import random

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter

from parser.training.observers.tensorboard import COMPARED
from parser.training.run import train
from tests.toy import planned, sentence, write_conllu

FEW = [
    "treebank.name=toy", "treebank.test=null", "classifier.hidden=4", "vectors.dimensions=4", "vectors.epochs=1",
    "vectors.min_count=1", "first_pass.epochs=2", "second_pass.epochs=1",
]  # fmt: skip


def events(tmp_path, *overrides: str) -> EventAccumulator:
    path = write_conllu(tmp_path / "toy.conllu", [sentence([2, 0, 2], random.Random(seed)) for seed in range(6)])
    train(planned(f"treebank.train={path}", f"treebank.dev={path}", *FEW, *overrides), tmp_path / "run")
    found = EventAccumulator(str(tmp_path / "run"), size_guidance={"images": 0, "tensors": 0})
    found.Reload()
    return found


def test_both_passes_are_on_one_line_and_trees_are_drawn(tmp_path):
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    found = events(tmp_path, "tensorboard.trees=2", "tensorboard.figures=true")
    tags = found.Tags()
    for tag in ("train/loss", "train/learning_rate", "train/words_per_second", "dev/las", "dev/uas"):
        assert [event.step for event in found.Scalars(tag)] == [0, 1, 2]
    assert [event.step for event in found.Scalars("exploration/left_optimum_percent")] == [2]
    assert {"dev/sentence_1/text_summary", "dev/sentence_2/text_summary"} < set(tags["tensors"])
    assert "dev/sentence_3/text_summary" not in tags["tensors"]
    drawn = found.Tensors("dev/sentence_1/text_summary")
    assert [event.step for event in drawn] == [0, 1, 2]
    assert "┌" in drawn[0].tensor_proto.string_val[0].decode()
    assert set(tags["images"]) == {"dev/las_by_distance", "dev/las_by_relation", "dev/confusion"}
    assert [event.step for event in found.Images("dev/confusion")] == [1, 2]


def test_passes_explorations_settings_and_final_scores_are_there(finished):
    folder, metrics = finished()
    events = EventAccumulator(str(folder)).Reload()
    tags = set(events.Tags()["scalars"])
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


def test_none_of_it_where_it_is_not_wanted(tmp_path):
    found = events(tmp_path, "tensorboard.trees=0")
    assert found.Tags()["images"] == []
    assert found.Tags()["tensors"] == ["settings/text_summary"]


def test_what_tells_runs_apart_comes_first_and_the_column_is_a_name(tmp_path, monkeypatch):
    written: list[dict[str, object]] = []
    monkeypatch.setattr(SummaryWriter, "add_hparams", lambda self, compared, *arguments, **options: written.append(compared))
    events(tmp_path, "tensorboard.trees=0", "column=1")
    assert [*written[0]][:4] == ["treebank.name", "recipe", "seed", "oracle"]
    assert (written[0]["column"], written[0]["seed"]) == ("1", 1)


@pytest.mark.parametrize("method", ["add_text", "add_scalar", "add_hparams", "close"])
def test_an_error_of_its_file_names_the_folder(tmp_path, monkeypatch, method):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")  # as its thread hands it over, without a name

    monkeypatch.setattr(SummaryWriter, method, full)
    with pytest.raises(OSError, match="No space left on device") as raised:
        events(tmp_path, "tensorboard.figures=false", "column=1")
    assert raised.value.filename == str(tmp_path / "run")
