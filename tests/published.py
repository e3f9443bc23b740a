"""A published database with something in every view that saved queries read."""

from pathlib import Path

import polars as pl

from audit.config.places import Site
from audit.nightly.run import run
from audit.store import database, publish
from audit.store.database import Connection
from tests import stores
from tests.logs import line, write
from tests.nightly.test_run import DAY, NOW, month, site

HOSTILE = (
    "=1+2",
    "+cmd|' /C calc'!A0",
    "-2",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "x'; DROP TABLE run; --",
    'quoted "name", with comma',
    "two\nlines",
    "\x1b[31mred\x07",
    "\u202eevil",
    "",
    "$user",
    "<script>alert(1)</script>",
)
"""Names that a log may hold."""


def full(folder: Path) -> Path:
    """The database of a site: two months with a gap, a refused line, late jobs and targets."""
    write(folder / "logs.swf", "")
    settings = site(
        folder,
        usage={"users": {"1": 0.1, "2": 0.8, "3": 0.1}},
        pools=({"name": "p", "capacity": {"cpus": 4}},),
    )
    write(folder / "logs" / "1.swf", month(0) + "this is no record\n")
    write(folder / "logs" / "2.swf", month(1))
    run(Site(settings, folder), NOW)
    odd = (
        line(9001, submit=6 * DAY, wait=500, run=-1, status=5),  # gave up
        line(9003, submit=6 * DAY, wait=50_000, run=-1, allocated=3, status=5, user=4),  # was stuck
        line(9002, submit=6 * DAY, wait=20_000, run=60),  # was overtaken
    )
    late = month(0, jobs=3, first=50) + "".join(f"{record}\n" for record in odd)
    write(folder / "logs" / "late.swf", late)
    done = run(Site(settings, folder), NOW)
    assert done.failures == []
    return folder / "fairaudit.duckdb"


def hostile(folder: Path) -> Path:
    """A database whose users are called as in ``HOSTILE``, one attempt of each."""
    con = stores.new(folder / "hostile-store.duckdb")
    for number, name in enumerate(HOSTILE):
        add(con, number, name)
    path = folder / "hostile.duckdb"
    publish.publish(con, path)
    con.close()
    return path


def add(con: Connection, number: int, user: str) -> None:
    """Adds an attempt to a store."""
    row = {
        "cluster": "c",
        "pool": "p",
        "schedule": "observed",
        "job_id": str(number),
        "attempt": 1,
        "standing": "ended",
        "run_id": "r",
        "user": user,
        "arrival_time": number,
        "wait_s": 5,
    }
    database.insert(con, "job_result", pl.DataFrame([row]))
