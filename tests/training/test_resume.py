"""Runs that are killed, and resumed to the same end."""

import pytest

from parser.training.run import train
from parser.training.run_folder import CheckpointError
from tests.training.small_runs import (
    BILSTM,
    GLOBAL,
    SMALL,
    TEXT,
    check_resumes,
    run,
    train_until_killed,
)

# Overrides, and after how many epochs the run is killed.
RUNS = {
    "paper": ([], [1, 4]),
    "dropout": (
        [
            "classifier.dropout=0.5",
            "keep=last",
            "second_pass.explore_every=2",
            "second_pass.examples=join",
        ],
        [1, 3, 4, 5],
    ),
    "accurate": (["recipe=accurate", *SMALL, "second_pass.policy=sample"], [3, 5]),
    "afresh": (
        ["column=5", "second_pass.explore_every=2", "second_pass.start_from_first_pass=false"],
        [3, 4],
    ),
    "encoder": (
        [*BILSTM, "optimizer.batch_size=60", "first_pass.epochs=2", "second_pass.epochs=2"],
        [1, 3],
    ),
    "online": (
        ["model=linear", "online.iterations=4", "keep=last", "online.exploration_probability=0.5"],
        [3],
    ),
    "beam, dropout": (
        [*GLOBAL, "classifier.dropout=0.3", "classifier.word_dropout=0.25"],
        [2, 3, 4],
    ),
    # Vectors that training changes, each attribute read by one slot:
    # last digits depend on how the weights lie in memory.
    "beam, vectors": (
        [
            *GLOBAL,
            "features.form=[s0]",
            "features.upos=[b0]",
            "features.deprel=[s0.l1]",
            "classifier.hidden=33",
            "vectors.trained=true",
            "+embeddings.upos=7",
            "+embeddings.deprel=5",
        ],
        [2, 3, 4],
    ),
    "beam, encoder": ([*BILSTM, *GLOBAL, "beam.training.learning_rate=0.005"], [3]),
    "text": (TEXT, [2]),
    "beam, text": ([*TEXT, *GLOBAL, "beam.training.learning_rate=0.005"], [3]),
    "beam, online": (
        [
            "model=linear",
            "online.iterations=2",
            "beam=global",
            "beam.size=3",
            "beam.training.epochs=3",
        ],
        [4],
    ),
}


@pytest.mark.parametrize(
    ("name", "epochs"), [(name, epochs) for name, (_, deaths) in RUNS.items() for epochs in deaths]
)
def test_a_killed_run_is_resumed_to_the_same_end(treebank, finished, tmp_path, name, epochs):
    overrides, _ = RUNS[name]
    folder, metrics = finished(*overrides)
    resumed = check_resumes(run(treebank, *overrides), tmp_path, epochs, folder)
    for key in ("dev", "test", "after_first_pass", "after_second_pass"):
        assert resumed.get(key) == metrics.get(key)


def test_other_settings_do_not_resume_a_killed_run(treebank, tmp_path):
    train_until_killed(run(treebank), tmp_path, 1)
    with pytest.raises(CheckpointError, match="resume=false"):
        train(run(treebank, "column=2"), tmp_path)
    train(run(treebank, "column=2", "resume=false"), tmp_path)


@pytest.mark.parametrize(("epochs", "every", "left"), [(4, 1, 2), (6, 1, 0), (5, 2, 1), (4, 3, 1)])
def test_a_resumed_run_explores_only_for_the_epochs_that_are_left(
    treebank, tmp_path, caplog, epochs, every, left
):
    plan = run(treebank, f"second_pass.explore_every={every}")
    train_until_killed(plan, tmp_path, epochs)
    caplog.clear()
    with caplog.at_level("INFO", logger="parser.training"):
        train(plan, tmp_path)
    assert sum("exploring with" in message for message in caplog.messages) == left
