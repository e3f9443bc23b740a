"""Logs that are read again, because the user has them read by other columns, or in another zone.

The old records are removed in the transaction that inserts the new ones. Jobs that other logs have
too are resolved again. Archived records cannot be replaced, so such a log is left out. Dates that
were accepted by hand stay accepted; corrections by hand are lost, because their texts are not kept.
"""

import hashlib
from collections.abc import Sequence

import polars as pl

from audit.errors import LogError
from audit.ingest.logs import Opened, is_same
from audit.store import queries
from audit.store.database import Connection, execute, rows


def identify(cluster: str, log: Opened) -> str:
    """Return the input id of a log."""
    return identify_text(cluster, log.source.sha256, log.reading)


def identify_text(cluster: str, sha256: str, reading: str = "") -> str:
    """Return the input id of a log whose text has this hash, read by the user's columns."""
    parts = [cluster, sha256, *([reading] if reading else [])]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def held_as(con: Connection, cluster: str, log: Opened) -> tuple[str | None, list[str]]:
    """Return the input that the store has of a log, and inputs that reading it replaces.

    Raises LogError if some of their records are in the archive.
    """
    held = _of_content(con, cluster, log.source.sha256)
    for input_id, reading in held.items():
        if is_same(reading, log.reading):
            return input_id, []
    outdated = list(held)
    for part in log.source.outdated:
        inputs = _of_content(con, cluster, part.sha256)
        outdated += [name for name, reading in inputs.items() if reading == part.reading]
    outdated = sorted(set(outdated))
    ((archived,),) = queries.rows(con, "archived_of_inputs", inputs=outdated)
    if archived:
        raise LogError(
            f"{log.where}: its columns were read in another way before, and {archived:,} of its "
            "records are in the archive, where they cannot be replaced: use the earlier mapping "
            "(clusters.sources: table, columns) for this file, or begin a new store"
        )
    return None, outdated


def _of_content(con: Connection, cluster: str, sha256: str) -> dict[str, str | None]:
    found = queries.run(con, "inputs_of_content", content_sha256=sha256)
    mine = found.filter(pl.col("cluster") == cluster)
    return dict(mine.select("input_id", "reading").iter_rows())


def forget(con: Connection, cluster: str, inputs: Sequence[str]) -> list[str]:
    """Remove inputs with all that the store has of them; return their jobs in other inputs."""
    if not inputs:
        return []
    jobs = queries.run(con, "jobs_of_inputs", cluster=cluster, inputs=inputs)["job_id"].to_list()
    for table in ("records", "refused", "doubtful", "accepted", "inputs"):
        execute(con, f"DELETE FROM {table} WHERE input_id IN (SELECT unnest(?))", [inputs])  # noqa: S608
    return jobs


Decisions = tuple[list[int], list[int]]
"""Byte offsets of refused records that were corrected, and of doubtful ones that were accepted."""


def by_hand(con: Connection, inputs: Sequence[str]) -> Decisions:
    """Return what was decided by hand about records of inputs, before these are forgotten."""
    if not inputs:
        return [], []
    of = {"inputs": list(inputs)}
    where = "input_id IN (SELECT unnest($inputs::VARCHAR[]))"
    tables = ("refused WHERE replayed_at IS NOT NULL AND", "accepted WHERE")
    both = (f"SELECT byte_offset FROM {table} {where}" for table in tables)  # noqa: S608
    replayed, accepted = ([offset for (offset,) in rows(con, sql, of)] for sql in both)
    return replayed, accepted


def keep_decisions(con: Connection, input_id: str, before: Decisions) -> str:
    """Accept the same dates in a log that was read again; return which corrections are lost."""
    replayed, accepted = before
    accept = "INSERT INTO accepted SELECT DISTINCT $input, unnest($offsets::BIGINT[]) RETURNING 1"
    rows(con, accept, {"input": input_id, "offsets": accepted})
    count = (
        "SELECT count(*) FROM refused WHERE input_id = $input AND replayed_at IS NULL "
        "AND byte_offset IN (SELECT unnest($offsets::BIGINT[]))"
    )
    ((lost,),) = rows(con, count, {"input": input_id, "offsets": replayed})
    if not lost:
        return ""
    return (
        f"{lost:,} of its records that were corrected by hand are refused again: correct them "
        "again ('fairaudit refused')"
    )
