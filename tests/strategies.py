"""Small workloads with everything in them that real logs have, and more of it."""

from typing import Any

import polars as pl
from hypothesis import strategies as st

from audit.model import ATTEMPTS

EPOCH = 1_000_000_000
"""Times start here, so that small sums of large numbers are met."""
NOW = EPOCH + 60
"""When these logs were taken; no attempt that has ended ends later."""

_instants = st.integers(0, 30)
_lengths = st.sampled_from([0, 0, 1, 2, 3, 7, 15, 30])
_sizes = st.sampled_from([None, 0, 1, 1, 2, 3, 4, 5, 8, 16, 17, 128, 129, 3_000])
_standings = st.sampled_from(
    ["ended"] * 6 + ["running", "pending", "never_started", "never_started", "start_unknown"]
)
_names = st.sampled_from([None, "ann", "bob", "cem", "dot"])


def frame(records: list[dict[str, Any]]) -> pl.DataFrame:
    """Records as attempts; what they leave out is null, job and line numbers are counted."""
    numbered = [
        {"cluster": "c", "job_id": str(k), "job_number": k, "attempt": 1, "line": k, **record}
        for k, record in enumerate(records, 1)
    ]
    return pl.DataFrame(
        [{name: record.get(name) for name in ATTEMPTS} for record in numbered], schema=ATTEMPTS
    )


def ended(
    arrival: int, start: int, end: int, size: int, user: str | None = "ann", **more: Any
) -> dict[str, Any]:
    """The record of an attempt that ran."""
    return {
        "submit_time": arrival,
        "start_time": start,
        "end_time": end,
        "cpus": size,
        "user": user,
        "state": "COMPLETED",
        **more,
    }


@st.composite
def _record(draw: st.DrawFn, only_ended: bool) -> dict[str, Any]:
    standing = "ended" if only_ended else draw(_standings)
    submit = EPOCH + draw(_instants)
    start = max(submit + draw(_lengths) - draw(st.sampled_from([0, 0, 0, 2])), EPOCH)
    end = min(start, NOW) + min(draw(_lengths), max(NOW - start, 0))
    record: dict[str, Any] = {
        "submit_time": draw(st.sampled_from([submit, submit, submit, submit, None])),
        "eligible_time": draw(st.sampled_from([None, None, submit + 1, submit + 5])),
        "cpus": draw(_sizes),
        "user": draw(_names),
        "account": draw(st.sampled_from([None, "physics", "history"])),
        "suspended_s": draw(st.sampled_from([None, None, 0, 2, 100])),
        "state": "PENDING" if standing == "pending" else "COMPLETED",
    }
    if standing in ("ended", "running"):
        record["start_time"] = start
    if standing in ("ended", "never_started"):
        record["end_time"] = end
    if standing == "start_unknown":
        record["occupancy_s"] = draw(_lengths)
    return record


@st.composite
def workloads(draw: st.DrawFn, most: int = 14, only_ended: bool = False) -> pl.DataFrame:
    """Attempts of one pool; some are further attempts of the job before them."""
    records = draw(st.lists(_record(only_ended), max_size=most))
    job, attempt = 0, 1
    for record in records:
        again = job > 0 and draw(st.integers(0, 4)) == 0
        job, attempt = (job, attempt + 1) if again else (job + 1, 1)
        record |= {"job_id": str(job), "job_number": job, "attempt": attempt}
    return frame(records)


CHARGED = pl.Schema(
    {
        "user": pl.String,
        "account": pl.String,
        "start_time": pl.Int64,
        "end_time": pl.Int64,
        "penalty": pl.Float64,
    }
)
"""The columns that usage is made of."""


@st.composite
def charged(draw: st.DrawFn, unit: int = 1, begin: int = EPOCH, most: int = 14) -> pl.DataFrame:
    """Attempts with penalties, over 60 ``unit`` seconds from ``begin`` on, when the log was taken.

    Some never started, some are still running, some took no time.
    """
    rows = []
    for _ in range(draw(st.integers(0, most))):
        start = draw(st.integers(0, 60))
        end = min(start + draw(_lengths), 60)
        life = draw(st.sampled_from(["ended"] * 5 + ["running", "never_started"]))
        rows.append(
            {
                "user": draw(_names),
                "account": draw(st.sampled_from([None, "physics", "history"])),
                "start_time": None if life == "never_started" else begin + start * unit,
                "end_time": None if life == "running" else begin + end * unit,
                "penalty": draw(st.sampled_from([0.0, 0.1, 0.3, 1.0, 1 / 3, 2**-40, 64.0])),
            }
        )
    return pl.DataFrame(rows, schema=CHARGED)
