"""How kernels are compiled, where compiled kernels are stored, and when they are out of date.

numba stores a compiled kernel beside the file that defines it, or in a folder of the user. If it
can write to neither (a read-only installation, a service without a home), numba refuses to start.
numba also runs what it loads from such a folder, so other users must not be able to write there.
Importing this module before numba chooses a safe folder.

numba takes as long to load as everything else that a command needs. So it is imported when a kernel
is first compiled or loaded, and not for what needs none, such as a sentence whose kernels are
interpreted (parser/kernels/interpreted.py).

numba reuses a compiled kernel until the file that defines it changes. It does not notice changes of
a kernel or a constant that was imported from another file, and would run the old code after an edit
or a git pull. So the compiled kernels of a package are deleted if any source file that kernels
depend on is newer. Most edits are to other files, and cause no compilation.

A file of a compiled kernel may be empty, truncated or unreadable, as after a full disk or a crash.
numba would fail at every start; here such a kernel is compiled again, and its files are replaced
(_mended).

Kernels that make no arrays are compiled without reference counting. Otherwise numba counts
references to every array that a kernel reads from a tuple or passes on, with one atomic operation
for each. Our kernels pass on dozens of arrays: with a beam of 8, counting took two thirds of the
time. Omitting it is safe, because the caller holds the arrays while the kernel runs.

A kernel is compiled once for each combination of argument types, and compile time depends on their
number more than on the length of a kernel. For numba, a literal 0 or True, a read-only array, a
transposed array, int32 and int64 are different types. Each NumPy function is a kernel too. An
assignment from slice to slice takes two seconds to compile, because it may raise an error about
their lengths; a loop over the elements takes none. Most of the time is numba's own analysis:
without LLVM's optimization (NUMBA_OPT=0), compiling still takes two thirds of it. Inlining small
kernels into their callers saves nothing, nor does omitting the wrappers or the stored files of
kernels that only kernels call.

The oracles do not depend on the parser, so they do not use parser/kernels, which has all other code
about the internals of numba. This module has the steps before numba is imported, and the code that
concerns all kernels.
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
from functools import cache, cached_property, update_wrapper
from itertools import chain
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar, cast

log = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable)

_PLACE = "NUMBA_CACHE_DIR"
# Set after the warning that no folder was found, so that child processes do not repeat it.
_TOLD = "OPTIMAL_STEP_WITHOUT_KERNEL_CACHE"
_NAME = "optimal-step"

# Whether kernels are compiled; otherwise they are the functions themselves, for debugging.
COMPILES = os.environ.get("NUMBA_DISABLE_JIT", "") in ("", "0")

# Patterns in source files: marks of files that kernels depend on, imports at module level, names.
_OF_KERNELS = re.compile(r"\b(?:kernel|array_kernel|njit|intrinsic|NamedTuple)\b")
_IMPORT = re.compile(r"^(?:from|import) ([\w.]+)(?: import (\([^)]*\)|.*))?", re.MULTILINE)
_WORD = re.compile(r"\w+")


class Kernel:
    """A function that numba compiles when it is first called. numba, which takes longer to load
    than everything else, is imported only then.

    Attributes:
        py_func: the function.
        in_numpy: a function that does the same in NumPy; None: there is none.
    """

    in_numpy: Callable[..., Any] | None = None

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func = function
        self._options = options
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        return self.dispatcher(*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's object, which compiles the function for each combination of argument types."""
        with _making:
            if "dispatcher" not in vars(self):  # no other thread was faster
                vars(self)["dispatcher"] = self._make_dispatcher()
            return vars(self)["dispatcher"]

    def _make_dispatcher(self) -> Any:
        from numba import njit  # only after the folder of kernels is chosen

        while _waiting_for_numba:
            _waiting_for_numba.pop()()
        # No kernel is called from C or passed to another as a value; wrappers for that would take a
        # tenth of the compile time.
        options = self._options | _if_known("no_cfunc_wrapper", True)
        if "_nrt" in options and not _if_known("_nrt", False):
            del options["_nrt"]
        return _mended(njit(cache=_stores_kernels, nogil=True, **options)(self.py_func))

    @property
    def _numba_type_(self) -> Any:
        """The type of a kernel that another one calls."""
        return self.dispatcher._numba_type_

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of numba's object."""
        if name.startswith("__") or name == "dispatcher":  # what copy and inspect look for
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __repr__(self) -> str:
        return f"Kernel({self.py_func.__module__}.{self.py_func.__qualname__})"


_making = RLock()
# What is to be done when numba has been imported.
_waiting_for_numba: list[Callable[[], object]] = []
_stores_kernels = True


def when_numba_is_there(do: Callable[[], object]) -> None:
    """Call a function before the first kernel is compiled, or now if that has happened."""
    if "numba" in sys.modules:
        do()
    else:
        _waiting_for_numba.append(do)


def kernel(**options: Any) -> Callable[[F], F]:
    """Compile a function that makes no arrays (no ``np.empty``,
    no copies of slices) and returns none.

    It is compiled once and stored on disk; while it runs, other threads run too. ``options``:
    see numba.njit.
    """
    return array_kernel(_nrt=False, **options)


def array_kernel(**options: Any) -> Callable[[F], F]:
    """Compile a function that may make arrays; see kernel()."""

    def decorated(function: F) -> F:
        return cast(F, Kernel(function, options)) if COMPILES else function

    return decorated


def _if_known(option: str, value: bool) -> dict[str, Any]:
    """Return an internal option of numba; if this version of numba does not have it, return
    nothing, at some cost in speed.
    """
    from numba.core.options import DefaultOptions

    return {option: value} if hasattr(DefaultOptions, option) else {}


def _mended(dispatcher: F) -> F:
    """Make a kernel compile again if its stored files cannot be used,
    and run even if it cannot be stored.
    """
    stored: Any = getattr(dispatcher, "_cache", None)
    cache, file = _mended_classes()
    # another version of numba may have other types; then the kernel stays as it is
    if type(stored) is cache.__base__ and type(stored._cache_file) is file.__base__:
        stored._cache_file.__class__, stored.__class__ = file, cache
    return dispatcher


@cache
def _mended_classes() -> tuple[Any, Any]:
    """Return subclasses of numba's classes for a kernel's cache and for its files, which do not
    fail if a file is damaged or cannot be written.

    Reading a damaged file may raise any error. Files are not read before the kernel is called.
    """
    from numba.core.caching import FunctionCache, IndexDataCacheFile

    class File(IndexDataCacheFile):
        def _load_index(self) -> dict[Any, str]:
            try:
                index = super()._load_index()
            except Exception as error:
                log.debug("%s is damaged", self._index_path, exc_info=error)
                return {}
            names = index.values() if isinstance(index, dict) else [None]
            return (
                index
                if all(isinstance(name, str) and os.path.basename(name) == name for name in names)
                else {}
            )

    class KernelCache(FunctionCache):
        def _load_overload(self, signature: Any, context: Any) -> Any:
            try:
                overload = super()._load_overload(signature, context)
                if overload is None or (
                    overload.fndesc.modname,
                    overload.fndesc.qualname,
                ) == _names_of(self._py_func):
                    return overload
            except Exception as error:
                log.debug("a file of %s is damaged", self._name, exc_info=error)
            return None

        def save_overload(self, signature: Any, kernel: Any) -> None:
            try:
                super().save_overload(signature, kernel)
            except OSError as error:
                _warn_once(str(error))

    return KernelCache, File


_is_warned = False


def _warn_once(reason: str) -> None:
    global _is_warned
    if not _is_warned:
        log.warning(
            "a compiled kernel cannot be stored (%s), so the next run compiles it again; see %s",
            reason,
            _PLACE,
        )
    _is_warned = True


def _names_of(function: Callable[..., Any]) -> tuple[str, str]:
    return function.__module__, function.__qualname__


def choose_kernel_cache(package: Path) -> None:
    """Choose where numba stores kernels: NUMBA_CACHE_DIR; otherwise beside the sources; otherwise
    in a private folder of the user.

    If none of these can be written, every process compiles the kernels again,
    and a warning says so once.

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
            "found no folder for compiled kernels, so each run compiles what it needs, which takes "
            "about ten seconds; set %s to a folder that only you can write to",
            _PLACE,
        )
    global _stores_kernels
    _stores_kernels = False


def forget_stale_kernels(package: Path) -> None:
    """Delete the compiled kernels of a package that are older than a source file they depend on;
    numba compiles them again.

    Args:
        package: the folder of the package, searched with its subfolders.
    """
    with suppress(OSError):  # if the folder is read-only, its files do not change either
        times = {source: source.stat().st_mtime_ns for source in package.rglob("*.py")}
        chosen = Path(os.environ.get(_PLACE, os.devnull))
        elsewhere = chosen.rglob("*.nbi") if chosen.name.startswith(_NAME) else ()
        newest = max(times.values())
        indices = [
            index
            for index in chain(package.rglob("__pycache__/*.nbi"), elsewhere)
            if index.stat().st_mtime_ns < newest
        ]
        if not indices:
            return
        newest_of_kernels = max(
            (times[source] for source in _sources_of_kernels(package, times)), default=0
        )
        for index in indices:
            if index.stat().st_mtime_ns < newest_of_kernels:
                index.unlink(missing_ok=True)
            elif index.is_relative_to(package):  # so that the next start need not read the sources
                os.utime(index, ns=(newest, newest))


def _sources_of_kernels(package: Path, sources: Iterable[Path]) -> set[Path]:
    """Return the sources of a package that define kernels, or named tuples (arguments of kernels),
    and all that they import.

    Only imports at module level count: kernels cannot use imports in functions or for type
    checkers.
    """
    names = {}
    for source in sources:
        folders = source.parent if source.stem == "__init__" else source.with_suffix("")
        names[".".join(folders.relative_to(package.parent).parts)] = source
    texts = {name: source.read_text(encoding="utf-8") for name, source in names.items()}
    modules: set[str] = set()
    waiting = [name for name, text in texts.items() if _OF_KERNELS.search(text)]
    while waiting:
        if (name := waiting.pop()) not in modules:
            modules.add(name)
            for module, imported in _IMPORT.findall(texts[name]):
                waiting += {
                    module,
                    *(f"{module}.{word}" for word in _WORD.findall(imported)),
                } & names.keys()
    return {names[name] for name in modules}


def is_private(folder: Path) -> bool:
    """Return whether only this user and root can write to a folder or replace it;
    make it if it does not exist.

    Return False on Windows, where numba chooses a folder itself.
    """
    if sys.platform == "win32":
        return False
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
        above = [parent.stat() for parent in folder.resolve(strict=True).parents]
    except OSError:
        return False
    if (
        not stat.S_ISDIR(status.st_mode)
        or status.st_uid != os.geteuid()
        or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        return False
    # In a sticky folder, such as /tmp, only the owner of a file can rename it.
    open_to_others = (
        s.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not s.st_mode & stat.S_ISVTX for s in above
    )
    return not any(open_to_others) and all(s.st_uid in (0, os.geteuid()) for s in above)


def _own_folders() -> Iterator[Path]:
    if sys.platform == "win32":
        return
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))  # used only if absolute
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


choose_kernel_cache(Path(__file__).parent)
