"""What an owner would hold, and the limits that show in it."""

from dataclasses import replace

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from audit.model import Limit, Scope
from audit.scenario.fit import levels
from audit.scenario.fit.observed import Observed, Trials, observe, trials_of
from audit.scenario.fit.observed import first_room as when_first
from tests.naive import fit as naive
from tests.oneoff.fit_policy.made import EPOCH, NOW, assumed, described

attempts = st.lists(
    st.tuples(
        st.integers(0, 20), st.integers(0, 9), st.integers(1, 5), st.sampled_from(["ann", "bob"])
    ),
    min_size=1,
    max_size=12,
)


def log(found: list[tuple[int, int, int, str]]) -> Observed:
    """Attempts that start at once: start, occupancy, size, user."""
    records = [
        {"submit_time": EPOCH + start, "start_time": EPOCH + start, "cpus": size, "user": user}
        | {"end_time": EPOCH + start + occupancy}
        for start, occupancy, size, user in found
    ]
    return observe(described(records), assumed(), NOW)


@given(attempts, st.integers(-2, 32))
def test_levels_are_those_of_the_definition(
    found: list[tuple[int, int, int, str]], at: int
) -> None:
    observed = log(found)
    work, users = observed.work, observed.frame["user"].to_list()
    count = len(found)
    group = levels.group_of(observed, "user")
    nothing = np.zeros(count, np.int64)
    trials = Trials(np.arange(count), np.full(count, EPOCH + at), nothing > 0, nothing)
    everybody = np.ones(count, np.bool_)
    got = levels.level(work, group, everybody, work.request, trials)
    plain = list(
        zip(work.start.tolist(), work.end.tolist(), work.request.tolist(), users, strict=True)
    )
    assert got.tolist() == [naive.held(plain, who, EPOCH + at) for who in range(count)]


def test_a_limit_of_two_by_hand() -> None:
    """Ann submits six at once, every day; two run at a time, though there is room for all."""
    records = []
    for day in range(10):
        submit = EPOCH + day * 86_400
        for number in range(6):
            start = submit + number // 2 * 3_600
            records.append(
                {"submit_time": submit, "start_time": start, "end_time": start + 3_600}
                | {"cpus": 1, "user": "ann"}
            )
        records.append(
            {"submit_time": submit, "start_time": submit, "end_time": submit + 60}
            | {"cpus": 8, "user": "bob"}
        )
    observed = observe(described(records), assumed(), NOW)
    trials = trials_of(observed.work, observed.judged, when_first(observed))
    everybody = np.ones(len(records), np.bool_)
    found = levels.limits(observed, trials, [(Scope(), everybody)])
    by_user = [one for one in found if one.limit.per == "user" and one.limit.resource is None]
    assert [one.limit for one in by_user] == [Limit(most=2, per="user")]
    assert by_user[0].split.served == 0
    # of the four that wait, two wait an hour and two wait two
    assert by_user[0].explained == 10 * (2 * 3_600 + 2 * 7_200)


def test_an_unknown_owner_is_in_no_group() -> None:
    observed = log([(0, 5, 1, "ann"), (1, 5, 1, "bob")])
    observed = replace(
        observed, frame=observed.frame.with_columns(user=pl.Series([None, "bob"], dtype=pl.String))
    )
    assert levels.numbered(observed, "user").tolist() == [levels.NO_GROUP, 0]
