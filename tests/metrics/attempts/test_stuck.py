"""Who is stuck, and why."""

from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics.attempts.anatomy import anatomy
from audit.metrics.attempts.stuck import STUCK_SCHEMA, stuck
from audit.metrics.attempts.population import describe
from audit.model import Period, Pool, Resource, Step
from tests.examples import examples
from tests.metrics.attempts.peers.test_waits import ALL, DAY, HOUR, crowd, logs
from tests.naive import peers as naive
from tests.naive.attempts import nearest_rank
from tests.strategies import Rows, ended, frame

POOL = Pool("main", Resource.cpus, 100)
NOW = 5 * HOUR

Record = dict[str, Any]
PEERS = crowd()
"""21 attempts of three users that waited 0, 60 or 120 s, and ran at the same time."""


def found(
    *records: Record, pool: Pool = POOL, periods: list[Period] = ALL, tolerance_s: int = 60
) -> pl.DataFrame:
    described = describe(frame([*records]), [pool])
    parts = anatomy(described, pool, NOW)
    got = stuck(parts, pool, NOW, periods, tolerance_s)
    assert got.schema == STUCK_SCHEMA
    return got


def gone(after: int, **more: Any) -> Record:
    record = {"submit_time": 0, "end_time": after, "cpus": 1, "user": "ann", "walltime_s": HOUR}
    return {**record, "state": "CANCELLED", **more}


def pending(**more: Any) -> Record:
    return gone(0, end_time=None, state="PENDING", **more)


def causes(*records: Record, pool: Pool = POOL) -> list[str | None]:
    return found(*records, *PEERS, pool=pool)["cause"].to_list()


def test_beyond_the_95th_percentile_by_more_than_the_tolerance() -> None:
    assert found(gone(180), *PEERS).is_empty()
    assert found(gone(181), *PEERS).rows() == [("1", 1, 181, 120, 21, "room")]
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


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("QOSMaxJobsPerUserLimit", "reason"),
        ("ReqNodeNotAvail", "reason"),
        ("Priority", "room"),
        ("Resources", "room"),
        ("None", "room"),
        (None, "room"),
    ],
)
def test_the_recorded_reason_comes_first(reason: str | None, cause: str) -> None:
    assert causes(gone(1_000, reason=reason)) == [cause]


def test_where_the_wait_was_spent() -> None:
    def full(user: str, start: int = 0) -> Record:
        return ended(start, start, start + 4_000, 100, user)

    assert causes(full("ann"), gone(1_000)) == ["own"]
    assert causes(full("bob"), gone(1_000)) == ["others"]
    wide = ended(0, 2_000, 2_001, 100, "bob")  # it comes first, and takes all there is
    assert causes(wide, gone(1_000)) == ["others"]
    down = POOL._replace(steps=(Step(200, (("cpus", 0),)),))
    assert causes(gone(1_000), pool=down) == ["down"]


def test_larger_than_the_pool_ever_is() -> None:
    peers = [{**one, "cpus": 3} for one in PEERS]
    small = POOL._replace(capacity=2)
    assert found(gone(500, cpus=3), *peers, pool=small)["cause"].to_list() == ["exceeds_capacity"]
    grown = small._replace(steps=(Step(9_000, (("cpus", 3),)),))
    assert found(gone(500, cpus=3), *peers, pool=grown)["cause"].to_list() == ["down"]


@given(logs, st.integers(0, 3))
@settings(max_examples=examples(30))
def test_as_defined(records: Rows, late: int) -> None:
    records = [*records, *(pending(submit_time=k * HOUR, partition="short") for k in range(late))]
    described = describe(frame(records), [POOL])
    now = 40 * DAY
    got = stuck(anatomy(described, POOL, now), POOL, now, ALL, 60)
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


def test_none_at_all() -> None:
    assert found().is_empty()
