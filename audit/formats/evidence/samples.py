r"""Samples of ``squeue`` and ``sprio``: tables with headings, each after a line with its instant.

    date +%s; squeue -a -r -o '%i|%T|%r|%Q|%S'
    date +%s; sprio -l
    date +%s; squeue --json

A text has any number of samples. A line that is a time alone (epoch seconds or ISO 8601, also after
``==``) dates the table below it. Columns are found by their headings. ``|`` separates them, or
blanks; others are ignored. Source: the manual pages of squeue and sprio.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from audit.formats.evidence.statements import JOB, PENDING, STARTED, Remark, known, number
from audit.formats.instants import TIME

SQUEUE: Final = "date +%s; squeue -a -r -o '%i|%T|%r|%Q|%S'"
SPRIO: Final = "date +%s; sprio -l"
"""The commands that write samples."""

COLUMNS: Final = {
    "JOBID": "job",  # %i; of %A and %i both, the one of the array task
    "STATE": "state",  # %T
    "ST": "state",  # %t
    "REASON": "reason",  # %r
    "PRIORITY": "priority",  # %Q; %p is a fraction of 1, which is no priority
    "START_TIME": "expected",  # %S: of pending jobs the planned start
}
"""Headings of squeue and sprio, and the column of each."""

STATES: Final = {"PD": PENDING, "R": STARTED, "S": "SUSPENDED", "CG": "COMPLETING"}
"""Short forms of states (%t)."""

STAMP: Final = re.compile(rf"\s*(?:==\s*)?({TIME})\s*")
_TASKS: Final = re.compile(r"([0-9]{1,18})_\[([0-9,\-]{1,4000})(?:%[0-9]+)?\]")
_MOST_TASKS: Final = 10_000


class Sampled(NamedTuple):
    """Statements of samples, and the number of lines that are none."""

    said: list[Remark]
    skipped: int


class Looked(NamedTuple):
    """Lines, and whether the first that is no time begins a JSON document."""

    lines: Iterable[str]
    is_json: bool


def first_lines(lines: Iterable[str]) -> Looked:
    """Look at the first lines without losing them."""
    rest, seen = iter(lines), list[str]()
    for line in rest:
        seen.append(line)
        if line.strip() and not STAMP.fullmatch(line):
            break
    is_json = bool(seen) and seen[-1].lstrip("\ufeff \t").startswith("{")
    return Looked(itertools.chain(seen, rest), is_json)


def tables(lines: Iterable[str], taken: str | None, state: str | None = None) -> Sampled:
    """Read tables with headings.

    Args:
        taken: the instant of what comes before the first stamp; None: it is skipped.
        state: of jobs in tables without a column of states.
    """
    said = list[Remark]()
    skipped, at, heads = 0, taken, dict[str, list[int]]()
    for line in lines:
        text = line.strip()
        if stamp := STAMP.fullmatch(text):
            at = stamp[1]
            continue
        fields = [field.strip() for field in text.split("|")] if "|" in text else text.split()
        found = _headings(fields)
        if found:
            heads = found
        elif text:
            made = _statements(fields, heads, at, state)
            skipped += not made
            said += made
    return Sampled(said, skipped)


def documents(text: str, taken: str | None) -> Sampled:
    """Read what ``squeue --json`` prints, any number of documents; arguments as of ``tables``."""
    said = list[Remark]()
    skipped, at, place = 0, taken, 0
    decoder = json.JSONDecoder()
    while place < len(text):
        start = text.find("{", place)
        before = text[place : start if start >= 0 else len(text)]
        for line in filter(None, map(str.strip, before.splitlines())):
            stamp = STAMP.fullmatch(line)
            at, skipped = (stamp[1], skipped) if stamp else (at, skipped + 1)
        if start < 0:
            break
        try:
            document, place = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            skipped += 1
            place = text.find("\n{", start + 1)
            if place < 0:
                break
            continue
        jobs = document.get("jobs") if isinstance(document, Mapping) else None
        own = _value(document.get("last_update")) if isinstance(document, Mapping) else None
        for job in jobs if isinstance(jobs, list) else ():
            made = [*_of_json(job, str(int(own)) if own else at)] if isinstance(job, dict) else []
            skipped += not made
            said += made
    return Sampled(said, skipped)


def _headings(fields: list[str]) -> dict[str, list[int]]:
    """Return the places of known columns if a line is a row of headings, else nothing."""
    places = dict[str, list[int]]()
    for place, field in enumerate(fields):
        if field in COLUMNS:
            places.setdefault(COLUMNS[field], []).append(place)
    return places if "job" in places and len(places) > 1 else {}


def _statements(
    fields: list[str], heads: Mapping[str, list[int]], at: str | None, state: str | None
) -> list[Remark]:
    last = max((place for places in heads.values() for place in places), default=len(fields))
    if at is None or last >= len(fields):
        return []
    cells = {name: [fields[place] for place in places] for name, places in heads.items()}
    job = max(cells["job"], key=lambda cell: ("_" in cell, len(cell)))
    priority = max(filter(None, map(number, cells.get("priority", ()))), default=None)
    if priority is None and "0" in cells.get("priority", ()):
        priority = 0.0
    if priority is not None and 0 < priority < 1:
        priority = None
    shown = known(cells["state"][0]) if "state" in cells else state
    found = _Cells(
        STATES.get(shown or "", shown),
        known(cells["reason"][0]) if "reason" in cells else None,
        priority,
        known(cells["expected"][0]) if "expected" in cells else None,
    )
    names = [*tasks(job)]
    if state is not None and job.isdigit():
        names.append(f"{job}_*")  # sprio names arrays by their number
    return [found.of(one, at) for one in names]


class _Cells(NamedTuple):
    state: str | None
    reason: str | None
    priority: float | None
    expected: str | None

    def of(self, job: str, at: str) -> Remark:
        waits = self.state == PENDING
        return Remark(
            *(at, job, None, self.state, (self.reason or "").strip("()") or None),
            *(self.priority, self.expected if waits else None),
        )


def tasks(job: str) -> Iterator[str]:
    """Yield a job id; of an array that has not started (``7_[0-3,9%2]``) those of its tasks."""
    array = _TASKS.fullmatch(job)
    if array is None:
        if JOB.fullmatch(job):
            yield job
        return
    count = 0
    for part in array[2].split(","):
        low, _, high = part.partition("-")
        if not low.isdigit() or not (high or low).isdigit():
            continue
        for task in range(int(low), int(high or low) + 1):
            count += 1
            if count > _MOST_TASKS:
                return
            yield f"{array[1]}_{task}"


def _of_json(job: Mapping[str, Any], at: str | None) -> Iterator[Remark]:
    """Yield the statements of a job; the forms of Slurm 21.08 to 25.05."""
    state = job.get("job_state")
    state = state[0] if isinstance(state, list) and state else state
    base, task = _value(job.get("array_job_id")), _value(job.get("array_task_id"))
    listed = job.get("array_task_string")
    own, offset = _value(job.get("job_id")), _value(job.get("het_job_offset"))
    group = _value(job.get("het_job_id"))
    if at is None or own is None or not isinstance(state, str):
        return
    if base and task is not None and job.get("array_task_id") is not None and not listed:
        name = f"{base:.0f}_{task:.0f}"
    elif base and isinstance(listed, str) and listed:
        name = f"{base:.0f}_[{listed}]"
    elif group and offset is not None:
        name = f"{group:.0f}+{offset:.0f}"
    else:
        name = f"{own:.0f}"
    start, reason = _value(job.get("start_time")), job.get("state_reason")
    found = _Cells(
        known(state),
        known(reason) if isinstance(reason, str) else None,
        _value(job.get("priority")),
        f"{start:.0f}" if start else None,
    )
    for one in tasks(name):
        yield found.of(one, at)


def _value(cell: object) -> float | None:
    """Return a number of the JSON, which newer versions wrap; None where it is not set."""
    if isinstance(cell, Mapping):
        cell = cell.get("number") if cell.get("set") and not cell.get("infinite") else None
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    return float(cell) if 0 <= cell < 1 << 53 else None
