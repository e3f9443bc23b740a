"""Statements of a scheduler about jobs and nodes at instants, as readers collect them."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import polars as pl

from audit.formats.instants import instants
from audit.hostlists import LONGEST
from audit.registry.reasons import PLANNED, without_names
from audit.words import EvidenceKind

HELD: Final = "HELD"
"""State of a held job: it lasts until the next change of its state."""
PENDING: Final = "PENDING"
"""State of a job at an instant at which it waited."""
STARTED, RELEASED, ENDED, REQUEUED = "RUNNING", "RELEASED", "ENDED", "REQUEUED"

SAMPLES: Final = (EvidenceKind.SQUEUE, EvidenceKind.SPRIO)
"""Kinds that repeat all jobs. Jobs that do not wait are left out, but for the end of a wait."""

JOB: Final = re.compile(r"[0-9]{1,18}[^\s|;,]{0,200}")
"""A job id; those of array tasks and of PBS contain more than a number."""
UNKNOWN: Final = frozenset(("", "N/A", "None", "(null)", "Unknown", "NONE"))


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


REMARK: Final = pl.Schema(
    {name: pl.Float64 if name == "priority" else pl.String for name in Remark._fields}
)


class Remarks(NamedTuple):
    """Remarks of a text or a part of it."""

    said: pl.DataFrame
    """Columns of ``REMARK``."""
    skipped: int
    """Lines that say nothing of use, or that are damaged."""


def collected(said: Sequence[Remark], skipped: int = 0) -> Remarks:
    """Return remarks as columns."""
    return Remarks(pl.DataFrame(said, REMARK, orient="row"), skipped)


class Evidence(NamedTuple):
    """The evidence in a text, or in a part of it."""

    rows: pl.DataFrame
    """Columns of ``model.EVIDENCE``, distinct."""
    last: pl.DataFrame
    """Of samples, the last statement about each job that waits; the same columns."""
    skipped: int = 0
    """Lines that say nothing of use, or that are damaged."""
    problem: str | None = None
    """Why the text has no statement, and the remedy; None: it has some, or is empty."""


def evidence(
    kind: EvidenceKind,
    found: Remarks,
    zone: str,
    remedy: str,
    *,
    before: pl.DataFrame | None = None,
) -> Evidence:
    """Return statements as rows; those without a readable time are skipped.

    Args:
        zone: that of times without an offset, an IANA name.
        remedy: what writes such a text.
        before: ``Evidence.last`` of the part of the text before this one.
    """
    said, skipped = found
    at, expected = (instants(said[name], zone).early for name in ("at", "expected"))
    rows = said.select(
        pl.lit(kind.value, pl.String).alias("kind"),
        at.alias("instant"),
        pl.col("job").alias("job_id"),
        *("node", "state"),
        _anonymous(said["reason"]).alias("reason"),
        "priority",
        expected.alias("expected_start"),
    )
    dated = rows.drop_nulls("instant").unique()
    last = dated.clear()
    if kind in SAMPLES:
        earlier = last if before is None else before
        every = pl.concat([earlier, dated]).with_columns(
            waits=pl.col("state") == PENDING, new=pl.int_range(pl.len()) >= earlier.height
        )
        every = every.sort("instant", "waits").with_columns(
            waited=pl.col("waits").shift(1).over("job_id").fill_null(value=False)
        )
        last = every.unique("job_id", keep="last").filter("waits").select(dated.columns)
        dated = every.filter("new", pl.col("waits") | pl.col("waited")).select(dated.columns)
    problem = None
    if dated.is_empty() and (skipped or said.height):
        problem = f"no line of it can be read as {kind.value}; let {remedy} write it"
    return Evidence(dated, last, skipped + rows["instant"].null_count(), problem)


def _anonymous(reasons: pl.Series) -> pl.Series:
    every = reasons.drop_nulls().unique().to_list()
    names = {text: text if text == PLANNED else without_names(text) for text in every}
    return reasons.replace_strict(names, return_dtype=pl.String)


def known(text: str | None) -> str | None:
    """Return a value without blanks around it, or None for an unknown one."""
    text = "" if text is None else text.strip()
    return None if text in UNKNOWN else text[:LONGEST]


def number(text: str | None) -> float | None:
    """Return a decimal number, or None."""
    if text is None or not re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?", text.strip()):
        return None
    return float(text)
