import os
import subprocess
import sys

import pytest

from audit.files import memory


def test_what_was_asked_for_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_RJEM_MALLOC_CONF", "mine")
    memory.give_back()
    assert os.environ["_RJEM_MALLOC_CONF"] == "mine"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_freed_arrays_are_given_back() -> None:
    script = """
import ctypes
from audit.files import memory
memory.give_back()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
def held():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
def piece():
    at = libc.malloc(ctypes.c_size_t(8 << 20))
    ctypes.memset(at, 1, 8 << 20)
    return at
libc.free(piece())  # what makes glibc keep pieces of this size
before = held()
pieces = [piece() for _ in range(8)]
for at in pieces[:-1]:  # the last would keep those before it from being given back
    libc.free(at)
print(held() - before)
"""
    ended = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert int(ended.stdout) < 2 * (8 << 20)
