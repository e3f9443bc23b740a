"""What single nodes lacked, and what is unexplained: read, in sentences, as findings."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from audit.registry.causes import LACKS, Lack
from audit.report import wording
from audit.report.contents import Contents
from audit.report.figures import records
from audit.report.finding import Kind, Subject, if_whole, whole
from audit.report.place import UNEXPLAINED, Place
from audit.report.pool import PoolPart
from audit.report.sections.causes.record import Causes, Scattered, Unexplained
from audit.report.source import SectionSource

MUCH_UNEXPLAINED: Final = 0.1
"""Share of all waiting above which a report shows where unexplained waiting is."""


def read(source: SectionSource) -> dict[str, Causes]:
    """Return what single nodes lacked, and where unexplained waiting is, of each pool."""
    unexplained = source.by_pool("causes/unexplained", least=MUCH_UNEXPLAINED)
    return {
        pool: Causes(records(Scattered, rows), records(Unexplained, unexplained[pool]))
        for pool, rows in source.by_pool("causes/scattered").items()
    }


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


def scattered(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield the resource that single nodes lacked longest while enough was free in total."""
    pool = place.pool
    if pool.figure(measure).value is None or not pool[Causes].scattered:
        return
    one = pool[Causes].scattered[0]
    lack = lack_of(one)
    figure = pool.figure(lack.share)
    effect = figure.value or 0.0
    waited = (pool.figure("wait_mean").value or 0.0) * pool.attempts
    words = {"sentence": sentence(one, pool), "remedy": lack.remedy}
    yield Subject(
        *("pool", None, words, pool.figure),
        effect=effect,
        sure=effect if figure.lower is None else figure.lower,
        part=min(one.lacked_s / (effect * waited), 1.0) if effect and waited else 0.0,
        sql=place.sql(lack.share, "partition"),
    )


KINDS: Final = (
    Kind(
        scattered,
        "cause_nodes_share",
        "free capacity scattered over nodes",
        "why",
        "{sentence}",
        "{remedy}.",
        0.05,
    ),
    Kind(
        partial(if_whole, subjects=whole),
        UNEXPLAINED,
        "unexplained waits",
        "why",
        "{cause_unexplained_share} of all waiting time is unexplained "
        "({cause_unexplained_share:within}): enough was free, and the log does not say why jobs "
        "waited.",
        "Check limits, holds, node features and closed hours that the log does not show.",
        0.1,
    ),
)
