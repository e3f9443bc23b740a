"""What a computation was made of: its name, everything random in it, and why figures changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import polars as pl

from audit import __version__
from audit.model import Period
from audit.store import database, queries
from audit.store.database import Connection


@dataclass(frozen=True)
class Identity:
    """Version, configuration, inputs, cluster and period of a run; no clock is among them."""

    run_id: str
    cluster: str
    period: Period
    config: str
    """The configuration in force, as JSON."""
    inputs: tuple[str, ...]
    """Each input, and what of it the store holds otherwise than the log alone would give."""

    @classmethod
    def of(
        cls, con: Connection, cluster: str, period: Period, config: str, since: int | None = None
    ) -> Identity:
        """The identity of computing ``period`` from what the store holds of ``cluster``.

        Args:
            config: the configuration in force, as JSON.
            since: epoch s; no attempt that ended before it matters. None: not known.
        """
        span = (period.from_time, period.to_time + 1 if period.whole_log else period.to_time)
        inputs = queries.run(
            con, "input_ids", cluster=cluster, from_time=span[0], to_time=span[1], since=since
        )
        named = tuple(map(_named, inputs.iter_rows()))
        parts = [__version__, config, _sha256("".join(named)), cluster, *period]
        return cls(_sha256(json.dumps(parts))[:16], cluster, period, config, named)

    @property
    def input_hash(self) -> str:
        """Of all inputs."""
        return _sha256("".join(self.inputs))

    @property
    def config_hash(self) -> str:
        """Of the configuration in force; that logs are missing is no setting."""
        in_force = json.loads(self.config)
        if "missing" not in in_force:
            return _sha256(self.config)
        del in_force["missing"]
        return _sha256(json.dumps(in_force, sort_keys=True))

    @property
    def seed(self) -> int:
        """Of everything random in this run (SPEC §5).

        The data and the period make it, not where a setting was written: what a flag says and a
        log's header says as well gives the same intervals.
        """
        of = [self.input_hash, self.period.from_time, self.period.to_time]
        return int(_sha256(json.dumps(of))[:15], 16)

    def note(self, con: Connection, stage: str, now: int | None = None) -> None:
        """Records a stage as done; ``now`` is None where no clock may show."""
        row = {
            "run_id": self.run_id,
            "cluster": self.cluster,
            "period": self.period.name,
            "from_time": self.period.from_time,
            "to_time": self.period.to_time,
            "stage": stage,
            "state": "done",
            "ended_at": now,
            "version": __version__,
            "config": self.config,
            "config_hash": self.config_hash,
            "input_hash": self.input_hash,
        }
        database.insert(con, "run", pl.DataFrame([row]))
        if stage == "compute":
            of_run = {name: row[name] for name in ("run_id", "cluster", "period")}
            named = pl.DataFrame({"input": list(self.inputs)}, schema={"input": pl.String})
            database.insert(con, "run_input", named, of_run)


def _named(held: tuple[str, int, int]) -> str:
    input_id, doubtful, replayed = held
    return f"{input_id}-{doubtful}+{replayed}" if doubtful or replayed else input_id


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


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
        new: columns of ``FIGURE``, ``new_value`` and ``run_id``.
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
