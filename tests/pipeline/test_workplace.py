"""An audit's folder: a failure leaves nothing behind, and errors are reported by kind."""

from pathlib import Path

import pytest

from audit.errors import LockedError, UsageError
from audit.files import lock
from audit.pipeline.workplace import replacing, workplace
from tests.logs import write


def test_what_was_begun_goes_whatever_happens(tmp_path: Path) -> None:
    def fail(out: Path) -> None:
        with workplace(out) as work:
            write(work / "half", "a page")
            raise ZeroDivisionError

    (tmp_path / "there").mkdir()
    for out in (tmp_path / "there", tmp_path / "new" / "newer"):
        with pytest.raises(ZeroDivisionError):
            fail(out)
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


def test_what_a_killed_run_left_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".fairaudit").mkdir()
    write(tmp_path / ".fairaudit" / "store.duckdb", "half")
    with workplace(tmp_path) as work:
        assert list(work.iterdir()) == []
        with pytest.raises(LockedError), workplace(tmp_path):
            pass
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--out"), workplace(write(tmp_path / "file", "")):
        pass
    with (
        pytest.raises(UsageError, match="does not replace"),
        replacing(write(tmp_path / "a.db", "x")),
    ):
        pass
    missing = tmp_path / "none" / "a.duckdb"
    with pytest.raises(UsageError, match="folder does not exist"), replacing(missing):
        pass
    with (
        lock.held(tmp_path / "b.duckdb"),
        pytest.raises(LockedError),
        replacing(tmp_path / "b.duckdb"),
    ):
        pass


@pytest.mark.parametrize("error", [FileNotFoundError(2, "x"), PermissionError(13, "x")])
def test_an_error_of_the_work_is_not_taken_for_one_of_the_place(
    tmp_path: Path, error: OSError
) -> None:
    def fail() -> None:
        with workplace(tmp_path / "out"), replacing(tmp_path / "a.duckdb"):
            raise error

    with pytest.raises(type(error)):
        fail()
