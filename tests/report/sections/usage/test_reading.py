"""Decayed usage: from the rows of the database to what is drawn."""

import json
from collections.abc import Mapping
from dataclasses import replace

import polars as pl
import pytest

from audit.model import OBSERVED
from audit.report.build import settings_of
from audit.report.contents import Options, Settings
from audit.report.render import page as render
from audit.report.sections.usage import section as usage
from audit.report.sections.usage import shown as sharing
from audit.report.sections.usage.record import (
    DecayedUsage,
    Occupied,
    PenaltyChoice,
    PenaltyOf,
    Stretch,
)
from audit.report.sections.usage.section import LINES, usages
from audit.report.sections.usage.shown import usage as chart
from audit.report.source import SectionSource
from audit.store.database import Connection
from tests.report import rows
from tests.report.rows import DAY, FROM, PERIOD, ZONE, add_run, add_usage
from tests.report.sample import choice, contents, known, of_resources, present
from tests.stores import insert_history


def source(con: Connection, rows: int = 10, settings: Settings | None = None) -> SectionSource:
    """What the report on the period reads from."""
    options = Options(rows=rows)
    return SectionSource(
        con, "demo", PERIOD, zone=ZONE, options=options, settings=settings or Settings()
    )


def _read(con: Connection, rows: int = 10) -> DecayedUsage:
    settings = settings_of(con, "demo", PERIOD)
    (made,) = usages(source(con, rows, settings))
    return made


def test_no_rows_are_no_usage(con: Connection) -> None:
    add_usage(con, "user", {"anna": [1.0]}, period="2026-09")
    assert usages(source(con)) == ()


def test_now_is_the_last_day_and_means_are_over_all_days(con: Connection) -> None:
    add_usage(
        con,
        "account",
        {"physics": [0.9, 0.8, 0.5, 0.2], "maths": [0.2, 0.6], None: [0.1, 0.2, 0.3, 0.2]},
        {"physics": 0.75, "maths": 0.25},
    )
    add_usage(con, "account", {"physics": [0.0] * 9}, period="2026-09")
    made = _read(con)
    assert (made.method, made.days, made.as_of) == ("windows:cpu", 4, FROM + 4 * DAY)
    accounts = made.accounts
    assert (accounts.named, accounts.targets, accounts.left_out) == (2, 2, 0)
    assert [(row.name, row.now, row.mean, row.difference) for row in accounts.rows] == [
        ("physics", 0.2, pytest.approx(0.6), pytest.approx(-0.15)),
        ("maths", 0.6, 0.2, pytest.approx(-0.05)),  # two of its four days it was not there
        (None, 0.2, 0.2, None),
    ]
    assert accounts.above is None
    assert accounts.below == accounts.rows[0]
    assert made.users.rows == ()


def test_days_before_the_first_attempt_of_all_say_nothing_of_anybody(con: Connection) -> None:
    """With targets there are rows for days before the log begins; without any usage."""
    add_usage(
        con,
        "account",
        {"chem": [0.0, 0.0, 0.3, 0.4], "maths": [0.0, 0.0, 0.7, 0.6], "idle": [0.0] * 4},
        {"chem": 0.3, "maths": 0.6, "idle": 0.1},
    )
    made = _read(con)
    assert (made.days, made.from_first) == (2, True)
    rows = {row.name: row for row in made.accounts.rows}
    assert rows["chem"].mean == pytest.approx(0.35)
    assert made.accounts.above == rows["maths"]
    assert made.series is not None
    assert made.series.days == ("2026-10-03", "2026-10-04")
    assert made.series.lines[0].values == pytest.approx((0.7, 0.6))
    assert [(row.name, row.days) for row in made.off[0].rows] == [("idle", 2), ("chem", 2)]


def test_those_far_from_their_target_are_shown_however_little_they_used(con: Connection) -> None:
    used: dict[str | None, list[float]] = {f"a{at}": [0.1 - at / 1_000] for at in range(9)}
    add_usage(
        con, "account", {**used, "idle": [0.0], "b": [0.01]}, {"idle": 0.9, "b": 0.0, "a3": 0.1}
    )
    made = _read(con, rows=2).accounts
    assert [row.name for row in made.rows] == ["a0", "a1", "b", "idle"]
    assert made.left_out == 7
    assert made.above is not None
    assert made.below is not None
    assert (made.above.name, made.below.name) == ("b", "idle")


def test_all_but_those_who_used_most_are_drawn_together(con: Connection) -> None:
    used: dict[str | None, list[float]] = {
        f"a{at:02}": [0.1 - at / 1_000] * 3 for at in range(LINES + 3)
    }
    add_usage(con, "account", {**used, "late": [0.05]}, {"a01": 0.5})
    series = present(_read(con).series)
    assert series.days == ("2026-10-01", "2026-10-02", "2026-10-03")
    assert not series.weekly
    assert [line.name for line in series.lines] == [*list(used)[:LINES], None]
    assert [line.share for line in series.lines][:2] == [None, 0.5]
    others = series.lines[-1]
    assert others.others == 4
    assert others.values == pytest.approx((0.273, 0.273, 0.323))


def test_long_histories_are_drawn_by_week(con: Connection) -> None:
    add_usage(
        con,
        "account",
        {"physics": [1e-9, *(at / 1_000 for at in range(1, 400))], "maths": [0.7] * 10},
    )
    series = present(_read(con).series)
    assert series.weekly
    assert len(series.days) == 58
    assert series.days[1] == "2026-10-08"
    assert series.lines[0].values[0] == pytest.approx(0.003)
    assert series.lines[0].values[-1] == pytest.approx(0.399)  # of one day
    assert series.lines[1].values[-2:] == pytest.approx((0.7, 0.7))


@pytest.mark.parametrize(
    ("accounts", "targets", "drawn"),
    [
        ({"physics": [0.5], "maths": [0.5]}, {}, "account"),
        ({"physics": [1.0]}, {"physics": 1.0}, "account"),
        ({"physics": [1.0]}, {}, "user"),
        ({None: [1.0]}, {}, "user"),
    ],
)
def test_users_are_drawn_where_accounts_tell_nothing(
    con: Connection,
    accounts: dict[str | None, list[float]],
    targets: dict[str | None, float],
    drawn: str,
) -> None:
    add_usage(con, "account", accounts, targets)
    add_usage(con, "user", {"anna": [0.7], "ben": [0.3]})
    series = present(_read(con).series)
    assert series.kind == drawn


def test_nobody_named_is_not_drawn(con: Connection) -> None:
    add_usage(con, "user", {None: [1.0]})
    assert _read(con).series is None
    assert chart(_read(con)) is None


@pytest.mark.parametrize(
    "config",
    [
        {"cluster": {"usage": {"method": "windows", "penalty": "cpu", "depth": 3}}},
        {"asked": {"usage": {"method": "windows", "penalty": "cpu", "depth": 3}}},
        {"cluster": {"usage": {"method": "half_life", "penalty": "cpu"}}},
        {"asked": 7},
        [],
    ],
)
def test_settings_are_those_of_the_run(con: Connection, config: object) -> None:
    add_usage(con, "user", {"anna": [1.0]})
    add_run(con, config)
    settings = _read(con).settings
    assert settings.get("depth") == (3 if '"depth"' in json.dumps(config) else None)


def test_stretches_above_and_below_the_target(con: Connection) -> None:
    # physics: above 0.75/0.75 never; below 0.5625 on days 2, 3; maths: above 1/3 on days 2 to 4.
    add_usage(
        con,
        "account",
        {"physics": [0.9, 0.5, 0.4, 0.6], "maths": [0.1, 0.5, 0.6, 0.4], "art": [0.0] * 4},
        {"physics": 0.75, "maths": 0.25},
    )
    (off,) = _read(con).off
    assert (off.kind, off.off, off.entities) == ("account", 2, 2)
    maths, physics = off.rows
    assert (maths.name, maths.days, maths.above, maths.below) == ("maths", 4, 3, 1)
    assert maths.longest_above == Stretch("2026-10-02", "2026-10-04", 3)
    assert maths.longest_below == Stretch("2026-10-01", "2026-10-01", 1)
    assert (physics.name, physics.above, physics.below) == ("physics", 0, 2)
    assert physics.longest_above is None
    assert physics.longest_below == Stretch("2026-10-02", "2026-10-03", 2)


def test_the_first_of_the_longest_stretches_and_no_day_without_usage(con: Connection) -> None:
    add_usage(
        con, "user", {"anna": [0.0, 1.0, 0.0, 0.0], "ben": [1.0, 0.0, 0.0, 1.0]}, {"anna": 0.5}
    )
    (off,) = _read(con).off
    (anna,) = off.rows
    assert (anna.days, anna.above, anna.below) == (3, 1, 2)  # day 3 is without usage
    assert anna.longest_below == Stretch("2026-10-01", "2026-10-01", 1)
    assert anna.longest_above == Stretch("2026-10-02", "2026-10-02", 1)


def test_who_is_at_its_target_is_not_listed(con: Connection) -> None:
    add_usage(con, "user", {"anna": [0.5, 0.4], "ben": [0.5, 0.6]}, {"anna": 0.5, "ben": 0.5})
    (off,) = _read(con).off
    assert (off.rows, off.off) == ((), 0)
    assert _read(con, rows=1).users.different == 1


def test_without_targets_nobody_is_off(con: Connection) -> None:
    add_usage(con, "user", {"anna": [1.0]})
    made = _read(con)
    assert made.off == ()
    assert not made.nothing
    assert made.users.without == 0


def test_what_targets_say_of_whom(con: Connection) -> None:
    used = {"anna": [0.2, 0.2], "ben": [0.3, 0.5], "idle": [0.0, 0.0], None: [0.5, 0.3]}
    add_usage(con, "user", used, {"anna": 0.25, "idle": 0.75})
    users = _read(con).users
    assert (users.targets, users.different) == (2, 2)
    assert users.unused == pytest.approx(0.75)
    assert users.without == 1  # ben; unnamed users do not count
    assert users.by_without == pytest.approx(0.8)


def test_nobody_used_anything(con: Connection) -> None:
    add_usage(con, "user", {"anna": [0.0, 0.0]}, {"anna": 1.0})
    made = _read(con)
    assert made.nothing
    assert made.off[0].rows == ()


def test_accounts_of_a_tree_are_drawn_once(con: Connection) -> None:
    rows = [
        ("science", None, 0.7, 0.9, 1.0, 0.9),
        ("physics", "science", 0.5, 0.6, 0.35, 0.54),
        ("maths", "science", 0.5, 0.4, 0.35, 0.36),
        ("art", None, 0.3, 0.1, 0.3, 0.1),
        ("alien", None, None, None, None, 0.0),
    ]
    frame = pl.DataFrame(
        [
            {
                "as_of": FROM + day * DAY,
                "method": "windows:cpu:absolute",
                "entity_kind": "account",
                "entity": name,
                "parent": parent,
                "share": share,
                "usage_fraction": fraction,
                "usage": 100 * of_all,
                "priority": None if share is None else 0.25,
                "rank": None if share is None else 1,
                "share_of_all": share_of_all,
                "usage_of_all": of_all,
                "cluster": "demo",
                "period": "2026-10",
                "run_id": "run-1",
            }
            for day in (1, 2)
            for name, parent, share, fraction, share_of_all, of_all in rows
        ]
    )
    insert_history(con, frame)
    made = _read(con)
    assert made.accounts.tree
    assert [(row.name, row.parent, row.share, row.now) for row in made.accounts.rows] == [
        ("science", None, 1.0, 0.9),
        ("physics", "science", 0.35, 0.54),
        ("maths", "science", 0.35, 0.36),
        ("art", None, 0.3, 0.1),
        ("alien", None, None, 0.0),
    ]
    assert made.accounts.rows[0].priority == 0.25
    assert made.series is not None
    drawn = {line.name: (line.share, line.values[0]) for line in made.series.lines}
    assert drawn == {
        "physics": (0.35, 0.54),
        "maths": (0.35, 0.36),
        "art": (0.3, 0.1),
        "alien": (None, 0.0),
    }


# --- resources and penalties


def add(con: Connection, table: str, *made: Mapping[str, object]) -> None:
    period = {} if table == "job_result" else {"period": "2026-10"}
    rows.add(con, table, *made, cluster="demo", run_id="run-1", **period)


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
    known = usage.charges(source(con))
    of = usages(source(con))
    return usage.occupied(source(con), known, of)


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
    assert made is None  # no GPU was used until then
    add_usage(con, "account", {"x": [1.0] * 4})
    made = present(occupied(con))
    assert (made.kind, made.resources) == ("user", ("cpus", "gpus"))  # no memory was used
    assert [(line.name, line.share, line.others) for line in made.lines] == [
        ("ben", None, 0),
        ("anna", None, 0),
    ]
    ben, anna = made.lines
    assert anna.values == pytest.approx((3 / 4, 0.0))  # 2 · 1 + 2 · 0.5 of 4 cpu-days
    assert ben.values == pytest.approx((1 / 4, 1.0))


def test_all_but_those_who_occupied_most_are_together(con: Connection) -> None:
    names = [f"u{at:02}" for at in range(LINES + 3)]
    add_usage(con, "user", {name: [1 / (LINES + 3)] * 4 for name in names}, {names[0]: 0.25})
    add(con, "charge_result", charge("cpus"), charge("gpus", inferred=True))
    add(con, "job_result", *(job(n, 0, 1, cpus=20 - k, gpus=1) for k, n in enumerate(names)))
    made = present(occupied(con))
    assert [line.name for line in made.lines] == [*names[:LINES], None]
    assert made.lines[-1].others == 3
    assert made.lines[0].share == 0.25
    for k in range(2):
        assert sum(line.values[k] for line in made.lines) == pytest.approx(1.0)


def test_one_resource_alone_is_no_section(con: Connection) -> None:
    add_usage(con, "user", {"anna": [1.0]})
    add(con, "charge_result", charge("cpus"))
    add(con, "job_result", job("anna", 0, 1, cpus=2))
    assert occupied(con) is None
    assert usage.choice(source(con)) is None


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
    made = present(usage.choice(source(con, 2)))
    assert made.penalties == ("root", "cpu", "max")
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
        "Use of each resource",
        "Effect of the penalty",
        "3 other accounts together",
        "The total amount of GPUs is not configured",
        "No penalty changes the fraction of any account.",
        "This table leaves out 3 users",
        '<td class="num">+60.0</td>',
    ):
        assert text in page, text


def test_one_resource_leaves_nothing_to_compare_and_no_empty_section() -> None:
    page = render.render_html(replace(contents(), charges=known()[:1]))
    assert "Effect of the penalty" not in page
    assert "Use of each resource" not in page


def test_where_nothing_moves_there_is_no_picture() -> None:
    still = PenaltyOf("user", (), 2, (0.0, 0.0))
    made = replace(
        contents(),
        choice=PenaltyChoice(("cpu", "max"), still._replace(kind="account"), still),
        charges=known(),
    )
    assert sharing.penalties(made.choice) is None
