"""What must be equal wherever figures are computed, or they might differ in the last bit."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parent.parent


def identity() -> dict[str, str]:
    """What this process computes with, by name."""
    import numpy as np
    import polars as pl

    from audit import __version__

    return {
        "fairaudit": __version__,
        "sources": program()[:12],
        "kernels": kernels()[:12],
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__,
        "polars": pl.__version__,
        "processor": platform.machine(),
    }


def difference(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str | None:
    """What differs, such as ``fairaudit 0.2.0, here 0.1.0``; None where nothing does."""
    told = [
        f"{name} {theirs.get(name, 'unknown')}, here {value}"
        for name, value in ours.items()
        if theirs.get(name) != value
    ]
    return "; ".join(told) or None


@cache
def kernels() -> str:
    """Return a fingerprint of the sources from which the kernels were compiled."""
    built = PACKAGE / "kernels" / "built.json"
    return hashlib.sha256(built.read_bytes()).hexdigest() if built.exists() else "not compiled"


@cache
def program() -> str:
    """A fingerprint of fairaudit's own code."""
    from audit import __version__

    files = sorted(PACKAGE.rglob("*.py"))
    parts = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return hashlib.sha256(json.dumps([__version__, *parts]).encode()).hexdigest()
