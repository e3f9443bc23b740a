"""One run at a time, whatever becomes of the other."""

import subprocess
import sys
from pathlib import Path

import pytest

from audit.errors import LockedError
from audit.files import lock

HOLDER = """
import sys
from pathlib import Path
from audit.files import lock
with lock.held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_process_holds_it_until_it_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "audit.duckdb"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(LockedError) as caught, lock.held(path):
            pass
        assert caught.value.exit_code == 75
        other.kill()
        other.wait()
    with lock.held(path):
        assert [path.name for path in tmp_path.iterdir()] == [".audit.duckdb.lock"]
    assert list(tmp_path.iterdir()) == []


def test_it_is_let_go_when_the_block_fails(tmp_path: Path) -> None:
    path = tmp_path / "audit.duckdb"
    with pytest.raises(RuntimeError), lock.held(path):
        raise RuntimeError
    with lock.held(path):
        pass
