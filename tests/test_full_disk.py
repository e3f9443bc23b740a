"""A disk that fills up while an audit runs."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.logs import busy, write


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of its own that holds ``size``; only root can make one."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "fairaudit-test", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("cannot mount a small file system here: full disk not tried")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("size", ["64k", "4m"])
def test_a_full_disk_is_said_and_leaves_what_was_there(tmp_path: Path, size: str) -> None:
    log = write(tmp_path / "a.swf", busy(2_000))
    with small_disk(tmp_path / "disk", size) as disk:
        (disk / "out").mkdir()
        old = write(disk / "out" / "report.html", "the report of yesterday")
        done = subprocess.run(
            [
                *(sys.executable, "-m", "audit", "audit", str(log)),
                *("--out", str(disk / "out"), "--no-pdf"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == 4, (done.returncode, done.stderr)
        assert old.read_text() == "the report of yesterday"
        assert [path.name for path in (disk / "out").iterdir()] == ["report.html"]
