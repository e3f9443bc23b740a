"""Test data that takes seconds and is only read: made once for all workers of pytest-xdist.

A fixture of a module would be made anew by each worker that runs one of the module's tests.
"""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that holds what ``make`` wrote into it; tests leave it as it is.

    Other workers wait meanwhile. If ``make`` fails, the next worker tries again.

    Args:
        factory: pytest's.
        name: of the folder, the same in each worker.
        make: fills an empty folder.
    """
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    made = root / f"{name}-made"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            folder = factory.mktemp(name)
            make(folder)
            folder.rename(made)
    return made
