r"""Samples of ``squeue`` and ``sprio``: tables with headings, each after a line with its instant.

    date +%s; squeue -a -r -o '%i|%T|%r|%Q|%S'
    date +%s; sprio -l
    date +%s; squeue --json

A text has any number of samples. A line that is a time alone (epoch seconds or ISO 8601, also after
``==``) dates the table below it. Columns are found by their headings. ``|`` separates them, or
blanks; others are ignored. Source: the manual pages of squeue and sprio.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from audit.formats.evidence.statements import PENDING, Remark, Remarks, collected, known
from audit.formats.evidence.tables import STAMP, tasks

SQUEUE: Final = "date +%s; squeue -a -r -o '%i|%T|%r|%Q|%S'"
SPRIO: Final = "date +%s; sprio -l"
"""The commands that write samples."""


def first_lines(lines: Iterable[str]) -> tuple[Iterable[str], bool]:
    """Return the lines, and whether the first that is no time begins a JSON document."""
    rest, seen = iter(lines), list[str]()
    for line in rest:
        seen.append(line)
        if line.strip() and not STAMP.fullmatch(line):
            break
    is_json = bool(seen) and seen[-1].lstrip("\ufeff \t").startswith("{")
    return itertools.chain(seen, rest), is_json


def documents(text: str, taken: str | None) -> Remarks:
    """Read what ``squeue --json`` prints, any number of documents.

    ``taken`` is the instant of those before the first stamp; None: they are skipped.
    """
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
    return collected(said, skipped)


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
    reason = (known(reason) or "").strip("()") if isinstance(reason, str) else ""
    said = known(state)
    expected = f"{start:.0f}" if start and said == PENDING else None
    for one in tasks(name):
        yield Remark(at, one, None, said, reason or None, _value(job.get("priority")), expected)


def _value(cell: object) -> float | None:
    """Return a number of the JSON, which newer versions wrap; None where it is not set."""
    if isinstance(cell, Mapping):
        cell = cell.get("number") if cell.get("set") and not cell.get("infinite") else None
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    return float(cell) if 0 <= cell < 1 << 53 else None
