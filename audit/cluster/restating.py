"""Figures that had been computed before and came out otherwise, and because of what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import polars as pl

from audit import __version__
from audit.cluster.identity import Identity
from audit.store import queries
from audit.store.database import Connection

FIGURE: Final = ("pool", "period", "metric", "dimension", "dimension_value")
"""What tells figures of a cluster apart."""

_NAMED: Final = 3
"""So many logs are named."""


class Before(NamedTuple):
    """What the store held of a cluster before new figures took their place."""

    figures: pl.DataFrame
    made_of: Mapping[str, tuple[str, str, frozenset[str]]]
    """Hash of the settings, version and inputs, by name of the period."""


def before(con: Connection, cluster: str) -> Before:
    """What the store holds of a cluster now."""
    rows = queries.run(con, "run_inputs", cluster=cluster).iter_rows()
    return Before(
        queries.run(con, "summary_of_cluster", cluster=cluster),
        {period: (config, version, frozenset(inputs)) for period, config, version, inputs in rows},
    )


def restated(
    con: Connection, old: Before, new: pl.DataFrame, computed: Sequence[Identity]
) -> pl.DataFrame:
    """The rows of the view ``restatements`` that new figures add.

    Args:
        con: the store, with the new figures.
        old: what it held before.
        new: columns of ``FIGURE``, ``new_value`` and ``run_id``.
        computed: the runs that made them, at least one.
    """
    both = old.figures.rename({"value": "old_value", "run_id": "old_run_id"}).join(
        new, on=FIGURE, how="inner", nulls_equal=True
    )
    changed = both.filter(pl.col("old_value").ne_missing(pl.col("new_value")))
    periods = set(changed["period"])
    reasons = {
        run.period.name: _because(con, run, old.made_of.get(run.period.name))
        for run in computed
        if run.period.name in periods
    }
    return changed.select(
        "period",
        "metric",
        "dimension",
        "dimension_value",
        "old_value",
        "new_value",
        "old_run_id",
        "run_id",
        cluster=pl.lit(computed[0].cluster),
        because=pl.col("period").replace_strict(reasons, default=None, return_dtype=pl.String),
    ).sort(pl.all())


def _because(con: Connection, run: Identity, old: tuple[str, str, frozenset[str]] | None) -> str:
    """Why figures of a period changed, in words."""
    if old is None:
        return "what its figures were made of is not known"
    config_hash, version, inputs = old
    now = frozenset(run.inputs)
    ids = {name: name.partition("-")[0] for name in now | inputs}
    had, has = ({ids[name] for name in names} for names in (inputs, now))
    moved = {ids[name] for name in now - inputs} & had
    said = [
        *_of_logs(con, run, sorted(has - had), "records came, of {}"),
        *_of_logs(con, run, sorted(moved), "records were set aside or taken in later, of {}"),
        *_of_logs(con, run, sorted(had - has), "records went, of {}"),
    ]
    if config_hash != run.config_hash:
        said.append("settings changed")
    if version != __version__:
        said.append(f"version {version} became {__version__}")
    return "; ".join(said) or "more of its fair start times were computed"


def _of_logs(con: Connection, run: Identity, inputs: Sequence[str], said: str) -> list[str]:
    """The logs of some inputs, and how many of their records are of the period."""
    if not inputs:
        return []
    period = run.period
    rows = queries.rows(
        con,
        "records_of_inputs",
        cluster=run.cluster,
        inputs=list(inputs),
        from_time=period.from_time,
        to_time=period.to_time + 1 if period.whole_log else period.to_time,
    )
    named = [f"{file} ({records:,} of this period)" for file, records in rows[:_NAMED]]
    more = [f"{len(rows) - _NAMED:,} more logs"] if len(rows) > _NAMED else []
    return [said.format(", ".join([*named, *more]))]
