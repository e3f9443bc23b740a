import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from audit.files import caches
from audit.kernels import jit, sweeps
from tests.places import ROOT

USE_ONE = """
import numpy as np
from audit.kernels import jit
jit.on_first_compile = print
from audit.kernels import sweeps
times = np.arange(3)
sweeps.time_order(times, times.copy(), times.copy())
sweeps.time_order(times[::2], times.copy(), times.copy())
"""


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_says_once_that_it_compiles_and_nothing_where_a_cache_spares_it(tmp_path: Path) -> None:
    first = run(USE_ONE, NUMBA_CACHE_DIR=str(tmp_path))
    assert first.splitlines() == ["compiling kernels for this machine, once: up to a minute"]
    assert run(USE_ONE, NUMBA_CACHE_DIR=str(tmp_path)) == ""


def test_metrics_load_no_compiler() -> None:
    code = """
import sys
from audit.kernels import jit
from audit.metrics import uncertainty
from audit.metrics.attempts import performance, population, resource_equality, summary, users
print("numba" in sys.modules)
"""
    assert run(code) == "False\n"


def test_the_cache_of_a_read_only_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert caches.folder(tmp_path, "kernels") == tmp_path / "__pycache__"
    (tmp_path / "file").touch()
    read_only = tmp_path / "file"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert caches.folder(read_only, "kernels") == tmp_path / "fairaudit" / "kernels"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    private = caches.folder(read_only, "kernels")
    assert private.stat().st_mode & 0o777 == 0o700
    assert not caches.writable(tmp_path / "file" / "below")


def test_kernels_that_have_changed_are_compiled_anew(tmp_path: Path) -> None:
    place = jit._for_these_sources(tmp_path)
    place.mkdir()
    (tmp_path / "compiled-of-old").mkdir()
    (tmp_path / "other").mkdir()
    assert jit._for_these_sources(tmp_path) == place
    assert sorted(each.name for each in tmp_path.iterdir()) == [place.name, "other"]


def test_plain_gives_the_python_back() -> None:
    times = np.array([2, 1])
    order = np.empty(2, np.int64)
    jit.plain(sweeps.time_order)(times, order, order.copy())
    assert jit.plain(run) is run
    with pytest.raises(IndexError):  # which compiled code would not notice
        jit.plain(sweeps.time_order)(times, order[:1], order.copy())
