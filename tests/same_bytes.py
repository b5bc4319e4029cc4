"""Compare what two checkouts train and parse, byte for byte: python tests/same_bytes.py
OLD_CHECKOUT [--new CHECKOUT].

For a change that should change nothing. Both checkouts train each case for two epochs a pass on the
sample treebank of the old one, and parse its dev part: greedily, with beams, with two threads, and
with 8-bit products where there is an encoder. By SHA-256 are compared: every tensor of the model
and its other files, what was parsed, and metrics.json; but for what tells of time, of versions, and
the card. The new checkout also parses with the model of the old one. Only their commands are used
(scripts/train.py, scripts/parse.py), with this Python. The exit status is 1 if anything differs.

``--models FOLDER`` trains nothing: both checkouts parse with each model folder found below FOLDER,
in every way of ``WAYS``. A folder's input is ``FOLDER/input.conllu``, and ``FOLDER/input.conllul``
for a model of lattices. A model that the new checkout refuses is listed with its message.

Once kernels are compiled the cases take a quarter of an hour of one processor. The cases subwords
and pretrained need the packages of the extras. An old checkout: git worktree add /tmp/old COMMIT.
"""

import argparse
import hashlib
import json
import os
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Collection
from contextlib import nullcontext
from pathlib import Path
from typing import Any

_TWO_PASSES = "first_pass.epochs=2 second_pass.epochs=2"
_TEXT = f"recipe=text encoder.hidden=40 {_TWO_PASSES}"
_SIGNATURE = "--beam 8 --merge signature"
# Settings of each case, and how its model parses besides greedily,
# with a beam and with two threads.
CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "paper": (f"recipe=paper {_TWO_PASSES}", (_SIGNATURE,)),
    "accurate": (f"recipe=accurate {_TWO_PASSES}", (_SIGNATURE,)),
    "bilstm": (f"recipe=accurate model=bilstm {_TWO_PASSES}", (_SIGNATURE, "--int8")),
    "text": (f"recipe=text {_TWO_PASSES}", (_SIGNATURE, "--int8", "--tags overwrite")),
    "subwords": (f"{_TEXT} vectors.subwords=../encoders/subwords", ("--int8",)),
    "pretrained": (f"{_TEXT} encoder.pretrained=../encoders/pretrained pretrained.cache=cache", ()),
    "treebanks": (
        f"{_TEXT} 'treebank.train={{a: train.conllu, b: test.conllu}}' "
        "'treebank.dev={a: dev.conllu}' 'treebank.test={b: test.conllu}'",
        ("--treebank b",),
    ),
    "lr_spine": (f"recipe=accurate system=lr_spine {_TWO_PASSES}", ()),
    "linear": ("model=linear online.iterations=2", ()),
    "global": (f"beam=global {_TWO_PASSES} beam.training.epochs=2", (_SIGNATURE,)),
}
_OF_ALL = ("--beam 1", "--beam 8", "--threads 2")
WAYS = (
    *_OF_ALL,
    _SIGNATURE,
    "--beam 8 --rerank",
    "--int8",
    "--tags overwrite",
    "--keep-heads",
    "--several-roots",
)
_FILES = {part: f"{part}.conllu" for part in ("train", "dev", "test")}
_UNSTEADY = {"seconds", "cpu_seconds", "versions"}  # of metrics.json and settings.json
_CARD = "README.md"


class CommandError(Exception):
    """A command of a checkout failed; the message says with what."""


def command(checkout: Path, folder: Path, script: str, *arguments: str) -> None:
    """Run a script of a checkout, and raise CommandError if its exit status is not 0."""
    line = [sys.executable, str(checkout / "scripts" / script), *arguments]
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    done = subprocess.run(
        line, cwd=folder, env=environment, capture_output=True, encoding="utf-8", errors="replace"
    )
    if done.returncode:
        raise CommandError(
            f"{script} {' '.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}"
        )


def tensors(file: Path) -> dict[str, str]:
    """Return the SHA-256 of each tensor of a safetensors file, with its type and shape, by name."""
    content = file.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    found: dict[str, str] = {}
    for name, entry in header.items():
        start, end = (8 + length + offset for offset in entry["data_offsets"])
        found[name] = _digest(f"{entry['dtype']} {entry['shape']} ".encode() + content[start:end])
    return found


def contents(run: Path) -> dict[str, str]:
    """Return the SHA-256 of what a run has trained and measured:
    the tensors and other files of its model, and metrics.json.
    """
    found: dict[str, str] = {}
    for file in sorted(path for path in (run / "model").rglob("*") if path.is_file()):
        name = file.relative_to(run).as_posix()
        if file.suffix == ".safetensors":
            found |= {f"{name} {tensor}": digest for tensor, digest in tensors(file).items()}
        elif file.name == "settings.json":
            found[name] = _steady(file)
        elif file.name != _CARD:
            found[name] = _digest(file.read_bytes())
    return found | {"metrics.json": _steady(run / "metrics.json")}


def differing(case: str, old: dict[str, str], new: dict[str, str]) -> int:
    """Print a line for each thing that either side has; return how many are not the same."""
    count = 0
    for what in old | new:
        equal = old.get(what) == new.get(what)
        verdict = (
            "equal"
            if equal
            else "differs"
            if what in old and what in new
            else f"only {'old' if what in old else 'new'}"
        )
        print(f"{case:10} {what:60} {verdict}", flush=True)
        count += not equal
    return count


def compare(case: str, old: Path, new: Path, work: Path) -> int:
    """Trains and parses a case of ``CASES`` with both checkouts, and prints what is equal;
    how many things are not.

    Args:
        case: its name.
        old: a checkout.
        new: another one.
        work: a folder with the treebank, for the runs.
    """
    line, others = CASES[case]
    files = [
        f"treebank.{part}={file}"
        for part, file in _FILES.items()
        if f"treebank.{part}=" not in line
    ]
    settings = [*shlex.split(line), *files, "tensorboard.figures=false", f"hydra.run.dir={case}"]
    found: dict[str, dict[str, str]] = {}
    for side, checkout in (("old", old), ("new", new)):
        command(checkout, work / side, "train.py", *settings)
        parsed = {
            f"parsed {options}": _parsed(checkout, work / side, case, options)
            for options in (*_OF_ALL, *others)
        }
        found[side] = contents(work / side / case) | parsed
    count = differing(case, found["old"], found["new"])
    before, after = {}, {}
    for options in ("--beam 1", "--beam 8"):
        before[f"old model, {options}"] = found["old"][f"parsed {options}"]
        after[f"old model, {options}"] = _parsed(new, work / "old", case, options, "by-new.conllu")
    return count + differing(case, before, after)


def compare_models(folder: Path, old: Path, new: Path, only: Collection[str]) -> int:
    """Parse with each model folder below a folder in every way of ``WAYS``; return in how many
    cases the checkouts differ.
    """
    count = 0
    for settings in sorted(folder.rglob("settings.json")):
        name = settings.parent.relative_to(folder).as_posix()
        if only and not {*name.split("/")} & {*only}:
            continue
        file = folder / f"input.{'conllul' if 'lattice' in name else 'conllu'}"
        for options in WAYS:
            by_old, by_new = (
                _outcome(checkout, settings.parent, file, options) for checkout in (old, new)
            )
            count += differing(name, {options: by_old}, {options: by_new})
            if by_old != by_new:
                print(f"    old: {by_old}\n    new: {by_new}", flush=True)
    return count


def _outcome(checkout: Path, model: Path, file: Path, options: str) -> str:
    """Return the digest of what a checkout parses, or the last line of its refusal."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "parsed.conllu"
        try:
            command(
                checkout,
                Path(folder),
                "parse.py",
                str(model),
                str(file),
                "-o",
                str(output),
                *options.split(),
            )
        except CommandError as error:
            return f"refused: {str(error).splitlines()[-1].rpartition('error: ')[2]}"
        return _digest(output.read_bytes())


def _parsed(
    checkout: Path, folder: Path, case: str, options: str, name: str = "parsed.conllu"
) -> str:
    output = folder / case / name
    command(checkout, folder, "parse.py", case, _FILES["dev"], "-o", str(output), *options.split())
    return _digest(output.read_bytes())


def _steady(file: Path) -> str:
    values: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return _digest(
        json.dumps({key: value for key, value in values.items() if key not in _UNSTEADY}).encode()
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main() -> int:
    """Compare the checkouts of the command line; return the exit status."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("old", type=Path, metavar="OLD_CHECKOUT")
    arguments.add_argument(
        "--new", type=Path, default=Path(), metavar="CHECKOUT", help="default: the current folder"
    )
    arguments.add_argument(
        "--models",
        type=Path,
        metavar="FOLDER",
        help="parse with the model folders below it, and train nothing",
    )
    arguments.add_argument(
        "--only", metavar="NAME,...", help=f"cases of {', '.join(CASES)}; with --models, folders"
    )
    arguments.add_argument(
        "--keep", type=Path, metavar="DIR", help="a new folder for the runs, which is kept"
    )
    given = arguments.parse_args()
    only = given.only.split(",") if given.only else []
    old, new, count = given.old.resolve(), given.new.resolve(), 0
    if given.models:
        count = compare_models(given.models.resolve(), old, new, only)
    elif unknown := sorted({*only} - {*CASES}):
        arguments.error(f"--only: there is no {', '.join(unknown)}; there are {', '.join(CASES)}")
    else:
        if given.keep:
            given.keep.mkdir(parents=True)
        with nullcontext(given.keep) if given.keep else tempfile.TemporaryDirectory() as folder:
            count = _compare_cases(only or [*CASES], old, new, Path(folder).resolve())
    print("all equal" if count == 0 else f"{count} differ")
    return int(count > 0)


def _compare_cases(cases: list[str], old: Path, new: Path, work: Path) -> int:
    for side in ("old", "new"):
        (work / side).mkdir()
        for part, file in _FILES.items():
            shutil.copyfile(
                old / "data" / "sample" / f"sample-ud-{part}.conllu", work / side / file
            )
    if {"subwords", "pretrained"} & {*cases}:
        from tests import pretrained

        (work / "encoders").mkdir()
        pretrained.write_transformer(work / "encoders" / "pretrained")
        pretrained.SIZE = 128  # more numbers than the vectors of subwords have
        pretrained.write_encoder(work / "encoders" / "subwords")
    count = 0
    for case in cases:
        try:
            count += compare(case, old, new, work)
        except CommandError as error:
            print(f"{case}: {error}", flush=True)
            count += 1
    return count


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    sys.exit(main())
