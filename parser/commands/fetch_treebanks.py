"""Fetches treebanks of Universal Dependencies: optimal-step fetch_treebanks hu el [--release 2.2] [-d ud-v2.2].

Names are those of treebank= (hu, el, ...) or folders of Universal Dependencies (UD_Finnish-TDT). The files come from the
treebank's repository on GitHub as it was at the release, into FOLDER/UD_...; paths.treebanks=FOLDER then finds them. An
interrupted download is continued, and existing files are kept; --sums writes their SHA-256, and compares those already listed.
Licences are shown: every treebank has its own.
"""

from __future__ import annotations

import argparse
import http.client
import re
import sys
from pathlib import Path

from tqdm import tqdm

from parser.data.download import DownloadError, download, shown_in
from parser.settings.files import CONFIGS
from parser.storage import locked, replacing, sha256_of

SOURCE = "https://raw.githubusercontent.com/UniversalDependencies"
_PARTS = ("train", "dev", "test")


def main(arguments: list[str] | None = None) -> None:
    """Fetches what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME", help=f"one of {', '.join(known())}, or UD_LANGUAGE-NAME")
    parser.add_argument(
        "--release", default="2.2", help="release of Universal Dependencies (default: %(default)s, the paper's)"
    )
    parser.add_argument("-d", "--folder", type=Path, help="default: ud-vRELEASE")
    parser.add_argument("--source", default=SOURCE, metavar="URL", help="another server with the same files")
    parser.add_argument(
        "--code", help="for a treebank that is not known by name: what its file names begin with, such as fi_tdt"
    )
    parser.add_argument("--sums", type=Path, metavar="FILE", help="SHA-256 sums of the files, as sha256sum writes them")
    given = parser.parse_args(arguments)
    folder = given.folder or Path(f"ud-v{given.release}")
    treebanks = [_treebank(name, given.code) for name in given.names]
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock", wait=True):
        sums = read_sums(given.sums)
        for treebank, code in treebanks:
            print(f"{treebank}: {_fetch(treebank, code, given.source, given.release, folder, sums)}")
        if given.sums is not None:
            with replacing(given.sums) as temporary:
                lines = (f"{digest}  {file}\n" for file, digest in sorted(sums.items()))
                temporary.write_text("".join(lines), encoding="utf-8", newline="\n")


def known() -> dict[str, tuple[str, str]]:
    """By name of treebank=, the folder of Universal Dependencies and what its files begin with; from configs/treebank."""
    found = {}
    for path in sorted((CONFIGS / "treebank").glob("*.yaml")):
        if match := re.search(r"/(UD_[^/]+)/(\w+)-ud-train", path.read_text(encoding="utf-8")):
            found[path.stem] = match[1], match[2]
    return found


def read_sums(path: Path | None) -> dict[str, str]:
    """By file, its SHA-256, from lines as sha256sum writes them; none if there is no such file.

    Raises:
        ValueError: a line is of another form.
    """
    if path is None or not path.exists():
        return {}
    sums = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = re.fullmatch(r"([0-9a-fA-F]{64}) [ *](.+)", line)
        if match is None:
            raise ValueError(f"{path}, line {number}: not SHA-256, two spaces and a file, as sha256sum writes them")
        sums[match[2]] = match[1].lower()
    return sums


def _treebank(name: str, code: str | None) -> tuple[str, str]:
    if name in known():
        return known()[name]
    if not re.fullmatch(r"UD_[A-Za-z_]+-[A-Za-z0-9]+", name):
        raise ValueError(
            f"{name}: this treebank is unknown; known are {', '.join(known())}, or give UD_LANGUAGE-NAME --code CODE"
        )
    if code is None or not re.fullmatch(r"[a-z]+_[a-z0-9]+", code):
        raise ValueError(f"{name}: say what its files begin with, --code CODE, such as --code fi_tdt")
    return name, code


def _fetch(treebank: str, code: str, source: str, release: str, folder: Path, sums: dict[str, str]) -> str:
    """Fetches the files that are not there; the licence."""
    optional = {"train", "dev"}  # small treebanks have no training part, and some no dev part
    for file in ("LICENSE.txt", *(f"{code}-ud-{part}.conllu" for part in _PARTS)):
        path, key = folder / treebank / file, f"{treebank}/{file}"
        if path.exists():
            digest = sha256_of(path)
            if sums.setdefault(key, digest) != digest:
                raise DownloadError(f"{path}: its SHA-256 is {digest}, but {sums[key]} was expected; remove it and start again")
            continue
        try:
            with tqdm(desc=file, unit="B", unit_scale=True, disable=None) as bar:
                download(f"{source}/{treebank}/r{release}/{file}", path, sums.get(key), shown_in(bar))
        except DownloadError as error:
            if error.status == http.client.NOT_FOUND and any(f"-{part}." in file for part in optional) and key not in sums:
                print(f"warning: {treebank} has no {file} in release {release}", file=sys.stderr)
                continue
            raise
        sums[key] = sha256_of(path)
    lines = (folder / treebank / "LICENSE.txt").read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line.strip() for line in lines if line.strip()), "its licence is empty")
