"""Passed over: by hand, against the slow twin, and what must not change it."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics import pairs as of_pairs
from audit.metrics.attempts import passed_over
from audit.metrics.attempts.passed_over import NO_EVIDENCE, RESULT_SCHEMA, PassedEvidence, of_period
from audit.metrics.attempts.population import around, describe
from audit.metrics.pairs import (
    EARLIER_S,
    KINDS,
    NOTHING_UNSTARTED,
    Barred,
    Kind,
    Log,
    Unstarted,
    paired,
)
from audit.metrics.passed import tested
from audit.metrics.passed.usage import Shares, explained, follows_usage
from audit.model import Period, Pool, Resource
from audit.registry.passed import PassedWhy
from tests.examples import examples
from tests.naive import passed_over as naive
from tests.naive.attempts import close
from tests.strategies import ended, frame, sampled

DAY = 86_400
HOUR = 3_600
WEEK = 7 * DAY
POOL = Pool("main", Resource.cpus, 8, amounts=(("mem_bytes", 100), ("gpus", 4)))
ALL = Period("all", 0, 400 * DAY)
UTC = ZoneInfo("UTC")

Record = dict[str, Any]


def job(arrival: int, start: int, user: str, **more: Any) -> Record:
    record = ended(arrival, start, start + 10, 1, user, walltime_s=HOUR, partition="main")
    return {**record, "account": f"of-{user}", **more}


def described(records: Sequence[Record]) -> pl.DataFrame:
    return describe(frame([*records]), [POOL])


def pairs(
    *records: Record, kind: Kind = "user", why: Unstarted = NOTHING_UNSTARTED, own: bool = False
) -> list[tuple[Any, ...]]:
    """Pairs, lost pairs and passed time of the first record's user (account, …), by arrival."""
    log = Log.of(described(records), POOL, ALL, UTC)
    if kind not in log.kinds and not own:
        return []
    of_kind = paired(log, kind, None, why, own=own).attempts
    return of_kind.filter(entity=records[0][kind]).select("pairs", "lost", "passed_s").rows()


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
        (job(100, 200, "bob", mem_bytes=5), (1, 1, 800)),
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
        job(100, 200, "bob", walltime_s=HOUR - 1),
        job(100, 200, "bob", cpus=None),
        {**job(100, 200, "bob"), "user": None},
        {**job(100, 200, "bob"), "start_time": None, "state": "CANCELLED"},
    ],
)
def test_what_makes_none(other: Record) -> None:
    assert pairs(MINE, job(0, 0, "cem"), other) == []


def test_a_wait_of_a_minute_makes_no_pair() -> None:
    assert pairs(job(0, 60, "ann"), job(10, 500, "bob")) == []
    assert only(job(0, 61, "ann"), job(10, 500, "bob")) == (1, 0, 0)


def test_gpus_are_compared_where_they_are_requested_but_not_memory() -> None:
    assert only({**MINE, "mem_bytes": 6}, job(100, 200, "bob", mem_bytes=5)) == (1, 1, 800)
    assert pairs({**MINE, "gpus": 2}, job(100, 200, "bob", gpus=1), job(0, 0, "cem")) == []
    assert only(MINE, job(100, 200, "bob", gpus=1)) == (1, 1, 800)


def test_of_many_rivals_every_second_counts() -> None:
    others = [job(100 + k, 200 + k if k % 2 else 2_000, f"u{k}") for k in range(3_000)]
    mine = job(0, 9_000, "ann")
    assert only(mine, *others) == (1_500, 1_500, 7_000)
    assert only(mine, *others[1:]) == (1_500, 1_500, 8_799)  # from the first on


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
    burst = (other, job(100, 300, "bob", qos="low"))  # of one class without its place
    assert only(mine, *burst, kind="partition") == (0.5, 0.5, 800)


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


def test_lost_pairs_do_not_count_while_a_job_is_held_or_forbidden() -> None:
    barred = Barred(np.array([0, 0]), np.array([50, 500]), np.array([150, 600]))
    others = [job(at, start, "bob") for at, start in ((60, 700), (200, 300), (300, 550))]
    for why in (Unstarted(held=barred), Unstarted(forbidden=barred)):
        assert only(MINE, others[0], why=why) == (1, 1, 300)  # held when it arrived
        assert only(MINE, others[1], why=why) == (1, 1, 700)
        assert pairs(MINE, others[2], why=why) == []
        kept = job(160, 1_000, "cem")
        assert only(MINE, others[2], kept, why=why) == (1, 0, 0)


def test_pairs_of_a_job_that_is_marked_unstartable() -> None:
    """Those lost before it was marked count; kept ones never do."""
    early, late, kept = job(60, 200, "bob"), job(70, 600, "cem"), job(80, 2_000, "dot")
    why = Unstarted(marked_from=pl.Series([500, None, None, None]))
    assert only(MINE, early, late, kept, why=why) == (1, 1, 800)
    assert only(MINE, early, late, kept) == (3, 2, 800)


def test_own_later_jobs_as_a_control() -> None:
    own = [job(k, 1_000 - 200 * k, "ann") for k in range(3)]
    assert pairs(*own, job(0, 0, "bob"), own=True) == [
        (pytest.approx(2 / 9), pytest.approx(2 / 9), 400),
        (pytest.approx(1 / 9), pytest.approx(1 / 9), 200),
    ]


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


def result(
    records: Sequence[Record],
    period: Period = ALL,
    evidence: PassedEvidence = NO_EVIDENCE,
    shares: Shares = passed_over.EQUAL,
) -> dict[tuple[str, str], Record]:
    """The results by entity; without shares, the order follows no usage."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passed_over, "follows_usage", lambda _: False)
        got = of_period(described(records), POOL, period, UTC, shares, evidence)
    assert got.schema == RESULT_SCHEMA
    return {(row["entity_kind"], row["entity"]): row for row in got.to_dicts()}


def told(row: Record) -> Record:
    """The result for an entity, without its name."""
    return {name: value for name, value in row.items() if name not in ("entity_kind", "entity")}


SITE = [*crowd(24), *starved(24)]
ANN = ("user", "ann")


@cache
def at_site() -> Mapping[tuple[str, str], Record]:
    return result(SITE)


def test_a_starved_user_is_named_and_nobody_else() -> None:
    found = at_site()
    assert [key for key, row in found.items() if row["named"]] == [ANN, ("account", "of-ann")]
    ann = found[ANN]
    assert (ann["attempts"], ann["days"], ann["passed_share"]) == (24, 24, 1.0)
    assert ann["passed_expected"] == pytest.approx(0.25)
    assert ann["passed_s"] == 24 * (9 * HOUR - 200)
    assert (ann["lower"], ann["p"], ann["why"]) == (0.75, 0.0, None)


def test_evidence_on_users_outside_the_period() -> None:
    nobody = PassedEvidence(limited=("nobody",), released=("nobody",), own_ends=("none", "nobody"))
    assert result(SITE, evidence=nobody) == at_site()


def test_too_few_jobs_or_days() -> None:
    few = result([*crowd(24), *starved(19)])[ANN]
    assert (few["named"], few["why"]) == (None, PassedWhy.FEW_JOBS)
    wide = result([*crowd(24), *starved(24, cpus=4)])[ANN]
    assert (wide["named"], wide["why"], wide["attempts"]) == (None, PassedWhy.FEW_JOBS, 0)
    week = result([*crowd(24), *starved(7, times=3)])[ANN]
    assert (week["named"], week["why"], week["attempts"]) == (None, PassedWhy.FEW_DAYS, 21)


def test_nobody_to_compare_with() -> None:
    alone = result([job(0, 1_000, "ann"), job(100, 200, "ann")])
    nobody = {ANN: PassedWhy.NO_OTHERS, ("account", "of-ann"): PassedWhy.NO_OTHERS}
    assert {key: row["why"] for key, row in alone.items()} == nobody
    one = result([{**row, "account": "all"} for row in SITE])
    assert one["account", "all"]["why"] == PassedWhy.NO_OTHERS
    assert one[ANN]["named"]
    others = result(starved(24))  # w1 and w2 never wait
    assert (others[ANN]["named"], others[ANN]["why"]) == (None, PassedWhy.NO_OTHERS)


def test_little_passed_time_names_nobody() -> None:
    """The share is as high, but next to all waiting is that of others."""
    quick = [
        one
        for day in range(24)
        for at in (day * DAY + 13 * HOUR,)
        for one in (job(at, at + 120, "ann"), job(at + 10, at + 20, "w1"))
    ]
    long = [job(day * DAY, day * DAY + 23 * HOUR, "z", qos="other") for day in range(24)]
    found = result([*crowd(24), *quick, *long])[ANN]
    assert (found["named"], found["lower"] > 0.5) == (False, True)
    assert found["why"] == PassedWhy.LITTLE_TIME


def test_a_share_that_hardly_exceeds_the_expected_one() -> None:
    """ann loses a third of her pairs every day, and others a quarter."""
    lost = [
        one
        for day in range(24)
        for at in (day * DAY + 13 * HOUR,)
        for one in (
            job(at, at + 9 * HOUR, "ann"),
            job(at + 100, at + 200, "w1"),
            job(at + 300, at + 10 * HOUR, "w2"),
            job(at + 300, at + 10 * HOUR, "w3"),
        )
    ]
    found = result([*crowd(24), *lost])[ANN]
    assert found["lower"] == pytest.approx(1 / 3 - 1 / 4, abs=0.02)
    assert (found["named"], found["why"]) == (False, PassedWhy.LITTLE_MORE)
    assert at_site()["user", "u0"]["why"] == PassedWhy.USUAL


def test_waits_of_days_before_a_joint_release_are_left_out() -> None:
    """Of her jobs, those that waited more than a day are left out: too few are left."""
    late = [
        {**one, "start_time": one["start_time"] + 2 * DAY, "end_time": one["end_time"] + 2 * DAY}
        if one["user"] == "ann" and k % 2
        else one
        for k, one in enumerate(starved(24, times=2))
    ]
    records = [*crowd(24), *late]
    assert result(records)[ANN]["named"]
    found = result(records, evidence=PassedEvidence(released={"ann"}))[ANN]
    assert (found["named"], found["why"], found["attempts"]) == (None, PassedWhy.LEFT_OUT, 24)
    assert result(records, evidence=PassedEvidence(released={"w1"}))[ANN]["named"]


@pytest.mark.parametrize(
    ("left", "why"), [(24, None), (20, None), (15, PassedWhy.FEW_JOBS), (14, PassedWhy.LEFT_OUT)]
)
def test_starts_after_own_ends_of_those_named_are_left_out(
    left: int, why: PassedWhy | None
) -> None:
    table = described(SITE)
    mine = (table["user"] == "ann").to_numpy()
    triggered = pl.Series(mine & (np.cumsum(mine) > left))
    got = of_period(table, POOL, ALL, UTC, evidence=PassedEvidence(triggered=triggered))
    found = got.filter(entity_kind="user", entity="ann").row(0, named=True)
    assert (found["why"], found["attempts"]) == (why, left)


def test_most_starts_after_own_ends_without_a_limit() -> None:
    held = PassedEvidence(own_ends=["ann"])
    assert result(SITE, evidence=held)[ANN]["why"] == PassedWhy.OWN_ENDS
    assert result(SITE, evidence=held._replace(limited=["ann"]))[ANN]["named"]
    assert result(SITE, evidence=PassedEvidence(own_ends=["u0"]))[ANN]["named"]


@pytest.mark.parametrize(
    ("mine", "others", "why"),
    [(50, 5, PassedWhy.MEMORY), (50, 50, None), (9, 5, None), (None, 5, None)],
)
def test_who_requests_much_memory_is_compared_with_those_who_do(
    mine: int | None, others: int | None, why: PassedWhy | None
) -> None:
    """The log has 5 per CPU, but for ann, whose jobs later ones with as much do or do not pass."""
    records = [one | {"mem_bytes": mine if one["user"] == "ann" else others} for one in SITE]
    records += [job(k, k, "z", qos="z", cpus=8, mem_bytes=40) for k in range(200)]
    found = result(records)[ANN]
    assert (found["named"], found["why"]) == (why is None, why)


def own_control(days: int) -> list[Record]:
    """On some days, a later job of ann's starts before an earlier one."""
    return [
        one
        for day in range(days)
        for at in (day * DAY + 1,)
        for one in (job(at, at + HOUR, "ann", qos="own"), job(at + 1, at + 1, "ann", qos="own"))
    ]


def test_own_later_jobs_pass_own_earlier_ones() -> None:
    found = result([*SITE, *own_control(5)])[ANN]
    assert (found["named"], found["why"], found["own_share"]) == (False, PassedWhy.OWN_ORDER, 1.0)
    few = result([*SITE, *own_control(4)])[ANN]
    assert (few["named"], few["own_share"]) == (True, None)


def test_most_waiting_is_that_of_jobs_that_could_not_start() -> None:
    table = described(SITE)
    others = (pl.col("user") != "ann") & (pl.col("wait_s") > 0)
    marks = table.select(pl.when(others).then("start_time")).to_series()
    few = PassedEvidence(Unstarted(marked_from=marks))
    assert result(SITE, evidence=few)[ANN]["named"] is not None
    more = [*SITE, *(job(k * DAY, k * DAY + 20 * HOUR, "z", qos="z") for k in range(24))]
    marks = described(more).select(pl.when(user="z").then("start_time")).to_series()
    found = result(more, evidence=PassedEvidence(Unstarted(marked_from=marks)))
    assert (found[ANN]["named"], found[ANN]["why"]) == (None, PassedWhy.UNSTARTABLE)
    assert found["user", "z"]["why"] == PassedWhy.FEW_JOBS


def test_usage_counts_with_configured_shares() -> None:
    """ann used as much as each of three others, and has a share of a tenth of theirs."""
    even = {"user": dict.fromkeys(("ann", "u0", "u1", "u2", "v", "w1", "w2"), 1.0)}
    found = result(SITE, shares=even)[ANN]
    assert (found["named"], round(found["usage_multiple"], 3)) == (True, 0.778)
    little = {"user": {**even["user"], "ann": 0.1}}
    found = result(SITE, shares=little)[ANN]
    assert found["attempts"] == 1  # later, she had used more than all that passed her
    assert found["usage_multiple"] == pytest.approx(0.778 * 6.1 / 0.7, abs=0.01)
    assert at_site()[ANN]["usage_multiple"] is None


def test_who_used_much_is_not_named_where_the_order_follows_usage() -> None:
    """ann used most of all after she had been passed over."""
    big = [{**job(25 * DAY, 25 * DAY, "ann", cpus=8), "end_time": 25 * DAY + 500}]
    shares = {"user": dict.fromkeys(("ann", "u0", "u1", "u2", "v", "w1", "w2"), 1.0)}
    found = result([*SITE, *big], shares=shares)[ANN]
    assert (found["named"], found["why"]) == (False, PassedWhy.USAGE)
    assert found["usage_multiple"] > 1.5


@pytest.mark.parametrize(
    ("more", "less", "follows"),
    [
        ((100, 40), (100, 16), True),
        ((100, 40), (100, 17), False),  # less than 2.5 times as often
        ((100, 20), (100, 6), False),  # by less than 15 points
        ((100, 40), (0, 0), False),
    ],
)
def test_whether_the_order_follows_usage(
    more: tuple[int, int], less: tuple[int, int], follows: bool
) -> None:
    """Three entities with the same pairs; two of them alone would not show it."""
    names = ("pairs_more", "lost_more", "pairs_less", "lost_less")
    sums = pl.DataFrame([[*map(float, (*more, *less))]], names, orient="row")
    of_three = pl.concat(sums.with_columns(entity=pl.lit(name)) for name in "abc")
    assert follows_usage(of_three) == follows
    nothing = sums.select(pl.all() * 0.0)
    one = [sums, nothing, nothing]
    one_alone = [
        rows.with_columns(entity=pl.lit(name)) for name, rows in zip("abc", one, strict=True)
    ]
    assert not follows_usage(pl.concat(one_alone))
    assert not follows_usage(of_three[:1])


def ranked(ann: int, *, first: bool = False, days: int = 24) -> list[Record]:
    """Ten users and ann, of whom the one that had used more always starts later.

    They use 100, 101, … CPUs all the time, and she some other number. Nobody's usage is 1.2 times
    another's. If ``first`` is False, all start before her.
    """
    cpus = {**{f"b{k}": 100 + k for k in range(10)}, "ann": ann}
    background = [
        {**job(0, 0, user, cpus=size), "end_time": (days + 2) * DAY} for user, size in cpus.items()
    ]
    order = sorted(cpus, key=lambda user: (user == "ann" and not first, cpus[user]))
    ordered = [(x, y) for x in order for y in order if x != y]
    return background + [
        one
        for day in range(1, days + 1)
        for number, (mine, other) in enumerate(ordered)
        for at in (day * DAY + number * 700,)
        for late in (200 if order.index(mine) < order.index(other) else -200,)
        for one in (
            job(at, at + 300, mine, qos="main"),
            job(at + 100, at + 300 + late, other, qos="main"),
        )
    ]


def test_an_order_by_usage_that_explains_it() -> None:
    """ann used most, if only by a tenth, and all others started first."""
    found = result(ranked(110))
    assert found[ANN]["passed_share"] == 1.0
    assert found[ANN]["passed_expected"] == pytest.approx(0.45, abs=0.01)
    assert (found[ANN]["named"], found[ANN]["why"]) == (False, PassedWhy.USAGE_ORDER)
    assert [key for key, row in found.items() if row["named"]] == []


def test_an_order_by_usage_does_not_explain_who_had_used_less() -> None:
    """Others start by usage; all start before ann, who used least."""
    found = result(ranked(90))
    assert [key for key, row in found.items() if row["named"]] == [ANN, ("account", "of-ann")]
    assert (found[ANN]["passed_share"], found[ANN]["why"]) == (1.0, None)
    assert not result(ranked(90, first=True))[ANN]["named"]


def test_the_clearest_order_is_that_of_the_others() -> None:
    """Of two orders one shows more without the entity; by that one she had used less."""

    def order(*rows: tuple[str, float, float, float, float]) -> pl.DataFrame:
        names = ("entity", "pairs_more", "lost_more", "pairs_less", "lost_less")
        frame_ = pl.DataFrame(rows, names, orient="row")
        every = {"pairs": pl.lit(200.0), "lost": pl.col("lost_more") + pl.col("lost_less")}
        return frame_.with_columns(**every, passed_s=0, passed_else_s=0)

    def judged(attempts: pl.DataFrame) -> list[tested.JudgedEntity]:
        lost = attempts.filter(entity="ann")["lost"].sum()
        why = None if lost > 50 else PassedWhy.USUAL
        return [tested.JudgedEntity("ann", 1, 1, 1, 1, 1, 0, 0, 0, 0, why)]

    clear = order(("ann", 0, 0, 100, 100), ("bob", 100, 60, 100, 10))
    faint = order(("ann", 100, 100, 0, 0), ("bob", 100, 40, 100, 10))
    none = order(("ann", 100, 100, 0, 0), ("bob", 100, 20, 100, 10))
    assert explained(["ann"], [lambda: faint], judged) == {"ann"}
    assert explained(["ann"], [lambda: faint, lambda: clear], judged) == set()
    assert explained(["ann"], [lambda: none], judged) == set()


def test_of_partitions_and_qos_the_order_is_stated() -> None:
    """Jobs of low lose to those of high on each day; those of main lose a quarter."""
    place = {"ann": "low", "v": "high", "w1": "high", "w2": "high"}
    records = [{**one, "partition": place.get(one["user"], "main")} for one in SITE]
    found = result(records)
    one = found["partition", "low"]
    assert (one["named"], one["why"], one["ahead"]) == (False, PassedWhy.ORDER, "high")
    assert (one["ahead_lost"], one["ahead_pairs"]) == (48, 48)
    assert [key for key, row in found.items() if row["named"]] == []
    table = of_period(described(records), POOL, ALL, UTC)
    (row,) = (row for row in passed_over.rows(table) if row.metric == "passed_ahead")
    assert (row.dimension, row.dimension_value, row.value) == ("partition", "high", 1.0)


def test_a_period_knows_nothing_of_what_arrives_later() -> None:
    records = [*crowd(24), *starved(24)]
    months = Period("one", 0, 24 * DAY)
    later = [
        job(24 * DAY + k, 24 * DAY + 2 * k, user) for k in range(50) for user in ("ann", "w1", "v0")
    ]
    assert result([*records, *later], months) == result(records, months)


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


def test_accounts_of_one_user_who_has_several_split_its_jobs() -> None:
    """Every third job of ann's is in an account of hers alone, and the others in another."""
    mine = [
        {**one, "account": "few" if k % 9 == 0 else "many"} if one["user"] == "ann" else one
        for k, one in enumerate(starved(60))
    ]
    found = result([*crowd(60), *mine])
    few, many = found["account", "few"], found["account", "many"]
    assert (found[ANN]["attempts"], few["attempts"], many["attempts"]) == (60, 20, 40)
    assert few["passed_s"] + many["passed_s"] == found[ANN]["passed_s"]
    fewer = [{**one, "account": None} if one["account"] == "many" else one for one in mine[:-9]]
    assert result([*crowd(60), *fewer])["account", "few"]["why"] == PassedWhy.FEW_JOBS


def test_nobody_at_all() -> None:
    assert of_period(described([]), POOL, ALL, UTC).rows() == []
    found = result([MINE, job(0, 0, "bob")])
    assert {row["why"] for row in found.values()} == {PassedWhy.FEW_JOBS}


def test_rows_of_the_summary() -> None:
    found = of_period(described(SITE), POOL, ALL, UTC)
    rows = {
        row.metric: (row.value, row.lower)
        for row in passed_over.rows(found)
        if (row.dimension, row.dimension_value) == ANN
    }
    assert rows == {
        "passed_named": (1.0, None),
        "passed_share": (1.0, None),
        "passed_expected": (pytest.approx(0.25), None),
        "passed_excess": (pytest.approx(0.75), pytest.approx(0.75)),
        "passed_s": (24 * (9 * HOUR - 200), None),
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
        "gpus": draw(sampled([None, None, 2])),
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


def _twin(frame_: pl.DataFrame, marks: Mapping[int, int]) -> list[Record]:
    """The attempts that the slow twin sees, with their rows."""
    return [
        {
            **row,
            "arrival": row["arrival_time"],
            "start": row["start_time"],
            "left": row["start_time"],
            "needs": (row["cpus"] or 0, row["gpus"] or 0),
            "subject": row["standing"] == "ended",
            "day": row["arrival_time"] // DAY,
            "midnight": row["arrival_time"] // DAY * DAY,
            "marked_from": marks.get(row["row"]),
        }
        for row in frame_.with_row_index("row").to_dicts()
        if row["user"] is not None and row["start_time"] is not None
    ]


def _barred(frame_: pl.DataFrame, drawn: Mapping[int, Sequence[tuple[int, int]]]) -> Barred:
    """Disjoint intervals of rows that exist."""
    found: list[tuple[int, int, int]] = []
    for k, begins in sorted(drawn.items()):
        last = -1
        for begin, length in sorted(begins):
            if k < frame_.height and begin > last:
                found.append((k, begin, begin + length))
                last = begin + length
    columns = zip(*found, strict=True) if found else ((), (), ())
    return Barred(*(np.array(column, np.int64) for column in columns))


def _by_place(barred: Barred, attempts: Sequence[Record]) -> naive.Barred:
    """The intervals by place in the twin's attempts."""
    return {
        k: [
            (int(begin), int(end))
            for row, begin, end in zip(*barred, strict=True)
            if row == one["row"]
        ]
        for k, one in enumerate(attempts)
    }


spans = st.dictionaries(st.integers(0, 20), intervals, max_size=4)


@given(
    records=logs,
    drawn=st.tuples(spans, spans),
    marks=st.dictionaries(st.integers(0, 20), st.integers(0, 6 * DAY), max_size=4),
    most=st.sampled_from([1, 2, 5, 2_000]),
    shares=st.sampled_from([None, {}, {"ann": 1.0, "bob": 2.0, "a": 3.0}]),
    by=st.tuples(
        st.sampled_from(["user", "account"]), st.sampled_from([WEEK, DAY]), sampled([1.2, 1.0])
    ),
)
@settings(max_examples=examples(100))
def test_as_defined(
    records: list[Record],
    drawn: tuple[dict[int, list[tuple[int, int]]], dict[int, list[tuple[int, int]]]],
    marks: dict[int, int],
    most: int,
    shares: dict[str, float] | None,
    by: tuple[Kind, int, float],
) -> None:
    frame_ = described(records)
    held, forbidden = (_barred(frame_, of) for of in drawn)
    attempts = _twin(frame_, marks)
    places = [_by_place(one, attempts) for one in (held, forbidden)]
    log = Log.of(frame_, POOL, ALL, UTC)
    counts = {kind: len({one[kind] for one in attempts} - {None}) for kind in KINDS}
    several = [kind for kind in KINDS if min(counts[kind], counts["user"]) > 1]
    assert log.kinds == several
    usage = None if shares is None else log.usage(shares, *by[:2])._replace(much=by[2])
    marked = pl.Series([marks.get(k) for k in range(frame_.height)], dtype=pl.Int64)
    for kind in several:
        for own in (False, True):
            why = Unstarted() if own else Unstarted(held, forbidden, marked)
            twins = [{**one, "marked_from": None} for one in attempts] if own else attempts
            expected = naive.paired(
                *(twins, kind, () if own else places, None if own else shares, most, own),
                usage_by=by,
            )
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(of_pairs, "MOST_RIVALS", most)
                found = paired(log, kind, None if own else usage, why, own=own).attempts
            got = {row["row"]: row for row in found.to_dicts()}
            assert set(got) == {attempts[k]["row"] for k in expected}
            for k, one in expected.items():
                row = got[attempts[k]["row"]]
                assert row["entity"] == attempts[k][kind]
                for name in naive.Paired._fields:
                    assert close(row[name], getattr(one, name)), name


@given(logs)
@settings(max_examples=examples(60))
def test_what_is_stated_of_entities_is_as_defined(records: list[Record]) -> None:
    least = (2, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tested, "LEAST", least)
        patch.setattr(passed_over, "follows_usage", lambda _: False)
        frame_ = described(records)
        got = of_period(frame_, POOL, ALL, UTC)
    attempts = _twin(frame_, {})
    for kind in ("user", "partition", "qos"):
        expected = naive.judged(attempts, kind, least)
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
