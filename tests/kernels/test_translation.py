"""What kernels are made of, compiled and as Python; and what they may not be made of."""

import hashlib
import importlib.util
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.kernels.arrays import Ints
from audit.kernels.compiled import inner, plain
from audit.kernels.translation import TranslationError, translated
from tests.kernels import samples
from tests.places import ROOT


def imported(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> ModuleType:
    """The samples as machine code, kept from run to run until what it is made by changes."""
    script = ROOT / ".ci" / "translate_kernels.py"
    build = imported("build", script)
    text = translated([samples], "of samples")
    made_by = (script.read_bytes(), text, sys.version, metadata.version("cython"), platform.uname())
    key = hashlib.sha256(repr(made_by).encode()).hexdigest()[:16]
    kept = pytestconfig.cache.mkdir("kernels") if pytestconfig.cache else None
    made = kept / f"{key}-{build.NAME}" if kept else None
    if made is None or not made.exists():
        fresh = build.compiled(tmp_path_factory.mktemp("samples"), text)
        if made is None:
            return imported("machine", fresh)
        draft = made.with_name(f"{made.name}.{os.getpid()}")
        shutil.copy(fresh, draft)
        draft.replace(made)
    return imported("machine", made)


@pytest.fixture(scope="module")
def same(machine: ModuleType) -> Callable[..., Any]:
    """Calls a sample in both forms, with copies of what it is given: they do the same."""

    def call(name: str, *arguments: Any) -> Any:
        results = []
        for function in (getattr(machine, f"samples_{name}"), plain(getattr(samples, name))):
            given = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
            gives = function(*given)
            results.append((gives, [each.tolist() for each in given if hasattr(each, "tolist")]))
        assert repr(results[0]) == repr(results[1])
        return results[0]

    return call


@pytest.mark.thorough
def test_the_digest_is_kept(machine: ModuleType) -> None:
    assert machine.SOURCES == "of samples"


@given(st.integers(-99, 99), st.integers(-9, 9).filter(bool))
def test_division_rounds_down(same: Callable[..., Any], a: int, b: int) -> None:
    assert same("divide", a, b)[0] == (a // b, a % b)


@given(st.floats(-1e6, 1e6), st.integers(-300, 300), st.booleans())
def test_numbers(same: Callable[..., Any], x: float, n: int, is_odd: bool) -> None:
    assert isinstance(same("numbers", x, n, is_odd)[0], float)


def test_arrays(same: Callable[..., Any]) -> None:
    table = np.arange(6.0).reshape(2, 3)
    cube = np.arange(24).reshape(2, 3, 4)
    codes, words = np.array([3, 2, 1], np.uint32), np.array([2**63 + 5], np.uint64)
    _, (line, _, _, _, out) = same("rows", table, cube, codes, words, np.zeros((2, 3)))
    assert line[1] == [0.5, 0.5, 0.5]
    assert out[0] == [0.0, 2.0, 2.0]
    assert out[1][0] == 2.0**23


@pytest.mark.parametrize("mark", [True, False])
def test_names_that_change_places(same: Callable[..., Any], mark: bool) -> None:
    found, (one, other, marks) = same("swaps", np.arange(4), -np.arange(4), np.array([mark]))
    assert found == (3 if mark else -3)
    assert (one, other) == ([0, 1, 2, 3], [0, 3, 3, -3])
    assert marks == [not mark]


@pytest.mark.parametrize("written", [0, 1, 2])
def test_what_is_written_to_under_another_name_must_be_writable(
    machine: ModuleType, written: int
) -> None:
    arrays = [np.arange(4), np.arange(4), np.array([True])]
    arrays[written].flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        machine.samples_swaps(*arrays)


@pytest.mark.parametrize(("share", "result"), [(0.25, 0.5 * 6 + 2 + 2), (0.75, 1.5 * 36 + 3 + 4)])
def test_records(machine: ModuleType, share: float, result: float) -> None:
    nest = samples.Nest(samples.Pair(np.array([1, 2]), 2), share)
    for function in (machine.samples_nested, plain(samples.nested)):
        assert function(nest, np.array([2, 3, 4])) == result


def test_answers(same: Callable[..., Any]) -> None:
    assert same("asked", np.array([[1, 2], [3, 4]]), 3)[0] is True
    assert same("asked", np.array([[1, 2], [3, 4]]), 4)[0] is False


def listed(a: Ints) -> None:
    [each for each in a]  # noqa: C416


def last(a: Ints) -> int:
    found = a[-1]
    return int(found)


def each_of(a: Ints) -> int:
    total = 0
    for one in a:
        total += int(one)
    return total


def printed(a: int) -> None:
    print(a)


def named(a: str) -> None: ...


def sorted_by_numpy(a: Ints) -> None:
    a[:] = np.argsort(a)


def halved(a: Ints) -> int:
    b = a[1:]
    return len(b)


def unknown(a: int) -> int:
    return a + MISSING  # type: ignore[name-defined, no-any-return]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "line", "why"),
    [
        (listed, 1, "ListComp is not understood"),
        (last, 1, "places are counted from the beginning"),
        (each_of, 2, "loops run over a range"),
        (printed, 1, "print is no kernel"),
        (named, 0, "an annotation of no known kind"),
        (sorted_by_numpy, 1, "np.argsort is no kernel"),
        (halved, 1, "parts are of one dimension, with both their ends"),
        (unknown, 1, "MISSING is neither local nor a number"),
    ],
)
def test_what_is_not_understood_is_refused(
    function: Callable[..., Any], line: int, why: str
) -> None:
    module = ModuleType(function.__module__)
    module.kernel = inner(function)  # type: ignore[attr-defined]
    at = function.__code__.co_firstlineno + line
    with pytest.raises(TranslationError, match=re.escape(f"{__file__}:{at}: {why}")):
        translated([module], "")
