"""Elements of a site: in words, and as rows that are read again."""

from datetime import date

import pytest

from audit.model import Policy, Window
from audit.oneoff.fit_policy import elements
from audit.policies import Backfill, Order
from audit.scenario.fit.days import Ceiling
from audit.scenario.fit.search import Gain, Searched, Tried
from audit.scenario.fit.site import Ahead, Element, Evidence, Kind, Site
from tests.oneoff.fit_policy.made import pool
from tests.oneoff.fit_policy.test_plan import OFFICE

ELEMENTS = {
    "Order sjf, backfilling easy, with a depth of 5 and passes, in s, every 600": Element(
        Kind.policy, policy=Policy(Order.sjf, Backfill.easy, depth=5, interval_s=600)
    ),
    "Closed hours Mon–Fri 08–17 (UTC+1 all year) for jobs over 4 h in partition long": Element(
        Kind.window,
        Evidence(7, 2, 1),
        window=Window(hours=OFFICE, partition=("long",), walltime_above_s=14400),
        zone="Etc/GMT-1",
    ),
    'Hours Mon 01–03 (Europe/Berlin) that jobs up to 4 CPUs in partition a "b" may not run into '
    "from 2024-02-01": Element(
        Kind.window,
        window=Window(
            hours=(1, 2),
            partition=('a "b"',),
            size_up_to=4,
            overlap=True,
            valid_from=date(2024, 2, 1),
        ),
    ),
    "The capacity was smaller on 2 days": Element(
        Kind.capacity, ceilings=(Ceiling(0, 2 * 86_400, 5, 1),)
    ),
    "Each of 8 nodes runs one job at a time": Element(Kind.nodes, nodes=8),
    "Jobs in partition a, b go before others": Element(
        Kind.queue, ahead=Ahead("partition", ("a", "b"))
    ),
}


@pytest.mark.parametrize("expected", ELEMENTS)
def test_elements_in_words(expected: str) -> None:
    assert elements.described(ELEMENTS[expected], "cpus", "Europe/Berlin") == expected


@pytest.mark.parametrize("ended", [False, True])
def test_what_was_tried_comes_back(ended: bool) -> None:
    tried = [
        Tried(element, Gain(0.1, None, 0.2) if number % 2 else None, 0.3, "bound" * (number % 3))
        for number, element in enumerate(ELEMENTS.values())
    ]
    found = Searched(Site(pool()), tuple(tried), ended)
    assert elements.from_frame(elements.as_frame(found)) == (tried, ended)
    assert elements.from_frame(elements.as_frame(None)) == ([], False)
