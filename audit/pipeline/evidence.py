"""Statements of schedulers at instants, with their attempts and nodes."""

from collections.abc import Iterable
from typing import Final

import polars as pl

from audit.cluster import declared
from audit.ingest import evidence
from audit.ingest.evidence import EvidenceFile
from audit.metrics.attempts.recorded import with_evidence
from audit.model import Declared
from audit.store import queries
from audit.store.attempts import read_attempts
from audit.store.database import Connection


def take_in_all(
    con: Connection, cluster: str, files: Iterable[EvidenceFile], zone: str
) -> tuple[str, ...]:
    """Take files into the store; return warnings. Errors as of ``ingest.evidence.take_in``."""
    warnings = (evidence.take_in(con, cluster, file, zone) for file in files)
    return tuple(filter(None, warnings))


def recorded_attempts(
    con: Connection, cluster: str, since: int | None = None, until: int | None = None
) -> pl.DataFrame:
    """Return attempts with what was recorded of their waits; see ``store.attempts``."""
    attempts = read_attempts(con, cluster, since, until)
    ready = pl.coalesce("eligible_time", "submit_time")
    first = attempts.select(pl.min_horizontal(ready, "start_time", "end_time").min()).item()
    of = {"cluster": cluster, "since": first, "until": None if until is None else until - 1}
    return with_evidence(attempts, queries.run(con, "evidence_between", **of))


PLANS_DAYS: Final = 30


def planned_starts(con: Connection, cluster: str) -> pl.DataFrame:
    """Return the scheduler's planned starts of the last days: job_id, instant, expected_start."""
    return queries.run(con, "evidence_planned", cluster=cluster, days=PLANS_DAYS)


def dated(con: Connection, cluster: str, nodes: Declared) -> Declared:
    """Return declared nodes with their drains dated by statements of schedulers."""
    return declared.dated(nodes, evidence.about_nodes(con, cluster))
