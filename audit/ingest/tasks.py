"""Finds the tasks for which the record of an array still stands.

Slurm prints one row for all tasks of an array that wait (`7_[3-9%2]`); PBS reports the array as a
whole (`7[].server`) when it is queued or deleted. Tasks with records of their own are not among
those for which such a record stands.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import polars as pl

from audit import arrays
from audit.arrays import Tasks
from audit.ingest import events
from audit.model import EVENTS

FAMILY: Final = r"^([0-9]+)(?:_?\[[^\]]*\]?|_[0-9]+)"
"""Pattern of the ids of an array and its tasks; without the second part they are the same."""


class Left(NamedTuple):
    """The rest of a record."""

    job_id: str
    before: str | None  # its ``array_tasks`` until now
    started: bool
    ended: bool
    array_tasks: str | None
    tasks: int  # 0: it is superseded


class _Row(NamedTuple):
    family: str
    job_id: str
    array_tasks: str | None
    tasks: int | None
    event: bool
    started: bool
    ended: bool
    superseded: bool


def left_of(rows: pl.DataFrame, seen: pl.DataFrame) -> list[Left]:
    """Return the records of arrays for which something has changed.

    - A record of waiting tasks, or an event, no longer stands for tasks that have own records.
    - A row of waiting tasks is superseded if another row of its array lists a part of them: only
      this part still waits. Of equal lists one remains.
    - An event of a whole array of unknown size, or its run, is superseded by any task.

    Args:
        rows: the columns of ``_Row``: records of arrays, each once.
        seen: ``family`` and ``array_task`` of tasks with their own records.
    """
    tasks: dict[str, list[int]] = dict(seen.group_by("family").agg("array_task").iter_rows())
    groups: dict[str, list[tuple[_Row, Tasks | None]]] = {}
    for row in map(_Row._make, rows.select(_Row._fields).iter_rows()):
        groups.setdefault(row.family, []).append((row, arrays.read(row.array_tasks)))
    changed = (one for name, group in groups.items() for one in _changed(group, tasks.get(name)))
    return sorted(set(changed))


def _changed(group: list[tuple[_Row, Tasks | None]], seen: list[int] | None) -> Iterator[Left]:
    for row, named in group:
        if row.superseded or not (row.event or not (row.started or row.ended)):
            continue
        text, number = row.array_tasks, row.tasks or 1
        if named is None or (row.event and row.started):
            number = 0 if row.event and seen else number
        else:
            left = named.without(seen) if seen else named
            number = left.number
            if not row.event and any(_replaces(other, row) for other, _ in group):
                number = 0
            text = left.text if 0 < number < named.number else text
        if (text, number) != (row.array_tasks, row.tasks or 1):
            yield Left(row.job_id, row.array_tasks, row.started, row.ended, text, number)


def _replaces(other: _Row, row: _Row) -> bool:
    """Return whether another row listed fewer of the same tasks, or all and comes first."""
    one, all_ = _listed(other), _listed(row)
    if one is None or all_ is None or other.job_id == row.job_id:
        return False
    first = other.ended or other.job_id > row.job_id
    fewer = one.number < all_.number or (one.number == all_.number and first)
    return fewer and not len(one.without(all_.listed).listed)


def _listed(row: _Row) -> Tasks | None:
    """Return the tasks that a row listed when it was read."""
    in_id = row.job_id.partition("_[")[2].rstrip("]").partition("%")[0]
    return arrays.read(in_id) or arrays.read(row.array_tasks)


def of_frame(records: pl.DataFrame) -> pl.DataFrame:
    """Return records of a cluster, each array's only with the tasks for which it still stands."""
    name = pl.col("job_id")
    family = name.str.replace(FAMILY, "$1")
    whole = pl.col("array_tasks").is_not_null() | name.str.contains("[", literal=True)
    whole &= pl.col("array_task").is_null()
    started, ended = pl.col("start_time").is_not_null(), pl.col("end_time").is_not_null()
    state = {
        "event": pl.col("kind").is_in([kind.value for kind in EVENTS]),
        "started": started,
        "ended": ended,
        "superseded": pl.lit(value=False),
    }
    rows = records.filter(whole).select("job_id", "array_tasks", "tasks", family=family, **state)
    if rows.is_empty():
        return records
    bare = records.filter(events.bare_tasks())
    if bare.height:
        filled = events.of_arrays(bare, records.filter(whole))
        records = pl.concat([records.filter(~events.bare_tasks()), filled])
    of_tasks = pl.col("array_task").is_not_null() & family.is_in(rows["family"].unique().implode())
    seen = records.filter(of_tasks).select("array_task", family=family).unique()
    left = pl.DataFrame(
        left_of(rows.unique(), seen),
        schema={
            **dict.fromkeys(("job_id", "_before"), pl.String),
            **dict.fromkeys(("_started", "_ended"), pl.Boolean),
            "_tasks": pl.String,
            "_number": pl.Int64,
        },
        orient="row",
    )
    keys = ["job_id", "_before", "_started", "_ended"]
    both = records.with_columns(_before="array_tasks", _started=started, _ended=ended).join(
        left, on=keys, how="left", nulls_equal=True, maintain_order="left"
    )
    known = pl.col("_number").is_not_null()
    return (
        both.filter(pl.col("_number").fill_null(1) > 0)
        .with_columns(
            array_tasks=pl.when(known).then("_tasks").otherwise("array_tasks"),
            tasks=pl.coalesce("_number", "tasks"),
        )
        .select(records.columns)
    )
