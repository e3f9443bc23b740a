"""The record of the page of a user, by hand."""

from audit.report.contents import DEFAULT, Figure
from audit.report.owner.contents import (
    PARTS,
    Ground,
    LongWait,
    Meanwhile,
    OwnerContents,
    OwnerPart,
    Placed,
    WaitPart,
)
from audit.report.owner.who import Who
from audit.report.trend import Estimate
from tests.report import sample
from tests.report.sample import figure

ANN = Who("user", "ann")
HOUR = 3_600


def part(
    ratio: Figure | None = None, *, named: bool = False, flood: bool = False, beyond: float = 0.0
) -> OwnerPart:
    ratio = ratio or figure("peer_ratio", 1.5, 0.8, 2.0)
    excess = figure("excess_wait", ((ratio.value or 1) - 1) * 40 * HOUR, None, None, "s")
    flags = (figure("peer_named", float(named)), figure("peer_flood", float(flood)))
    return OwnerPart(
        Ground("batch", "cpus", 2.0 * HOUR),
        (ratio, excess, *flags, figure("consumed", 1_000.0 * HOUR)),
        figure("wait_mean", 5.0 * HOUR, 4.0 * HOUR, 6.0 * HOUR, "s"),
        *(100, 100, 0, 0, 500 * HOUR, beyond),
        parts=tuple(
            WaitPart(part, share, share * 500 * HOUR, share / 3)
            for part, share in zip(PARTS, (0.6, 0.0, 0.0, 0.0, 0.4, 0.0), strict=True)
        ),
        placed=Placed(Estimate(0.7, 0.4, 0.9), 40),
        peers_told=True,
        trend=None,
        longest=(),
        ways=(),
        tried=0,
        trust=(),
    )


def owner(who: Who = ANN, *parts: OwnerPart) -> OwnerContents:
    """A page of some pools; one in which others wait as long where none are given."""
    of = sample.contents()
    return OwnerContents(
        who, of.cluster, of.span, parts or (part(),), (), of.provenance, DEFAULT, seen=1_000
    )


LONG = LongWait(
    *("17", 1_790_900_000, 1_790_918_000, 5 * HOUR, 8, 4 * HOUR),
    parts={"room": 3.0 * HOUR, "later": 2.0 * HOUR},
    peer_wait_s=2.0 * HOUR,
    overtaken_s=None,
    meanwhile=Meanwhile(0.1, 0.6, 7, None, None),
)
"""A wait of 5 h."""
