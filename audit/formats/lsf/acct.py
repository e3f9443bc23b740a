"""LSF's lsb.acct: a record for each job that finished, of versions 5.1 to 10.1.

Fields are separated by blanks, texts in quotes; earlier lists shift later fields (``layout``). A
JOB_FINISH is an attempt; JOB_RESIZE and EVENT_ADRSV_FINISH are counted and skipped. Conventions:

- The event time is when the job ended, or left the queue; a start of 0 means it never started.
- It waited from its submission, or from when it became eligible: `bsub -b`, a requeue, and the
  ineligible time (10.1) are known.
- Several records of one job id and submission time are its runs (``attempts``): LSF also writes a
  record when a job is requeued. Tasks of an array have an idx.
- Slots are CPUs: those of the allocated hosts (10.1), else of the execution hosts, each listed once
  per slot or as `16*hostA`; of a job that never started, those requested. A resized job has its
  last size. The hosts listed are nodes.
- Suspended is the part of the occupancy without runTime (8.3 and newer).
- The walltime is the run limit in s (8.3 and newer); memory and GPUs are those of the effective
  resource requirement.
- The account is the project; the group is the one whose fairshare was charged; QOS is the service
  class.

A record whose texts contain line ends has several lines.

Resource requirements look like `select[…] order[…] rusage[mem=4096.00:ngpus=1] span[…]` ("Resource
requirements" in IBM's administration guide of LSF 10.1). Memory is in MB unless it has a unit (the
log does not contain LSF_UNIT_FOR_LIMITS), and amounts are per host unless marked `/task` or `/job`.
Of alternatives (`||`) the first counts; compound requirements (`2*{…}+{…}`) are not read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.formats.dialects import HEAD_BYTES, Dialect, Header, Parsed, Reading
from audit.formats.instants import LATEST
from audit.formats.lines import Block, Bytes, Lines
from audit.formats.lsf.layout import (
    Fields,
    cut_records,
    fields_of,
    laid_out,
    last_record,
    unquoted,
)
from audit.formats.shaping import (
    LARGEST,
    SHOWN,
    beyond_range,
    case,
    ends_early,
    faulted,
    positive,
    refused,
    shaped,
    table,
)
from audit.model import JobState, RecordKind, RefusalCode

FINISHED: Final = b'"JOB_FINISH"'
OTHERS: Final = (b'"JOB_RESIZE"', b'"EVENT_ADRSV_FINISH"')
"""Events that are no attempts."""

_RECORD: Final = re.compile(
    rb'^"(?:JOB_FINISH|JOB_RESIZE|EVENT_ADRSV_FINISH)" "\d+(?:\.\d+)*" \d{9,11} ', re.MULTILINE
)
_VERSION: Final = re.compile(rb'^"[A-Z_]+" "([0-9.]+)" ', re.MULTILINE)


def recognises(head: bytes) -> bool:
    """Return whether an lsb.acct begins with ``head``."""
    return head.lstrip()[:1] in (b'"', b"#") and _RECORD.search(head) is not None


def header(head: bytes, reading: Reading) -> Header:
    """Return the version of the first record."""
    found = _VERSION.search(head)
    version = {} if found is None else {"version": found[1].decode()}
    return Header(zone=reading.zone, entries=version)


def parse(block: Block, header: Header) -> Parsed:
    """Read whole records."""
    data: Bytes = np.frombuffer(block.data, dtype=np.uint8)
    records, strays = cut_records(data)
    fields = fields_of(block.data, data, records)
    spans = Lines(*(np.concatenate(both) for both in zip(records, strays, strict=True)))
    order = np.argsort(spans.starts, kind="stable")
    places = np.argsort(order)  # of each span among all
    broken = (spans.ends == len(data)) & (not block.data.endswith(b"\n"))
    shut = fields.closed & ~broken[: len(fields.closed)]
    attempts = np.flatnonzero(fields.are(0, FINISHED) & shut)
    others = np.any([fields.are(0, event) for event in OTHERS], axis=0) & shut
    odd = np.ones(len(spans.starts), dtype=np.bool_)
    odd[attempts] = odd[np.flatnonzero(others)] = False
    numbers = np.flatnonzero(odd).tolist()
    problems = ((places[n], *_problem(fields, n, cut=bool(broken[n]))) for n in numbers)
    found = [refused(problems)]
    if len(attempts):
        read = typed(fields.of(attempts))
        found.append(read.with_columns(number=pl.Series(places[attempts])))
    in_order = Lines(spans.starts[order], spans.ends[order])
    return shaped(block, in_order, found, steps=int(others.sum()))


def _problem(fields: Fields, number: int, *, cut: bool) -> tuple[str, RefusalCode]:
    """Return what is wrong with a record, or with a line after all of them."""
    if cut:
        return "the log ends within this record", RefusalCode.CUT
    if number >= len(fields.width):
        return "no record begins here", RefusalCode.SHAPE
    if not fields.closed[number]:
        return "a quote of it is not closed", RefusalCode.SHAPE
    (event,) = fields.of(np.array([number])).texts(0)
    return f"field 1 (event): '{(event or '')[:SHOWN]}' is none of lsb.acct", RefusalCode.VALUE


def whole(data: bytes, header: Header) -> int:
    """Return the length of all before the last record: its texts may continue on the next lines."""
    return max(last_record(data), 0) or (
        data.rfind(b"\n") + 1 if len(data) > HEAD_BYTES and data[:1] != b'"' else 0
    )


EXITED, DONE = 0x20, 0x40
"""Bits of jStatus (lsbatch.h)."""

TERMINATED: Final = {
    1: "PREEMPTED",
    5: "TIMEOUT",  # run limit
    **dict.fromkeys((8, 9, 14, 15, 23), JobState.CANCELLED.value),  # by owner or administrator
    **dict.fromkeys((10, 11), "REQUEUED"),
    16: "OUT_OF_MEMORY",
}
"""Values of exitInfo (bacct, "Termination reasons"), in Slurm's words."""

TIMES: Final = ("eventTime", "submitTime", "beginTime", "startTime", "requeueTime")

GPUS: Final = ("ngpus_physical", "ngpus", "ngpus_excl_p", "ngpus_excl_t", "ngpus_shared")

_USAGE: Final = re.compile(r"\brusage\[([^\]]*)\]")
_AMOUNT: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]*)?) *([KMGTP]?)B?(?:/(host|task|job))?", re.I)
_UNITS: Final = {unit: 1_024**n for n, unit in enumerate("KMGTP", 1)} | {"": 1_024**2}
_MOST: Final = 1 << 50


def typed(fields: Fields) -> pl.DataFrame:
    """Convert JOB_FINISH records; return columns of ``RECORDS``, ``problem`` and ``code``."""
    start, end, submit = pl.col("startTime"), pl.col("eventTime"), pl.col("submitTime")
    status, idx = pl.col("jStatus").cast(pl.UInt64, strict=False).fill_null(0), positive("idx")
    begin = pl.when(pl.col("beginTime") > submit).then("beginTime")
    ready = pl.max_horizontal(begin, positive("requeueTime"), submit + pl.col("ineligible"))
    reason = pl.col("exitInfo").replace_strict(TERMINATED, default=None, return_dtype=pl.String)
    neither = pl.format("jStatus: {} is neither EXIT (32) nor DONE (64)", "jStatus")
    left = "left the queue {} s before it was submitted (submitTime, event time)"
    faults = [
        (pl.col("misfit").is_not_null(), RefusalCode.SHAPE, pl.col("misfit")),
        *beyond_range({name: name for name in TIMES}),
        ((status & (EXITED | DONE)) == 0, RefusalCode.VALUE, neither),
        ends_early("startTime, event time", "startTime", "eventTime"),
        ((end < submit) & start.is_null(), RefusalCode.ORDER, pl.format(left, submit - end)),
    ]
    frame = (
        _columns(fields)
        .lazy()
        .with_columns(
            startTime=positive("startTime"),
            submitTime=positive("submitTime"),
            slots=pl.coalesce(positive("slots"), positive("numProcessors").cast(pl.Int64)),
        )
    )
    return frame.select(
        **faulted(faults),
        job_id=pl.coalesce(pl.format("{}[{}]", "jobId", idx), pl.col("jobId").cast(pl.String)),
        job_number="jobId",
        array_task=idx,
        kind=pl.lit(RecordKind.RUN),
        user="userName",
        account="projectName",
        group="group",
        partition="queue",
        qos="sla",
        state=case(
            ((status & DONE) > 0, JobState.COMPLETED),
            (reason.is_not_null(), reason),
            (start.is_null(), JobState.CANCELLED),
            otherwise=JobState.FAILED,
        ),
        reservation=pl.coalesce("rsvId", "longRsvId"),
        submit_time=submit,
        eligible_time=ready,
        start_time=start,
        end_time=end,
        occupancy_s=end - start,
        suspended_s=pl.when(pl.col("runTime") > 0).then((end - start - pl.col("runTime")).clip(0)),
        walltime_s=pl.when(pl.col("runLimit").is_between(1, LATEST)).then("runLimit"),
        cpus="slots",
        nodes="nodes",
        gpus="gpus",
        mem_bytes="mem_bytes",
    ).collect()


def _columns(fields: Fields) -> pl.DataFrame:
    """Return the fields that are used, unconverted, and the ``misfit`` of each record."""
    layout, problems = laid_out(fields)
    whole = {name: read.values for name, read in layout.head.items()}
    for name in ("jStatus", "idx"):
        whole[name] = fields.numbers(layout.place(name)).values
    whole["requeueTime"] = fields.numbers(layout.requeued).values
    places = {name: layout.place(name) for name in ("runLimit", "runTime", "exitInfo")}
    known = {}
    for name, place in {**places, "ineligible": layout.ineligible}.items():
        values, good = fields.numbers(place)
        known[name] = pl.Series(np.where(good & (values >= 0), values, -1)).replace(-1, None)
    names = ("userName", "queue", "projectName", "sla", "rsvId", "longRsvId")
    texts = {name: fields.texts(layout.place(name)) for name in names}
    charged = fields.texts(layout.place("chargedSAAP"))
    texts["group"] = list(map(group_of, charged, texts["userName"]))
    texts["misfit"] = problems
    listed = fields.stretch(layout.slots, layout.slot_count)
    if not all(listed):
        hosts = fields.stretch(layout.hosts, layout.host_count)
        listed = [slots or host for slots, host in zip(listed, hosts, strict=True)]
    required = fields.texts(layout.place("effectiveResReq"))
    processors = np.maximum(whole["numProcessors"], 1).tolist()
    amounts = [
        (slots, nodes or None, *requested(text, nodes or 1, slots or asked))
        for text, asked, (slots, nodes) in zip(
            required, processors, map(allocation, listed), strict=True
        )
    ]
    columns = {name: pl.Series(column, dtype=pl.String) for name, column in texts.items()}
    frame = pl.DataFrame({**whole, **known, **columns})
    return frame.hstack(table(amounts, ("slots", "nodes", "mem_bytes", "gpus")))


@lru_cache(maxsize=1 << 14)
def allocation(hosts: bytes) -> tuple[int, int]:
    """Return the slots and nodes of a list of hosts, each once per slot, or as `16*hostA`."""
    slots, names = 0, set()
    for host in hosts.split(b" "):
        times, mark, name = unquoted(host).partition("*")
        if not mark:
            times, name = "1", times
        if name:
            slots += int(times) if times.isdecimal() and len(times) < 10 else 1
            names.add(name)
    return min(slots, LARGEST), len(names)


@lru_cache(maxsize=1 << 14)
def group_of(charged: str | None, user: str | None) -> str | None:
    """Return the fairshare group in the charged account, such as `/eng/ana`."""
    steps = [step for step in (charged or "").split("/") if step]
    if steps and steps[-1] == user:
        steps.pop()
    return "/".join(steps) or None


class Amount(NamedTuple):
    """An amount per host, task or job."""

    value: int
    per: str


class Request(NamedTuple):
    """The parts of a requirement that are read."""

    memory: Amount | None = None  # bytes
    gpus: Amount | None = None


@lru_cache(maxsize=1 << 14)
def requested(text: str | None, nodes: int, slots: int) -> tuple[int | None, int | None]:
    """Return the bytes of memory and the GPUs that a job of this size requested."""
    if text is None:
        return None, None
    times = {"host": nodes, "task": slots, "job": 1}
    memory, gpus = (
        None if amount is None else min(amount.value * times[amount.per], _MOST << 10)
        for amount in request(text)
    )
    return memory, gpus


@lru_cache(maxsize=1 << 14)
def request(text: str) -> Request:
    """Read a requirement; malformed parts count as not requested."""
    if "{" in text:
        return Request()
    items: dict[str, str] = {}
    for section in _USAGE.findall(text):
        for item in re.split("[:,]", section.split("||")[0]):
            name, _, value = item.partition("=")
            items[name.strip()] = value.strip()
    named = next((items[name] for name in GPUS if name in items), "")
    gpus = _amount(named, by_unit=False) or Amount(0, "job")
    return Request(_amount(items.get("mem", ""), by_unit=True), gpus)


def _amount(text: str, *, by_unit: bool) -> Amount | None:
    if not (found := _AMOUNT.fullmatch(text)):
        return None
    value = float(found[1]) * (_UNITS[found[2].upper()] if by_unit else 1)
    return Amount(round(value), (found[3] or "host").lower()) if 0 < value <= _MOST else None


DIALECT = Dialect("lsf", "LSF's lsb.acct", recognises, header, parse, whole)
