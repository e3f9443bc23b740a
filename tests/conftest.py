"""Settings of Hypothesis, and fixtures that all tests share."""

import atexit
import functools
import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from hypothesis import settings

from tests.examples import USUAL
from tests.places import ROOT

# The same examples each time; `few` is the profile of `make test`, `search` finds more.
# `make test-thorough` runs all tests of Hypothesis with the examples of `repeatable`.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, max_examples=USUAL, print_blob=True
)
settings.register_profile("few", settings.get_profile("repeatable"), max_examples=USUAL // 4)
settings.register_profile("search", deadline=None, max_examples=2_000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

MEMORY = Path("/dev/shm")
"""Files there are never synced to a disk, which takes a store much of its time."""

ROOM = 4 * 2**30
"""Minimum of free bytes there; much less is used, since folders of passed tests are removed."""


def _roomy(folder: Path) -> bool:
    """Whether tests can work in a folder: write, and run what they put there."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    told = os.statvfs(folder)
    return not told.f_flag & os.ST_NOEXEC and told.f_bavail * told.f_frsize >= ROOM


if _roomy(MEMORY):  # the workers of pytest-xdist get folders within the first process's
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_configure(config: pytest.Config) -> None:
    """Update the checked build of the kernels before workers start."""
    gc.disable()  # until all is imported and collected
    if not hasattr(config, "workerinput"):
        script = ROOT / ".ci" / "build_kernels.py"
        subprocess.run([sys.executable, script, "--checked"], check=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the tests that wait for minutes first.

    Reading a real log takes seconds, so tests that use one are marked as thorough.
    """
    for item in items:
        if "real_logs" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.thorough)
    items.sort(key=lambda item: item.get_closest_marker("slurm") is None)


def pytest_collection_finish() -> None:
    """Exclude what was imported and collected from garbage collection."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def _read_once() -> Iterator[None]:
    """Parse the definitions of commands, and read the kept empty store, once per process."""
    from audit.store import empty

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        patch.setattr(empty, "_content", functools.cache(empty._content))
        yield


@pytest.fixture
def short_paper(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Replace the PDF, which takes twice as long as the rest of an audit.

    PDFs are laid out in tests/report/render, and whole audits make theirs in
    tests/oneoff/test_audit.py and tests/test_security.py.
    """
    from audit.report.render import page, sandbox

    made = b"%PDF-1.7"
    monkeypatch.setattr(page, "render_pdf", lambda *_: made)
    monkeypatch.setattr(sandbox, "prepare", lambda *_: None)
    return made


@pytest.fixture
def figures_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the content of reports out, which takes as long as the figures."""
    from audit.pipeline import drawing
    from tests.report import sample

    monkeypatch.setattr(drawing, "contents_of", lambda *_: sample.empty())


@pytest.fixture
def sound_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let doctor examine the configuration alone; tests/cli/test_setup.py examines the rest."""
    monkeypatch.setattr("audit.analyst.reader.layers", lambda: "all")
    monkeypatch.setattr("audit.report.render.page.try_out", lambda: 1)
    monkeypatch.setattr("audit.setup.doctor._database", lambda: "DuckDB")


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    """A copy, for one test, of the site that the fixture ``made`` of its module returns."""
    return shutil.copytree(made, tmp_path / "site")


@pytest.fixture(scope="session")
def real_logs() -> Path:
    """The folder of public logs, one folder per kind; never part of the repository."""
    folder = os.environ.get("FAIRAUDIT_REAL_LOGS")
    if not folder:
        pytest.skip("FAIRAUDIT_REAL_LOGS does not name the folder of real logs: not compared")
    return Path(folder)


def pytest_unconfigure() -> None:
    """Close stderr at exit, where DuckDB's bindings would report objects in cycles as leaked.

    tests/store/test_database.py tests in a separate process that fairaudit leaves none. pytest
    still restores stderr after this.
    """
    atexit.register(os.dup2, os.open(os.devnull, os.O_WRONLY), 2)
