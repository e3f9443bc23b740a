"""Standard Workload Format: 18 numbers a line, comments with ``;``, seconds since UnixStartTime.

Rules: SPEC §1, "From SWF". Format: Parallel Workloads Archive, "The Standard Workload Format".
Fields that no metric uses are not read, so a damaged one costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import polars as pl

from audit.formats.dialects import PLAIN, Dialect, Header, Parsed, Reading
from audit.formats.instants import LATEST, is_zone
from audit.formats.lines import NEWLINE, Block, Bytes, Lines, Offsets, cut, select
from audit.formats.shaping import LARGEST, LARGEST_ID, Fault, faulted, refused, shaped
from audit.model import JobState, RecordKind, RefusalCode

FIELDS: Final = {
    # index in the line: (column, what it is called in a refusal)
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
"""Fields that must be whole numbers, and the largest there may be."""

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

_IN_MILLISECONDS: Final = (10**12, 1000 * LATEST)
"""What times since 1970 look like in these, from 2001 on."""

_LINE: Final = {
    FIELDS[index][0] if index in FIELDS else f"unused_{index}": (
        pl.Float64 if index in FIELDS else pl.String
    )
    for index in range(FIELD_COUNT)
}
_COMMENT = ord(";")
_SPACE = ord(" ")
_OTHER_BLANKS: Final = (b"\t", b"\r", b"\v", b"\f")
_BLANK = np.zeros(256, dtype=np.bool_)
_BLANK[[_SPACE, *b"\t\r\v\f"]] = True
_ENTRY = re.compile(r"^\s*([A-Za-z][A-Za-z ]*?)\s*:\s*(.*?)\s*$")
_NAMED = re.compile(r"^(\d+)\s*[-:]?\s*(.*)$")
_NUMBERED = re.compile(r"(Queue|Partition) \d+")


def recognises(head: bytes) -> bool:
    """Whether these are the first bytes of an SWF log.

    Most of the first hundred records must be 18 numbers; a log that holds none yet must have one
    of SWF's own header entries.
    """
    lines = head.split(b"\n")
    if len(lines) > 1:
        lines.pop()  # maybe cut short
    records = [fields for line in lines if (fields := line.split()) and fields[0][:1] != b";"][:100]
    if not records:
        return not {"UnixStartTime", "MaxProcs", "MaxJobs"}.isdisjoint(header(head).entries)
    alike = sum(len(fields) == FIELD_COUNT and all(map(_is_number, fields)) for fields in records)
    return alike * 2 > len(records)


def header(head: bytes, reading: Reading = PLAIN) -> Header:
    """Reads the comments before the first record: capacity, zone, start time, names.

    SWF says all of it itself; times count from an instant, so no zone changes them.
    """
    entries: dict[str, str] = {}
    problems: list[str] = []
    for line in head.decode("utf-8", errors="replace").splitlines():
        if line.strip() and not line.lstrip().startswith(";"):
            break
        if match := _ENTRY.match(line.strip().lstrip(";")):
            key, value = match.groups()
            if key in ("Queue", "Partition"):
                if named := _NAMED.match(value):
                    name = named[2].split(" - ")[0].strip()
                    entries[f"{key} {int(named[1])}"] = name or named[1]
            elif key not in entries:  # notes repeat; the first of each is kept
                entries[key] = value
    capacity = {}
    for key, resource in (("MaxProcs", "cpus"), ("MaxNodes", "nodes")):
        if key in entries:
            if (amount := _leading_number(entries[key])) is not None and amount > 0:
                capacity[resource] = amount
            elif entries[key] != "-1":
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


def needed(entries: Mapping[str, str]) -> dict[str, str]:
    """The entries by which records are read: when time begins, and what numbers stand for."""
    start = _leading_number(entries.get("UnixStartTime", ""))
    named = {key: name for key, name in entries.items() if _NUMBERED.fullmatch(key)}
    return named if start is None else {**named, "UnixStartTime": str(start)}


def parse(block: Block, header: Header) -> Parsed:
    """Takes in whole lines of an SWF log; see the module's docstring."""
    spans = cut(np.frombuffer(block.data, dtype=np.uint8))
    return shaped(block, spans, read(block.data, header))


def read(raw: bytes, header: Header) -> list[pl.DataFrame]:
    """The records among some lines, as ``shaping.shaped`` takes them."""
    data, lines, spaces = _fields(raw)
    is_record = lines.ends > lines.starts
    is_record[is_record] = data[lines.starts[is_record]] != _COMMENT
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
        ignore_errors=True,  # what is no number becomes null, and is refused by name
        encoding="utf8-lossy",
    )
    origin = _leading_number(header.entries.get("UnixStartTime", "")) or 0
    records = fields.select(
        pl.lit(pl.Series(np.flatnonzero(whole))).alias("number"),
        **_columns(header, origin),
        **faulted(_faults(origin)),
    )
    return [records, broken]


def write(frame: pl.DataFrame, entries: Mapping[str, str], comments: Sequence[str] = ()) -> bytes:
    """Attempts as an SWF log, a line per row; the inverse of ``parse`` for what SWF can hold.

    SWF takes a cancelled run of no length, and any such run on no processors, for one that never
    started: the first is written as failed, the second cannot be told apart.

    Args:
        frame: columns of ``model.ATTEMPTS``. ``user``, ``account`` and ``partition`` (written as
            the queue) must be decimal numbers or null, see ``numbered``. What never started has no
            start; where the start is unknown there is no end either, but an ``occupancy_s``.
        entries: header lines, in order. ``UnixStartTime`` is what times are counted from.
        comments: further header lines. Line breaks in either are escaped.
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
    columns = {
        "job": pl.col("job_number"),
        "submit": pl.col("submit_time") - origin,
        "wait": left_at - pl.col("submit_time"),
        "run": run,
        "allocated": pl.when(started | run.is_not_null()).then("cpus"),
        "cpu": pl.lit(None, pl.Int64),
        "used_memory": pl.lit(None, pl.Int64),
        "requested": pl.col("cpus"),
        "walltime": pl.when(pl.col("walltime_s") <= LATEST).then("walltime_s"),
        "memory": pl.lit(None, pl.Int64),
        "status": pl.when((run != 0) | (state != CANCELLED) | run.is_null())
        .then(state)
        .otherwise(status[JobState.FAILED]),
        "user": pl.col("user").cast(pl.Int64),
        "group": pl.col("account").cast(pl.Int64),
        "executable": pl.lit(None, pl.Int64),
        "queue": pl.col("partition").cast(pl.Int64),
        "partition": pl.lit(None, pl.Int64),
        "preceding": pl.lit(None, pl.Int64),
        "think": pl.lit(None, pl.Int64),
    }
    lines = [*(f"{key}: {value}" for key, value in entries.items()), *comments]
    header = "".join(f"; {_within_line(line)}\n" for line in lines)
    text = frame.select(**{name: column.fill_null(-1) for name, column in columns.items()})
    return header.encode() + text.write_csv(separator=" ", include_header=False).encode()


def numbered(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Attempts with a number for every name, as ``write`` takes them, and comments with the names.

    Where all names of a kind are numbers, they stay; else each gets its place among them in
    alphabetical order. Partitions become queues, whose names ``header`` reads again. Where job
    numbers are unknown or not unique, jobs are numbered in the order of ``frame``.
    """
    comments: list[str] = []
    number = frame["job_number"]
    if not (number.is_between(0, LARGEST_ID).all(ignore_nulls=False) and number.is_unique().all()):
        frame = frame.with_columns(job_number=pl.int_range(1, pl.len() + 1))
        comments.append("Note: job numbers are places in this file")
    for column, label in (("partition", "Queue"), ("account", "Group"), ("user", "User")):
        names = frame[column].drop_nulls().unique().sort().to_list()
        if all(_is_id(name) for name in names):
            continue
        numbers = {name: str(place) for place, name in enumerate(names, start=1)}
        frame = frame.with_columns(
            pl.col(column).replace_strict(numbers, default=None, return_dtype=pl.String)
        )
        comments += [f"{label}: {place} {_bare(name)}" for name, place in numbers.items()]
    return frame, comments


def _fields(raw: bytes) -> tuple[Bytes, Lines, Offsets]:
    """The lines with one space between fields and none around them, and how many spaces each has.

    A line is never lost or joined to another. Most logs are regular as they are.
    """
    data = np.frombuffer(raw, dtype=np.uint8)
    lines = cut(data)
    spaces = np.flatnonzero(data == _SPACE)
    filled = lines.ends > lines.starts
    if (
        any(blank in raw for blank in _OTHER_BLANKS)
        or (np.diff(spaces) == 1).any()
        or (data[lines.starts[filled]] == _SPACE).any()
        or (data[lines.ends[filled] - 1] == _SPACE).any()
    ):
        data = _single_spaced(data)
        lines = cut(data)
        spaces = np.flatnonzero(data == _SPACE)
    return data, lines, np.searchsorted(spaces, lines.ends) - np.searchsorted(spaces, lines.starts)


def _single_spaced(data: Bytes) -> Bytes:
    blank = _BLANK[data]
    data = np.where(blank, np.uint8(_SPACE), data)
    keep = np.ones(len(data), dtype=np.bool_)  # not: a blank behind a blank or a line's start
    keep[0] = not blank[0]
    keep[1:] = ~(blank[1:] & (blank[:-1] | (data[:-1] == NEWLINE)))
    data = data[keep]
    last = data == _SPACE  # a blank before a line's end
    last[:-1] &= data[1:] == NEWLINE
    trimmed: Bytes = data[~last]
    return trimmed


def _faults(origin: int) -> Iterator[Fault]:
    """What can be wrong with 18 fields, of which times count from ``origin`` (epoch s)."""
    value, time = RefusalCode.VALUE, RefusalCode.TIME
    burst = pl.col("status").is_in([float(status) for status in BURSTS])
    run, submit = pl.col("run"), pl.col("submit")
    left = origin + submit + pl.col("wait").clip(0) + run.clip(0)
    for index, (name, title) in FIELDS.items():
        column = pl.col(name)
        bad = column.is_null() | ~column.is_finite()
        yield bad, value, f"field {index + 1} ({title}) is not a number"
    for index, (name, title) in FIELDS.items():
        if limit := _WHOLE.get(name):
            column = pl.col(name)
            bad = (column != column.floor()) | (column.abs() > limit)
            yield bad, value, f"field {index + 1} ({title}) is no whole number in range"
    yield pl.col("job_number") < 0, value, "field 1 (job number) is negative"
    yield (submit < 0) & ~burst, value, "field 2 (submit time) is unknown or negative"
    early = pl.format(
        "ends before it starts: field 4 (run time) is {} s", run.cast(pl.Int64, strict=False)
    )
    yield run < -1, RefusalCode.ORDER, early
    milliseconds = "a time of 13 digits: are these milliseconds? SWF counts seconds"
    yield left.is_between(*_IN_MILLISECONDS), time, milliseconds
    beyond = (left > LATEST) | (pl.col("walltime") > LATEST)
    yield beyond, time, "a time beyond the year 2242: damaged, or not in seconds"


def _columns(header: Header, origin: int) -> dict[str, pl.Expr]:
    """The columns of ``RECORDS`` in terms of the fields."""
    number = {
        name: pl.col(name).floor().cast(pl.Int64, strict=False) for name, _ in FIELDS.values()
    }
    known = {name: pl.when(number[name] >= 0).then(number[name]) for name in number}
    amount = {name: pl.when(number[name] > 0).then(number[name]) for name in number}

    burst = number["status"].is_in(BURSTS)
    later_burst = burst & (number["submit"] < 0)
    submit = pl.when(~later_burst).then(number["submit"] + origin)
    never_started = (number["run"] < 0) | (
        (number["run"] == 0) & ((number["status"] == CANCELLED) | (number["allocated"] <= 0))
    )
    occupancy = pl.when(~never_started).then(number["run"])
    start = submit + pl.when(~never_started).then(known["wait"])
    end = pl.when(never_started).then(submit + known["wait"]).otherwise(start + occupancy)
    cpus = pl.coalesce(amount["allocated"], amount["requested"])
    queue = _named("Queue", known["queue"], header)
    partition = _named("Partition", known["partition"], header)
    return {
        "job_id": number["job_number"].cast(pl.String),
        "job_number": number["job_number"],
        "kind": pl.when(burst).then(pl.lit(RecordKind.BURST)).otherwise(pl.lit(RecordKind.JOB)),
        "user": known["user"].cast(pl.String),
        "account": known["group"].cast(pl.String),
        "group": known["group"].cast(pl.String),
        # What a Slurm user calls a partition is SWF's queue, unless the log has partitions too.
        "partition": pl.coalesce(partition, queue),
        "qos": pl.when(partition.is_not_null()).then(queue),
        "state": number["status"].replace_strict(
            STATES, default=known["status"].cast(pl.String), return_dtype=pl.String
        ),
        "submit_time": submit,
        "start_time": start,
        "end_time": end,
        "occupancy_s": occupancy,
        "waited_s": pl.when(later_burst).then(known["wait"]),
        "suspended_s": pl.lit(0, pl.Int64),
        "walltime_s": amount["walltime"],
        "cpus": cpus,
        # SWF: kilobytes per processor. A product beyond int64 becomes null.
        "mem_bytes": (amount["memory"] * 1024.0 * cpus).cast(pl.Int64, strict=False),
    }


def _named(kind: str, number: pl.Expr, header: Header) -> pl.Expr:
    """The header's name for a queue or partition number, else the number."""
    prefix = f"{kind} "
    names = {
        int(key.removeprefix(prefix)): name
        for key, name in header.entries.items()
        if key.startswith(prefix)
    }
    return number.replace_strict(names, default=number.cast(pl.String), return_dtype=pl.String)


def _is_id(name: str) -> bool:
    """Whether SWF can hold a name as it is."""
    if len(name) > 16 or not (name.isascii() and name.isdecimal()):
        return False
    return str(int(name)) == name and int(name) <= LARGEST_ID


def _bare(name: str) -> str:
    """A name that is read back as a whole; names that differ still do."""
    text = name.replace("\\", "\\\\").replace(" - ", " \\x2d ").replace(" - ", " \\x2d ")
    if text[:1] in ("-", ":", " "):
        text = f"\\x{ord(text[0]):02x}{text[1:]}"
    return f"{text[:-1]}\\x20" if text.endswith(" ") else text


def _within_line(text: str) -> str:
    """A text without what ends a line or steers a terminal."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def _leading_number(text: str) -> int | None:
    match = re.match(r"-?\d+", text)
    return int(match[0]) if match else None


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


DIALECT = Dialect(
    name="swf",
    title="Standard Workload Format (SWF)",
    recognises=recognises,
    header=header,
    parse=parse,
    needed=needed,
)
