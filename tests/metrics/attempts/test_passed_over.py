"""Passed over: by hand, against the slow twin, and what must not change it."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics.attempts import pair_classes, passed_over
from audit.metrics.attempts.passed_over import RESULT_SCHEMA, InBursts, Unknown, of_period
from audit.metrics.attempts.population import around, describe
from audit.metrics.pairs import (
    EARLIER_S,
    KINDS,
    NOTHING_HELD,
    Decayed,
    Held,
    Kind,
    Log,
    Owners,
    paired,
)
from audit.model import Period, Pool, Resource
from tests.examples import examples
from tests.naive import passed_over as naive
from tests.naive.attempts import close
from tests.strategies import ended, frame, sampled

DAY = 86_400
HOUR = 3_600
POOL = Pool("main", Resource.cpus, 8, amounts=(("mem_bytes", 100),))
ALL = Period("all", 0, 400 * DAY)
UTC = ZoneInfo("UTC")

Record = dict[str, Any]


def job(arrival: int, start: int, user: str, **more: Any) -> Record:
    record = ended(arrival, start, start + 10, 1, user, walltime_s=HOUR, partition="main")
    return {**record, "account": f"of-{user}", **more}


def described(records: Sequence[Record]) -> pl.DataFrame:
    return describe(frame([*records]), [POOL])


def pairs(
    *records: Record, kind: Kind = "user", held: Held = NOTHING_HELD
) -> list[tuple[Any, ...]]:
    """Pairs, lost pairs and passed time of the first record's user (account, …), by arrival."""
    log = Log.of(described(records), POOL, ALL)
    if kind not in log.kinds:
        return []
    of_kind = paired(log, kind, held).filter(pl.col("entity") == records[0][kind])
    return of_kind.select("pairs", "lost", "passed_s").rows()


def only(*records: Record, **more: Any) -> tuple[Any, ...]:
    [of_first] = pairs(*records, **more)
    return of_first


MINE = job(0, 1_000, "ann")


def test_a_later_job_that_asks_for_as_much_and_starts_first_passes_it() -> None:
    assert only(MINE, job(100, 300, "bob")) == (1, 1, 700)
    assert only(MINE, job(100, 300, "bob"), job(200, 250, "cem"), job(300, 2_000, "dot")) == (
        3,
        2,
        750,
    )


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (job(100, 939, "bob"), (1, 1, 61)),
        (job(100, 940, "bob"), (1, 0, 0)),  # 60 s earlier
        (job(999, 3_000, "bob"), (1, 0, 0)),
        (job(100, 200, "bob", cpus=2, walltime_s=2 * HOUR), (1, 1, 800)),
        (job(100, 200, "bob", walltime_s=None), (1, 1, 800)),
        (job(100, 200, "bob", walltime_s=HOUR - 1), (0, 0, 0)),
        (job(100, 200, "bob", cpus=None), (0, 0, 0)),
        (job(100, 200, "bob", mem_bytes=5), (1, 1, 800)),
        ({**job(100, 200, "bob"), "start_time": None, "state": "CANCELLED"}, (1, 0, 0)),
    ],
)
def test_what_makes_a_pair(other: Record, expected: tuple[int, int, int]) -> None:
    assert only(MINE, other) == expected


@pytest.mark.parametrize(
    "other",
    [
        job(0, 200, "bob"),  # did not arrive later
        job(1_000, 1_000, "bob"),  # when it no longer waited
        job(100, 200, "ann"),
        job(100, 200, "bob", partition="long"),
        job(100, 200, "bob", qos="high"),
        job(100, 200, "bob", reservation="course"),
        {**job(100, 200, "bob"), "user": None},
    ],
)
def test_what_makes_none(other: Record) -> None:
    assert pairs(MINE, job(0, 0, "cem"), other) == []


def test_more_memory_than_others_ask_for() -> None:
    assert only({**MINE, "mem_bytes": 6}, job(100, 200, "bob", mem_bytes=5)) == (0, 0, 0)


def test_other_users_of_the_same_account_do_not_count_for_the_account() -> None:
    mate = job(100, 200, "bob", account="of-ann")
    assert only(MINE, mate) == (1, 1, 800)
    assert pairs(MINE, mate, job(0, 0, "cem"), kind="account") == []
    assert only(MINE, mate, job(100, 300, "cem"), kind="account") == (1, 1, 700)


def test_partitions_and_qos_are_compared_with_any_other() -> None:
    other = job(100, 200, "bob", partition="long", qos="high")
    mine = {**MINE, "qos": "low"}
    assert pairs(mine, other) == []
    assert only(mine, other, kind="partition") == (1, 1, 800)
    assert only(mine, other, kind="qos") == (1, 1, 800)
    assert only(mine, other, job(100, 300, "bob", qos="low"), kind="partition") == (1, 1, 800)


def test_the_parts_of_two_bursts_count_as_one() -> None:
    """All pairs of two arrays weigh 1 together, where all tasks arrive in each other's waits."""
    own = [job(0, 1_000, "ann") for _ in range(4)]
    array = [job(100, 300 if k < 5 else 2_000, "bob") for k in range(10)]
    found = pairs(*own, *array)
    assert sum(one[0] for one in found) == pytest.approx(1)
    assert sum(one[1] for one in found) == pytest.approx(0.5)
    assert [one[2] for one in found] == [700] * 4
    wide = [{**one, "cpus": 2} for one in array[:5]] + array[5:]  # two parts of one burst
    assert sum(one[0] for one in pairs(*own, *wide)) == pytest.approx(2)


def test_an_array_much_larger_than_another() -> None:
    own = [job(0, 400 + 200 * k, "ann") for k in range(2)]
    array = [job(100, 200 + k, "bob") for k in range(300)]
    assert pairs(*own, *array) == [
        (pytest.approx(0.5), pytest.approx(140 / 600), 200),
        (pytest.approx(0.5), pytest.approx(0.5), 400),
    ]


def test_no_pair_while_held_or_under_a_rule() -> None:
    held = Held(np.array([0, 0]), np.array([50, 500]), np.array([150, 600]))
    others = {at: job(at, start, "bob") for at, start in ((60, 700), (200, 300), (300, 550))}
    assert pairs(MINE, others[60], held=held) == []  # arrived while it was held
    assert only(MINE, others[200], held=held) == (1, 1, 700)
    assert only(MINE, others[300], held=held) == (0, 0, 0)  # started while it was held
    third = pytest.approx(1 / 3)  # bob's three are of one burst
    everyone = only(MINE, *others.values(), job(160, 2_000, "cem"), held=held)
    assert everyone == (pytest.approx(4 / 3), third, 700)


def crowd(days: int) -> list[Record]:
    """Three jobs of three users on each day, each with one later job, which passes every fourth."""
    return [
        one
        for day in range(days)
        for k in range(3)
        for at in (day * DAY + k * 4 * HOUR,)
        for one in (
            job(at, at + HOUR, f"u{k}"),
            job(at + 60, at + (60 if (day + k) % 4 == 0 else HOUR), "v"),
        )
    ]


def starved(days: int, times: int = 1, **more: Any) -> list[Record]:
    """A job (or several) on each day that two later ones pass by hours."""
    return [
        one
        for day in range(days)
        for at in (day * DAY + 13 * HOUR,)
        for one in (
            *(job(at, at + 9 * HOUR, "ann", **more) for _ in range(times)),
            job(at + 100, at + 200, "w1"),
            job(at + 300, at + 300, "w2"),
        )
    ]


def result(records: Sequence[Record], period: Period = ALL) -> dict[tuple[str, str], Record]:
    got = of_period(described(records), POOL, period, UTC)
    assert got.schema == RESULT_SCHEMA
    return {(row["entity_kind"], row["entity"]): row for row in got.to_dicts()}


def told(row: Record) -> Record:
    """The result for an entity, without its name and its usage."""
    beside = ("entity_kind", "entity", "usage_multiple", "equal_shares")
    return {name: value for name, value in row.items() if name not in beside}


def test_usage_as_a_multiple_of_the_share() -> None:
    """ann used two thirds of what both used, and has a third of their shares."""
    records = [{**MINE, "end_time": 1_020}, job(100, 300, "bob")]

    def multiples(**shares: float) -> dict[str, float | None]:
        got = of_period(described(records), POOL, ALL, UTC, {"user": shares})
        rows = got.filter(entity_kind="user")
        assert set(rows["equal_shares"].drop_nulls()) == {not shares}
        return dict(rows.select("entity", pl.col("usage_multiple").round(9)).iter_rows())

    assert multiples() == {"ann": 1.333333333, "bob": 0.666666667}
    assert multiples(ann=0.2, bob=0.4, cem=0.4) == {"ann": 2.0, "bob": 0.5}
    assert multiples(bob=1.0) == {"ann": None, "bob": 0.333333333}


def test_a_starved_user_is_named_and_nobody_else() -> None:
    found = result([*crowd(24), *starved(24)])
    assert [key for key, row in found.items() if row["named"]] == [
        ("user", "ann"),
        ("account", "of-ann"),
    ]
    ann = found["user", "ann"]
    assert (ann["attempts"], ann["days"], ann["passed_share"]) == (24, 24, 1.0)
    assert ann["passed_expected"] == pytest.approx(0.25)
    assert ann["passed_s"] == 24 * (9 * HOUR - 200)
    assert (ann["lower"], ann["p"], ann["unknown"]) == (0.75, 0.0, None)


def test_too_few_jobs_days_or_pairs() -> None:
    few = result([*crowd(24), *starved(19)])["user", "ann"]
    assert (few["named"], few["unknown"]) == (None, Unknown.FEW_PAIRS)
    wide = result([*crowd(24), *starved(24, cpus=4)])["user", "ann"]
    assert (wide["named"], wide["unknown"], wide["attempts"]) == (None, Unknown.WIDEST, 0)
    week = result([*crowd(24), *starved(7, times=3)])["user", "ann"]
    assert (week["named"], week["unknown"], week["attempts"]) == (None, Unknown.FEW_PAIRS, 21)


def test_little_passed_time_names_nobody() -> None:
    """The share is as high, but next to all waiting is that of others."""
    quick = [
        one
        for day in range(24)
        for at in (day * DAY + 13 * HOUR,)
        for one in (job(at, at + 120, "ann"), job(at + 10, at + 20, "w1"))
    ]
    long = [job(day * DAY, day * DAY + 23 * HOUR, "z", qos="other") for day in range(24)]
    found = result([*crowd(24), *quick, *long])["user", "ann"]
    assert (found["named"], found["lower"] > 0.5) == (False, True)


def test_a_period_knows_nothing_of_what_arrives_later() -> None:
    records = [*crowd(24), *starved(24)]
    months = Period("one", 0, 24 * DAY)
    later = [
        job(24 * DAY + k, 24 * DAY + 2 * k, user) for k in range(50) for user in ("ann", "w1", "v0")
    ]
    assert result([*records, *later], months) == result(records, months)


def bursting(days: int, alone: bool, passed_alone: bool) -> list[Record]:
    """Three jobs at once on each day that are passed; and one by itself, that is or is not."""
    made = []
    for day in range(days):
        at = day * DAY + 13 * HOUR
        made += [job(at, at + 5 * HOUR, "ann") for _ in range(3)]
        made += [job(at + 100, at + 200, "w1")]
        if alone:
            later = at + 6 * HOUR
            made.append(job(later, later + 4 * HOUR, "ann"))
            made.append(job(later + 10, later + (20 if passed_alone else 5 * HOUR), "w2"))
    return made


@pytest.mark.parametrize(
    ("alone", "passed_alone", "expected"),
    [
        (False, False, InBursts.UNKNOWN),
        (True, True, InBursts.ALSO_OUTSIDE),
        (True, False, InBursts.ONLY),
    ],
)
def test_only_during_bursts_needs_its_own_evidence(
    alone: bool, passed_alone: bool, expected: InBursts
) -> None:
    found = result([*crowd(24), *bursting(24, alone, passed_alone)])
    assert found["user", "ann"]["named"]
    assert found["user", "ann"]["in_bursts"] == expected
    assert told(found["account", "of-ann"]) == told(found["user", "ann"])


def test_an_account_of_one_user_gets_the_statement_about_that_user() -> None:
    """Of ten accounts each is one of forty that are tested, its user one of two hundred."""
    records = [*crowd(24), *starved(24)]
    many = [
        one
        for k in range(30)
        for day in range(24)
        for at in (day * DAY + k * 600,)
        for one in (
            job(at, at + 400, f"x{k}", qos=f"q{k}", account="all"),
            job(at + 1, at + 500, f"y{k}", qos=f"q{k}", account="all"),
        )
    ]
    found = result([*records, *many])
    for user in ("ann", "u0"):
        assert told(found["account", f"of-{user}"]) == told(found["user", user])


def test_nobody_at_all() -> None:
    assert of_period(described([]), POOL, ALL, UTC).rows() == []
    found = result([MINE, job(0, 0, "bob")])
    assert {row["unknown"] for row in found.values()} == {Unknown.FEW_PAIRS}


def test_rows_of_the_summary() -> None:
    found = of_period(described([*crowd(24), *starved(24)]), POOL, ALL, UTC)
    rows = {
        row.metric: (row.value, row.lower)
        for row in passed_over.rows(found)
        if (row.dimension, row.dimension_value) == ("user", "ann")
    }
    assert rows == {
        "passed_named": (1.0, None),
        "passed_share": (1.0, None),
        "passed_expected": (pytest.approx(0.25), None),
        "passed_excess": (pytest.approx(0.75), pytest.approx(0.75)),
        "passed_s": (24 * (9 * HOUR - 200), None),
        "passed_only_in_bursts": (0.0, None),
        "equal_usage_multiple": (pytest.approx(7 / 9), None),  # 24 · 10 of 2160 CPU-s, of 7 users
    }


@st.composite
def _record(draw: st.DrawFn) -> Record:
    arrival = draw(st.integers(0, 5)) * DAY + draw(sampled([0, 0, 30, 100, 4_000]))
    start = arrival + draw(sampled([0, 50, 100, 400, 5_000, 2 * DAY]))
    record = job(arrival, start, "ann")
    record |= {
        "user": draw(sampled(["ann", "bob", "cem", "dot", None])),
        "account": draw(sampled(["a", "b", None])),
        "cpus": draw(sampled([1, 1, 1, 2, None])),
        "mem_bytes": draw(sampled([None, None, 5])),
        "walltime_s": draw(sampled([HOUR, HOUR, 60, None])),
        "partition": draw(sampled(["short", "short", "long", None])),
        "qos": draw(sampled([None, None, None, "high"])),
    }
    if draw(st.integers(0, 9)) == 0:
        record |= {"start_time": None, "state": draw(sampled(["CANCELLED", "PENDING"]))}
        if record["state"] == "PENDING":
            record["end_time"] = None
    return record


logs = st.lists(st.tuples(_record(), st.sampled_from([1, 1, 2, 5])), min_size=2, max_size=16).map(
    lambda drawn: [dict(record) for record, times in drawn for _ in range(times)]
)
intervals = st.lists(st.tuples(st.integers(0, 6 * DAY), st.sampled_from([0, 60, 300, DAY])))


def _twin(frame_: pl.DataFrame) -> list[Record]:
    """The attempts that the slow twin sees, with their rows."""
    return [
        {
            **row,
            "arrival": row["arrival_time"],
            "start": row["start_time"],
            "left": row["start_time"] if row["start_time"] is not None else row["end_time"],
            "needs": (row["cpus"] or 0, row["mem_bytes"] or 0),
            "subject": row["standing"] == "ended",
            "day": row["arrival_time"] // DAY,
        }
        for row in frame_.with_row_index("row").to_dicts()
        if row["user"] is not None
    ]


def _held(frame_: pl.DataFrame, drawn: Mapping[int, Sequence[tuple[int, int]]]) -> Held:
    """Disjoint intervals of rows that exist."""
    found: list[tuple[int, int, int]] = []
    for k, begins in sorted(drawn.items()):
        last = -1
        for begin, length in sorted(begins):
            if k < frame_.height and begin > last:
                found.append((k, begin, begin + length))
                last = begin + length
    columns = zip(*found, strict=True) if found else ((), (), ())
    return Held(*(np.array(column, np.int64) for column in columns))


_HOWEVER_SHORT_THE_WAIT = {"LOOKED_UP": 0}
_TOO_MANY_CLASSES = {"MOST_CLASSES": 0}


@pytest.mark.parametrize("constants", [None, _HOWEVER_SHORT_THE_WAIT, _TOO_MANY_CLASSES])
@given(records=logs, drawn=st.dictionaries(st.integers(0, 20), intervals, max_size=4))
@settings(max_examples=examples(100))
def test_as_defined(
    constants: dict[str, int] | None,
    records: list[Record],
    drawn: dict[int, list[tuple[int, int]]],
) -> None:
    frame_ = described(records)
    held = _held(frame_, drawn)
    attempts = _twin(frame_)
    by_row = {
        k: [
            (int(begin), int(end))
            for row, begin, end in zip(*held, strict=True)
            if row == one["row"]
        ]
        for k, one in enumerate(attempts)
    }
    log = Log.of(frame_, POOL, ALL)
    counts = {kind: len({one[kind] for one in attempts} - {None}) for kind in KINDS}
    several = [kind for kind in KINDS if min(counts[kind], counts["user"]) > 1]
    assert log.kinds == several
    half_life_s, shares = 2 * DAY, {"ann": 1.0, "bob": 2.0, "a": 1.0, "b": 1.0}
    for kind in several:
        owners: Owners = "account" if kind == "account" else "user"
        decayed = None
        used: naive.Usage = naive.nothing
        if constants is None:  # with usage, no pair is counted by classes
            decayed = Decayed.of(log, owners, half_life_s, shares)
            used = naive.usage(attempts, owners, half_life_s, shares)
        expected = naive.paired(attempts, kind, by_row, used)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (constants or {}).items():
                patch.setattr(pair_classes, name, value)
            found = paired(log, kind, held, decayed)
        got = {row["row"]: row for row in found.to_dicts()}
        assert set(got) == {attempts[k]["row"] for k in expected}
        for k, one in expected.items():
            row = got[attempts[k]["row"]]
            assert close(row["pairs"], one.pairs)
            assert close(row["lost"], one.lost)
            assert close(row["pairs_less"], one.pairs_less)
            assert close(row["lost_less"], one.lost_less)
            assert row["passed_s"] == one.passed_s
            assert row["entity"] == attempts[k][kind]


@given(logs)
@settings(max_examples=examples(60))
def test_what_is_said_of_entities_is_as_defined(records: list[Record]) -> None:
    least = (2, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passed_over, "LEAST", least)
        frame_ = described(records)
        got = of_period(frame_, POOL, ALL, UTC)
    attempts = _twin(frame_)
    for kind in ("user", "partition", "qos"):
        expected = naive.judged(attempts, kind, {}, least)
        for row in got.filter(entity_kind=kind).to_dicts():
            one = expected.get(row["entity"])
            if one is None:
                assert (row["attempts"], row["named"]) == (0, None)
                continue
            assert (row["attempts"], row["days"]) == (one.attempts, one.days)
            assert row["passed_s"] == one.passed_s
            assert close(row["passed_share"], one.share)
            assert close(row["passed_expected"], one.expected)
            assert (row["lower"] is None) == (one.lower is None) == (row["named"] is None)
            if one.lower is not None:
                assert row["lower"] == pytest.approx(one.lower, abs=1e-6)
                assert row["p"] == pytest.approx(one.p, abs=1e-6)


@given(logs, st.integers(0, 5), st.integers(1, 3))
@settings(max_examples=examples(40))
def test_a_period_needs_no_attempts_but_those_around_it(
    records: list[Record], begin: int, length: int
) -> None:
    whole = described(records)
    period = Period("part", begin * DAY, (begin + length) * DAY)
    found = of_period(around(whole, period, EARLIER_S), POOL, period, UTC)
    assert found.equals(of_period(whole, POOL, period, UTC))


@given(logs, st.randoms(use_true_random=False))
@settings(max_examples=examples(20))
def test_rows_names_and_the_epoch_change_nothing(records: list[Record], random: Any) -> None:
    frame_ = described(records)
    before = of_period(frame_, POOL, ALL, UTC).drop("entity")
    order = list(range(frame_.height))
    random.shuffle(order)
    moved = frame_[order].with_columns(pl.col("^.*_time$") + 30 * DAY, "x" + pl.col("user"))
    again = of_period(moved, POOL, ALL, UTC).drop("entity")
    assert again["attempts"].to_list() == before["attempts"].to_list()
    for one, other in zip(again["lost"], before["lost"], strict=True):
        assert close(one, Fraction(other))
