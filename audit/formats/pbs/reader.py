"""Accounting logs of PBS: OpenPBS, PBS Professional and TORQUE.

A line is a record: when (local time), of what type, of which job, and keys with values. Epoch
seconds in keys are what counts; the local time only where there are none. What a type is taken as:

- `Q` the job came into a queue. `S` and `s` a run of it started, `E` one ended, and so did `R`
  where it says which (PBS Professional): the job waits again.
- `D` deleted, `A` aborted by the server, `M` moved to another server, and `R` without keys
  (TORQUE): it left its run, or the queue. `z` and `r`: its run was suspended, and went on.
- `C` checkpointed, `T` restarted from a checkpoint, `P` and `p` provisioning, `u`, `c` and `e`
  phases of a job that gives nodes back, `a` altered, `L` licences, and `U`, `Y`, `B`, `F`, `K` and
  `k` of reservations, are no attempts: they are counted and passed over. So is `G`, by which some
  sites mark what their own programs wrote.

Which of these are one attempt is settled when all of a job's records are known, from however many
days (``ingest.events``). In short:

- An attempt's size is what it was given, else what it asked for (``records``); its account is
  `account`, else `project`.
- States are Slurm's words, by Exit_status: 0 COMPLETED, -29 (TORQUE: -11) TIMEOUT, -26 and -27
  (TORQUE: -10) OUT_OF_MEMORY, killed by a signal (256 and more) TIMEOUT if it had used its walltime
  up, CANCELLED if it was INT, KILL or TERM, other than 0 FAILED.
- A job is known by its id with the server's name, as the log writes it.
- PBS ends each line: a last line without an end was cut there, and is refused.

Local times are of the zone that the user names. Without, the log's own epoch seconds tell how far
its clock is from UTC.

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
from audit.formats.shaping import REFUSED, Fault, faulted, shaped
from audit.model import JobState, RecordKind, RefusalCode

KINDS: Final = {
    "Q": RecordKind.QUEUED.value,
    **dict.fromkeys("SsE", RecordKind.SIGHTING.value),
    **dict.fromkeys("RDAM", RecordKind.LEFT.value),
    "z": RecordKind.PAUSED.value,
    "r": RecordKind.RESUMED.value,
}
"""What types of records become; an `R` that says which run ended is one of a run."""
PASSED_OVER: Final = "CTPpuceaLUYBFKkG"
"""Types of records that are no attempts."""
STATES: Final = {
    "D": JobState.CANCELLED.value,
    "A": JobState.CANCELLED.value,
    "R": REQUEUED,
    "M": "MOVED",
}
"""States of what left."""

_HEAD: Final = re.compile(
    rb"^(\d\d)/(\d\d)/(\d{4}) (\d\d):(\d\d):(\d\d);(["
    + "".join(KINDS).encode()
    + PASSED_OVER.encode()
    + rb"]);([^;\n]+);",
    re.MULTILINE,
)
_STAMPED: Final = re.compile(
    rb"^(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d);"
    rb"(?:S;[^;\n]*;[^\n]*\bstart|E;[^;\n]*;[^\n]*\bend)=(\d{9,10})\b",
    re.MULTILINE,
)
_HOUR: Final = 3_600
_FURTHEST: Final = 14
"""Hours that a zone may be ahead of UTC; one less than it may be behind."""


def recognises(head: bytes) -> bool:
    """Whether these are the first bytes of a PBS accounting log.

    Most of its first hundred lines must begin as records do.
    """
    lines = [line for line in head.split(b"\n", 200) if line.strip()][:100]
    return sum(_HEAD.match(line) is not None for line in lines) * 2 > len(lines)


def header(head: bytes, reading: Reading = PLAIN) -> Header:
    """PBS has none: only its clock is looked at, where the user names no zone."""
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
    zone = f"Etc/GMT{-ahead:+d}"  # which counts westwards
    said = f"{abs(ahead)} h {'ahead of' if ahead > 0 else 'behind'} UTC"
    return Header(
        zone=zone,
        problems=(
            f"local times are {said} where the log begins: all are read so; where clocks change "
            "in summer, name the zone",
        ),
    )


def _wall(stamp: bytes) -> int:
    date, clock = stamp.decode().split()
    month, day, year = date.split("/")
    try:
        moment = datetime.fromisoformat(f"{year}-{month}-{day}T{clock}+00:00")
    except ValueError:
        return 0
    return int(moment.timestamp())


def parse(block: Block, header: Header) -> Parsed:
    """Takes in whole lines of a PBS log; see the module's docstring."""
    spans = _filled(block.data)
    head = heads(block.data, spans)
    whole = np.full(len(spans.starts), fill_value=True)
    whole[-1:] = block.data.endswith(b"\n")
    lines = head.frame.with_columns(
        kind=pl.col("type").replace_strict(KINDS, default=None, return_dtype=pl.String),
        number=pl.int_range(pl.len(), dtype=pl.Int64),
        whole=pl.Series(whole),
        passed=pl.col("type").is_in(list(PASSED_OVER)).fill_null(value=False) & pl.Series(whole),
    ).with_columns(**faulted(_shape_faults()))
    good = lines.filter(pl.col("problem").is_null() & ~pl.col("passed")).drop("problem", "code")
    found = [lines.select(REFUSED.names()).filter(pl.col("problem").is_not_null())]
    if good.height:
        found += _records(block.data, spans, head.messages, good, header.zone or "UTC")
    return shaped(block, spans, found, steps=int(lines["passed"].sum()))


def _filled(raw: bytes) -> Lines:
    """The lines that are not blank, without what ends them."""
    data = np.frombuffer(raw, dtype=np.uint8)
    lines = cut(data)
    ends = without_return(data, lines)
    filled = ends > lines.starts
    filled[filled] = data[lines.starts[filled]] != ord(" ")  # no record begins with a blank
    for number in np.flatnonzero(~filled & (ends > lines.starts)):
        filled[number] = bool(raw[lines.starts[number] : ends[number]].strip())
    return Lines(lines.starts[filled], ends[filled])


def _shape_faults() -> list[Fault]:
    kind, shape = pl.col("type"), RefusalCode.SHAPE
    return [
        (~pl.col("whole"), RefusalCode.CUT, "the log ends within this record"),
        (
            kind.is_null() | pl.col("id").is_null(),
            shape,
            "does not begin with a time, a type and an id, each with a ; behind it",
        ),
        (pl.col("kind").is_null() & ~pl.col("passed"), shape, shown("type", "is none of PBS's")),
    ]


def _records(
    raw: bytes, spans: Lines, messages: Offsets, good: pl.DataFrame, zone: str
) -> list[pl.DataFrame]:
    """The records of lines that begin as they should: those of runs and queues, and the others."""
    speaks = good["type"].is_in(["Q", "S", "s", "E", "R"])
    numbers = good["number"].filter(speaks).to_numpy()
    items = values(
        raw, Lines(spans.starts[numbers], spans.ends[numbers]), messages[numbers], list(KEYS)
    )
    spoken = good.filter(speaks).hstack(items)
    mute = (spoken["type"] == "R") & spoken["start"].is_null()
    wordless = pl.concat([good.filter(~speaks), spoken.filter(mute).select(good.columns)])
    spoken = spoken.filter(~mute)
    undated = (spoken["type"] == "Q") & spoken["ctime"].is_null()
    named = typed(
        spoken.with_columns(
            kind=pl.when(pl.col("type") == "R")
            .then(pl.lit(RecordKind.SIGHTING.value))
            .otherwise("kind"),
            ends=pl.col("type").is_in(["E", "R"]),
            rerun=pl.col("type") == "R",
            **_heard(spoken["time"].set(~undated, None), zone),
        )
    )
    return [named, _events(wordless, zone)]


def _events(lines: pl.DataFrame, zone: str) -> pl.DataFrame:
    """What happened to jobs, of which their lines say no more than when."""
    why = pl.col("why").fill_null("is no time")
    return lines.with_columns(**_heard(lines["time"], zone), **identified(pl.col("id"))).select(
        *("number", "kind", "job_number", "array_task"),
        job_id="id",
        state=pl.col("type").replace_strict(STATES, default=None, return_dtype=pl.String),
        end_time="instant",
        **faulted(
            (
                (pl.col("job_number").is_null(), RefusalCode.VALUE, shown("id", "is no job id")),
                (pl.col("instant").is_null(), RefusalCode.TIME, shown("time", why)),
            )
        ),
    )


def _heard(texts: pl.Series, zone: str) -> dict[str, pl.Series]:
    """Heads' times: ``instant`` in epoch seconds, or ``why`` there is none."""
    if texts.null_count() == len(texts):
        return {"instant": texts.cast(pl.Int64), "why": texts}
    iso = texts.str.replace(
        r"^([0-9]{2})/([0-9]{2})/([0-9]{4}) ([0-9:]{8})$", "${3}-${1}-${2}T${4}"
    )
    read = instants(iso, zone)
    return {"instant": read.early, "why": read.problem}


DIALECT = Dialect(
    name="pbs",
    title="PBS accounting (OpenPBS, PBS Professional, TORQUE)",
    recognises=recognises,
    header=header,
    parse=parse,
)
