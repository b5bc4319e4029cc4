"""The commands as people type them; training and parsing in new processes,
as a shell would start them.
"""

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
    files = [
        f"treebank.train={SAMPLE}/sample-ud-dev.conllu",
        f"treebank.dev={SAMPLE}/sample-ud-test.conllu",
    ]
    done = typed("train.py", *files, *TINY, f"hydra.run.dir={folder}")
    assert done.returncode == 0, done.stderr
    assert "dev at the end" in done.stdout
    assert "epochs, " not in done.stderr  # no progress bar where there is no terminal
    return folder


def test_the_run_folder_holds_what_the_contract_says(run_folder):
    metrics = json.loads((run_folder / "metrics.json").read_text())
    assert metrics["treebank"] == "sample-ud-dev"
    assert metrics["test"] is None  # the default treebank's test part is not this treebank's
    assert {".hydra", "model", "metrics.json", "train.log"} < {
        path.name for path in run_folder.iterdir()
    }
    log = (run_folder / "train.log").read_text()
    assert "150 sentences" in log
    assert "second pass, epoch 1 of 1: loss " in log
    assert "dev at the end" in log


def test_parsing_a_file_changes_head_and_deprel_alone(run_folder, tmp_path):
    source = SAMPLE / "sample-ud-test.conllu"
    output = tmp_path / "out.conllu"
    done = typed("parse.py", run_folder / "model", source, "-o", output)
    assert done.returncode == 0, done.stderr
    assert (
        "150 sentences, 1,508 words; never seen in training: 0.00% of the values of UPOS, "
        in done.stderr
    )
    assert "% of the words" in done.stderr
    for old, new in zip(
        source.read_text().splitlines(), output.read_text().splitlines(), strict=True
    ):
        before, after = old.split("\t"), new.split("\t")
        if before[0].isdigit():
            after[6:9] = before[6:9]
        assert after == before
    scores = script("evaluate.py", source, output, "--json")
    assert scores.returncode == 0, scores.stderr
    assert 0 < json.loads(scores.stdout)["las"] <= 100


def test_parsing_a_pipe_and_compressed_files(run_folder, tmp_path):
    text = (SAMPLE / "sample-ud-test.conllu").read_text()
    piped = script("parse.py", run_folder / "model", given=text)
    assert piped.returncode == 0, piped.stderr
    (tmp_path / "in.conllu.gz").write_bytes(gzip.compress(text.encode()))
    done = script(
        "parse.py",
        run_folder / "model",
        tmp_path / "in.conllu.gz",
        "-o",
        tmp_path / "out.conllu.gz",
    )
    assert done.returncode == 0, done.stderr
    assert gzip.decompress((tmp_path / "out.conllu.gz").read_bytes()).decode() == piped.stdout


def test_what_cannot_be_parsed_leaves_no_output(run_folder, tmp_path):
    (tmp_path / "in.conllu").write_text(TAGGED + TAGGED.replace("1", "3"))
    for model, said in (
        (run_folder / "model", "line 2"),
        (tmp_path / "nowhere", "neither a folder nor a model"),
    ):
        done = script("parse.py", model, tmp_path / "in.conllu", "-o", tmp_path / "out.conllu")
        assert done.returncode == 1
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.conllu"]


TAGGED = "1\ta\ta\tX\t_\t_\t_\t_\t_\t_\n"
UNTAGGED = "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
PARSED = UNTAGGED.replace("_\t_\t_\t_\n", "0\troot\t_\t_\n")


@pytest.mark.parametrize(
    ("given", "options", "status", "printed", "said"),
    [
        ("", [], 0, "", "0 sentences"),
        (UNTAGGED, [], 1, "", "error: standard input: UPOS is _ in the first 1 word,"),
        (
            UNTAGGED,
            ["--allow-missing-columns"],
            0,
            PARSED,
            "100.0% of the words have a value of upos that was never seen in training",
        ),
        (
            "not a word\n\n",
            ["--on-error=keep"],
            1,
            "not a word\n\n",
            "warning: standard input, line 1, sentence 1: 1 column",
        ),
        ("not a word\n\n", ["--on-error=keep"], 1, "not a word\n\n", "1 sentence is not CoNLL-U"),
    ],
)
def test_parsing_a_pipe_says_what_is_odd_in_it(run_folder, given, options, status, printed, said):
    done = script("parse.py", run_folder / "model", *options, given=given)
    assert (done.returncode, done.stdout) == (status, printed)
    assert said in done.stderr
