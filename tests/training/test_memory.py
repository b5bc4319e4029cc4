"""Memory that training keeps."""

import ctypes
import os
import platform
import subprocess
import sys

import pytest

from parser.training.memory import keep_freed_memory

_BLOCKS = """
import ctypes
from parser.training.memory import keep_freed_memory

class Mallinfo(ctypes.Structure):
    _fields_ = [(str(number), ctypes.c_int) for number in range(10)]

libc = ctypes.CDLL(None)
libc.mallinfo.restype = Mallinfo
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]

def mapped():
    before = getattr(libc.mallinfo(), "3")  # blocks that the system gave one by one
    assert libc.malloc(64 << 20)
    return getattr(libc.mallinfo(), "3") - before

print(mapped(), keep_freed_memory(), mapped())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc's mallopt")
def test_large_blocks_are_kept_in_the_heap_unless_the_user_sets_how():
    environment = {name: value for name, value in os.environ.items() if "MALLOC" not in name}
    environment.pop("GLIBC_TUNABLES", None)
    assert _printed(environment) == "1 True 0"
    assert _printed(environment | {"MALLOC_TOP_PAD_": "0"}) == "1 False 1"


def _printed(environment):
    command = [sys.executable, "-c", _BLOCKS]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_another_c_library_keeps_its_ways(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert not keep_freed_memory()
