"""The stages ``compute`` and ``report``: a cluster's due figures and reports, and the index page.

Figures of a period are due if their inputs are not those of the figures in the store. Limits and
the like are inferred once from the 400 days before the end of a period, and kept with its run. If a
cluster has archived months, only the attempts that the due periods need are read, a few periods at
a time; otherwise all are. A report is due if the run that computed its period's figures has not
made it.
"""

import hashlib
import itertools
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import polars as pl

from audit import periods
from audit.cluster import declared, fairshare, fitted, results
from audit.cluster.compute import Task
from audit.cluster.fairshare import FairshareInputs
from audit.cluster.identity import Identity
from audit.cluster.inference import NOTHING
from audit.cluster.log_begin import log_begin
from audit.cluster.setting import ClusterSettings, configured
from audit.cluster.windows import BASE_S, ComputedWindow, stretches, window_of
from audit.config import Cluster, Config
from audit.config.places import Site
from audit.errors import UsageError
from audit.files import privacy, replace
from audit.ingest import evidence
from audit.metrics.attempts import population
from audit.metrics.attempts.similar import LEAD_S
from audit.model import ATTEMPTS, Period
from audit.nightly import sources
from audit.nightly.keeping import archiving
from audit.nightly.stages import Work, in_force
from audit.pipeline import drawing, published
from audit.pipeline.completeness import with_completeness
from audit.pipeline.computing import compute_and_keep
from audit.pipeline.drawing import HTML
from audit.pipeline.inferring import SPAN_S, of_period
from audit.pipeline.opening import dated, recorded_attempts
from audit.report import index
from audit.report.contents import Contents, Settings, Who
from audit.report.index import IndexVerdict, answers, render_index
from audit.report.sections.changes import section as changes
from audit.report.sections.changes.record import Trend
from audit.report.sections.registry import notices
from audit.report.source import SectionSource
from audit.report.standing import standing
from audit.store import archive, database, queries
from audit.store.attempts import first_arrival
from audit.store.database import Connection

AT_ONCE = 2_000_000
"""Approximate number of attempts that are computed together if not all are read."""
_DAY_S = 86_400


def compute(work: Work, cluster: Cluster) -> bool:
    """Compute the periods whose figures were not computed from the store's current content.

    Returns whether there were records.

    Raises UsageError if the requested period does not exist, or the pools are not known well enough
    to archive; ConfigError if files that the configuration names are wrong.
    """
    con, night, name = work.con, work.night, cluster.name
    stored = _stored(work, cluster)
    if stored is None:
        night.warnings.append(f"cluster {name!r}: no records yet, so nothing to report")
        return False
    current = stored.periods
    archived = archive.archived_until(con, name)
    computed = {
        Period(period, start, end): run_id
        for period, start, end, run_id in queries.rows(con, "computed", cluster=name)
    }
    if work.only is not None and work.only not in (names := [one.name for one in current]):
        put_away = [one.name for one in computed if archived and one.to_time <= archived]
        if work.only in put_away:
            return True
        have = f"--period {work.only!r}: cluster {name!r} has {names[0]} to {names[-1]}"
        raise UsageError(have + (", and archived periods" if put_away else ""))
    identities = stored.identities()
    named = [each for each in identities if work.only in (None, each.period.name)]
    stale = {each.run_id for each in named if computed.get(each.period) != each.run_id}
    due = [each for each in identities if each.run_id in stale]
    stays = {
        period: run_id
        for period, run_id in computed.items()
        if period in current or (archived is not None and period.to_time <= archived)
    }
    kept = {one.name for one in (*current, *stays)}  # others are of another length or zone
    database.delete(con, "verdict_result", cluster=name, keep=sorted(kept))
    if not due and len(stays) == len(computed):
        stored.put_away(stays, [])
        return True
    work.prepare()
    left = {each.period for each in due}
    for part in stored.parts(due):
        stored.compute(part, stays)
        stays |= {each.identity.period: each.identity.run_id for each in part}
        left -= {each.identity.period for each in part}
        stored.put_away(stays, left)
    results.check(con)
    night.warnings += [f"cluster {name!r}: {warning}" for warning in stored.setting.warnings]
    night.computed += [f"{name} {identity.period.name}" for identity in due]
    night.exceeded += _exceeded(work, due)
    return True


class _Due(NamedTuple):
    """A period that is computed, with what was inferred up to its end."""

    identity: Identity
    setting: ClusterSettings


@dataclass(frozen=True)
class _Stored:
    """A cluster's data in the store."""

    work: Work
    cluster: Cluster
    setting: ClusterSettings  # as configured
    fairshare: FairshareInputs
    periods: Mapping[Period, int]  # the current ones, in order, and the number of attempts in each
    attempts: pl.DataFrame | None = None  # all of them; None: read as needed

    def identities(self) -> list[Identity]:
        """Return the inputs of each current period's figures."""
        con, name, current = self.work.con, self.cluster.name, list(self.periods)
        if not current:  # only leftovers of archived months, such as an open job
            return []
        given = in_force(self.work, self.cluster) | {"pools": self.setting.pools}
        if self.fairshare.in_force:
            given["files"] = self.fairshare.in_force
        if self.setting.declared != NOTHING:
            given["declared"] = declared.stored(self.setting.declared)
        missing: dict[Period, list[list[str]]] = {}
        for file, reason, since in queries.rows(con, "missing", cluster=name):
            for period in _near(since, current):
                missing.setdefault(period, []).append([file, reason])
        begins = min(period.from_time for period in current)
        first = first_arrival(con, name, begins, None)
        since = begins if first is None else min(begins, first)
        begin = self.setting.log.from_time
        ((until,),) = queries.rows(con, "last_end_of_earlier", cluster=name, before=begin)
        of_time = {"since": begins - SPAN_S, "until": max(period.to_time for period in current)}
        inputs = queries.rows(con, "inputs_in_time", cluster=name, **of_time)
        found = []
        for period in current:
            more: dict[str, Any] = {"inferred_from": _inferred_from(inputs, period)}
            more |= evidence.in_force(con, name, period.to_time)
            if period in missing:
                more["missing"] = missing[period]
            if period.from_time <= max(begin, until or begin):  # no later figure depends on it
                more["log_begin"] = begin
            after = period.to_time - self.setting.now
            if after > 0 and max(begin - period.from_time, 0) + after >= _DAY_S:
                more["newest"] = self.setting.now  # until then, the report lacks days
            text = json.dumps(
                given | more, sort_keys=True, default=lambda rule: rule.model_dump(mode="json")
            )
            found.append(Identity.of(con, name, period, text, since))
        return found

    def parts(self, due: Sequence[Identity]) -> Iterator[list[_Due]]:
        """Yield the due periods that are computed together, with what is inferred of each.

        They are adjacent, and the same rules and passes were inferred.
        """
        by_period = {each.period: each for each in due}
        most = None if self.attempts is not None else AT_ONCE
        for stretch in stretches(self.periods, by_period, most):
            part: list[_Due] = []
            for period in stretch:
                one = self._inferred(by_period[period])
                if part and not fitted.alike(part[-1].setting, one.setting):
                    yield part
                    part = []
                part.append(one)
            yield part

    def _inferred(self, of: Identity) -> _Due:
        """Return what the 400 days before the end of a period show, and its run keeps."""
        name, period = self.cluster.name, of.period
        kept = self._kept(of.run_id)
        if kept is None:
            self.work.progress(f"{name}: inferring rules of {period.name}", 0, 1)
            span = (period.to_time - SPAN_S, period.to_time)
            found = of_period(
                recorded_attempts(self.work.con, name, *span)
                if self.attempts is None
                else self.attempts,
                *(self.setting, period.to_time, self.fairshare),
                fitted.silent(self.setting, self.cluster),
                database.folder(self.work.con),
            )
            kept = fitted.in_force(self.setting, found)
            self.work.progress(f"{name}: inferring rules of {period.name}", 1, 1)
        return _Due(of.keeping(kept), fitted.again(self.setting, kept))

    def _kept(self, run_id: str) -> dict[str, Any] | None:
        of = {"cluster": self.cluster.name, "run_id": run_id}
        for (text,) in queries.rows(self.work.con, "inferred_by_run", **of):
            return None if text is None else dict(json.loads(text))
        return None

    def _newest(self, stays: Mapping[Period, str]) -> ClusterSettings | None:
        """Return the setting of the newest period, if its figures stay."""
        run_id = stays.get(list(self.periods)[-1])
        kept = None if run_id is None else self._kept(run_id)
        return None if kept is None else fitted.again(self.setting, kept)

    def compute(self, part: Sequence[_Due], stays: Mapping[Period, str]) -> None:
        """Compute some periods; what arrived after their end matters to none of their figures."""
        work, name = self.work, self.cluster.name
        settings = {each.identity.period: each.setting for each in part}
        window = window_of(self.periods, list(settings))
        if window.from_time is None:
            window = window._replace(from_time=archive.archived_until(work.con, name))
        kept = {period: run_id for period, run_id in stays.items() if period not in settings}
        compute_and_keep(
            work.con,
            Task(
                self._read(window),
                part[-1].setting,
                self.fairshare,
                [each.identity for each in part],
                kept,
                window,
                SPAN_S,
                settings,
                self._newest(kept),
            ),
            work.site.config,
            work.now,
            lambda what, done, of: work.progress(f"{name}: {what}", done, of),
            work.night.notes.append,
        )

    def _read(self, window: ComputedWindow) -> pl.DataFrame:
        until = window.to_time  # whatever arrives later matters to none of their figures
        if self.attempts is None:
            since = self._needed_since(window)
            return recorded_attempts(self.work.con, self.cluster.name, since, until)
        if until is None:
            return self.attempts
        arrived = pl.min_horizontal(
            pl.coalesce("eligible_time", "submit_time"), "start_time", "end_time"
        )
        return population.only(self.attempts, arrived.is_null() | (arrived < until))

    def _needed_since(self, window: ComputedWindow) -> int | None:
        """Return the epoch second from which on attempts matter.

        They show the site's rules, count in usage, or are similar jobs.
        """
        begin = window.from_time
        if begin is None:
            return None
        of_base = begin - BASE_S
        first = first_arrival(self.work.con, self.cluster.name, of_base, window.to_time)
        since = of_base if first is None else min(first, of_base)
        return min(
            since - LEAD_S, begin - SPAN_S, begin - fairshare.lead_s(self.fairshare, self.setting)
        )

    def put_away(self, computed: Collection[Period], due: Collection[Period]) -> None:
        """Archive what is old enough, up to the first period whose figures are not current."""
        if self.work.only is None:  # otherwise other periods were not examined
            done = itertools.takewhile(lambda one: one in computed and one not in due, self.periods)
            archiving.put_away(self.work, self.cluster, self.setting, list(done))


def _stored(work: Work, cluster: Cluster) -> _Stored | None:
    """Return a cluster's data in the store; None if it has no records."""
    con, name = work.con, cluster.name
    hours = queries.run(con, "instants", cluster=name)
    if hours.is_empty():
        return None
    usage = fairshare.read(cluster.usage, work.site.folder, name)
    nodes = dated(con, name, declared.configured(cluster, work.site.folder))
    headers, months = published.headers(con, name), archive.months(con, name)
    begin = log_begin(con, name, sources.begins(cluster))
    if not months and not work.site.config.retention.archive_months:
        attempts = recorded_attempts(con, name)
        setting = configured(cluster, attempts, headers, declared=nodes).begun(begin)
        setting = with_completeness(setting, con, cluster.populations)
        current = _periods(hours, cluster, setting)
        return _Stored(work, cluster, setting, usage, current, attempts)
    extent = published.extent(con, name)
    archiving.check_pools(cluster, extent)
    setting = configured(cluster, pl.DataFrame(schema=ATTEMPTS), headers, extent, nodes).begun(
        begin
    )
    setting = with_completeness(setting, con, cluster.populations)
    until = months[-1].to_time if months else None
    computed = queries.rows(con, "computed", cluster=name)
    taken = [period for period, _, to_time, _ in computed if until and to_time <= until]
    return _Stored(work, cluster, setting, usage, _periods(hours, cluster, setting, until, taken))


def _inferred_from(inputs: Sequence[Sequence[Any]], period: Period) -> str:
    """Return the digest of the inputs from which a period's rules are inferred.

    These are those with attempts of the 400 days before its end.

    Args:
        inputs: rows of ``inputs_in_time``.
    """
    since = period.to_time - SPAN_S
    named = [
        [input_id, doubtful, replayed]
        for input_id, first, last, doubtful, replayed in inputs
        if first < period.to_time and (last is None or last >= since)
    ]
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()


def _near(found: int, current: Sequence[Period]) -> Sequence[Period]:
    """Return the periods that lack a log which was set aside at an instant.

    A log that a night finds is most likely of that day or the day before: the periods with these
    days lack it, or the last period if it ended earlier.
    """
    near = [one for one in current if one.from_time <= found < one.to_time + _DAY_S]
    return near or current[-1:]


def _exceeded(work: Work, due: Sequence[Identity]) -> Iterator[str]:
    """Yield the figures of periods that are above a threshold of config.toml."""
    for limit, run in itertools.product(work.site.config.thresholds, due):
        of = {"cluster": run.cluster, "period": run.period.name, "metric": limit.metric}
        for pool, part, value, unit in queries.rows(
            work.con, "exceeded", **of, dimension=limit.dimension, above=limit.above
        ):
            whose = "" if part is None else f" of {limit.dimension} {part}"
            what = f"{run.cluster} {run.period.name}, pool {pool}: {limit.metric}{whose}"
            yield f"{what} is {value:g} {unit}, above {limit.above:g}"


def _periods(
    hours: pl.DataFrame,
    cluster: Cluster,
    setting: ClusterSettings,
    archived: int | None = None,
    taken: Collection[str] = (),
) -> dict[Period, int]:
    """Return the periods in which attempts ended or left the queue, and the number of each.

    Periods without any are left out, because one wrong date decades away would otherwise make
    thousands of empty days; so is the time before ``archived`` (epoch s). If the zone or the length
    of periods changed since, ``archived`` is within a period: the rest of it is one, or belongs to
    the next one if its name is among ``taken``, those of archived periods.
    """
    known = sorted({*hours["first"].to_list(), *hours["last"].to_list()})
    every = periods.covering(cluster.period, known[0], known[-1], setting.zone)
    if archived is not None:
        every = [period for period in every if period.to_time > archived]
        rest = bool(every) and every[0].from_time < archived
        every = every[1:] if rest and every[0].name in taken else every
        hours = hours.filter(pl.col("first") >= archived)
        if rest and every:
            every[0] = every[0]._replace(from_time=archived)
    if not every:
        return {}
    from_times = [period.from_time for period in every]
    begins = np.searchsorted(known, from_times)
    ends = np.searchsorted(known, [period.to_time for period in every])
    place = np.searchsorted(from_times, hours["first"].to_numpy(), side="right") - 1
    counts = np.bincount(place, hours["attempts"].to_numpy(), len(every)).astype(int)
    return {
        period: int(count)
        for period, begin, end, count in zip(every, begins, ends, counts, strict=True)
        if begin < end
    }


def report(
    work: Work,
    cluster: Cluster,
    due: Sequence[tuple[str, int, int, str]],
    also: Mapping[str, Sequence[Who]] | None = None,
) -> None:
    """Make the reports that are due; each file replaces the old one in one step.

    Args:
        due: the name, start and end (epoch s) of each period, and the run that computed it.
        also: by period, users and accounts that get a page besides those of recipients.
    """
    con, config, night, what = work.con, work.site.config, work.night, f"reports of {cluster.name}"
    named = [
        who
        for recipient in config.recipients
        if recipient.gets(cluster.name, cluster.period)
        for who in itertools.starmap(Who, recipient.owners)
    ]
    asked = also or {}
    if due and (named or asked):  # reads all attempts
        names = drawing.names(con, cluster.name)
        named = [who for who in named if who in names]
        asked = {period: [who for who in of if who in names] for period, of in asked.items()}
    for number, (name, start, end, run_id) in enumerate(due):
        work.progress(what, number, len(due))
        folder = work.site.report(cluster.name, name)
        privacy.shared_folder(folder, with_group=work.site.shared)
        period = Period(name, start, end)
        made = drawing.draw(
            *(con, config, cluster.name, period, folder),
            pdf=config.report.pdf,
            also=[*named, *asked.get(name, ())],
        )
        if made.failure is not None:
            night.failures.append(made.failure)
            continue
        index.keep(con, made.contents)
        night.exceeded += _failing(made.contents, config)
        _note_report(con, cluster.name, name, run_id, work.now)
        night.reports.append(made.html)
        grave = [notice.text for notice in notices(made.contents) if notice.grave]
        empty = [standing(made.contents).text] if made.contents.empty else []
        night.warnings += [f"{cluster.name} {name}: {text}" for text in (*empty, *grave)]
    if due:
        work.progress(what, len(due), len(due))


def _failing(contents: Contents, config: Config) -> Iterator[str]:
    if contents.first and contents.first[0].word.value in config.verdict.fail:
        yield f"{contents.cluster} {contents.span.name}: {contents.first[0].verdict}"


def _note_report(con: Connection, cluster: str, period: str, run_id: str, now: int) -> None:
    of = "cluster = ? AND period = ? AND stage ="
    copied = "SELECT * REPLACE ('report' AS stage, ? AS ended_at) FROM run"
    with database.transaction(con):
        database.execute(con, f"DELETE FROM run WHERE {of} 'report'", [cluster, period])  # noqa: S608
        database.execute(
            con,
            f"INSERT INTO run {copied} WHERE {of} 'compute' AND run_id = ?",
            [now, cluster, period, run_id],
        )


def write_index(con: Connection, site: Site) -> Path | None:
    """Write the index page; return None if there is no report yet."""

    def link(page: Path) -> str:
        return quote(page.relative_to(site.reports).as_posix())

    def href(cluster: str, period: str) -> str | None:
        page = site.report(cluster, period) / HTML
        return link(page) if page.is_file() else None  # None: it is no longer kept

    def pages(answer: IndexVerdict) -> list[tuple[Who, str]]:
        found = drawing.found(site.report(answer.cluster, answer.period))
        return [(who, link(file)) for file, who in found.items()]

    shown = [answer for answer in answers(con) if href(answer.cluster, answer.period)]
    if not shown:
        return None
    found = _trends(con, shown, site.config.uncertainty.resamples)
    page = render_index(shown, found, href, pages)
    replace.write(site.index, page.encode(), alone=True, with_group=site.shared)
    return site.index


def _trends(con: Connection, shown: list[IndexVerdict], resamples: int) -> dict[str, Trend]:
    """Return, by cluster, the trend of the main pool up to its newest report."""
    newest = {answer.cluster: answer for answer in reversed(shown)}
    found = {}
    for cluster, answer in newest.items():
        zone = queries.run(con, "report/cluster", cluster=cluster, period=answer.period)["zone"][0]
        period = Period(answer.period, answer.from_time, answer.to_time)
        settings = Settings(resamples=resamples)
        of_pools = changes.read(SectionSource(con, cluster, period, zone=zone, settings=settings))
        if answer.pool in of_pools:
            found[cluster] = of_pools[answer.pool]
    return found
