"""The definitions of ``studies.sensitivity.compute``, in slow plain Python.

The measures of a setting come from a schedule of ``engine.simulate``, second by second; targets,
compression and the line through the runs are computed in fractions.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor

Row = Mapping[str, int | str | None]
DAY_S = 86_400


def targets(areas: Sequence[int], run: int) -> list[Fraction]:
    """Small equal gifts to the first group, from whoever still has something."""
    total = sum(areas)
    shares = [Fraction(area, total) for area in areas]
    wanted = (3 - run) * min(Fraction(1, 10), (1 - shares[0]) / 3)
    first = shares[0] + wanted
    while wanted > 0:
        able = [k for k in range(1, len(shares)) if shares[k] > 0]
        gift = min(*(shares[k] for k in able), wanted / len(able))
        for k in able:
            shares[k] -= gift
        wanted -= gift * len(able)
    return [first, *shares[1:]]


def compressed(time: int, first: int, intensity: int) -> int:
    """Rounded half up."""
    return first + floor(Fraction((time - first) * 100, intensity) + Fraction(1, 2))


def change(values: Sequence[Fraction], figures: Sequence[Fraction]) -> Fraction:
    """Slope by the normal equations, times the range."""
    n = len(values)
    sx, sy = sum(values), sum(figures)
    sxy = sum(x * y for x, y in zip(values, figures, strict=True))
    sxx = sum(x * x for x in values)
    slope = Fraction(n * sxy - sx * sy) / Fraction(n * sxx - sx * sx)
    return slope * (values[-1] - values[0])


def responses(rows: Sequence[Row]) -> dict[tuple[str, str | None], list[int]]:
    """Response times of the attempts that ended, by group and user."""
    found: dict[tuple[str, str | None], list[int]] = {}
    for row in rows:
        start, end, arrival = row["start_time"], row["end_time"], row["arrival_time"]
        if isinstance(start, int) and isinstance(end, int) and isinstance(arrival, int):
            key = (str(row["account"]), row["user"])
            found.setdefault(key, []).append(end - arrival)  # type: ignore[arg-type]
    return found


def pool_by_day(rows: Sequence[Row], capacity: int) -> dict[str, dict[int, int]]:
    """Used, lost and there, by day since the first arrival, second by second."""
    lives = [
        (row["arrival_time"], row["start_time"], row["end_time"], row["size"] or 0)
        for row in rows
        if row["start_time"] is not None and row["end_time"] is not None
    ]
    arrivals = [row["arrival_time"] for row in rows]
    first, last = min(arrivals), max(arrivals)  # type: ignore[type-var]
    sums: dict[str, dict[int, int]] = {"used": {}, "lost": {}, "capacity": {}}
    for t in range(first, last):  # type: ignore[arg-type]
        used = sum(size for _, start, end, size in lives if start <= t < end)  # type: ignore
        queued = sum(size for arrival, start, _, size in lives if arrival <= t < start)  # type: ignore
        day = (t - first) // DAY_S  # type: ignore[operator]
        for name, amount in (
            ("used", used),
            ("lost", min(max(capacity - used, 0), queued)),
            ("capacity", capacity),
        ):
            sums[name][day] = sums[name].get(day, 0) + amount
    return sums


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Pearson's correlation of average ranks."""

    def ranks(values: Sequence[float]) -> list[Fraction]:
        ordered = sorted(values)
        return [
            Fraction(2 * ordered.index(value) + ordered.count(value) + 1, 2) for value in values
        ]

    a, b = ranks(one), ranks(other)
    mean = Fraction(len(a) + 1, 2)
    above = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    spread = sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)
    return float(above) / float(spread) ** 0.5 if spread else None
