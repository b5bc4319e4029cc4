"""LAS against speed: what is trained and measured, and the plot."""

import sys
from functools import partial
from pathlib import Path

import pytest

from experiments import front
from experiments.command import settings_of
from experiments.front import Front, System
from experiments.peers import PeerRun
from tests.toy import ROOT

COPY = [sys.executable, "-c", "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"]


def wanted_of(*overrides: str) -> Front:
    wanted = settings_of(
        Front, "front", ["languages=[sample]", "seeds=1", "rounds=1", "systems=[]", *overrides]
    )
    wanted.all_systems = {
        "mlp": System(["model=mlp"]),
        "text": System(["encoder.lemmas=null"]),
        "text, reranked": System(["encoder.lemmas=null"], ["--beam", "8"]),
    }
    return wanted


def test_systems_with_one_training_share_its_model(tmp_path, monkeypatch):
    trained, parsing = [], []

    def train(training, folder, fresh=False):
        training.settings()  # which are understood
        trained.append((folder, training.overrides, training.files))
        (folder / "model").mkdir(parents=True, exist_ok=True)
        return {"cpu_seconds": 12.5}

    def command(wanted, name, folder):
        parsing.append((name, folder))
        return COPY  # of gold trees

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(front, "run_training", train)
    monkeypatch.setattr(Front, "command", command)
    monkeypatch.setattr(
        front, "tokenized", lambda training, runs: training.part("test").read_bytes()
    )
    wanted = wanted_of(f"runs={tmp_path}")
    cells = front.cells(wanted)
    measured = dict(front.measure(wanted, cells))
    assert [*measured] == [cell.key for cell in cells]
    for values in measured.values():
        assert [values[name] for name in ("las", "uas", "dev_las", "raw_las", "cpu_seconds")] == [
            "100.0000"
        ] * 4 + ["12.5"]
    assert [name for name, _ in parsing] == [*wanted.all_systems]
    assert [folder for folder, *_ in trained] == [parsing[0][1], parsing[1][1]]
    assert parsing[1][1] == parsing[2][1]


def test_a_parser_that_fails_is_an_error_that_names_its_command():
    with pytest.raises(ValueError, match=r"-c 'import sys; sys.exit\(3\)' ended with 3"):
        front.output([sys.executable, "-c", "import sys; sys.exit(3)"], b"")


def test_a_row_says_how_its_system_is_trained_and_parses():
    settings = {cell.key[0]: cell.settings for cell in front.cells(wanted_of())}
    assert settings["mlp"] == "recipe=text model=mlp"
    assert settings["text, reranked"] == "recipe=text encoder.lemmas=null --beam 8"


@pytest.mark.parametrize("override", ["systems=[bilstm]", "rounds=0"])
def test_what_cannot_be_asked_for_is_refused(override):
    with pytest.raises(ValueError, match=override.partition("=")[0]):
        front.cells(wanted_of(override))


def test_outputs_of_files_that_are_parsed_together_come_apart():
    files = [b"# text = A b\n1\tA\n2\tb\n\n", b"", b"1\tc\n\n1-2\tde\n1\td\n2\te\n\n"]
    copy = partial(front.output, COPY)
    parsed, speeds = front.by_turns({"one": copy, "other": copy}, files, 2)
    assert parsed == {"one": files, "other": files}
    assert [*speeds] == ["one", "other"]


def test_the_plot_has_what_has_rows(tmp_path):
    wanted = settings_of(Front, "front", ["languages=[sample]"])
    rows = [
        {"system": name, "treebank": "sample", "las": las, "words_per_second": "5000"}
        for name, las in {"text": "73", "tuned": "78", "UDPipe": "64"}.items()
    ]
    front.draw(rows, wanted, tmp_path)
    (picture,) = tmp_path.glob("*.svg")
    shown = Path(picture).read_text(encoding="utf-8")
    names = ("recipe=text", "recipe=tuned", "UDPipe", "spaCy", "MLP", "parsers of others")
    assert [name for name in names if f"<!-- {name} -->" in shown] == [*names[:3], names[5]]


def test_parsers_of_others_take_turns_and_keep_the_scores_of_their_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    head = "peer,treebank,las,uas,raw_las,cpu_minutes,stopped"
    rows = "UDPipe,sample,60,65,58,1,true\nUDPipe,sample,70,75,68,2,false"
    (tmp_path / "peers.csv").write_text(f"{head}\n{rows}\n")
    wanted = wanted_of(
        f"peers={tmp_path}/peers.csv", f"peer_runs={tmp_path}/peers", f"runs={tmp_path}"
    )
    wanted.all_systems = {"UDPipe": System(peer="UDPipe")}
    monkeypatch.setattr(
        front, "tokenized", lambda training, runs: training.part("test").read_bytes()
    )
    with pytest.raises(ValueError, match=r"no such model; python experiments/peers.py .*UDPipe"):
        dict(front.measure(wanted, front.cells(wanted)))
    (tmp_path / "peers" / "sample" / "UDPipe").mkdir(parents=True)
    (tmp_path / "peers" / "sample" / "UDPipe" / "model.udpipe").touch()
    given = []

    def parse(run, name, content):
        given.append(content)
        path = tmp_path / "parsed.conllu"
        path.write_text(content)
        return path, 1.0

    monkeypatch.setattr(PeerRun, "parse", parse)
    monkeypatch.setattr(front, "cpu_seconds_of_children", iter(range(9)).__next__)
    (cell,) = front.cells(wanted)
    assert cell.settings == "experiments/peers.py peers=[UDPipe]"
    ((_, values),) = front.measure(wanted, [cell])
    assert {key: values[key] for key in ("las", "uas", "raw_las", "dev_las", "cpu_seconds")} == {
        "las": "70",
        "uas": "75",
        "raw_las": "68",
        "dev_las": "",
        "cpu_seconds": "120.0",
    }
    words = [line for content in given for line in content.splitlines() if line]
    assert float(values["words_per_second"]) == sum(line.split("\t")[0].isdigit() for line in words)
    assert {tuple(line.split("\t")[2:]) for line in words} == {("_",) * 8}
