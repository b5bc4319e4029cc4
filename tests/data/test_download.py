"""Files from a server on this machine: cut downloads begin again, wrong sums are refused,
and no half file is left.
"""

import errno
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import filelock
import pytest

from parser.commands.fetch_treebanks import main
from parser.data.download import DownloadError, download

CONTENT = bytes(range(256)) * 1000


class Server(BaseHTTPRequestHandler):
    """Serves ``files``; the first ``cuts`` answers end after a third."""

    files: ClassVar[dict[str, bytes]] = {}
    cuts = 0
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        cls = type(self)
        cls.asked.append(self.path)
        if self.path not in cls.files:
            self.send_error(404)
            return
        content = cls.files[self.path]
        self.send_response(200)
        self.send_header("Content-Length", "many" if self.path == "/many" else str(len(content)))
        self.end_headers()
        if cls.cuts:
            cls.cuts -= 1
            content = content[: len(content) // 3]
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Server.files, Server.cuts, Server.asked = {"/a": CONTENT, "/many": CONTENT}, 0, []
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()
        thread.join()


def test_after_a_cut_it_begins_again(server, tmp_path):
    Server.cuts = 2
    seen: list[tuple[int, int | None]] = []
    download(
        f"{server}/a",
        tmp_path / "a",
        hashlib.sha256(CONTENT).hexdigest(),
        lambda *numbers: seen.append(numbers),
    )
    assert (tmp_path / "a").read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert len(Server.asked) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(
    ("address", "total", "cuts", "message"),
    [
        ("{server}/a", "0" * 64, 0, "its SHA-256 is"),
        ("{server}/a", None, 10**6, "connection was cut; try again"),
        ("{server}/c", None, 0, "404"),
        ("http://127.0.0.1:9/a", None, 0, "refused"),
        (
            "http://[::1/a",
            None,
            0,
            r"it cannot be fetched \(Invalid IPv6 URL\); is the address right",
        ),
        ("{server}/\u0151", None, 0, r"it cannot be fetched \('ascii' codec"),
        ("{server}/many", None, 0, r"it cannot be fetched \(invalid literal for int"),
        ("file:///etc/passwd", None, 0, "begins with https://"),
    ],
)
def test_what_is_refused_or_cut_is_not_kept(server, tmp_path, address, total, cuts, message):
    Server.cuts = cuts
    with pytest.raises(DownloadError, match=message):
        download(address.format(server=server), tmp_path / "a", total)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_ends_it(server, tmp_path):
    def full(done: int, total: int | None) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        download(f"{server}/a", tmp_path / "a", progress=full)
    assert not (tmp_path / "a").exists()


def serve_hungarian() -> None:
    folder = "/UD_Hungarian-Szeged/r2.2"
    Server.files |= {
        f"{folder}/hu_szeged-ud-{part}.conllu": part.encode() for part in ("train", "test")
    }
    Server.files |= {
        f"{folder}/LICENSE.txt": b"\nCC BY-NC-SA 3.0\n",
        f"{folder}/README.md": b"# Summary\n",
    }


def test_the_command(server, tmp_path, capsys):
    serve_hungarian()
    arguments = ["hu", "--source", server, "-d", str(tmp_path / "ud")]
    main(arguments)
    said = capsys.readouterr()
    assert said.out == "UD_Hungarian-Szeged: CC BY-NC-SA 3.0\n"
    assert "has no hu_szeged-ud-dev.conllu in release 2.2" in said.err
    assert (
        tmp_path / "ud" / "UD_Hungarian-Szeged" / "hu_szeged-ud-train.conllu"
    ).read_text() == "train"
    Server.asked.clear()
    main(arguments)  # all is there
    assert all("dev" in path for path in Server.asked)


def test_another_process_is_waited_for(server, tmp_path, monkeypatch, caplog):
    """Which fetches the same treebank; what it has fetched is not fetched again."""
    serve_hungarian()

    def wait(lock: int, blocking: bool) -> bool:
        if blocking:  # until the other process has ended
            (tmp_path / "ud" / "UD_Hungarian-Szeged").mkdir()
            (tmp_path / "ud" / "UD_Hungarian-Szeged" / "hu_szeged-ud-train.conllu").write_text(
                "train"
            )
        return blocking

    monkeypatch.setattr(filelock, "lock_descriptor", wait)
    monkeypatch.setattr(filelock, "unlock_descriptor", lambda lock: None)
    main(["hu", "--source", server, "-d", str(tmp_path / "ud")])
    assert "waiting for process" in caplog.text
    assert not any("train" in path for path in Server.asked)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["xx"], "unknown; known are cu, cy, da"),
        (["UD_../../x-y"], "unknown"),
        (["UD_Finnish-TDT", "--code", "../fi"], "such as fi_tdt"),
        (["UD_Finnish-TDT"], "404"),
    ],
)
def test_what_cannot_be_fetched(server, arguments: list[str], message: str, tmp_path: Path):
    with pytest.raises(ValueError, match=message):
        main([*arguments, "--source", server, "-d", str(tmp_path)])


@pytest.mark.parametrize(
    ("name", "release"), [("UD_Finnish-TDT", "2.2"), ("UD_English-EWT", "2.16"), ("en", "2.16")]
)
def test_what_the_names_of_files_begin_with_is_asked_for(
    server, tmp_path, monkeypatch, name, release
):
    """Of a treebank in configs/treebank it is known, as is the release."""
    monkeypatch.chdir(tmp_path)
    folder, code = {"UD_Finnish-TDT": (name, "fi_tdt")}.get(name, ("UD_English-EWT", "en_ewt"))
    listed = f'[{{"name": "LICENSE.txt"}}, {{"name": "{code}-ud-test.conllu"}}]'
    Server.files |= {f"/{folder}/contents?ref=r{release}": listed.encode()} if name != "en" else {}
    Server.files |= {
        f"/{folder}/r{release}/{file}": b"x" for file in ("LICENSE.txt", f"{code}-ud-test.conllu")
    }
    main([name, "--source", server])
    assert (tmp_path / f"ud-v{release}" / folder / f"{code}-ud-test.conllu").read_bytes() == b"x"
    Server.files[f"/{folder}/contents?ref=r9"] = b"[]"
    if name != "en":
        with pytest.raises(ValueError, match="release 9 lists no files"):
            main([name, "--source", server, "--release", "9"])
