"""Standard Workload Format: 18 numbers a line, comments with ``;``, seconds since UnixStartTime.

Rules: SPEC §1, "From SWF". Format: Parallel Workloads Archive, "The Standard Workload Format".
Fields that no metric uses are not read, so damage in them costs nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.formats.dialects import PLAIN, Dialect, Header, Parsed, Reading
from audit.formats.instants import LATEST, is_zone
from audit.formats.lines import NEWLINE, Block, Bytes, Lines, Offsets, cut, select
from audit.formats.shaping import (
    LARGEST,
    LARGEST_ID,
    Fault,
    faulted,
    refused,
    remarks,
    shaped,
    unreadable,
)
from audit.model import JobState, RecordKind, RefusalCode
from audit.progress import printable

FIELDS: Final = {
    # index in the line: column, name in a refusal
    0: ("job_number", "job number"),
    1: ("submit", "submit time"),
    2: ("wait", "wait time"),
    3: ("run", "run time"),
    4: ("allocated", "number of allocated processors"),
    7: ("requested", "requested number of processors"),
    8: ("walltime", "requested time"),
    9: ("memory", "requested memory"),
    10: ("status", "status"),
    11: ("user", "user ID"),
    12: ("group", "group ID"),
    14: ("queue", "queue number"),
    15: ("partition", "partition number"),
}
FIELD_COUNT: Final = 18
_WHOLE: Final = {
    **dict.fromkeys(("job_number", "status", "user", "group", "queue", "partition"), LARGEST_ID),
    **dict.fromkeys(("allocated", "requested"), LARGEST),
}
"""Fields of whole numbers, and the largest valid one."""

OPTIONAL: Final = ("requested", "walltime", "memory", "user", "group", "queue", "partition")
"""Fields that may be unreadable: they are then unknown."""

STATES: Final = {
    0: JobState.FAILED,
    1: JobState.COMPLETED,
    2: JobState.PARTIAL,
    3: JobState.COMPLETED,
    4: JobState.FAILED,
    5: JobState.CANCELLED,
}
BURSTS: Final = (2, 3, 4)
CANCELLED: Final = 5

_IN_MILLISECONDS: Final = (10**12, 1000 * LATEST)  # range of times in milliseconds, from 2001 on

_NAMES: Final = [FIELDS.get(n, (f"unused_{n}",))[0] for n in range(FIELD_COUNT)]
_LINE: Final = {name: pl.String if name.startswith("unused") else pl.Float64 for name in _NAMES}
_SPACE = ord(" ")
_BLANKS: Final = b" \t\r\v\f"
_BLANK = np.isin(np.arange(256), list(_BLANKS))
_NEEDLESS: Final = (b"  ", b"\n ", b" \n", b"\t", b"\r", b"\v", b"\f")
"""What a text with single spaces between fields only does not contain."""
_ENTRY = re.compile(r"^\s*([A-Za-z][A-Za-z ]*?)\s*:\s*(.*?)\s*$")
_NAMED = re.compile(r"^(\d+)\s*[-:]?\s*(.*)$")
_NUMBERED = re.compile(r"(Queue|Partition) \d+")
_NUMBER = re.compile(r"-?\d{1,18}(?!\d)")
_TIME: Final = re.compile(
    r"(?:[A-Z][a-z]{2} )?(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<time>\d\d:\d\d:\d\d)"
    r"(?: [A-Z]{3,5}){0,2} (?P<year>\d{4})"
)
"""A time of a header entry, such as ``Fri Aug 29 10:55:01 CEST 1997``."""
_MONTHS: Final = "JanFebMarAprMayJunJulAugSepOctNovDec"
_COUNTS: Final = ("MaxJobs", "MaxRecords")
_TIMES: Final = ("StartTime", "EndTime")


class Announced(NamedTuple):
    """The size and span of the whole log by its header."""

    records: int  # the larger one of the numbers of jobs and of records
    start: int | None = None  # epoch s; None: the header does not say
    end: int | None = None


def recognises(head: bytes) -> bool:
    """Return whether most of the first hundred records are 18 numbers.

    With one of SWF's own header entries, one of ten or no record at all is enough. A log that
    begins with a comment of another kind (``#``) is nearly SWF.
    """
    lines = head.split(b"\n")
    if head.lstrip().startswith(b"#"):
        return False
    if len(lines) > 1:
        lines.pop()  # possibly cut
    records = [*islice((of for line in lines if (of := line.split()) and of[0][:1] != b";"), 100)]
    alike = sum(len(fields) == FIELD_COUNT and all(map(_is_number, fields)) for fields in records)
    headed = not {"UnixStartTime", "MaxProcs", "MaxJobs"}.isdisjoint(header(head).entries)
    return alike * 2 > len(records) or (headed and alike * 10 >= len(records))


def header(head: bytes, reading: Reading = PLAIN) -> Header:
    """Read the comments before the first record: capacity, zone, start time, names."""
    entries: dict[str, str] = {}
    problems: list[str] = []
    notes: list[str] = []
    noting = False  # whether lines without a label continue a note
    for line in head.decode("utf-8", errors="replace").splitlines():
        if line.strip() and not line.lstrip().startswith(";"):
            break
        text = line.strip().lstrip(";")
        match = _ENTRY.match(text)
        if match is None:
            noting = noting and bool(text.strip())
            if noting:
                notes[-1] += f" {text.strip()}"
        else:
            key, value = match.groups()
            noting = key == "Note"
            if noting:
                notes.append(value)
            elif key not in ("Queue", "Partition"):
                entries.setdefault(key, value)
            elif named := _NAMED.match(value):
                name = named[2].split(" - ")[0].strip()
                entries[f"{key} {int(named[1])}"] = name or named[1]
    if notes:
        entries["Note"] = "\n".join(notes)
    capacity = {}
    for key, resource in (("MaxProcs", "cpus"), ("MaxNodes", "nodes")):
        if (amount := _leading_number(entries.get(key, "-1"))) is not None and amount > 0:
            capacity[resource] = amount
        elif entries.get(key, "-1") != "-1":
            problems.append(f"header {key}: {entries[key]!r} is not a positive number: ignored")
    start = entries.get("UnixStartTime")
    if start is None or _leading_number(start) is None:
        wrong = " is missing" if start is None else f": {start!r} is not a number"
        problems.append(f"header UnixStartTime{wrong}: times are counted from 1970-01-01")
    zone = entries.get("TimeZoneString")
    if zone is not None and not is_zone(zone):
        problems.append(f"header TimeZoneString: {zone!r} is not a known time zone: ignored")
        zone = None
    return Header(zone=zone, capacity=capacity, entries=entries, problems=tuple(problems))


def announced(entries: Mapping[str, str]) -> Announced | None:
    """Return the size and the span of the whole log by its header; None: it names no size.

    Times of the header are local, and UnixStartTime is the first of them.
    """
    counts = [_leading_number(entries.get(key, "")) for key in _COUNTS]
    records = max(filter(None, counts), default=0)
    if records <= 0:
        return None
    start, end = (_time(entries.get(key, "")) for key in _TIMES)
    if start is None or end is None or end <= start:
        return Announced(records)
    origin = _leading_number(entries.get("UnixStartTime", "")) or 0
    return Announced(records, origin, origin + int((end - start).total_seconds()))


def _time(text: str) -> datetime | None:
    """Return a local time of the header without its zone; None if it is not understood."""
    try:
        if match := _TIME.fullmatch(" ".join(text.split())):
            month = _MONTHS.index(match["month"]) // 3 + 1
            text = f"{match['year']}-{month:02}-{match['day']:0>2} {match['time']}"
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None


def needed(entries: Mapping[str, str]) -> dict[str, str]:
    """Return the start time, the size and span of the log, and the names of numbers."""
    named = {key: name for key, name in entries.items() if _NUMBERED.fullmatch(key)}
    numbers = {key: _leading_number(entries.get(key, "")) for key in ("UnixStartTime", *_COUNTS)}
    times = {key: entries[key] for key in _TIMES if _time(entries.get(key, "")) is not None}
    return (
        named | {key: str(number) for key, number in numbers.items() if number is not None} | times
    )


def parse(block: Block, header: Header) -> Parsed:
    """Read whole lines."""
    spans = cut(np.frombuffer(block.data, dtype=np.uint8))
    return shaped(block, spans, read(block.data, header), by_line=True)


def read(raw: bytes, header: Header) -> list[pl.DataFrame]:
    """Return the records of some lines as ``shaping.shaped`` takes them."""
    data, lines, spaces = _fields(raw)
    is_record = lines.ends > lines.starts
    is_record[is_record] = data[lines.starts[is_record]] != ord(";")
    whole = is_record & (spaces == FIELD_COUNT - 1)
    broken = refused(
        (int(number), f"{spaces[number] + 1} fields, SWF has {FIELD_COUNT}", RefusalCode.SHAPE)
        for number in np.flatnonzero(is_record & ~whole)
    )
    if not whole.any():
        return [broken]
    fields = pl.read_csv(
        select(data, lines, whole),
        separator=" ",
        has_header=False,
        columns=list(FIELDS),
        schema=_LINE,
        quote_char=None,
        ignore_errors=True,  # invalid numbers become null, and are refused by name
        encoding="utf8-lossy",
    )
    origin = _leading_number(header.entries.get("UnixStartTime", "")) or 0
    unread = fields.select(**{name: _unreadable(name) for name in OPTIONAL})
    doubts = {name: unread[name] for name in OPTIONAL if unread[name].any()}
    fields = fields.with_columns(
        pl.when(~bad).then(name).otherwise(-1.0).alias(name) for name, bad in doubts.items()
    )
    titles = {name: f"field {n + 1} ({title})" for n, (name, title) in FIELDS.items()}
    records = fields.select(
        pl.lit(pl.Series(np.flatnonzero(whole))).alias("number"),
        **_columns(header, origin),
        **faulted(_faults(origin)),
        remarks=remarks(*((bad, unreadable(titles[name])) for name, bad in doubts.items())),
    )
    return [records, broken]


def write(frame: pl.DataFrame, entries: Mapping[str, str], comments: Sequence[str] = ()) -> bytes:
    """Return attempts as an SWF log; the inverse of ``parse`` for what SWF can hold.

    In SWF a cancelled run of 0 s, or any run of 0 s on no processors, means a job that never
    started: the first is written as failed, the second is ambiguous.

    Args:
        frame: columns of ``model.ATTEMPTS``; ``user``, ``account`` and ``partition`` (the queue)
            are decimal numbers or null, see ``numbered``. Jobs that never started have no start;
            jobs with an unknown start have no end, but an ``occupancy_s``.
        entries, comments: header lines, in order. ``UnixStartTime`` is the origin of times.
    """
    origin = int(entries.get("UnixStartTime", "0"))
    status = {state: number for number, state in sorted(STATES.items(), reverse=True)}
    started = pl.col("start_time").is_not_null()
    left_at = pl.when(started).then("start_time").otherwise("end_time")
    spent = pl.col("occupancy_s") if "occupancy_s" in frame.columns else pl.lit(None, pl.Int64)
    run = pl.coalesce(
        pl.when(started).then(pl.col("end_time") - pl.col("start_time")),
        pl.when(left_at.is_null()).then(spent),
    )
    state = pl.col("state").replace_strict(status, default=None, return_dtype=pl.Int64)
    kept = (run != 0) | (state != CANCELLED) | run.is_null()
    columns = {
        "job_number": pl.col("job_number"),
        "submit": pl.col("submit_time") - origin,
        "wait": left_at - pl.col("submit_time"),
        "run": run,
        "allocated": pl.when(started | run.is_not_null()).then("cpus"),
        "requested": pl.col("cpus"),
        "walltime": pl.when(pl.col("walltime_s") <= LATEST).then("walltime_s"),
        "status": pl.when(kept).then(state).otherwise(status[JobState.FAILED]),
        "user": pl.col("user").cast(pl.Int64),
        "group": pl.col("account").cast(pl.Int64),
        "queue": pl.col("partition").cast(pl.Int64),
    }
    lines = [*(f"{key}: {value}" for key, value in entries.items()), *comments]
    header = "".join(f"; {printable(line)}\n" for line in lines)
    unknown = pl.lit(-1)
    text = frame.select(
        columns[name].fill_null(-1).alias(name) if name in columns else unknown.alias(name)
        for name in _NAMES
    )
    return header.encode() + text.write_csv(separator=" ", include_header=False).encode()


def numbered(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Return attempts with a number for every name, for ``write``, and comments with the names.

    Names of a kind that are all numbers are kept; else each becomes its rank in alphabetical order.
    Partitions become queues. Where job numbers are not unique, jobs are numbered in order.
    """
    comments: list[str] = []
    number = frame["job_number"]
    if not (number.is_between(0, LARGEST_ID).all(ignore_nulls=False) and number.is_unique().all()):
        frame = frame.with_columns(job_number=pl.int_range(1, pl.len() + 1))
        comments.append("Note: job numbers are places in this file")
    for column, label in (("partition", "Queue"), ("account", "Group"), ("user", "User")):
        names = frame[column].drop_nulls().unique().sort().to_list()
        if not all(_is_id(name) for name in names):
            numbers = {name: str(place) for place, name in enumerate(names, start=1)}
            ranks = pl.col(column).replace_strict(numbers, default=None, return_dtype=pl.String)
            frame = frame.with_columns(ranks)
            comments += [f"{label}: {place} {_bare(name)}" for name, place in numbers.items()]
    return frame, comments


def _fields(raw: bytes) -> tuple[Bytes, Lines, Offsets]:
    """Return the lines with single spaces between fields only, and each line's number of spaces."""
    data = np.frombuffer(raw, dtype=np.uint8)
    if any(blank in raw for blank in _NEEDLESS) or b" " in (raw[:1], raw[-1:]):
        blank = _BLANK[data]
        before = np.append(True, blank[:-1] | (data[:-1] == NEWLINE))  # a blank, or a line's start
        data = np.where(blank, np.uint8(_SPACE), data)[~(blank & before)]
        last = (data == _SPACE) & np.append(data[1:] == NEWLINE, True)
        data = data[~last]
    lines, spaces = cut(data), np.flatnonzero(data == _SPACE)
    return data, lines, np.searchsorted(spaces, lines.ends) - np.searchsorted(spaces, lines.starts)


def _unreadable(name: str) -> pl.Expr:
    """Return where a field is not a number, or one that cannot be."""
    column = pl.col(name)
    bad = column.is_null() | ~column.is_finite()
    if limit := _WHOLE.get(name):
        bad |= (column != column.floor()) | (column.abs() > limit)
    return bad | (column > LATEST) if name == "walltime" else bad


def _faults(origin: int) -> Iterator[Fault]:
    value, time = RefusalCode.VALUE, RefusalCode.TIME
    burst = pl.col("status").is_in([float(status) for status in BURSTS])
    run, submit = pl.col("run"), pl.col("submit")
    left = origin + submit + pl.col("wait").clip(0) + run.clip(0)
    needed = {index: of for index, of in FIELDS.items() if of[0] not in OPTIONAL}
    for index, (name, title) in needed.items():
        column = pl.col(name)
        bad = column.is_null() | ~column.is_finite()
        yield bad, value, f"field {index + 1} ({title}) is not a number"
    for index, (name, title) in needed.items():
        if limit := _WHOLE.get(name):
            column = pl.col(name)
            bad = (column != column.floor()) | (column.abs() > limit)
            yield bad, value, f"field {index + 1} ({title}) is not a whole number in range"
    yield pl.col("job_number") < 0, value, "field 1 (job number) is negative"
    yield (submit < 0) & ~burst, value, "field 2 (submit time) is unknown or negative"
    early = "ends before it starts: field 4 (run time) is {} s"
    yield run < -1, RefusalCode.ORDER, pl.format(early, run.cast(pl.Int64, strict=False))
    milliseconds = "a time of 13 digits: are these milliseconds? SWF counts seconds"
    yield left.is_between(*_IN_MILLISECONDS), time, milliseconds
    yield left > LATEST, time, "a time beyond the year 2242: damaged, or not in seconds"


def _columns(header: Header, origin: int) -> dict[str, pl.Expr]:
    number = {
        name: pl.col(name).floor().cast(pl.Int64, strict=False) for name, _ in FIELDS.values()
    }
    known = {name: pl.when(value >= 0).then(value) for name, value in number.items()}
    amount = {name: pl.when(value > 0).then(value) for name, value in number.items()}

    burst = number["status"].is_in(BURSTS)
    later_burst = burst & (number["submit"] < 0)
    submit = pl.when(~later_burst).then(number["submit"] + origin)
    never_started = (number["run"] < 0) | (
        (number["run"] == 0) & ((number["status"] == CANCELLED) | (number["allocated"] <= 0))
    )
    occupancy = pl.when(~never_started).then(number["run"])
    start = submit + pl.when(~never_started).then(known["wait"])
    cpus = pl.coalesce(amount["allocated"], amount["requested"])
    queue = _named("Queue", known["queue"], header)
    partition = _named("Partition", known["partition"], header)
    group = known["group"].cast(pl.String)
    return {
        "job_id": number["job_number"].cast(pl.String),
        "job_number": number["job_number"],
        "kind": pl.when(burst).then(pl.lit(RecordKind.BURST)).otherwise(pl.lit(RecordKind.JOB)),
        "user": known["user"].cast(pl.String),
        "account": group,
        "group": group,
        # SWF's queue is Slurm's partition, unless the log also has partitions
        "partition": pl.coalesce(partition, queue),
        "qos": pl.when(partition.is_not_null()).then(queue),
        "state": number["status"].replace_strict(
            STATES, default=known["status"].cast(pl.String), return_dtype=pl.String
        ),
        "submit_time": submit,
        "start_time": start,
        "end_time": pl.when(never_started)
        .then(submit + known["wait"])
        .otherwise(start + occupancy),
        "occupancy_s": occupancy,
        "waited_s": pl.when(later_burst).then(known["wait"]),
        "suspended_s": pl.lit(0, pl.Int64),
        "walltime_s": amount["walltime"],
        "cpus": cpus,
        # SWF: kilobytes per processor; a product beyond int64 becomes null
        "mem_bytes": (amount["memory"] * 1024.0 * cpus).cast(pl.Int64, strict=False),
    }


def _named(kind: str, number: pl.Expr, header: Header) -> pl.Expr:
    names = {
        int(key.removeprefix(f"{kind} ")): name
        for key, name in header.entries.items()
        if key.startswith(f"{kind} ")
    }
    return number.replace_strict(names, default=number.cast(pl.String), return_dtype=pl.String)


def _is_id(name: str) -> bool:
    if len(name) > 16 or not (name.isascii() and name.isdecimal()):
        return False
    return str(int(name)) == name and int(name) <= LARGEST_ID


def _bare(name: str) -> str:
    """Return a name that ``header`` reads back whole; different names stay different."""
    text = name.replace("\\", "\\\\").replace(" - ", " \\x2d ").replace(" - ", " \\x2d ")
    if text[:1] in ("-", ":", " "):
        text = f"\\x{ord(text[0]):02x}{text[1:]}"
    return f"{text[:-1]}\\x20" if text.endswith(" ") else text


def _leading_number(text: str) -> int | None:
    match = _NUMBER.match(text)
    return int(match[0]) if match else None


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


_TITLE: Final = "Standard Workload Format (SWF)"
DIALECT = Dialect("swf", _TITLE, recognises, header, parse, needed=needed, scheduler="SWF")
