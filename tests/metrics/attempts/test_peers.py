"""Peers: by hand, against the slow twin, and what must not change them."""

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.kernels.peers import mean_peer_waits
from audit.metrics.attempts.account import Durations, account
from audit.metrics.attempts.peers import STUCK_SCHEMA, peer_waits, stuck
from audit.metrics.attempts.population import describe
from audit.model import Limit, Period, Pool, Resource, Step
from audit.registry.causes import CONTESTED
from tests.examples import examples
from tests.naive import peers as naive
from tests.naive.attempts import close, nearest_rank
from tests.strategies import Rows, ended, frame, sampled

DAY = 86_400
HOUR = 3_600
POOL = Pool("main", Resource.cpus, 4)
ALL = [Period("all", 0, 400 * DAY)]


def parts_of(described: pl.DataFrame, pool: Pool, now: int) -> pl.DataFrame:
    """The account of attempts, without outages: a log that ends while jobs wait has one."""
    return account(described, pool, now, durations=Durations(0, 10_000 * DAY)).attempts


def measured(records: list[dict[str, Any]], periods: list[Period] = ALL) -> pl.DataFrame:
    described = describe(frame(records), [POOL])
    return peer_waits(parts_of(described, POOL, 400 * DAY), periods).sort("line")


def waits(records: list[dict[str, Any]], periods: list[Period] = ALL) -> list[float | None]:
    return measured(records, periods)["peer_wait_s"].to_list()


def crowd(day: float = 0, users: int = 3, each: int = 7, **more: Any) -> list[dict[str, Any]]:
    """Attempts of users u0, u1, …, of which the k-th waits 60·k seconds."""
    at = int(day * DAY)
    return [
        ended(at, at + 60 * k, at + 60 * k + 100, 1, f"u{k}", walltime_s=HOUR, **more)
        for k in range(users)
        for _ in range(each)
    ]


MINE = ended(0, 500, 600, 1, "ann", walltime_s=HOUR)


def test_the_mean_of_users_means() -> None:
    assert waits([MINE, *crowd()])[0] == 60.0  # of 0, 60 and 120
    one_more_often = [MINE, *crowd(), *crowd(users=1, each=50)]
    assert waits(one_more_often)[0] == 60.0
    assert waits([MINE, *crowd(users=4)])[0] == 90.0


def test_too_few_or_of_too_few_users() -> None:
    assert waits([MINE, *crowd(each=6)])[0] is None  # 18
    assert waits([MINE, *crowd(users=2, each=50)])[0] is None
    assert waits([MINE, *crowd(users=2, each=50), *crowd(users=3, each=1)])[0] == 60.0


def test_own_attempts_are_no_peers() -> None:
    own = [ended(0, 5_000, 5_100, 1, "ann", walltime_s=HOUR) for _ in range(30)]
    assert waits([MINE, *own, *crowd()])[0] == 60.0


@pytest.mark.parametrize(
    ("other", "peer_wait"),
    [
        ({"partition": "long"}, 60.0),  # too few in its place: any
        ({"qos": "high"}, 60.0),
        ({"walltime_s": HOUR + 1}, None),
        ({"walltime_s": None}, None),
        ({"cpus": 2}, None),
        ({"reason": "JobHeldUser"}, 60.0),  # evidence of one instant only, when none fitted
        ({"reservation": "course"}, None),
        ({"user": None}, None),
    ],
)
def test_who_is_alike(other: dict[str, Any], peer_wait: float | None) -> None:
    assert waits([MINE, *({**one, **other} for one in crowd())])[0] == peer_wait


def test_its_own_place_comes_first_and_then_what_is_near() -> None:
    near = [{**one, "partition": "long", "start_time": 4 * DAY} for one in crowd()]
    for one in near:
        one["end_time"] = 4 * DAY + 1
    assert waits([MINE, *crowd(), *near])[0] == 60.0
    assert waits([MINE, *crowd(each=6), *near])[0] == pytest.approx(
        (18 * 60 + 21 * 4 * DAY) / 39, rel=0.2
    )
    for day in (1, 7, 30):
        assert waits([MINE, *crowd(day)])[0] == 60.0
        later = crowd(day + 1 / DAY)
        assert waits([MINE, *later])[0] == (60.0 if day < 30 else None)
    assert waits([MINE, *crowd(1), *crowd(2, users=9)])[0] == 60.0


def test_peers_ended_before_the_period_did() -> None:
    months = [Period("one", 0, 10 * DAY), Period("two", 10 * DAY, 20 * DAY)]
    early, late = crowd(9), crowd(11, users=4)
    mine = {**MINE, "submit_time": 9 * DAY, "start_time": 9 * DAY, "end_time": 9 * DAY + 1}
    assert waits([mine, *early, *late], months)[0] == 60.0
    assert waits([mine, *late], months)[0] is None
    assert waits([mine, *late])[0] == 90.0
    next_month = {**mine, "end_time": 10 * DAY}
    assert waits([next_month, *late], months)[0] == 90.0
    long_after = {**mine, "end_time": 30 * DAY}  # in no current period
    assert waits([long_after, *late], months)[0] == 90.0


def test_open_and_never_started_ones_have_peers_but_are_none() -> None:
    gone = {"submit_time": 0, "end_time": 900, "cpus": 1, "user": "bob", "walltime_s": HOUR}
    waiting = {"submit_time": 0, "cpus": 1, "user": "cem", "state": "PENDING", "walltime_s": HOUR}
    assert waits([gone, waiting, *crowd()])[:2] == [60.0, 60.0]
    assert waits([MINE, *crowd(each=6), gone, waiting])[0] is None
    assert waits([{**MINE, "user": None}, *crowd()])[0] is None


@st.composite
def _record(draw: st.DrawFn) -> dict[str, Any]:
    arrival = draw(sampled([0, 0, 1, 5, 9, 33])) * DAY + draw(st.integers(0, 3)) * HOUR
    start = arrival + draw(sampled([0, 0, 7, 100, 3 * DAY]))
    record = ended(arrival, start, start + draw(sampled([0, 1, DAY])), 1)
    record |= {
        "user": draw(sampled(["ann", "bob", "cem", "dot", "eve", None])),
        "cpus": draw(sampled([1, 1, 1, 1, 2, None])),
        "walltime_s": draw(sampled([HOUR, HOUR, HOUR, 60, None, 2 * DAY])),
        "partition": draw(sampled(["short", "short", None])),
        "qos": draw(sampled([None, None, "high"])),
    }
    if draw(st.integers(0, 9)) == 0:
        record |= {"start_time": None, "state": "CANCELLED"}
    return record


logs = st.lists(st.tuples(_record(), st.sampled_from([1, 1, 4, 9])), min_size=6, max_size=24).map(
    lambda drawn: [dict(record) for record, times in drawn for _ in range(times)]
)
_MONTHS = [Period("one", 0, 6 * DAY), Period("two", 6 * DAY, 34 * DAY)]


def as_defined(records: Rows, periods: list[Period]) -> None:
    got = measured(records, periods).to_dicts()
    held = [
        {**row, "arrival": row["arrival_time"], "wait": row["wait_s"], "end": row["end_time"]}
        for row in got
    ]
    for row, j in zip(got, held, strict=True):
        before = [p.to_time for p in periods if p.from_time <= j["end"] < p.to_time]
        peers = naive.peers_of(j, held, before[0] if before and periods != ALL else None)
        known = peers is not None and j["user"] is not None
        assert close(row["peer_wait_s"], naive.mean_wait(peers) if known and peers else None)


@given(logs, st.sampled_from([ALL, _MONTHS]))
@settings(max_examples=examples(40))
def test_as_defined(records: Rows, periods: list[Period]) -> None:
    as_defined(records, periods)


@given(logs, st.randoms(use_true_random=False))
@settings(max_examples=examples(20))
def test_rows_and_names_and_the_epoch_change_nothing(records: Rows, random: st.DataObject) -> None:
    parts = parts_of(describe(frame(records), [POOL]), POOL, 400 * DAY)
    before = peer_waits(parts, ALL).sort("line")
    order = list(range(parts.height))
    random.shuffle(order)  # type: ignore[attr-defined]
    got = peer_waits(parts[order], ALL).sort("line")
    for one, other in zip(got["peer_wait_s"], before["peer_wait_s"], strict=True):
        assert close(one, other)
    moved = parts.with_columns(pl.col("^.*_time$") + 1_000, "x" + pl.col("user"))
    again = peer_waits(moved, ALL).sort("line")
    assert again["peer_wait_s"].equals(before["peer_wait_s"])


def test_those_of_another_kind_change_not_even_the_last_bit() -> None:
    """In which order kinds are gone through is left to chance."""
    random = np.random.default_rng(4)
    kind = np.repeat([0, 1], 300)
    arrival = np.tile(np.sort(random.integers(0, 20 * DAY, 300)), 2)
    wait = random.integers(0, 10_000, 600) * np.where(kind == 0, 10**12, 1)
    user = random.integers(0, 7, 600)

    def of(rows: slice) -> list[float]:
        out = np.full(600, np.nan)[rows]
        held = (kind[rows], arrival[rows], wait[rows], user[rows], np.full(600, True)[rows])
        mean_peer_waits(*held, DAY, 3, 2, out)
        return [float(mean) for mean in out]

    assert of(slice(None))[300:] == of(slice(300, None))


def test_none_at_all() -> None:
    assert measured([])["peer_wait_s"].to_list() == []


ROOMY = Pool("main", Resource.cpus, 100)
NOW = 5 * HOUR

Record = dict[str, Any]
PEERS = crowd()
"""21 attempts of three users that waited 0, 60 or 120 s, and ran at the same time."""


def found(
    *records: Record, pool: Pool = ROOMY, periods: list[Period] = ALL, tolerance_s: int = 60
) -> pl.DataFrame:
    described = describe(frame([*records]), [pool])
    parts = parts_of(described, pool, NOW)
    got = stuck(parts, pool, NOW, periods, tolerance_s)
    assert got.schema == STUCK_SCHEMA
    return got


def gone(after: int, **more: Any) -> Record:
    record = {"submit_time": 0, "end_time": after, "cpus": 1, "user": "ann", "walltime_s": HOUR}
    return {**record, "state": "CANCELLED", **more}


def pending(**more: Any) -> Record:
    return gone(0, end_time=None, state="PENDING", **more)


def causes(*records: Record, pool: Pool = ROOMY) -> list[str | None]:
    return found(*records, *PEERS, pool=pool)["cause"].to_list()


def test_beyond_the_95th_percentile_by_more_than_the_tolerance() -> None:
    assert found(gone(180), *PEERS).is_empty()
    assert found(gone(181), *PEERS).rows() == [("1", 1, 181, 120, 21, "unexplained")]
    assert found(gone(121), *PEERS, tolerance_s=0)["waited_s"].to_list() == [121]
    assert found(gone(120), *PEERS, tolerance_s=0).is_empty()


def test_the_percentile_is_that_of_attempts() -> None:
    # 100 peers, five of which waited an hour: the 95th waited 120 s; with six, an hour.
    long = [ended(0, HOUR, HOUR + 1, 1, "u0", walltime_s=HOUR) for _ in range(6)]
    rest = [ended(0, 120, 121, 1, f"u{k % 3}", walltime_s=HOUR) for k in range(95)]
    assert found(gone(200), *rest, *long[:5])["peer_p95_s"].to_list() == [120]
    assert found(gone(200), *rest[:94], *long).is_empty()


def test_who_still_waits_waits_until_now_and_the_furthest_comes_first() -> None:
    got = found(gone(500), pending(), gone(900), *PEERS)
    assert got["waited_s"].to_list() == [NOW, 900, 500]


def test_without_enough_peers_nobody_can_say() -> None:
    assert found(pending(), *PEERS[:-3]).is_empty()
    assert found(pending(user=None), *PEERS).is_empty()
    assert found(pending(cpus=2), *PEERS).is_empty()


def test_a_period_knows_nothing_of_later_peers_but_who_still_waits_does() -> None:
    periods = [Period("one", 0, 1_000), Period("two", 1_000, DAY)]
    later = [{**one, "start_time": 2_000, "end_time": 2_001} for one in PEERS]
    assert found(gone(900), *later, periods=periods).is_empty()
    assert found(gone(3_000), *later, periods=periods)["peer_p95_s"].to_list() == [2_000]
    assert found(pending(), *later, periods=periods)["peer_p95_s"].to_list() == [2_000]


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
    down = ROOMY._replace(steps=(Step(200, (("cpus", 0),)),))
    assert causes(gone(1_000), pool=down) == ["unavailable"]


def test_larger_than_the_pool_ever_is() -> None:
    peers = [{**one, "cpus": 3} for one in PEERS]
    small = ROOMY._replace(capacity=2)
    assert found(gone(500, cpus=3), *peers, pool=small)["cause"].to_list() == ["exceeds_capacity"]
    grown = small._replace(steps=(Step(9_000, (("cpus", 3),)),))
    assert found(gone(500, cpus=3), *peers, pool=grown)["cause"].to_list() == ["unavailable"]


@given(logs, st.integers(0, 3))
@settings(max_examples=examples(30))
def test_who_is_stuck_is_as_defined(records: Rows, late: int) -> None:
    records = [*records, *(pending(submit_time=k * HOUR, partition="short") for k in range(late))]
    described = describe(frame(records), [ROOMY])
    now = 40 * DAY
    got = stuck(parts_of(described, ROOMY, now), ROOMY, now, ALL, 60)
    held = [
        {**row, "arrival": row["arrival_time"], "wait": row["wait_s"], "end": row["end_time"]}
        for row in described.to_dicts()
    ]
    expected = {}
    for j in held:
        if j["start_time"] is None and j["user"] is not None:
            waited = (now if j["end"] is None else j["end"]) - j["arrival"]
            peers = naive.peers_of(j, held, None)
            waits = sorted(k["wait"] for k in peers or [])
            limit = nearest_rank(waits, Fraction(95, 100)) if waits else waited
            if peers and waited > limit + 60:
                expected[j["job_id"]] = (waited, limit, len(peers))
    found_ = {row[0]: row[2:5] for row in got.rows()}
    assert found_ == expected
    beyond = [row[2] - row[3] for row in got.rows()]
    assert beyond == sorted(beyond, reverse=True)


def test_nobody_is_stuck_where_nothing_is() -> None:
    assert found().is_empty()


def booked(records: Rows, waits_: list[tuple[float, float]]) -> pl.DataFrame:
    """Return attempts with these waits claimed by others, and under a rule."""
    parts = parts_of(describe(frame(records), [POOL]), POOL, 400 * DAY).sort("line")
    claimed, ruled = zip(*waits_, strict=True)
    return parts.with_columns(
        pl.lit(0.0).alias(name) for name in (*CONTESTED, "cause_held_s")
    ).with_columns(
        cause_claimed_s=pl.Series(claimed, dtype=pl.Float64),
        cause_rule_s=pl.Series(ruled, dtype=pl.Float64),
    )


def test_the_contested_wait_of_peers() -> None:
    records = [MINE, *crowd()]
    thirds = [(one["start_time"] / 3, 0.0) for one in records]
    got = peer_waits(booked(records, thirds), ALL)
    assert got.select("peer_wait_s", "peer_contested_s").row(0) == (60.0, 20.0)


def test_who_was_under_a_rule_for_more_than_half_of_its_wait_is_no_peer() -> None:
    records = [MINE, *crowd(users=4)]
    half = [(0.0, 90.0 if one["start_time"] == 180 else 0.0) for one in records]
    assert peer_waits(booked(records, half), ALL)["peer_wait_s"][0] == 90.0
    more = [(0.0, 91.0 if one["start_time"] == 180 else 0.0) for one in records]
    got = peer_waits(booked(records, more), ALL)
    assert got.select("peer_wait_s", "peer_contested_s").row(0) == (60.0, 0.0)


def test_the_same_rules_apply_to_peers() -> None:
    rules = [Limit(most=1, user=("u3",)), Limit(most=9)]
    records = [MINE, *crowd(users=4)]
    parts = parts_of(describe(frame(records), [POOL]), POOL, 400 * DAY)
    assert peer_waits(parts, ALL)["peer_wait_s"][0] == 90.0
    assert peer_waits(parts, ALL, rules)["peer_wait_s"][0] == 60.0
