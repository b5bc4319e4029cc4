"""Models by name: packs that an index lists with their SHA-256,
unpacked into the folder of fetched models.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NotRequired, TypedDict

from oracles.errors import OptimalStepError, did_you_mean
from parser.data.parts.pretrained import HELD
from parser.model_folder import (
    INDEX,
    SETTINGS,
    TEXT,
    ModelError,
    fetched_models,
    find_model,
    holds_model,
    is_plain_name,
    plain_name,
    read_json,
)
from parser.storage import (
    HOME,
    from_json,
    locked,
    remove_leftovers,
    replacing_folder,
    sha256_of,
    write_json,
)
from parser.stored_values import checked

log = logging.getLogger(__name__)

Entry = dict[str, Any]
"""What an index says about a pack: ``file`` and ``sha256``, and optionally facts about the model,
for people to read.
"""


class _StoredEntry(TypedDict):
    """What parsing needs of an entry."""

    file: str
    sha256: str
    as_treebank: NotRequired[str]


# The packs that come with this project; a wheel has only some of those that the index lists.
SHIPPED = str(HOME / "models")
# The environment variable that names another folder or URL of packs.
SOURCE = "OPTIMAL_STEP_MODELS"

# The URL of the packs of this version's release; None: there is no release yet.
RELEASE: str | None = None

# The key of an index for the default treebank of a model that tells treebanks apart; the index may
# list such a pack under one name for each treebank.
AS_TREEBANK = "as_treebank"

# Beside a model, the SHA-256 of the pack that it comes from, and what was unpacked, see _note().
_SUM, _NOTE = ".sha256", ".unpacked.json"
# The codes of ISO 639-1: not misspelt names of other models.
_LANGUAGES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da "
    "de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy "
    "hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg "
    "li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or "
    "os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta "
    "te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
# The most bytes that a pack may have when it is unpacked.
_MOST = 4 << 30


def named_folder(given: Path) -> Path:
    """Return the folder of the model that a user names.

    That is a folder that holds a model; otherwise the fetched model of this name, the shipped one,
    or the one in the index that OPTIMAL_STEP_MODELS names. A pack is unpacked on first use, and
    again if a part of what was unpacked is damaged. A name that is unknown is returned as it is.

    Raises:
        OptimalStepError: the pack cannot be fetched or unpacked,
            or did not come with this installation.
    """
    given, name = Path(given), Path(given).name
    if not _is_name(given):
        return given
    shipped = shipped_packs()
    if holds_model(given):
        if name in shipped:
            _warn_once(given.absolute())
        return given
    fetched = (
        fetched_models(f"{given}: no model folder of this name is here; a fetched model") / name
    )
    if fetched.is_dir():
        if (noted := _note(fetched)) is not None:
            _mend(fetched, name, noted, noted["source"])
        return fetched
    source = SHIPPED if name in shipped else os.environ.get(SOURCE)
    listed = shipped if name in shipped else read_index(source) if source else {}
    if source is None or name not in listed:
        if (why := absent_pack(name)) is not None and not os.path.lexists(given):
            raise ModelError(why)
        return given
    folder = fetched_models() / stored_name(name, listed[name], source)
    if not folder.is_dir():
        with held_cache() as cache:
            fetch(name, listed[name], source, cache)
    else:
        _mend(folder, name, listed[name], source)
    return folder


def _is_name(given: Path) -> bool:
    """Return whether a path may be the name of a model."""
    return len(given.parts) == 1 and is_plain_name(given.name) and not given.is_file()


def lasting(given: Path) -> Path:
    """Return a path that means the same in another working folder: absolute,
    unless it is the name of a model elsewhere.
    """
    given = Path(given)
    return given if _is_name(given) and not holds_model(given) else given.absolute()


def _mend(folder: Path, name: str, entry: Entry, source: str) -> None:
    """Unpack a pack again if a part of what was unpacked is damaged;
    a folder that fetch() has not written stays as it is.

    Raises:
        ModelError: it cannot be fetched or written.
    """
    if not _is_ours(folder, source) or (fault := _fault(folder)) is None:
        return
    try:
        with held_cache() as cache:
            # another process may have been first
            said = None if _fault(folder) is None else fetch(name, entry, source, cache)
    except (OptimalStepError, OSError) as error:
        why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else error
        again = f"optimal-step get {name}{'' if source == SHIPPED else f' --from {source}'}"
        raise ModelError(
            f"{folder}: {fault}, and it cannot be unpacked again ({why}); remove it, then {again}"
        ) from error
    if said is not None:
        log.warning("%s: %s", name, said)


def _is_ours(folder: Path, source: str) -> bool:
    """Return whether fetch() has written a folder: it left a file there,
    or the name has the sum of a shipped pack.
    """
    if folder.is_symlink() or not folder.is_dir():
        return False
    empty = source == SHIPPED and not any(folder.iterdir())
    return empty or (folder / _SUM).is_file() or _note(folder) is not None


def noted_pack(name: str) -> Entry | None:
    """Return file, sum and source of the pack that a fetched model comes from;
    None if it was not fetched.
    """
    return _note(fetched_models() / name) if is_plain_name(name) else None


def _note(folder: Path) -> Entry | None:
    """Return what fetch() noted of a folder; None if it has not written the folder,
    or the note is damaged.

    It is ``file``, ``sha256`` and ``source`` of the pack, perhaps ``as_treebank`` of its entry in
    the index, the name of the ``folder``, and ``parts``, which has bytes, time in nanoseconds and
    SHA-256 of each part, by its name. A copy under another name is the user's own.
    """
    try:
        noted: Entry = json.loads((folder / _NOTE).read_text(encoding="utf-8"))
        texts = [noted[key] for key in ("file", "sha256", "source", "folder")]
        types = [tuple(map(type, part)) for part in noted["parts"].values()]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    known = all(isinstance(text, str) for text in texts) and set(types) == {(int, int, str)}
    return noted if known and noted["folder"] == folder.name and not folder.is_symlink() else None


def _fault(folder: Path, *, thorough: bool = False) -> str | None:
    """Return what is wrong with an unpacked pack, and None if nothing is,
    or if an older version unpacked it.

    Args:
        folder: the folder, which fetch() has written.
        thorough: read all parts, rather than only those that were changed after they were unpacked.
    """
    if (noted := _note(folder)) is None:
        if not any(folder.iterdir()):
            return "the folder is empty"
        if (folder / _NOTE).exists():
            return f"{_NOTE} is damaged"
        return "an older version unpacked it" if thorough else None
    for name, (size, written, sha256) in noted["parts"].items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        found = path.stat()
        if found.st_size != size or (
            (thorough or found.st_mtime_ns != written) and sha256_of(path) != sha256
        ):
            return f"{name} is damaged"
    return None


def find_named(given: Path) -> Path:
    """Return the folder of the model that a user names, as named_folder(),
    or the folder model/ in it.

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
    """Return the hint for an error about an unknown model: the listed or fetched models that the
    name may mean, by similar name, language, treebank or first letters.
    """
    if name in _LANGUAGES.split():
        return ""
    known = {
        **dict.fromkeys(listed),
        **dict.fromkeys(path.name for path in fetched_models().glob("*") if holds_model(path)),
    }
    elsewhere: dict[str, str] = {}
    for one, entry in reversed([*listed.items()]):  # so that the first of a language stays
        treebank = str(entry.get("treebank", "")).partition(" ")[0]
        elsewhere |= dict.fromkeys(
            (str(entry.get("language", "")), treebank, treebank.removeprefix("UD_")), one
        )
    begins = re.split("[_-]", name)[0]  # en_core_web_sm
    return did_you_mean(name, known, elsewhere) or did_you_mean(
        begins if begins in known else "", known
    )


@cache
def _warn_once(folder: Path) -> None:
    log.warning("%s: this folder is used, not the model of this name", folder)


def shipped_packs() -> dict[str, Entry]:
    """Return the packs that come with this installation, by name."""
    return {
        name: entry
        for name, entry in _project_packs().items()
        if Path(SHIPPED, entry["file"]).is_file()
    }


def _project_packs() -> dict[str, Entry]:
    """Return all packs of this project, by name; a wheel has the index of all,
    and the files of some.
    """
    return read_index(SHIPPED) if Path(SHIPPED, INDEX).is_file() else {}


def absent_packs() -> list[str]:
    """Return the names of the packs of this project that did not come with this installation."""
    return sorted(_project_packs().keys() - shipped_packs().keys())


def absent_pack(name: str) -> str | None:
    """Return where to find the pack of a model of this project that is not in this installation;
    None for any other name.
    """
    if name not in absent_packs():
        return None
    return (
        f"there is no model {name!r} in this installation, which has "
        f"{', '.join(shipped_packs()) or 'none'}; {places(name)}"
    )


def places(name: str = "NAME") -> str:
    """Return where the packs are that did not come with this installation,
    and the command that fetches one.
    """
    known = _checkout()
    place = f"CHECKOUT{os.sep}models" if known is None else shlex.quote(str(known))
    said = (
        f"its pack is in models/ of a checkout of the project: optimal-step get {name} --from "
        f"{place}"
    )
    if RELEASE is not None:
        said = f"its pack is at {RELEASE}: optimal-step get {name} --from {RELEASE}"
    return f"{said}; or name a folder or URL of packs in the environment variable {SOURCE}"


def _checkout() -> Path | None:
    """Return the folder of packs in the checkout that pip has installed this project from;
    None if it is not there.
    """
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        note_of = distribution("optimal-step").read_text
        noted = json.loads(note_of("direct_url.json") or "{}")
        url = urlsplit(noted.get("url", ""))
    except (PackageNotFoundError, ValueError, AttributeError):
        return None
    place = Path(url2pathname(url.path)) / "models"
    there = url.scheme == "file" and all(
        (place / entry["file"]).is_file() for entry in _project_packs().values()
    )
    return place if there else None


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
        raise ModelError(
            f"{folder}: {error.strerror}; set XDG_CACHE_HOME to a folder that you can write to"
        ) from error
    with locked(folder / ".lock", wait=True):
        remove_leftovers(folder)
        yield folder


def stored_name(name: str, entry: Entry, source: str) -> str:
    """Return the name of the folder that a pack is unpacked into.

    The name of a shipped pack's folder contains the pack's checksum, because another version of
    this project has other models and must not find these.
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
        listed = checked(from_json(text), dict[str, Entry], "the index")
        for name, entry in listed.items():
            plain_name(checked(entry, _StoredEntry, name)["file"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise OptimalStepError(
            f"{source}: {INDEX} is not one that optimal-step pack writes ({error})"
        ) from error
    return listed


def fetch(name: str, entry: Entry, source: str, folder: Path) -> str:
    """Fetch a model into ``folder``, by its stored_name(), unless it is there;
    return what happened.

    Raises:
        OptimalStepError: something else is there, or the pack is damaged.
    """
    from parser.model.kinds import read_model  # it loads compiled functions

    stored = stored_name(name, entry, source)
    target, pack = folder / stored, folder / f".{stored}.zip"
    ours = _is_ours(target, source)
    same = (
        ours
        and (target / _SUM).is_file()
        and (target / _SUM).read_bytes() == entry["sha256"].encode()
    )
    fault = _fault(target, thorough=True) if ours else None
    if same and fault is None:
        return f"there already, {target}"
    if os.path.lexists(target) and not ours:
        raise OptimalStepError(
            f"{target}: optimal-step get has not written this; move it away, or set XDG_CACHE_HOME"
        )
    _copy(source, entry["file"], pack, entry["sha256"])
    try:
        with replacing_folder(target) as temporary:
            parts = _unpack(pack, temporary)
            if (treebank := entry.get(AS_TREEBANK)) is not None:
                settings = read_json(temporary, SETTINGS)
                write_json(temporary / SETTINGS, settings | {"treebank": treebank})
            read_model(temporary)  # with the same checks as a folder from a stranger
            (temporary / _SUM).write_text(entry["sha256"], encoding="utf-8", newline="\n")
            place = source if _is_url(source) else str(Path(source).absolute())
            noted = {
                "file": entry["file"],
                "sha256": entry["sha256"],
                "source": place,
                "folder": stored,
                **({} if treebank is None else {AS_TREEBANK: treebank}),
            }
            write_json(
                temporary / _NOTE,
                noted | {"parts": {name: _state(temporary / name) for name in parts}},
            )
    finally:
        pack.unlink(missing_ok=True)
    return f"{target}" if fault is None else f"{target}: unpacked again, as {fault}"


def _state(part: Path) -> tuple[int, int, str]:
    """Return bytes, time in nanoseconds and SHA-256 of a part."""
    found = part.stat()
    return found.st_size, found.st_mtime_ns, sha256_of(part)


def _is_url(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _copy(source: str, file: str, path: Path, sha256: str | None) -> None:
    """Copy or download a file from a folder or below a URL."""
    if _is_url(source):
        from tqdm import tqdm  # a model that is there needs none of these

        from parser.data.download import download, shown_in

        with tqdm(desc=file, unit="B", unit_scale=True, disable=None) as bar:
            download(f"{source.rstrip('/')}/{file}", path, sha256, shown_in(bar))
        return
    found = Path(source) / file
    if not found.is_file():
        raise OptimalStepError(
            f"{found}: there is no such file; "
            "give the folder where optimal-step pack has written, or a URL"
        )
    if sha256 is not None and (digest := sha256_of(found)) != sha256:
        raise ModelError(
            f"{found}: its SHA-256 is {digest}, but {INDEX} says {sha256}; pack the model again"
        )
    shutil.copyfile(found, path)


def _unpack(pack: Path, folder: Path) -> list[str]:
    """Unpack plain files, and return their names; refuse a pack that holds anything else.

    Raises:
        ModelError: the pack is damaged, or is not one that optimal-step pack writes.
    """
    import lzma
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(pack) as files:
            if sum(member.file_size for member in files.infolist()) > _MOST:
                raise OptimalStepError(f"it is larger than {_MOST:,} bytes")
            for member in files.infolist():
                *folders, name = map(plain_name, member.filename.split("/"))
                # the only folders: that of a pretrained encoder, and those of several treebanks'
                # text files
                if folders and folders != [HELD] and (len(folders) != 2 or folders[0] != TEXT):
                    raise OptimalStepError(f"{member.filename!r} is no file of a model")
                inside = folder.joinpath(*folders)
                inside.mkdir(parents=True, exist_ok=True)
                (inside / name).write_bytes(files.read(member))
            return files.namelist()
    except (
        ValueError,
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        NotImplementedError,
        RuntimeError,
        EOFError,
    ) as error:
        raise ModelError(f"{pack.name}: this is no pack of a model ({error})") from error
