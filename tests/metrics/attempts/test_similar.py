"""Similar jobs: by hand, against the slow twin, and what must not change them."""

from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics.attempts.account import Durations, account
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.similar import REFERENCE, STUCK_SCHEMA, of_similar, similar_waits, stuck
from audit.metrics.attempts.users import by_entity
from audit.model import CapacityStep, Period, Pool, Resource
from tests.examples import examples
from tests.naive import similar as naive
from tests.naive.attempts import nearest_rank
from tests.strategies import Rows, ended, frame, sampled

DAY = 86_400
HOUR = 3_600
POOL = Pool("main", Resource.cpus, 4)
ALL = [Period("all", 0, 400 * DAY)]
UTC = ZoneInfo("UTC")

Record = dict[str, Any]


def parts_of(described: pl.DataFrame, pool: Pool, now: int) -> pl.DataFrame:
    """The account of attempts, without outages: a log that ends while jobs wait has one."""
    return account(described, pool, now, log_begin=0, durations=Durations(0, 10_000 * DAY)).attempts


def measured(records: list[Record], periods: list[Period] = ALL) -> pl.DataFrame:
    described = describe(frame(records), [POOL])
    return similar_waits(parts_of(described, POOL, 400 * DAY), periods).sort("line")


def waits(records: list[Record], periods: list[Period] = ALL) -> list[int | None]:
    return measured(records, periods)["similar_wait_s"].to_list()


def crowd(day: float = 0, users: int = 3, each: int = 7, **more: Any) -> list[Record]:
    """Attempts of users u0, u1, …, of which the k-th waits 60·k seconds."""
    at = int(day * DAY)
    return [
        ended(at, at + 60 * k, at + 60 * k + 100, 1, f"u{k}", walltime_s=HOUR, **more)
        for k in range(users)
        for _ in range(each)
    ]


MINE = ended(0, 500, 600, 1, "ann", walltime_s=HOUR)


def test_the_median_and_the_percentile_by_hand() -> None:
    row = measured([MINE, *crowd()]).row(0, named=True)
    assert (row["similar_wait_s"], row["similar_p95_s"], row["similar_jobs"]) == (60, 120, 21)
    # 7 of 0 s, 7 of 60 s, 7 of 120 s, and 50 more of 0 s: the 36th of 71.
    assert waits([MINE, *crowd(), *crowd(users=1, each=50)])[0] == 0
    assert waits([MINE, *crowd(users=4)])[0] == 60  # the 14th of 28


def test_too_few_or_of_too_few_users() -> None:
    assert waits([MINE, *crowd()[:19]])[0] is None
    assert waits([MINE, *crowd()[:20]])[0] == 60
    assert waits([MINE, *crowd(users=2, each=50)])[0] is None
    assert waits([MINE, *crowd(users=2, each=50), *crowd(users=3, each=1)])[0] == 60


def test_own_attempts_are_not_similar() -> None:
    own = [ended(0, 5_000, 5_100, 1, "ann", walltime_s=HOUR) for _ in range(30)]
    assert waits([MINE, *own, *crowd()])[0] == 60


@pytest.mark.parametrize(
    "other",
    [
        {"partition": "long"},
        {"qos": "high"},
        {"walltime_s": HOUR + 1},
        {"walltime_s": None},
        {"cpus": 2},
        {"user": None},
    ],
)
def test_those_of_another_queue_or_class_are_not_similar(other: Record) -> None:
    assert waits([MINE, *({**one, **other} for one in crowd())])[0] is None


def test_the_nearest_days_come_first() -> None:
    for day in (1, 7, 30):
        assert waits([MINE, *crowd(day)])[0] == 60
        later = crowd(day + 1 / DAY)
        assert waits([MINE, *later])[0] == (60 if day < 30 else None)
    assert waits([MINE, *crowd(1), *crowd(2, users=9)])[0] == 60


def test_similar_jobs_ended_before_the_period_did() -> None:
    months = [Period("one", 0, 10 * DAY), Period("two", 10 * DAY, 20 * DAY)]
    early, late = crowd(9), crowd(11, users=5)
    mine = {**MINE, "submit_time": 9 * DAY, "start_time": 9 * DAY, "end_time": 9 * DAY + 1}
    assert waits([mine, *early, *late], months)[0] == 60
    assert waits([mine, *late], months)[0] is None
    assert waits([mine, *late])[0] == 120
    next_month = {**mine, "end_time": 10 * DAY}
    assert waits([next_month, *late], months)[0] == 120
    long_after = {**mine, "end_time": 30 * DAY}  # in no current period
    assert waits([long_after, *late], months)[0] == 120


def test_open_and_never_started_ones_have_similar_jobs_but_are_none() -> None:
    gone = {"submit_time": 0, "end_time": 900, "cpus": 1, "user": "bob", "walltime_s": HOUR}
    waiting = {"submit_time": 0, "cpus": 1, "user": "cem", "state": "PENDING", "walltime_s": HOUR}
    assert waits([gone, waiting, *crowd()])[:2] == [60, 60]
    assert waits([MINE, *crowd(each=6), gone, waiting])[0] is None
    assert waits([{**MINE, "user": None}, *crowd()])[0] is None


def test_accounts_are_compared_with_other_accounts() -> None:
    others = [{**one, "account": f"of {one['user']}"} for one in crowd()]
    same = [{**one, "account": "mine"} for one in crowd()]
    mine = {**MINE, "account": "mine"}
    column = REFERENCE["account"]
    assert measured([mine, *others])[column][0] == 60
    row = measured([mine, *same]).row(0, named=True)
    assert (row["similar_wait_s"], row[column]) == (60, None)


@st.composite
def _record(draw: st.DrawFn) -> dict[str, Any]:
    arrival = draw(sampled([0, 0, 1, 5, 9, 33])) * DAY + draw(st.integers(0, 3)) * HOUR
    start = arrival + draw(sampled([0, 0, 7, 100, 3 * DAY]))
    record = ended(arrival, start, start + draw(sampled([0, 1, DAY])), 1)
    record |= {
        "user": draw(sampled(["ann", "bob", "cem", "dot", "eve", None])),
        "cpus": draw(sampled([1, 1, 1, 1, 2, None])),
        "walltime_s": draw(sampled([HOUR, HOUR, HOUR, 60, None, 2 * DAY])),
        "partition": draw(sampled(["short", "short", "short", None])),
        "qos": draw(sampled([None, None, None, "high"])),
        "account": draw(sampled(["p", "q", "r", "s", None])),
    }
    if draw(st.integers(0, 9)) == 0:
        record |= {"start_time": None, "state": "CANCELLED"}
    return record


logs = st.lists(st.tuples(_record(), st.sampled_from([1, 1, 4, 9])), min_size=6, max_size=24).map(
    lambda drawn: [dict(record) for record, times in drawn for _ in range(times)]
)
_MONTHS = [Period("one", 0, 6 * DAY), Period("two", 6 * DAY, 34 * DAY)]


def in_slow_python(rows: list[Record], periods: list[Period], kind: Any) -> list[list[int] | None]:
    """The waits of the similar jobs of each of some described attempts."""
    held = [
        {**row, "arrival": row["arrival_time"], "wait": row["wait_s"], "end": row["end_time"]}
        for row in rows
    ]
    cuts = [
        [p.to_time for p in periods if j["end"] is not None and p.from_time <= j["end"] < p.to_time]
        for j in held
    ]
    return [
        naive.waits_of_similar(j, held, cut[0] if cut and periods != ALL else None, kind)
        for j, cut in zip(held, cuts, strict=True)
    ]


@given(logs, st.sampled_from([ALL, _MONTHS]))
@settings(max_examples=examples(40))
def test_as_defined(records: Rows, periods: list[Period]) -> None:
    got = measured(records, periods).to_dicts()
    for kind, column in REFERENCE.items():
        for row, waits_ in zip(got, in_slow_python(got, periods, kind), strict=True):
            assert row[column] == (nearest_rank(waits_, Fraction(1, 2)) if waits_ else None)
            if kind == "user":
                p95 = nearest_rank(waits_, Fraction(95, 100)) if waits_ else None
                assert row["similar_p95_s"] == p95
                assert row["similar_jobs"] == (len(waits_) if waits_ else None)


@given(logs, st.randoms(use_true_random=False))
@settings(max_examples=examples(20))
def test_rows_and_names_and_the_epoch_change_nothing(records: Rows, random: st.DataObject) -> None:
    parts = parts_of(describe(frame(records), [POOL]), POOL, 400 * DAY)
    made = ("similar_wait_s", "similar_p95_s", "similar_jobs", REFERENCE["account"])
    before = similar_waits(parts, ALL).sort("line").select(made)
    order = list(range(parts.height))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert similar_waits(parts[order], ALL).sort("line").select(made).equals(before)
    renamed = (pl.concat_str(pl.lit("x"), pl.col(kind)).alias(kind) for kind in REFERENCE)
    moved = parts.with_columns(pl.col("^.*_time$") + 1_000, *renamed)
    assert similar_waits(moved, ALL).sort("line").select(made).equals(before)


ROOMY = Pool("main", Resource.cpus, 100)
NOW = 5 * HOUR

SIMILAR = crowd()
"""21 attempts of three users that waited 0, 60 or 120 s, and ran at the same time."""


def found(
    *records: Record, pool: Pool = ROOMY, periods: list[Period] = ALL, tolerance_s: int = 60
) -> pl.DataFrame:
    described = describe(frame([*records]), [pool])
    beside = similar_waits(parts_of(described, pool, NOW), periods)
    got = stuck(beside, pool, NOW, tolerance_s)
    assert got.schema == STUCK_SCHEMA
    return got


def gone(after: int, **more: Any) -> Record:
    record = {"submit_time": 0, "end_time": after, "cpus": 1, "user": "ann", "walltime_s": HOUR}
    return {**record, "state": "CANCELLED", **more}


def pending(**more: Any) -> Record:
    return gone(0, end_time=None, state="PENDING", **more)


def causes(*records: Record, pool: Pool = ROOMY) -> list[str | None]:
    return found(*records, *SIMILAR, pool=pool)["cause"].to_list()


def test_beyond_the_95th_percentile_by_more_than_the_tolerance() -> None:
    assert found(gone(180), *SIMILAR).is_empty()
    assert found(gone(181), *SIMILAR).rows() == [("1", 1, 181, 120, 21, "unexplained")]
    assert found(gone(121), *SIMILAR, tolerance_s=0)["waited_s"].to_list() == [121]
    assert found(gone(120), *SIMILAR, tolerance_s=0).is_empty()


def test_the_percentile_is_that_of_attempts() -> None:
    # 100 jobs, five of which waited an hour: the 95th waited 120 s; with six, an hour.
    long = [ended(0, HOUR, HOUR + 1, 1, "u0", walltime_s=HOUR) for _ in range(6)]
    rest = [ended(0, 120, 121, 1, f"u{k % 3}", walltime_s=HOUR) for k in range(95)]
    assert found(gone(200), *rest, *long[:5])["similar_p95_s"].to_list() == [120]
    assert found(gone(200), *rest[:94], *long).is_empty()


def test_who_still_waits_waits_until_now_and_the_furthest_comes_first() -> None:
    got = found(gone(500), pending(), gone(900), *SIMILAR)
    assert got["waited_s"].to_list() == [NOW, 900, 500]


def test_without_enough_similar_jobs_nobody_can_say() -> None:
    assert found(pending(), *SIMILAR[:-3]).is_empty()
    assert found(pending(user=None), *SIMILAR).is_empty()
    assert found(pending(cpus=2), *SIMILAR).is_empty()


def test_a_period_knows_nothing_of_later_jobs_but_who_still_waits_does() -> None:
    periods = [Period("one", 0, 1_000), Period("two", 1_000, DAY)]
    later = [{**one, "start_time": 2_000, "end_time": 2_001} for one in SIMILAR]
    assert found(gone(900), *later, periods=periods).is_empty()
    assert found(gone(3_000), *later, periods=periods)["similar_p95_s"].to_list() == [2_000]
    assert found(pending(), *later, periods=periods)["similar_p95_s"].to_list() == [2_000]


@pytest.mark.parametrize("reason", ["QOSMaxJobsPerUserLimit", "Priority", "None", None])
def test_a_recorded_reason_that_is_no_hold_decides_nothing(reason: str | None) -> None:
    assert causes(gone(1_000, reason=reason)) == ["unexplained"]


def test_where_the_wait_was_spent() -> None:
    def full(user: str, start: int = 0) -> Record:
        return ended(start, start, start + 4_000, 100, user)

    assert causes(full("ann"), gone(1_000)) == ["own"]
    assert causes(full("bob"), gone(1_000)) == ["earlier"]
    wide = ended(0, 2_000, 2_001, 100, "bob")  # it comes first, and takes all there is
    assert causes(wide, gone(1_000)) == ["claimed"]
    down = ROOMY._replace(steps=(CapacityStep(200, (("cpus", 0),)),))
    assert causes(gone(1_000), pool=down) == ["unavailable"]


def test_larger_than_the_pool_ever_is() -> None:
    others = [{**one, "cpus": 3} for one in SIMILAR]
    small = ROOMY._replace(capacity=2)
    assert found(gone(500, cpus=3), *others, pool=small)["cause"].to_list() == ["exceeds_capacity"]
    grown = small._replace(steps=(CapacityStep(9_000, (("cpus", 3),)),))
    assert found(gone(500, cpus=3), *others, pool=grown)["cause"].to_list() == ["unavailable"]


@given(logs, st.integers(0, 3))
@settings(max_examples=examples(30))
def test_who_is_stuck_is_as_defined(records: Rows, late: int) -> None:
    records = [*records, *(pending(submit_time=k * HOUR, partition="short") for k in range(late))]
    described = describe(frame(records), [ROOMY])
    now = 40 * DAY
    got = stuck(similar_waits(parts_of(described, ROOMY, now), ALL), ROOMY, now, 60)
    rows = described.to_dicts()
    expected = {}
    for j, waits_ in zip(rows, in_slow_python(rows, ALL, "user"), strict=True):
        if j["start_time"] is None and waits_ and j["size"] is not None:
            waited = (now if j["end_time"] is None else j["end_time"]) - j["arrival_time"]
            limit = nearest_rank(waits_, Fraction(95, 100))
            if waited > limit + 60:
                expected[j["job_id"]] = (waited, limit, len(waits_))
    assert {row[0]: row[2:5] for row in got.rows()} == expected
    beyond = [row[2] - row[3] for row in got.rows()]
    assert beyond == sorted(beyond, reverse=True)


def test_nobody_is_stuck_where_nothing_is() -> None:
    assert found().is_empty()


# Entities ------------------------------------------------------------------------------------

Figures = dict[str, tuple[float | None, float | None, float | None]]


def compared(records: list[Record], similar: list[int | None]) -> pl.DataFrame:
    """Attempts beside which similar ones waited so long, whether of users or of accounts."""
    described = describe(frame(records), [POOL]).sort("line")
    column = pl.Series(similar, dtype=pl.Int64)
    return described.with_columns(**dict.fromkeys(REFERENCE.values(), column))


def excesses(
    records: list[Record],
    similar: list[int | None],
    kind: str = "user",
    period: Period = ALL[0],
    zone: ZoneInfo = UTC,
) -> Figures:
    """Entity → value, lower and upper."""
    held = compared(records, similar)
    return {
        row.dimension_value or "": (row.value, row.lower, row.upper)
        for row in of_similar(held, period, zone, 1, 200)
        if row.dimension == kind
    }


def days(user: str, waits_: list[int], number: int = 12, **more: Any) -> list[Record]:
    """Return attempts at intervals of an hour on each of some days, with these waits."""
    return [
        ended(at := day * DAY + hour * 3_600, at + wait, at + wait + 1, 1, user, **more)
        for day in range(number)
        for hour, wait in enumerate(waits_)
    ]


def test_only_what_is_above_counts() -> None:
    records = [
        ended(0, 30, 31, 1),
        ended(0, 5, 11, 1),
        ended(0, 99, 100, 1),
        ended(0, 0, 1, 1, "bob"),
    ]
    got = excesses(records, [10, 10, None, 0])
    assert got == {"ann": (20.0, None, None), "bob": (0.0, None, None)}


def test_days_are_counted_from_the_first_arrival_of_the_period() -> None:
    """Attempts long before a period change no interval of it."""
    times = ("submit_time", "start_time", "end_time")
    late = [
        {**one, **{name: one[name] + 100 * DAY for name in times}} for one in days("ann", [5, 50])
    ]
    month = Period("month", 100 * DAY, 130 * DAY)
    similar: list[int | None] = [10] * len(late)
    alone = excesses(late, similar, period=month)
    after = excesses([ended(0, 9, 10, 1, "ann"), *late], [1, *similar], period=month)
    assert alone["ann"][1] is not None
    assert after == alone


def test_nine_days_are_too_few_for_intervals() -> None:
    assert excesses(days("ann", [50], 9), [10] * 9)["ann"] == (360.0, None, None)
    value, lower, upper = excesses(days("ann", [50], 10), [10] * 10)["ann"]
    assert (value, lower is None, upper is None) == (400.0, False, False)


def test_a_day_is_one_of_the_clusters() -> None:
    # 22:30 and 23:30 UTC: one day in UTC, two in Berlin.
    records = [
        ended(at, at + 9, at + 10, 1)
        for day in range(9)
        for at in (day * DAY + 81_000, day * DAY + 84_600)
    ]
    similar: list[int | None] = [3] * 18
    assert excesses(records, similar)["ann"][1] is None
    assert excesses(records, similar, zone=ZoneInfo("Etc/GMT-1"))["ann"][1] is not None  # 10 days


def test_periods_and_accounts() -> None:
    records = [
        ended(0, 30, 31, 1, account="x"),
        ended(100, 130, 131, 1, "bob", account="x"),
        ended(5 * DAY, 5 * DAY + 7, 5 * DAY + 8, 1, account=None),
    ]
    assert excesses(records, [10, 20, 7], "account") == {"x": (30.0, None, None)}
    late = excesses(records, [10, 20, 7], period=Period("late", DAY, 9 * DAY))
    assert late == {"ann": (0.0, None, None)}


def test_medians_of_entities_and_the_excess_as_in_the_summary() -> None:
    random = np.random.Generator(np.random.PCG64(3))
    records = [*days("ann", [9, 7, 88], 20), *days("bob", [5, 20], 20), ended(0, 3, 9, 1, "cem")]
    similar: list[int | None] = random.integers(0, 60, len(records) - 1).tolist()
    held = compared(records, [*similar, None]).with_columns(re_unfairness=pl.lit(0.0))
    got = excesses(records, [*similar, None])
    rows = {row["entity"]: row for row in by_entity(held, "user").to_dicts()}
    assert {name: row["wait_median"] for name, row in rows.items()} == {
        "ann": 9,
        "bob": 5,
        "cem": 3,
    }
    for name, part in (("ann", similar[:60]), ("bob", similar[60:])):
        assert rows[name]["similar_wait_median"] == nearest_rank(sorted(part), Fraction(1, 2))
        assert rows[name]["excess_wait_s"] == got[name][0]
    assert (rows["cem"]["similar_wait_median"], rows["cem"]["excess_wait_s"]) == (None, None)


def test_without_similar_jobs_there_are_no_rows() -> None:
    held = compared(days("ann", [5], 2), [None, None])
    assert [*of_similar(held, ALL[0], UTC, 1, 20)] == []
    bare = held.drop(REFERENCE.values())
    assert [*of_similar(bare, ALL[0], UTC, 1, 20)] == []
