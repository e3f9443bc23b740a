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
  resource requirement in effect (``requirements``).
- The account is the project; the group the one whose fairshare was charged; QOS the service class.

A record whose texts have line ends in them has several lines.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import polars as pl

from audit.formats.dialects import HEAD_BYTES, Dialect, Header, Parsed, Reading
from audit.formats.lines import NEWLINE, Block, Bytes, Lines
from audit.formats.lsf.fields import Fields, cut_records, fields_of, last_record
from audit.formats.lsf.layout import laid_out
from audit.formats.lsf.records import lines_of, typed
from audit.formats.shaping import shaped
from audit.model import RefusalCode

FINISHED: Final = b'"JOB_FINISH"'
OTHERS: Final = (b'"JOB_RESIZE"', b'"EVENT_ADRSV_FINISH"')
"""Events of lsb.acct that are no attempts."""

_RECORD: Final = re.compile(
    rb'^"(?:JOB_FINISH|JOB_RESIZE|EVENT_ADRSV_FINISH)" "\d+(?:\.\d+)*" \d{9,11} ', re.MULTILINE
)
_VERSION: Final = re.compile(rb'^"[A-Z_]+" "([0-9.]+)" ', re.MULTILINE)
_SHOWN: Final = 40


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
    finished = fields.are(0, FINISHED)
    other = np.any([fields.are(0, event) for event in OTHERS], axis=0)
    spans = Lines(*(np.concatenate(both) for both in zip(records, strays, strict=True)))
    unended = len(data) > 0 and data[-1] != NEWLINE
    broken = np.full(len(spans.starts), unended) & (spans.ends == len(data))
    shut = fields.closed & ~broken[: len(finished)]
    attempts = np.flatnonzero(finished & shut)
    odd = np.ones(len(spans.starts), dtype=np.bool_)
    odd[: len(finished)] = ~((finished | other) & shut)
    numbers = np.flatnonzero(odd)
    problems = [_problem(fields, int(number), cut=bool(broken[number])) for number in numbers]
    found = lines_of(numbers, problems)
    if len(attempts):
        chosen = fields.of(attempts)
        read = typed(chosen, laid_out(chosen)).with_columns(number=pl.Series(attempts))
        found = pl.concat([found, read], how="diagonal")
    order = np.argsort(spans.starts, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    found = found.with_columns(number=pl.Series(places[found["number"].to_numpy()]))
    in_order = Lines(spans.starts[order], spans.ends[order])
    return shaped(block, in_order, found, steps=int((other & shut).sum()))


def _problem(fields: Fields, number: int, *, cut: bool) -> tuple[str, RefusalCode]:
    """What is wrong with a record that is none, or with a line behind all of them."""
    if cut:
        return "the log ends within this record", RefusalCode.CUT
    if number >= len(fields.width):
        return "no record begins here", RefusalCode.SHAPE
    if not fields.closed[number]:
        return "a quote of it is not closed", RefusalCode.SHAPE
    (event,) = fields.of(np.array([number])).texts(0)
    return f"field 1 (event): '{(event or '')[:_SHOWN]}' is none of lsb.acct", RefusalCode.VALUE


def whole(data: bytes, header: Header) -> int:
    """All before the last record: its texts may go on in the lines that follow."""
    return max(last_record(data), 0) or (
        data.rfind(b"\n") + 1 if len(data) > HEAD_BYTES and data[:1] != b'"' else 0
    )


DIALECT = Dialect(
    name="lsf",
    title="LSF's lsb.acct",
    recognises=recognises,
    header=header,
    parse=parse,
    whole=whole,
)
