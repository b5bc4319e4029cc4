"""What a system refuses, and damaged files: one error that names the file, and never half a file."""

import bz2
import errno
import gzip
import io
import lzma
import resource
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from parser.conllu.checks import ConlluError
from parser.conllu.files import open_binary_output, open_input, open_output

CONTENT = b"".join(b"%d\tform\tlemma\tX\n" % i for i in range(200))


def read(path: Path) -> bytes:
    with open_input(path) as stream:
        return b"".join(stream)


@pytest.mark.parametrize(
    ("name", "compress"),
    [("f.gz", lambda text: gzip.compress(text, mtime=0)), ("f.xz", lzma.compress), ("f.bz2", bz2.compress)],
)
def test_damaged_files_are_refused_or_read_whole(tmp_path, name, compress):
    path = tmp_path / name
    whole = compress(CONTENT)
    damaged = [whole[:length] for length in range(len(whole))]
    damaged += [whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1 :] for i in range(len(whole))]
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
    for path in (tmp_path / "file" / "below", tmp_path / ("x" * 5000), tmp_path / "none" / "f", tmp_path):
        with pytest.raises(ConlluError, match="it cannot be written"), open_output(path):
            pass
    for name in ("a\0b", "\ud800.gz"):
        with pytest.raises(ConlluError, match="no file can have this name"):
            read(tmp_path / name)
        with pytest.raises(ConlluError, match="no file can have this name"), open_output(tmp_path / name):
            pass
    with pytest.raises(ConlluError, match="it cannot be written"), open_output("/dev/fd/99999999999999999999"):
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
        with pytest.raises(ConlluError, match=f"{told}: it cannot be written"), open_output(name) as text:
            text.write("x" * amount)
