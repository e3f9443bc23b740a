"""Accounting logs of PBS: OpenPBS, PBS Professional and TORQUE.

A line is a record: local time, type, job, and keys with values. Times are the epoch seconds of the
keys; the local time only where there are none. Types:

- `Q`: the job entered a queue. `S`, `s`: a run started. `E`: a run ended; also `R` with keys (PBS
  Professional), after which the job waits again.
- `D` deleted, `A` aborted by the server, `M` moved to another server, and `R` without keys
  (TORQUE): the job left its run, or the queue. `z`, `r`: its run was suspended, resumed.
- `C` checkpointed, `T` restarted from a checkpoint, `P`, `p` provisioning, `u`, `c`, `e` phases of
  a job that releases nodes, `a` altered, `L` licences, and `U`, `Y`, `B`, `F`, `K`, `k` of
  reservations, and `G` (written by some sites' own programs), are counted and skipped.

``ingest.events`` combines all records of a job, from any number of days, into attempts. In short:

- An attempt's size is what was allocated, else what was requested (``records``); its account is
  `account`, else `project`.
- States are Slurm's words, by Exit_status: 0 COMPLETED, -29 (TORQUE: -11) TIMEOUT, -26 and -27
  (TORQUE: -10) OUT_OF_MEMORY; killed by a signal (256 and more): TIMEOUT if the walltime was used
  up, CANCELLED by INT, KILL and TERM; others FAILED.
- A job id includes the server's name, as in the log.
- PBS ends each line: a last line without an end was cut, and is refused.

Local times are in the zone that the user names; otherwise the log's own epoch seconds show the
offset of its clock from UTC.

Sources: OpenPBS, src/server/accounting.c and src/include/acct.h; PBS Professional Administrator's
Guide, "Accounting"; TORQUE Administrator Guide, "Accounting Records" and "Job Exit Status".
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from typing import Final

import numpy as np
import polars as pl

from audit.formats.dialects import PLAIN, Dialect, Header, Parsed, Reading
from audit.formats.instants import instants
from audit.formats.lines import Block, Lines, Offsets, cut, without_return
from audit.formats.pbs.records import KEYS, REQUEUED, identified, shown, typed
from audit.formats.pbs.splitting import heads, values
from audit.formats.shaping import REFUSED, faulted, shaped
from audit.model import JobState, RecordKind, RefusalCode

KINDS: Final = {
    "Q": RecordKind.QUEUED.value,
    **dict.fromkeys("SsE", RecordKind.SIGHTING.value),
    **dict.fromkeys("RDAM", RecordKind.LEFT.value),  # an `R` with keys is a sighting
    "z": RecordKind.PAUSED.value,
    "r": RecordKind.RESUMED.value,
}
"""Kind of record of each type."""
PASSED_OVER: Final = "CTPpuceaLUYBFKkG"
"""Types that are skipped."""
STATES: Final = {
    **dict.fromkeys("DA", JobState.CANCELLED.value),
    "R": REQUEUED,
    "M": "MOVED",
}
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
_HOUR: Final = 3_600
_FURTHEST: Final = 14
"""Hours that a zone may be ahead of UTC; it may be one less behind."""


def recognises(head: bytes) -> bool:
    """Return whether most of the first hundred lines begin as PBS's records."""
    lines = [line for line in head.split(b"\n", 200) if line.strip()][:100]
    return sum(_HEAD.match(line) is not None for line in lines) * 2 > len(lines)


def header(head: bytes, reading: Reading = PLAIN) -> Header:
    """Return the zone: the user's, else that of the log's clock."""
    if reading.zone is not None:
        return Header(zone=reading.zone)
    hours = Counter(
        round(seconds / _HOUR)
        for stamp, epoch in _STAMPED.findall(head)
        if abs(seconds := _wall(stamp) - int(epoch)) <= _FURTHEST * _HOUR
    )
    if not hours:
        return Header(local_times=True)
    ahead = min(hours, key=lambda hour: (-hours[hour], hour))
    if ahead == 0:
        return Header(zone="UTC")
    offset = f"{abs(ahead)} h {'ahead of' if ahead > 0 else 'behind'} UTC"
    problem = (
        f"local times are {offset} where the log begins: all are read so; where clocks change in "
        "summer, name the zone"
    )
    return Header(zone=f"Etc/GMT{-ahead:+d}", problems=(problem,))  # which counts westwards


def _wall(stamp: bytes) -> int:
    try:
        moment = datetime.strptime(f"{stamp.decode()} +0000", "%m/%d/%Y %H:%M:%S %z")
    except ValueError:
        return 0
    return int(moment.timestamp())


def parse(block: Block, header: Header) -> Parsed:
    """Read whole lines."""
    spans = _filled(block.data)
    head = heads(block.data, spans)
    whole = np.full(len(spans.starts), fill_value=True)
    whole[-1:] = block.data.endswith(b"\n")
    kind, shape = pl.col("type"), RefusalCode.SHAPE
    headless = "does not begin with a time, a type and an id, each with a ; behind it"
    faults = (
        (~pl.col("whole"), RefusalCode.CUT, "the log ends within this record"),
        (kind.is_null() | pl.col("id").is_null(), shape, headless),
        (pl.col("kind").is_null() & ~pl.col("passed"), shape, shown("type", "is none of PBS's")),
    )
    lines = head.frame.with_columns(
        kind=kind.replace_strict(KINDS, default=None, return_dtype=pl.String),
        number=pl.int_range(pl.len(), dtype=pl.Int64),
        whole=pl.Series(whole),
        passed=kind.is_in(list(PASSED_OVER)).fill_null(value=False) & pl.Series(whole),
    ).with_columns(**faulted(faults))
    good = lines.filter(pl.col("problem").is_null() & ~pl.col("passed")).drop("problem", "code")
    found = [lines.select(REFUSED.names()).filter(pl.col("problem").is_not_null())]
    if good.height:
        found += _records(block.data, spans, head.messages, good, header.zone or "UTC")
    return shaped(block, spans, found, steps=int(lines["passed"].sum()))


def _filled(raw: bytes) -> Lines:
    """Return the lines that are not blank, without their ends."""
    data = np.frombuffer(raw, dtype=np.uint8)
    lines = cut(data)
    ends = without_return(data, lines)
    filled = ends > lines.starts
    filled[filled] = data[lines.starts[filled]] != ord(" ")  # no record begins with a blank
    for number in np.flatnonzero(~filled & (ends > lines.starts)):
        filled[number] = bool(raw[lines.starts[number] : ends[number]].strip())
    return Lines(lines.starts[filled], ends[filled])


def _records(
    raw: bytes, spans: Lines, messages: Offsets, good: pl.DataFrame, zone: str
) -> list[pl.DataFrame]:
    """Return the records of runs and queues, and the others, of lines with a valid head."""
    keyed = good["type"].is_in(["Q", "S", "s", "E", "R"])
    numbers = good["number"].filter(keyed).to_numpy()
    lines = Lines(spans.starts[numbers], spans.ends[numbers])
    runs = good.filter(keyed).hstack(values(raw, lines, messages[numbers], list(KEYS)))
    bare = (runs["type"] == "R") & runs["start"].is_null()
    events = pl.concat([good.filter(~keyed), runs.filter(bare).select(good.columns)])
    runs = runs.filter(~bare)
    undated = (runs["type"] == "Q") & runs["ctime"].is_null()
    rerun = pl.col("type") == "R"
    sighting = pl.when(rerun).then(pl.lit(RecordKind.SIGHTING))
    named = runs.with_columns(
        kind=sighting.otherwise("kind"),
        ends=pl.col("type").is_in(["E", "R"]),
        rerun=rerun,
        **_stamps(runs["time"].set(~undated, None), zone),
    )
    return [typed(named), _events(events, zone)]


def _events(lines: pl.DataFrame, zone: str) -> pl.DataFrame:
    """Return the events of jobs whose records contain only a time."""
    why = pl.col("why").fill_null("is no time")
    faults = (
        (pl.col("job_number").is_null(), RefusalCode.VALUE, shown("id", "is no job id")),
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
DIALECT = Dialect("pbs", _TITLE, recognises, header, parse)
