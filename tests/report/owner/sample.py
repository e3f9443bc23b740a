"""The record of the page of a user, by hand."""

from audit.metrics.disclosure import PARTS
from audit.report.judgement.levels import Level
from audit.report.judgement.page_one import Trust
from audit.report.record.owner import (
    Everybody,
    Ground,
    LongWait,
    OwnerContents,
    OwnerPart,
    WaitPart,
)
from audit.report.record.page import DEFAULT, Who
from audit.report.record.pool import Figure
from tests.report import sample
from tests.report.sample import figure

ANN = Who("user", "ann")
HOUR = 3_600


def part(ratio: Figure | None = None, *, burst: bool = False) -> OwnerPart:
    ratio = ratio or figure("peer_ratio", 1.5, 0.8, 2.0)
    return OwnerPart(
        Ground("batch", "cpus"),
        figure("wait_mean", 5.0 * HOUR, 4.0 * HOUR, 6.0 * HOUR, "s"),
        *(100, 100, 0, 0, 500 * HOUR),
        everybody=Everybody(4, 2.0 * HOUR, 10_000.0 * HOUR),
        ratio=ratio,
        excess=figure("excess_wait", ((ratio.value or 1) - 1) * 40 * HOUR, None, None, "s"),
        burst=burst,
        used_share=0.1,
        parts=tuple(
            WaitPart(part, share, share / 3)
            for part, share in zip(PARTS, (0.6, 0.0, 0.0, 0.0, 0.4, 0.0), strict=True)
        ),
        trend=None,
        longest=(),
        ways=(),
        tried=0,
    )


def owner(who: Who = ANN, *parts: OwnerPart) -> OwnerContents:
    """A page of some pools; one in which others wait as long where none are given."""
    of = sample.contents()
    return OwnerContents(
        *(who, of.cluster, of.span, parts or (part(),), (), of.provenance, DEFAULT),
        seen="0123456789abcdef",
        records=Trust(Level.PASS, "Records", "complete"),
    )


LONG = LongWait(
    *("17", 1_790_900_000, 1_790_918_000, 5 * HOUR, 8, 4 * HOUR),
    similar_wait_s=2.0 * HOUR,
    held=6.4,
)
"""A wait of 5 h."""
