"""Trends and changes, read from a store."""

import polars as pl
import pytest

from audit.model import Period
from audit.periods import between, covering, parse_day, zone
from audit.registry.causes import COLUMNS
from audit.report.contents import Settings
from audit.report.sections.changes.section import POINTS, preceding, read
from audit.report.source import SectionSource
from audit.store import database
from audit.store.database import Connection

BOOKED = ("cause_own_s", "cause_unexplained_s")
BERLIN = zone("Europe/Berlin")
FIRST = 1_767_222_000  # 2026-01-01 in Berlin
DAY = 86_400


@pytest.fixture
def con(bare: Connection) -> Connection:
    """A job of each of two users on each day of 2026; who came late waits as many s as days.

    Half of each wait of ann is unexplained; the waits of ben have no account.
    """
    rows = [
        {
            "cluster": "demo",
            "pool": "batch",
            "schedule": "observed",
            "job_id": f"{user}{day}",
            "attempt": 1,
            "user": user,
            "standing": "ended",
            "arrival_time": FIRST + day * DAY,
            "end_time": FIRST + day * DAY + 1_000,
            "wait_s": day,
            "cause_unexplained_s": day // 2 if user == "ann" else None,
            "cause_own_s": day - day // 2 if user == "ann" else None,
            **{name: 0 if user == "ann" else None for name in COLUMNS if name not in BOOKED},
            "miss_delivered_s": 10 if user == "ann" else None,
            "run_id": "run",
        }
        for day in range(365)
        for user in ("ann", "ben")
    ]
    database.insert(bare, "job_result", pl.DataFrame(rows))
    return bare


def months(con: Connection, *differing: str) -> list[Period]:
    """The months of 2026, computed under one configuration but for those that differ."""
    found = covering("month", FIRST, FIRST + 364 * DAY, BERLIN)
    runs = [
        {
            "run_id": month.name,
            "cluster": "demo",
            "period": month.name,
            "from_time": month.from_time,
            "to_time": month.to_time,
            "stage": "compute",
            "state": "done",
            "version": "1",
            "config": "{}",
            "config_hash": "other" if month.name in differing else "one",
            "input_hash": "i",
        }
        for month in found
    ]
    database.insert(con, "run", pl.DataFrame(runs))
    return found


def of(con: Connection, period: Period):  # type: ignore[no-untyped-def]
    settings = Settings(resamples=100)
    source = SectionSource(con, "demo", period, zone="Europe/Berlin", settings=settings)
    return read(source)["batch"]


def test_a_month_stands_beside_those_before_it(con: Connection) -> None:
    found = months(con)
    trend = of(con, found[2])
    assert [point.label for point in trend.points] == ["2026-01", "2026-02", "2026-03"]
    assert [point.attempts for point in trend.points] == [62, 56, 62]
    assert [point.wait_mean.value for point in trend.points] == [15.0, 44.5, 74.0]
    march = trend.points[2]
    assert march.miss_delivered_mean.value == 10.0  # of ann's: ben's have no FST that counts
    unexplained, booked = sum(d // 2 for d in range(59, 90)), sum(range(59, 90))
    assert march.cause_unexplained_share.value == pytest.approx(unexplained / booked)
    change = trend.change("wait_mean")
    assert trend.before == "2026-02"
    assert change.value == 29.5
    assert change.significant
    assert not trend.settings_changed


def test_the_first_period_has_nothing_to_change_from(con: Connection) -> None:
    trend = of(con, months(con)[0])
    assert len(trend.points) == 1
    assert trend.changes == ()


def test_the_mean_wait_by_cause_beside_the_period_before(con: Connection) -> None:
    """Of March and of February, in which ann has 31 and 28 jobs; fewer than 30 tell nothing."""
    found = months(con)
    assert of(con, found[2]).causes == ()
    causes = {one.cause.column: one for one in of(con, found[7]).causes}
    assert tuple(causes) == COLUMNS
    july, august = range(181, 212), range(212, 243)
    own = causes["cause_own_s"]
    assert own.before_s == pytest.approx(sum(day - day // 2 for day in july) / 31)
    assert own.now_s == pytest.approx(sum(day - day // 2 for day in august) / 31)
    total = sum(one.difference_s for one in causes.values())
    assert total == pytest.approx(31)
    assert {one.cause.column for one in causes.values() if one.now_s} == {*BOOKED}


def test_a_handful_of_attempts_is_no_trend(con: Connection) -> None:
    few = Period("some..days", FIRST, FIRST + 20 * DAY)  # 20 attempts in each half
    assert of(con, few).changes == ()
    assert of(con, Period("some..days", FIRST, FIRST + 30 * DAY)).changes != ()


def test_other_settings_are_flagged(con: Connection) -> None:
    found = months(con, "2026-02")
    assert of(con, found[2]).settings_changed
    assert not of(con, found[6]).settings_changed


def test_who_was_passed_over_before_is_read_from_the_period_before(con: Connection) -> None:
    found = months(con)
    rows = [
        {
            "cluster": "demo",
            "pool": "batch",
            "schedule": "observed",
            "period": period,
            "dimension": kind,
            "dimension_value": name,
            "metric": "passed_named",
            "value": value,
            "unit": "count",
            "run_id": period,
        }
        for period, kind, name, value in (
            ("2026-02", "user", "ann", 1.0),
            ("2026-02", "user", "ben", 0.0),
            ("2026-02", "account", "maths", None),
            ("2026-03", "user", "ben", 1.0),
            ("2026-04", "user", "ann", 0.0),
        )
    ]
    database.insert(con, "summary_result", pl.DataFrame(rows))
    before = [of(con, found[month]).passed_before for month in range(1, 6)]
    assert before == [
        {},
        {"user": frozenset({"ann"})},
        {"user": frozenset({"ben"})},
        {"user": frozenset()},
        {},
    ]


def test_a_whole_log_is_cut_into_what_makes_no_more_than_24_points(con: Connection) -> None:
    whole = Period("all", FIRST, FIRST + 365 * DAY)
    trend = of(con, whole)
    assert (trend.unit, trend.before) == ("month", "the earlier half of the log")
    assert sum(point.attempts for point in trend.points) == 730
    change = trend.change("wait_mean")
    assert change.value == pytest.approx(182.5, abs=1)
    for days, unit in ((20, "day"), (100, "week"), (365, "month")):
        trend = of(con, Period("some..days", FIRST, FIRST + days * DAY))
        assert trend.unit == unit
        assert len(trend.points) <= POINTS


@pytest.mark.parametrize(
    ("begin", "end", "before", "unit"),
    [
        ("2026-03-01", "2026-04-01", "2026-02-01", "month"),
        ("2026-01-05", "2026-01-12", "2025-12-29", "week"),
        ("2026-04-01", "2026-07-01", "2026-01-01", "quarter"),
        ("2026-03-20", "2026-04-09", "2026-02-28", "20 days"),  # clocks change in between
    ],
)
def test_before_a_period_is_the_unit_or_as_many_days(
    begin: str, end: str, before: str, unit: str
) -> None:
    period = between(parse_day(begin), parse_day(end), BERLIN)
    found, words = preceding(period, BERLIN)
    earlier = between(parse_day(before), parse_day(begin), BERLIN)
    assert (*found[1:], words) == (*earlier[1:], unit)
