"""Causes of waiting, by the account of waits and by squeue's reasons, at the same instants.

python -m tests.slurm.modern.reasons [CLUSTER …]   # seconds by reason and cause
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from audit.metrics.attempts.account import account, cycle_of
from audit.pipeline.opening import Log
from tests.slurm.modern.captured import CAPTURES, Capture
from tests.slurm.modern.record import CLUSTERS, SAMPLE_S

CLASSES: Final = {
    "unavailable": r"^(ReqNodeNotAvail|Reservation|Maintenance|NodeDown|PartitionDown)",
    "rule": r"^(QOS|Assoc|PartitionTimeLimit)",
    "held": r"^(Dependency|BeginTime|JobHeld|JobArrayTaskLimit|Licenses)",
    "competition": r"^(Resources|Priority|Nodes required for job are DOWN, DRAINED or reserved)",
}
"""Reasons of squeue by their class of causes."""

COMPETITION: Final = frozenset({"own", "claimed", "earlier", "later", "nodes", "cycle"})


class Shown(NamedTuple):
    """A job at an instant at which squeue showed it as pending."""

    at: float
    job: str
    partition: str
    reason: str
    cause: str
    by: str | None


def class_of_reason(reason: str) -> str:
    """Return the class of causes of a reason; ``none`` before slurmctld has examined the job."""
    reason = reason.strip("()")
    found = (name for name, pattern in CLASSES.items() if re.match(pattern, reason))
    return next(found, "none")


def class_of_cause(cause: str) -> str:
    return "competition" if cause in COMPETITION else cause


def stretches(log: Log) -> pl.DataFrame:
    """All stretches of all waits: job_id, attempt, begin, end, cause, by."""
    found = []
    for pool in log.setting.pools:
        described = log.described.filter(pl.col("pool") == pool.name)
        for row, (job, attempt) in enumerate(described.select("job_id", "attempt").iter_rows()):
            made = account(described, pool, log.setting.now, cycle_s=cycle_of(pool, 60), traced=row)
            found.append(made.traced.with_columns(job_id=pl.lit(job), attempt=pl.lit(attempt)))
    return pl.concat(found)


def compared(capture: Capture, log: Log) -> Iterator[Shown]:
    """Each pending job of each sample that has a reason, with its cause at that instant.

    Before it was eligible a job is held; a wait that no stretch covers is ``unknown``.
    """
    spans: dict[str, list[tuple[int, int, str, str | None]]] = {}
    for job, begin, end, cause, by in (
        stretches(log).select("job_id", "begin", "end", "cause", "by").iter_rows()
    ):
        spans.setdefault(job, []).append((begin, end, cause, by))
    arrivals: dict[str, list[int]] = {}
    for job, arrival in log.described.select("job_id", "arrival_time").iter_rows():
        arrivals.setdefault(job, []).append(arrival)
    for at, waiting in capture.queue():
        for one in (one for one in waiting if one.first):
            mine = (span for span in spans.get(one.job, []) if span[0] <= at < span[1])
            found = next(mine, None)
            if found is not None:
                cause, by = found[2], found[3]
            elif any(arrival is None or arrival > at for arrival in arrivals.get(one.job, [])):
                cause, by = "held", "not eligible"
            else:
                cause, by = "unknown", None
            yield Shown(at, one.job, one.partition, one.reason, cause, by)


def agreement(shown: list[Shown]) -> float:
    """The share of waiting time in one class of causes; of instants that have a reason."""
    judged = [one for one in shown if class_of_reason(one.reason) != "none"]
    same = [one for one in judged if class_of_reason(one.reason) == class_of_cause(one.cause)]
    return len(same) / len(judged)


def main() -> None:
    for name in sys.argv[1:] or CLUSTERS:
        capture = Capture(CAPTURES / name)
        with tempfile.TemporaryDirectory() as folder:
            shown = [*compared(capture, capture.site(Path(folder)))]
        print(f"{name}: {agreement(shown):.1%} of {len(shown) * SAMPLE_S} s in the same class")
        table = Counter(
            (class_of_reason(one.reason), one.reason.strip("()")[:30], one.cause, one.by or "")
            for one in shown
        )
        for key, count in sorted(table.items(), key=lambda item: -item[1]):
            wrong = " " if key[0] in ("none", class_of_cause(key[2])) else "!"
            print(
                f"{wrong} {count * SAMPLE_S:7}  {key[0]:12} {key[1]:30} {key[2]:12} {key[3][:60]}"
            )


if __name__ == "__main__":
    main()
