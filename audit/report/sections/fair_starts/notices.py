"""Cautions about fair start times, and findings about delays by later arrivals."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from audit.model import COUNTED, FstStatus
from audit.report import wording
from audit.report.contents import Contents
from audit.report.finding import Kind, Notice, if_trusted, in_pool, whole, worst_width
from audit.report.place import DELAY
from audit.report.pool import PoolPart
from audit.report.sections.fair_starts import tables
from audit.report.sections.fair_starts import text as belief
from audit.report.sections.fair_starts.record import FairStart

_MANY: Final = 0.1
"""Share of days, attempts or usage above which a defect of the data is reported."""


def of_fair_starts(contents: Contents) -> Iterator[Notice]:
    """Yield cautions about fair start times."""
    for pool in contents.pools:
        if pool.attempts:
            yield from _of_pool(pool, contents)


def _of_pool(pool: PoolPart, contents: Contents) -> Iterator[Notice]:
    where, fair = in_pool(pool, contents), pool[FairStart]
    if not fair.statuses and not pool.has_fair_starts:
        yield Notice(
            False,
            f"No fair start times were computed{where}, so the report does not say whether jobs "
            "started later than fair.",
        )
        return

    def of_all(number: int) -> str:
        attempts = wording.plural(fair.subjects, "attempt")
        share = wording.percent(number / fair.subjects)
        return f"{wording.count(number)} of {attempts} ({share}){where}"

    if fair.not_sampled:
        yield Notice(
            False,
            "Strict and relaxed fair start times were computed for "
            f"{of_all(fair.subjects - fair.not_sampled)}, as many as the budget allowed. "
            "They have the longest waits, or are a sample of the others by user, width and day. "
            "Figures from it are estimates, and their intervals include the sampling error. Users "
            "without a sampled attempt have no such figures. 'audit --budget' and "
            "[simulation] budget_s compute more.",
        )
    left_out = fair.subjects - fair.counted - fair.not_sampled
    if left_out > _MANY * fair.subjects:
        reasons = ", ".join(
            f"{tables.status(row.status)[0]} {wording.count(row.attempts)}"
            for row in fair.statuses
            if row.status not in {*COUNTED, FstStatus.NOT_SAMPLED}
        )
        yield Notice(
            False,
            f"{of_all(left_out)} are in no figure of strict and relaxed fair start times: "
            f"{reasons}.",
        )
    pending = sum(row.attempts for row in fair.statuses if row.status == FstStatus.PROVISIONAL)
    if pending > _MANY * fair.subjects:
        yield Notice(
            False,
            f"The strict and relaxed fair start times of {of_all(pending)} are provisional: later "
            "logs may change them.",
        )
    if pool.has_fair_starts and not belief.good_fit(pool):
        yield Notice(False, f"Delays by later arrivals{where}: {belief.verdict(pool)}")


KINDS: Final = (
    Kind(
        partial(if_trusted, subjects=whole),
        DELAY,
        "later arrivals",
        "fair",
        "{miss_delivered_share} of all waiting time is delay by later arrivals "
        "({miss_delivered_share:within}), under the rule that this log shows.",
        "Check which widths are delayed. Compare rules that reserve for more jobs with fairaudit "
        "whatif.",
    ),
    Kind(
        partial(if_trusted, subjects=worst_width),
        DELAY,
        "later arrivals",
        "fair",
        "{subject}: {miss_delivered_share} of their waiting time is delay by later arrivals "
        "({miss_delivered_share:within}), under the site's known rule.",
        "Compare rules that reserve for more jobs with fairaudit whatif.",
    ),
)
