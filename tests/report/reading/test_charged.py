"""Resources and penalties: from the rows of the database to records, charts and sentences."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl
import pytest

from audit.model import OBSERVED
from audit.report.charts import parts as parts_chart
from audit.report.contents import Settings
from audit.report.reading import charged
from audit.report.reading.decayed import LINES, usages
from audit.report.render import page as render
from audit.report.usage_contents import (
    Occupied,
    PenaltyChoice,
    PenaltyOf,
)
from audit.store import database
from audit.store.database import Connection
from tests.report.sample import choice, contents, known, of_resources
from tests.report.usage_rows import DAY, FROM, PERIOD, ZONE, add_usage


def add(con: Connection, table: str, *rows: Mapping[str, object]) -> None:
    """Adds rows of the period to a table."""
    own = {"cluster": "demo", "run_id": "run-1"}
    period = {} if table == "job_result" else {"period": "2026-10"}
    database.insert(con, table, pl.DataFrame([{**own, **period, **row} for row in rows]))


def charge(resource: str, **changes: object) -> dict[str, object]:
    return {
        "pool": "batch",
        "resource": resource,
        "available": 8.0,
        "inferred": False,
        "charged": resource == "cpus",
        "attempts": 10,
        "unknown": 0,
        "clipped": 0,
        "first_start": FROM,
        **changes,
    }


def job(user: str | None, start: float, end: float | None, **amounts: int) -> dict[str, object]:
    """An attempt from and to, in days of the period."""
    return {
        "pool": "batch",
        "schedule": OBSERVED,
        "job_id": f"{user} {start}",
        "attempt": 1,
        "standing": "ended",
        "user": user,
        "account": None if user is None else f"of {user}",
        "start_time": int(FROM + start * DAY),
        "end_time": None if end is None else int(FROM + end * DAY),
        **dict.fromkeys(("cpus", "mem_bytes", "gpus", "nodes"), 0),
        **amounts,
    }


def occupied(con: Connection) -> Occupied | None:
    known = charged.charges(con, "demo", PERIOD)
    of = usages(con, "demo", PERIOD, ZONE, 10, Settings())
    return charged.occupied(con, "demo", OBSERVED, PERIOD, ZONE, known, of)


def test_parts_of_each_resource_within_the_period(con: Connection) -> None:
    add_usage(con, "user", {"anna": [0.7], "ben": [0.3]}, {"anna": 0.5, "ben": 0.5})
    add(con, "charge_result", charge("cpus"), charge("gpus"), charge("mem_bytes"))
    jobs = (
        job("anna", -1, 1, cpus=2),  # a day of it before the period
        job("anna", 1, 1.5, cpus=2),
        job("ben", 1, 2, gpus=1, cpus=1),
        job("ben", 3.5, 9, gpus=1),  # half a day of it within what is known
        job("cem", 0, None, nodes=3),
    )
    add(con, "job_result", *jobs)
    # usage is known up to the end of the first day alone, where `add_usage` put it
    made = occupied(con)
    assert made is None  # until then nobody had a GPU
    add_usage(con, "account", {"x": [1.0] * 4})
    made = occupied(con)
    assert made is not None
    assert (made.kind, made.resources) == ("user", ("cpus", "gpus"))  # nobody had memory
    assert made.days == ("2026-10-01", "2026-10-02", "2026-10-03", "2026-10-04")
    assert [(line.name, line.share, line.others) for line in made.lines] == [
        ("ben", None, 0),
        ("anna", None, 0),
    ]
    ben, anna = made.lines
    assert anna.parts == pytest.approx((3 / 4, 0.0))  # 2 · 1 + 2 · 0.5 of 4 cpu-days
    assert ben.parts == pytest.approx((1 / 4, 1.0))
    assert anna.over_time[0] == pytest.approx((1.0, 0.5, 0.0, 0.0))
    assert ben.over_time == ((0.0, 0.5, 0.0, 0.0), (0.0, 1.0, 0.0, 1.0))


def test_all_but_those_who_occupied_most_are_together(con: Connection) -> None:
    names = [f"u{at:02}" for at in range(LINES + 3)]
    add_usage(con, "user", {name: [1 / (LINES + 3)] * 4 for name in names}, {names[0]: 0.25})
    add(con, "charge_result", charge("cpus"), charge("gpus", inferred=True))
    add(con, "job_result", *(job(n, 0, 1, cpus=20 - k, gpus=1) for k, n in enumerate(names)))
    made = occupied(con)
    assert made is not None
    assert [line.name for line in made.lines] == [*names[:LINES], None]
    assert made.lines[-1].others == 3
    assert made.lines[0].share == 0.25
    for k in range(2):
        assert sum(line.parts[k] for line in made.lines) == pytest.approx(1.0)


def test_one_resource_alone_is_no_section(con: Connection) -> None:
    add_usage(con, "user", {"anna": [1.0]})
    add(con, "charge_result", charge("cpus"))
    add(con, "job_result", job("anna", 0, 1, cpus=2))
    assert occupied(con) is None
    assert charged.choice(con, "demo", PERIOD, 10) is None


def penalty(name: str, kind: str, entity: str | None, part: float) -> dict[str, object]:
    return {
        "penalty": name,
        "configured": name == "root",
        "entity_kind": kind,
        "entity": entity,
        "usage": part * 100,
        "usage_fraction": part,
    }


def test_who_moves_most_comes_first(con: Connection) -> None:
    told = {"anna": (0.1, 0.5, 0.6), "ben": (0.7, 0.4, 0.2), None: (0.2, 0.1, 0.2)}
    add(
        con,
        "penalty_result",
        *(
            penalty(name, "user", who, part)
            for who, parts in told.items()
            for name, part in zip(("cpu", "max", "root"), parts, strict=True)
        ),
        *(penalty(name, "account", "x", 1.0) for name in ("cpu", "max", "root")),
    )
    made = charged.choice(con, "demo", PERIOD, 2)
    assert made is not None
    assert (made.penalties, made.configured) == (("root", "cpu", "max"), "root")
    assert [(row.name, row.furthest) for row in made.users.rows] == [("anna", 1), ("ben", 1)]
    assert made.users.rows[0].shift == pytest.approx(-0.5)
    assert made.users.left_out == 1
    assert made.users.moved == pytest.approx((0.0, 0.5, 0.2))
    assert made.accounts.rows == ()
    assert made.moving is made.users


def test_the_page_says_who_occupied_what_and_what_penalties_change() -> None:
    made = replace(
        contents(), occupied=of_resources(), choice=choice(), charges=known(inferred=True)
    )
    page = render.render_html(made)
    for text in (
        "Who used how much of what",
        "What the choice of a penalty changes",
        "3 other accounts together",
        "How much there is of GPUs is not configured",
        "Nothing changes for any account.",
        "3 more users are left out here",
        '<td class="num">+60.0</td>',
    ):
        assert text in page, text


def test_one_resource_leaves_nothing_to_compare_and_no_empty_section() -> None:
    page = render.render_html(replace(contents(), charges=known()[:1]))
    assert "What the choice of a penalty changes" not in page
    assert "Who used how much of what" not in page


def test_where_nothing_moves_there_is_no_picture() -> None:
    still = PenaltyOf("user", (), 2, (0.0, 0.0))
    made = replace(
        contents(),
        choice=PenaltyChoice(("cpu", "max"), replace(still, kind="account"), still),
        charges=known(),
    )
    assert parts_chart.penalties(made.choice) is None
