"""Attempts that ended long ago: in Parquet files beside the database, by cluster and month.

A store holds what is still worked on, and readers of its views see both: ``all_records`` and
``all_results`` are the tables and the files. Files are written once and never changed; the table
``archived`` names them, and a file that it does not name is a leftover of a run that was killed.
Their names are relative to the folder of the published database. Each name carries the identity of
the store that wrote the file, and a store removes only its own files.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from audit.errors import StoreError
from audit.files import privacy
from audit.store.database import (
    Connection,
    execute,
    quote_text,
    rows,
    transaction,
)

OVER_ARCHIVE: Final = {"all_records": "records", "all_results": "job_result"}
"""The views over tables and files: view → the table of what is not archived."""

_HALF_A_DAY_S: Final = 43_200

_IDENTITY: Final = re.compile(r"[0-9a-f]{16}")
_STEM: Final = r"\d{4}-\d{2}-(records|results)"
FILE: Final = re.compile(
    rf"\w[\w.-]{{0,106}}/{_STEM}-[0-9a-f]{{16}}-[0-9a-f]{{12}}\.parquet", re.ASCII
)
"""The names of a store's files, relative to the archive's folder."""


class Month(NamedTuple):
    """What was archived together: the jobs that ended for good within a month."""

    cluster: str
    from_time: int
    to_time: int
    """Epoch s."""
    first_arrival: int | None
    """Of its attempts, epoch s."""
    records: int
    results: int
    files: tuple[str, str]
    """Records and results; relative to the folder of the published database."""
    sha256: tuple[str, str]
    """Of the files."""

    def touches(self, since: int | None, until: int | None) -> bool:
        """Whether an attempt in it may have ended since ``since`` and arrived before ``until``.

        Both are in epoch s; None is no bound.
        """
        if self.first_arrival is None or until is None:
            begins_in_time = True
        else:
            begins_in_time = min(self.from_time, self.first_arrival) < until
        return begins_in_time and (since is None or self.to_time > since)


def months(con: Connection, cluster: str | None = None) -> list[Month]:
    """What is archived of a cluster, or of all; by cluster and time."""
    found = rows(
        con,
        "SELECT cluster, from_time, to_time, first_arrival, records, results, records_file, "
        "results_file, records_sha256, results_sha256 FROM archived "
        "WHERE $cluster IS NULL OR cluster = $cluster ORDER BY cluster, to_time",
        {"cluster": cluster},
    )
    return [
        Month(row[0], row[1], row[2], row[3], row[4], row[5], (row[6], row[7]), (row[8], row[9]))
        for row in found
    ]


def identity(con: Connection) -> str | None:
    """Return which store this is; None for one that never archived.

    Raises:
        StoreError: the table ``identity`` holds something else.
    """
    found = [store for (store,) in rows(con, "SELECT store FROM identity")]
    if not found:
        return None
    if len(found) > 1 or not _IDENTITY.fullmatch(found[0]):
        raise StoreError("the store's identity is damaged")
    return str(found[0])


def identified(con: Connection) -> str:
    """Return which store this is, choosing an identity where it has none; as ``identity``."""
    if (store := identity(con)) is None:
        store = secrets.token_hex(8)
        execute(con, "INSERT INTO identity VALUES (?)", [store])
    return store


def archived_until(con: Connection, cluster: str) -> int | None:
    """Up to when a cluster is archived, epoch s; None where nothing is."""
    ((until,),) = rows(
        con,
        "SELECT max(to_time) FROM archived WHERE cluster = $cluster",
        {"cluster": cluster},
    )
    return None if until is None else int(until)


def reach(con: Connection, folder: Path) -> None:
    """Lets a store find its files, in the folder of the published database."""
    execute(con, f"SET file_search_path = {quote_text(str(folder.resolve()))}")


def renew_views(con: Connection) -> None:
    """Makes the views over tables and files as ``archived`` says.

    Raises:
        StoreError: a file is missing.
    """
    every = months(con)
    for position, (view, table) in enumerate(OVER_ARCHIVE.items()):
        rows_of = over_archive(table, [month.files[position] for month in every])
        try:
            execute(con, f"CREATE OR REPLACE VIEW {view} AS {rows_of}")
        except StoreError as error:
            raise StoreError(
                f"a file of the archive cannot be read (output.archive): {error}"
            ) from error


def over_archive(table: str, files: Sequence[str]) -> str:
    """The query that reads a table, and files of the archive with the same rows."""
    rows = f"SELECT * FROM {table}"  # noqa: S608
    if files:
        named = ", ".join(map(quote_text, files))
        rows += f" UNION ALL BY NAME SELECT * FROM read_parquet([{named}])"  # noqa: S608
    return rows


def ends_of_inputs(con: Connection, cluster: str, inputs: Sequence[str]) -> set[int]:
    """When the months end in which a cluster has archived records of some inputs, epoch s."""
    found = rows(
        con,
        "SELECT DISTINCT to_time FROM archived_input "
        "WHERE cluster = $cluster AND list_contains($inputs::VARCHAR[], input_id)",
        {"cluster": cluster, "inputs": inputs},
    )
    return {to_time for (to_time,) in found}


def move(
    con: Connection,
    cluster: str,
    edges: Sequence[int],
    base: Path,
    place: str,
    *,
    with_group: bool = False,
) -> list[Month]:
    """Moves the jobs that ended for good before the last of ``edges`` from the tables to files.

    A job goes whole: one of which an attempt ended later, or is open, stays. Each month goes in one
    step, with the views: whatever stops it, views have each row once.

    Args:
        edges: epoch s, ascending: files are cut there. What ended before the first goes with the
            first file.
        base: the folder of the published database.
        place: the folder of the cluster's files, relative to that.

    Raises:
        StoreError: a file cannot be written.
    """
    moved = []
    with _going(con, cluster, edges[-1]):
        for first, last in pairwise(edges):
            until = f"gone < {int(last)}"
            after = f"gone >= {int(first)}" if first > edges[0] else "true"
            if month := _move_month(
                con, (cluster, first, last), f"{after} AND {until}", base / place, place, with_group
            ):
                moved.append(month)
    return moved


@contextmanager
def _going(con: Connection, cluster: str, until: int) -> Iterator[None]:
    """The jobs that go, and when each was ended for good, as the table ``going``."""
    execute(
        con,
        """
        CREATE OR REPLACE TEMP TABLE going AS
        WITH ended AS (
            SELECT job_id, max(end_time) AS gone
            FROM records
            WHERE cluster = $1 AND NOT superseded AND end_time < $2
            GROUP BY job_id
        ),
        stays AS (
            SELECT DISTINCT job_id
            FROM records
            WHERE cluster = $1 AND NOT superseded AND (end_time IS NULL OR end_time >= $2)
                AND job_id IN (SELECT job_id FROM ended)
        )
        SELECT job_id, gone FROM ended WHERE job_id NOT IN (FROM stays)
        """,
        [cluster, until],
    )
    try:
        yield
    finally:
        execute(con, "DROP TABLE IF EXISTS going")


def _move_month(
    con: Connection,
    of: tuple[str, int, int],
    which: str,
    folder: Path,
    place: str,
    with_group: bool,
) -> Month | None:
    """Moves the jobs of ``going`` of which ``which`` holds; None where there are none."""
    cluster, first, last = of
    chosen = (
        f"cluster = {quote_text(cluster)} AND job_id IN (SELECT job_id FROM going WHERE {which})"  # noqa: S608
    )
    ((count, first_arrival),) = rows(
        con,
        "SELECT count(*), min(least(coalesce(eligible_time, submit_time), start_time)) "  # noqa: S608
        f"FROM records WHERE {chosen}",
    )
    if not count:
        return None
    privacy.shared_folder(folder, with_group=with_group)
    store = identified(con)
    written = [
        _write(
            con,
            f"SELECT * FROM {table} WHERE {chosen} ORDER BY {order}",  # noqa: S608
            *(folder, f"{_month(last)}-{kind}-{store}", with_group),
        )
        for table, kind, order in (
            ("records", "records", "end_time, job_id, attempt, input_id, line"),
            ("job_result", "results", "pool, end_time, job_id, attempt"),
        )
    ]
    month = Month(
        cluster,
        first,
        last,
        first_arrival,
        count,
        written[1][1],
        (f"{place}/{written[0][0]}", f"{place}/{written[1][0]}"),
        (written[0][2], written[1][2]),
    )
    with transaction(con):
        execute(
            con,
            "INSERT INTO archived_input SELECT cluster, ?, input_id, count(*) "  # noqa: S608
            f"FROM records WHERE {chosen} GROUP BY ALL",
            [last],
        )
        for table in ("records", "job_result"):
            execute(con, f"DELETE FROM {table} WHERE {chosen}")  # noqa: S608
        execute(
            con,
            "INSERT INTO archived VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [*month[:6], *month.files, *month.sha256],
        )
        renew_views(con)
    return month


def _write(
    con: Connection, sql: str, folder: Path, stem: str, with_group: bool
) -> tuple[str, int, str]:
    """Writes rows to a file of the archive: its name, how many there are, and its SHA-256."""
    draft = folder / f".{stem}.draft"  # the store's lock is held, so that nobody else writes it
    try:
        draft.unlink(missing_ok=True)  # a killed run may have left it read-only
        ((count,),) = rows(
            con,
            f"COPY ({sql}) TO {quote_text(str(draft))} "
            "(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 122880)",
        )
        with draft.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
        name = f"{stem}-{digest[:12]}.parquet"
        privacy.seal(draft, with_group=with_group)
        draft.replace(folder / name)
    except OSError as error:
        raise StoreError(
            f"{folder}: cannot be written: {error.strerror} (output.archive)"
        ) from error
    finally:
        draft.unlink(missing_ok=True)
    return name, int(count), digest


def _month(to_time: int) -> str:
    """The month that ends at an instant, whatever the zone."""
    return f"{datetime.fromtimestamp(to_time - _HALF_A_DAY_S, UTC):%Y-%m}"


def bring_back(con: Connection, cluster: str, since: int) -> list[Month]:
    """Puts what ended from an instant on back into the tables; gives what came back.

    The files stay: databases that were published name them (``tidy``).

    Args:
        con: an open store that ``reach`` was called for, in a transaction.
        since: epoch s; months that end later come back whole.
    """
    back = [month for month in months(con, cluster) if month.to_time > since]
    if not back:
        return []
    for position, table in enumerate(OVER_ARCHIVE.values()):
        for month in back:
            execute(
                con,
                f"INSERT INTO {table} BY NAME SELECT * FROM "  # noqa: S608
                f"read_parquet({quote_text(month.files[position])})",
            )
    for table in ("archived", "archived_input"):
        execute(
            con,
            f"DELETE FROM {table} WHERE cluster = ? AND to_time > ?",  # noqa: S608
            [cluster, since],
        )
    renew_views(con)
    return back


def tidy(con: Connection, base: Path, place: str) -> list[Path]:
    """Remove this store's files from a cluster's folder if ``archived`` does not name them.

    For after a publication, when no database that new readers open names them. Files of other
    stores stay, and so does whatever else lies there.

    Returns:
        The files that were removed, drafts of killed runs and restores among them.
    """
    if (store := identity(con)) is None:
        return []
    named = {base / file for month in months(con) for file in month.files}
    own = re.compile(rf"\.?{_STEM}-{store}(-[0-9a-f]{{12}}\.parquet)?(\.draft)?", re.ASCII)
    gone = sorted(
        file for file in (base / place).glob("*") if own.fullmatch(file.name) and file not in named
    )
    for file in gone:
        file.unlink(missing_ok=True)
    return gone
