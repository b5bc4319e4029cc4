"""What every command does around its work, in processes whose standard streams are closed,
full or read no further.
"""

import signal
import subprocess
import sys
from argparse import ArgumentTypeError

import pytest

from parser.commands import draw, lattices, projectivize, report, trace
from parser.commands.command_line import number_of_threads
from tests import forked
from tests.toy import ROOT

PRINTS = "from parser.commands.command_line import run\nrun(lambda: print('line\\n' * 100_000))"


def shell(program: str, rest: str = "") -> subprocess.CompletedProcess[str]:
    command = ["bash", "-c", f'"$0" -c "$1" {rest}', sys.executable, program]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_a_full_disk_behind_standard_output_is_one_line():
    done = shell(PRINTS, "> /dev/full")
    assert (done.returncode, done.stderr) == (1, "error: No space left on device\n")


def test_a_reader_that_has_seen_enough():
    done = shell(PRINTS, "| head -1; echo ${PIPESTATUS[0]}")
    assert (done.stdout, done.stderr) == ("line\n141\n", "")


@pytest.mark.parametrize(
    ("closed", "target"),
    [("<&-", "stdout"), (">&-", "stdout"), ("2>&-", "stderr"), ("<&- >&- 2>&-", "stdout")],
)
def test_closed_streams_are_no_error_and_what_is_said_goes_to_no_other(closed, target):
    done = shell(
        "import sys\nfrom parser.commands.command_line import run\nrun(lambda: "
        f"print('a', file=sys.{target}))",
        closed,
    )
    assert (done.returncode, done.stdout) == (0, "a\n" if closed == "<&-" else "")


@pytest.fixture
def program(tmp_path):
    """Return a function that runs a program in a process that has loaded what it needs,
    and returns its status, and what it says.
    """

    def run(text: str) -> tuple[int, str]:
        imports = (
            "from oracles.errors import OptimalStepError\nfrom parser.commands.command_line "
            "import run"
        )
        (tmp_path / "program.py").write_text(f"{imports}\n{text}", encoding="utf-8")
        done = forked.script(str(tmp_path / "program.py"))
        return done.returncode, done.stderr

    return run


def test_what_the_system_refuses_is_one_line(program):
    assert program("run(lambda: open('/dev/null/x'))") == (
        1,
        "error: /dev/null/x: Not a directory\n",
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            "OptimalStepError('x.conllu: it is bad; mend it')",
            "error: x.conllu: it is bad; mend it",
        ),
        ("ConnectionError('the server is gone')", "error: the server is gone"),
        (
            "ModuleNotFoundError(name='spam.eggs')",
            "error: this command needs spam, which is not installed; ",
        ),
        (
            "MemoryError('Unable to allocate 8 GiB')",
            "error: there is not enough memory (Unable to allocate 8 GiB); end other ",
        ),
        (
            "MemoryError()",
            (
                "error: there is not enough memory; end other programs, "
                "or give this command less at a time: "
            ),
        ),
        (
            "RuntimeError('[enforce fail at alloc_cpu.cpp:118] not\\nenough memory')",
            "error: there is not enough memory ([enf",
        ),
        (
            "__import__('torch').OutOfMemoryError('CUDA out of memory.')",
            "error: there is not enough memory (CUDA out of mem",
        ),
    ],
)
def test_bad_input_and_a_lack_of_the_machine_are_one_line_and_their_traceback_is_shown_on_request(
    program, monkeypatch, error, said
):
    text = f"def main():\n    raise {error}\n\nrun(main)\n"
    monkeypatch.delenv("OPTIMAL_STEP_TRACEBACK", raising=False)
    status, line = program(text)
    assert (status, line.count("\n"), line.startswith(said)) == (1, 1, True), line
    monkeypatch.setenv("OPTIMAL_STEP_TRACEBACK", "1")
    status, shown = program(text)
    assert (status, shown.splitlines()[0], shown.endswith(line)) == (
        1,
        "Traceback (most recent call last):",
        True,
    )


@pytest.mark.parametrize(
    "error",
    ["ValueError('zip() argument 2 is shorter')", "KeyError(1)", "RuntimeError", "AssertionError"],
)
def test_any_other_error_is_a_fault_of_ours_and_keeps_its_traceback(program, error):
    status, said = program(f"def main():\n    raise {error}\n\nrun(main)\n")
    first, *_, last = said.splitlines()
    assert (status, first) == (1, "Traceback (most recent call last):")
    assert "in main" in said
    assert last.startswith("error: this is a fault of optimal-step, not of your input (")
    assert last.endswith("); please report it, with the traceback and the command")


def test_a_module_of_ours_that_is_missing_is_a_fault(program):
    status, said = program("run(lambda: __import__('parser.eggs'))\n")
    assert (status, "Traceback" in said, "please report it" in said) == (1, True, True)


def test_names_that_are_not_utf8_are_printed_as_they_are():
    done = subprocess.run(
        [sys.executable, "-c", PRINTS.replace("'line\\n' * 100_000", r"'a\udcffb \ud800 \u0151'")],
        cwd=ROOT,
        capture_output=True,
    )
    assert (done.returncode, done.stdout) == (0, b"a\xffb \\ud800 \xc5\x91\n")


@pytest.mark.parametrize(
    ("error", "traceback"), [("OSError(28, 'full')", False), ("KeyError(1)", True)]
)
def test_a_thread_that_finds_the_disk_full_leaves_it_to_the_command_to_say_so(
    program, error, traceback
):
    status, said = program(f"""
import threading

def fail():
    raise {error}

def main():
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    raise OptimalStepError("told")

run(main)
""")
    assert status == 1
    assert said.endswith("error: told\n")
    assert ("Traceback" in said) == traceback


def test_bad_input_raises_the_error_that_is_one_line():
    for path in [path for name in ("oracles", "parser") for path in (ROOT / name).rglob("*.py")]:
        assert "raise ValueError" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals_leave_no_temporary_file(tmp_path, number, status):
    program = f"""
import os
from parser.commands.command_line import run
from parser.conllu.files import open_output

def main():
    with open_output({str(tmp_path / "file")!r}) as text:
        text.write("half")
        os.kill(os.getpid(), {int(number)})
        signal.pause()

import signal
run(main)
"""
    done = shell(program)
    assert (done.returncode, done.stderr) == (status, "")
    assert list(tmp_path.iterdir()) == []


def test_a_second_signal_disturbs_neither_cleaning_up_nor_the_exit_of_python(program):
    """As timeout sends it, to the process and to its group."""
    assert program("""
import atexit, os, signal, sys

def kill():
    os.kill(os.getpid(), signal.SIGTERM)

def main():
    try:
        kill()
    finally:
        kill()
        try:
            raise KeyError
        except KeyError:
            kill()
        print("cleaned up", file=sys.stderr)

atexit.register(kill)
run(main)
""") == (143, "cleaned up\n")


def test_a_signal_whose_exception_was_lost_is_raised_again():
    program = """
import os, signal
from contextlib import suppress
from parser.commands.command_line import raise_again, run

def main():
    raise_again()
    with suppress(BaseException):
        os.kill(os.getpid(), signal.SIGTERM)
    print("on it goes", flush=True)
    raise_again()

run(main)
"""
    done = shell(program)
    assert (done.returncode, done.stdout) == (143, "on it goes\n")


@pytest.mark.parametrize("text", ["0", "-1", "257", "1000000", "two", "", "9" * 5000])
def test_numbers_of_threads_that_cannot_be(text):
    with pytest.raises(ArgumentTypeError, match=r"threads from 1 to 256"):
        number_of_threads(text)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (draw, "trees.conllu -o trees.conllu"),
        (draw, "other.conllu --gold trees.conllu -o ./trees.conllu"),
        (projectivize, "trees.conllu -o trees.conllu"),
        (trace, "trees.conllu -o trees.conllu"),
        (report, "run --gold trees.conllu -o trees.conllu"),
        (lattices, "build trees.conllu -o trees.conllu"),
        (lattices, "jackknife trees.conllu -o trees.conllu"),
        (lattices, "apply other.json trees.conllu -o trees.conllu"),
        (lattices, "paths other.conllul trees.conllu -o trees.conllu"),
    ],
)
def test_gold_trees_are_not_overwritten_with_what_is_made_of_them(
    tmp_path, monkeypatch, command, arguments
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trees.conllu").write_text("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n")
    with pytest.raises(
        ValueError, match=r"trees.conllu: this input file would be overwritten; choose another"
    ):
        command.main(arguments.split())
    assert (tmp_path / "trees.conllu").read_text().endswith("_\n\n")
