"""A command with workers that is told to end leaves no process and no file behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.logs import line, log, write
from tests.places import ROOT

SITE = """\
[compute]
engine = "dask"
workers = 2
alone_s = 0
folder = "{shared}"
"""


@contextmanager
def auditing(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """An audit whose workers compute, in its own process group."""
    shared = folder / "shared"
    shared.mkdir()
    write(folder / "config.toml", SITE.format(shared=shared))
    lines = [
        line(k, submit=k, wait=150 * k, run=590 + k % 20, walltime=900, user=k % 9)
        for k in range(1, 8_001)
    ]
    write(folder / "long.swf", log(lines, MaxProcs=4))
    command = ("audit", "long.swf", "--no-pdf", "--no-fit", "--no-advice", "--zone", "UTC")
    with subprocess.Popen(
        [sys.executable, "-m", "audit", *command, "--config", "config.toml", "--out", "out"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stderr is not None
            for said in process.stderr:
                if said.startswith("computing on 2 workers"):
                    break
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def alive(group: int) -> bool:
    """Whether a process of the group exists; those that ended a moment ago may still do."""
    with suppress(ProcessLookupError):
        for _ in range(50):
            os.killpg(group, 0)
            time.sleep(0.1)
        return True
    return False


@pytest.mark.thorough
@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["process", "group"])
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)]
)
def test_a_signal_leaves_nothing(
    send: object, number: signal.Signals, code: int, tmp_path: Path
) -> None:
    with auditing(tmp_path) as process:
        assert callable(send)
        send(process.pid, number)
        _, said = process.communicate(timeout=60)
        assert process.returncode == code
        assert said.splitlines()[-1] == "fairaudit: interrupted"
        assert "Traceback" not in said
        assert not alive(process.pid)
    assert list((tmp_path / "shared").iterdir()) == []
    assert not (tmp_path / "out").exists()
