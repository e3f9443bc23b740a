"""The machine and the versions of a measurement, without names of hosts, users or folders."""

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

LIBRARIES = ("fairaudit", "duckdb", "polars", "numpy", "cython", "jinja2", "weasyprint")


def machine(libraries: tuple[str, ...] = ("duckdb", "polars", "cython")) -> str:
    """Cores, system, and versions of what does the work."""
    versions = ", ".join(f"{name} {version(name)}" for name in libraries)
    return (
        f"{len(os.sched_getaffinity(0))} cores, {platform.machine()}, {platform.system()}, "
        f"Python {platform.python_version()}, {versions}"
    )


def processor() -> str:
    """The model of the processor, if the system shows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown processor"
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "unknown processor")


_ADDITIONS: Final = """
import time
begin, x = time.process_time(), 0
for i in range(20_000_000):
    x += i
print(time.process_time() - begin)
"""


def additions_s() -> float:
    """CPU seconds of 20 million additions by Python at module level: 1.8 where goals were set."""
    made = subprocess.run(
        [sys.executable, "-c", _ADDITIONS], check=True, stdout=subprocess.PIPE, text=True
    )
    return float(made.stdout)


def peak_mib() -> float:
    """The most memory that this process has held."""
    status = Path("/proc/self/status").read_text(encoding="utf-8").split("VmHWM:")[1]
    return int(status.split()[0]) / 1024


def whole() -> str:
    """All of it, for RESULTS.md: how busy the machine was, too."""
    return f"{processor()}, {machine(LIBRARIES)}; load {os.getloadavg()[0]:.1f}"
