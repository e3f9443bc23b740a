"""A whole audit, and one of a log that lacks something (what each command prints: tests/cli)."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from audit.config import Config
from audit.errors import UsageError
from audit.oneoff.audit import Request, audit
from audit.pipeline.opening import Asked, open_log
from audit.store import database
from tests.cli.command import left_in
from tests.logs import busy, write

HEADER = "JobID|User|Partition|State|Start|End|AllocTRES"


def test_the_same_again_gives_the_same_bytes(tmp_path: Path) -> None:
    """With all charts and the PDF: in a process of its own, which remembers nothing, and here."""
    log = write(tmp_path / "mine.swf", busy(60))
    alone = subprocess.run(
        [sys.executable, "-m", "audit", "audit", "mine.swf"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    made = ("report.html", "report.pdf", "audit.duckdb")
    assert alone.stdout.splitlines()[-3:] == [f"fairaudit-out/{name}" for name in made]
    assert left_in(tmp_path / "fairaudit-out") == sorted(made)
    audit(Request(logs=[log], out=tmp_path / "here"), Config())
    for name in made[:2]:
        before, again = (tmp_path / place / name for place in ("fairaudit-out", "here"))
        assert before.read_bytes() == again.read_bytes()


def clock(second: int) -> str:
    return datetime.fromtimestamp(1_767_225_600 + second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def undated(folder: Path) -> Path:
    """Twelve jobs of two CPUs, one after the other, and one that was cancelled: no Submit."""
    rows = [
        f"{job}|ana|p|COMPLETED|{clock(60 * job)}|{clock(60 * job + 60)}|cpu=2,node=1"
        for job in range(12)
    ]
    gone = f"12|ana|p|CANCELLED by 7|None|{clock(900)}|"
    return write(folder / "log.psv", "\n".join([HEADER, *rows, gone, ""]))


def test_a_log_that_does_not_say_when_jobs_arrived_has_no_waits_rather_than_none_of_0(
    tmp_path: Path,
) -> None:
    asked = Request(logs=[undated(tmp_path)], out=tmp_path / "out", pdf=False)
    outcome = audit(asked, Config())
    assert any("no column Submit" in warning for warning in outcome.warnings)
    assert any("their waits are unknown" in text and "13" in text for text in outcome.warnings)
    assert any("% busy" in text for text in outcome.main_findings)
    assert not any("waited" in text or "waiting" in text for text in outcome.main_findings)
    con = database.open_store(outcome.database)
    jobs = database.fetch(
        con,
        "SELECT count(*) AS jobs, count(wait_s), count(arrival_time), count(re_unfairness), "
        "count(fst_strict), count(bounded_slowdown), count(occupancy_s) FROM job_fairness",
    )
    assert jobs.row(0) == (13, 0, 0, 0, 0, 0, 12)
    figures = dict(
        database.fetch(con, "SELECT metric, value FROM summary WHERE dimension = 'all'").iter_rows()
    )
    assert figures["arrival_unknown"] == 13
    assert figures["utilization"] == pytest.approx(720 / 900)
    for name in ("wait_mean", "loss_of_capacity", "queued_mean", "gave_up_wait_s"):
        assert figures.get(name) is None
    used = "SELECT count(*) FROM fairshare_history WHERE entity = 'ana' AND usage > 0"
    assert database.fetch(con, used).item() > 0
    con.close()


def test_what_cannot_be_simulated_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="do not say when jobs arrived"):
        open_log(Asked(logs=[undated(tmp_path)]), Config())
