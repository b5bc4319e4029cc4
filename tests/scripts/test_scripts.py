"""The commands as people type them; training and parsing in new processes, as a shell would start them."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked
from tests.toy import ROOT, SAMPLE, TINY


def script(name: str, *arguments: str | Path, given: str = "") -> subprocess.CompletedProcess[str]:
    return forked.script(f"scripts/{name}", *arguments, given=given.encode())


def typed(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, cwd=ROOT, text=True)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    files = [f"treebank.train={SAMPLE}/sample-ud-dev.conllu", f"treebank.dev={SAMPLE}/sample-ud-test.conllu"]
    done = typed("train.py", *files, *TINY, f"hydra.run.dir={folder}")
    assert done.returncode == 0, done.stderr
    assert "dev at the end" in done.stdout
    assert "epochs, " not in done.stderr  # no progress bar where there is no terminal
    return folder


def test_the_run_folder_holds_what_the_contract_says(run_folder):
    metrics = json.loads((run_folder / "metrics.json").read_text())
    assert metrics["treebank"] == "sample-ud-dev"
    assert metrics["test"] is None  # the default treebank's test part is not this treebank's
    assert {".hydra", "model", "metrics.json", "train.log"} < {path.name for path in run_folder.iterdir()}
    log = (run_folder / "train.log").read_text()
    assert "150 sentences" in log
    assert "second pass, epoch 1 of 1: loss " in log
    assert "dev at the end" in log


def test_parsing_a_file_changes_head_and_deprel_alone(run_folder, tmp_path):
    source = SAMPLE / "sample-ud-test.conllu"
    output = tmp_path / "out.conllu"
    done = typed("parse.py", run_folder / "model", source, "-o", output)
    assert done.returncode == 0, done.stderr
    before, after = source.read_text().splitlines(), output.read_text().splitlines()
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        old_columns, new_columns = old.split("\t"), new.split("\t")
        if len(old_columns) == 10 and old_columns[0].isdigit():
            assert old_columns[:6] + old_columns[9:] == new_columns[:6] + new_columns[9:]
            assert new_columns[8] == "_"
        else:
            assert old == new
    assert "150 sentences, 1,508 words; unknown to the model: upos 0.00%, form" in done.stderr
    scores = script("evaluate.py", source, output, "--json")
    assert scores.returncode == 0, scores.stderr
    assert 0 < json.loads(scores.stdout)["las"] <= 100


def test_parsing_a_pipe_and_compressed_files(run_folder, tmp_path):
    text = (SAMPLE / "sample-ud-test.conllu").read_text()
    piped = script("parse.py", run_folder / "model", given=text)
    assert piped.returncode == 0, piped.stderr
    (tmp_path / "in.conllu.gz").write_bytes(gzip.compress(text.encode()))
    done = script("parse.py", run_folder / "model", tmp_path / "in.conllu.gz", "-o", tmp_path / "out.conllu.gz")
    assert done.returncode == 0, done.stderr
    assert gzip.decompress((tmp_path / "out.conllu.gz").read_bytes()).decode() == piped.stdout


def test_parsing_what_is_not_conllu_names_the_line_and_leaves_no_output(run_folder, tmp_path):
    (tmp_path / "in.conllu").write_text("1\ta\ta\tX\t_\t_\t_\t_\t_\t_\n3\tb\tb\tX\t_\t_\t_\t_\t_\t_\n\n")
    done = script("parse.py", run_folder / "model", tmp_path / "in.conllu", "-o", tmp_path / "out.conllu")
    assert done.returncode == 1
    assert "line 2" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.conllu"]


def test_parsing_on_after_a_bad_sentence(run_folder, tmp_path):
    text = (SAMPLE / "sample-ud-test.conllu").read_text()
    (tmp_path / "in.conllu").write_text("not a word\n\n" + text)
    done = script("parse.py", run_folder / "model", tmp_path / "in.conllu", "-o", tmp_path / "out.conllu", "--on-error=keep")
    assert done.returncode == 1
    assert f"warning: {tmp_path}/in.conllu, line 1, sentence 1: 1 column where" in done.stderr
    assert "1 sentence is not CoNLL-U" in done.stderr
    assert (tmp_path / "out.conllu").read_text().startswith("not a word\n\n#")


def test_parsing_what_nobody_has_tagged(run_folder):
    text = "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    refused = script("parse.py", run_folder / "model", given=text)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "error: standard input: UPOS is _ in the first 1 word," in refused.stderr
    told = script("parse.py", run_folder / "model", "--allow-missing-columns", given=text)
    assert (told.returncode, told.stdout) == (0, text.replace("_\t_\t_\t_\n", "0\troot\t_\t_\n"))
    assert "100.0% of the words have a value of upos that training never saw" in told.stderr


def test_parsing_nothing_gives_nothing_and_with_no_model_is_an_error(run_folder, tmp_path):
    done = script("parse.py", run_folder / "model", given="")
    assert (done.returncode, done.stdout) == (0, "")
    done = script("parse.py", tmp_path / "nowhere", given="")
    assert done.returncode == 1
    assert "neither a folder nor a model" in done.stderr


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["treebank=xx"], "hu"),
        (["column=7"], "known: 1, 2, 3, 4, 5, 6"),
        (["oracle=delphi"], "oracle=delphi is unknown; known: arc_eager"),
        (["treebank=hu", "paths.treebanks=nowhere"], "nowhere/UD_Hungarian-Szeged/hu_szeged-ud-train.conllu"),
        (["recipe=soup"], "paper"),
        (["model=bilstm", "encoder.heads={size: 9}"], "this is a group of settings; give encoder.heads.KEY=VALUE\n"),
        (
            ["online.mode=static"],
            "online.mode=static: there is no online.mode in this run; leave it out, or choose model=linear",
        ),
    ],
)
def test_bad_settings_are_one_clear_message(tmp_path, overrides, message):
    done = script("train.py", *overrides, f"hydra.run.dir={tmp_path}")
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
