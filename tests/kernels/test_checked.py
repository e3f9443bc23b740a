"""The suite, and the processes that it starts, use the checked build of the kernels."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from audit.kernels import sums
from tests import processes
from tests.places import ROOT

CHECKED = ROOT / "var" / "checked"


def test_tests_import_the_checked_build() -> None:
    assert Path(sums.__file__).is_relative_to(CHECKED)


def test_processes_of_tests_import_the_checked_build() -> None:
    code = "from audit.kernels import sums; print(sums.__file__)"
    done = processes.python("-c", code, check=True)
    assert Path(done.stdout).is_relative_to(CHECKED)


def test_a_compiled_module_without_a_source_is_an_orphan(tmp_path: Path) -> None:
    """It would be imported instead of a package of the same name, as after an update."""
    build = runpy.run_path(str(ROOT / ".ci" / "build_kernels.py"))
    for name in ("sums", "gone"):
        (tmp_path / "audit" / "kernels").mkdir(parents=True, exist_ok=True)
        (tmp_path / build["binary"](f"audit.kernels.{name}")).touch()
    assert build["orphans"](tmp_path) == [tmp_path / "audit/kernels/gone.abi3.so"]


@pytest.mark.xfail(raises=pytest.PytestUnraisableExceptionWarning, reason="strict: it must fail")
def test_an_index_out_of_range_fails_a_test() -> None:
    by_unit, beyond, out = np.ones((2, 1), np.uint8), np.array([2]), np.empty((1, 1))
    sums.weighted_sums(by_unit, beyond, np.ones((1, 1)), out)
