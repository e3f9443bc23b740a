"""Records of a scheduler about waits, second by second (``metrics.attempts.recorded``)."""

from collections.abc import Mapping, Sequence
from typing import Any

CHANGES = ("HELD", "RELEASED", "RUNNING", "ENDED", "REQUEUED")
REACH_S = 1_800
KINDS = {
    "JobHeldUser": "hold",
    "Dependency": "dependency",
    "QOSMaxJobsPerUserLimit": "limit QOSMaxJobsPerUserLimit",
    "planned": "planned",
}
"""Meanings of reasons; others have none here."""


def said_at(attempt: Mapping[str, Any], said: Sequence[Mapping[str, Any]], second: int) -> set[str]:
    """The kinds of what is recorded of a second of the wait of an attempt."""
    ready = attempt["eligible_time"] if attempt["eligible_time"] is not None else None
    ready = attempt["submit_time"] if ready is None else ready
    times = [ready, attempt["start_time"], attempt["end_time"]]
    arrival = min((time for time in times if time is not None), default=None)
    leave = attempt["start_time"] if attempt["start_time"] is not None else attempt["end_time"]
    if ready is None and leave is None:
        return set()
    if arrival is None or second < arrival or (leave is not None and second >= leave):
        return set()
    found = set()
    for kind in {row["kind"] for row in said}:
        mine = [row for row in said if row["kind"] == kind and row["job_id"] == attempt["job_id"]]
        before = [row["instant"] for row in mine if row["instant"] <= second]
        if before and second - max(before) < REACH_S:
            found |= {_sample(row) for row in mine if row["instant"] == max(before)}
        changes = [row for row in mine if row["state"] in CHANGES and row["instant"] <= second]
        if changes:
            last = max(changes, key=lambda row: row["instant"])
            found |= {KINDS.get(last["reason"]) if last["state"] == "HELD" else None}
    return {kind for kind in found if kind is not None}


def priority(attempt: Mapping[str, Any], said: Sequence[Mapping[str, Any]]) -> float | None:
    """The last priority that was recorded up to the start and of the wait, else that of the log."""
    times = [attempt[name] for name in ("eligible_time", "start_time", "end_time")]
    if attempt["eligible_time"] is None:
        times.append(attempt["submit_time"])
    arrival = min((time for time in times if time is not None), default=0)
    leave = attempt["start_time"] if attempt["start_time"] is not None else attempt["end_time"]
    known = [
        (row["instant"], row["priority"])
        for row in said
        if row["job_id"] == attempt["job_id"]
        and row["priority"]
        and (leave is None or row["instant"] <= leave)
        and _until(row, said) > arrival
    ]
    last: float | None = max(known)[1] if known else attempt["priority"]
    return last


def _until(row: Mapping[str, Any], said: Sequence[Mapping[str, Any]]) -> int:
    """When a statement ends: at the next about the job, and a sample after half an hour."""
    changes = row["state"] in CHANGES
    following = [
        other["instant"]
        for other in said
        if (other["kind"], other["job_id"]) == (row["kind"], row["job_id"])
        and other["instant"] > row["instant"]
        and (not changes or other["state"] in CHANGES)
    ]
    until: int = min(following, default=1 << 62)
    return until if changes else min(until, row["instant"] + REACH_S)


def _sample(row: Mapping[str, Any]) -> str | None:
    if row["state"] != "PENDING":
        return None
    says = KINDS.get(row["reason"])
    later = row["expected_start"] is not None and row["expected_start"] > row["instant"]
    return says or ("planned" if later else None)
