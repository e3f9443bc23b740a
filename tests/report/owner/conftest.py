"""A store in which one user's jobs wait beside those of others, audited from a log."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from audit.config import Config
from audit.model import Period
from audit.oneoff.audit import AuditOptions, audit
from audit.pipeline import drawing
from audit.pipeline.opening import LogRequest, Session
from audit.report.contents import Contents
from audit.store import queries
from audit.store.database import Connection
from tests import stores

DEFAULT = Config()
HEADER = "JobID|User|Account|Partition|State|Submit|Start|End|Timelimit|AllocTRES"
HOUR = 3_600
FIRST = 1_767_571_200  # 2026-01-05, a Monday, in UTC
OTHERS = ("beatrix", "cornelius", "dorothea", "erasmus", "felicitas", "gottfried")
"""Each in an account of the same name with ``team-`` before it."""


def clock(instant: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(FIRST + instant, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def jobs(me: str, others: Sequence[str] = OTHERS, days: int = 30) -> str:
    """On each day one's own job waits 3 h, others' wide jobs 2 h and narrow ones 10 minutes.

    Others' jobs are called after them, so that a page that shows one shows whose it was.
    """
    rows = []
    for day in range(days):
        at = day * 24 * HOUR + 7 * HOUR + day * 37 % 300 * 60  # no begin time, and no closed hours
        rows.append((f"{day}", me, "mine", at, 3 * HOUR, 8))
        for k, other in enumerate(others):
            team, number = f"team-{other}", 1000 * (k + 1) + 2 * day
            rows.append((f"{number}", other, team, at + 60 * k, 2 * HOUR + 90 * k, 8))
            rows.append((f"{number + 1}", other, team, at + 60 * k, HOUR // 6, 1))
    return (
        HEADER
        + "\n"
        + "".join(
            f"{job}|{user}|{account}|batch|COMPLETED|{clock(at)}|{clock(at + wait)}"
            f"|{clock(at + wait + 2 * HOUR)}|04:00:00|cpu={size},node=1\n"
            for job, user, account, at, wait, size in rows
        )
    )


def audited(folder: Path, log: str, config: Config = DEFAULT) -> Path:
    """The database of a log's audit."""
    file = folder / "jobs.txt"
    file.write_text(log, encoding="utf-8")
    request = LogRequest(logs=[file], cluster="demo", pool_size=None if config.clusters else 64)
    options = AuditOptions(out=folder / "out", pdf=False)
    return audit(Session(request, config, fit=False), options).database


def report(con: Connection) -> Contents:
    """The report on all of it."""
    ((name, from_time, to_time, _),) = queries.rows(con, "computed", cluster="demo")
    return drawing.contents_of(con, Config(), "demo", Period(name, from_time, to_time))


@pytest.fixture(scope="session")
def database_of_ann(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return audited(tmp_path_factory.mktemp("ann"), jobs("annabella"))


@pytest.fixture
def ann(database_of_ann: Path) -> Iterator[Connection]:
    with stores.published(database_of_ann) as con:
        yield con
