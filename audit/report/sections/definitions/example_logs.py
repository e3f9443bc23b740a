"""The attempts of the examples of definitions."""

from collections.abc import Sequence
from typing import Final

import polars as pl

from audit.model import ATTEMPTS, RecordKind

Jobs = Sequence[tuple[int, str, int, int, int, int]]
"""Job, user, CPUs, submit, start and end."""

# Anna's second job is backfilled past Ben's wide one.
JOBS: Final[Jobs] = (
    (1, "anna", 3, 0, 0, 100),
    (2, "ben", 4, 10, 100, 200),
    (3, "anna", 1, 20, 20, 80),
    (4, "ben", 1, 30, 200, 260),
)
# The same, but Anna's second job runs so long that Ben's wide one has to wait for it.
DELAYED: Final[Jobs] = (
    (1, "anna", 3, 0, 0, 100),
    (2, "ben", 4, 10, 150, 250),
    (3, "anna", 1, 20, 20, 150),
    (4, "ben", 1, 30, 250, 300),
)
# Ben's job waits while Anna's, which requests as much and arrives later, starts first.
PASSED: Final[Jobs] = (
    (1, "ben", 2, 0, 900, 1_000),
    (2, "anna", 2, 100, 300, 400),
    (3, "cleo", 4, 200, 1_000, 1_100),
    (4, "dora", 1, 250, 350, 400),
)


def log_of(rows: Jobs) -> pl.DataFrame:
    """Return the attempts of an example, with the columns of ``model.ATTEMPTS``."""
    names = ("job_number", "user", "cpus", "submit_time", "start_time", "end_time")
    jobs = pl.DataFrame(rows, names, orient="row").with_columns(
        cluster=pl.lit("example"),
        kind=pl.lit(RecordKind.JOB.value),
        state=pl.lit("COMPLETED"),
        attempt=1,
        line="job_number",
        job_id=pl.col("job_number").cast(pl.String),
    )
    missing = [name for name in ATTEMPTS if name not in jobs.columns]
    return jobs.with_columns(**dict.fromkeys(missing)).select(
        pl.col(name).cast(dtype) for name, dtype in ATTEMPTS.items()
    )
