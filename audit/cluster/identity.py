"""Identity of a run by its inputs, seeds, and the reasons why figures changed."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import polars as pl

from audit import __version__
from audit.cluster.windows import LEAD_S
from audit.model import Period
from audit.store import database, queries
from audit.store.database import Connection

_OF_LOGS: Final = frozenset(
    ("missing", "assumed", "inferred_from", "evidence", "log_begin", "newest")
)
"""Keys of the configuration in force that logs decide: those that are missing, what was inferred,
the digest of the logs from which, that of what schedulers said at instants, and the first and last
instant of the logs."""


@dataclass(frozen=True)
class Identity:
    """Version, configuration, inputs, cluster and period of a run, but no clock."""

    run_id: str
    cluster: str
    period: Period
    config: str  # the configuration in force, as JSON
    inputs: tuple[str, ...]
    """Inputs, with the number of their records that were set aside or replayed."""

    @classmethod
    def of(
        cls, con: Connection, cluster: str, period: Period, config: str, since: int | None = None
    ) -> "Identity":
        """Return the identity of computing ``period`` from what the store holds of ``cluster``.

        Args:
            config: the configuration in force, as JSON.
            since: epoch s; attempts that ended earlier do not matter. None: no bound.
        """
        of = {"cluster": cluster, "since": since and since - LEAD_S, "lead": LEAD_S}
        inputs = queries.rows(con, "input_ids", **of, **_span(period))
        named = tuple(
            f"{input_id}-{doubtful}+{replayed}" if doubtful or replayed else input_id
            for input_id, doubtful, replayed in inputs
        )
        parts = [__version__, config, _sha256("".join(named)), cluster, *period]
        return cls(_sha256(json.dumps(parts))[:16], cluster, period, config, named)

    @property
    def input_hash(self) -> str:
        """SHA-256 of all inputs."""
        return _sha256("".join(self.inputs))

    @property
    def config_hash(self) -> str:
        """SHA-256 of the configuration in force, without what the logs show or lack."""
        in_force = json.loads(self.config)
        if not in_force.keys() & _OF_LOGS:
            return _sha256(self.config)
        stated = {key: value for key, value in in_force.items() if key not in _OF_LOGS}
        return _sha256(json.dumps(stated, sort_keys=True))

    def keeping(self, inferred: Mapping[str, object]) -> "Identity":
        """Return the same identity, with which a run stores what was inferred from its inputs."""
        in_force = json.loads(self.config) | {"assumed": inferred}
        return replace(self, config=json.dumps(in_force, sort_keys=True))

    def note(self, con: Connection, stage: str, now: int | None = None) -> None:
        """Record a stage as done; ``now`` is in epoch s, or None to record no time."""
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


def seed_of(attempts: pl.DataFrame, period: Period | None = None) -> int:
    """Return the seed of a period's resamples (SPEC §5), or of the whole log's.

    It depends on the times of the period's attempts alone: neither on the form, the order or the
    number of the logs that contain them, nor on the source of a setting.

    Args:
        attempts: columns of ``model.ATTEMPTS``, of other periods too, in any order.
    """
    mine, span = attempts, []
    if period is not None:
        span = [period.from_time, period.to_time]
    if period is not None and not period.whole_log:
        left = pl.coalesce(
            "end_time", pl.min_horizontal("submit_time", "eligible_time", "start_time")
        )
        mine = attempts.filter(left >= period.from_time, left < period.to_time)
    mine = mine.select("job_id", *_TIMES).sort(pl.all())
    digest = hashlib.sha256("\0".join(mine["job_id"]).encode())
    for name in _TIMES:
        digest.update(mine[name].fill_null(-1).to_numpy().tobytes())
    digest.update(json.dumps(span).encode())
    return int(digest.hexdigest()[:15], 16)


_TIMES: Final = ("submit_time", "start_time", "end_time")


def _span(period: Period) -> dict[str, int]:
    to_time = period.to_time + 1 if period.whole_log else period.to_time
    return {"from_time": period.from_time, "to_time": to_time}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


FIGURE: Final = ("pool", "period", "metric", "dimension", "dimension_value")
"""The key of a figure within a cluster."""

_CHECK: Final = "re_conservation"
"""A rounding error, which differs with the order of summation."""
_NAMED: Final = 3
"""Maximum number of logs that a reason names."""


class _MadeOf(NamedTuple):
    """The inputs of figures."""

    inputs: frozenset[str]
    config_hash: str
    version: str
    inferred_from: str | None
    evidence: str | None
    log_begin: str | None
    newest: str | None


class Before(NamedTuple):
    """A cluster's figures before they are replaced."""

    figures: pl.DataFrame
    made_of: Mapping[str, _MadeOf]  # by name of the period


def before(con: Connection, cluster: str) -> Before:
    """Return the figures of a cluster that the store holds now."""
    made_of = {
        period: _MadeOf(frozenset(inputs), *of_run)
        for period, inputs, *of_run in queries.rows(con, "run_inputs", cluster=cluster)
    }
    return Before(queries.run(con, "summary_of_cluster", cluster=cluster), made_of)


def restated(
    con: Connection, old: Before, new: pl.DataFrame, computed: Sequence[Identity]
) -> pl.DataFrame:
    """Return the rows of the view ``restatements`` for figures that changed.

    Args:
        new: columns of ``FIGURE``, ``new_value`` and ``run_id``.
    """
    both = old.figures.rename({"value": "old_value", "run_id": "old_run_id"}).join(
        new, on=FIGURE, how="inner", nulls_equal=True
    )
    differs = pl.col("old_value").ne_missing(pl.col("new_value"))
    changed = both.filter(differs, pl.col("metric") != _CHECK)
    periods = set(changed["period"])
    reasons = {
        run.period.name: "; ".join(_reasons(con, run, old.made_of.get(run.period.name)))
        for run in computed
        if run.period.name in periods
    }
    return changed.select(
        *FIGURE[1:],
        "old_value",
        "new_value",
        "old_run_id",
        "run_id",
        cluster=pl.lit(computed[0].cluster),
        because=pl.col("period").replace_strict(reasons, default=None, return_dtype=pl.String),
    ).sort(pl.all())


def _reasons(con: Connection, run: Identity, old: _MadeOf | None) -> Iterator[str]:
    """Yield why the figures of a period changed; at least one reason."""
    if old is None:
        yield "the inputs of its earlier figures are unknown"
        return
    in_force = json.loads(run.config)
    begin, newest = (in_force.get(name) for name in ("log_begin", "newest"))
    new = _MadeOf(
        frozenset(run.inputs),
        run.config_hash,
        __version__,
        in_force.get("inferred_from"),
        in_force.get("evidence"),
        None if begin is None else str(begin),
        None if newest is None else str(newest),
    )
    had, has = ({name.partition("-")[0] for name in one.inputs} for one in (old, new))
    moved = {name.partition("-")[0] for name in new.inputs - old.inputs} & had
    # the store has no input that was read again by other columns, only its successor
    again = bool(had - has) and not _logs(con, run, had - has)
    for ids, reason in (
        (has - had, "other columns are read of" if again else "records were added from"),
        (moved, "records were set aside or restored in"),
        (had - has, "records were removed from"),
    ):
        if logs := _logs(con, run, sorted(ids)) if ids else "":
            yield f"{reason} {logs}"
    if old.config_hash != new.config_hash:
        yield "settings changed"
    if old.version != new.version:
        yield f"version {old.version} became {new.version}"
    if old.evidence != new.evidence:
        yield "evidence of the scheduler was added"
    if old.inputs == new.inputs and old.inferred_from != new.inferred_from:
        yield "records changed from which its rules were inferred"
    if old.inputs == new.inputs and (old.log_begin, old.newest) != (new.log_begin, new.newest):
        yield "the log covers another part of the period"
    if old == new:
        yield "other logs are missing than before"


def _logs(con: Connection, run: Identity, inputs: Iterable[str]) -> str:
    of = {"cluster": run.cluster, "inputs": list(inputs), **_span(run.period)}
    rows = queries.rows(con, "records_of_inputs", **of)
    named = [f"{file} ({records:,} of this period)" for file, records in rows[:_NAMED]]
    if len(rows) > _NAMED:
        named.append(f"{len(rows) - _NAMED:,} more logs")
    return ", ".join(named)
