"""What was tried comes back as it was kept."""

from audit.model import Limit, Policy, Scope, Window
from audit.oneoff.fit_policy import kept
from audit.scenario.fit.days import Ceiling
from audit.scenario.fit.search import Gain, Tried
from audit.scenario.fit.site import Element, Evidence, Kind
from audit.words import Backfill, Order

ELEMENTS = (
    Element(Kind.policy, policy=Policy(Order.sjf, Backfill.easy, depth=3, interval_s=60)),
    Element(
        Kind.window,
        Evidence(7, 2, 1),
        window=Window((1, 2), Scope(partition='a "b"', size_up_to=4)),
        zone="UTC",
    ),
    Element(Kind.limit, limit=Limit(3, "cpus", "user", Scope(user=("a", "b")), ("free",))),
    Element(Kind.capacity, ceilings=(Ceiling(1, 2, 3, 4), Ceiling(5, 6, 7, 8))),
    Element(Kind.chain, users=("ann", "b\n<i>")),
    Element(Kind.nodes, nodes=12),
)


def test_what_was_tried_comes_back() -> None:
    tried = [
        Tried(number, 1, element, Gain(0.1, None, 0.2), 0.3, kept=number % 2 == 0)
        for number, element in enumerate(ELEMENTS)
    ]
    assert kept.from_frame(kept.as_frame(tried)) == tried
    assert kept.from_frame(kept.as_frame([])) == []
