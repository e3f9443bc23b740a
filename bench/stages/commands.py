"""Start-up of each command in a separate process, warm.

Beside a bare interpreter, which is the limit.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from bench.logs.real import some_log
from bench.measure.figures import Figure
from bench.measure.pairs import beside, fairaudit, process

ROUNDS = 5
DAY_S = 86_400
START_GOAL_S = 0.25
SQL_GOAL_S = 0.6
IDLE_GOAL_S = 1.0
SITE = """
[[clusters]]
name = "site"
zone = "UTC"
[[clusters.sources]]
files = "{log}"
[report]
pdf = false
"""


def command_names() -> list[str]:
    """Every command, as the help lists them."""
    program = Path(sys.executable).with_name("fairaudit")
    said = subprocess.run(
        [program, "--help"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"},
    ).stdout
    return re.findall(r"^  ([a-z][a-z-]+)  ", said, re.MULTILINE)


def started(
    what: str, arguments: Sequence[object], goal: float | None, code: int = 0, rounds: int = ROUNDS
) -> Figure:
    """The CPU of a command, in turns with a bare interpreter."""
    fairaudit(arguments, code)
    ours, bare = [], []
    for _ in range(rounds):
        ours.append(fairaudit(arguments, code))
        several = partial(process, [sys.executable, "-I", "-c", "pass"])
        bare.append(statistics.mean(several().user_s for _ in range(4)))
    seconds = [ended.user_s for ended in ours]
    return Figure(
        "Start-up",
        what,
        None,
        statistics.median(seconds),
        limit=beside("a bare interpreter", seconds, bare),
        goal=goal,
    )


def idle_site(folder: Path, log: Path) -> Path:
    """The configuration of a site whose log was read, computed and reported long ago."""
    copied = Path(shutil.copy(log, folder))
    then = copied.stat().st_mtime - DAY_S
    os.utime(copied, (then, then))
    settings = folder / "config.toml"
    settings.write_text(SITE.format(log=copied.name), encoding="utf-8")
    return settings


def measure(sizes: Sequence[int]) -> Iterator[Figure]:
    """Help of each command, wrong use, a query, and a run that finds nothing new."""
    yield started("--help", ["--help"], START_GOAL_S)
    yield started("wrong use", ["audit", "--nonsense"], START_GOAL_S, code=2)
    names = command_names()
    assert "audit" in names, "the help lists no commands"
    for name in names:
        yield started(f"{name} --help", [name, "--help"], None, rounds=3)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        log = some_log(folder)
        fairaudit(["audit", log, "--no-pdf", "--out", folder / "out"])
        query = [
            "sql",
            "--db",
            folder / "out" / "audit.duckdb",
            "SELECT count(*) FROM job_fairness",
        ]
        yield started("sql, a count", query, SQL_GOAL_S)
        site = folder / "site"
        site.mkdir()
        settings = idle_site(site, log)
        yield started("run that finds nothing new", ["run", "--config", settings], IDLE_GOAL_S)
