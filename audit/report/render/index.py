"""The page over all reports of a site: by cluster and period, with verdicts and the trend."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from audit.report.charts.trend import trend as trend_chart
from audit.report.record.page import Who
from audit.report.record.pool import Trend
from audit.report.render import page
from audit.report.verdicts import Answer


@dataclass(frozen=True, slots=True)
class Line:
    """One report in the list: what it answers of its main pool, and where it is."""

    answer: Answer
    href: str


class Link(NamedTuple):
    """The page of a user or account, and where it is."""

    who: Who
    href: str


@dataclass(frozen=True, slots=True)
class Part:
    """The reports of one cluster, the newest first."""

    cluster: str
    lines: tuple[Line, ...]
    picture: page.Picture | None
    pages: Sequence[Link]
    """Of users and accounts, beside the newest report."""


def render_index(
    answers: Sequence[Answer],
    trends: Mapping[str, Trend],
    href: Callable[[str, str], str | None],
    pages: Callable[[Answer], Sequence[Link]],
) -> str:
    """The page as one self-contained file.

    Args:
        answers: what ``verdicts.answers`` gave.
        trends: by cluster, of the pool in which most was consumed.
        href: where the report of a cluster and a period is, relative to the page; None: nowhere.
        pages: those of users and accounts beside a report.
    """
    parts = []
    for cluster, of_cluster in groupby(answers, lambda answer: answer.cluster):
        lines = []
        for period, of_period in groupby(of_cluster, lambda answer: answer.period):
            main = next(of_period)  # of the pool in which most was consumed
            if where := href(cluster, period):
                lines.append(Line(main, where))
        drawn = trend_chart(trends[cluster]) if cluster in trends else None
        if lines:
            picture = page.picture(drawn) if drawn else None
            parts.append(Part(cluster, tuple(lines), picture, pages(lines[0].answer)))
    script = page.text_of("point.js")
    values = {
        "medium": "screen",
        "parts": parts,
        "policy": page.policy(script),
        "script": page.trusted(script),
        "css": page.styles("screen"),
    }
    return page.fill("report/index.html", values)
