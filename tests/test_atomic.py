"""Files and folders are replaced whole or not at all, killed processes leave nothing,
and what is no JSON is refused.
"""

import errno
import os
from pathlib import Path

import pytest

from oracles import OptimalStepError
from parser.storage import from_json, remove_leftovers, replacing, replacing_folder, write_json


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def write_model(folder: Path, text: str) -> None:
    with replacing_folder(folder / "model") as temporary:
        (temporary / "part").write_text(text)


def half_and_fail(path: Path, error: BaseException) -> None:
    path.write_text("half")
    raise error


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt()])
def test_what_fails_leaves_the_older_file_or_folder(tmp_path, error):
    write_json(tmp_path / "a.json", 1)
    for text in ("old", "new"):
        write_model(tmp_path, text)
    with pytest.raises(type(error)), replacing(tmp_path / "a.json") as temporary:
        half_and_fail(temporary, error)
    with pytest.raises(type(error)), replacing_folder(tmp_path / "model") as temporary:
        half_and_fail(temporary / "part", error)
    assert ((tmp_path / "a.json").read_text(), (tmp_path / "model" / "part").read_text()) == (
        "1\n",
        "new",
    )
    assert names(tmp_path) == {"a.json", "model"}


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt()])
def test_an_older_folder_comes_back_where_the_new_one_cannot_take_its_place(
    tmp_path, monkeypatch, error
):
    write_model(tmp_path, "old")
    replace, renamed = os.replace, []

    def failing(source, target) -> None:
        renamed.append(source)
        if len(renamed) == 2:
            raise error
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(type(error)):
        write_model(tmp_path, "new")
    assert (tmp_path / "model" / "part").read_text() == "old"
    assert names(tmp_path) == {"model"}


@pytest.mark.parametrize("write", [replacing, replacing_folder])
def test_a_full_disk_is_told_with_the_file(tmp_path, write):
    with pytest.raises(OSError, match="full") as raised, write(tmp_path / "a"):
        raise OSError(errno.ENOSPC, "full")
    assert raised.value.filename == str(tmp_path / "a")
    assert names(tmp_path) == set()


def killed_while_writing(folder: Path) -> None:
    """Leave in the folder what SIGKILL leaves within replacing() and replacing_folder()."""
    child = os.fork()
    if child == 0:
        with replacing(folder / "file") as temporary, replacing_folder(folder / "model") as other:
            temporary.write_text("half")
            (other / "part").write_text("half")
            os._exit(0)
    os.waitpid(child, 0)


@pytest.mark.posix
def test_a_process_with_the_id_of_a_killed_one_can_write(tmp_path, monkeypatch):
    """In containers process ids repeat."""
    monkeypatch.setattr(os, "getpid", lambda: 17)
    killed_while_writing(tmp_path)
    left = names(tmp_path)
    assert len(left) == 2
    write_model(tmp_path, "whole")
    assert names(tmp_path) == left | {"model"}


@pytest.mark.posix
def test_an_older_folder_comes_back_if_the_new_one_never_came(tmp_path):
    write_model(tmp_path, "old")
    replace = os.replace

    def die_in_between(source, target):
        replace(source, target)
        os._exit(0)

    child = os.fork()
    if child == 0:
        os.replace = die_in_between
        with replacing_folder(tmp_path / "model"):
            pass
    os.waitpid(child, 0)
    assert "model" not in names(tmp_path)
    remove_leftovers(tmp_path)
    assert names(tmp_path) == {"model"}
    assert (tmp_path / "model" / "part").read_text() == "old"


@pytest.mark.posix
def test_leftovers_of_the_dead_are_removed_and_nothing_else(tmp_path):
    killed_while_writing(tmp_path)
    others = {".hidden.tmp", "notes.tmp", ".lock", "model", ".x.0123456789abcdef.txt"}
    for name in others:
        (tmp_path / name).touch()
    remove_leftovers(tmp_path)
    assert names(tmp_path) == others


@pytest.mark.parametrize("content", ["{", b"\xff", "[" * 100_000, b""])
def test_what_is_no_json_is_bad_input(content):
    with pytest.raises(OptimalStepError):
        from_json(content)
