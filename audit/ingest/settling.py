"""Which records of a job are its attempts, where the store holds several of them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from audit.ingest.attempts import outdated_arrays, resolve
from audit.model import EVENTS
from audit.store import queries
from audit.store.database import Connection, execute, insert


def settle_new(con: Connection, cluster: str, input_ids: Sequence[str]) -> None:
    """Settles the jobs of new inputs of which the store holds more than one record."""
    for input_id in input_ids:  # one by one: all of several may be more than memory holds
        repeated = queries.run(con, "records_of_repeated_jobs", cluster=cluster, input_id=input_id)
        if not repeated.is_empty():
            _resolve(con, cluster, repeated)
    if input_ids:
        _supersede_arrays(con, cluster)


def settle(con: Connection, cluster: str, repeated: pl.DataFrame) -> None:
    """Settles jobs anew.

    Args:
        con: an open store, in a transaction.
        cluster: whose jobs.
        repeated: every record that the store holds of some of them.
    """
    if not repeated.is_empty():
        _resolve(con, cluster, repeated)
    _supersede_arrays(con, cluster)


def _resolve(con: Connection, cluster: str, repeated: pl.DataFrame) -> None:
    settled = resolve(repeated)
    execute(
        con,
        "DELETE FROM records WHERE cluster = ? AND job_id IN (SELECT unnest(?))",
        [cluster, settled["job_id"].unique().to_list()],
    )
    insert(con, "records", settled)
    execute(
        con,
        """
        WITH kept AS (
            SELECT input_id, count(*) AS n FROM records WHERE cluster = $1 GROUP BY input_id
        ),
        archived AS (
            SELECT input_id, sum(records) AS n FROM archived_input WHERE cluster = $1 GROUP BY ALL
        )
        UPDATE inputs SET duplicates = records - refused - steps - elsewhere
            - coalesce((SELECT n FROM kept WHERE kept.input_id = inputs.input_id), 0)
            - coalesce((SELECT n FROM archived WHERE archived.input_id = inputs.input_id), 0)
        WHERE cluster = $1
        """,
        [cluster],
    )


def _supersede_arrays(con: Connection, cluster: str) -> None:
    """What is told of an array as a whole stands until one of its tasks has a record.

    That is Slurm's row of waiting tasks (`7_[3-9]`), and what PBS's events tell of `7[].server`.
    """
    arrays = queries.run(con, "pending_arrays", cluster=cluster)
    if not arrays.is_empty():
        tasks = queries.run(con, "tasks_of_pending_arrays", cluster=cluster)
        execute(
            con,
            """
            UPDATE records SET superseded = TRUE, attempt = 0
            WHERE cluster = ? AND job_id IN (SELECT unnest(?)) AND end_time IS NULL
            """,
            [cluster, outdated_arrays(arrays, tasks)],
        )
    execute(
        con,
        r"""
        UPDATE records SET superseded = TRUE, attempt = 0
        WHERE cluster = ? AND kind IN (SELECT unnest(?)) AND array_task IS NULL
            AND contains(job_id, '[') AND job_id IN (
                SELECT regexp_replace(job_id, '\[[0-9]+\]', '[]') FROM records
                WHERE cluster = ? AND array_task IS NOT NULL AND contains(job_id, '[')
            )
        """,
        [cluster, [kind.value for kind in EVENTS], cluster],
    )
