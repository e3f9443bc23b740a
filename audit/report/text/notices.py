"""What a reader must know before believing a report's figures.

Pure functions of :class:`Contents`. The same sentences head the page and are warnings of the
command line.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from audit.model import COUNTED, FstStatus
from audit.report.record.page import Contents, Coverage
from audit.report.record.pool import SMALL_SAMPLE, PoolPart
from audit.report.text import belief, tables, wording
from audit.report.text.belief import Fit
from audit.report.text.doubts import doubts

# Of the days of a log, this part may be without records before that is worth a notice.
_MANY_EMPTY: Final = 0.1
# So many missing logs are named.
_MISSING_SHOWN: Final = 3
# Of the attempts, this part may have no fair start time that counts, or a provisional one.
_MANY_LEFT_OUT: Final = 0.1


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to know before reading on."""

    grave: bool
    text: str


def notices(contents: Contents) -> tuple[Notice, ...]:
    """What a reader must know before believing the figures, gravest first."""
    unsorted = [
        *(Notice(True, wording.name(text, 400)) for text in one_of_each(contents.warnings)),
        *_of_missing(contents),
        *_of_reading(contents),
        *_of_coverage(contents.coverage),
        *(notice for pool in contents.pools for notice in _of_measuring(pool, contents)),
        *(notice for pool in contents.pools for notice in _of_fair_starts(pool, contents)),
        *(Notice(doubt.grave, doubt.text) for doubt in doubts(contents)),
    ]
    return tuple(sorted(unsorted, key=lambda notice: not notice.grave))


def one_of_each(texts: Sequence[str]) -> list[str]:
    """Return one text of each kind, with the number of the others.

    Texts are of one kind where they differ only in names of files, quoted names and numbers.
    """
    kinds: dict[str, list[str]] = {}
    for text in texts:
        kinds.setdefault(_VARYING.sub("…", text), []).append(text)
    return [
        first if not more else f"{first} ({len(more):,} more of this kind)"
        for first, *more in kinds.values()
    ]


_VARYING: Final = re.compile(r"""'[^']*'|"[^"]*"|\S*[\d/.]\S*""")


def _of_missing(contents: Contents) -> Iterator[Notice]:
    for log in contents.missing[:_MISSING_SHOWN]:
        yield Notice(
            True,
            f"Log {wording.name(log.file)} could not be taken in, so what it holds is missing: "
            f"{wording.name(log.reason, 400)}",
        )
    if more := contents.missing[_MISSING_SHOWN:]:
        yield Notice(True, f"{wording.plural(len(more), 'more log')} could not be taken in either.")
    if contents.silent_since is not None:
        zone = contents.span.zone
        since = wording.instant(contents.silent_since, zone)
        until = wording.instant(contents.span.from_time, zone)
        yield Notice(
            False,
            f"No record is of the time from {since} to {until}, right before this period: of that "
            "time there are no figures, reports or mails.",
        )


def _of_reading(contents: Contents) -> Iterator[Notice]:
    if contents.refused:
        share = contents.refused / contents.records if contents.records else 0.0
        lines = wording.plural(contents.refused, "line")
        yield Notice(
            share > 0.01,
            f"{lines} of {wording.count(contents.records)} could not be taken "
            f"({wording.percent(share)}); the reasons stand under Records.",
        )


def _of_coverage(coverage: Coverage) -> Iterator[Notice]:
    if coverage.empty > _MANY_EMPTY * coverage.days:
        share = coverage.empty / coverage.days
        yield Notice(
            False,
            f"On {wording.count(coverage.empty)} of {wording.plural(coverage.days, 'day')} "
            f"({wording.percent(share)}) no record ended: either nothing ran, or records are "
            "missing; the longest gaps stand under Records.",
        )


def _of_measuring(pool: PoolPart, contents: Contents) -> Iterator[Notice]:
    where = f" in pool {wording.name(pool.name)}" if len(contents.pools) > 1 else ""
    over = pool.figure("over_capacity_time").value or 0
    if over > 0:
        yield Notice(
            over > 0.01,
            f"During {wording.percent(over)} of the time{where} more was in use (at most "
            f"{wording.count(pool.figure('peak_in_use').value)}) than the "
            f"{wording.plural(pool.capacity, wording.resource(pool.resource))} of the pool: either "
            "its size, or what the log says was allocated, is wrong then.",
        )
    for metric, text in _COUNTS:
        number = pool.figure(metric).value or 0
        if number:
            yield Notice(False, f"{text}{where}: {wording.plural(number, 'attempt')}.")
    if pool.attempts and pool.figure("walltime_unknown").value == pool.attempts:
        yield Notice(
            False,
            f"The log knows no walltime of any attempt{where}: estimates are what attempts really "
            "took, so fair start times assume that everybody knew how long they would run.",
        )
    conservation = pool.figure("re_conservation").value
    if conservation is not None and conservation > 1e-6:
        yield Notice(
            True,
            f"Resource equality{where} does not add up to zero (off by "
            f"{wording.number(conservation)} of what was consumed): this is a defect, "
            "please report it.",
        )
    if pool.attempts and not pool.users.named:
        yield Notice(
            False, f"The log names no users{where}: figures by user have nothing to speak of."
        )
    if 0 < pool.attempts < SMALL_SAMPLE:
        attempts = wording.plural(pool.attempts, "attempt")
        yield Notice(
            True, f"Only {attempts}{where} ended in the period: read each figure as an anecdote."
        )


def _of_fair_starts(pool: PoolPart, contents: Contents) -> Iterator[Notice]:
    if not pool.attempts:
        return
    where = f" in pool {wording.name(pool.name)}" if len(contents.pools) > 1 else ""
    fair = pool.fair_start
    if not fair.statuses and not pool.has_fair_starts:
        yield Notice(
            False,
            f"No fair start times were computed{where}: nothing below says whether anybody "
            "started later than fair.",
        )
        return
    if fair.not_sampled:
        done = fair.subjects - fair.not_sampled
        yield Notice(
            False,
            f"Fair and forward start times were computed for {wording.count(done)} of "
            f"{wording.plural(fair.subjects, 'attempt')} "
            f"({wording.percent(done / fair.subjects)}){where}, as many as the budget of both "
            "allowed: the longest waits, and a sample by user, width and day that stands for the "
            "others. Figures about them are estimates; their intervals include that. Users of "
            "whom none was drawn have none. 'audit --budget' allows for more; 'run' goes on each "
            "night until all are there.",
        )
    left_out = fair.subjects - fair.counted - fair.not_sampled
    if left_out > _MANY_LEFT_OUT * fair.subjects:
        reasons = ", ".join(
            f"{tables.status(row.status)[0]} {wording.count(row.attempts)}"
            for row in fair.statuses
            if row.status not in {*COUNTED, FstStatus.NOT_SAMPLED}
        )
        yield Notice(
            left_out > fair.subjects / 2,
            f"{wording.count(left_out)} of {wording.plural(fair.subjects, 'attempt')} "
            f"({wording.percent(left_out / fair.subjects)}){where} are in no figure of fair start "
            f"times: {reasons}.",
        )
    pending = sum(row.attempts for row in fair.statuses if row.status == FstStatus.PROVISIONAL)
    if pending > _MANY_LEFT_OUT * fair.subjects:
        yield Notice(
            False,
            f"The fair start times of {wording.plural(pending, 'attempt')} "
            f"({wording.percent(pending / fair.subjects)}){where} are provisional: later logs may "
            "change them.",
        )
    if pool.has_fair_starts and belief.fit(fair.fidelity) in {Fit.POOR, Fit.UNKNOWN}:
        yield Notice(False, f"Fair start times{where}: {belief.verdict(pool)}")


_COUNTS: Final = (
    ("exceeds_capacity", "Larger than the whole pool, whose size may therefore be wrong"),
    ("start_unknown", "Start not known, and so in no figure"),
    (
        "arrival_unknown",
        "The log does not say when they arrived, so their waits are unknown, and they are in no "
        "figure of waits, fair start times or resource equality",
    ),
    (
        "size_unknown",
        "Size not known, and counted as 0 (in no figure of equal sharing)",
    ),
    (
        "pending_left_out",
        "Still queued, of unknown size or without a walltime, and so left out of fair start times",
    ),
    ("arrivals_clipped", "Started before the log says they arrived, and counted as arriving then"),
)
