"""``fairaudit explain JOB`` without a database: sacct is asked, and its errors are named."""

import os
from pathlib import Path

import pytest

from tests.cli.command import Run
from tests.cli.conftest import run as run  # noqa: PLC0414 (a fixture)

HEAD = "JobID|User|Account|Partition|QOS|State|Submit|Start|End|AllocCPUS|ReqCPUS|Timelimit|NNodes"
JOBS = (
    "1|ann|a|batch|normal|COMPLETED|2026-01-05T10:00:00|2026-01-05T10:00:00|2026-01-05T12:00:00|4|4"
    "|02:00:00|1",
    "2|bob|a|batch|normal|COMPLETED|2026-01-05T10:30:00|2026-01-05T12:00:00|2026-01-05T13:00:00|4|4"
    "|02:00:00|1",
)
PROGRAM = """#!/bin/sh
echo "$TZ $*" >> {calls}
case "$*" in
*--jobs*) printf '%s' '{span}' ;;
*) tr '|' '\\037' < {log} ;;
esac
exit {code}
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, span: str, code: int = 0) -> Path:
    """Put a program called sacct first on the path; return the file that gets its arguments."""
    log, calls = folder / "log.txt", folder / "calls.txt"
    log.write_text("\n".join((HEAD, *JOBS, "")))
    program = folder / "bin" / "sacct"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(calls=calls, log=log, span=span, code=code))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return calls


def test_sacct_is_asked_about_the_job_and_those_around_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    span = "2026-01-05T10:30:00|2026-01-05T12:00:00|2026-01-05T13:00:00"
    calls = install(tmp_path, monkeypatch, span)
    done = run("explain", "2")
    assert "job 2" in done.stdout.lower()
    assert "asking sacct about job 2" in done.stderr
    first, second = calls.read_text().splitlines()
    assert first.startswith("UTC --jobs 2 ")
    assert "--starttime=2025-12-29T10:30:00 --endtime=2026-01-12T13:00:00" in second
    given = tmp_path / "given.psv"
    given.write_text("\n".join((HEAD, *JOBS, "")))
    assert run("explain", "2", given, "--zone", "UTC").stdout == done.stdout


def test_what_sacct_does_not_know(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, "")
    assert "sacct knows no job '9'" in run("explain", "9", check=2).stderr
    assert "is no id of a Slurm job" in run("explain", "--", "-x", check=2).stderr
    assert "no such database" in run("explain", "9", "--db", "none.duckdb", check=2).stderr


def test_sacct_that_fails(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "", code=1)
    assert "explain: sacct failed" in run("explain", "9", check=2).stderr
