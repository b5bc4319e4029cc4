"""What holds on every system: text files are UTF-8 with line feeds,
and nothing needs what Windows does not have.
"""

import ast
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.toy import ROOT, sentence, write_conllu

_COMPRESSED = ("gzip", "lzma", "bz2")
_TEMPORARY = ("TemporaryFile", "NamedTemporaryFile", "SpooledTemporaryFile")


def modes(call: ast.Call, place: int, default: str) -> list[str]:
    """Return the modes in which a call may open a file: both of ``"ab" if more else "wb"``."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    given = [*named, *call.args[place : place + 1]]
    found = (
        [part.value for part in ast.walk(given[0]) if isinstance(part, ast.Constant)]
        if given
        else []
    )
    return [mode for mode in found if isinstance(mode, str)] or [default]


def faults(path: Path) -> Iterator[str]:
    """Yield faults: calls that would read or write text as the system at hand does."""
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(call, ast.Call):
            continue
        method = isinstance(call.func, ast.Attribute)
        *_, module, name = ["", "", *ast.unparse(call.func).split(".")]
        given = {keyword.arg for keyword in call.keywords}
        opened: list[str] = []
        # an archive's files are bytes
        if name == "fdopen" or (name == "open" and module not in ("archive", "os", "urllib")):
            of_function = not method or module in (*_COMPRESSED, "os")
            opened = modes(call, 1 if of_function else 0, "rb" if module in _COMPRESSED else "r")
        elif name in _TEMPORARY:
            opened = modes(call, 0, "w+b")
        elif (method and name in ("read_text", "write_text")) or name == "TextIOWrapper":
            opened = ["r" if name == "read_text" else "w"]
        elif module == "subprocess" and given & {"text", "universal_newlines", "encoding"}:
            opened = ["r"]
        where = f"{path.name}:{call.lineno}: {name}()"
        if any("b" not in mode for mode in opened) and "encoding" not in given:
            yield f"{where} names no encoding"
        if (
            any("b" not in mode and set(mode) & set("wxa+") for mode in opened)
            and "newline" not in given
        ):
            yield f"{where} names no newline"


@pytest.mark.parametrize("folder", ["oracles", "parser", "scripts", "experiments"])
def test_text_files_are_the_same_bytes_on_every_system(folder):
    assert [fault for path in sorted((ROOT / folder).rglob("*.py")) for fault in faults(path)] == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("open(path)", ["encoding"]),
        ("open(path, 'w', encoding='utf-8')", ["newline"]),
        ("path.open('a')", ["encoding", "newline"]),
        ("path.open('ab' if more else 'w', encoding='utf-8', newline='')", []),
        ("gzip.open(path)", []),
        ("gzip.open(path, 'rt')", ["encoding"]),
        ("path.write_text('x')", ["encoding", "newline"]),
        ("path.read_text()", ["encoding"]),
        ("subprocess.run(command, text=True)", ["encoding"]),
        ("tempfile.TemporaryFile()", []),
        ("os.open(path, os.O_RDWR)", []),
    ],
)
def test_such_calls_are_found(tmp_path, code, found):
    (tmp_path / "code.py").write_text(code, encoding="utf-8", newline="\n")
    assert [fault.split()[-1] for fault in faults(tmp_path / "code.py")] == found


# In one process, as one takes seconds to load torch. A third run replaces the model; the second one
# goes on from the checkpoint of a run that died. Trees take the place of the file that they were
# parsed from.
_ALL_THE_WAY = """
import os, shutil, sys
from pathlib import Path
from parser.commands.__main__ import start

def command(name, *arguments):
    sys.argv = [f"optimal-step {name}", *map(str, arguments)]
    try:
        start(name)
    except SystemExit as end:
        assert not end.code, (name, end.code)

if __name__ == "__main__":
    try:
        import fcntl
    except ModuleNotFoundError:
        assert not hasattr(os, "fork")
    from tests.training.small_runs import train_until_killed
    from tests.toy import planned
    import experiments.engine

    folder, *tiny = Path(sys.argv[1]), *sys.argv[2:]
    file, copied = folder / "toy.conllu", folder / "copied.conllu"
    tiny += [f"treebank.{part}={file}" for part in ("train", "dev", "test")] + ["treebank.name=toy"]
    command("train", *tiny, f"hydra.run.dir={folder}/run")
    model = (folder / "run/model/classifier.safetensors").read_bytes()
    train_until_killed(planned(*tiny), folder / "dead", 2)
    command("train", *tiny, f"hydra.run.dir={folder}/dead")
    assert (folder / "dead/model/classifier.safetensors").read_bytes() == model
    command("train", *tiny, f"hydra.run.dir={folder}/run", "resume=false")
    shutil.copy(file, copied)
    command("parse", folder / "run", file, "-o", copied)  # which is there
    command("parse_many", folder / "run", file, "-o", folder / "out", "--workers", "2")
    assert (folder / "out/toy.conllu").read_bytes() == copied.read_bytes()
    command("projectivize", file, "-o", copied)
    command("evaluate", file, copied, "--by", "relation")
    command("draw", file, "--gold", copied, "-o", folder / "trees.html")
    command("report", folder / "run", "-o", folder / "report.html")
"""


def test_nothing_needs_what_windows_does_not_have(tmp_path):
    rng = random.Random(1)
    toy = write_conllu(tmp_path / "toy.conllu", [sentence([2, 0, 2, 3], rng) for _ in range(20)])
    toy.write_text(
        toy.read_text(encoding="utf-8").replace("\tw", "\tő").replace("\tobj\t", "\tkő\t"),
        encoding="utf-8",
    )
    (tmp_path / "run.py").write_text(_ALL_THE_WAY, encoding="utf-8")
    (tmp_path / "sitecustomize.py").write_text(
        "import tests.systems.as_on_windows\n", encoding="utf-8"
    )
    tiny = [
        "classifier.hidden=4",
        "vectors.dimensions=4",
        "vectors.epochs=1",
        "first_pass.epochs=1",
        "second_pass.epochs=2",
    ]
    # Where no encoding is named it is ASCII.
    environment = os.environ | {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), str(ROOT)])
    command = [sys.executable, str(tmp_path / "run.py"), str(tmp_path), *tiny]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    assert "kő" in done.stdout.decode()


def test_standard_input_of_a_child_is_free_while_it_waits_for_the_end_of_its_parent():
    code = (
        "from parser.child_process import end_with_parent\nend_with_parent()\nprint(open(0, "
        "'rb').read())"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as child:
        assert child.stdout is not None
        assert child.stdout.read() == b"b''\n"
        assert child.wait() == 0
