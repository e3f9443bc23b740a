"""Reads refused records again, and accepts doubtful ones.

A replay is useful after an upgrade, whose dialects may read more, and for texts corrected by hand.
A record keeps its place in its log, so the log is still recognised as known.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from audit.formats import dialects
from audit.formats.dialects import Header
from audit.formats.lines import Block
from audit.ingest import people
from audit.ingest.attempts import settle
from audit.ingest.people import AS_THEY_ARE, PeopleFilter
from audit.ingest.quarantine import count_refused, weigh_ages, weigh_dates
from audit.model import RECORDS, RefusalCode
from audit.store import queries
from audit.store.database import Connection, execute, insert, transaction

Place = tuple[str, int]  # an input, and the byte offset of a record


class Replayed(NamedTuple):
    """Numbers of replayed records."""

    taken: int
    left: int  # records that are still refused


def replay(
    con: Connection,
    cluster: str,
    now: int,
    *,
    code: str | None = None,
    file: str | None = None,
    mended: Mapping[Place, str] | None = None,
    people_filter: PeopleFilter = AS_THEY_ARE,
) -> Replayed:
    """Read refused records of a cluster again, and take in those that are valid now.

    Args:
        con, cluster: the store, and the cluster of the records.
        now: epoch second stored with those that are taken in.
        code, file: only faults of this ``RefusalCode``, only logs of this name.
        mended: texts to read instead of those in the store; only these records are read.
        people_filter: applied to them; ConfigError if their log was read with another key.
    """
    rows = queries.run(con, "refused_to_replay", cluster=cluster, code=code, file=file)
    taken: list[pl.DataFrame] = []
    left = 0
    for row in rows.iter_rows(named=True):
        place = (row["input_id"], row["byte_offset"])
        if mended is not None and place not in mended:
            continue
        cut = mended is None and row["code"] == RefusalCode.CUT  # nothing has been added to it
        records = None if cut else _read(row, row["text"] if mended is None else mended[place])
        if records is None:
            left += 1
            continue
        came_through = json.loads(row["header"]).get("people")
        people.check_same(cluster, [came_through, people_filter.fingerprint])
        taken.append(people_filter.records(records))
    if taken:
        with transaction(con):
            _take_in(con, cluster, pl.concat(taken), now)
    return Replayed(len(taken), left)


def accept(con: Connection, cluster: str, now: int, *, file: str | None = None) -> int:
    """Accept the doubtful records of a cluster, or of its logs of one name; return their number."""
    chosen = queries.run(con, "doubtful_to_accept", cluster=cluster, file=file)
    with transaction(con):
        insert(con, "accepted", chosen)
        weigh_dates(con, cluster, {}, now)
    return len(chosen)


def _read(row: Mapping[str, Any], text: str) -> pl.DataFrame | None:
    """Return the record of a text; None if invalid, or of another cluster."""
    said = json.loads(row["header"])
    header = Header(said["zone"], said["capacity"], said["entries"], tuple(said["problems"]))
    block = Block(text.encode() + b"\n", row["byte_offset"], row["line"])
    parsed = dialects.table()[row["dialect"]].parse(block, header)
    if len(parsed.records) != 1 or not parsed.refusals.is_empty():
        return None
    named = parsed.records["cluster"].item()
    if named is not None and row["log_cluster"] not in (None, named):
        return None
    return parsed.records.with_columns(
        input_id=pl.lit(row["input_id"]),
        line=pl.lit(row["line"], pl.Int64),
        byte_offset=pl.lit(row["byte_offset"], pl.Int64),
    )


def _take_in(con: Connection, cluster: str, records: pl.DataFrame, now: int) -> None:
    places: Sequence[list[Any]] = [records["input_id"].to_list(), records["byte_offset"].to_list()]
    execute(
        con,
        "UPDATE refused SET replayed_at = ? WHERE (input_id, byte_offset) IN "
        "(SELECT unnest(?), unnest(?))",
        [now, *places],
    )
    of_model = records.select(*(name for name in RECORDS if name != "cluster"), "input_id")
    insert(con, "records", of_model, {"cluster": cluster, "attempt": 1, "superseded": False})
    count_refused(con, records["input_id"].unique().to_list())
    jobs = records["job_id"].unique().to_list()
    settle(con, cluster, jobs)
    weigh_ages(con, cluster, records["input_id"].unique().to_list(), {}, now)
    weigh_dates(con, cluster, {}, now)
