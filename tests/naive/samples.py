"""Tables of squeue and sprio, line by line, in plain Python; see ``audit.formats.evidence.tables``.

Nothing here is shared with the package.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

TIME = (
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?|[0-9]{1,12}(?:\.[0-9]+)?)"
)
STAMP = re.compile(rf"(?:==\s*)?({TIME})")
NAMES = {"JOBID": "job", "STATE": "state", "ST": "state", "REASON": "reason"}
NAMES |= {"PRIORITY": "priority", "START_TIME": "expected"}
STATES = {"PD": "PENDING", "R": "RUNNING", "S": "SUSPENDED", "CG": "COMPLETING"}
UNKNOWN = ("", "N/A", "None", "(null)", "Unknown", "NONE")

EDGES = re.compile(r"^[^\S\x1c-\x1f]+|[^\S\x1c-\x1f]+$")
"""White space of Unicode, to which Python adds four separators of old tapes."""

Said = tuple[str, str, str | None, str | None, float | None, str | None]
"""Instant, job, state, reason, priority, expected start."""


def tables(
    lines: Iterable[str], taken: str | None, state: str | None = None
) -> tuple[list[Said], int]:
    """All that the lines say, and the number of lines that say nothing."""
    said: list[Said] = []
    skipped, at, heads = 0, taken, dict[str, list[int]]()
    for text in filter(None, (EDGES.sub("", line) for line in lines)):
        fields = [field.strip() for field in text.split("|")] if "|" in text else text.split()
        if stamp := STAMP.fullmatch(text):
            at = stamp[1]
        elif found := _headings(fields):
            heads = found
        else:
            made = list(_statements(fields, heads, at, state))
            skipped += not made
            said += made
    return said, skipped


def _headings(fields: Sequence[str]) -> dict[str, list[int]]:
    places = dict[str, list[int]]()
    for place, field in enumerate(fields):
        if field in NAMES:
            places.setdefault(NAMES[field], []).append(place)
    return places if "job" in places and len(places) > 1 else {}


def _statements(
    fields: Sequence[str], heads: Mapping[str, list[int]], at: str | None, state: str | None
) -> Iterator[Said]:
    last = max((place for places in heads.values() for place in places), default=len(fields))
    if at is None or last >= len(fields):
        return
    cells = {name: [fields[place] for place in places] for name, places in heads.items()}
    job = max(cells["job"], key=lambda cell: ("_" in cell, len(cell)))
    shown = _known(cells["state"][0]) if "state" in cells else state
    shown = STATES.get(shown or "", shown)
    reason = (_known(cells["reason"][0]) or "").strip("()") if "reason" in cells else ""
    expected = _known(cells["expected"][0]) if "expected" in cells else None
    names = [*_tasks(job)] + ([f"{job}_*"] if state is not None and job.isdigit() else [])
    for name in names:
        planned = expected if shown == "PENDING" else None
        yield at, name, shown, reason or None, _priority(cells.get("priority", ())), planned


def _priority(cells: Sequence[str]) -> float | None:
    numbers = [float(cell) for cell in cells if re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?", cell)]
    most = max((number for number in numbers if number > 0), default=None)
    if most is None:
        return 0.0 if "0" in cells else None
    return most if most >= 1 else None


def _known(cell: str) -> str | None:
    return None if cell in UNKNOWN else cell


def _tasks(job: str) -> Iterator[str]:
    array = re.fullmatch(r"([0-9]{1,18})_\[([0-9,\-]{1,4000})(?:%[0-9]+)?\]", job)
    if array is None:
        if re.fullmatch(r"[0-9]{1,18}[^\s|;,]{0,200}", job):
            yield job
        return
    for part in array[2].split(","):
        low, _, high = part.partition("-")
        if low.isdigit() and (high or low).isdigit():
            yield from (f"{array[1]}_{task}" for task in range(int(low), int(high or low) + 1))
