"""Lets memory that is freed go back to the system soon, so that the next step can have it.

Work on a large log makes and drops arrays as long as the log. The allocators of glibc and of polars
keep such pieces for later ones, which seldom fit.
"""

import ctypes
import os
import sys
from typing import Final

ALONE: Final = 1 << 20
"""Pieces of so many bytes are asked for, and given back, one by one."""
_MMAP_THRESHOLD: Final = -3  # malloc.h: M_MMAP_THRESHOLD


def give_back() -> None:
    """Asks for it; for a process that has not loaded polars yet. Elsewhere nothing happens."""
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:500,muzzy_decay_ms:0")
    if sys.platform == "linux":
        adjust = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's
        if adjust is not None:
            adjust(_MMAP_THRESHOLD, ALONE)
