"""Sentences about resources that single nodes lacked while enough was free on all together."""

from typing import Final

from audit.registry.causes import LACKS, Lack
from audit.report import wording
from audit.report.pool import PoolPart
from audit.report.sections.causes.record import Scattered

_MOST: Final = 0.5
"""Part of the waiting of which a request must be for a sentence to name it."""
_GIB: Final = 1 << 30


def lack_of(one: Scattered) -> Lack:
    """Return the registry's entry of what was lacking."""
    return next(lack for lack in LACKS if lack.key == one.lack)


def amount(one: Scattered) -> str:
    """Return the amount that is requested of each node; empty if it says nothing."""
    lack = lack_of(one)
    if one.amount is None:
        return ""
    if lack.resource == "mem_bytes":
        return f"{wording.number(one.amount / _GIB)} GiB of memory"
    return wording.plural(one.amount, lack.words.removesuffix("s"))


def request(one: Scattered) -> str:
    """Return the request of most of this waiting: ``4 GPUs on each of 2 nodes``."""
    nodes = "one node" if one.nodes == 1 else f"each of {wording.count(one.nodes)} nodes"
    return f"{amount(one)} on {nodes}" if amount(one) else nodes


def sentence(one: Scattered, pool: PoolPart) -> str:
    """Return for what share of waiting which resource was free, but not on single nodes."""
    lack = lack_of(one)
    start = f"For {wording.rough(pool.figure(lack.share))} of the waiting of {_JOBS[lack.key]}, "
    if one.part < _MOST or not amount(one):
        return (
            f"{start}enough was free on all nodes together, but single nodes lacked {lack.words}."
        )
    if one.nodes > 1:
        return f"{start}enough was free on all nodes together, but not {request(one)}."
    if lack.key == "mem":
        return f"{start}{amount(one)} was free, but no otherwise suitable node had it."
    number = wording.count(one.amount)
    return (
        f"{start}{number} or more {lack.words} were free, but no otherwise suitable node had "
        f"{number}."
    )


_JOBS: Final = {
    **dict.fromkeys((lack.key for lack in LACKS), "all jobs"),
    "gpus": "GPU jobs",
    "mem": "jobs that request memory",
}
"""Jobs whose waiting is the denominator of ``Lack.share``."""
