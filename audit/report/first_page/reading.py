"""The numbers of page one, read from the database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from audit.config import VerdictConfig as Thresholds
from audit.metrics.attempts import base
from audit.metrics.attempts.population import compact, only
from audit.metrics.verdict import Gaps, VerdictBound, decide
from audit.model import OBSERVED, Period
from audit.on_disk import on_disk, result
from audit.periods import day_after, day_of, day_start, kind_of, parse_day, zone
from audit.report import wording
from audit.report.contents import Contents, PoolPart, PoolVerdict
from audit.report.first_page.compose import compose
from audit.report.first_page.page import PageFacts
from audit.report.sections.advice.record import Advice, Advised
from audit.report.sections.causes import shown
from audit.report.sections.causes.record import RuleTime
from audit.report.sections.changes import page_one
from audit.report.sections.changes.record import Compared, RuleMark, StepPoint
from audit.report.sections.changes.section import preceding
from audit.report.sections.machine.record import Machine
from audit.report.sections.resources import Resources
from audit.report.sections.rules.record import RuleInForce
from audit.report.sections.trust import section as trust
from audit.report.sections.trust.record import Known
from audit.report.sections.waits import section as waits
from audit.report.sections.who.section import Context, of_people
from audit.report.source import SectionSource
from audit.store import database, queries

_DAY_S: Final = 86_400
REFUSED: Final = 0.05
"""Share of refused records, and of missing days, from which a period is incomplete."""

_SAME_LOAD: Final = 0.005
Loads = tuple[float | None, float | None]

_TIES: Final = ("submit_time", "number", "task", "job_id", "attempt")


def verdicts(source: SectionSource, contents: Contents) -> tuple[PoolVerdict, ...]:
    """Return the verdict on each pool of a report, the one with most waiting first."""
    rows, overtaken = map(source.rows, ("first_page/base", "first_page/overtaken"))
    lacking = gaps(contents)
    return tuple(
        PoolVerdict(
            row["pool"],
            decide(
                base.figures(row, overtaken.filter(pool=row["pool"])),
                contents.options.thresholds,
                frozenset(map(VerdictBound, row["bounds"] or ())),
                lacking,
            ),
            row,
        )
        for row in rows.iter_rows(named=True)
    )


def gaps(contents: Contents) -> Gaps:
    """Return what is missing from the records of a report's period."""
    days = missing_days(contents)
    length = (contents.span.to_time - contents.span.from_time) / _DAY_S
    many = days >= 1 and days >= REFUSED * length
    refused = contents.refused > REFUSED * contents.records
    return Gaps(bool(contents.part), many, refused)


def missing_days(contents: Contents) -> int:
    """Return the days of a period that its records cannot cover.

    They are before the log begins, or after its newest record.
    """
    span = contents.span
    if span.whole_log:
        return 0
    before = max((span.log_begin or span.from_time) - span.from_time, 0)
    newest = span.to_time if span.newest is None else span.newest
    after = max(span.to_time - max(newest, span.from_time), 0)
    return int(min(before + after, span.to_time - span.from_time) // _DAY_S)


def with_verdicts(source: SectionSource, contents: Contents) -> Contents:
    """Return the content of a report with the verdict and page one of each pool.

    ``contents`` are of the observed schedule.
    """
    found = verdicts(source, contents)
    rules = tuple(RuleInForce(*row) for row in source.tuples("rules/in_force"))
    contents = replace(contents, verdicts=found, rules=rules)
    if contents.brief:
        return contents
    span = contents.span
    days = wording.days(span.from_time, span.last, span.zone)
    read = facts_of(source, contents, found, days)
    pages = tuple(compose(one, contents.span.zone) for one in read)
    return replace(contents, first=pages)


def facts_of(
    source: SectionSource, contents: Contents, found: Sequence[PoolVerdict], days: str
) -> list[PageFacts]:
    """Return the numbers of page one of each pool in which jobs ended, most waiting first."""
    parts = {pool.name: pool for pool in contents.pools}
    jobs = _jobs(source, source.period)
    of_pools = ((one, only(jobs, pl.col("pool") == one.pool)) for one in found)
    return [
        _Reading(source, contents, parts[one.pool], one, days, of_pool).facts()
        for one, of_pool in of_pools
        if one.pool in parts and (parts[one.pool].attempts or parts[one.pool].undated)
    ]


def _jobs(source: SectionSource, period: Period) -> pl.DataFrame:
    con = source.con
    of = {"cluster": source.cluster, "schedule": OBSERVED, "whole": period.whole_log}
    within = {"from_time": period.from_time, "to_time": period.to_time}
    every = queries.columns(con, "first_page/jobs", **of, **within)
    read = [name for name in every if name not in _TIES]
    jobs = result(con, "first_page/jobs", read, ("pool", "arrival_time", *_TIES), **of, **within)
    return on_disk(compact(shown.with_causes(jobs)), database.folder(con))


@dataclass(frozen=True, slots=True)
class _Reading:
    source: SectionSource
    contents: Contents
    pool: PoolPart
    of: PoolVerdict
    days: str
    jobs: pl.DataFrame

    @property
    def in_force(self) -> list[RuleInForce]:
        """The rules of the pool."""
        return [rule for rule in self.contents.rules if rule.pool == self.pool.name]

    def facts(self) -> PageFacts:
        contents, pool, row = self.contents, self.pool, self.of.base
        thresholds: Thresholds = contents.options.thresholds
        jobs = self.jobs
        some = not jobs.is_empty()
        whole = shown.shares(jobs) if some else {}
        named, holds = self._rules()
        outside = float(jobs["outside"].sum()) if some else 0.0
        waited = float(jobs["wait_s"].sum()) if some else 0.0
        context = Context(
            pool.capacity, whole, waited - outside, named, holds,
            self._rows("first_page/overtaken"), row["waited_s"], self.of.decision, row["tested"],
            self._shares(),
        )  # fmt: skip
        step, points, marks = self._steps(jobs)
        own = shown.rules(jobs, named) if some else ()
        base_days = _days(row["from_time"], row["to_time"])
        longer = base_days > _days(contents.span.from_time, contents.span.to_time)
        return PageFacts(
            pool=pool.name,
            several=len(contents.pools) > 1,
            days=self.days,
            jobs=int(pool.figure("jobs").value or 0) or pool.undated,
            base_days=base_days if longer and not contents.span.whole_log else None,
            base_no_reason=_part(row["no_reason_s"], row["waited_s"]),
            base_p90=row["wait_p90"],
            not_judged=(row["not_judged_lower"], row["not_judged_upper"]),
            tested_waiting=_part(row["tested_s"], row["waited_s"]),
            base_users=row["users"],
            base_ended=row["ended"],
            decision=self.of.decision,
            machine=self._machine(step, points),
            strip=waits.strip(jobs) if some else None,
            waiting_s=waited,
            cancelled_s=pool.figure("gave_up_wait_s").value or 0.0,
            causes=whole,
            rules=own,
            ended=self._ended(),
            lacked=shown.lacked(jobs) if some else None,
            where=shown.where(jobs) if some else None,
            sizes=waits.sizes(jobs, whole, pool.capacity) if some else (),
            queues=waits.queue_waits(jobs) if some else (),
            people=of_people(jobs, context) if some else None,
            compared=self._compared(jobs),
            log_days=self._covered / _DAY_S,
            steps=points,
            step=step,
            marks=marks,
            known=self._known(jobs, named),
            agreement=self._agreement(),
            changes=self._changes(waited - outside, named),
            tried=len(pool[Advised].tried),
            untested=pool[Advised].untested,
            part=bool(contents.part),
            missing_days=missing_days(contents),
            thresholds=thresholds.model_dump(exclude={"fail"}),
            long_waits=waits.long_waits(jobs) if some else (),
            starts=jobs.height,
        )

    def _changes(self, waited_s: float, named: Mapping[str, RuleTime]) -> tuple[Advice, ...]:
        """Return the changes that save enough of the waiting; their titles have rules' names."""
        found = []
        for one in self.pool[Advised].changes:
            title = one.title
            for rule, of in named.items():
                title = title.replace(f" the {rule}", f" the {of.name}")
            if (one.saved_s or 0) >= trust.MUCH * waited_s:
                found.append(replace(one, title=title))
        return tuple(found)

    @property
    def _covered(self) -> int:
        span = self.contents.span
        begin = max(span.log_begin or span.from_time, span.from_time)
        return max(span.to_time - begin, 0)

    def _rows(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a query of the period about the pool."""
        rows = self.source.rows(query).filter(pool=self.pool.name)
        return list(rows.iter_rows(named=True))

    def _rules(self) -> tuple[dict[str, RuleTime], dict[tuple[str, str], str]]:
        """Return the rules in force by text, and the kind of hold of each entity."""
        named, holds = {}, {}
        for row in self._rows("first_page/rules"):
            if row["what"] == "hold":
                holds[row["scope"], row["rule"]] = row["kind"]
            else:
                named[row["rule"]] = shown.named_rule(row)
        return named, holds

    def _ended(self) -> frozenset[str]:
        """Return the names of rules that ended before the period did."""
        span = self.contents.span
        last = day_of(span.to_time - 1, zone(span.zone))
        over = {rule for rule in self.in_force if rule.valid_to and rule.valid_to <= last}
        lasting = {*self.in_force} - over
        return frozenset({rule.name for rule in over} - {rule.name for rule in lasting})

    def _shares(self) -> dict[str, tuple[float, float]]:
        for usage in self.contents.usages:
            if usage.accounts.targets:
                rows = usage.accounts.rows
                return {r.name: (r.mean, r.share) for r in rows if r.name and r.share}
        return {}

    def _daily(self) -> list[tuple[int, int, float]]:
        in_zone = zone(self.contents.span.zone)
        made = []
        for day in self.pool.days:
            busy = day.figure("utilization").value
            if busy is not None:
                date = parse_day(day.label)
                edges = (day_start(date, in_zone), day_start(day_after(date), in_zone))
                made.append((*edges, busy))
        return made

    def _steps(self, jobs: pl.DataFrame) -> tuple[str, tuple[StepPoint, ...], tuple[RuleMark, ...]]:
        span = self.contents.span
        inside = Period("inside", max(span.log_begin or 0, span.from_time), span.to_time)
        in_zone = zone(span.zone)
        kind, spans = page_one.steps(inside, in_zone)
        daily = self._daily()
        loads = [page_one.load(daily, one.from_time, one.to_time) for one in spans]
        points = page_one.points(jobs, spans, loads)
        return kind, points, page_one.marks(self.in_force, spans, points, in_zone)

    def _machine(self, step: str, points: Sequence[StepPoint]) -> Machine:
        pool = self.pool
        nodes, _, whole = self._nodes()
        loads = [one.load for one in points if one.load is not None]
        gpus = [use.utilization for use in pool[Resources].uses if use.resource == "gpus"]
        return Machine(
            pool.resource,
            pool.capacity,
            nodes or None,
            pool.figure("utilization").value,
            step if loads else "",
            min(max(loads), 1.0) if loads else None,
            gpus[0] if gpus and pool.resource != "gpus" else None,
            whole if whole > pool.capacity else None,
        )

    def _compared(self, jobs: pl.DataFrame) -> Compared | None:
        period, log_begin = self.contents.span.period, self.contents.span.log_begin or 0
        jobs = jobs.select("user", "wait_s", "end_time")
        before, unit = None, kind_of(period.name)
        if unit is not None:
            known = self.source.tuples("computed")
            before = next(
                (
                    Period(name, begin, end)
                    for name, begin, end, _ in known
                    if end == period.from_time and kind_of(name) == unit
                ),
                None,
            )
        elif not period.whole_log:
            before, unit = preceding(period, zone(self.contents.span.zone))
        if before is not None and unit is not None and before.from_time >= log_begin:
            loads = self._loads(before)
            if unit == kind_of(period.name) or None not in loads:
                if min(before.to_time - before.from_time, self._covered) < page_one.LEAST_S:
                    return None
                earlier = _jobs(self.source, before).filter(pool=self.pool.name)
                return page_one.compared(earlier, jobs, loads, unit)
        begin = period.to_time - self._covered
        middle = (begin + period.to_time) // 2
        if middle - begin < page_one.LEAST_S:
            return None
        first, last = (jobs.filter(of) for of in (pl.col("end_time") < middle,
                                                  pl.col("end_time") >= middle))  # fmt: skip
        daily = self._daily()
        halves = ((begin, middle), (middle, period.to_time))
        loads = (page_one.load(daily, *halves[0]), page_one.load(daily, *halves[1]))
        made = page_one.compared(first, last, loads, "")
        had, has = (self._capacity(daily, *half) for half in halves)
        growth = has / had - 1 if had and has else 0.0
        return made and made._replace(whole_log=period.whole_log, growth=growth)

    def _used(self, begin: int, end: int) -> float:
        """Return the resource-seconds that jobs used in a span."""
        span = {"from_time": begin, "to_time": end}
        ((used,),) = self.source.tuples("first_page/used", **span, pool=self.pool.name)
        return float(used)

    def _capacity(self, daily: Sequence[tuple[int, int, float]], begin: int, end: int) -> float:
        """Return the mean capacity of a span; 0 if nothing ran."""
        busy_s = sum(max(min(to, end) - max(since, begin), 0) * busy for since, to, busy in daily)
        return self._used(begin, end) / busy_s if busy_s else 0.0

    def _loads(self, before: Period) -> Loads:
        """Return the busy share of the pool before and in the period; None: not known.

        The figures of a period that was not computed are those of its jobs on the whole pool. They
        count if the same share of the reported period is its utilization: the capacity was whole.
        """
        source, period, pool = self.source, self.source.period, self.pool.name
        now = self.pool.figure("utilization").value
        rows = source.tuples("first_page/busy", period=before.name, pool=pool)
        if rows or kind_of(period.name) is not None:
            return (rows[0][0] if rows else None), now
        shares = []
        for one in (before, period):
            used = self._used(one.from_time, one.to_time)
            shares.append(used / (self.pool.capacity * (one.to_time - one.from_time)))
        known = now is not None and abs(shares[1] - now) < _SAME_LOAD
        return (shares[0] if known else None), now

    def _known(self, jobs: pl.DataFrame, named: Mapping[str, RuleTime]) -> Known:
        contents = self.contents
        sources = {one.source for one in named.values()} - {"inferred", "recorded"}

        def share(of: pl.Expr) -> float:
            return float(jobs.select(of.mean()).item() or 0.0) if jobs.height else 0.0

        queues = jobs["partition"].drop_nulls().n_unique() > 1 if jobs.height else False
        return Known(
            contents.records,
            contents.refused,
            contents.announced,
            contents.coverage.empty,
            share(pl.col("has_reason")),
            share(pl.col("walltime_s").is_not_null()),
            share(pl.col("partition").is_not_null()) if queues else 0.0,
            share(pl.col("qos").is_not_null()),
            share(pl.col("has_nodes")),
            bool(self._nodes()[1]),
            min(sources, default=""),
            share(pl.col("priority").is_not_null() & (pl.col("priority").n_unique() > 1)),
            tuple(dict.fromkeys(log.dialect for log in contents.inputs)),
            trust.by_priority(jobs) if jobs.height else None,
            tuple(kind for (kind,) in self.source.tuples("evidence_kinds")),
            contents.gaps,
            trust.missing(contents.inputs),
        )  # fmt: skip

    def _nodes(self) -> tuple[int, int, int]:
        """Return the nodes of the pool, those that are declared, and the capacity with all."""
        ((nodes, declared, whole),) = self.source.tuples("first_page/nodes", pool=self.pool.name)
        return nodes, declared, whole

    def _agreement(self) -> float | None:
        ((best,),) = self.source.tuples("first_page/agreement", pool=self.pool.name)
        return None if best is None else self.pool[Advised].judged(float(best))


def _days(from_time: int, to_time: int) -> int:
    return round((to_time - from_time) / _DAY_S)


def _part(seconds: float, waited_s: float) -> float | None:
    return seconds / waited_s if waited_s else None
