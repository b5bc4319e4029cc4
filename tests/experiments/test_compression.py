"""Faster parsers that learn from one with a pretrained encoder: who learns from what, what is measured, the plot."""

import sys
from pathlib import Path

import pytest

from experiments import compression
from experiments.command import settings_of
from experiments.compression import Compression, System
from experiments.trainings import Training
from parser.data.treebank import read_treebank
from parser.model_folder import TENSORS
from tests.toy import ROOT

COPY = [sys.executable, "-c", "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"]


def wanted_of(*overrides: str) -> Compression:
    wanted = settings_of(Compression, "compression", ["languages=[sample]", "seeds=1", "rounds=1", *overrides])
    wanted.all_systems = {
        "mlp, taught": System(["model=mlp"], copies=1, distributions=True),
        "text, taught": System(["second_pass.epochs=7"], copies=1),
        "pretrained": System(["encoder.lemmas=null"]),
        "pretrained, reranked": System(["encoder.lemmas=null"], ["--beam", "8"]),
    }
    return wanted


def test_each_learns_from_what_the_teacher_has_parsed(tmp_path, monkeypatch):
    trained, parsing, weights = [], [], b"first"

    def train(training, folder, fresh=False):
        training.settings()  # which are understood
        trained.append((folder, training.overrides, training.files))
        (folder / "model").mkdir(parents=True, exist_ok=True)
        (folder / "model" / TENSORS).write_bytes(weights)
        return {"cpu_seconds": 12.5}

    def command(wanted, name, folder):
        parsing.append((name, folder))
        return COPY  # of gold trees

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(compression, "run_training", train)
    monkeypatch.setattr(Compression, "command", command)
    monkeypatch.setattr(compression, "tokenized", lambda training, runs: training.part("test").read_bytes())
    wanted = wanted_of(f"runs={tmp_path}")
    cells = compression.cells(wanted)
    teacher = wanted.folder(wanted.training("pretrained", "sample", 1))
    measured = dict(compression.measure(wanted, cells))
    assert [*measured] == [cell.key for cell in cells]
    for values in measured.values():
        assert [values[name] for name in ("las", "uas", "dev_las", "raw_las", "cpu_seconds")] == ["100.0000"] * 4 + ["12.5"]
    gold, (parsed,) = Training.of(wanted, "sample", 1).part("train"), tmp_path.glob("sample-copies1-seed1-*.parsed.conllu")
    assert len(read_treebank(parsed).sentences) == len(read_treebank(gold).sentences)
    assert parsing[0] == ("pretrained, reranked", teacher)  # before any other parses
    assert len([name for name, _ in parsing]) == 1 + len(cells)
    both = f"treebank.train=[{gold},{parsed}]"
    assert len(trained) == 2 + 3  # each once, and for each that is taught its teacher, which is not trained again
    files = {folder: files for folder, _, files in trained}
    folders = {name: wanted.folder(wanted.training(name, "sample", 1)) for name in wanted.all_systems}
    assert files == {
        teacher: (),
        folders["mlp, taught"]: (both, f"distillation.teacher={teacher}"),
        folders["text, taught"]: (both,),
    }
    weights = b"second"  # a teacher that has been trained again
    dict(compression.measure(wanted, cells))
    assert len([*tmp_path.glob("sample-copies1-seed1-*.parsed.conllu")]) == 2


def test_a_parser_that_fails_is_an_error_that_names_its_command():
    with pytest.raises(ValueError, match=r"-c 'import sys; sys.exit\(3\)' ended with 3"):
        compression.output([sys.executable, "-c", "import sys; sys.exit(3)"], b"")


def test_a_row_says_what_its_system_is_taught_by_and_how_it_parses():
    settings = {cell.key[0]: cell.settings for cell in compression.cells(wanted_of())}
    assert settings["text, taught"] == "recipe=text second_pass.epochs=7 copies=1 teacher=pretrained, reranked"
    assert settings["pretrained, reranked"] == "recipe=text encoder.lemmas=null --beam 8"


@pytest.mark.parametrize("override", ["systems=[bilstm]", "teacher='text, taught'", "rounds=0"])
def test_what_cannot_be_asked_for_is_refused(override):
    with pytest.raises(ValueError, match=override.partition("=")[0]):
        compression.cells(wanted_of(override))


def test_outputs_of_files_that_are_parsed_together_come_apart():
    files = [b"# text = A b\n1\tA\n2\tb\n\n", b"", b"1\tc\n\n1-2\tde\n1\td\n2\te\n\n"]
    parsed, speeds = compression.by_turns({"one": COPY, "other": COPY}, files, 2)
    assert parsed == {"one": files, "other": files}
    assert [*speeds] == ["one", "other"]


def test_the_plot_has_what_has_rows(tmp_path):
    (tmp_path / "peers.csv").write_text(
        "peer,treebank,las,words_per_second,stopped\n"
        "Peer,sample,70,900,false\nStopped,sample,60,900,true\nAnother,got,71,800,false\n"
    )
    wanted = settings_of(Compression, "compression", [f"peers={tmp_path}/peers.csv", "languages=[sample]"])
    rows = [
        {"system": name, "treebank": "sample", "las": las, "words_per_second": "5000"}
        for name, las in {"text": "73", "text, taught": "75", "pretrained": "78"}.items()
    ]
    compression.draw(rows, wanted, tmp_path)
    (picture,) = tmp_path.glob("*.svg")
    shown = Path(picture).read_text(encoding="utf-8")
    names = ("recipe=text", "with the pretrained encoder", "Peer", "Stopped", "MLP", "Another")
    assert [name for name in names if f"<!-- {name} -->" in shown] == [*names[:3]]
