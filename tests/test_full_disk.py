"""A disk that is full, or fills up, and places that cannot be written to."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from audit.config.places import Site
from audit.errors import UnwritableError, UsageError
from audit.nightly import status
from audit.nightly.run import run
from audit.store.database import FullDiskError
from audit.store.migrations import migrated
from tests import processes, stores
from tests.logs import busy, write
from tests.nightly.test_run import FIGURES, NOW, VIEWS, month, site

pytestmark = pytest.mark.faults


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A separate file system of ``size``; only root can make one."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "fairaudit-test", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("cannot mount a small file system here: full disk not tried")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("size", ["64k", pytest.param("4m", marks=pytest.mark.thorough)])
def test_a_full_disk_is_stated_and_leaves_what_was_there(tmp_path: Path, size: str) -> None:
    log = write(tmp_path / "a.swf", busy(2_000))
    with small_disk(tmp_path / "disk", size) as disk:
        (disk / "out").mkdir()
        old = write(disk / "out" / "report.html", "the report of yesterday")
        done = processes.python("-m", "audit", "audit", log, "--out", disk / "out", "--no-pdf")
        assert "Traceback" not in done.stderr, done.stderr
        assert "nanobind" not in done.stderr
        assert done.returncode == 4, (done.returncode, done.stderr)
        assert old.read_text() == "the report of yesterday"
        assert [path.name for path in (disk / "out").iterdir()] == ["report.html"]


@pytest.mark.thorough
@pytest.mark.parametrize("place", ["fairaudit-state", "published"])
def test_a_full_disk_names_the_place_the_need_and_what_is_safe(tmp_path: Path, place: str) -> None:
    """The night before remains, and with space again, the next one ends as if undisturbed."""
    folders = {name: tmp_path / name for name in ("calm", "full")}
    found = {}
    for name, folder in folders.items():
        folder.mkdir()
        base = site(folder)
        output = base.output.model_copy(update={"database": Path("published/all.duckdb")})
        where = Site(base.model_copy(update={"output": output}), folder)
        with small_disk(folder / place, "9m" if name == "full" else "90m") as disk:
            (folder / "published").mkdir(exist_ok=True)
            write(folder / "logs" / "1.swf", month(0, jobs=9))
            assert run(where, NOW, stages=FIGURES).failures == []
            write(folder / "logs" / "2.swf", busy(3_000, UnixStartTime=1_770_000_000))
            if name == "full":
                before = _rows(where)
                _fill(disk, but=200_000)  # enough to note that the run begins
                said = _failed(where)
                assert said.startswith(f"{disk}: the disk is full: ")
                assert re.search(r"could not be written\. Free at least \d+ MB there and run", said)
                assert said.endswith("and published is unchanged; only the current step is lost")
                assert _rows(where) == before
                (disk / "fill").unlink()
                remount = ["mount", "-o", "remount,size=90m", str(disk)]
                subprocess.run(remount, check=True)
            assert run(where, NOW, stages=FIGURES).failures == []
            found[name] = _rows(where)
    assert found["full"] == found["calm"]


def _fill(disk: Path, but: int = 0) -> None:
    """Fill a disk, except for some bytes."""
    left = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - but
    (disk / "fill").write_bytes(b"x" * left)


def _failed(where: Site) -> str:
    """The only failure of a run, whether it ended or went on to the next stage."""
    try:
        (failure,) = run(where, NOW, stages=FIGURES).failures
    except FullDiskError as error:
        failure = error
    assert isinstance(failure, FullDiskError)
    return str(failure)


def _rows(where: Site) -> dict[str, list[tuple[object, ...]]]:
    return {view: stores.rows(where.database, f"FROM {view} ORDER BY ALL") for view in VIEWS}


def test_a_defect_ends_with_its_traceback_and_with_nothing_that_libraries_held() -> None:
    script = (
        "import duckdb, sys\nfrom audit import __main__\nfrom audit.cli import app\n"
        "def main():\n    held = duckdb.connect()\n    raise RuntimeError('a defect')\n"
        "app.main = main\n__main__.main()"
    )
    done = processes.python("-c", script)
    assert done.stderr.splitlines()[-1] == "RuntimeError: a defect"
    assert done.returncode == 4


def test_what_cannot_be_stated_does_not_change_how_a_command_ends(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "audit", "sql", "FROM runs", "--db", str(tmp_path / "none")],
            stdout=full,
            stderr=full,
            check=False,
        )
    assert done.returncode == 2


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing can be written in ``folder``, not even by root."""
    for options in (["--bind", str(folder)], ["-o", "remount,ro,bind"]):
        if subprocess.run(
            ["mount", *options, str(folder)], capture_output=True, check=False
        ).returncode:
            pytest.skip("cannot mount here: read-only place not tried")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.thorough
def test_a_read_only_place_is_wrong_use_and_is_reported_to_a_monitor(tmp_path: Path) -> None:
    settings = site(tmp_path)
    write(tmp_path / "logs" / "1.swf", month(0, jobs=9))
    run(Site(settings, tmp_path), NOW)
    state = tmp_path / "fairaudit-state"
    with read_only(state):
        with pytest.raises(
            UsageError, match=r"cannot be written to: Read-only file system \(output"
        ):
            run(Site(settings, tmp_path), NOW)
        (standing,) = status.look(Site(settings, tmp_path), NOW).clusters
    assert standing.problem == (
        f"no run can finish: {state}: cannot be written to: Read-only file system"
    )
    (standing,) = status.look(Site(settings, tmp_path), NOW).clusters
    assert standing.problem is None
    write(tmp_path / "logs" / "2.swf", month(1, jobs=9))
    with read_only(tmp_path):
        with pytest.raises(UnwritableError) as caught, migrated(tmp_path / "new.duckdb"):
            pass
        assert caught.value.exit_code == 2
    reports = tmp_path / "fairaudit-reports"
    with read_only(reports):
        night = run(Site(settings, tmp_path), NOW)
    assert night.exit_code == 2
    assert "Read-only file system; nothing can be written there" in str(night.failures[0])


def test_a_full_disk_is_reported_to_a_monitor(tmp_path: Path) -> None:
    settings = site(tmp_path)
    with small_disk(tmp_path / "fairaudit-state", "64k") as disk:
        assert status.look(Site(settings, tmp_path), NOW).clusters[0].problem == "has never run"
        _fill(disk)
        problem = status.look(Site(settings, tmp_path), NOW).clusters[0].problem
    assert str(problem).endswith("No space left on device")
