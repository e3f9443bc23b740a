"""LSF's lsb.acct: a record for each job that finished, of versions 5.1 to 10.1.

Fields are separated by one or more blanks, texts in quotes. A quote within a text is doubled, and a
text may contain line ends. A record begins with its event's name in quotes, which no line within a
text does. A JOB_FINISH is an attempt; JOB_RESIZE and EVENT_ADRSV_FINISH are counted and skipped.

- The event time is when the job ended, or left the queue; a start of 0 means it never started.
- It waited from its submission, or from when it became eligible: `bsub -b`, a requeue, and the
  ineligible time (10.1) are known.
- A record of an array whose elements never started stands for all of its index ranges (10.1).
- Several records of one job id and submission time are its runs (``attempts``): LSF also writes a
  record when a job is requeued. Tasks of an array have an idx.
- Slots are CPUs: those of the allocated hosts (10.1), else of the execution hosts, each listed once
  per slot or as `16*hostA`; of a job that never started, those requested. With
  `affinity[core(n)*m]`, a slot has n × m CPUs. The hosts are nodes.
- Suspended is the part of the occupancy without runTime; the walltime is the run limit (both 8.3
  and newer).
- Memory and GPUs are those of the effective resource requirement: `… rusage[mem=4096.00:ngpus=1]`.
  Memory is in MB unless it has a unit (the log does not contain LSF_UNIT_FOR_LIMITS), and amounts
  are per host unless marked `/task` or `/job`. Of alternatives (`||`) the first counts; compound
  requirements (`2*{…}+{…}`) are not read.
- The account is the project; the group is the one whose fairshare was charged; QOS is the service
  class.

The order of fields is the same in all versions, which only append. Each list is preceded by its
length and shifts later fields. Records of 9.1 and 10.1 differ from the manuals in two ways: the run
limit precedes options3, and each host's usage has a sixth field, the number of pairs that follow.

Sources: "lsb.acct" and "Resource requirements" in IBM's and Platform's manuals of LSF 6.2 to 10.1.
"""

import itertools
import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from audit.formats.dialects import HEAD_BYTES, Dialect, Header, Parsed, Reading
from audit.formats.instants import LATEST
from audit.formats.lines import Block, Bytes, Lines, Mask, cut
from audit.formats.lsf.allocations import PLACE, allocation, cores_of, group_of, hosts_of, requested
from audit.formats.shaping import (
    LARGEST,
    REFUSED,
    SHOWN,
    beyond_range,
    case,
    ends_early,
    faulted,
    positive,
    remarks,
    shaped,
    table,
    task_counts,
)
from audit.model import JobState, RecordKind, RefusalCode

FINISHED: Final = '"JOB_FINISH"'
OTHERS: Final = ('"JOB_RESIZE"', '"EVENT_ADRSV_FINISH"')  # events that are not attempts

_TABLE: Final = (
    # first field of the part, type (None: not checked), fields and their places in the part
    ("version", int, {"eventTime": 2, "jobId": 3, "numProcessors": 6, "submitTime": 7}),
    ("version", int, {"beginTime": 8, "termTime": 9, "startTime": 10, "numAskedHosts": 22}),
    ("version", str, {"userName": 11, "queue": 12}),
    ("numExHosts", int, {"numExHosts": 0}),  # after the requested hosts
    ("jStatus", int, {"jStatus": 0, "exitStatus": 25, "maxNumProcessors": 26, "idx": 29}),
    ("jStatus", str, {"jobName": 2, "command": 3, "mailUser": 23, "projectName": 24}),
    ("jStatus", str, {"loginShell": 27}),
    ("jStatus", None, {"rsvId": 34, "sla": 35, "exitInfo": 38, "chargedSAAP": 41}),
    ("jStatus", None, {"longRsvId": 51, "submitExt": 53}),  # a list
    # after the usage of hosts; 8.3 and newer
    ("runLimit", int, {"runLimit": 0, "options3": 1, "avgMem": 2}),
    ("runLimit", str, {"effectiveResReq": 3}),
    ("runLimit", None, {"runTime": 13, "numNetworks": 15}),
)
FIELDS: Final = {name: (part, kind, n) for part, kind, at in _TABLE for name, n in at.items()}
_HOSTS: Final = FIELDS["numAskedHosts"][2] + 1  # place of the first requested host
_USAGE: Final = 6  # number of fields of a host's usage, without its pairs
_UNUSED_BEHIND_NETWORKS: Final = 6  # affinity, energy and four rates

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

UNITS_UNKNOWN: Final = (
    "the affinity binds slots to threads, sockets or NUMA nodes, whose number of cores is unknown: "
    "a slot counts as one CPU"
)

TIMES: Final = ("eventTime", "submitTime", "beginTime", "startTime", "requeueTime")

_RECORD: Final = re.compile(
    rb'^"(?:JOB_FINISH|JOB_RESIZE|EVENT_ADRSV_FINISH)" +"\d+(?:\.\d+)*" +\d{9,11} ', re.MULTILINE
)
_VERSION: Final = re.compile(rb'^"[A-Z_]+" +"([0-9.]+)" ', re.MULTILINE)
_COUNT: Final = re.compile(r"[0-9]{1,18}")
_QUOTE, _BLANK, _COMMENT, _RETURN = b'" #\r'
_BETWEEN_FIELDS, _BETWEEN_RECORDS = "\x1f", "\x1e"
_MARKS: Final = (_BETWEEN_FIELDS.encode(), _BETWEEN_RECORDS.encode())
_FREE: Final = bytes.maketrans(b"".join(_MARKS), b"??")


def recognises(head: bytes) -> bool:
    """Return whether an lsb.acct begins with ``head``."""
    return head.lstrip()[:1] in (b'"', b"#") and _RECORD.search(head) is not None


def header(head: bytes, reading: Reading) -> Header:
    """Return the version of the first record."""
    found = _VERSION.search(head)
    version = {} if found is None else {"version": found[1].decode()}
    return Header(zone=reading.zone, entries=version)


def whole(data: bytes, header: Header) -> int:
    """Return the length of all before the last record: its texts may continue on the next lines."""
    return max(last_record(data), 0) or (
        data.rfind(b"\n") + 1 if len(data) > HEAD_BYTES and data[:1] != b'"' else 0
    )


def last_record(data: bytes) -> int:
    """Return the beginning of the last record of a buffer; −1 for none."""
    end = len(data)
    while end > 0:
        at = data.rfind(b'\n"', 0, end) + 1  # 0: the buffer's beginning
        if data[at : at + 1] == b'"' and data[at + 1 : at + 2].isupper():
            return at
        end = at
    return -1


def parse(block: Block, header: Header) -> Parsed:
    """Read whole records."""
    raw = block.data
    records, strays = cut_records(raw)
    fields, closed = split(raw, records)
    starts, ends = (np.concatenate(both) for both in zip(records, strays, strict=True))
    order = np.argsort(starts)
    number = np.argsort(order)  # of each record or line among all
    event = fields.list.get(0, null_on_oob=True).extend_constant(None, len(strays.starts))
    closed = np.append(closed, strays.starts >= 0)
    spans = {"number": number, "end": ends, "event": event, "closed": closed}
    event_shown = pl.col("event").str.strip_chars('"').str.head(SHOWN)
    other = pl.format("field 1 (event): '{}' is unknown in lsb.acct", event_shown)
    cut_off = (pl.col("end") == len(raw)) & (not raw.endswith(b"\n"))
    faults = (
        (cut_off, RefusalCode.CUT, "the log ends within this record"),
        (pl.col("event").is_null(), RefusalCode.SHAPE, "no record begins here"),
        (~pl.col("closed"), RefusalCode.SHAPE, "a quote of it is not closed"),
        (~pl.col("event").is_in([FINISHED, *OTHERS]), RefusalCode.VALUE, other),
    )
    frame = pl.DataFrame(spans).with_columns(**faulted(faults))
    good = frame["problem"].is_null()
    finished = good & (event == FINISHED).fill_null(value=False)
    found = [frame.filter(~good).select(REFUSED.names())]
    if finished.any():
        rows = typed(fields.filter(finished.head(len(fields))))
        found.append(rows.with_columns(frame["number"].filter(finished)))
    in_order = Lines(starts[order], ends[order])
    return shaped(block, in_order, found, steps=int((good & ~finished).sum()))


def cut_records(raw: bytes) -> tuple[Lines, Lines]:
    """Return the spans of records, and of other lines that are neither blank nor a comment."""
    data: Bytes = np.frombuffer(raw + b"\n\n", dtype=np.uint8)
    lines = cut(data[: len(raw)])
    opening, second = data[lines.starts], data[lines.starts + 1]
    begins = (opening == _QUOTE) & (second >= ord("A")) & (second <= ord("Z"))
    first = np.flatnonzero(begins)
    after = np.append(first[1:], len(lines.starts))[: len(first)]
    last = first.copy()
    stray = ~begins & (opening != _COMMENT)
    for at in np.flatnonzero(after - first > 1):  # few have lines behind them
        last[at] = _last_line(raw, lines, int(first[at]), int(after[at]))
        stray[first[at] : last[at] + 1] = False
    for at in np.flatnonzero(stray):
        stray[at] = bool(raw[lines.starts[at] : lines.ends[at]].strip())
    ends = lines.ends - ((lines.ends > lines.starts) & (data[lines.ends - 1] == _RETURN))
    return Lines(lines.starts[first], ends[last]), Lines(lines.starts[stray], ends[stray])


def _last_line(raw: bytes, lines: Lines, first: int, after: int) -> int:
    quotes = 0
    for line in range(first, after):
        quotes += raw.count(b'"', lines.starts[line], lines.ends[line])
        if quotes % 2 == 0:
            return line
    return after - 1


def split(raw: bytes, records: Lines) -> tuple[pl.Series, Mask]:
    """Return the fields of each record, with their quotes, and whether all quotes are closed."""
    starts, ends = records
    if not len(starts):
        return pl.Series(dtype=pl.List(pl.String)), np.zeros(0, dtype=np.bool_)
    free = raw if all(mark not in raw for mark in _MARKS) else raw.translate(_FREE)
    data = np.frombuffer(bytearray(free), dtype=np.uint8)
    places = np.flatnonzero((data == _QUOTE) | (data == _BLANK))
    quotes = data[places] == _QUOTE
    # whether the number of quotes up to each place is odd, from the beginning of its record
    within = np.logical_xor.accumulate(quotes)
    first = np.searchsorted(places, starts)
    before = within[first - 1] & (first > 0)
    within[first[0] :] ^= np.repeat(before, np.diff(first, append=len(places)))
    closed: Mask = ~within[np.searchsorted(places, ends) - 1]
    data[places[~within & ~quotes]] = ord(_BETWEEN_FIELDS)
    breaks = np.union1d(ends[ends < len(data)], starts[starts > 0] - 1)
    data[breaks] = ord(_BETWEEN_RECORDS)
    marked = data.tobytes()
    while (several := _MARKS[0] * 2) in marked:  # some versions write two blanks
        marked = marked.replace(several, _MARKS[0])
    text = pl.Series([marked.decode("utf-8", errors="backslashreplace")])
    texts = text.str.split(_BETWEEN_RECORDS).explode().gather(np.searchsorted(breaks, starts))
    return texts.str.split(_BETWEEN_FIELDS), closed


class Records:
    """JOB_FINISH records, and the places of their lists and parts; null where missing."""

    def __init__(self, fields: pl.Series) -> None:
        self.fields = fields
        self.width = fields.list.len().cast(pl.Int64)
        self.begins = {"version": self.width * 0}  # of parts
        head = [name for name, field in FIELDS.items() if field[:2] == ("version", int)]
        self.head = {name: self.number(self.place(name)) for name in head}
        asked = self.head["numAskedHosts"]
        self.hosts = asked + (_HOSTS + 1)  # the first execution host
        self.host_count = self.number(self.hosts - 1)
        self.begins["jStatus"] = self.hosts + self.host_count
        fits, fits_earlier = self._fit("jStatus"), self._fit("jStatus", self.hosts - 1)
        # some records with requested hosts lack the list of execution hosts
        lacking = _holds(asked > 0) & ~fits & fits_earlier
        self.begins["jStatus"] = (self.hosts - 1).zip_with(lacking, self.begins["jStatus"])
        self.hosts = (self.hosts - 1 - asked).zip_with(lacking, self.hosts)
        self.host_count = asked.zip_with(lacking, self.host_count)
        self.begins["numExHosts"] = self.hosts - 1
        good = (fits | lacking) & _holds(self.host_count >= 0) & _holds(asked >= 0)
        broken = self._find_tail(good)
        after = self.place("numNetworks") + (1 + _UNUSED_BEHIND_NETWORKS)
        self.slots = after + 2 * _at_least_0(self.number(self.place("numNetworks"))) + 1
        self.slot_count = _at_least_0(self.number(self.slots - 1))
        self.ineligible = self.slots + self.slot_count
        self.range_count = _at_least_0(self.number(self.ineligible + 1))
        self.requeued = self.ineligible + 2 + 3 * self.range_count
        for name in ("userName", "queue"):
            good &= _in_quotes(self.field(self.place(name)))
        for numbers in self.head.values():
            good &= _holds(numbers >= 0)
        self.bad = ~good | broken

    def place(self, name: str) -> pl.Series:
        """Return the place of one of ``FIELDS`` in each record."""
        part, _, place = FIELDS[name]
        return self.begins[part] + place

    def field(self, place: pl.Series) -> pl.Series:
        """Return the field of each record at a place from 0."""
        there = _holds((place >= 0) & (place < self.width))
        return self.fields.list.get(place.set(~there, None), null_on_oob=True)

    def number(self, place: pl.Series) -> pl.Series:
        """Return a field of each record as a whole number."""
        return self.field(place).cast(pl.Int64, strict=False)

    def text(self, name: str) -> pl.Series:
        """Return one of ``FIELDS`` without its quotes; null where empty."""
        field = self.field(self.place(name))
        inside = field.str.slice(1).str.head(-1).str.replace_all('""', '"', literal=True)
        return inside.zip_with(_in_quotes(field), field).replace("", None)

    def several(self, place: pl.Series, length: pl.Series) -> pl.Series:
        """Return several fields of each record, separated by blanks; null where one is missing."""
        there = _holds((length > 0) & (place + length <= self.width))
        part = pl.lit(self.fields).list.slice(pl.lit(place), pl.lit(length))
        return pl.select(part.list.join(" ")).to_series().set(~there, None)

    def _fit(self, part: str, begin: pl.Series | None = None) -> pl.Series:
        begin = self.begins[part] if begin is None else begin
        fits = self.width > -1
        for of, holds, place in FIELDS.values():
            if of == part and holds is int:
                fits &= self.number(begin + place).is_not_null()
            elif of == part and holds is str:
                fits &= _in_quotes(self.field(begin + place))
        return fits

    def _find_tail(self, good: pl.Series) -> pl.Series:
        """Find runLimit; return which records are malformed before it."""
        extension = self.place("submitExt")
        extended = good & _holds(self.width > extension)
        usage = extension + 1 + 2 * _at_least_0(self.number(extension))
        broken = extended & ~_holds(usage <= self.width)
        used = extended & ~broken & _holds(self.width > usage)
        hosts = _at_least_0(self.number(usage))
        broken |= used & hosts.is_null()
        tail = (usage + 1 + _USAGE * hosts).set(~used | broken, None)
        fits = self._fit("runLimit", tail)
        odd = np.flatnonzero(tail.is_not_null() & ~fits & _holds(hosts > 0))
        if len(odd):
            rows = (each.gather(odd) for each in (self.fields, usage, hosts))
            ends = itertools.starmap(_behind_usage, zip(*rows, strict=True))
            tail = tail.scatter(odd, list(ends))
            fits = self._fit("runLimit", tail)
        self.begins["runLimit"] = tail.set(~fits, None)
        return broken | (~fits & _holds(self.width != tail))

    def misfits(self) -> pl.Series:
        """Return the problem of each malformed record; null for others."""
        bad = np.flatnonzero(self.bad)
        columns = (self.fields, self.hosts, self.begins["jStatus"])
        rows = zip(*(column.gather(bad).to_list() for column in columns), strict=True)
        nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(self.bad))
        return nothing.scatter(bad, list(itertools.starmap(_problem, rows)))


def _holds(condition: pl.Series) -> pl.Series:
    return condition.fill_null(value=False)


def _at_least_0(numbers: pl.Series) -> pl.Series:
    return numbers.set(numbers < 0, None)


def _in_quotes(field: pl.Series) -> pl.Series:
    around = field.str.starts_with('"') & field.str.ends_with('"') & (field.str.len_bytes() > 1)
    return _holds(around)


def _behind_usage(fields: Sequence[str], place: int, hosts: int) -> int:
    """Return the end of the usage of hosts, each with its own pairs."""
    place += 1
    for _ in range(min(hosts, len(fields))):
        if place + _USAGE > len(fields):
            break
        pairs = fields[place + _USAGE - 1]
        place += _USAGE + 2 * (int(pairs) if _COUNT.fullmatch(pairs) else 0)
    return place


def _problem(fields: Sequence[str], hosts: int | None, body: int | None) -> str:
    """Return the problem of one record: its first invalid number, else text."""
    begins = {"version": 0, "numExHosts": (hosts or 0) - 1, "jStatus": body or 0}
    checked = (item for item in FIELDS.items() if item[1][1] and item[1][0] in begins)
    for name, (part, holds, place) in sorted(checked, key=lambda item: item[1][1] is str):
        at = begins[part] + place
        if at >= len(fields):
            return f"{len(fields)} fields: {name} is missing"
        field = fields[at]
        quoted = len(field) > 1 and field[0] == field[-1] == '"'
        inside = field[1:-1].replace('""', '"') if quoted else field
        shown = f"field {at + 1} ({name}): '{inside[:SHOWN]}'"
        signed = part == "jStatus" and field.startswith("-")
        if holds is int and not _COUNT.fullmatch(field[1:] if signed else field):
            return f"{shown} is not a whole number"
        if holds is str and not quoted:
            return f"{shown} is not a text in quotes"
    return f"{len(fields)} fields: those behind submitExt are not where they should be"


def typed(fields: pl.Series) -> pl.DataFrame:
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
    frame = _columns(Records(fields)).with_columns(
        positive("startTime"),
        positive("submitTime"),
        slots=pl.coalesce(positive("slots"), positive("numProcessors")),
    )
    cpus = pl.col("slots") * pl.col("cores").fill_null(1)
    whole = (frame["startTime"].is_null() & ~(frame["idx"] > 0)).fill_null(value=False)
    lists = frame["ranges"].set(~whole, None)
    counts = task_counts(lists)
    frame = frame.with_columns(array_tasks=lists.set(counts.is_null(), None), tasks=counts)
    return frame.select(
        *("group", "nodes", "gpus", "mem_bytes"),
        *(pl.when(start.is_not_null()).then(pl.col(x)).alias(x) for x in PLACE),
        **faulted(faults),
        array_tasks="array_tasks",
        tasks="tasks",
        job_id=pl.coalesce(pl.format("{}[{}]", "jobId", idx), pl.col("jobId").cast(pl.String)),
        job_number="jobId",
        array_task=idx,
        kind=pl.lit(RecordKind.RUN),
        user="userName",
        account="projectName",
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
        cpus=pl.when(cpus <= LARGEST).then(cpus),
        remarks=remarks((frame["cores"].is_null(), UNITS_UNKNOWN)),
    )


def _columns(records: Records) -> pl.DataFrame:
    """Return the fields that are used, unconverted, and the ``misfit`` of each record."""
    columns = {"misfit": records.misfits(), **records.head}
    for name in ("jStatus", "idx"):
        columns[name] = records.number(records.place(name))
    columns["requeueTime"] = records.number(records.requeued)
    for name in ("exitInfo", "runLimit", "runTime"):
        columns[name] = _at_least_0(records.number(records.place(name)))
    columns["ineligible"] = _at_least_0(records.number(records.ineligible))
    for name in ("userName", "queue", "projectName", "sla", "rsvId", "longRsvId"):
        columns[name] = records.text(name)
    group = map(group_of, records.text("chargedSAAP").to_list(), columns["userName"].to_list())
    hosts = records.several(records.slots, records.slot_count)
    if hosts.null_count():
        used = records.several(records.hosts, records.host_count)
        hosts = hosts.zip_with(hosts.is_not_null(), used).fill_null("")
    texts = records.text("effectiveResReq").to_list()
    processors = columns["numProcessors"].fill_null(1).clip(1)
    cores = list(map(cores_of, texts))
    places = [allocation(on, each or 1) for on, each in zip(hosts.to_list(), cores, strict=True)]
    sizes = [at.slots or count for at, count in zip(places, processors.to_list(), strict=True)]
    amounts = [
        (at.slots, at.nodes or None, each, *requested(text, at.nodes or hosts_of(text, size), size))
        for at, text, each, size in zip(places, texts, cores, sizes, strict=True)
    ]
    ranges = records.several(records.ineligible + 2, 3 * records.range_count)
    named = {
        "ranges": [_tasks(text) for text in ranges],
        "group": list(group),
        "node_list": [at.node_list for at in places],
        "node_amounts": [at.node_amounts for at in places],
    }
    given = [pl.Series(name, values, dtype=pl.String) for name, values in named.items()]
    frame = pl.DataFrame(columns).hstack(given)
    return frame.hstack(table(amounts, ("slots", "nodes", "cores", "mem_bytes", "gpus")))


def _tasks(ranges: str | None) -> str | None:
    """Return `1 100 1 201 300 2`, ranges of an array's elements, as ``1-100:1,201-300:2``."""
    numbers = (ranges or "").split(" ")
    triples = zip(*(numbers[k::3] for k in range(3)), strict=False)
    return ",".join(f"{first}-{last}:{step}" for first, last, step in triples) or None


DIALECT = Dialect("lsf", "LSF's lsb.acct", recognises, header, parse, whole)
