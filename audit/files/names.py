"""Names of files, which may hold any bytes, as text."""

from __future__ import annotations

import os
from pathlib import Path


def readable(path: Path) -> str:
    r"""A path as text that can be stored and shown; bytes that are no UTF-8 are escaped (`\xff`).

    Paths are told apart by it, but for one that really has such an escape in its name.
    """
    return os.fsencode(path).decode("utf-8", errors="backslashreplace")
