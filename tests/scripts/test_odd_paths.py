"""Every command with files and folders of odd names, typed as they are,
from a folder that has such a name itself.

What a command prints to be run is run by a shell. One pair of names is tried every time,
the others by make test-long.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from parser.conllu.stream import read_raw_sentences
from parser.settings.paths import override
from parser.training import run_folder
from parser.training.sweeps import read_jobs
from tests import forked
from tests.odd_paths import ODD
from tests.toy import ROOT

# Of the folder, and of what is in it.
EVERY_TIME = (ODD[0], ODD[1])
NAMES = [
    pytest.param(EVERY_TIME, id="every time"),
    *(pytest.param((name, name), id=name, marks=pytest.mark.long) for name in ODD),
]
TINY = [
    "first_pass.epochs=1",
    "classifier.hidden=4",
    "vectors.attribute=null",
    "features.form=[]",
    "column=1",
]
TINY += ["tensorboard.figures=false"]


class Place:
    """A folder of an odd name, in which commands are started that read and write files and folders
    of another.
    """

    def __init__(self, folder: Path, names: tuple[str, str]) -> None:
        self.folder, self.name = folder / names[0], names[1]
        self.data = f"{self.name}.conllu"
        self.folder.mkdir()
        with (ROOT / "data" / "sample" / "sample-ud-dev.conllu").open("rb") as stream:
            some = "".join(
                "".join(sentence.lines)
                for sentence, _ in zip(read_raw_sentences(stream), range(12), strict=False)
            )
        (self.folder / self.data).write_text(some, encoding="utf-8")

    def writing(self, key: str, what: str) -> str:
        """Return a setting of a folder that is written, as it is typed;
        what hydra would put in another's place is escaped.
        """
        return (
            override(key, f"{self.name} {what}")
            if "${" in self.name
            else f"{key}={self.name} {what}"
        )

    def start(
        self,
        file: str,
        *words: str | Path,
        first: Callable[[], object] | None = None,
        status: int = 0,
    ) -> str:
        """Return what a script prints to both streams."""
        done = forked.script(file, *words, folder=self.folder, first=first)
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    def train(self, *words: str, first: Callable[[], object] | None = None, status: int = 0) -> str:
        """Trains on the file, unless the words name another."""
        files = [f"treebank.{part}={self.data}" for part in ("train", "dev")]
        options = [word for word in words if word.startswith("-")]
        settings = [word for word in words if word not in options]
        return self.start(
            "scripts/train.py", *files, *TINY, *settings, *options, first=first, status=status
        )

    def shell(self, line: str) -> None:
        """Run a line as people do who paste it."""
        if line.startswith("optimal-step "):  # which may be installed nowhere
            line = shlex.join([sys.executable, "-m", "parser.commands"]) + line.removeprefix(
                "optimal-step"
            )
        # that is how Windows' shells would not read it
        words = line if os.name == "posix" else shlex.split(line)
        done = subprocess.run(
            words, shell=isinstance(words, str), cwd=self.folder, capture_output=True
        )
        assert done.returncode == 0, done.stderr.decode()


@pytest.fixture(scope="module", params=NAMES)
def trained(request, tmp_path_factory) -> Place:
    """With a run's folder ``NAME run``."""
    place = Place(tmp_path_factory.mktemp("odd"), request.param)
    said = place.train(place.writing("hydra.run.dir", "run"))
    assert f"events: {place.folder}/{place.name} run" in said
    (place.folder / "input.conllu").write_bytes((place.folder / place.data).read_bytes())
    parse, draw = (
        line.strip()
        for line in said.splitlines()
        if line.startswith("  ") and "trees.conllu" in line
    )
    place.shell(parse)
    place.shell(draw)
    assert (place.folder / f"{place.name} run" / "metrics.json").exists()
    return place


def interrupted() -> None:
    """In a process that is to train: it is, once a checkpoint has been saved."""
    save = run_folder.save_checkpoint

    def save_and_stop(*arguments) -> None:
        save(*arguments)
        raise KeyboardInterrupt

    run_folder.save_checkpoint = save_and_stop  # type: ignore[assignment]


@pytest.mark.parametrize("names", NAMES)
def test_the_setting_that_resumes_a_run_does(tmp_path, names):
    place = Place(tmp_path, names)
    words = [place.writing("hydra.run.dir", "run"), "first_pass.epochs=2"]
    said = place.train(*words, first=interrupted, status=130)
    (line,) = (line for line in said.splitlines() if line.startswith("interrupted; to resume, "))
    run = place.folder / f"{place.name} run"
    assert (run / "checkpoint.safetensors").exists()
    place.train(*shlex.split(line.partition(" here with ")[2]), "first_pass.epochs=2")
    assert (run / "metrics.json").exists()
    assert "resuming from" in (run / "train.log").read_text(encoding="utf-8")
    assert [
        path.name for path in place.folder.iterdir() if path.name not in (run.name, place.data)
    ] == []


def test_the_command_of_a_card_trains_the_same_model(trained):
    model = trained.folder / f"{trained.name} run" / "model"
    (line,) = (
        line
        for line in (model / "README.md").read_text(encoding="utf-8").splitlines()
        if " optimal-step train" in line
    )
    trained.shell(
        f"{line.strip()} {shlex.quote(override('hydra.run.dir', f'{trained.name} again'))}"
    )
    other = trained.folder / f"{trained.name} again" / "model"
    assert (model / "classifier.safetensors").read_bytes() == (
        other / "classifier.safetensors"
    ).read_bytes()


def test_a_sweep(trained):
    needs_quotes = (
        set(",'\"") & set(trained.name)
        or "${" in trained.name
        or trained.data != trained.data.strip()
    )
    dev = override("treebank.dev", trained.data) if needs_quotes else f"treebank.dev={trained.data}"
    said = trained.train("-m", f"{dev},null", trained.writing("hydra.sweep.dir", "sweep"))
    jobs = read_jobs(trained.folder / f"{trained.name} sweep")
    assert [(job.error, job.dev_las is None) for job in jobs] == [(None, False), (None, True)]
    assert f"run folders: {trained.folder}/{trained.name} sweep" in said


def test_settings_that_name_folders_and_parsing(trained):
    run = f"{trained.name} run"
    both = override("treebank.train", [trained.folder / trained.data, trained.data])
    said = trained.train(
        f"start={run}", both, "second_pass.epochs=1", "column=3", "hydra.run.dir=continued"
    )
    assert "second pass, epoch 1 of 1" in said
    assert "12 sentences" in said
    output = f"./{trained.name} parsed.conllu"
    trained.start("scripts/parse.py", f"./{trained.name} run", f"./{trained.data}", "-o", output)
    assert "LAS" in trained.start("scripts/evaluate.py", f"./{trained.data}", output)


def test_an_experiment(trained):
    treebank = trained.folder / f"{trained.name} data" / "UD_Hungarian-Szeged"
    treebank.mkdir(parents=True)
    for part in ("train", "dev", "test"):
        (treebank / f"hu_szeged-ud-{part}.conllu").write_bytes(
            (trained.folder / trained.data).read_bytes()
        )
    folders = [trained.writing(key, key) for key in ("results", "runs")]
    names = [
        "languages=[hu]",
        "seeds=1",
        "columns=[1]",
        "workers=1",
        f"paths.treebanks={trained.name} data",
    ]
    overrides = f"overrides=[{','.join(one for one in TINY if not one.startswith('column'))}]"
    trained.start("experiments/table7.py", *names, *folders, "published=null", overrides)
    for made in ("results/results.csv", "runs"):
        assert (trained.folder / f"{trained.name} {made}").exists()


@pytest.mark.long
def test_other_commands(trained):
    run, data, out = f"./{trained.name} run", f"./{trained.data}", f"./{trained.name} out"
    trained.start("scripts/parse_many.py", run, data, "-o", f"{out} many", "--workers", "1")
    assert (trained.folder / f"{out} many" / trained.data).exists()
    trained.start("scripts/projectivize.py", data, "-o", f"{out} projective")
    trained.start("scripts/draw.py", data, "-o", f"{out}.svg", "--sentence", "1")
    trained.start("scripts/trace.py", data, "--model", run, "-o", f"{out}.html")
    trained.start("scripts/report.py", run, "--part", "dev", "-o", f"{out} report.html")
    trained.start("scripts/lattices.py", "build", data, "-o", f"{out} lexicon")
    trained.start("scripts/lattices.py", "apply", f"{out} lexicon", data, "-o", f"{out}.conllul")
    trained.train(f"lattice.train={out}.conllul", "column=2", "hydra.run.dir=of lattices")


@pytest.mark.long
def test_treebanks_of_a_folder(trained):
    treebank = trained.folder / f"{trained.name} treebanks" / trained.name
    treebank.mkdir(parents=True)
    (treebank / "x_x-ud-train.conllu").write_bytes((trained.folder / trained.data).read_bytes())
    words = [f"./{trained.name} treebanks", "-o", f"./{trained.name} trained", *TINY]
    assert f"| {treebank.name} | 11 |" in trained.start("scripts/train_treebanks.py", *words)
