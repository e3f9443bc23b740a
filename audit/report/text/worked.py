"""The logs and tables of worked examples, for ``definitions``."""

from collections.abc import Sequence

import polars as pl

from audit.model import ATTEMPTS, RecordKind
from audit.report.record.page import Example
from audit.report.text import wording


def log(rows: Sequence[tuple[int, str, int, int, int, int]]) -> pl.DataFrame:
    """Return the attempts of an example, columns of ``model.ATTEMPTS``.

    Args:
        rows: job, user, CPUs, submit, start and end.
    """
    jobs = pl.DataFrame(
        {
            "cluster": "example",
            "kind": RecordKind.JOB.value,
            "state": "COMPLETED",
            "attempt": 1,
            "line": [job for job, *_ in rows],
            "job_id": [str(job) for job, *_ in rows],
            "job_number": [job for job, *_ in rows],
            "user": [user for _, user, *_ in rows],
            "cpus": [row[2] for row in rows],
            "submit_time": [row[3] for row in rows],
            "start_time": [row[4] for row in rows],
            "end_time": [row[5] for row in rows],
        }
    )
    missing = [name for name in ATTEMPTS if name not in jobs.columns]
    return jobs.with_columns(**dict.fromkeys(missing)).select(
        pl.col(name).cast(dtype) for name, dtype in ATTEMPTS.items()
    )


def example_of(
    caption: str,
    frame: pl.DataFrame,
    columns: Sequence[str],
    titles: tuple[str, ...],
    result: str,
) -> Example:
    """Return an example that shows these columns of a frame under these titles."""
    return Example(
        caption,
        titles,
        tuple(tuple(_cell(value) for value in row) for row in frame.select(columns).iter_rows()),
        result,
    )


def _cell(value: object) -> str:
    if isinstance(value, int):
        return wording.count(value)
    return wording.number(value) if isinstance(value, float) else str(value)
