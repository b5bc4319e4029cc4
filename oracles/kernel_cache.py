"""How kernels are compiled, where they are kept, and which of them no longer fit their source.

numba keeps a compiled kernel beside the file that defines it. Where that folder may not be written, and there is none for the
user either (a read-only installation, a service without a home), numba would refuse to start; and what it loads from a folder
it runs, so that nobody else may be able to write there. Importing this module, before numba, settles the place.

numba keeps a compiled kernel until the file that defines it changes. It does not see that a kernel or a constant which it took
from another file has changed, after an edit or a git pull, and would still run the old code. So the kernels of a package are
forgotten where a source that kernels are made of is newer; edits elsewhere, which are most, cost no compilation.

Kernels that make no arrays are compiled without counting the references to those they are given. Numba counts references to
every array that a kernel reads out of a tuple or hands on, with an atomic operation each, and our kernels hand on dozens: with
a beam of 8 that was two thirds of the time. What has called the kernel holds the arrays meanwhile.

How long compiling takes depends less on how long a kernel is than on how many kinds of arguments it has, for each of which it
is compiled: to numba a literal 0 or True, an array that may not be written to, one whose rows are columns, int32 and int64 are
of different kinds. Each function of NumPy is a kernel, too, and where a slice is assigned to another, numba compiles what
writes the message about their lengths, for two seconds; a loop over their elements does the same for nothing.

The oracles know nothing of the parser, and so do without parser/kernels, where all else is that touches the insides of numba.
What is here must be done before numba is imported, or concerns all kernels.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

log = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable)

_PLACE = "NUMBA_CACHE_DIR"
# Set where there is no place, so that processes which this one starts do not say so again.
_TOLD = "OPTIMAL_STEP_WITHOUT_KERNEL_CACHE"
_NAME = "optimal-step"

# In a source, what makes it one of kernels; what it imports as it is loaded, from which module; names.
_OF_KERNELS = re.compile(r"\b(?:kernel|array_kernel|njit|intrinsic|NamedTuple)\b")
_IMPORT = re.compile(r"^(?:from|import) ([\w.]+)(?: import (\([^)]*\)|.*))?", re.MULTILINE)
_WORD = re.compile(r"\w+")


def kernel(**options: Any) -> Callable[[F], F]:
    """Compiles a function that makes no arrays (no ``np.empty``, no copies of slices) and returns none.

    Compiled once and kept on disk; other threads run meanwhile. See numba.njit for the options.
    """
    return array_kernel(**_known("_nrt", False), **options)


def array_kernel(**options: Any) -> Callable[[F], F]:
    """Compiles a function that may make arrays; see kernel()."""
    from numba import njit  # not before the place of kernels is settled

    # Nobody calls a kernel from C, or hands it to another one as a value: to compile it for that takes a tenth of the time.
    return njit(cache=True, nogil=True, **_known("no_cfunc_wrapper", True), **options)


def _known(option: str, value: bool) -> dict[str, Any]:
    """An option that numba's own kernels are compiled with; nothing in a version that does not know it, which is but slower."""
    from numba.core.options import DefaultOptions

    return {option: value} if hasattr(DefaultOptions, option) else {}


def choose_kernel_cache(package: Path) -> None:
    """Settles where numba keeps kernels: as NUMBA_CACHE_DIR says, beside the sources, or in a folder of the user's own.

    Without such a place kernels are compiled again by every process, and a warning says so, once.

    Args:
        package: the folder of the sources.
    """
    if os.environ.get(_PLACE) or sys.platform == "win32" or _is_writable(package / "__pycache__"):
        return
    for folder in _own_folders():
        if is_private(folder) and _is_writable(folder):
            os.environ[_PLACE] = str(folder)
            return
    if _TOLD not in os.environ:
        os.environ[_TOLD] = "1"
        log.warning(
            "there is no folder to keep compiled kernels in, so every start takes about ten seconds; set %s to one that only "
            "you can write to",
            _PLACE,
        )
    _keep_no_kernels()


def forget_stale_kernels(package: Path) -> None:
    """Removes the compiled kernels of a package that are older than any source they are made of; they are compiled again.

    Args:
        package: its folder; packages inside it belong to it.
    """
    with suppress(OSError):  # a folder that may not be written: its files do not change either
        times = {source: source.stat().st_mtime_ns for source in package.rglob("*.py")}
        chosen = Path(os.environ.get(_PLACE, os.devnull))
        elsewhere = chosen.rglob("*.nbi") if chosen.name.startswith(_NAME) else ()
        newest = max(times.values())
        indices = [index for index in chain(package.rglob("__pycache__/*.nbi"), elsewhere) if index.stat().st_mtime_ns < newest]
        if not indices:
            return
        newest_of_kernels = max((times[source] for source in _sources_of_kernels(package, times)), default=0)
        for index in indices:
            if index.stat().st_mtime_ns < newest_of_kernels:
                index.unlink(missing_ok=True)
            elif index.is_relative_to(package):  # the next start need not read the sources again
                os.utime(index, ns=(newest, newest))


def _sources_of_kernels(package: Path, sources: Iterable[Path]) -> set[Path]:
    """Those of a package that define kernels, or named tuples, which kernels are given, and all that these import from it.

    Kernels take what a module imports, but nothing that only one of its functions imports, or a type checker.
    """
    names = {}
    for source in sources:
        folders = source.parent if source.stem == "__init__" else source.with_suffix("")
        names[".".join(folders.relative_to(package.parent).parts)] = source
    texts = {name: source.read_text(encoding="utf-8") for name, source in names.items()}
    found: set[str] = set()
    waiting = [name for name, text in texts.items() if _OF_KERNELS.search(text)]
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            for module, imported in _IMPORT.findall(texts[name]):
                waiting += {module, *(f"{module}.{one}" for one in _WORD.findall(imported))} & names.keys()
    return {names[name] for name in found}


def is_private(folder: Path) -> bool:
    """Whether nobody but this user (and root) can write to a folder, or put another in its place; it is made if need be.

    False on Windows, where numba finds a place by itself.
    """
    if sys.platform == "win32":
        return False
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        own = folder.lstat()
        above = [parent.stat() for parent in folder.resolve(strict=True).parents]
    except OSError:
        return False
    if not stat.S_ISDIR(own.st_mode) or own.st_uid != os.geteuid() or own.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    # In a sticky folder, such as /tmp, only the owner of a file can rename it.
    open_to_others = (s.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not s.st_mode & stat.S_ISVTX for s in above)
    return not any(open_to_others) and all(s.st_uid in (0, os.geteuid()) for s in above)


def _own_folders() -> Iterator[Path]:
    if sys.platform == "win32":
        return
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))  # which counts only as an absolute path
    with suppress(RuntimeError):  # no home
        yield (cache if cache.is_absolute() else Path.home() / ".cache") / _NAME
    if os.path.isabs(runtime := os.environ.get("XDG_RUNTIME_DIR", "")):
        yield Path(runtime) / _NAME
    with suppress(OSError):  # no folder for temporary files
        yield Path(tempfile.gettempdir()) / f"{_NAME}-{os.geteuid()}"


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _keep_no_kernels() -> None:
    from numba.core.dispatcher import Dispatcher

    Dispatcher.enable_caching = lambda self: None  # type: ignore[method-assign]  # which ``cache=True`` calls, and which fails where there is no place


choose_kernel_cache(Path(__file__).parent)
