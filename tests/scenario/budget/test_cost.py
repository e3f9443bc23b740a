"""Estimates of cost: of what they depend, and which way."""

import numpy as np
import pytest
from hypothesis import given

from audit.model import Backfill, Order, Policy
from audit.scenario.budget.cost import costs, depths, replay_cost
from tests.naive.simulation import Log
from tests.strategies import arrays, logs


@given(logs(limited=True))
def test_depth_counts_who_runs_and_waits(log: Log) -> None:
    work = arrays(log)
    depth = depths(work)
    for j, subject in enumerate(log.jobs):
        if not work.queued[j]:
            continue
        there = 0
        for k in range(len(log.jobs)):
            known = work.start[k] < 2**62
            runs = known and work.start[k] < subject.arrival < work.end[k]
            first = k < j and (work.queued[k] or (work.blocked[k] and known))
            waits = first and (work.open[k] if not known else work.start[k] >= subject.arrival)
            there += bool(runs or waits)
        assert depth[j] == there


@pytest.mark.parametrize("backfill", list(Backfill))
def test_deeper_queues_cost_more(backfill: Backfill) -> None:
    @given(logs())
    def compare(log: Log) -> None:
        work = arrays(log)
        both = costs(work, Policy(Order.fcfs, backfill))
        order = np.argsort(depths(work), kind="stable")
        for ranked in Order:
            for kind, cost in enumerate(both):
                assert (cost > 0).all()
                assert (np.diff(cost[order]) >= 0).all()
                dearer = costs(work, Policy(ranked, backfill))[kind] > cost
                assert (dearer == ((depths(work) > 0) & (ranked is not Order.fcfs))).all()

    compare()


@pytest.mark.parametrize("backfill", list(Backfill))
@pytest.mark.parametrize("order", list(Order))
def test_replays_cost_more_by_depth_and_by_length(backfill: Backfill, order: Order) -> None:
    policy = Policy(order, backfill)
    flat, deep = np.full(100, 10), np.full(100, 1_000)
    assert 0 < replay_cost(flat, policy) <= replay_cost(deep, policy)
    assert replay_cost(np.full(200, 10), policy) == pytest.approx(2 * replay_cost(flat, policy))
    assert replay_cost(flat, policy) >= replay_cost(flat, Policy(Order.fcfs, backfill))


def test_a_few_reservations_cost_less_than_all_and_more_than_one() -> None:
    depth = np.full(100, 1_000)
    replan = Policy(Order.fcfs, Backfill.conservative_replan)
    costs_of = [
        replay_cost(depth, policy) for policy in (Policy(), replan._replace(reservations=4), replan)
    ]
    assert costs_of == sorted(costs_of)
    assert len(set(costs_of)) == 3
