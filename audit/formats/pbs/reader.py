"""Accounting logs of PBS: OpenPBS, PBS Professional and TORQUE.

A line is a record, `MM/DD/YYYY HH:MM:SS;TYPE;ID;key=value key=value …`. A value with a blank is in
quotes (`"`, or `'` if it contains a `"`); nothing is escaped. Times are the epoch seconds of the
keys; the local time at the beginning only where there are none. Types:

- `Q`: the job entered a queue. `S`, `s`: a run started. `E`: a run ended; also `R` with keys (PBS
  Professional), after which the job waits again.
- `D` deleted, `A` aborted by the server, `M` moved to another server, and `R` without keys
  (TORQUE): the job left its run, or the queue. `z`, `r`: its run was suspended, resumed.
- Others (checkpoints, provisioning, phases of a job that releases nodes, licences, reservations)
  are counted and skipped, and so is the start of an array as a whole (`123[].server`), which its
  tasks state. Its end is that of the tasks without a record: they were deleted while they waited.

``ingest.events`` combines all records of a job, from any number of days, into attempts:

- An attempt's size is what was allocated, else what was requested (``records``); its account is
  `account`, else `project`.
- States are Slurm's words, by Exit_status: 0 COMPLETED, -29 (TORQUE: -11) TIMEOUT, -26 and -27
  (TORQUE: -10) OUT_OF_MEMORY; killed by a signal (256 and more): TIMEOUT if the walltime was used
  up, CANCELLED by INT, KILL and TERM; others FAILED.
- A job id includes the server's name, as in the log.
- PBS ends each line: a last line without an end was cut, and is refused.
- What stands before the time of a record is skipped: what syslog writes (TORQUE), or a file's name
  by `grep`.

Local times are in the zone that the user names; otherwise the log's own epoch seconds show the
offset of its clock from UTC.

Sources: OpenPBS, src/server/accounting.c and src/include/acct.h; PBS Professional Administrator's
Guide, "Accounting"; TORQUE Administrator Guide, "Accounting Records" and "Job Exit Status".
"""

import re
from collections import Counter
from dataclasses import replace
from datetime import datetime
from typing import Final

import numpy as np
import polars as pl

from audit.formats.dialects import PLAIN, Dialect, Header, Parsed, Reading, Selection
from audit.formats.instants import instants
from audit.formats.lines import Block, Lines, as_text, cut
from audit.formats.pbs.records import KEYS, REQUEUED, identified, shown, typed
from audit.formats.shaping import REFUSED, case, faulted, keyed, shaped
from audit.model import JobState, RecordKind, RefusalCode

KINDS: Final = {
    # type: kind of record
    "Q": RecordKind.QUEUED.value,
    **dict.fromkeys("SsE", RecordKind.SIGHTING.value),
    **dict.fromkeys("RDAM", RecordKind.LEFT.value),  # an `R` with keys is a sighting
    "z": RecordKind.PAUSED.value,
    "r": RecordKind.RESUMED.value,
}
PASSED_OVER: Final = "CTPpuceaLUYBFKkG"
"""Types that are skipped; some sites' own programs write `G`."""
STATES: Final = {**dict.fromkeys("DA", JobState.CANCELLED.value), "R": REQUEUED, "M": "MOVED"}
"""States of jobs that left."""

_HEAD: Final = re.compile(
    rb"(\d\d)/(\d\d)/(\d{4}) (\d\d):(\d\d):(\d\d);[%s];([^;\n]+);"
    % "".join([*KINDS, PASSED_OVER]).encode()
)
_STAMPED: Final = re.compile(
    rb"^(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d);"
    rb"(?:S;[^;\n]*;[^\n]*\bstart|E;[^;\n]*;[^\n]*\bend)=(\d{9,10})\b",
    re.MULTILINE,
)
_ITEM: Final = re.compile(
    r"""(?:^|(?<=\ ))(?P<key>[A-Za-z][\w.]*)=
        (?:"(?P<double>[^"]*)"(?=\ |$)|'(?P<single>[^']*)'(?=\ |$)|(?P<bare>[^ ]*))""",
    re.VERBOSE,
)
_QUOTED: Final = r"""^(?:"[^"]*"|'[^']*')$"""
_HEAD_LENGTH: Final = 19
_PREFIX: Final = r"^[^;\n]*: ?([0-9]{2}/[0-9]{2}/[0-9]{4} [0-9:]{8};)"
"""What may stand before a record: a time, a host and a program by syslog, a file's name by grep."""
_SLASHES: Final = (2, 5)  # places in a line without a prefix
_STARTS, _ENDS = (re.compile(rb"^.{19};%s;" % kind, re.MULTILINE) for kind in (b"S", b"E"))
_NO_STARTS: Final = {"starts": "none"}
"""Entry of ``Header`` of a log of ends alone."""
_SERVER: Final = re.compile(
    rb"^.{19};[QSEDA];[0-9]+(?:\[[0-9]*\])?\.([A-Za-z0-9][A-Za-z0-9._-]{0,99});", re.MULTILINE
)
_HOUR: Final = 3_600
_FURTHEST: Final = 14  # hours that a zone may be ahead of UTC; it may be one less behind


def recognises(head: bytes) -> bool:
    """Return whether most of the first hundred lines begin as PBS's records."""
    lines = [_bare(line) for line in head.split(b"\n", 200) if line.strip()][:100]
    return sum(_HEAD.match(line) is not None for line in lines) * 2 > len(lines)


def _bare(text: bytes) -> bytes:
    return re.sub(_PREFIX.encode(), rb"\1", text, flags=re.MULTILINE)


def header(head: bytes, reading: Reading = PLAIN) -> Header:
    """Return the zone, the user's or that of the log's clock, the server, and if starts lack."""
    bare = _bare(head)
    lacks = _ENDS.search(bare) and not _STARTS.search(bare)
    servers = {name.decode() for name in _SERVER.findall(bare)}
    server = servers.pop() if len(servers) == 1 else None
    found = Header(entries=_NO_STARTS if lacks else {}, server=server)
    if reading.zone is not None:
        return replace(found, zone=reading.zone)
    hours = Counter(
        round(seconds / _HOUR)
        for stamp, epoch in _STAMPED.findall(bare)
        if abs(seconds := _wall(stamp) - int(epoch)) <= _FURTHEST * _HOUR
    )
    if not hours:
        return replace(found, local_times=True)
    ahead = min(hours, key=lambda hour: (-hours[hour], hour))
    if ahead == 0:
        return replace(found, zone="UTC")
    offset = f"{abs(ahead)} h {'ahead of' if ahead > 0 else 'behind'} UTC"
    problem = (
        f"local times are {offset} where the log begins: all are read so; where clocks change in "
        "summer, name the zone"
    )
    zone = f"Etc/GMT{-ahead:+d}"  # which counts westwards
    return replace(found, zone=zone, problems=(problem,))


def _wall(stamp: bytes) -> int:
    try:
        moment = datetime.strptime(f"{stamp.decode()} +0000", "%m/%d/%Y %H:%M:%S %z")
    except ValueError:
        return 0
    return int(moment.timestamp())


def parse(block: Block, header: Header) -> Parsed:
    """Read whole lines."""
    spans = cut(np.frombuffer(block.data, dtype=np.uint8))
    text = pl.Series("line", [as_text(block.data).decode()])
    line, kind, shape = pl.col("line"), pl.col("type"), RefusalCode.SHAPE
    headless = "does not begin with a time, a type and an id, each with a ; behind it"
    faults = (
        (~pl.col("whole"), RefusalCode.CUT, "the log ends within this record"),
        (kind.is_null() | pl.col("id").is_null(), shape, headless),
        (pl.col("kind").is_null() & ~pl.col("passed"), shape, shown("type", "is unknown in PBS")),
    )
    passed = kind.is_in(list(PASSED_OVER)) | (kind.is_in(["S", "s"]) & _of_array())
    names = ("time", "type", "id", "message")
    bare = line.str.replace(_PREFIX, "$1") if _has_prefix(block.data, spans) else line
    parts = bare.str.splitn(";", 4).struct.rename_fields(names)
    headed = (pl.col("time").str.len_bytes() == _HEAD_LENGTH) & pl.col("message").is_not_null()
    lines = (
        text.str.split("\n")
        .explode()
        .head(len(spans.starts))
        .to_frame()
        .with_columns(
            parts.struct.unnest(),
            number=pl.int_range(pl.len(), dtype=pl.Int64),
            whole=(pl.int_range(pl.len()) < pl.len() - 1) | pl.lit(block.data.endswith(b"\n")),
        )
        .filter(line.str.contains(r"[^\s\x0B\x0C]"))
        .with_columns(pl.when(headed & (pl.col(name) != "")).then(name) for name in names[:3])
        .with_columns(
            kind=kind.replace_strict(KINDS, default=None, return_dtype=pl.String),
            passed=(passed & pl.col("whole")).fill_null(value=False),
        )
        .with_columns(**faulted(faults))
    )
    good = lines.filter(pl.col("problem").is_null() & ~pl.col("passed")).drop("problem", "code")
    bad = lines.select(REFUSED.names()).filter(pl.col("problem").is_not_null())
    found = [bad, *_records(good, header)] if good.height else bad
    return shaped(block, spans, found, steps=int(lines["passed"].sum()))


def _has_prefix(data: bytes, lines: Lines) -> bool:
    """Return whether some line does not begin as a time does."""
    text = np.frombuffer(data, dtype=np.uint8)
    starts = lines.starts[lines.ends - lines.starts > _HEAD_LENGTH]
    return any((text[starts + place] != ord("/")).any() for place in _SLASHES)


def _records(good: pl.DataFrame, header: Header) -> list[pl.DataFrame]:
    """Return the records of runs and queues, and the others, of lines with a valid head."""
    zone = header.zone or "UTC"
    listed = good["type"].is_in(["Q", "S", "s", "E", "R"])
    runs = good.filter(listed)
    runs = runs.hstack(values(runs["message"]))
    bare = (runs["type"] == "R") & runs["start"].is_null()
    events = pl.concat([good.filter(~listed), runs.filter(bare).select(good.columns)])
    runs = runs.filter(~bare)
    undated = (runs["type"] == "Q") & runs["ctime"].is_null()
    rerun = pl.col("type") == "R"
    kinds = case(
        (rerun, RecordKind.SIGHTING),
        ((pl.col("type") == "E") & _of_array(), RecordKind.LEFT),
        otherwise=pl.col("kind"),
    )
    named = runs.with_columns(
        kind=kinds,
        ends=pl.col("type").is_in(["E", "R"]),
        rerun=rerun,
        **_stamps(runs["time"].set(~undated, None), zone),
    )
    has_starts = not _NO_STARTS.items() <= header.entries.items()
    return [typed(named, has_starts=has_starts), _events(events, zone)]


def _of_array() -> pl.Expr:
    """Return which records are of an array as a whole."""
    return pl.col("id").str.contains("[]", literal=True)


def values(messages: pl.Series) -> pl.DataFrame:
    """Return the values of ``KEYS`` in each message; of equal keys the last, null where empty.

    Messages with a blank within quotes are read one by one.
    """
    items = messages.str.split(" ")
    pairs = items.explode().str.splitn("=", 2)
    key, value = pairs.struct.field("field_0"), pairs.struct.field("field_1")
    row = np.repeat(np.arange(len(items)), items.list.len())
    quoted = value.str.contains("^[\"']").fill_null(value=False)
    if quoted.any():
        closed = value.filter(quoted).str.contains(_QUOTED)
        odd = np.unique(row[quoted.to_numpy()][~closed.to_numpy()])
        where = pl.Series(np.flatnonzero(quoted.to_numpy()))
        value = value.scatter(where, value.filter(quoted).str.slice(1).str.head(-1))
    else:
        odd = np.zeros(0, dtype=np.int64)
    found = keyed(row, key, value, tuple(KEYS), len(items)).with_columns(pl.all().replace("", None))
    if not len(odd):
        return found
    read = [_items(messages[number]) for number in odd.tolist()]
    return found.with_columns(found[key].scatter(odd, [of.get(key) for of in read]) for key in KEYS)


def _items(message: str) -> dict[str, str | None]:
    return {
        match["key"]: match["double"] or match["single"] or match["bare"] or None
        for match in _ITEM.finditer(message)
    }


def _events(lines: pl.DataFrame, zone: str) -> pl.DataFrame:
    """Return the events of jobs whose records contain only a time."""
    why = pl.col("why").fill_null("is not a time")
    faults = (
        (pl.col("job_number").is_null(), RefusalCode.VALUE, shown("id", "is not a job id")),
        (pl.col("instant").is_null(), RefusalCode.TIME, shown("time", why)),
    )
    return lines.with_columns(**_stamps(lines["time"], zone), **identified(pl.col("id"))).select(
        *("number", "kind", "job_number", "array_task"),
        job_id="id",
        state=pl.col("type").replace_strict(STATES, default=None, return_dtype=pl.String),
        end_time="instant",
        **faulted(faults),
    )


def _stamps(texts: pl.Series, zone: str) -> dict[str, pl.Series]:
    """Return the heads' times: ``instant`` in epoch seconds, or ``why`` it is unknown."""
    if texts.null_count() == len(texts):
        return {"instant": texts.cast(pl.Int64), "why": texts}
    form = r"^([0-9]{2})/([0-9]{2})/([0-9]{4}) ([0-9:]{8})$"
    read = instants(texts.str.replace(form, "${3}-${1}-${2}T${4}"), zone)
    return {"instant": read.early, "why": read.problem}


_TITLE: Final = "PBS accounting (OpenPBS, PBS Professional, TORQUE)"
DIALECT = Dialect("pbs", _TITLE, recognises, header, parse, selection=Selection.BY_STAMP)
