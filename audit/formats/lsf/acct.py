"""LSF's lsb.acct: a record for each job that finished, of versions 5.1 to 10.1.

Fields are separated by blanks, texts in quotes; their number depends on the lengths of lists before
them (``layout``). Of the events JOB_FINISH is an attempt; JOB_RESIZE and EVENT_ADRSV_FINISH are
none, and counted. What the fields mean:

- The event time is when it ended, or left the queue; a start of 0 says that it never started.
- It waited from its submission, or from when it could begin: `bsub -b`, a requeue, and what time it
  was not eligible (10.1) are known.
- Several records of one job id and submission time are its runs (``attempts``): where a job is
  requeued LSF writes a record of the run, too. Tasks of an array are told by idx.
- Slots are CPUs: those of the hosts that slots were allocated on (10.1), else of the execution
  hosts, each named once for each slot or as `16*hostA`; of what never started, those asked for. A
  job that was resized has what it had last. Hosts that are named are nodes.
- Suspended is what of the occupancy was not spent running (runTime, 8.3 and newer).
- The walltime is the run limit (8.3 and newer), in seconds; memory and GPUs are those of the
  resource requirement in effect.
- The account is the project; the group the one whose fairshare was charged; QOS the service class.

A record whose texts have line ends in them has several lines.

What a job asked for is written as
`select[…] order[…] rusage[mem=4096.00:ngpus=1] span[…]` ("Resource requirements" in IBM's
administration guide of LSF 10.1). Memory is in MB unless it has a unit (the log does not say what
LSF_UNIT_FOR_LIMITS is), and amounts are for each host unless they say `/task` or `/job`. Of
alternatives (`||`) the first counts; compound requirements (`2*{…}+{…}`) are not taken apart.
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
    Layout,
    cut_records,
    fields_of,
    laid_out,
    last_record,
    unquoted,
)
from audit.formats.shaping import LARGEST, SHOWN, Fault, faulted, positive, refused, shaped, table
from audit.model import JobState, RecordKind, RefusalCode

FINISHED: Final = b'"JOB_FINISH"'
OTHERS: Final = (b'"JOB_RESIZE"', b'"EVENT_ADRSV_FINISH"')
"""Events of lsb.acct that are no attempts."""

_RECORD: Final = re.compile(
    rb'^"(?:JOB_FINISH|JOB_RESIZE|EVENT_ADRSV_FINISH)" "\d+(?:\.\d+)*" \d{9,11} ', re.MULTILINE
)
_VERSION: Final = re.compile(rb'^"[A-Z_]+" "([0-9.]+)" ', re.MULTILINE)


def recognises(head: bytes) -> bool:
    """Whether these are the first bytes of an lsb.acct."""
    return head.lstrip()[:1] in (b'"', b"#") and _RECORD.search(head) is not None


def header(head: bytes, reading: Reading) -> Header:
    """The version of the first record. Times are of no zone."""
    found = _VERSION.search(head)
    version = {} if found is None else {"version": found[1].decode()}
    return Header(zone=reading.zone, entries=version)


def parse(block: Block, header: Header) -> Parsed:
    """Takes in whole records of an lsb.acct; see the module's docstring."""
    data: Bytes = np.frombuffer(block.data, dtype=np.uint8)
    records, strays = cut_records(data)
    fields = fields_of(block.data, data, records)
    spans = Lines(*(np.concatenate(both) for both in zip(records, strays, strict=True)))
    order = np.argsort(spans.starts, kind="stable")
    places = np.argsort(order)  # of each span among all
    unended = not block.data.endswith(b"\n")
    broken = (spans.ends == len(data)) & unended
    shut = fields.closed & ~broken[: len(fields.closed)]
    attempts = np.flatnonzero(fields.are(0, FINISHED) & shut)
    others = np.any([fields.are(0, event) for event in OTHERS], axis=0) & shut
    odd = np.ones(len(spans.starts), dtype=np.bool_)
    odd[attempts] = odd[np.flatnonzero(others)] = False
    found = [
        refused(
            (places[number], *_problem(fields, number, cut=bool(broken[number])))
            for number in np.flatnonzero(odd).tolist()
        )
    ]
    if len(attempts):
        chosen = fields.of(attempts)
        read = typed(chosen, *laid_out(chosen))
        found.append(read.with_columns(number=pl.Series(places[attempts])))
    in_order = Lines(spans.starts[order], spans.ends[order])
    return shaped(block, in_order, found, steps=int(others.sum()))


def _problem(fields: Fields, number: int, *, cut: bool) -> tuple[str, RefusalCode]:
    """What is wrong with a record that is none, or with a line behind all of them."""
    if cut:
        return "the log ends within this record", RefusalCode.CUT
    if number >= len(fields.width):
        return "no record begins here", RefusalCode.SHAPE
    if not fields.closed[number]:
        return "a quote of it is not closed", RefusalCode.SHAPE
    (event,) = fields.of(np.array([number])).texts(0)
    return f"field 1 (event): '{(event or '')[:SHOWN]}' is none of lsb.acct", RefusalCode.VALUE


def whole(data: bytes, header: Header) -> int:
    """All before the last record: its texts may go on in the lines that follow."""
    return max(last_record(data), 0) or (
        data.rfind(b"\n") + 1 if len(data) > HEAD_BYTES and data[:1] != b'"' else 0
    )


EXITED, DONE = 0x20, 0x40
"""Bits of jStatus (lsbatch.h)."""

TERMINATED: Final = {
    1: "PREEMPTED",
    5: "TIMEOUT",
    **dict.fromkeys((8, 9, 14, 15, 23), JobState.CANCELLED.value),
    **dict.fromkeys((10, 11), "REQUEUED"),
    16: "OUT_OF_MEMORY",
}
"""Values of exitInfo that say why a job was ended (bacct, "Termination reasons"), in Slurm's words:
preempted, run limit, killed by its owner or an administrator, requeued by one, memory limit."""

TIMES: Final = ("eventTime", "submitTime", "beginTime", "startTime", "requeueTime")

GPUS: Final = ("ngpus_physical", "ngpus", "ngpus_excl_p", "ngpus_excl_t", "ngpus_shared")

_USAGE: Final = re.compile(r"\brusage\[([^\]]*)\]")
_AMOUNT: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]*)?) *([KMGTP]?)B?(?:/(host|task|job))?", re.I)
_UNITS: Final = {unit: 1_024**n for n, unit in enumerate("KMGTP", 1)} | {"": 1_024**2}
_MOST: Final = 1 << 50


def typed(fields: Fields, layout: Layout, problems: list[str | None]) -> pl.DataFrame:
    """Convert records; return columns of ``RECORDS``, ``problem`` and ``code``."""
    frame = (
        _columns(fields, layout)
        .with_columns(misfit=pl.Series(problems, dtype=pl.String))
        .lazy()
        .with_columns(
            startTime=positive("startTime"),
            submitTime=positive("submitTime"),
            slots=pl.when(pl.col("slots") > 0)
            .then("slots")
            .otherwise(positive("numProcessors").cast(pl.Int64)),
        )
    )
    start, end, submit = pl.col("startTime"), pl.col("eventTime"), pl.col("submitTime")
    ready = pl.max_horizontal(
        pl.when(pl.col("beginTime") > submit).then("beginTime"),
        positive("requeueTime"),
        submit + pl.col("ineligible"),
    )
    idx = positive("idx")
    return frame.select(
        **faulted(_faults()),
        job_id=pl.when(idx.is_null())
        .then(pl.col("jobId").cast(pl.String))
        .otherwise(pl.format("{}[{}]", "jobId", "idx")),
        job_number="jobId",
        array_task=idx,
        kind=pl.lit(RecordKind.RUN.value),
        user="userName",
        account="projectName",
        group="group",
        partition="queue",
        qos="sla",
        state=_state(),
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


def _columns(fields: Fields, layout: Layout) -> pl.DataFrame:
    """The fields that are used, as they are."""
    whole = {name: read.values for name, read in layout.head.items()}
    for name in ("jStatus", "idx"):
        whole[name] = fields.numbers(layout.place(name)).values
    whole["requeueTime"] = fields.numbers(layout.requeued).values
    places = {name: layout.place(name) for name in ("runLimit", "runTime", "exitInfo")}
    known = {
        name: fields.numbers(place)
        for name, place in {**places, "ineligible": layout.ineligible}.items()
    }
    texts = {
        name: fields.texts(layout.place(name))
        for name in ("userName", "queue", "projectName", "sla", "rsvId", "longRsvId")
    }
    charged = fields.texts(layout.place("chargedSAAP"))
    listed = fields.stretch(layout.slots, layout.slot_count)
    if not all(listed):
        hosts = fields.stretch(layout.hosts, layout.host_count)
        listed = [slots or host for slots, host in zip(listed, hosts, strict=True)]
    given = [allocation(hosts) for hosts in listed]
    required = fields.texts(layout.place("effectiveResReq"))
    processors = np.maximum(whole["numProcessors"], 1).tolist()
    amounts = [
        (slots, nodes or None, *requested(text, nodes or 1, slots or processors[row]))
        for row, (text, (slots, nodes)) in enumerate(zip(required, given, strict=True))
    ]
    texts["group"] = list(map(group_of, charged, texts["userName"]))
    return pl.DataFrame(
        {
            **whole,
            **{
                name: pl.Series(np.where(good & (values >= 0), values, -1)).replace(-1, None)
                for name, (values, good) in known.items()
            },
            **{name: pl.Series(column, dtype=pl.String) for name, column in texts.items()},
        }
    ).hstack(table(amounts, ("slots", "nodes", "mem_bytes", "gpus")))


@lru_cache(maxsize=1 << 14)
def allocation(hosts: bytes) -> tuple[int, int]:
    """Slots and nodes of a list of hosts, each named once for each slot, or as `16*hostA`."""
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
    """The fairshare group within the account that was charged, such as `/eng/ana`."""
    steps = [step for step in (charged or "").split("/") if step]
    if steps and steps[-1] == user:
        steps.pop()
    return "/".join(steps) or None


def _state() -> pl.Expr:
    """In Slurm's words."""
    status, start = pl.col("jStatus"), pl.col("startTime")
    reason = pl.col("exitInfo").replace_strict(TERMINATED, default=None, return_dtype=pl.String)
    return (
        pl.when((status.cast(pl.UInt64, strict=False).fill_null(0) & DONE) > 0)
        .then(pl.lit(JobState.COMPLETED.value))
        .when(reason.is_not_null())
        .then(reason)
        .when(start.is_null())
        .then(pl.lit(JobState.CANCELLED.value))
        .otherwise(pl.lit(JobState.FAILED.value))
    )


def _faults() -> list[Fault]:
    start, end, submit = pl.col("startTime"), pl.col("eventTime"), pl.col("submitTime")
    status = pl.col("jStatus").cast(pl.UInt64, strict=False).fill_null(0)
    value, order = RefusalCode.VALUE, RefusalCode.ORDER
    beyond = [
        (pl.col(name) > LATEST, RefusalCode.TIME, pl.format(f"{name}: {{}} lies beyond 2242", name))
        for name in TIMES
    ]
    neither = pl.format("jStatus: {} is neither EXIT (32) nor DONE (64)", "jStatus")
    early = pl.format("ends {} s before it starts (startTime, event time)", start - end)
    left = pl.format(
        "left the queue {} s before it was submitted (submitTime, event time)", submit - end
    )
    return [
        (pl.col("misfit").is_not_null(), RefusalCode.SHAPE, pl.col("misfit")),
        *beyond,
        ((status & (EXITED | DONE)) == 0, value, neither),
        (end < start, order, early),
        ((end < submit) & start.is_null(), order, left),
    ]


class Amount(NamedTuple):
    """How much of something, and for each what."""

    value: int
    per: str  # host, task or job


class Request(NamedTuple):
    """What is known of a request."""

    memory: Amount | None = None  # bytes
    gpus: Amount | None = None


@lru_cache(maxsize=1 << 14)
def requested(text: str | None, nodes: int, slots: int) -> tuple[int | None, int | None]:
    """Bytes of memory and GPUs that a job with so many nodes and slots asked for."""
    if text is None:
        return None, None
    times = {"host": nodes, "task": slots, "job": 1}
    of_job = request(text)
    return _times(of_job.memory, times), _times(of_job.gpus, times)


@lru_cache(maxsize=1 << 14)
def request(text: str) -> Request:
    """Reads one requirement. What is not written as it should be counts as not asked for."""
    if "{" in text:
        return Request()
    items: dict[str, str] = {}
    for section in _USAGE.findall(text):
        for item in re.split("[:,]", section.split("||")[0]):
            name, _, value = item.partition("=")
            items[name.strip()] = value.strip()
    memory = _amount(items.get("mem", ""), by_unit=True)
    named = (items[name] for name in GPUS if name in items)
    gpus = _amount(next(named, ""), by_unit=False)
    return Request(memory, gpus or Amount(0, "job"))


def _amount(text: str, *, by_unit: bool) -> Amount | None:
    if not (found := _AMOUNT.fullmatch(text)):
        return None
    value = float(found[1]) * (_UNITS[found[2].upper()] if by_unit else 1)
    return Amount(round(value), (found[3] or "host").lower()) if 0 < value <= _MOST else None


def _times(amount: Amount | None, times: dict[str, int]) -> int | None:
    return None if amount is None else min(amount.value * times[amount.per], _MOST << 10)


DIALECT = Dialect(
    name="lsf",
    title="LSF's lsb.acct",
    recognises=recognises,
    header=header,
    parse=parse,
    whole=whole,
)
