"""What a log is that no dialect reads, in words for its user.

Logs of other schedulers, and other outputs of Slurm, are recognised by what stands in them; a file
of numbers that is nearly SWF is told how it differs.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final, NamedTuple

_ANY_LINE = re.MULTILINE


class Foreign(NamedTuple):
    """One kind of log that is known by sight, and not read."""

    name: str
    evidence: tuple[re.Pattern[str], ...]
    """What must stand in its first bytes; the first of these is shown by its line."""
    remedy: str


def _foreign(name: str, remedy: str, *evidence: str) -> Foreign:
    return Foreign(name, tuple(re.compile(text, _ANY_LINE) for text in evidence), remedy)


_TO_SWF: Final = "until then its jobs can be written as SWF, 18 numbers a line"

FOREIGN: Final = (
    _foreign(
        "LSF's log of events (lsb.events)",
        "the file lsb.acct, beside it, is read",
        r'^"[A-Z][A-Z0-9_]+" "\d+(?:\.\d+)*" \d{9,11} ',
    ),
    _foreign(
        "what LSF's bacct prints",
        "its source, the file lsb.acct, is",
        r"^Accounting information about jobs that are:|^Job <\d+(?:\[\d+\])?>, .*User <",
    ),
    _foreign(
        "Grid Engine's reporting file",
        "the file called accounting, beside it, is read",
        r"^\d{9,13}:(?:new_job|job_log|acct|queue|host|host_consumable|queue_consumable):",
    ),
    _foreign(
        "an accounting file of Gridware or Open Cluster Scheduler 9, in JSON lines",
        "with old_accounting=true in its reporting_params it writes columns, which are read",
        r'^\{"job_number": *\d+, *"task_number": *\d+',
    ),
    _foreign(
        "what Grid Engine's qacct prints",
        "its source, the file called accounting, is",
        r"^=+\nqname +\S|^OWNER +WALLCLOCK +UTIME",
    ),
    _foreign(
        "an HTCondor job event log",
        "condor_history knows more of each job; " + _TO_SWF,
        r"^\d{3} \(\d+\.\d+\.\d+\) \d",
    ),
    _foreign(
        "what Slurm's sacct --yaml prints",
        "let sacct write text or JSON: sacct -X -D -P, sacct -X -D --json",
        r"\A%YAML",
        r"\ballocation_nodes:|openapi\\?/db",
    ),
    _foreign(
        "Slurm's job completion log (jobcomp/filetxt)",
        "the accounting database knows more: sacct -X -D -P",
        r"^JobId=\d+ UserId=",
    ),
)

_SWF_FIELDS: Final = 18
_LIKELY_WIDTHS: Final = range(12, 41)
_SAMPLE: Final = 100
_SEPARATORS: Final = {None: "blanks", ",": "commas", ";": "semicolons", "|": "bars", ":": "colons"}
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def describe(head: bytes) -> str | None:
    """What the log that begins with ``head`` looks like, and what to do; None if nobody knows.

    Args:
        head: its first bytes, decompressed.
    """
    text = head.decode("utf-8", errors="backslashreplace").replace("\r\n", "\n")
    for kind in FOREIGN:
        places = [pattern.search(text) for pattern in kind.evidence]
        if places[0] is not None and all(places):
            line = text.count("\n", 0, places[0].start()) + 1
            return (
                f"this looks like {kind.name} (line {line}); fairaudit does not read those yet: "
                f"{kind.remedy}"
            )
    return _nearly_swf(text)


def _nearly_swf(text: str) -> str | None:
    """How a table of numbers differs from SWF."""
    lines = [
        (number, line)
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip() and not line.lstrip().startswith((";", "#"))
    ][:_SAMPLE]
    best: tuple[int, str | None, int] = (0, None, 0)  # lines, separator, columns
    for separator in _SEPARATORS:
        widths = Counter(
            len(fields) for _, line in lines if _are_numbers(fields := _cut(line, separator))
        )
        if widths:
            width, alike = widths.most_common(1)[0]
            best = max(best, (alike, separator, width), key=lambda found: found[0])
    alike, separator, width = best
    if alike * 2 <= len(lines):
        return None
    number, fields = next(
        (number, fields)
        for number, line in lines
        if len(fields := _cut(line, separator)) == width and _are_numbers(fields)
    )
    return f"nearly SWF: {_difference(number, fields, separator)}"


def _cut(line: str, separator: str | None) -> list[str]:
    return [field.strip() for field in line.split(separator)]


def _are_numbers(fields: list[str]) -> bool:
    """Whether most fields are numbers, and nearly as many as SWF has."""
    numbers = sum(_NUMBER.fullmatch(field) is not None for field in fields)
    return len(fields) in _LIKELY_WIDTHS and numbers * 4 >= len(fields) * 3


def _difference(line: int, fields: list[str], separator: str | None) -> str:
    width = len(fields)
    words = [
        place
        for place, field in enumerate(fields[:_SWF_FIELDS], start=1)
        if _NUMBER.fullmatch(field) is None
    ]
    seen = f"line {line} has {width} columns separated by {_SEPARATORS[separator]}"
    wanted = "SWF has 18 numbers separated by blanks (job number, submit time, wait time, …)"
    steps = []
    if separator is not None:
        steps.append(f"write blanks instead of {_SEPARATORS[separator]}")
    if width > _SWF_FIELDS:
        first = _SWF_FIELDS + 1
        beyond = f"column {first}" if width == first else f"columns {first} to {width}"
        steps.append(f"leave out {beyond}, or whichever SWF does not have")
    elif width < _SWF_FIELDS:
        steps.append("write -1 for each of the columns that are missing")
    if words:
        steps.append(f"write numbers in column {', '.join(map(str, words))} (names become numbers)")
    return f"{seen}, where {wanted}: {'; '.join(steps)}"
