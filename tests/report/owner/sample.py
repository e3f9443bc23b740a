"""The record of the page of a user, by hand."""

from audit.registry.causes import CAUSES
from audit.report.contents import DEFAULT, Who
from audit.report.figures import Figure
from audit.report.owner.record import (
    AllJobs,
    Beyond,
    LongWait,
    OwnerContents,
    OwnerPart,
    Typical,
    WaitPart,
    WaitPool,
)
from audit.report.sections.changes.record import Trend
from tests.report import sample
from tests.report.sample import figure

ANN = Who("user", "ann")
HOUR = 3_600


def part(ratio: Figure | None = None, *, passed: bool = False) -> OwnerPart:
    ratio = ratio or figure("class_ratio", 1.5, 0.8, 2.0)
    return OwnerPart(
        WaitPool("batch", "cpus"),
        Typical(3 * HOUR, None if ratio.value is None else 2.0 * HOUR, 100),
        figure("wait_mean", 5.0 * HOUR, 4.0 * HOUR, 6.0 * HOUR, "s"),
        *(100, 100, 0, 0, 500 * HOUR),
        everybody=AllJobs(2.0 * HOUR, 10_000.0 * HOUR),
        ratio=ratio,
        excess=figure("excess_wait", ((ratio.value or 1) - 1) * 40 * HOUR, None, None, "s"),
        passed=passed,
        passed_why=None,
        beyond=Beyond(0.4, "whole"),
        used_share=0.1,
        parts=tuple(
            WaitPart(cause, share, share / 3)
            for cause in CAUSES
            for share in [{"unexplained": 0.6, "earlier": 0.4}.get(cause.key, 0.0)]
        ),
        trend=Trend(),
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
        records="complete",
    )


LONG = LongWait(
    *("17", 1_790_900_000, 5 * HOUR, 8, 4 * HOUR),
    similar_wait_s=2.0 * HOUR,
    held=6.4,
)
"""A wait of 5 h."""

BETTER = Trend("month", (), (Figure("wait_mean", -1_800.0, -2_400.0, -60.0),), "2026-09")
"""Waits that became shorter."""
