"""Slurm's `sacct --json` (21.08 to 25.05): documents, each with an array of jobs.

A job of it is read as the columns that `sacct -P` would print (``json_records``) and then by the
same rules as these (``records``), so both tell of the same attempts. Its steps are counted.

A document is never held as a whole. All jobs of one begin alike, with ``{`` and the same first key,
which no text within can imitate (its quotes are escaped); between two such places there is one job.
So damage costs the job that it is in, and blocks may be cut before any job. A document that ends in
its middle loses what is cut, and says so, but where the cut is directly behind a job: there blocks
end, too.

Sources: Slurm's plugins ``openapi/dbv0.0.36`` to ``.38`` and ``data_parser/v0.0.39`` to ``.43``.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from audit.formats.broken_json import as_bytes, damage
from audit.formats.dialects import Dialect, Header, Parsed, Reading
from audit.formats.escapes import holdable
from audit.formats.lines import Block, Lines
from audit.formats.sacct.json_records import COLUMNS, columns_of
from audit.formats.sacct.records import typed
from audit.formats.shaping import shaped
from audit.model import RefusalCode

_JOBS: Final = re.compile(rb'"jobs"\s*:\s*\[')
_DOCUMENT: Final = re.compile(rb'\s*\{\s*(?:"(?:jobs|meta|errors|warnings)"|$)')
_FIRST: Final = re.compile(rb'\s*(\{\s*"[^"\\]*")')
_OF_SACCT: Final = re.compile(rb'"allocation_nodes"|openapi\\?/db|"accounting_storage"\s*:\s*"[^"]')
_OF_SQUEUE: Final = b'"accrue_time"'
_FIRST_KEY: Final = b'{"account"'
_NOTHING: Final = "Nothing found"
"""How it reports, as an error, that there was no job in its window (ESLURM_REST_EMPTY_RESULT)."""

_BETWEEN: Final = re.compile(rb"[\s,]*")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

_decode: Final = json.JSONDecoder().raw_decode


def recognises(head: bytes) -> bool:
    """Whether these are the first bytes of a document of sacct's."""
    if not head.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"{"):
        return False
    jobs = _JOBS.search(head)
    return jobs is not None and bool(_OF_SACCT.search(head)) and _OF_SQUEUE not in head


def header(head: bytes, reading: Reading) -> Header:
    """With what jobs begin (entry ``begins``), and Slurm's release where it stands before them."""
    jobs = _JOBS.search(head)
    first = _FIRST.match(head, jobs.end()) if jobs else None
    begins = first[1] if first else _FIRST_KEY
    release = re.search(rb'"release"\s*:\s*"([^"\\]*)"', head[: jobs.start()] if jobs else b"")
    entries = {"begins": begins.decode("utf-8", errors="backslashreplace")}
    if release:
        entries["release"] = release[1].decode("utf-8", errors="backslashreplace")
    declared = reading.columns is not None
    problems = ("a JSON document names its fields: --columns is not used",) if declared else ()
    return Header(zone=reading.zone, entries=entries, problems=problems)


def needed(entries: Mapping[str, str]) -> dict[str, str]:
    """With what jobs begin."""
    return {"begins": entries["begins"]}


def whole(data: bytes, header: Header) -> int:
    """How many of the first bytes of ``data`` lie before the last job that begins in it.

    The comma between is left to that job.
    """
    begins = header.entries["begins"].encode()
    at = len(data)
    while (at := data.rfind(begins, 0, at)) > 0:
        if _is_element(data, at):
            before = data[:at].rstrip()
            return len(before) - before.endswith(b",")
    return 0


def parse(block: Block, header: Header) -> Parsed:
    """Takes in a stretch of a document or several; see the module's docstring."""
    walk = _Walk(block, header.entries["begins"].encode())
    walk.run()
    schema = {"number": pl.Int64, "problem": pl.String, "code": pl.String}
    found = pl.DataFrame(walk.refused, schema=schema, orient="row")
    if walk.jobs:
        numbers, *texts = zip(*walk.jobs, strict=True)
        columns = {name: _holdable(text) for name, text in zip(COLUMNS, texts, strict=True)}
        jobs = typed(
            pl.DataFrame(
                {"number": numbers, **columns},
                schema={"number": pl.Int64, **dict.fromkeys(COLUMNS, pl.String)},
            ),
            "UTC",
        )
        found = pl.concat([jobs, found], how="diagonal")
    spans = Lines(*np.array(walk.spans, dtype=np.int64).reshape(-1, 2).T)
    return shaped(block, spans, found, steps=walk.steps)


def _is_element(data: bytes, at: int) -> bool:
    """Whether what begins at ``at`` is an element of an array, and not the value of a key."""
    before = data[max(at - 200, 0) : at].rstrip()
    return not before.endswith(b":")


def _holdable(values: tuple[str | None, ...]) -> list[str | None]:
    return [None if value is None else holdable(value) for value in values]


class _Walk:
    """The way through a block: jobs and what lies between their arrays."""

    def __init__(self, block: Block, begins: bytes) -> None:
        self.data = block.data
        self.spans: list[tuple[int, int]] = []
        self.jobs: list[tuple[int | str | None, ...]] = []
        self.refused: list[tuple[int, str, str]] = []
        self.steps = 0
        self._begins = begins
        self._first = block.byte_offset == 0
        self._starts: list[int] = []
        at = -1
        while (at := self.data.find(begins, at + 1)) >= 0:
            if _is_element(self.data, at):
                self._starts.append(at)

    def run(self) -> None:
        """Goes through the block once."""
        at = len(_BYTE_ORDER_MARK) if self.data.startswith(_BYTE_ORDER_MARK) else 0
        inside = not (self._first or _DOCUMENT.match(self.data))
        while at < len(self.data):
            at = self._elements(at) if inside else self._outside(at)
            inside = not inside

    def _elements(self, at: int) -> int:
        """Takes in jobs from ``at`` on; gives where their array is closed, or the block ends."""
        data = self.data
        while True:
            before, at = at, _BETWEEN.match(data, at).end()  # type: ignore[union-attr]
            if at >= len(data):
                if b"," in data[before:at]:
                    self._refuse(before, at, "the document ends before a job", RefusalCode.CUT)
                return at
            mark = data[at : at + 1]
            if mark == b"]":
                return at
            limit = self._next(at)
            if mark == b"{":
                at = self._job(at, limit)
            else:
                self._refuse(at, limit, "is no job of a JSON document", RefusalCode.SHAPE)
                at = limit

    def _job(self, at: int, limit: int) -> int:
        """Takes in what begins at ``at``; gives where it ends."""
        text = self.data[at:limit].decode("utf-8", errors="surrogateescape")
        try:
            job, length = _decode(text)
        except (ValueError, RecursionError) as error:
            last, what = limit == len(self.data), "the document ends within this job"
            self._refuse(at, limit, *damage(error, text, last=last, what=what))
            return limit
        rest = text[length:]
        end = limit - (len(rest) if rest.isascii() else len(as_bytes(rest)))
        try:
            columns = columns_of(job)
        except ValueError as error:
            self._refuse(at, end, str(error), RefusalCode.VALUE)
            return end
        self.jobs.append((len(self.spans), *columns))
        self.spans.append((at, end))
        steps = job.get("steps")
        self.steps += len(steps) if isinstance(steps, list) else 0
        return end

    def _outside(self, at: int) -> int:
        """Looks at what stands outside of an array of jobs; gives where the next one begins."""
        jobs = _JOBS.search(self.data, at)
        stop = jobs.end() if jobs else self._next(at)
        text = self.data[at:stop].decode("utf-8", errors="surrogateescape")
        begun = '{"jobs": [' if text.startswith("]") else ""
        try:
            document, length = _decode(begun + text + "]}" * (jobs is not None and not begun))
            self._errors(document, at, stop)
            rest = text[length - len(begun) :].strip() if begun else ""
            if rest:
                document, _ = _decode(rest + "]}" * (jobs is not None))
                self._errors(document, at, stop)
        except (ValueError, RecursionError):
            if text.strip():
                cut = stop == len(self.data)
                what = "ends before it is closed" if cut else "cannot be read around its jobs"
                code = RefusalCode.CUT if cut else RefusalCode.SHAPE
                self._refuse(at, stop, f"the document {what}", code)
        return stop

    def _errors(self, document: Any, at: int, end: int) -> None:
        """Refuses what sacct says went wrong: jobs may be missing."""
        errors = document.get("errors") if isinstance(document, dict) else None
        for error in errors if isinstance(errors, list) else ():
            said = error.get("description") or error.get("error") if isinstance(error, dict) else ""
            if _NOTHING in str(error):
                continue
            text = holdable(str(said or error)[:200])
            reason = f"sacct reports an error, jobs may be missing: {text}"
            self._refuse(at, end, reason, RefusalCode.SHAPE)

    def _next(self, at: int) -> int:
        """Where the next job begins behind ``at``, or the block ends."""
        number = bisect_right(self._starts, at)
        return self._starts[number] if number < len(self._starts) else len(self.data)

    def _refuse(self, at: int, end: int, reason: str, code: RefusalCode) -> None:
        kept = self.data[at:end].rstrip()
        kept = kept[:-1] if kept.endswith(b",") else kept
        self.refused.append((len(self.spans), reason, code.value))
        self.spans.append((at, at + len(kept)))


DIALECT: Final = Dialect(
    name="sacct-json",
    title="Slurm's sacct (--json)",
    recognises=recognises,
    header=header,
    parse=parse,
    whole=whole,
    names_clusters=True,
    needed=needed,
)
