"""What observers hear, write and show: every event of a run, curves and figures,
the model card, the progress bar.
"""

import errno
import hashlib
import inspect
import io
import logging
import math
import random
import re
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.hparams.backend_context import Context
from torch.utils.tensorboard import SummaryWriter

from parser.data.treebank import Treebank
from parser.model.trained_model import TrainedModel
from parser.model_folder import MODEL, TOKENIZER
from parser.settings.plan import Plan
from parser.training import observers
from parser.training.model_card import ModelCard
from parser.training.observers import (
    EpochEnd,
    ExplorationEnd,
    Observer,
    Observers,
    PassEnd,
    PassStart,
    RunStart,
    Update,
)
from parser.training.observers.console import EpochLog, ProgressBar
from parser.training.observers.tensorboard import COMPARED
from parser.training.run import train
from tests.toy import flat_sentences, planned, sentence, write_conllu
from tests.training.small_runs import TEXT, Heard

SENTENCES = [sentence([2, 0, 2], random.Random(seed)) for seed in range(6)]
FEW = [
    "treebank.name=toy", "treebank.test=null", "classifier.hidden=4", "vectors.dimensions=4",
    "vectors.epochs=1", "vectors.min_count=1", "first_pass.epochs=2",
]  # fmt: skip
EVENTS = [
    "optimizer.batch_size=7",
    "optimizer.schedule=linear",
    "second_pass.epochs=3",
    "second_pass.explore_every=2",
]


@pytest.fixture
def toy(tmp_path) -> Path:
    return write_conllu(tmp_path / "toy.conllu", SENTENCES)


@pytest.mark.parametrize("dev", [True, False])
def test_a_run_is_heard_from_beginning_to_end_and_updates_add_up_to_their_epoch(toy, tmp_path, dev):
    heard = Heard()
    run = planned(f"treebank.train={toy}", f"treebank.dev={toy if dev else 'null'}", *FEW, *EVENTS)
    metrics = train(run, tmp_path / "run", [heard])

    # 6 sentences of 3 words have 6 steps each: 36 examples, 6 updates an epoch.
    one = [Update] * 6 + [EpochEnd]
    first = [PassStart, *one * 2, PassEnd]
    second = [PassStart, ExplorationEnd, *one * 2, ExplorationEnd, *one, PassEnd]
    assert [type(event) for event in heard.events] == [RunStart, *first, *second, dict]
    assert heard.closed == 1

    assert [start.examples for start in heard.of(PassStart)] == [36, 36]
    [start], [said] = heard.of(RunStart), heard.of(dict)
    assert (start.epochs, start.epochs_done, start.folder) == (5, 0, tmp_path / "run")
    assert said == metrics
    assert [(end.name, end.dev, end.test) for end in heard.of(PassEnd)] == [
        ("first_pass", metrics["after_first_pass"]["dev"], None),
        ("second_pass", metrics["dev"], None),
    ]
    explorations = heard.of(ExplorationEnd)
    assert [(e.pass_name, e.epoch) for e in explorations] == [
        ("second_pass", 0),
        ("second_pass", 2),
    ]
    assert all(e.seconds > 0 for e in explorations)

    epochs = heard.of(EpochEnd)
    assert [(e.pass_name, e.epoch, e.epochs) for e in epochs[1:3]] == [
        ("first_pass", 1, 2),
        ("second_pass", 0, 3),
    ]
    for epoch in epochs:
        its_own = [
            e for e in heard.of(Update) if (e.pass_name, e.epoch) == (epoch.pass_name, epoch.epoch)
        ]
        assert [update.step for update in its_own] == list(range(6))
        assert [update.examples for update in its_own] == [7, 7, 7, 7, 7, 1]
        mean = math.fsum(float(update.loss) * update.examples for update in its_own) / 36
        assert mean == pytest.approx(epoch.loss)
        assert its_own[-1].learning_rate == epoch.learning_rate < its_own[0].learning_rate
        assert (epoch.examples, epoch.words, epoch.dev is not None) == (36, 18, dev)
        assert epoch.fit_seconds > 0


def test_all_are_closed_though_one_fails(toy, tmp_path):
    class Failing(Observer):
        def on_update(self, update: Update) -> None:
            raise ZeroDivisionError

        def close(self) -> None:
            raise OSError("full disk")

    both = [Heard(), Heard()]
    run = planned(f"treebank.train={toy}", "treebank.dev=null", *FEW)
    with pytest.raises(OSError, match="full disk"):
        train(run, tmp_path / "run", [both[0], Failing(), both[1]])
    assert [one.closed for one in both] == [1, 1]


def test_observers_together_forward_every_event():
    """An event that Observers forgets to pass on is never heard."""
    events = {name for name in vars(Observer) if not name.startswith("_")}
    assert events <= set(vars(Observers))


def run_on(treebank: Path, *overrides: str) -> Plan:
    return planned(
        f"treebank.train={treebank}",
        f"treebank.dev={treebank}",
        *FEW,
        "second_pass.epochs=1",
        *overrides,
    )


def events(treebank: Path, folder: Path, *overrides: str) -> EventAccumulator:
    """Return what TensorBoard reads of a run."""
    train(run_on(treebank, *overrides), folder)
    return EventAccumulator(str(folder), size_guidance={"images": 0, "tensors": 0}).Reload()


def test_both_passes_are_on_one_line_and_trees_are_drawn(toy, tmp_path):
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    found = events(toy, tmp_path, "tensorboard.trees=2", "tensorboard.figures=true")
    tags = found.Tags()
    for tag in (
        "train/loss",
        "train/learning_rate",
        "train/words_per_second",
        "dev/las",
        "dev/uas",
    ):
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
    found = EventAccumulator(str(folder)).Reload()
    tags = set(found.Tags()["scalars"])
    assert [event.value for event in found.Scalars("pass")] == [1, 1, 1, 2, 2, 2]
    for tag in (
        "left_optimum_percent",
        "mean_optimal_steps",
        "reached_gold_percent",
        "lost_edges",
    ):
        assert [event.step for event in found.Scalars(f"exploration/{tag}")] == [3]
    final = {f"final/{part}_{score}" for part in ("dev", "test") for score in ("uas", "las")}
    assert {tag for tag in tags if tag.startswith("final/")} == final
    assert found.Scalars("final/test_las")[0].value == pytest.approx(metrics["test"]["las"])
    (text,) = found.Tensors("settings/text_summary")
    assert b"explore_every: 0" in text.tensor_proto.string_val[0]
    hparams = found.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    assert all(key.encode() in hparams for key in COMPARED)
    assert b"vectors.window" not in hparams


def test_neither_trees_nor_figures_where_they_are_not_wanted_and_what_tells_runs_apart_first(
    toy, tmp_path, monkeypatch
):
    written: list[dict[str, object]] = []
    monkeypatch.setattr(
        SummaryWriter,
        "add_hparams",
        lambda self, compared, *arguments, **options: written.append(compared),
    )
    found = events(toy, tmp_path, "tensorboard.trees=0", "column=1")
    assert found.Tags()["images"] == []
    assert found.Tags()["tensors"] == ["settings/text_summary"]
    assert [*written[0]][:4] == ["treebank.name", "recipe", "seed", "oracle"]
    assert (written[0]["column"], written[0]["seed"]) == ("1", 1)


def test_the_settings_that_were_swept_are_ticked_in_hparams(toy, tmp_path):
    """TensorBoard shows the first five columns, and those that are said to differ come first."""
    swept = (
        "vectors.window",
        "treebank",
        "features.form",
        "optimizer.learning_rate",
        "classifier.hidden",
    )
    for name in ("0-a", "1-b"):
        train(
            replace(run_on(toy, "column=1", "features.form=[s0,b0]"), swept=swept), tmp_path / name
        )
    runs = EventMultiplexer().AddRunsFromDirectory(str(tmp_path)).Reload()
    context = Context(TBContext(data_provider=MultiplexerDataProvider(runs, str(tmp_path))))
    read = context.hparams_metadata(RequestContext(), "all")
    found = context.experiment_from_metadata(RequestContext(), "all", True, read, None)
    assert {*read} == {"0-a", "1-b"}
    assert [column.name for column in found.hparam_infos if column.differs] == sorted(
        [*swept[:1], "treebank.name", *swept[2:]]
    )
    assert {column.name for column in found.hparam_infos} == {
        *COMPARED,
        "vectors.window",
        "features.form",
    }
    assert all(metric.name.tag.startswith("final/") for metric in found.metric_infos)


@pytest.mark.parametrize("method", ["add_text", "add_scalar", "add_hparams", "close"])
def test_an_error_of_its_file_names_the_folder(toy, tmp_path, monkeypatch, method):
    def full(*arguments, **options):
        # as its thread hands it over, without a name
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(SummaryWriter, method, full)
    with pytest.raises(OSError, match="No space left on device") as raised:
        train(run_on(toy, "column=1"), tmp_path / "run")
    assert raised.value.filename == str(tmp_path / "run")


def card_of(folder: Path) -> str:
    return (folder / MODEL / "README.md").read_text(encoding="utf-8")


def check_card(card: str, *lines: str) -> None:
    missing = [line for line in lines if line not in card]
    assert not missing, card


NO_VECTORS = ["vectors.attribute=null", "features.form=[]", "column=1"]


def test_a_card_lies_beside_the_model(toy, tmp_path):
    (tmp_path / "LICENSE.txt").write_text("\nCC BY-SA 4.0\nmore\n")
    metrics = train(
        run_on(toy, *NO_VECTORS), tmp_path / "run", [ModelCard("optimal-step train column=1")]
    )
    card = card_of(tmp_path / "run")
    check_card(
        card,
        f"| treebank.train | toy.conllu | `{hashlib.sha256(toy.read_bytes()).hexdigest()}` | CC "
        "BY-SA 4.0 |",
        f"| dev | {metrics['dev']['uas']:.2f} | {metrics['dev']['las']:.2f} |",
        "    optimal-step train column=1\n",
        "6 sentences, 18 words",
        "with the gold tags of the files (UPOS)",
        "The input needs UPOS",
        "    optimal-step parse THIS_FOLDER input.conllu -o output.conllu\n",
    )
    assert str(tmp_path) not in card
    TrainedModel.load(tmp_path / "run")


def test_the_card_of_a_model_that_goes_on_names_the_data_of_all_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    sums, before = {}, None
    for licence, (name, file) in enumerate(
        {"hu": "hu_toy-ud-train", "el": "el_toy-ud-train", "mine": "mine"}.items()
    ):
        folder = tmp_path / name
        folder.mkdir()
        path = write_conllu(folder / f"{file}.conllu", SENTENCES)
        (folder / "LICENSE.txt").write_text(f"licence {licence}")
        sums[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        start = [] if before is None else [f"start={before}"]
        run = run_on(path, *NO_VECTORS, "treebank.dev=null", f"treebank.name={name}", *start)
        files = f"'treebank.train={{{name}: {path}}}' 'treebank.dev=[{path}, {path}]'"
        train(
            run, folder / "run", [ModelCard(f"optimal-step train {files} {''.join(start)}/model")]
        )
        before = folder / "run"
    card = card_of(before)
    check_card(
        card,
        f"| treebank.train | mine.conllu | `{sums['mine']}` | licence 2 |\n",
        f"| start/treebank.train | el_toy-ud-train.conllu | `{sums['el']}` | licence 1 |\n",
        f"| start/start/treebank.train | hu_toy-ud-train.conllu | `{sums['hu']}` | licence 0 |\n",
        "6 sentences, 18 words, and before on the data of start. ",
        "\n* language: el, hu\n* date: 2023-11-14, UTC\n* size: 0.0 MB\n\n## Data",
        "    optimal-step train 'treebank.train={mine: mine.conllu}' 'treebank.dev=[mine.conllu, "
        "mine.conllu]' start=run/model",
    )
    assert str(tmp_path) not in card
    (before / MODEL / "README.md").unlink()
    train(run_on(path, *NO_VECTORS, f"start={before}"), tmp_path / "run", [ModelCard("train")])
    known_no_more = "| start | data of a model without a card | | not known |"
    check_card(
        card_of(tmp_path / "run"), known_no_more, "words per second (trees of dev, one thread"
    )


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
    metrics = train(
        run,
        tmp_path / "run",
        [HasTokenizer(), ModelCard(f"optimal-step train 'treebank.train={{a:{path}}}'")],
    )
    card = card_of(tmp_path / "run")
    check_card(
        card,
        "recipe=text, model=bilstm, beam=local, seed=1",
        "    optimal-step train 'treebank.train={a:toy.conllu}'\n",  # a is no drive
        "of forms alone, without tags; upos, feats and lemma: predicted values that are right",
        "The input needs no tags; --tags=fill writes those that the model predicts; "
        "--treebank names",
        "names the one that it resembles (a, b). ",
        "    optimal-step parse THIS_FOLDER text.txt --text --treebank a -o output.conllu\n",
        " words per second (trees of dev, one thread, on the machine that trained it)\n",
        f"| {metrics['dev']['upos']:.2f} | {metrics['dev']['feats']:.2f} | "
        f"{metrics['dev']['lemma']:.2f} |\n",
    )
    assert "* language" not in card
    assert "gold tags" not in card


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def begun(epochs: int, done: int) -> ProgressBar:
    """Return a bar of a run on 40 sentences of 500 words."""
    anything: Any = None
    corpus: Any = SimpleNamespace(train=Treebank("toy", flat_sentences([12, 13] * 20)))
    bar = ProgressBar()
    bar.on_start(RunStart(anything, anything, Path(), corpus, anything, epochs, done))
    return bar


def epoch_end(name: str, examples: int) -> EpochEnd:
    return EpochEnd(name, 0, 5, 0.5, {"las": 70.0}, 0.1, examples, 500, 1.0)


def test_it_goes_on_with_every_update_and_ends_with_the_run(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = begun(epochs=3, done=1)
    bar.on_pass_start(PassStart(2, "second_pass", 2, 0, 1000))
    assert bar._bar.n == 1
    bar.on_update(Update("second_pass", 0, 0, 0.5, 250, 0.1))
    assert bar._bar.n == pytest.approx(1.25)  # of two steps for each of 500 words
    for _ in range(5):
        bar.on_update(Update("second_pass", 0, 0, 0.5, 250, 0.1))
    assert bar._bar.n == pytest.approx(1.99)
    bar.on_epoch(epoch_end("second_pass", 1500))
    assert bar._bar.n == pytest.approx(2)
    # of as many as there were in the epoch before
    bar.on_update(Update("second_pass", 1, 0, 0.5, 750, 0.1))
    assert bar._bar.n == pytest.approx(2.5)
    bar.on_epoch(epoch_end("second_pass", 1500))
    bar._bar.refresh()
    bar.close()
    last = terminal.getvalue().rstrip().splitlines()[-1].rpartition("\r")[2]
    assert re.match(
        r"second pass: 100%.* 3\.0 of 3 epochs.* left, ends \d\d:\d\d, loss=0\.500, dev"
        r" LAS=70\.00",
        last,
    ), last


def test_in_global_training_sentences_are_counted_and_without_a_terminal_nothing_is_drawn(
    monkeypatch,
):
    monkeypatch.setattr(sys, "stderr", Terminal())
    bar = begun(epochs=10, done=0)
    bar.on_pass_start(PassStart(3, "third_pass", 10, 0, 40))
    bar.on_update(Update("third_pass", 0, 0, 0.5, 8, 0.1))
    assert bar._bar.n == pytest.approx(0.2)
    bar.close()
    monkeypatch.setattr(sys, "stderr", file := io.StringIO())
    bar = begun(epochs=3, done=0)
    bar.on_pass_start(PassStart(1, "first_pass", 3, 0, 1000))
    bar.on_update(Update("first_pass", 0, 0, 0.5, 100, 0.1))
    bar.on_epoch(epoch_end("first_pass", 100))
    bar.close()
    assert file.getvalue() == ""


@pytest.mark.parametrize("updates", [3, 7, 11])
def test_many_steps_do_not_lead_beyond_the_end(monkeypatch, updates):
    """tqdm warns of a bar that rounding carries beyond its total."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    bar = begun(epochs=3, done=0)
    bar.on_pass_start(PassStart(1, "first_pass", 3, 0, 130 * updates))
    for epoch in range(1, 4):
        for _ in range(updates):
            bar.on_update(Update("first_pass", epoch, 0, 0.5, 130, 0.1))
        bar.on_epoch(epoch_end("first_pass", 130 * updates + epoch))
        assert bar._bar.n == epoch
    bar.close()


@pytest.mark.parametrize(
    ("done", "passes", "expected"),
    [
        (0, [("first_pass", 0, 3, 15), ("second_pass", 0, 2, 100)], [
            "2026-01-01 23:31, in 1 minute, or later if the epochs of the next pass take longer",
            "2026-01-01 23:34, in 2 minutes",
        ]),
        (1, [("first_pass", 1, 5, 1200)], ["2026-01-02 00:50, in 60 minutes"]),
        (4, [("second_pass", 2, 4, 7200)], ["2026-01-02 03:30, in 120 minutes"]),
        (2, [("second_pass", 2, 3, 15)], []),  # there is no other
    ],
)  # fmt: skip
def test_after_the_first_epoch_of_a_pass_the_log_says_when_the_passes_end(
    caplog, done, passes, expected
):
    now = datetime(2026, 1, 1, 23, 30)
    log = EpochLog(lambda: now)
    anything: Any = None
    total = done + sum(epochs - of_pass for _, of_pass, epochs, _ in passes)
    with caplog.at_level(logging.INFO):
        log.on_start(RunStart(anything, anything, Path(), anything, anything, total, done))
        for number, (name, of_pass, epochs, seconds) in enumerate(passes, 1):
            log.on_pass_start(PassStart(number, name, epochs, of_pass, 100))
            for epoch in range(of_pass, epochs):
                now += timedelta(seconds=seconds)
                log.on_epoch(EpochEnd(name, epoch, epochs, 0.5, None, 0.1, 100, 500, 1.0))
    said = [
        message.removeprefix("the passes end at about ")
        for message in caplog.messages
        if "the passes end" in message
    ]
    assert said == expected


def test_the_example_of_the_docstring_calls_train_as_it_is():
    [arguments] = re.findall(r"^    train\((.*)\)$", observers.__doc__ or "", re.MULTILINE)
    assert arguments.split(", ")[:2] == [*inspect.signature(train).parameters][:2]
