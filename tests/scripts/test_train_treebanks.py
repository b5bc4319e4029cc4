"""Every treebank of a folder is trained once; one that cannot be read loses itself alone."""

import random
import subprocess
import sys

import pytest

from parser.commands.train_treebanks import main, table
from parser.model.trained_model import TrainedModel
from tests import forked
from tests.toy import NO_VECTORS, TINY, sentence, write_conllu


@pytest.fixture
def made(monkeypatch) -> list[list[str]]:
    """Return what the trainings are given, which run in forked processes."""
    made: list[list[str]] = []

    def run(command: list[str], **_) -> subprocess.CompletedProcess[str]:
        assert command[:5] == [sys.executable, "-P", "-m", "parser.commands", "train"]
        made.append(command[5:])
        return forked.script("scripts/train.py", *command[5:])

    monkeypatch.setattr(subprocess, "run", run)
    return made


@pytest.mark.usefixtures("made")
def test_a_folder_of_treebanks(tmp_path, capsys):
    toys = [sentence([2, 0, 2], random.Random(seed)) for seed in range(12)]
    for name in ("UD_A-a é (v2)", "UD_B-b"):
        (tmp_path / "ud" / name).mkdir(parents=True)
    write_conllu(tmp_path / "ud" / "UD_A-a é (v2)" / "a_a-ud-train.conllu", toys)
    (tmp_path / "ud" / "UD_B-b" / "b_b-ud-train.conllu").write_text("no treebank\n")
    assert (
        main([str(tmp_path / "ud"), "-o", str(tmp_path / "runs"), "column=1", *TINY, *NO_VECTORS])
        == 1
    )
    written = (tmp_path / "runs" / "table.md").read_text()
    assert capsys.readouterr().out == written
    assert "| UD_A-a é (v2) | 11 | 33 | " in written  # the tenth sentence is held out
    assert "| UD_B-b | failed |" in written
    assert (tmp_path / "runs" / "UD_A-a é (v2)" / "model").is_dir()


def test_shares_to_hold_out_are_for_treebanks_without_these_parts(tmp_path, monkeypatch):
    given: dict[str, list[str]] = {}

    def run(command: list[str], **_) -> subprocess.CompletedProcess[str]:
        name = next(word for word in command if word.startswith("treebank.name="))
        shares = [word for word in command if word.startswith("treebank.held_out=")]
        given[name.partition("=")[2].strip("\"'")] = shares
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(subprocess, "run", run)
    for name, parts in {"A": "train dev test", "B": "train dev", "C": "train"}.items():
        (folder := tmp_path / "ud" / name).mkdir(parents=True)
        for part in parts.split():
            (folder / f"x-ud-{part}.conllu").touch()
    share = "treebank.held_out=0.2"
    main([str(tmp_path / "ud"), "-o", str(tmp_path / "runs"), share])
    assert given == {"A": [], "B": [], "C": ["treebank.held_out=0.1", share]}
    main([str(tmp_path / "ud"), "-o", str(tmp_path / "runs"), f"{share},0.2"])
    assert given["A"] == []
    assert given["B"] == [f"{share},0.2"]
    main([str(tmp_path / "ud"), "-o", str(tmp_path / "runs"), share, "treebank.dev=null"])
    assert given["A"] == [share]


@pytest.mark.long
def test_several_treebanks_make_one_model_besides(tmp_path, capsys, made):
    for name, parts in {"UD_A-a": ["train", "dev", "test"], "UD_B": ["train", "test"]}.items():
        (folder := tmp_path / "u d, é" / name).mkdir(parents=True)
        for seed, part in enumerate(parts):
            toys = [sentence([2, 0, 2], random.Random(10 * number + seed)) for number in range(12)]
            write_conllu(folder / f"x-ud-{part}.conllu", toys)
    alone = [
        "column=1",
        *TINY,
        "recipe=accurate",
        "model=bilstm",
        "encoder.hidden=4",
        "encoder.layers=1",
    ]
    arguments = [
        str(tmp_path / "u d, é"),
        "--together",
        "UD_A-a,UD_B",
        "-o",
        str(tmp_path / "runs"),
        *alone,
    ]
    assert main(arguments) == 0
    assert len(made) == 3
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows[2:]] == [
        "| UD_A-a",
        "| UD_B",
        "| UD_A-a+UD_B",
        "| UD_A-a+UD_B: UD_A-a",
        "| UD_A-a+UD_B: UD_B",
    ]
    assert rows[4][1:3] == ["24", "72"]
    # one of them has no dev part
    assert [row[-2] == "-" for row in rows[4:]] == [False, True, True]
    assert TrainedModel.load(tmp_path / "runs" / "UD_A-a+UD_B").vocabularies.treebanks == [
        "UD_A-a",
        "UD_B",
    ]


@pytest.mark.parametrize(
    ("files", "options", "said"),
    [
        ([], [], "no folder in it has a file"),
        (["UD_A/a_a", "UD_A/a_b"], [], "UD_A has several files"),
        (["UD_A/x", "UD B/x"], ["--together", "UD_A"], "--together.*two treebanks"),
        (["UD_A/x", "UD B/x"], ["--together", "UD_A,UD_A,UD_A"], "--together.*each once"),
        (["UD_A/x", "UD B/x"], ["--together", "UD_A,UD_C"], "--together.*UD_C.*UD B, UD_A"),
        (["UD_A/x", "UD B/x"], ["--together", "UD_A,UD B"], "--together.*UD B"),
    ],
)
def test_treebanks_that_cannot_be_trained_on(tmp_path, files, options, said):
    for name in files:
        path = tmp_path / f"{name}-ud-train.conllu"
        path.parent.mkdir(exist_ok=True)
        write_conllu(path, [sentence([0], random.Random(1))])
    with pytest.raises(ValueError, match=said):
        main([str(tmp_path), *options])


def test_a_table():
    parts = {
        "train": {"sentences": 1200, "words": 12000},
        "dev": None,
        "test": {"las": 50.0, "uas": 60.0},
    }
    assert table({"x": parts}).splitlines()[2] == "| x | 1,200 | 12,000 | - | 50.00 / 60.00 |"
