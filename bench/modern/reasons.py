"""Causes of waiting, by the account of waits and by squeue's reasons, at the same instants.

python -m bench.modern.reasons [CLUSTER …]   # seconds by reason and cause
"""

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from audit.metrics.attempts.account import account
from audit.pipeline.opening import ClusterLog
from bench.modern.captured import CAPTURES, Capture, Waiting
from bench.modern.record import CLUSTERS, SAMPLE_S

CLASSES: Final = {
    "unavailable": r"^(ReqNodeNotAvail|Reservation|Maintenance|NodeDown|PartitionDown)",
    "rule": r"^(QOS|Assoc|PartitionTimeLimit)",
    "held": r"^(Dependency|BeginTime|JobHeld|JobArrayTaskLimit|Licenses)",
    "competition": r"^(Resources|Priority|Nodes required for job are DOWN, DRAINED or reserved)",
}
"""Reasons of squeue by their class of causes."""

COMPETITION: Final = frozenset({"own", "claimed", "kept", "earlier", "later", "nodes", "cycle"})


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


def stretches(log: ClusterLog, jobs: Collection[str]) -> pl.DataFrame:
    """All stretches of the waits of some jobs: job_id, attempt, begin, end, cause, by."""
    found = []
    for pool in log.setting.pools:
        described = log.described.filter(pl.col("pool") == pool.name)
        for row, (job, attempt) in enumerate(described.select("job_id", "attempt").iter_rows()):
            if job not in jobs:
                continue
            made = account(described, pool, log.setting.now, traced=row)
            found.append(made.traced.with_columns(job_id=pl.lit(job), attempt=pl.lit(attempt)))
    return pl.concat(found)


def compared(capture: Capture, folder: Path) -> Iterator[Shown]:
    """Each pending job of each sample that has a reason, with its cause at that instant.

    ``folder`` then holds the log and the configuration.
    """
    for sample in by_sample(capture, capture.site(folder)):
        yield from sample


def by_sample(capture: Capture, log: ClusterLog) -> Iterator[list[Shown]]:
    """The same of each sample, by the account of a log.

    Before it was eligible a job is held. A job that never became eligible is in no accounting.
    Cancelled tasks of an array are one attempt.
    """
    arrivals: dict[str, list[int]] = {}
    for job, arrival in log.described.select("job_id", "arrival_time").iter_rows():
        arrivals.setdefault(job, []).append(arrival)
    cancelled = {job.partition("[")[0]: job for job in arrivals if "[" in job}
    samples: list[list[tuple[float, str, Waiting]]] = []
    for at, waiting in capture.queue():
        samples.append([])
        for one in (one for one in waiting if one.first):
            array = cancelled.get(f"{one.job.partition('_')[0]}_", one.job)
            job = one.job if one.job in arrivals else array
            if job in arrivals:
                samples[-1].append((at, job, one))
    spans: dict[str, list[tuple[int, int, str, str | None]]] = {}
    booked = stretches(log, {job for sample in samples for _, job, _ in sample})
    for job, *span in booked.select("job_id", "begin", "end", "cause", "by").iter_rows():
        spans.setdefault(job, []).append((span[0], span[1], span[2], span[3]))
    for sample in samples:
        shown = []
        for at, job, one in sample:
            found = next((span for span in spans.get(job, []) if span[0] <= at < span[1]), None)
            cause, by = ("unknown", None) if found is None else found[2:]
            if found is None and any(arrival > at for arrival in arrivals[job]):
                cause, by = "held", "not eligible"
            shown.append(Shown(at, one.job, one.partition, one.reason, cause, by))
        yield shown


def agreement(shown: list[Shown]) -> float:
    """The share of waiting time in one class of causes; of instants that have a reason.

    Instants before the log begins are left out.
    """
    judged = [
        one for one in shown if class_of_reason(one.reason) != "none" and one.cause != "outside"
    ]
    same = sum(class_of_reason(one.reason) == class_of_cause(one.cause) for one in judged)
    return same / len(judged)


def main() -> None:
    for name in sys.argv[1:] or CLUSTERS:
        capture = Capture(CAPTURES / name)
        with tempfile.TemporaryDirectory() as folder:
            shown = [*compared(capture, Path(folder))]
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
