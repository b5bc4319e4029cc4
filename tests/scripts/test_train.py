"""scripts/train.py as people use it: sweeps, interruption, starts from elsewhere,
bad input as one line.
"""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn
from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from parser.commands import command_line
from parser.commands.train import _first_commands, _remove_if_unused, main
from parser.model_folder import MODEL, TOKENIZER, VOCABULARIES
from parser.settings.files import CONFIGS
from parser.settings.groups import path_settings
from parser.settings.paths import for_hydra
from parser.storage import locked
from parser.training import run as training_run
from parser.training.sweeps import JobFolders, SweepJob, read_jobs, table
from tests.forked import script, started
from tests.toy import NO_VECTORS, ROOT, SAMPLE, TINY, forget_what_is_stored

FILES = [
    f"treebank.train={SAMPLE}/sample-ud-dev.conllu",
    f"treebank.dev={SAMPLE}/sample-ud-test.conllu",
]


def train(*arguments: str | Path, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return script("scripts/train.py", *arguments, folder=folder)


def test_a_sweep_survives_a_failing_job_and_ends_with_a_table(tmp_path):
    # neither names of 255 letters nor slashes can be folders
    long = f"vectors.file=null,{tmp_path}/{'x' * 250}"
    done = train(
        "column=1,9",
        "-m",
        long,
        "features.form=[s0,b0]",
        *FILES,
        *TINY,
        f"hydra.sweep.dir={tmp_path}/sweep",
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    jobs = read_jobs(tmp_path / "sweep")
    assert [job.number for job in jobs] == [0, 1, 2, 3]
    assert [job.error is None for job in jobs] == [True, False, False, False]
    assert ": there is no such file" in str(jobs[1].error)
    assert re.search(r"^\[job 0\]\[.*first pass, epoch 1 of 1", done.stderr, re.MULTILINE)
    assert "[job 2]" in done.stderr
    assert "reproduces" not in done.stderr
    assert str(jobs[2].error).startswith("column=9 is unknown")
    # of two jobs, in the table
    assert (done.stdout + done.stderr).count("column=9 is unknown") == 2
    assert "job 2 failed; the table at the end says why" in done.stderr
    lines = done.stdout.splitlines()
    assert any(
        line.startswith("   0  column=1 ") and f"{jobs[0].dev_las:.2f}" in line for line in lines
    )
    assert any(
        line.startswith("   2  column=9 ") and "failed: column=9 is unknown" in line
        for line in lines
    )

    names = {path.name[:1]: path.name for path in (tmp_path / "sweep").glob("[0-9]-*")}
    assert names["0"] == "0-sample-ud-dev-column1-paper-seed1-vectors.file=null", (
        "it holds the values that were swept"
    )
    assert names["3"].startswith("3-sample-ud-dev-column9-paper-seed1-vectors.file=")
    assert max(map(len, names.values())) < 200
    (first,) = (tmp_path / "sweep").glob("0-*")
    assert json.loads((first / "metrics.json").read_text())["dev"]["las"] == jobs[0].dev_las


ASSERTING = """
from parser.commands import train
from parser.commands.command_line import run
from parser.training.observers import Observer

class Asserting(Observer):
    def on_start(self, start):
        assert start is None, "it must be"

of_a_run = train.run
train.run = lambda settings: of_a_run(settings, [Asserting()])
run(train.main)
"""


@pytest.mark.parametrize("sweep", [False, True])
def test_an_observer_that_asserts_is_no_setting_of_a_group_that_is_null(tmp_path, sweep):
    (tmp_path / "program.py").write_text(ASSERTING)
    how = ["-m", "seed=1,2", "hydra.sweep.dir=sweep"] if sweep else ["hydra.run.dir=run"]
    given = [*how, *FILES, *TINY, *NO_VECTORS, "beam=local", "beam.size=3"]
    done = script(str(tmp_path / "program.py"), *given, folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("in on_start\n") == 1 + sweep
    assert "there is no beam.size" not in done.stdout + done.stderr
    fault = (
        "this is a fault of optimal-step, not of your input (AssertionError: it must be); "
        "please report it"
    )
    assert done.stderr.splitlines()[-1].startswith(f"error: {fault}") == (not sweep)
    assert done.stdout.count(f"failed: {fault}") == 2 * sweep


class Heard(Callback):
    """Hears what the jobs of this process return to hydra, whose sweepers search with it."""

    returned: ClassVar[list[object]] = []

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: object) -> None:
        Heard.returned.append(job_return.return_value)


@pytest.mark.parametrize("las", [71.5, None])
def test_a_job_returns_las_on_dev(tmp_path, monkeypatch, las):
    scores = dict.fromkeys(("uas", "las_universal", "uas_nopunct", "las_nopunct"), 80.0)
    parts = {"dev": None if las is None else scores | {"las": las}, "test": scores | {"las": 60.0}}
    metrics = parts | {"after_first_pass": parts}
    monkeypatch.setattr(training_run, "train", lambda *_: metrics)
    monkeypatch.setattr(Heard, "returned", [])
    monkeypatch.setattr(JobFolders, "sweep", None)
    forget_what_is_stored(monkeypatch)
    heard = f"+hydra.callbacks.heard._target_={Heard.__module__}.Heard"
    monkeypatch.setattr(
        sys, "argv", ["train.py", *FILES, *NO_VECTORS, heard, f"hydra.run.dir={tmp_path}"]
    )
    main()
    assert Heard.returned == [las]


def test_a_table_of_jobs_whose_folders_have_any_name_at_any_depth(tmp_path):
    for folder in ("seed1", "hu/1", "2/inner", "3-killed", "notes", "4-b"):
        (tmp_path / folder).mkdir(parents=True)
    SweepJob(4, ["seed=4"], 51.0, None, 2.0).write(tmp_path / "4-b")
    SweepJob(0, ["seed=1"], 50.0, None, 2.0).write(tmp_path / "seed1")
    SweepJob(1, ["seed=2"], error="it broke").write(tmp_path / "hu" / "1")
    SweepJob(2, ["seed=3"], 52.0, None, 2.0).write(tmp_path / "2" / "inner")
    _, *lines = table(read_jobs(tmp_path)).splitlines()
    said = ["50.00", "failed: it broke", "52.00", "ended without a result", "51.00"]
    assert [(line.split()[0], one in line) for line, one in zip(lines, said, strict=False)] == [
        (n, True) for n in "01234"
    ]


@pytest.mark.parametrize(
    "content",
    [b"{", b"\xff", b"[1]", b'{"nope": 1}', b'{"number": "x", "overrides": []}', b"[" * 100_000],
)
def test_a_damaged_result_of_a_job_is_a_failure(tmp_path, content):
    (tmp_path / "3-a").mkdir()
    (tmp_path / "3-a" / "job.json").write_bytes(content)
    (job,) = read_jobs(tmp_path)
    assert (job.number, job.error) == (3, f"{tmp_path}/3-a/job.json: this file is damaged")


def test_jobs_that_differ_in_their_seeds_are_summed_up():
    scores = {
        ("column=1", 1): (50.0, 40.0),
        ("column=1", 2): (54.0, 42.0),
        ("column=2", 1): (60.0, None),
        ("column=2", 2): (62.0, None),
    }
    jobs = [
        SweepJob(n, [own, f"seed={seed}"], *scores[own, seed])
        for n, (own, seed) in enumerate(scores)
    ]
    jobs.append(SweepJob(4, ["column=2", "seed=3"], error="it broke"))
    assert table(jobs).splitlines()[-3:] == [
        "",
        "column=1: 2 seeds; dev LAS 52.00 ± 2.83; test LAS 41.00 ± 1.41",
        "column=2: 2 seeds; dev LAS 61.00 ± 1.41",
    ]
    assert table(jobs[:1] + jobs[2:3]).count("\n") == 2  # there is one seed of each


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_says_how_to_resume_it(tmp_path, number, status):
    arguments = [
        *FILES,
        *TINY,
        *NO_VECTORS,
        "first_pass.epochs=100000",
        f"hydra.run.dir={tmp_path}",
    ]
    reading, writing = os.pipe()
    with open(os.devnull, "r+b") as nothing, open(reading) as errors:
        child = started(
            "scripts/train.py", *arguments, streams=(nothing.fileno(), nothing.fileno(), writing)
        )
        os.close(writing)
        while "first pass, epoch 2 of" not in (line := errors.readline()):
            assert line, "it ended before it was interrupted"
        os.kill(child, number)
        said = [line for line in errors.read().splitlines() if "][INFO]" not in line]
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == status
    assert len(said) == 1
    assert (
        said[0]
        == f"interrupted; to resume, start the same command here with hydra.run.dir={tmp_path}"
    )
    assert (tmp_path / "checkpoint.safetensors").exists()
    assert not list(tmp_path.glob(".*.tmp"))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (["treebank.train=x/kő (v2)'s.conllu"], "kő_v2_s-arc_standard-paper-seed1"),
        (
            ["treebank.train=[x/a.conllu,b.conllu]", "recipe=accurate", "seed=3"],
            "a+b-arc_standard-accurate-seed3",
        ),
        (
            ["treebank.train={hu: x/a.conllu, el: [b.conllu]}", "recipe=text"],
            "a+b-arc_standard-text-seed1",
        ),
        (
            ["treebank.train=x/ヒンディー हिन्दी.conllu", "system=swap", "recipe=text"],
            "ヒンディー_हिन्दी-swap-text-seed1",
        ),
        (["treebank.train=..", "treebank.name=../a/b"], "a_b-arc_standard-paper-seed1"),
        (["treebank.train=x/.conllu"], "unnamed-arc_standard-paper-seed1"),
        (["treebank.train=x/a.conllu", "column=1"], "a-column1-paper-seed1"),
        (
            [f"treebank.train=[{','.join('ő' * 9 + str(n) for n in range(30))}]"],
            f"{'ő' * 9}0+{'ő' * 9}1+",
        ),
        (["treebank.train=x/a.conllu", "++column=1"], "a-column1-paper-seed1"),
        (["treebank=hu"], "hu-column5-paper-seed1"),
        (["system=covington"], "sample-covington-paper-seed1"),
    ],
)
def test_a_run_is_called_by_its_treebank_system_and_recipe(given, name):
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        words = for_hydra([*given, "hydra.job.num=7"], path_settings(), sweep=False)
        made = compose("train", overrides=words, return_hydra_config=True)
    HydraConfig.instance().set_config(made)
    folder = Path(made.hydra.run.dir)
    assert folder.parent.parent == Path("runs")
    assert folder.parent.name.startswith(name) if name.endswith("+") else folder.parent.name == name
    assert len(os.fsencode(folder.parent.name)) < 200
    assert made.hydra.sweep.subdir == f"7-{folder.parent.name}"


def test_the_plan_of_a_run_is_shown_and_nothing_is_written(tmp_path):
    run = [FILES[0], "treebank.held_out=0.1", *NO_VECTORS]
    done = train(
        *run, "--dry-run", "recipe=accurate", "beam=global", "treebank.folds=3", folder=tmp_path
    )
    assert (done.returncode, done.stderr, [*tmp_path.iterdir()]) == (0, "", [])
    shown = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert shown["treebank"] == "sample-ud-dev"
    assert shown["treebank.train"] == FILES[0].partition("=")[2]
    assert (shown["system"], shown["recipe"], shown["oracle"]) == (
        "arc_standard",
        "accurate",
        "context_rows",
    )
    assert shown["second_pass"].endswith("epochs, original trees")
    assert "third_pass" in shown
    assert shown["folder"].startswith(f"{tmp_path}/runs/sample-ud-dev-arc_standard-accurate-seed1/")
    for refused in (
        ["treebank.train=none.conllu"],
        ["--dry-run", "start=none"],
        ["-m", "seed=1,2"],
        ["column=9"],
    ):
        done = train(*run, "--dry-run", *refused, folder=tmp_path)
        assert (
            done.returncode,
            done.stdout,
            len(done.stderr.splitlines()),
            [*tmp_path.iterdir()],
        ) == (1, "", 1, []), refused


def test_a_signal_whose_exception_was_lost_ends_a_run_and_an_earlier_sweep_is_forgotten(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(JobFolders, "sweep", tmp_path)
    done = train("--cfg", "job")
    assert (done.returncode, "run folders" in done.stdout) == (0, False)
    monkeypatch.setattr(command_line, "_received", [signal.SIGTERM])
    done = train(*FILES, *TINY, *NO_VECTORS, f"hydra.run.dir={tmp_path}")
    assert done.returncode == 143
    assert "interrupted; to resume, " in done.stderr


@pytest.mark.parametrize(
    ("refused", "there"),
    [
        ("oracle=static column=9", []),
        ("treebank.train=mine.conllu hydra.run.dir=named/run", []),
        (f"{FILES[0]} treebank.test=null treebank.folds=1000 hydra.run.dir=run", []),
        ("-m seed=glob(*)", []),
        ("column=9 hydra.run.dir=named/run", ["named"]),
        ("column=9 hydra.run.dir=named/run", ["named", "named/run"]),
        ("column=9", ["runs"]),
    ],
)
def test_a_run_that_is_refused_leaves_no_folder_but_those_that_were_there(tmp_path, refused, there):
    (tmp_path / "mine.conllu").write_text("word\n")
    for folder in there:
        (tmp_path / folder).mkdir()
    assert train(*refused.split(), *NO_VECTORS, folder=tmp_path).returncode == 1
    left = [
        str(path.relative_to(tmp_path))
        for path in tmp_path.rglob("*")
        if path.is_dir() or not there
    ]
    assert sorted(left) == sorted(there or ["mine.conllu"])


@pytest.mark.parametrize(
    ("attributes", "files", "read"),
    [
        (["form"], [TOKENIZER], "text.txt --text"),
        (["form", "upos"], [TOKENIZER], "input.conllu"),  # text has no tags: it would be refused
        (["form"], [], "input.conllu"),
    ],
)
def test_the_command_that_is_printed_parses_what_the_model_can_read(
    tmp_path, attributes, files, read
):
    (tmp_path / MODEL).mkdir()
    (tmp_path / MODEL / VOCABULARIES).write_text(
        json.dumps({"attributes": {name: [] for name in attributes}})
    )
    for file in files:
        (tmp_path / MODEL / file).touch()
    assert f"{tmp_path} {read} -o trees.conllu" in _first_commands(tmp_path)


def test_it_starts_from_any_folder(tmp_path):
    """Relative paths are those of the user's folder, even where hydra changes it; the sample
    treebank is the project's.
    """
    (tmp_path / "mine.conllu").write_bytes((SAMPLE / "sample-ud-dev.conllu").read_bytes())
    done = train(
        "treebank.train=mine.conllu",
        "column=1",
        *TINY,
        "hydra.job.chdir=true",
        "hydra.run.dir=run",
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "nothing was measured" in done.stdout
    assert done.stdout.count("recipe=paper reproduces Nederhof (2019); ") == 1
    silent = "reading the treebank", "training word vectors", "first pass: preparing", "saving"
    places = [done.stderr.index(stage) for stage in silent]
    assert places == sorted(places)
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["treebank"] == "mine"
    done = train(
        "treebank.dev=null", "treebank.test=null", "column=1", *TINY, *NO_VECTORS, folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "runs").glob("sample-column1-paper-seed1/*/metrics.json"))) == 1


def test_a_model_goes_on_though_nothing_else_is_typed(tmp_path):
    """Settings of its encoder can be given without model=;
    a sweep takes what its models have in common.
    """
    small = ["encoder.layers=1", "encoder.hidden=4", *TINY, *NO_VECTORS, "column=1"]
    done = train(
        *FILES,
        "recipe=accurate",
        "model=bilstm",
        *small,
        f"hydra.run.dir={tmp_path}/a/run",
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    more = [*FILES, "column=1", "first_pass.epochs=1", "tensorboard.figures=false"]
    sweep = "hydra.sweep.dir=sweep"
    done = train(
        "-m",
        *more,
        "start=a/run,a/run/model,nowhere",
        "encoder.dropout=0.1",
        sweep,
        folder=tmp_path,
    )
    jobs = read_jobs(tmp_path / "sweep")
    assert [job.error is None for job in jobs] == [True, True, False], done.stderr
    assert "nowhere" in str(jobs[2].error)
    for folder in (tmp_path / "sweep").glob("[01]-*"):
        assert "-column1-accurate-seed1" in folder.name
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        assert (metrics["recipe"], metrics["model"]) == ("accurate", "bilstm")
        noted = json.loads((folder / "run.json").read_text(encoding="utf-8"))["settings"]
        assert (
            noted["encoder"]["hidden"],
            noted["encoder"]["dropout"],
            noted["classifier"]["hidden"],
        ) == (4, 0.1, 8)
    done = train(*more, "start=a/run", "model=mlp", folder=tmp_path)
    assert (
        done.stderr == "error: start=a/run: this run has model=mlp, and that model model=bilstm; "
        "leave out model\n"
    )


def test_folds(tmp_path):
    folds = "treebank.folds=2", "treebank.held_out=0.1", f"hydra.run.dir={tmp_path}/run"
    arguments = (FILES[0], "column=1", *TINY, *NO_VECTORS, *folds)
    done = train(*arguments)
    assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    of_folds = [
        json.loads((tmp_path / "run" / f"fold-{k}" / "metrics.json").read_text()) for k in (1, 2)
    ]
    assert metrics["folds"] == [fold["test"] for fold in of_folds]
    assert [fold["train"]["sentences"] for fold in of_folds] == [68, 68]
    words = [fold["test_part"]["words"] for fold in of_folds]
    right = [n * fold["test"]["las"] for n, fold in zip(words, of_folds, strict=True)]
    assert metrics["test"]["las"] == pytest.approx(sum(right) / sum(words))
    assert "\nall sentences together  " in done.stdout
    assert "treebank.fold=2" in (tmp_path / "run" / "fold-2" / "model" / "README.md").read_text()
    again = train(*arguments)
    assert "fold-2: the run is finished" in again.stderr
    (tmp_path / "run" / "model").mkdir()
    refused = train(*arguments)
    assert refused.returncode == 1
    assert "run holds a run without folds; choose another hydra.run.dir" in refused.stderr


@pytest.mark.posix
def test_who_comes_second_leaves_the_folder_of_the_first(tmp_path, monkeypatch):
    """Both found that it was not there."""
    monkeypatch.setattr(JobFolders, "new", [tmp_path])
    with locked(tmp_path / ".lock", wait=False):
        _remove_if_unused(tmp_path, {".lock"})
        assert (tmp_path / ".lock").exists()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["treebank=null"], "error: treebank=null: give a name, treebank=NAME"),
        (["treebank=mine"], r"error: .*/treebank/mine\.yaml, line 4: found duplicate key a"),
        (
            ["treebank=latin"],
            (
                r"error: .*/treebank/latin\.yaml cannot be read \(UnicodeDecodeError: .*\);"
                r" correct the file$"
            ),
        ),
        (
            ["treebank=control"],
            (
                r"error: .*/treebank/control\.yaml cannot be read \(ReaderError: .*\); correct the"
                r" file$"
            ),
        ),
        (
            ["treebank=integer"],
            (
                r"error: .*/treebank/integer\.yaml cannot be read \(ValueError: .*\); correct the"
                r" file$"
            ),
        ),
        (
            ["seed=" + "9" * 5000],
            (
                r"error: (the settings cannot be read \(ValueError: .*\)|seed=9+ is out of"
                r" range); .*$"
            ),
        ),
        (
            ["seed=" + "[" * 900 + "]" * 900],
            r"error: the settings cannot be read \(RecursionError: .*\); correct the value",
        ),
        (
            ["hydra.job_logging.root.level=X"],
            "error: the settings cannot be read .ValueError: Unable to configure root logger",
        ),
        (
            ["treebank.folds=${nope}"],
            "error: treebank.folds has no value; give treebank.folds=VALUE$",
        ),
        (
            ["beam.size=3"],
            (
                "error: beam.size=3: there is no beam.size in this run; leave it out, "
                "or choose beam=local or beam=gl"
            ),
        ),
        (["hydra/launcher=nope"], "error: hydra/launcher=nope is unknown; known: .*basic"),
        (["hydra.run.dir=/proc/x"], "error: /proc/x: "),
        (["hydra.sweep.dir= "], "error: hydra.sweep.dir is empty; name a folder"),
        (["recipe=soup"], "error: .*paper"),
        (
            ["model=bilstm", "encoder.heads={size: 9}"],
            "error: .*this is a group of settings; give encoder.heads.KEY=VALUE$",
        ),
    ],
)
def test_bad_input_is_one_line(tmp_path, overrides, message):
    (tmp_path / "treebank").mkdir()
    (tmp_path / "treebank" / "mine.yaml").write_text("name: mine\ntrain:\n  a: b\n  a: c\n")
    for name, value in {"latin": b"\xff", "control": b"a\x01", "integer": b"!!int a"}.items():
        (tmp_path / "treebank" / f"{name}.yaml").write_bytes(b"name: " + value)
    done = train("--config-dir", tmp_path, f"hydra.run.dir={tmp_path}/run", *overrides)
    assert done.returncode == 1
    assert re.match(message, done.stderr)
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.posix
def test_a_treebank_whose_name_is_not_utf8_is_trained_on_and_a_run_of_such_a_name_is_refused(
    tmp_path,
):
    path = tmp_path / os.fsdecode(b"\xff.conllu")
    path.write_bytes((SAMPLE / "sample-ud-dev.conllu").read_bytes())
    given = [f"treebank.train={path}", *TINY, *NO_VECTORS]
    done = train(*given, f"hydra.run.dir={tmp_path}/run")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["treebank"] == os.fsdecode(
        b"\xff"
    )
    done = script(
        "scripts/train.py",
        *given,
        "hydra.run.dir=" + os.fsdecode(os.fsencode(tmp_path) + b"/\xff"),
    )
    said = [line for line in done.stderr.splitlines() if "][" not in line]
    assert (
        done.returncode,
        len(said),
        "TensorBoard needs a name in UTF-8; choose another hydra.run.dir" in said[0],
    ) == (
        1,
        1,
        True,
    )


def test_a_full_disk_is_one_line_that_names_the_file(tmp_path):
    """A limit of file sizes stands for a disk that is full."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300 * 1024, resource.RLIM_INFINITY))

    arguments = [
        *FILES,
        *TINY,
        "classifier.hidden=512",
        "column=1",
        f"hydra.run.dir={tmp_path}/run",
    ]
    done = script("scripts/train.py", *arguments, first=limit)
    said = [
        line
        for line in done.stderr.splitlines()
        if "][" not in line and not line.startswith("compiling kernels")
    ]
    assert (done.returncode, said) == (
        1,
        [f"error: {tmp_path}/run/checkpoint.safetensors: File too large"],
    )
    assert not list((tmp_path / "run").glob(".*.tmp"))


def test_a_closed_pipe_is_no_error(tmp_path):
    arguments = ["column=1", *FILES, *TINY, *NO_VECTORS, f"hydra.run.dir={tmp_path}"]
    reading, writing = os.pipe()
    with (
        open(os.devnull, "rb") as nothing,
        open(tmp_path / "errors", "w+b") as errors,
        open(reading) as output,
    ):
        streams = nothing.fileno(), writing, errors.fileno()
        child = started(
            "scripts/train.py", *arguments, streams=streams, first=lambda: os.close(reading)
        )
        os.close(writing)
        output.readline()
        output.close()
        os.waitpid(child, 0)
        errors.seek(0)
        said = errors.read().decode()
    assert "Traceback" not in said
    assert "Error" not in said
    assert (tmp_path / "metrics.json").exists()
