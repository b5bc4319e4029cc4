"""Packs of models: an index lists them by name, with their SHA-256, and one is unpacked into the folder of fetched models."""

from __future__ import annotations

import json
import lzma
import os
import shutil
import zipfile
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tqdm import tqdm

from parser.data.download import DownloadError, download, shown_in
from parser.data.parts.pretrained import HELD
from parser.model.loading import load
from parser.model_folder import INDEX, ModelError, plain_name
from parser.storage import replacing_folder, sha256_of

# Beside a model, the SHA-256 of the pack that it comes from.
_SUM = ".sha256"
# Bytes that a pack may have when it is unpacked.
_MOST = 4 << 30


def read_index(source: str) -> dict[str, Any]:
    """The packs that there are, by name."""
    with TemporaryDirectory() as place:  # so that no older one is continued
        _copy(source, INDEX, Path(place) / INDEX, None)
        text = (Path(place) / INDEX).read_bytes()
    try:
        listed = json.loads(text)
        for name, entry in listed.items():
            if not all(isinstance(entry[key], str) for key in ("file", "sha256")):
                raise TypeError(f"what it says of {name} is not text")
            plain_name(entry["file"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{source}: {INDEX} is not one that optimal-step pack writes ({error})") from error
    return dict(listed)


def fetch(name: str, entry: dict[str, str], source: str, folder: Path) -> str:
    """Fetches a model unless it is there; what came of it."""
    target, pack = folder / name, folder / f".{name}.zip"
    if (target / _SUM).is_file() and (target / _SUM).read_text(encoding="utf-8") == entry["sha256"]:
        return f"there already, {target}"
    if os.path.lexists(target) and (target.is_symlink() or not (target / _SUM).is_file()):
        raise ValueError(f"{target}: optimal-step get has not written this; move it away, or set XDG_CACHE_HOME")
    _copy(source, entry["file"], pack, entry["sha256"])
    try:
        with replacing_folder(target) as temporary:
            _unpack(pack, temporary)
            load(temporary)  # through the checks that a stranger's folder meets
            (temporary / _SUM).write_text(entry["sha256"], encoding="utf-8", newline="\n")
    finally:
        pack.unlink(missing_ok=True)
    return str(target)


def _copy(source: str, file: str, path: Path, sha256: str | None) -> None:
    """Copies or downloads a file from a folder or below a URL."""
    if source.startswith(("http://", "https://")):
        with tqdm(desc=file, unit="B", unit_scale=True, disable=None) as bar:
            download(f"{source.rstrip('/')}/{file}", path, sha256, shown_in(bar))
        return
    found = Path(source) / file
    if not found.is_file():
        raise ValueError(f"{found}: there is no such file; give the folder where optimal-step pack has written, or a URL")
    if sha256 is not None and (digest := sha256_of(found)) != sha256:
        raise DownloadError(f"{found}: its SHA-256 is {digest}, but {INDEX} says {sha256}; pack the model again")
    shutil.copyfile(found, path)


def _unpack(pack: Path, folder: Path) -> None:
    """Unpacks plain files; whatever else there is, is no pack.

    Raises:
        ModelError: it is damaged, or none that optimal-step pack writes.
    """
    try:
        with zipfile.ZipFile(pack) as files:
            if sum(member.file_size for member in files.infolist()) > _MOST:
                raise ValueError(f"it is larger than {_MOST:,} bytes")
            for member in files.infolist():
                inside, name = folder, member.filename
                if name.startswith(f"{HELD}/"):  # a pretrained encoder
                    inside, name = folder / HELD, name.removeprefix(f"{HELD}/")
                    inside.mkdir(exist_ok=True)
                (inside / plain_name(name)).write_bytes(files.read(member))
    except (ValueError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, EOFError) as error:
        raise ModelError(f"{pack.name}: this is no pack of a model ({error})") from error
