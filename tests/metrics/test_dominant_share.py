"""The dominant-share deficit: against the slow twin, and by hand."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any
from unittest import mock

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audit.metrics import dominant_share
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.users import by_entity
from audit.metrics.dominant_share import COLUMN, _edges, beside
from audit.model import CapacityStep, Pool, Resource
from tests.naive import dominant_share as naive
from tests.strategies import ended, frame

POOL = Pool("main", Resource.cpus, 4, amounts=(("cpus", 4), ("gpus", 2)))
END = 12
USERS = ("ann", "bob", "cem")


def got(
    records: list[dict[str, Any]],
    pool: Pool = POOL,
    span: tuple[int, int] = (0, END),
    shares: dict[str, float] | None = None,
    held: pl.DataFrame = dominant_share.NOTHING_HELD,
) -> dict[str | None, float | None]:
    described = describe(frame(records), [pool])
    entities = by_entity(described.with_columns(re_unfairness=pl.lit(0.0)), "user")
    found, _ = beside(entities, "user", described, pool, span, END, shares, held)
    return dict(found.select("entity", COLUMN).iter_rows())


attempts = st.lists(
    st.tuples(
        st.sampled_from(USERS),
        st.integers(0, 5),
        st.integers(0, 2),
        st.integers(0, 9),
        st.integers(0, 4),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=7,
)  # user, CPUs, GPUs, arrival, wait, occupancy


@given(
    jobs=attempts,
    step=st.tuples(st.integers(1, 11), st.integers(0, 6)),
    weights=st.none() | st.fixed_dictionaries(dict.fromkeys(USERS, st.integers(0, 3))),
    hold=st.tuples(st.integers(0, 9), st.integers(0, 4)),
    span=st.tuples(st.integers(0, 5), st.integers(1, 7)),
    step_s=st.integers(1, 4),
)
@example(  # all CPUs are gone
    jobs=[("ann", 4, 0, 0, 4, 1), ("bob", 0, 2, 0, 4, 1)],
    step=(1, 0),
    weights=None,
    hold=(0, 0),
    span=(0, 7),
    step_s=2,
)
def test_as_defined(
    jobs: list[tuple[str, int, int, int, int, int]],
    step: tuple[int, int],
    weights: dict[str, int] | None,
    hold: tuple[int, int],
    span: tuple[int, int],
    step_s: int,
) -> None:
    if weights and not any(weights.values()):
        weights = None
    since, cpus = step
    pool = POOL._replace(steps=(CapacityStep(since, (("cpus", cpus),)),))
    records = [
        {**ended(at, at + wait, at + wait + length, size, user), "gpus": gpus}
        for user, size, gpus, at, wait, length in jobs
    ]
    begin, length = hold
    described = describe(frame(records), [pool])
    first = described.filter(line=1).row(0, named=True)
    held = pl.DataFrame(
        {"job_id": [first["job_id"]], "attempt": [1], "begin": [begin], "end": [begin + length]}
    )
    log = [
        naive.One(
            user, (size, gpus), at, at + wait, at + wait + occupancy,
            [range(max(begin, at), min(begin + length, at + wait))] if k == 0 else [],
        )
        for k, (user, size, gpus, at, wait, occupancy) in enumerate(jobs)
    ]  # fmt: skip
    seconds = range(span[0], min(sum(span), END))
    capacity = {t: (cpus if t >= since else 4, 2) for t in seconds}
    want = naive.deficits(log, capacity, weights or dict.fromkeys(USERS, 1))
    shares = None if weights is None else {name: float(w) for name, w in weights.items()}
    found = got(records, pool, (span[0], sum(span)), shares, held)
    assert found == {name: pytest.approx(float(of), abs=1e-9) for name, of in want.items()}
    described = described.with_columns(account="user", re_unfairness=pl.lit(0.0))
    entities = by_entity(described, "account")
    of = (described, pool, (span[0], sum(span)), END, shares, held)
    with mock.patch.object(dominant_share, "STEPS_S", (step_s,)):
        filled, curves = beside(entities, "account", *of)
    assert dict(filled.select("entity", COLUMN).iter_rows()) == found
    each = naive.seconds(log, capacity, weights or dict.fromkeys(USERS, 1))
    steps = [[*seconds][k : k + step_s] for k in range(0, len(seconds), step_s)]
    wanted = [
        (
            name,
            *(step[0], step[-1] + 1),
            *(_mean(each[t][name].held for t in step), _mean(each[t][name].entitled for t in step)),
            float(sum(each[t][name].lacks for t in step)),
        )
        for name in sorted({one.owner for one in log})
        for step in steps
        if any(each[t][name].held or each[t][name].entitled for t in step)
    ]
    rows = curves.rows()
    assert [row[:3] for row in rows] == [row[:3] for row in wanted]
    for row, exact in zip(rows, wanted, strict=True):
        assert row[3:] == pytest.approx(exact[3:], abs=1e-9)


def _mean(values: Iterable[Fraction]) -> float:
    every = list(values)
    return float(sum(every) / len(every))


@pytest.mark.parametrize(("days", "hours"), [(1, 1), (104, 1), (105, 3), (400, 6), (3_000, 168)])
def test_long_times_have_longer_steps(days: int, hours: int) -> None:
    edges = _edges(7, 7 + days * 86_400)
    assert edges[1] - edges[0] == hours * 3_600
    assert (edges[0], edges[-1]) == (7, 7 + days * 86_400)
    assert len(_edges(7, 7)) == 0


def test_a_user_who_waits_beside_one_who_holds_all_lacks_half() -> None:
    records = [ended(0, 0, 10, 4, "ann"), ended(0, 10, 12, 4, "bob")]
    assert got(records) == {"ann": 0.0, "bob": 5.0}
    # ann has three quarters of the site's shares, bob a quarter
    assert got(records, shares={"ann": 3.0, "bob": 1.0}) == {"ann": 0.0, "bob": 2.5}


def test_different_resources_do_not_compete() -> None:
    # bob wants all GPUs, which are free, and ann has all CPUs: he lacks the whole dominant share.
    records = [
        ended(0, 0, 10, 4, "ann"),
        {**ended(0, 10, 12, 0, "bob"), "gpus": 2},
    ]
    assert got(records) == {"ann": 0.0, "bob": 10.0}


def test_without_a_name_there_is_no_deficit() -> None:
    assert got([{**ended(0, 5, 10, 4), "user": None}]) == {None: None}
