"""What a computation was made of, which decides its name and everything random in it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Final

import polars as pl

from audit import __version__
from audit.model import Period
from audit.store import database, queries
from audit.store.database import Connection

STAGES: Final = ("ingest", "compute", "report", "publish")


@dataclass(frozen=True)
class Identity:
    """Version, configuration, inputs, cluster and period of a run; no clock is among them."""

    run_id: str
    cluster: str
    period: Period
    config: str
    """The configuration in force, as JSON."""
    input_hash: str

    @classmethod
    def of(cls, con: Connection, cluster: str, period: Period, config: str) -> Identity:
        """The identity of computing ``period`` from all inputs of ``cluster`` in the store."""
        inputs = queries.run(con, "input_ids", cluster=cluster)["input_id"].to_list()
        input_hash = _sha256("".join(inputs))
        parts = [__version__, config, input_hash, cluster, *period]
        return cls(_sha256(json.dumps(parts))[:16], cluster, period, config, input_hash)

    @property
    def seed(self) -> int:
        """Of everything random in this run (SPEC §5)."""
        return int(self.run_id[:15], 16)

    def note(self, con: Connection) -> None:
        """Records the stages as done; they are published all together or not at all."""
        row = {
            "run_id": self.run_id,
            "cluster": self.cluster,
            "period": self.period.name,
            "from_time": self.period.from_time,
            "to_time": self.period.to_time,
            "state": "done",
            "version": __version__,
            "config": self.config,
            "config_hash": _sha256(self.config),
            "input_hash": self.input_hash,
        }
        database.insert(con, "run", pl.DataFrame([{**row, "stage": stage} for stage in STAGES]))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
