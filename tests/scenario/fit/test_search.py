"""The search finds the policy and the rules that made a log, and invents none."""

from typing import Any

import pytest

from audit.metrics.draws import Draws
from audit.model import Limit, Policy, Step, Window
from audit.policies import Backfill, Order
from audit.scenario.fit import outcome
from audit.scenario.fit.site import Ahead, Element, Kind
from tests.oneoff.fit_policy import made
from tests.oneoff.fit_policy.made import CAPACITY, DAY, EPOCH, NOW, pool

OFFICE = tuple(day * 24 + hour for day in range(5) for hour in range(8, 17))
LONG = 4 * 3_600
DRAINED = tuple(
    step
    for first in (5, 33, 55)
    for step in (
        Step(EPOCH + first * DAY, (("cpus", 40),)),
        Step(EPOCH + (first + 7) * DAY, (("cpus", CAPACITY),)),
    )
)


def found(name: str, seed: int) -> list[object]:
    """Return the elements that are kept on a log made by a site."""
    busier = {"no_guarantee": 70}  # the difference shows only while jobs wait
    requests = made.requests(seed, a_day=busier.get(name, 45))
    return [essence(one) for one in kept(made.made_by(SITES[name], requests))]


def kept(log: Any) -> list[Element]:
    found = outcome.find(log, made.assumed(), NOW, 30, Draws(1, 300))
    assert found is not None
    return [one.element for one in found.tried if one.kept]


SITES = {
    "as assumed": pool(),
    "none": pool(Policy(Order.fcfs, Backfill.none)),
    "no_guarantee": pool(Policy(Order.fcfs, Backfill.no_guarantee)),
    "sjf": pool(Policy(Order.sjf, Backfill.easy)),
    "depth": pool(Policy(depth=3)),
    "interval": pool(Policy(interval_s=600)),
    "window": pool(windows=(Window(hours=OFFICE, walltime_above_s=LONG),)),
    "drained": pool(steps=DRAINED),
}


def essence(element: Element) -> object:
    """Return the part of an element that must equal the site's."""
    if element.window is not None:
        return element.window.hours
    return element.policy or (Kind.capacity if element.ceilings else element)


EXPECTED: dict[str, list[object]] = {
    name: [
        *([site.policy] if site.policy != Policy() else []),
        *(window.hours for window in site.windows),
        *([Kind.capacity] if site.steps else []),
    ]
    for name, site in SITES.items()
}


@pytest.mark.parametrize("name", ["as assumed", "sjf", "depth", "window", "drained"])
def test_the_elements_of_a_site_are_found_and_no_others(name: str) -> None:
    assert found(name, 0) == EXPECTED[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", SITES)
def test_they_are_found_in_nineteen_of_twenty_logs(name: str) -> None:
    assert sum(found(name, seed) == EXPECTED[name] for seed in range(20)) >= 19


@pytest.mark.parametrize(("by", "name"), [("partition", "b"), ("qos", "y")])
def test_the_jobs_that_a_queue_serves_first_are_found(by: Any, name: str) -> None:
    [element] = kept(made.by_priority(0, **{by: name}))
    assert element.ahead == Ahead(by, (name,))


def test_equal_partitions_have_no_priority() -> None:
    assert kept(made.by_priority(0)) == []


@pytest.mark.slow
def test_queue_priorities_of_twenty_logs() -> None:
    logs = [kept(made.by_priority(seed, partition="b")) for seed in range(20)]
    assert sum([one.ahead for one in found] == [Ahead("partition", ("b",))] for found in logs) >= 19
    assert sum(any(one.ahead for one in kept(made.by_priority(seed))) for seed in range(20)) <= 1


def test_an_interval_is_found_in_the_latest_part_of_a_log() -> None:
    log = made.made_by(SITES["interval"], made.requests(0))
    since = EPOCH + 25 * DAY + 123  # no multiple since the first arrival of all
    found = outcome.find(log, made.assumed(), NOW, 30, Draws(1, 300), since=since)
    assert found is not None
    assert [essence(one.element) for one in found.tried if one.kept] == [SITES["interval"].policy]


@pytest.mark.thorough
def test_two_rules_and_a_policy_are_found_together() -> None:
    site = pool(
        Policy(Order.sjf, Backfill.easy),
        limits=(Limit(most=4, per="user"),),
        windows=(Window(hours=OFFICE, walltime_above_s=LONG),),
    )
    log = made.made_by(site, made.requests(3))
    found = {essence(one) for one in kept(log)}
    limits = {one for one in found if isinstance(one, Limit)}
    assert found - limits == {site.policy, OFFICE}
    # the limit of a partition holds too, and books more while jobs of the other wait for hours
    assert {(one.most, one.per, one.resource) for one in limits} == {(4, "user", None)}


@pytest.mark.slow
def test_whole_nodes_are_found() -> None:
    site = pool(exclusive_nodes=True)._replace(amounts=(("cpus", CAPACITY), ("nodes", 8)))
    log = made.made_by(site, made.requests(1))
    assert [one.nodes for one in kept(log)] == [8]


@pytest.mark.slow
def test_the_result_does_not_depend_on_names() -> None:
    site = SITES["jobs of a user"]
    records = made.requests(2)
    renamed = [record | {"user": f"x{record['user']}"[::-1]} for record in records]
    assert kept(made.made_by(site, records)) == kept(made.made_by(site, renamed))
