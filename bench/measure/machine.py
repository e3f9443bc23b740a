"""The machine and the versions of a measurement, without names of hosts, users or folders."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

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


def peak_mib() -> float:
    """The most memory that this process has held."""
    status = Path("/proc/self/status").read_text(encoding="utf-8").split("VmHWM:")[1]
    return int(status.split()[0]) / 1024


def whole() -> str:
    """All of it, for RESULTS.md: how busy the machine was, too."""
    return f"{processor()}, {machine(LIBRARIES)}; load {os.getloadavg()[0]:.1f}"
