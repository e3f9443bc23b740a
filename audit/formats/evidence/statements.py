"""Statements of a scheduler about jobs and nodes at instants, as readers collect them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import polars as pl

from audit.formats.instants import instants
from audit.hostlists import LONGEST
from audit.model import EVIDENCE
from audit.registry.reasons import PLANNED, without_names
from audit.words import EvidenceKind

HELD: Final = "HELD"
"""State of a held job: it lasts until the next change of its state."""
PENDING: Final = "PENDING"
"""State of a job at an instant at which it waited."""
STARTED, RELEASED, ENDED, REQUEUED = "RUNNING", "RELEASED", "ENDED", "REQUEUED"
CHANGES: Final = (HELD, RELEASED, STARTED, ENDED, REQUEUED)
"""States that last until the next of them. Samples say what was true at their instant alone."""

SAMPLES: Final = (EvidenceKind.SQUEUE, EvidenceKind.SPRIO)
"""Kinds that repeat all jobs. Jobs that do not wait are left out, but for the end of a wait."""

JOB: Final = re.compile(r"[0-9]{1,18}[^\s|;,]{0,200}")
"""A job id; those of array tasks and of PBS contain more than a number."""
_UNKNOWN: Final = frozenset(("", "N/A", "None", "(null)", "Unknown", "NONE"))


class LineKind(NamedTuple):
    """A kind of line, and what it says."""

    pattern: str
    """Regular expression that is searched in what follows the time, or in the message."""
    state: str
    reason: str | None = None


class Remark(NamedTuple):
    """One row of evidence, with times as they were written."""

    at: str
    job: str | None = None
    node: str | None = None
    state: str | None = None
    reason: str | None = None
    priority: float | None = None
    expected: str | None = None


class Evidence(NamedTuple):
    """The evidence in a text."""

    rows: pl.DataFrame
    """Columns of ``model.EVIDENCE``, sorted and distinct."""
    skipped: int = 0
    """Lines that say nothing of use, or that are damaged."""
    problem: str | None = None
    """Why the text has no statement, and the remedy; None: it has some, or is empty."""


def evidence(
    kind: EvidenceKind, said: Sequence[Remark], zone: str, skipped: int, remedy: str
) -> Evidence:
    """Return statements as rows; those without a readable time are skipped.

    Args:
        zone: that of times without an offset, an IANA name.
        skipped: lines that were skipped before.
        remedy: what writes such a text.
    """
    columns = [*zip(*said, strict=True)] or [()] * len(Remark._fields)
    text = {
        name: pl.Series(column, dtype=pl.Float64 if name == "priority" else pl.String)
        for name, column in zip(Remark._fields, columns, strict=True)
    }
    at, expected = (instants(text[name], zone).early for name in ("at", "expected"))
    rows = pl.DataFrame(
        {
            "kind": pl.repeat(kind.value, len(said), dtype=pl.String, eager=True),
            "instant": at,
            "job_id": text["job"],
            "node": text["node"],
            "state": text["state"],
            "reason": _anonymous(text["reason"]),
            "priority": text["priority"],
            "expected_start": expected,
        },
        schema=EVIDENCE,
    )
    waits = pl.col("state") == PENDING
    waited = waits.shift(1).over("job_id", order_by=["instant", waits], descending=False)
    kept = pl.col("job_id").is_null() | waits | waited.fill_null(value=False)
    dated = rows.drop_nulls("instant").unique().sort(pl.all())
    if kind in SAMPLES:
        dated = dated.filter(kept)
    problem = None
    if dated.is_empty() and (skipped or said):
        problem = f"no line of it can be read as {kind.value}; let {remedy} write it"
    return Evidence(dated, skipped + rows["instant"].null_count(), problem)


def _anonymous(reasons: pl.Series) -> pl.Series:
    """Return reasons without names of users and nodes."""
    every = reasons.drop_nulls().unique().to_list()
    names = {text: text if text == PLANNED else without_names(text) for text in every}
    return reasons.replace_strict(names, return_dtype=pl.String)


def known(text: str | None) -> str | None:
    """Return a value without blanks around it, or None for an unknown one."""
    text = "" if text is None else text.strip()
    return None if text in _UNKNOWN else text[:LONGEST]


def number(text: str | None) -> float | None:
    """Return a decimal number, or None."""
    if text is None or not re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?", text.strip()):
        return None
    return float(text)
