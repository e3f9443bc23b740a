import importlib.util

import numpy as np
import pytest

from audit.kernels import compiled, sweeps, usage
from tests.kernels.forms import entries, in_python
from tests.places import ROOT


def test_the_machine_code_was_made_of_these_sources() -> None:
    spec = importlib.util.spec_from_file_location("build", ROOT / ".ci" / "translate_kernels.py")
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    assert compiled.machine is not None
    assert build.digest() == compiled.machine.SOURCES, "kernels have changed: run `make kernels`"


def test_plain_gives_the_python_back() -> None:
    assert compiled.plain(entries) is entries
    draws, weights = np.array([[3]]), np.zeros((1, 3), np.int64)
    with pytest.raises(IndexError):  # which compiled code would not notice
        compiled.plain(usage.last_at_or_before)(draws[0], 4, 1)
    assert not weights.any()


def test_kernels_are_python_only_where_that_is_asked_for() -> None:
    before = sweeps.overtakes
    with in_python():
        assert compiled.plain(before) is sweeps.overtakes
    assert sweeps.overtakes is before


def test_arrays_of_other_kinds_are_refused() -> None:
    times = np.arange(3)
    assert usage.last_at_or_before(times, 1, 0) == 1
    with pytest.raises(ValueError, match="dtype mismatch"):
        usage.last_at_or_before(times.astype(float), 1, 0)
    assert usage.last_at_or_before(np.arange(6)[::2], 4, 0) == 2
    with pytest.raises(ValueError, match="not C-contiguous"):
        sweeps.sort_times(times, np.arange(6)[::2], times.copy(), times.copy())
    with pytest.raises(ValueError, match="wrong number of dimensions"):
        usage.last_at_or_before(times.reshape(1, 3), 1, 0)  # type: ignore[arg-type]


def test_what_is_only_read_may_be_read_only_and_nothing_else_is_written_to() -> None:
    times, order = np.array([2, 1]), np.empty(2, np.int64)
    times.flags.writeable = False
    sweeps.time_order(times, order, order.copy())
    assert order.tolist() == [1, 0]
    order.flags.writeable = False
    for spare, out in ((order.copy(), order), (order, order.copy())):
        with pytest.raises(ValueError, match="read-only"):
            sweeps.time_order(times, out, spare)


def test_a_kernel_without_machine_code_says_what_to_do() -> None:
    def lost() -> None: ...

    kernel = compiled.kernel(lost)
    assert compiled.plain(kernel) is lost
    with pytest.raises(RuntimeError, match=r"test_compiled\.lost is not compiled: .*make kernels"):
        kernel()
