"""What a system refuses, and damaged files: one error that names the file,
and never half a file.
"""

import bz2
import errno
import gzip
import io
import lzma
import random
import re
import resource
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from parser.conllu.checks import ConlluError
from parser.conllu.files import COMPRESSED, open_binary_output, open_input, open_output, share_read

CONTENT = b"".join(b"%d\tform\tlemma\tX\n" % i for i in range(200))


def read(path: Path) -> bytes:
    with open_input(path) as stream:
        return b"".join(stream)


@pytest.mark.parametrize(
    ("name", "compress"),
    [
        ("f.gz", lambda text: gzip.compress(text, mtime=0)),
        ("f.xz", lzma.compress),
        ("f.bz2", bz2.compress),
    ],
)
def test_damaged_files_are_refused_or_read_whole(tmp_path, name, compress):
    path = tmp_path / name
    whole = compress(CONTENT)
    damaged = [whole[:length] for length in range(len(whole))]
    damaged += [
        whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1 :] for i in range(len(whole))
    ]
    refused = 0
    for content in damaged:
        path.write_bytes(content)
        try:
            found = read(path)
        except ConlluError as error:
            refused += str(error).startswith(f"{path}: it cannot be uncompressed")
        else:
            assert found == CONTENT  # some bits, such as the time in the header, mean nothing
    assert refused > len(damaged) * 0.9


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, bz2.compress])
@pytest.mark.parametrize("name", ["f.conllu", "f.conllu.zst", "-"])
def test_what_is_compressed_and_not_named_so_is_told(tmp_path, monkeypatch, compress, name):
    path = tmp_path / name
    path.write_bytes(compress(CONTENT))
    if name == "-":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    with pytest.raises(ConlluError, match="this is compressed"):
        read(Path("-") if name == "-" else path)


def test_names_that_cannot_be(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "loop").symlink_to("loop")
    for path in (tmp_path / "loop", tmp_path / "file" / "below", tmp_path / ("x" * 5000)):
        with pytest.raises(ConlluError, match="it cannot be opened"):
            read(path)
    for path in (
        tmp_path / "file" / "below",
        tmp_path / ("x" * 5000),
        tmp_path / "none" / "f",
        tmp_path,
    ):
        with pytest.raises(ConlluError, match="it cannot be written"), open_output(path):
            pass
    for name in ("a\0b", "\ud800.gz"):
        with pytest.raises(ConlluError, match="no file can have this name"):
            read(tmp_path / name)
        with (
            pytest.raises(ConlluError, match="no file can have this name"),
            open_output(tmp_path / name),
        ):
            pass
    with (
        pytest.raises(ConlluError, match="it cannot be written"),
        open_output("/dev/fd/99999999999999999999"),
    ):
        pass
    with pytest.raises(ConlluError, match=r"are \.gz and \.xz"), open_output(tmp_path / "f.bz2"):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {"file", "loop"}


def test_streams_that_are_closed(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(ConlluError, match="standard input is closed"), open_input("-"):
        pass
    with pytest.raises(ConlluError, match="standard output is closed"), open_output("-"):
        pass


def test_a_disk_that_cannot_be_read(monkeypatch):
    class Broken(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Broken())))
    with pytest.raises(ConlluError, match=r"standard input: .*\(Input/output error\)"):
        read(Path("-"))


@contextmanager
def disk_of(n_bytes: int):
    """No file can grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", ["f", "f.gz", "f.xz"])
@pytest.mark.parametrize("room", [0, 1, 30])
def test_a_full_disk_leaves_the_older_file(tmp_path, name, room):
    path = tmp_path / name
    path.write_bytes(b"old")
    with disk_of(room), pytest.raises(ConlluError, match=r"f.*: .*\(File too large\)"):  # noqa: SIM117
        with open_binary_output(path) as stream:
            stream.write(CONTENT)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"old"]


@pytest.mark.parametrize("amount", [1, 100_000])
@pytest.mark.parametrize(("name", "told"), [("/dev/full", "/dev/full"), ("-", "standard output")])
def test_a_full_device(monkeypatch, name, told, amount):
    with open("/dev/full", "wb", buffering=0) as full:
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(full))
        with (
            pytest.raises(ConlluError, match=f"{told}: it cannot be written"),
            open_output(name) as text,
        ):
            text.write("x" * amount)


class Typed(io.RawIOBase):
    """A terminal at which somebody types two lines, the end of the text, and more."""

    def __init__(self) -> None:
        self.left = [b"a b\n", b"c\n", b"", b"more\n"]

    def readable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        typed = self.left.pop(0)
        buffer[: len(typed)] = typed
        return len(typed)


def test_a_terminal_is_told_of_and_its_end_is_typed_once(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Typed())))
    with open_input("-") as stream:
        assert [stream.read(100), stream.read(100), stream.read1()] == [b"a b\nc\n", b"", b""]
    assert re.fullmatch(
        r"reading from the terminal: .*; Ctrl-[DZ].* on a new line ends it\n",
        capsys.readouterr().err,
    )


def test_what_is_no_terminal_is_not_told_of(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a")))
    with open_input("-") as stream:
        assert stream.read() == b"a"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["f", "f.gz", "f.xz", "f.bz2"])
def test_how_much_of_a_file_is_read_is_known(tmp_path, name):
    content = random.Random(1).randbytes(3_000_000)
    with COMPRESSED.get(Path(name).suffix, open)(tmp_path / name, "wb") as target:
        target.write(content)
    with open_input(tmp_path / name) as stream:
        assert share_read(stream) == 0 or name != "f"
        stream.read(1_000_000)
        assert 0.2 < share_read(stream) < 0.8
        stream.read()
        assert share_read(stream) == 1


def test_how_much_of_a_pipe_is_read_is_not_known(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a")))
    (tmp_path / "empty").touch()
    for name in ("-", tmp_path / "empty"):
        with open_input(name) as stream:
            assert share_read(stream) is None
    assert share_read(io.BytesIO(b"a")) is None
