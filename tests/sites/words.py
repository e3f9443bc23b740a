"""The words that the months of a made site get, and the word of its whole log.

A log has *times and sizes only*, or it has *reasons* too: when each job became eligible, and the
last reason that the scheduler had for not starting it. Rules, chains and holds are inferred once,
from the whole log, as in an audit.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from audit import periods
from audit.cluster.passed import OfLog
from audit.config import VerdictConfig
from audit.metrics.attempts import base
from audit.metrics.attempts.account import account
from audit.metrics.attempts.passed_over import EQUAL
from audit.metrics.attempts.population import describe
from audit.metrics.verdict import Decision, VerdictBound, Word, decide
from audit.model import ATTEMPTS, Period
from audit.pipeline.shown import look
from audit.scenario.plateaus.sweeping import unstartable
from audit.scenario.releases.holds import inferred_holds
from audit.scenario.scenario import Scenario
from audit.scenario.windows.search import find_windows
from bench.logs.sites.kinds import DAY, EPOCH, SiteKind
from bench.logs.sites.reasons import TrueReason
from bench.logs.sites.site import TrueSite

UTC: Final = ZoneInfo("UTC")
THRESHOLDS: Final = VerdictConfig()
ACCUSING: Final = (Word.MIXED, Word.UNFAIR)
WORDS: Final = {
    TrueReason.FULL: "Resources",
    TrueReason.CLAIMED: "Priority",
    TrueReason.KEPT: "Priority",
    TrueReason.RULE: "QOSMaxJobsPerUserLimit",
    TrueReason.UNAVAILABLE: "Resources",
    TrueReason.NODES: "Resources",
}
"""Slurm's reasons; jobs that were held or had a dependency get the time of their eligibility."""
_HELD: Final = (TrueReason.HELD.value, TrueReason.DEPENDENCY.value)


class Words(NamedTuple):
    """The verdicts on a site."""

    months: tuple[Word, ...]
    whole: Decision

    @property
    def accused(self) -> int:
        """The months that are unfair or mixed."""
        return sum(word in ACCUSING for word in self.months)

    @property
    def changes(self) -> int:
        """The pairs of successive months with different words."""
        return sum(a is not b for a, b in zip(self.months, self.months[1:], strict=False))

    def names(self, entity: tuple[str, str]) -> bool:
        """Whether the word of the whole log accuses because of an entity."""
        found = {(one.kind, one.name) for one in self.whole.carried}
        return self.whole.word in ACCUSING and entity in found


def with_reasons(site: TrueSite) -> TrueSite:
    """Return the site with a log that has the jobs' reasons."""
    told = site.reasons.sort("row", "end")
    held = told.filter(pl.col("reason").is_in(_HELD)).group_by("row").agg(pl.col("end").max())
    last = (
        told.filter(pl.col("reason") != TrueReason.CYCLE.value)
        .group_by("row", maintain_order=True)
        .agg(pl.col("reason").last())
    )
    rows = pl.DataFrame({"row": pl.int_range(site.jobs.height, eager=True)})
    eligible = rows.join(held, on="row", how="left", maintain_order="left")["end"]
    reason = rows.join(last, on="row", how="left", maintain_order="left")["reason"]
    shown = reason.replace_strict(
        {one.value: text for one, text in WORDS.items()}, default="None", return_dtype=pl.String
    )
    log = site.jobs.select(ATTEMPTS.names()).with_columns(
        eligible_time=pl.coalesce(eligible, "submit_time"), reason=shown
    )
    return site._replace(jobs=describe(log, [site.pool]))


def words(site: TrueSite) -> Words:
    """Return the verdicts on a site, each with the bounds that the month before reached."""
    judge = _Judge(site)
    found: list[Decision] = []
    for month in _months(site.kind):
        before: frozenset[VerdictBound] = found[-1].bounds if found else frozenset()
        found.append(judge.of(month, before))
    every = Period("all", *judge.span)
    return Words(tuple(one.word for one in found), judge.of(every, frozenset()))


def _months(kind: SiteKind) -> Iterator[Period]:
    """Yield the complete calendar months of a log."""
    until = EPOCH + kind.traffic.days * DAY
    every = periods.covering("month", EPOCH, until - 1, UTC)
    yield from (month for month in every if month.to_time <= until)


def lost(site: TrueSite, fair: TrueSite, entity: tuple[str, str]) -> float:
    """Return how much longer an entity waits than on a fair site, as a share of all waiting."""
    kind, name = entity
    mine, theirs = (
        int(of.jobs.filter(pl.col(kind) == name)["wait_s"].sum()) for of in (site, fair)
    )
    return (mine - theirs) / int(site.jobs["wait_s"].sum())


class _Judge:
    """Facts about the whole log of a site."""

    def __init__(self, site: TrueSite) -> None:
        jobs, pool, now = site.jobs, site.pool, site.now
        ends = jobs.filter(pl.col("start_time").is_not_null())["end_time"]
        begin = int(ends.to_numpy().min())
        found = look(jobs, pool, now, begin)
        pool, holding = found.plateaus.pool, found.holding
        holds = inferred_holds(jobs, pool, now, holding)
        if site.kind.closed:
            pool = find_windows(Scenario(jobs, pool, now), holds=holds).pool
        booked = account(jobs, pool, now, log_begin=begin, holds=holds)
        self.span = (begin, now + 1)
        marked = unstartable(jobs, pool, now, begin, holding.own)
        self.jobs = booked.attempts.with_columns(marked)
        held = booked.barred.filter("held")
        self.evidence = OfLog.of(self.jobs, pool, now, holding, held)

    def of(self, period: Period, before: frozenset[VerdictBound]) -> Decision:
        """Return the verdict on a period."""
        judged_by = base.base_of(period, Period("log", *self.span), UTC)
        passed = self.evidence.passed_over(self.jobs, judged_by, UTC, EQUAL)
        row = base.of_base(self.jobs, judged_by, passed, THRESHOLDS, UTC, 1, 20).row(0, named=True)
        overtaken = base.overtaken(self.jobs, judged_by, passed, {})
        return decide(base.figures(row, overtaken), THRESHOLDS, before)
