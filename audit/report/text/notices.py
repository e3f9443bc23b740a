"""Cautions about the figures of a report, for its page and for the command line."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from audit.model import COUNTED, FstStatus
from audit.report.record.page import Charge, Contents, Coverage, DecayedUsage, UsageOf
from audit.report.record.pool import SMALL_SAMPLE, PoolPart
from audit.report.text import belief, part, tables, wording

_MANY: Final = 0.1
"""Share of days, attempts or usage above which a defect of the data is reported."""
_MOST: Final = 0.5
_REFUSED: Final = 0.05
_OVER: Final = 0.05
"""Shares of refused records, and of time over capacity, above which page one says so."""
_GRAVE: Final = 0.01
"""Share of lines or of time above which a defect of the log is grave."""
MISSING_SHOWN: Final = 3
"""Most reasons for missing logs that have a notice each; one more notice counts the other logs."""
FILES_SHOWN: Final = 3
_DAY_S: Final = 86_400


class Notice(NamedTuple):
    """Something to know before reading on."""

    grave: bool
    text: str
    first: bool = False  # whether page one has it, too


def notices(contents: Contents) -> tuple[Notice, ...]:
    """Return what a reader must know before relying on the figures, grave notices first."""
    found = [
        *_of_part(contents),
        *(Notice(True, wording.name(text, 400)) for text in one_of_each(contents.warnings)),
        *_of_missing(contents),
        *_of_reading(contents),
        *_of_coverage(contents.coverage),
        *(notice for pool in contents.pools for notice in _of_pool(pool, contents)),
        *(notice for pool in contents.pools for notice in _of_fair_starts(pool, contents)),
        *(() if contents.empty else _of_usage(contents)),
    ]
    return tuple(sorted(found, key=lambda notice: (not notice.first, not notice.grave)))


def one_of_each(texts: Sequence[str]) -> list[str]:
    """Return one text of each kind, with the number of the others.

    Texts of one kind differ only in file names, quoted names and numbers.
    """
    kinds: dict[str, list[str]] = {}
    for text in texts:
        kinds.setdefault(_VARYING.sub("…", text), []).append(text)
    return [
        f"{first} ({len(more):,} more of this kind)" if more else first
        for first, *more in kinds.values()
    ]


_VARYING: Final = re.compile(r"""'[^']*'|"[^"]*"|\S*[\d/.]\S*""")


def _of_part(contents: Contents) -> Iterator[Notice]:
    if contents.part:
        why = wording.name(contents.part, 400)
        yield Notice(True, f"{wording.first_upper(part.VERDICT)}: {why}. {part.CAUTION}")


def reasons_missing(contents: Contents) -> list[tuple[str, list[str]]]:
    """Return why logs could not be read, in their order, each reason with the files."""
    files: dict[str, list[str]] = {}
    for log in contents.missing:
        files.setdefault(log.reason, []).append(log.file)
    return [*files.items()]


def _unread(files: Sequence[str]) -> str:
    if len(files) == 1:
        return f"Log {wording.name(files[0])} could not be read, so its records are missing"
    named = ", ".join(map(wording.name, files[:FILES_SHOWN]))
    more = ", …" if len(files) > FILES_SHOWN else ""
    number = wording.count(len(files))
    return f"{number} logs could not be read, so their records are missing ({named}{more})"


def _of_missing(contents: Contents) -> Iterator[Notice]:
    reasons = reasons_missing(contents)
    for reason, files in reasons[:MISSING_SHOWN]:
        yield Notice(True, f"{_unread(files)}: {wording.name(reason, 400)}", first=True)
    if more := sum(len(files) for _, files in reasons[MISSING_SHOWN:]):
        yield Notice(True, f"{wording.plural(more, 'more log')} could not be read.")
    if contents.silent_since is not None:
        zone = contents.span.zone
        since = wording.instant(contents.silent_since, zone)
        until = wording.instant(contents.span.from_time, zone)
        yield Notice(
            False,
            f"There are no records between {since} and {until}, right before this period, and so "
            "no figures, reports or mails for that time.",
        )


def _of_reading(contents: Contents) -> Iterator[Notice]:
    if contents.refused:
        share = contents.refused / contents.records if contents.records else 0.0
        yield Notice(
            share > _GRAVE,
            f"{wording.plural(contents.refused, 'line')} of {wording.count(contents.records)} "
            f"refused ({wording.percent(share)}); see Records for the reasons.",
            first=share > _REFUSED,
        )


def _of_coverage(coverage: Coverage) -> Iterator[Notice]:
    if coverage.empty > _MANY * coverage.days:
        yield Notice(
            False,
            f"No job ended on {wording.count(coverage.empty)} of "
            f"{wording.plural(coverage.days, 'day')} "
            f"({wording.percent(coverage.empty / coverage.days)}): either nothing ran, or records "
            "are missing; see Records for the longest gaps.",
        )


def _where(pool: PoolPart, contents: Contents) -> str:
    return f" in pool {wording.name(pool.name)}" if len(contents.pools) > 1 else ""


def _of_pool(pool: PoolPart, contents: Contents) -> Iterator[Notice]:
    where = _where(pool, contents)
    over = pool.figure("over_capacity_time").value or 0
    if over > 0:
        yield Notice(
            pool.overfilled,
            f"For {wording.rough_percent(over)} of the time, more than "
            f"{wording.plural(pool.capacity, wording.resource(pool.resource))} were in use{where} "
            f"(up to {wording.count(pool.figure('peak_in_use').value)}). Either the size of the "
            "machine or the allocations in the log are wrong.",
            first=over > _OVER,
        )
    for metric, text in _COUNTS:
        if number := pool.figure(metric).value:
            yield Notice(False, f"{text}{where}: {wording.count(number)}.")
    if pool.attempts and pool.figure("walltime_unknown").value == pool.attempts:
        yield Notice(
            False,
            f"The log has no walltimes{where}: fair start times use real run times as estimates, "
            "as if all users had known them.",
        )
    conservation = pool.figure("re_conservation").value
    if conservation is not None and conservation > 1e-6:
        yield Notice(
            True,
            f"Shortfalls and surpluses{where} do not cancel out (difference: "
            f"{wording.number(conservation)} of all resources used). This is a defect; please "
            "report it.",
        )
    if pool.attempts and not pool.users.named:
        yield Notice(False, f"The log names no users{where}, so there are no figures by user.")
    if 0 < pool.attempts < SMALL_SAMPLE:
        attempts = wording.plural(pool.attempts, "attempt")
        yield Notice(
            True, f"Only {attempts}{where} ended in the period: the figures are anecdotal."
        )


_COUNTS: Final = (
    ("exceeds_capacity", "Attempts larger than the whole pool, whose size may be wrong"),
    (
        "start_unknown",
        "Attempts with unknown start, which waits and utilization leave out",
    ),
    (
        "arrival_unknown",
        "Attempts with unknown arrival, which no figure of waits, fair start times or resource "
        "equality counts",
    ),
    ("size_unknown", "Attempts of unknown size, which count as 0 and not in resource equality"),
    (
        "pending_left_out",
        "Queued attempts of unknown size or walltime, which fair start times leave out",
    ),
    (
        "arrivals_clipped",
        "Attempts that start before they arrive in the log, counted as arriving at their start",
    ),
)


def _of_fair_starts(pool: PoolPart, contents: Contents) -> Iterator[Notice]:
    if not pool.attempts:
        return
    where, fair = _where(pool, contents), pool.fair_start
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


def _of_usage(contents: Contents) -> Iterator[Notice]:
    """Yield the settings of usage and targets under which priorities mean little."""
    for of in contents.usages:
        if of.nothing:
            yield Notice(
                True,
                "The configured penalty charged no usage in this period, so ranks and priorities "
                "depend on the targets alone.",
            )
            continue
        for kind in (of.accounts, of.users):
            yield from _of_targets(kind)
        if of.targets:
            yield from _of_decay(of, contents)
    for charge in contents.charges:
        if charge.charged:
            yield from _of_amounts(charge)


def _of_targets(of: UsageOf) -> Iterator[Notice]:
    if of.targets == 1:
        yield Notice(
            False,
            f"Only one {of.kind} has a target. Its priority means nothing without others to "
            "compare it with.",
        )
    elif of.targets and of.different == 1:
        yield Notice(
            False,
            f"All {wording.plural(of.targets, of.kind)} have the same target, so ranks depend on "
            "usage alone.",
        )
    if of.unused > _MOST:
        yield Notice(
            False,
            f"{wording.percent(of.unused)} of all targets belong to {of.kind}s that used nothing "
            "in this period. Nearly all others are therefore above their targets, which is not "
            "unfair by itself.",
        )
    if of.by_without > _MANY:
        yield Notice(
            of.by_without > _MOST,
            f"{wording.percent(of.by_without)} of all usage is by "
            f"{wording.plural(of.without, of.kind)} without a target, while others have one; these "
            f"{of.kind}s have no priority.",
        )


def _of_decay(of: DecayedUsage, contents: Contents) -> Iterator[Notice]:
    decay = _Decay.of(of.settings)
    if decay is None:
        return
    if decay.factor is not None and decay.factor > 1:
        yield Notice(
            False,
            f"Older usage counts more than recent usage (decay {decay.factor:g}): past usage "
            "lowers a priority more than present usage.",
        )
    if decay.factor == 0 and len(decay.weights) > 1:
        yield Notice(False, "With a decay of 0, only the latest of the configured windows counts.")
    longest = max((pool.figure("wait_mean").value or 0.0 for pool in contents.pools), default=0.0)
    if decay.memory_s < longest:
        yield Notice(
            True,
            f"Usage is forgotten after {wording.duration(decay.memory_s)}, which is less than the "
            f"mean wait ({wording.duration(longest)}): when a job starts, its user's earlier usage "
            "no longer counts.",
        )
    starts = [charge.first_start for charge in contents.charges if charge.first_start is not None]
    if starts and (before := decay.weight_before(of.as_of - min(starts))) > _MOST:
        yield Notice(
            False,
            f"{wording.percent(before)} of the weight of usage is from before the log begins "
            f"({wording.instant(min(starts), contents.span.zone)}). That usage is unknown and "
            "counts as zero.",
        )


class _Decay(NamedTuple):
    """The weight of usage by age; without windows, a half-life."""

    interval_s: float  # of a window; or the half-life
    weights: tuple[float, ...] = ()  # of windows, the latest first
    factor: float | None = None  # weight of a window divided by that of the next later one

    @classmethod
    def of(cls, settings: Mapping[str, object]) -> "_Decay | None":
        """Return the decay of some settings; None if it is unknown, or Slurm's own."""
        try:
            if settings["method"] == "windows":
                factor = float(str(settings["decay"]))
                weights = tuple(factor**i for i in range(int(str(settings["depth"]))))
                return cls(float(str(settings["interval_days"])) * _DAY_S, weights, factor)
            half_life_s = float(str(settings["half_life_days"])) * _DAY_S
        except (KeyError, ValueError, OverflowError):
            return None
        return None if half_life_s == 0 or settings.get("slurm_conf") else cls(half_life_s)

    @property
    def memory_s(self) -> float:
        """The half-life, or the age at which usage has no weight any more."""
        if self.factor is None:
            return self.interval_s
        ages = (age for age, weight in enumerate(self.weights, start=1) if weight > 0)
        return self.interval_s * max(ages, default=0)

    def weight_before(self, age_s: float) -> float:
        """Return the share of all weight that older usage has."""
        age = age_s / self.interval_s
        if self.factor is None:
            return float(2.0 ** -max(age, 0.0))
        younger = sum(weight * min(max(age - i, 0.0), 1.0) for i, weight in enumerate(self.weights))
        total = sum(self.weights)
        return 1.0 - younger / total if total > 0 else 0.0


def _of_amounts(charge: Charge) -> Iterator[Notice]:
    if not charge.attempts:
        return
    what = wording.resources(charge.resource)
    unknown, clipped = charge.unknown / charge.attempts, charge.clipped / charge.attempts
    where = f"of the attempts in pool {wording.name(charge.pool)}"
    if unknown > _MANY:
        yield Notice(
            unknown > _MOST,
            f"The log does not state the {what} of {wording.percent(unknown)} {where}: usage "
            "counts none for them.",
        )
    if clipped > _MANY:
        yield Notice(
            clipped > _MOST,
            f"{wording.percent(clipped)} {where} had more {what} than the pool has: usage counts "
            "them as having all of it.",
        )
