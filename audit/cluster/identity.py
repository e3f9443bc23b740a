"""What a computation was made of, which decides its name and everything random in it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

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
            con: the store.
            cluster: its name.
            period: what is computed.
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
