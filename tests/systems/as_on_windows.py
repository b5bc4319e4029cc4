"""Takes from this process what Windows does not have; imported by a sitecustomize.py,
from all that it starts, too.

* functions of POSIX are not there, and nor are, for this project, its modules:
  libraries have others of their own;
* a file that is open, or in whose memory something lies, is neither replaced nor removed, nor is a
  folder that holds one renamed. What is open, /proc tells: on other systems than Linux, nothing
  does.

What files are read as where no encoding is named, the test settles by the locale. What stands
behind a question for sys.platform, as in parser/text/local_engine.py, does not notice; `make lint`
lets mypy look at it as on Windows.
"""

import builtins
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_MODULES = (
    "crypt",
    "fcntl",
    "grp",
    "nis",
    "pty",
    "pwd",
    "readline",
    "resource",
    "syslog",
    "termios",
    "tty",
)
_PROJECT = ("oracles", "parser", "experiments", "__main__")
# Without those that libraries need here, such as getuid and uname; mypy looks for these, too.
_OF_OS = (
    *("fork", "forkpty", "getpgid", "getpgrp", "getsid", "killpg", "setsid", "mkfifo", "mknod"),
    *("sched_getaffinity", "sched_setaffinity", "nice", "getloadavg", "getpriority"),
    *(
        "pread",
        "pwrite",
        "readv",
        "writev",
        "posix_fadvise",
        "posix_fallocate",
        "sendfile",
        "statvfs",
        "fstatvfs",
    ),
)
_OF_SIGNAL = (
    *("SIGALRM", "SIGHUP", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGXFSZ"),
    *("alarm", "pause", "pthread_kill", "setitimer", "sigpending", "sigwait", "sigtimedwait"),
)
_MAPPED = re.compile(r" (/\S.*)$")


def _in_use() -> Iterator[str]:
    """Yield the paths of files that this process has open, or in its memory;
    a library that is loaded is none of ours.
    """
    for entry in Path("/proc/self/fd").glob("*"):
        try:
            yield os.readlink(entry)
        except OSError:
            continue  # that of glob() itself
    maps = Path("/proc/self/maps")
    if maps.exists():
        for line in maps.read_bytes().decode(errors="surrogateescape").splitlines():
            if found := _MAPPED.search(line):
                yield found[1]


def _without_modules(find: Callable[..., Any]) -> Callable[..., Any]:
    def found(name: str, names: dict[str, Any] | None = None, *others: Any, **options: Any) -> Any:
        if name in _MODULES and str((names or {}).get("__name__")).partition(".")[0] in _PROJECT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return find(name, names, *others, **options)

    return found


def _refusing(change: Callable[..., Any]) -> Callable[..., Any]:
    def changed(*paths: Any, **options: Any) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if caller != "tempfile":  # which has its own way on Windows
            taken = {os.path.realpath(path) for path in paths}
            for used in _in_use():
                if used in taken or any(used.startswith(path + os.sep) for path in taken):
                    raise PermissionError(
                        13, "The process cannot access the file because it is being used", used
                    )
        return change(*paths, **options)

    return changed


def become() -> None:
    builtins.__import__ = _without_modules(builtins.__import__)
    for module, names in ((os, _OF_OS), (signal, _OF_SIGNAL)):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    for name in ("replace", "rename", "unlink", "remove", "rmdir"):
        setattr(os, name, _refusing(getattr(os, name)))


become()
