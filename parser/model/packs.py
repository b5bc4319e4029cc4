"""Models by name: packs that an index lists with their SHA-256, unpacked into the folder of fetched models."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from oracles.errors import OptimalStepError, did_you_mean
from parser.data.parts.pretrained import HELD
from parser.model_folder import INDEX, ModelError, fetched_models, find_model, holds_model, is_plain_name, plain_name
from parser.storage import HOME, locked, remove_leftovers, replacing_folder, sha256_of

log = logging.getLogger(__name__)

Entry = dict[str, Any]
"""What an index says of a pack: ``file`` and ``sha256``, and perhaps what people want to know of the model."""

# The packs that come with this project; a wheel has only some of those that the index lists.
SHIPPED = str(HOME / "models")
# The environment variable that names another folder or URL of packs.
SOURCE = "OPTIMAL_STEP_MODELS"

# Beside a model, the SHA-256 of the pack that it comes from.
_SUM = ".sha256"
# The codes of ISO 639-1: not misspelt names of other models.
_LANGUAGES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es "
    "et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki "
    "kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no "
    "nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te "
    "tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
# Bytes that a pack may have when it is unpacked.
_MOST = 4 << 30


def named_folder(given: Path) -> Path:
    """Return the folder of the model that a user names.

    That is a folder that holds a model; else the fetched model of this name, the shipped one, or the one in the index that
    OPTIMAL_STEP_MODELS names. A pack is unpacked on first use. A name that is unknown is returned as it is.

    Raises:
        OptimalStepError: the pack cannot be fetched or unpacked.
    """
    given, name = Path(given), Path(given).name
    if len(given.parts) != 1 or not is_plain_name(name) or given.is_file():
        return given
    shipped = shipped_packs()
    if holds_model(given):
        if name in shipped:
            _warn_once(given.absolute())
        return given
    fetched = fetched_models(f"{given}: no model folder of this name is here; a fetched model") / name
    if fetched.is_dir():
        return fetched
    source = SHIPPED if name in shipped else os.environ.get(SOURCE)
    listed = shipped if name in shipped else read_index(source) if source else {}
    if source is None or name not in listed:
        return given
    folder = fetched_models() / stored_name(name, listed[name], source)
    if not folder.is_dir():
        with held_cache() as cache:
            fetch(name, listed[name], source, cache)
    return folder


def find_named(given: Path) -> Path:
    """Return the folder of the model that a user names, as named_folder(), or the folder model/ in it.

    Raises:
        ModelError: there is none; the message has the name that was probably meant.
        OptimalStepError: the pack cannot be fetched or unpacked.
    """
    folder = named_folder(given)
    try:
        return find_model(folder)
    except ModelError as error:
        if folder != Path(given) or len(folder.parts) != 1 or os.path.lexists(folder):
            raise
        raise ModelError(f"{error}{meant_model(folder.name, shipped_packs())}") from error


def meant_model(name: str, listed: Mapping[str, Entry]) -> str:
    """Return the hint for an error about an unknown model: listed or fetched, by name, language, treebank or first letters."""
    if name in _LANGUAGES.split():
        return ""
    known = {**dict.fromkeys(listed), **dict.fromkeys(path.name for path in fetched_models().glob("*") if holds_model(path))}
    elsewhere: dict[str, str] = {}
    for one, entry in reversed([*listed.items()]):  # of several models of a language, the first
        treebank = str(entry.get("treebank", "")).partition(" ")[0]
        elsewhere |= dict.fromkeys((str(entry.get("language", "")), treebank, treebank.removeprefix("UD_")), one)
    begins = re.split("[_-]", name)[0]  # en_core_web_sm
    return did_you_mean(name, known, elsewhere) or did_you_mean(begins if begins in known else "", known)


@cache
def _warn_once(folder: Path) -> None:
    log.warning("%s: this folder is used, not the model of this name", folder)


def shipped_packs() -> dict[str, Entry]:
    """Return the packs that come with this installation, by name."""
    listed = read_index(SHIPPED) if Path(SHIPPED, INDEX).is_file() else {}
    return {name: entry for name, entry in listed.items() if Path(SHIPPED, entry["file"]).is_file()}


@contextmanager
def held_cache() -> Iterator[Path]:
    """Yield the folder of fetched models, which no other process changes meanwhile.

    Raises:
        ModelError: it cannot be made.
    """
    folder = fetched_models()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"{folder}: {error.strerror}; set XDG_CACHE_HOME to a folder that you can write to") from error
    with locked(folder / ".lock", wait=True):
        remove_leftovers(folder)
        yield folder


def stored_name(name: str, entry: Entry, source: str) -> str:
    """Return the name of the folder that a pack is unpacked into.

    A shipped pack's has its sum: another version of this project has other models, and must not find these.
    """
    return f"{name}-{entry['sha256'][:8]}" if source == SHIPPED else name


def read_index(source: str) -> dict[str, Entry]:
    """Return the packs that a folder or a URL has, by name.

    Raises:
        OptimalStepError: there is no index, or it is damaged.
    """
    with TemporaryDirectory() as place:
        _copy(source, INDEX, Path(place) / INDEX, None)
        text = (Path(place) / INDEX).read_bytes()
    try:
        listed = json.loads(text)
        for name, entry in listed.items():
            if not all(isinstance(entry[key], str) for key in ("file", "sha256")):
                raise TypeError(f"what it says of {name} is not text")
            plain_name(entry["file"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise OptimalStepError(f"{source}: {INDEX} is not one that optimal-step pack writes ({error})") from error
    return dict(listed)


def fetch(name: str, entry: Entry, source: str, folder: Path) -> str:
    """Fetch a model into ``folder``, by its stored_name(), unless it is there; return what happened.

    Raises:
        OptimalStepError: something else is there, or the pack is damaged.
    """
    from parser.model.loading import load  # imports this module

    stored = stored_name(name, entry, source)
    target, pack = folder / stored, folder / f".{stored}.zip"
    if (target / _SUM).is_file() and (target / _SUM).read_text(encoding="utf-8") == entry["sha256"]:
        return f"there already, {target}"
    if os.path.lexists(target) and (target.is_symlink() or not (target / _SUM).is_file()):
        raise OptimalStepError(f"{target}: optimal-step get has not written this; move it away, or set XDG_CACHE_HOME")
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
        from tqdm import tqdm  # a model that is there needs none of these

        from parser.data.download import download, shown_in

        with tqdm(desc=file, unit="B", unit_scale=True, disable=None) as bar:
            download(f"{source.rstrip('/')}/{file}", path, sha256, shown_in(bar))
        return
    found = Path(source) / file
    if not found.is_file():
        raise OptimalStepError(f"{found}: there is no such file; give the folder where optimal-step pack has written, or a URL")
    if sha256 is not None and (digest := sha256_of(found)) != sha256:
        raise ModelError(f"{found}: its SHA-256 is {digest}, but {INDEX} says {sha256}; pack the model again")
    shutil.copyfile(found, path)


def _unpack(pack: Path, folder: Path) -> None:
    """Unpacks plain files; with anything else, it is no pack.

    Raises:
        ModelError: it is damaged, or none that optimal-step pack writes.
    """
    import lzma
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(pack) as files:
            if sum(member.file_size for member in files.infolist()) > _MOST:
                raise OptimalStepError(f"it is larger than {_MOST:,} bytes")
            for member in files.infolist():
                inside, name = folder, member.filename
                if name.startswith(f"{HELD}/"):  # a pretrained encoder
                    inside, name = folder / HELD, name.removeprefix(f"{HELD}/")
                    inside.mkdir(exist_ok=True)
                (inside / plain_name(name)).write_bytes(files.read(member))
    except (ValueError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, EOFError) as error:
        raise ModelError(f"{pack.name}: this is no pack of a model ({error})") from error
