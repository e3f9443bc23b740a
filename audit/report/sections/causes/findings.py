"""Findings about causes of waiting."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from audit.report.contents import Contents
from audit.report.finding import Kind, Subject, if_whole, whole
from audit.report.place import UNEXPLAINED, Place
from audit.report.sections.causes.record import Causes
from audit.report.sections.causes.scattered import lack_of, sentence


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
