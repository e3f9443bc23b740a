"""A whole audit with its PDF, as a user starts it: wall time, CPU and peak memory.

Goal (issue 2): KTH-SP2, warm, in at most 8 s of wall time. The log is taken from the folder that
FAIRAUDIT_REAL_LOGS names; without it, the demo log stands in.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

KTH = Path("swf", "KTH-SP2-1996-2.1-cln.swf.gz")
GOAL = 8.0
ROUNDS = 3


class Cost(NamedTuple):
    wall_s: float
    cpu_s: float
    peak_mib: float  # of the largest process


def audit(log: Path, out: Path) -> Cost:
    """Runs `fairaudit audit` once, to the end.

    Raises:
        RuntimeError: it fails, with what it said.
    """
    wall, usage = ended(["audit", log, "--out", out])
    if not (out / "report.pdf").exists():
        raise RuntimeError(f"{out}: the audit made no report.pdf")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def ended(arguments: Sequence[object], code: int = 0) -> tuple[float, resource.struct_rusage]:
    """Runs `fairaudit` once, to the end: its wall time, and what the process used.

    Raises:
        RuntimeError: it ends with another code, with what it said.
    """
    command = [sys.executable, "-m", "audit", *map(str, arguments)]
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != code:
            said.seek(0)
            raise RuntimeError(
                f"{' '.join(command)} ended with {process.returncode}:\n"
                + said.read().decode(errors="replace")
            )
    return wall, usage


def real_log() -> Path | None:
    """The log that the goal is about, where it is at hand."""
    folder = os.environ.get("FAIRAUDIT_REAL_LOGS")
    return path if folder and (path := Path(folder) / KTH).exists() else None


def cost(log: Path) -> Cost:
    """Medians over some audits, after one that compiles and fills the caches."""
    with tempfile.TemporaryDirectory() as folder:
        costs = [audit(log, Path(folder) / "out") for _ in range(ROUNDS + 1)][1:]
    return Cost(*(statistics.median(part) for part in zip(*costs, strict=True)))


def demo(folder: Path) -> Path:
    """Writes the demo log into ``folder``."""
    log = folder / "demo.swf"
    script = Path(__file__).with_name("demo_log.py")
    subprocess.run([sys.executable, str(script), str(log)], check=True)
    return log


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(cost(real_log() or demo(Path(folder))))
