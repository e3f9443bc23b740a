"""Kinds of made sites with planted limits, without limits, and with an order that may hurt someone.

The truth of a kind is in its fields: ``rules`` and ``closed`` (which, for whom, at which level),
``withheld``, and ``first`` and ``last`` (whose jobs come before or after all others).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from bench.logs.sites.kinds import (
    DAY,
    HELD,
    HOUR,
    RELEASED,
    ClosedHours,
    DrainPlan,
    HoldHabit,
    NodeClass,
    SiteKind,
    Traffic,
    TrueRule,
)

USUAL: Final = Traffic(
    load=(0.55, 0.7),
    jobs=7_000,
    bursts=0.1,
    partitions=(("batch", 0.8), ("debug", 0.2)),
    qos=(("normal", 0.7), ("long", 0.3)),
)
SITE: Final = SiteKind(traffic=USUAL)
IN_DEBUG: Final = ("partition", "debug")
OFFICE: Final = tuple(day * 24 + hour for day in range(5) for hour in range(8, 17))
NIGHT: Final = tuple(
    day * 24 + hour for day in range(7) for hour in (0, 1, 2, 3, 4, 5, 20, 21, 22, 23)
)
LONG: Final = ClosedHours(OFFICE, walltime_above_s=4 * HOUR)
WIDE: Final = ClosedHours(OFFICE, size_above=8)
DECOYS: Final = replace(
    SITE,
    chains=0.1,
    arrays=0.1,
    scripts=0.1,
    holds=(replace(HELD, share=0.04), replace(RELEASED, share=0.08)),
    drains=DrainPlan(times=4),
)
GPUS: Final = replace(
    SITE,
    capacity=512,
    classes=(NodeClass("cpu", 0.5), NodeClass("a100", 0.25, 8), NodeClass("h100", 0.25, 8)),
)


def _limited(*rules: TrueRule) -> SiteKind:
    return replace(SITE, rules=rules)


PLANTED: Final[Mapping[str, SiteKind]] = {
    "jobs of a user": _limited(TrueRule(6)),
    "CPUs of a user": _limited(TrueRule(64, "cpus")),
    "CPUs × time of a user": _limited(TrueRule(64 * 36 * HOUR, "cpu_s")),
    "CPUs × time of a user, a third": _limited(TrueRule(64 * 12 * HOUR, "cpu_s")),
    "jobs of an account": _limited(TrueRule(12, per="account")),
    "CPUs of an account": _limited(TrueRule(64, "cpus", "account")),
    "jobs of a partition": _limited(TrueRule(6, per="partition", only="debug")),
    "CPUs of a partition": _limited(TrueRule(48, "cpus", "partition", only="debug")),
    "jobs of a user in one partition": _limited(TrueRule(3, within=IN_DEBUG)),
    "CPUs of a user in one partition": _limited(TrueRule(16, "cpus", within=IN_DEBUG)),
    "jobs of a user in one QOS": _limited(TrueRule(3, within=("qos", "long"))),
    "jobs of an account in one partition": _limited(TrueRule(6, per="account", within=IN_DEBUG)),
    "jobs of a user, fewer in one partition": _limited(TrueRule(8), TrueRule(4, within=IN_DEBUG)),
    "one limited user": _limited(TrueRule(3, only="u01")),
    "one limited account": _limited(TrueRule(4, per="account", only="a3")),
    "capacity 1.4 % below": replace(
        SITE, capacity=288, withheld=4, traffic=replace(USUAL, load=(0.75, 0.9))
    ),
    "GPUs of a type per user": replace(
        GPUS, rules=(TrueRule(4, "gpus", within=("node_class", "a100")),)
    ),
    "jobs of a user, half of the time": _limited(TrueRule(6, days=(15, 45))),
    "jobs of a user, 21 days": replace(
        _limited(TrueRule(6)), traffic=replace(USUAL, days=21, jobs=2_450)
    ),
    "jobs of a user, overrides": replace(
        _limited(TrueRule(6)), traffic=replace(USUAL, exempt=0.02)
    ),
    "jobs of a user, among decoys": replace(DECOYS, rules=(TrueRule(5),)),
    "window by walltime": replace(SITE, closed=(LONG,)),
    "window by width": replace(SITE, closed=(WIDE,)),
    "overlap window by walltime": replace(SITE, closed=(replace(LONG, overlap=True),)),
    "overlap window by width": replace(SITE, closed=(replace(WIDE, hours=NIGHT, overlap=True),)),
    "window, half of the time": replace(SITE, closed=(replace(LONG, days=(30, 60)),)),
    "window, overrides": replace(SITE, closed=(LONG,), traffic=replace(USUAL, exempt=0.02)),
}
"""Kinds with rules that the log shows."""

WITHOUT: Final[Mapping[str, SiteKind]] = {
    "EASY": SITE,
    "strict": replace(SITE, strict=True),
    "conservative": replace(SITE, reservations=None),
    "fairshare": replace(SITE, fairshare=True),
    "chains": replace(SITE, chains=0.3),
    "few chains": replace(SITE, chains=0.125),
    "held bursts": replace(SITE, holds=(replace(RELEASED, share=0.4),)),
    "drains": replace(SITE, drains=DrainPlan()),
    "decoys together": DECOYS,
}
"""Kinds without any limit."""

CROWDED: Final = Traffic(
    days=56,
    jobs=8_000,
    load=(0.85, 0.85),
    partitions=(("p0", 0.25), ("p1", 0.25), ("p2", 0.25), ("p3", 0.25)),
    qos=(("q0", 0.25), ("q1", 0.25), ("q2", 0.25), ("q3", 0.25)),
)
ONE_QUEUE: Final = replace(CROWDED, partitions=(("main", 1.0),), qos=(("normal", 1.0),))
QUEUE: Final = SiteKind(traffic=ONE_QUEUE)

ORDERED: Final[Mapping[str, SiteKind]] = {
    "EASY": QUEUE,
    "chains": replace(QUEUE, chains=0.3),
    "held bursts": replace(QUEUE, holds=(HoldHabit(0.4, 3 * DAY, together=True),)),
    "one limited user": replace(QUEUE, rules=(TrueRule(4, only="u02"),)),
    "3 jobs per user": replace(QUEUE, rules=(TrueRule(3),)),
    "paid queue": replace(
        QUEUE,
        traffic=replace(ONE_QUEUE, qos=(("normal", 0.85), ("paid", 0.15))),
        first=("qos", "paid"),
    ),
    "user of lowest priority": replace(QUEUE, last=("user", "u05")),
    "account of lowest priority": replace(QUEUE, last=("account", "a3")),
    "partition of lowest priority": SiteKind(traffic=CROWDED, last=("partition", "p2")),
    "QOS of lowest priority": SiteKind(traffic=CROWDED, last=("qos", "q2")),
    "fairshare": replace(QUEUE, fairshare=True),
}
"""Kinds for *passed over*: ``first`` and ``last`` are whom the order favours and hurts."""
