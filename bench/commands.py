"""User CPU of the commands that people and timers start most, each in a process of its own, warm.

    python bench/commands.py

What a command takes before it does anything is most of what a person waits for. Goals are for two
cores of 2024 and KTH-SP2 (in the folder that FAIRAUDIT_REAL_LOGS names); without it the demo log,
which is smaller, stands in.
"""

import os
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from whole_audit import demo, ended, real_log

ROUNDS = 3
DAY_S = 86_400
SITE = """
[[clusters]]
name = "site"
zone = "UTC"
[[clusters.sources]]
files = "{log}"
[report]
pdf = false
"""


class Figure(NamedTuple):
    what: str
    user_s: float
    goal_s: float


def user_s(arguments: Sequence[object], code: int = 0) -> float:
    """Median over some runs, after one that compiles and fills the caches.

    Raises:
        RuntimeError: it ends with another code, with what it said.
    """
    return statistics.median([ended(arguments, code)[1].ru_utime for _ in range(ROUNDS + 1)][1:])


def idle_site(folder: Path, log: Path) -> Path:
    """The configuration of a site whose log was read, computed and reported long ago."""
    copied = Path(shutil.copy(log, folder))
    then = copied.stat().st_mtime - DAY_S
    os.utime(copied, (then, then))
    settings = folder / "config.toml"
    settings.write_text(SITE.format(log=copied.name), encoding="utf-8")
    return settings


def figures() -> list[Figure]:
    """What is measured, each with its goal."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        log = real_log() or demo(folder)
        out, site = folder / "out", folder / "site"
        site.mkdir()
        settings = idle_site(site, log)
        page = user_s(["audit", log, "--no-pdf", "--out", out])
        query = ["sql", "--db", out / "audit.duckdb", "SELECT count(*) FROM job_fairness"]
        return [
            Figure("audit without PDF", page, 4.5),
            Figure("audit with PDF", user_s(["audit", log, "--out", folder / "paper"]), 11.0),
            Figure("run that finds nothing new", user_s(["run", "--config", settings]), 1.0),
            Figure("--help", user_s(["--help"]), 0.25),
            Figure("wrong use", user_s(["audit", "--nonsense"], 2), 0.25),
            Figure("sql", user_s(query), 0.6),
        ]


if __name__ == "__main__":
    for figure in figures():
        print(f"{figure.what:<28} {figure.user_s:6.2f} s  (goal {figure.goal_s:g})")
