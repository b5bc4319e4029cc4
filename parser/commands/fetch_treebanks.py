"""Fetches treebanks of Universal Dependencies: optimal-step fetch_treebanks hu UD_Finnish-TDT
[--release 2.2] [-d ud-v2.2].

Names are those of treebank= (hu, el, ...) or folders of Universal Dependencies (UD_Finnish-TDT).
The files come from the treebank's repository on GitHub as it was at the release, into
FOLDER/UD_...; paths.treebanks=FOLDER then finds them. Without --release it is the one named in
configs/treebank (en: 2.16), otherwise 2.2, the paper's. Existing files are kept. Licences are
shown: every treebank has its own.
"""

from __future__ import annotations

import argparse
import http.client
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tqdm import tqdm

from oracles.errors import OptimalStepError, did_you_mean
from parser.commands.arguments import Arguments
from parser.data.download import DownloadError, download, shown_in
from parser.settings.files import CONFIGS
from parser.settings.nearest import treebank_words
from parser.storage import locked

SOURCE = "https://raw.githubusercontent.com/UniversalDependencies"
LISTINGS = "https://api.github.com/repos/UniversalDependencies"
_PAPER = "2.2"
_SPLITS = ("train", "dev", "test")


def main(arguments: list[str] | None = None) -> None:
    """Fetch the treebanks that the command line names."""
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help=f"one of {', '.join(known())}, or UD_LANGUAGE-NAME",
    )
    parser.add_argument(
        "--release", help="release of Universal Dependencies (default: that of each treebank)"
    )
    parser.add_argument("-d", "--folder", type=Path, help="default: ud-vRELEASE")
    parser.add_argument("--source", metavar="URL", help="another server with the same files")
    parser.add_argument(
        "--code", help="the prefix of the files, such as fi_tdt (default: GitHub is asked)"
    )
    args = parser.parse_args(arguments)
    treebanks = [
        _treebank(name, args.code, args.release, args.source or LISTINGS) for name in args.names
    ]
    for treebank, code, release in treebanks:
        folder = args.folder or Path(f"ud-v{release}")
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / ".lock", wait=True):
            print(f"{treebank}: {_fetch(treebank, code, args.source or SOURCE, release, folder)}")


def known() -> dict[str, tuple[str, str, str]]:
    """Return, for each name of treebank=, the folder of Universal Dependencies, the prefix of its
    files, and the release.

    They are read from configs/treebank; a release other than the paper's is named in the first
    comment.
    """
    treebanks = {}
    for path in sorted((CONFIGS / "treebank").glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        if match := re.search(r"/(UD_[^/]+)/(\w+)-ud-train", text):
            release = re.match(r"#.*, release (\S+)", text)
            treebanks[path.stem] = match[1], match[2], release[1] if release else _PAPER
    return treebanks


def _treebank(
    name: str, code: str | None, release: str | None, listings: str
) -> tuple[str, str, str]:
    """Return the folder, the prefix of the files, and the release of a treebank."""
    if name in known():
        folder, prefix, usual = known()[name]
        return folder, prefix, release or usual
    if not re.fullmatch(r"UD_[A-Za-z_]+-[A-Za-z0-9]+", name):
        near = did_you_mean(name, known(), treebank_words())
        raise OptimalStepError(
            f"{name}: this treebank is unknown{near}; known are {', '.join(known())}, "
            "or give UD_LANGUAGE-NAME"
        )
    release = release or next(
        (usual for folder, _, usual in known().values() if folder == name), _PAPER
    )
    code = code or _code_of(name, release, listings)
    if not re.fullmatch(r"[a-z]+_[a-z0-9]+", code):
        raise OptimalStepError(
            f"--code {code}: say what the names of the files begin with, such as fi_tdt"
        )
    return name, code, release


def _code_of(treebank: str, release: str, listings: str) -> str:
    """Return the prefix of a treebank's files, as GitHub lists them."""
    with TemporaryDirectory() as place:
        path = Path(place) / "contents"
        download(f"{listings}/{treebank}/contents?ref=r{release}", path)
        text = path.read_text(encoding="utf-8", errors="replace")
    if not (names := re.findall(r'"name": *"([a-z]+_[a-z0-9]+)-ud-\w+\.conllu"', text)):
        raise OptimalStepError(
            f"{treebank}: release {release} lists no files of trees; try another --release"
        )
    return str(names[0])


def _fetch(treebank: str, code: str, source: str, release: str, folder: Path) -> str:
    """Fetch the files that are not there; return the licence."""
    for file in ("LICENSE.txt", "README.md", *(f"{code}-ud-{split}.conllu" for split in _SPLITS)):
        path = folder / treebank / file
        if path.exists():
            continue
        try:
            with tqdm(desc=file, unit="B", unit_scale=True, disable=None) as bar:
                download(f"{source}/{treebank}/r{release}/{file}", path, progress=shown_in(bar))
        except DownloadError as error:
            # Small treebanks have no training split, and some no dev split;
            # the README of older ones has another name.
            if error.status != http.client.NOT_FOUND or not re.search(
                "-(train|dev)[.]|README", file
            ):
                raise
            print(f"warning: {treebank} has no {file} in release {release}", file=sys.stderr)
    lines = (
        (folder / treebank / "LICENSE.txt")
        .read_text(encoding="utf-8", errors="replace")
        .splitlines()
    )
    return next((line.strip() for line in lines if line.strip()), "its licence is empty")
