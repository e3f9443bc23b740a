"""The definitions of ``scenario.whatif``, in slow plain Python."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Any

Row = Mapping[str, Any]


def cut_short(row: dict[str, Any], limit: int) -> dict[str, Any]:
    """An attempt under a walltime limit of its partition."""
    asked, lasted = row["walltime_s"], row["occupancy_s"]
    now = {**row, "walltime_s": limit if asked is None else min(asked, limit)}
    if lasted is not None and lasted > limit:
        now["occupancy_s"] = limit
        if row["start_time"] is not None:
            now["end_time"] = row["start_time"] + limit
        for name in ("suspended_s", "runtime_s"):
            now[name] = None if row[name] is None else min(row[name], limit)
    return now


def walltime(asked: int | None, occupancy: int | None, factor: Fraction) -> int | None:
    """Return at most ``factor`` times the run time, and at most the given walltime."""
    if asked is None or occupancy is None:
        return asked
    return min(asked, max(ceil(factor * occupancy), 1))


def figures(
    today: Sequence[Row], after: Sequence[Row], tolerance_s: int
) -> dict[str, tuple[float, float] | None]:
    """Each measure today and after the change, of the attempts that ended in both."""
    keyed = {(row["job_id"], row["attempt"]): row for row in after if row["standing"] == "ended"}
    pairs = [
        (row, keyed[row["job_id"], row["attempt"]])
        for row in today
        if row["standing"] == "ended" and (row["job_id"], row["attempt"]) in keyed
    ]
    sized = [pair for pair in pairs if pair[0]["size"] is not None]
    judged = [pair for pair in pairs if all(row["fst_status"] == "final" for row in pair)]

    def mean(of: Sequence[tuple[Row, Row]], value: Any) -> tuple[float, float] | None:
        if not of:
            return None
        one, other = (sum(Fraction(value(pair[k])) for pair in of) / len(of) for k in (0, 1))
        return float(one), float(other)

    area = sum(row["runtime_s"] * (row["size"] or 0) for row, _ in pairs)
    waits = [sum(pair[k]["wait_s"] for pair in pairs) for k in (0, 1)]
    return {
        "wait_mean": mean(pairs, lambda row: row["wait_s"]),
        "bounded_slowdown_mean": mean(pairs, lambda row: row["bounded_slowdown"]),
        "nuwt": (waits[0] / area, waits[1] / area) if area else None,
        "miss_strict_mean": mean(judged, lambda row: row["miss_strict_s"]),
        "miss_relaxed_mean": mean(judged, lambda row: row["miss_relaxed_s"]),
        "missed_strict_share": mean(judged, lambda row: row["miss_strict_s"] > tolerance_s),
        "re_unfairness": mean(sized, lambda row: max(row["re_unfairness"], 0)),
    }


def never_starting(today: Sequence[Row], after: Sequence[Row]) -> int:
    """Number of attempts that end today, arrive after the change too, and never start there."""
    gone = {(row["job_id"], row["attempt"]) for row in after if row["start_time"] is None}
    return sum(
        row["standing"] == "ended" and (row["job_id"], row["attempt"]) in gone for row in today
    )


def observed(log: Sequence[Row], today: Sequence[Row], after: Sequence[Row]) -> float | None:
    """Mean observed wait of the attempts that end in both replays, where it is known."""
    ended = [
        {(row["job_id"], row["attempt"]) for row in rows if row["standing"] == "ended"}
        for rows in (today, after)
    ]
    waits = [
        row["wait_s"]
        for row in log
        if (row["job_id"], row["attempt"]) in ended[0] & ended[1] and row["wait_s"] is not None
    ]
    return sum(waits) / len(waits) if waits else None


def in_use(rows: Sequence[Row], at: int) -> int:
    """The size that runs at an instant."""
    return sum(
        row["size"] or 0
        for row in rows
        if row["start_time"] is not None
        and row["end_time"] is not None
        and row["start_time"] <= at < row["end_time"]
    )
