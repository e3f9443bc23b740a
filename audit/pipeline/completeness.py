"""Whether the logs of a cluster hold all of its jobs (SPEC §14, *A part of the workload*).

In a part of the workload, capacity that no job of the log used may have been in use. Logs tell by
the size and the end that their headers announce, by gaps in the job numbers, and by arrays with
fewer tasks than they had. A source's ``population`` decides if all sources of the cluster state it,
else that of the mappings by which its tables were read.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from audit.cluster.setting import ClusterSettings
from audit.formats import swf
from audit.formats.swf import Announced
from audit.model import Announcement
from audit.store import queries
from audit.store.database import Connection
from audit.words import Population

_PART: Final = 0.5
"""Share of the announced records, or of the job numbers, below which a log is a part."""
_WHOLE: Final = 0.98
"""Share of the announced records from which a log is whole."""
_SINGLE: Final = 0.9
"""Share of array jobs with one task from which arrays are incomplete."""
_ENOUGH: Final = 100  # fewer jobs or array jobs show nothing
_DAY_S: Final = 86_400

_STATED: Final = {
    Population.PART: "its sources hold only a part of the jobs",
    Population.LENGTH_BIASED: "its sources hold a sample of the jobs in which long ones are "
    "over-represented",
}


class Numbers(NamedTuple):
    """A row of the query ``job_numbers``."""

    jobs: int = 0
    density: float | None = None  # in the median month
    arrays: int = 0
    single: int = 0  # of them with one task
    first: int | None = None  # submission, epoch s
    last: int | None = None


class Completeness(NamedTuple):
    """Whether the logs hold all jobs."""

    part: str = ""  # why they are a part of the workload, in a clause; empty: they are not
    cautions: tuple[str, ...] = ()
    announced: Announcement | None = None
    """None: headers announce about as many records as there are."""
    gaps: bool = False
    """Whether most job numbers have no record, although the logs may hold all jobs."""


def with_completeness(
    setting: ClusterSettings, con: Connection, stated: Iterable[Population | None] = ()
) -> ClusterSettings:
    """Return a setting with what the logs in the store tell about their completeness.

    ``stated`` is the population of each source of the cluster, if its configuration names it.
    """
    cluster = setting.cluster
    headers: Counter[Announced] = Counter()
    tables: list[Population | None] = []
    cautions: dict[str, None] = {}
    for _, _, header, records in queries.rows(con, "headers", cluster=cluster):
        entries = json.loads(header)["entries"]
        if of := swf.announced(entries):
            headers[of] += records  # a log that grew is several inputs
        tables.append(Population(entries["population"]) if "population" in entries else None)
        cautions |= dict.fromkeys(filter(None, [entries.get("caution")]))
    (numbers,) = queries.rows(con, "job_numbers", cluster=cluster)
    latest = setting.now or None
    by_source = list(stated)
    known = by_source if any(by_source) else tables
    found = judged(known, list(headers.items()), Numbers(*numbers), latest)
    if found.part and any(tables) and not any(by_source):
        found = found._replace(part="; ".join(cautions) or found.part)
        cautions = {}
    warnings = (*setting.warnings, *found.cautions, *cautions)
    part, announced, gaps = found.part, found.announced, found.gaps
    return replace(setting, part=part, warnings=warnings, announced=announced, gaps=gaps)


def judged(
    stated: Sequence[Population | None],
    headers: Sequence[tuple[Announced, int]],
    numbers: Numbers,
    latest: int | None,
) -> Completeness:
    """Return whether logs are a part of the workload, and cautions if that is not certain.

    Args:
        stated: the population of each source.
        headers: what each header announces, and how many records its log has.
        latest: the last instant of the records, epoch s.
    """
    for population, why in _STATED.items():
        if population in stated:
            return Completeness(f"{why} (clusters.sources.population)")
    if stated and all(population is Population.ALL for population in stated):
        return Completeness()
    records = sum(count for _, count in headers)
    covered = [(of.records, _covered(of, numbers)) for of, _ in headers]
    expected = sum(count * part for count, part in covered)
    share = records / expected if expected else 1.0
    partly = any(part < _WHOLE for _, part in covered)
    named = round(sum(count * (part if part < _WHOLE else 1) for count, part in covered))
    few = (
        f"it has {records:,}, or {_percent(records / max(named, 1))}, of the {named:,} records "
        f"that {'its header announces' if len(headers) == 1 else 'its headers announce'}"
        f"{' for this time' if partly else ''}"
    )
    announced = Announcement(records, named, partly) if share < _WHOLE else None
    density = 1.0 if numbers.density is None else numbers.density
    gaps = numbers.jobs >= _ENOUGH and density < _PART
    missing = f"{_percent(1 - density)} of the job numbers of its median month have no record"
    if share < _PART:
        return Completeness(few, announced=announced)
    if gaps and numbers.arrays >= _ENOUGH and numbers.single >= _SINGLE * numbers.arrays:
        arrays = f"{numbers.single:,} of {numbers.arrays:,} array jobs have one task"
        return Completeness(f"{missing}, and {arrays}", announced=announced)
    found = [*([few] if share < _WHOLE else []), *([missing] if gaps else [])]
    found += _ended_early([of for of, _ in headers], latest)
    cautions = tuple(f"the log may be a part of the workload: {text}" for text in found)
    return Completeness("", cautions, announced, gaps)


def _percent(share: float) -> str:
    rounded = f"{100 * share:.0f} %"
    return "over 99 %" if share < 1 and rounded == "100 %" else rounded


def _covered(of: Announced, numbers: Numbers) -> float:
    """Return the part of a header's span in which the jobs of the logs were submitted."""
    if of.start is None or of.end is None or numbers.first is None or numbers.last is None:
        return 1.0
    begin, end = max(of.start, numbers.first), min(of.end, numbers.last)
    return (end - begin) / (of.end - of.start) if end > begin else 1.0


def _ended_early(headers: Sequence[Announced], latest: int | None) -> Iterator[str]:
    end = max((of.end for of in headers if of.end is not None), default=None)
    if end is not None and latest is not None and end - latest >= _DAY_S:
        announced, last = (datetime.fromtimestamp(time, UTC).date() for time in (end, latest))
        yield f"its header says that it ends on {announced}, but its last record is of {last}"
