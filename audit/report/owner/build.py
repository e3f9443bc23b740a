"""The content of the pages of users and accounts, read from the database alone."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final
from zoneinfo import ZoneInfo

import polars as pl

from audit.metrics import disclosure
from audit.metrics.attempts.population import ordered
from audit.metrics.course import course
from audit.periods import zone
from audit.registry.requested import MATERIAL
from audit.report import stored
from audit.report.contents import Contents, PoolPart, Span, Who
from audit.report.figures import Figure, records
from audit.report.owner.attempts import LEAST_DAYS, SEED, Scene, compare, longest, typical, ways
from audit.report.owner.record import (
    Beyond,
    FairshareCourse,
    OwnerContents,
    OwnerPart,
    Start,
    Target,
    WaitPart,
    WaitPool,
)
from audit.report.sections.changes.record import Trend
from audit.report.sections.changes.section import Stretches, stretches, trend_of
from audit.report.sections.passed_over import OrderTest
from audit.report.sections.who.record import Entity
from audit.report.source import SectionSource
from audit.report.standing import standing
from audit.store.attempts import first_arrival
from audit.store.database import Connection

_ORDER: Final = ("pool", "arrival_time", "job_id", "attempt")
_ALL: Final = 1 << 31
"""More rows than there are users and accounts."""


def build(con: Connection, contents: Contents, owners: Sequence[Who]) -> tuple[OwnerContents, ...]:
    """Return the pages of some users and accounts; empty pages for names not in the log.

    Args:
        con: a store or a published snapshot.
        contents: the report on the same cluster and period, of the observed schedule.

    Raises:
        ReportError: the database has results that cannot be shown.
    """
    if not owners:
        return ()
    with stored.reading(contents.cluster, contents.span.name):
        return _build(con, contents, owners)


def _build(con: Connection, contents: Contents, owners: Sequence[Who]) -> tuple[OwnerContents, ...]:
    span = contents.span
    source = SectionSource(
        con, contents.cluster, span.period, zone=span.zone, options=contents.options
    )
    over = stretches(source)
    of_own = {"until": span.to_time, "definition": disclosure.DEFINITION}
    published = source.rows("published_blocks", **of_own)
    begun = published.filter(pl.col("to_time") > span.from_time)["from_time"]
    starts = (stretch.from_time for stretch in (*over.points, *over.halves))
    attempts = _attempts(source, owners, [*starts, *begun])
    usage = source.rows("usage/decayed", rows=_ALL)
    targets = usage.drop_nulls("share").sort("method", "parent", "partition")
    made = []
    for who in owners:
        own = attempts.filter((pl.col(who.kind) == who.name).fill_null(False))
        of = contents
        if span.whole_log:
            of = replace(contents, span=_span_of(own, span))
            over = stretches(replace(source, period=of.span.period))
        waits = source.rows("published_waits", **of_own, **who._asdict())
        parts = _parts(of, over, who, own, published, waits)
        pending = _starts(source, who)
        fairshare = _fairshare(source, of, who)
        frames = (own, published, waits, pending, *fairshare)
        seen = "".join(frame.write_csv() for frame in frames)
        made.append(
            OwnerContents(
                who,
                of.cluster,
                of.span,
                tuple(sorted(parts, key=lambda part: -part.waited_s)),
                ()
                if of.brief
                else records(Target, targets.filter(entity_kind=who.kind, entity=who.name)),
                of.provenance,
                replace(of.options, pages=()),
                hashlib.sha256(seen.encode()).hexdigest()[:32],
                standing(of).state.value,
                of.brief,
                records(Start, pending),
                tuple(each for rows in fairshare for each in records(FairshareCourse, rows)),
            )
        )
    return tuple(made)


def _starts(source: SectionSource, who: Who) -> pl.DataFrame:
    """Return the predicted starts of a user's pending jobs, if pages show them."""
    shown = who.kind == "user" and source.options.starts
    return source.rows("owner/starts", name=who.name) if shown else pl.DataFrame()


def _fairshare(source: SectionSource, of: Contents, who: Who) -> list[pl.DataFrame]:
    """Return a user's FairShare by association, if there is any and the period is over.

    Otherwise its last day would show when the log ends, with the end of another user's job.
    """
    if who.kind != "user" or of.brief or of.span.whole_log:
        return []
    rows = source.rows("owner/fairshare", user=who.name).filter(last_as_of=of.span.to_time)
    return [rows] if rows.height else []


def _span_of(own: pl.DataFrame, span: Span) -> Span:
    """Return the part of a whole log in which a user or account had jobs.

    The page must not show the end of the log, which is the end of another user's job.
    """
    if own.is_empty():
        first = last = span.from_time
    else:
        times = own.select("arrival_time", "start_time", "end_time")
        first = times["arrival_time"].to_numpy().min()
        last = times.select(pl.max_horizontal(pl.all()).max()).item()
    return replace(span, from_time=int(first), to_time=last, log_begin=None, last_end=None)


def _attempts(source: SectionSource, owners: Sequence[Who], starts: Sequence[int]) -> pl.DataFrame:
    """Return the columns of ``sql/queries/owner/attempts.sql``, by arrival.

    Rows are the attempts of the period, those present while one of them waited, and those that
    ended after any of ``starts``, epoch s.
    """
    names = {
        f"{kind}s": [who.name for who in owners if who.kind == kind] for kind in ("user", "account")
    }
    period, since, until = source.period, None, None
    if not period.whole_log:
        first = first_arrival(source.con, source.cluster, period.from_time, period.to_time)
        since = min([period.from_time, *starts, *([] if first is None else [first])])
        until = period.to_time
    return ordered(source.rows("owner/attempts", **names, since=since, until=until), *_ORDER)


def _parts(
    contents: Contents, over: Stretches, who: Who, *frames: pl.DataFrame
) -> Iterator[OwnerPart]:
    """Yield each pool in which the user or account had jobs; ``frames`` are those of ``Scene``."""
    for pool in () if contents.brief else contents.pools:
        kind = pool.users if who.kind == "user" else pool.accounts
        row = next((row for row in kind.rows if row.name == who.name), None)
        if row is not None and (row.attempts or row.never_started):
            in_pool = (frame.filter(pl.col("pool") == pool.name) for frame in frames)
            scene = Scene(who, contents.span.period, *in_pool)
            yield _part(contents, pool, row, scene, over)


def _part(
    contents: Contents, pool: PoolPart, row: Entity, scene: Scene, over: Stretches
) -> OwnerPart:
    in_zone = zone(contents.span.zone)
    resamples = contents.settings.resamples
    sums = scene.sums([scene.period], in_zone)
    mean = course(sums, 1, SEED, resamples, ("wait_mean",)).figures[0]["wait_mean"]
    within = mean.within if sums.height >= LEAST_DAYS else (None, None)
    ratio, excess = compare(scene, in_zone, resamples)
    who = scene.who
    found, tried = ways(scene)
    waits = scene.waits_by_cause
    whole = sum(waits.values())
    return OwnerPart(
        pool=WaitPool(pool.name, pool.resource, bool(pool.part)),
        typical=typical(scene),
        wait_mean=Figure("wait_mean", mean.value, *within, "s", row.attempts),
        attempts=row.attempts,
        jobs=row.jobs,
        never_started=row.never_started,
        gave_up_wait_s=row.gave_up_wait_s,
        waited_s=row.tuwt_s,
        everybody=scene.everybody,
        ratio=ratio,
        excess=excess,
        passed=who in ((one.kind, one.name) for one in pool[OrderTest].passed),
        passed_why=row.passed_why,
        beyond=_beyond(scene.subjects),
        used_share=_used_share(scene),
        parts=tuple(
            WaitPart(cause, round(waited / whole, 2), scene.share_of_all(cause))
            for cause, waited in (waits.items() if whole else ())
        ),
        trend=_trend(scene, over, in_zone, resamples) if row.attempts else Trend(),
        longest=longest(scene),
        ways=found,
        tried=tried,
    )


def _used_share(scene: Scene) -> float | None:
    """Return their part of the consumption in the period's published blocks; None: no block."""
    if scene.everybody is None or not scene.everybody.consumed:
        return None
    of = scene.in_blocks
    consumed = (of["size"].fill_null(0).cast(pl.Float64) * of["occupancy_s"]).sum()
    return min(float(consumed) / scene.everybody.consumed, 1.0)


def _beyond(ended: pl.DataFrame) -> Beyond | None:
    """Return what attempts were allocated beyond their requests, if it is material."""
    known = ended.filter(pl.col("beyond_work").is_not_null())
    allocated = float((known["cpus"].cast(pl.Float64) * known["occupancy_s"]).sum())
    by_reason = known.group_by("beyond_request").agg(pl.col("beyond_work").sum()).drop_nulls()
    beyond = float(by_reason["beyond_work"].sum())
    if not beyond or beyond < MATERIAL * allocated:
        return None
    main = by_reason.sort("beyond_work", "beyond_request")["beyond_request"][-1]
    return Beyond(beyond / allocated, main)


def _trend(scene: Scene, over: Stretches, in_zone: ZoneInfo, resamples: int) -> Trend:
    sums = scene.sums(over.points, in_zone)
    halves = scene.sums(over.halves, in_zone) if over.halves else sums.clear()
    if not all(_sound(halves, len(over.halves))):
        halves = halves.clear()
    made = trend_of(over, sums, halves, resamples)
    points = (
        point
        if sound
        else replace(point, wait_mean=replace(point.wait_mean, lower=None, upper=None))
        for point, sound in zip(made.points, _sound(sums, len(over.points)), strict=True)
    )
    return replace(made, points=tuple(points))


def _sound(sums: pl.DataFrame, stretches_: int) -> list[bool]:
    return [sums.filter(pl.col("stretch") == k).height >= LEAST_DAYS for k in range(stretches_)]
