"""What the page of ``fairaudit whatif`` says first: no more than its tables do, and who loses.

The model's error comes before all else. What the tables call unclear is called so here, too; and
the width class whose mean wait grows most is named even where that may be chance.
"""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from audit.metrics.attempts.fidelity import ENOUGH_CORRELATION
from audit.metrics.outcomes import Outcome
from audit.report.record.pool import Figure
from audit.report.text import wording
from audit.scenario.whatif import comparison

_NAMED: Final = 3
"""So many width classes of a kind are named; of others their number."""
_GROWTH: Final = 0.1
"""From such a growth of its mean wait on, a width class is named though it may be chance."""
_GROWTH_S: Final = 60

Row = dict[str, Any]


def lead(parts: pl.DataFrame, fidelity: pl.DataFrame) -> str:
    """A pool today and after a change, in sentences.

    Args:
        parts: columns of ``comparison.COMPARED``.
        fidelity: columns of ``metrics.attempts.fidelity.FIDELITY_SCHEMA``, of today's replay.
    """
    overall = comparison.waits(parts, "all")
    if overall.is_empty():
        return "No attempt ended in both schedules."
    widths = [
        row
        for row in comparison.waits(parts, "width_class").iter_rows(named=True)
        if row["part"] is not None
    ]
    said = (
        _error(dict(fidelity.select("metric", "value").iter_rows())),
        _whole(overall.row(0, named=True)),
        *_widths(widths),
        _accounts(parts),
    )
    return " ".join(filter(None, said))


def _error(of: dict[str, float | None]) -> str:
    """How far the replay of today is from the log."""
    correlation, error = of.get("wait_correlation"), of.get("mean_wait_error")
    if correlation is None or error is None:
        return (
            "How far the replay of today is from the log is not known: take this as a thing to try."
        )
    way = "longer" if error > 0 else "less"
    size = wording.rough_duration(abs(error))
    told = (
        f"In the replay of today jobs wait {size} {way} than in the log, in the mean, and the "
        f"waits rank as the log's by {correlation:.2f} (1: the same jobs wait longest)"
    ).replace("-0.", "−0.")
    return f"{told}{': take this as a thing to try' * (correlation < ENOUGH_CORRELATION)}."


def _whole(row: Row) -> str:
    """What becomes of the mean wait of all."""
    match Outcome(row["outcome"]):
        case Outcome.same:
            return "The change makes no difference to the mean wait."
        case Outcome.unclear:
            ends = wording.rough_interval(_figure(row))
            within = f" (95 % interval of the change: {ends})" if ends else ""
            return f"Whether the mean wait changes is unclear: {_from_to(row)}{within}."
        case outcome:
            less = outcome is Outcome.gains
            change = _figure(row, -1 if less else 1)
            return (
                f"The mean wait goes from {_from_to(row)}, {wording.rough(change)} "
                f"{'less' if less else 'more'} ({wording.rough_interval(change)})."
            )


def _widths(rows: Sequence[Row]) -> list[str]:
    """Who waits longer, by width, before who waits less."""
    losing = sorted(_of(rows, Outcome.loses), key=_grown, reverse=True)
    unclear = [
        row
        for row in _of(rows, Outcome.unclear)
        if row["difference"] >= max(_GROWTH_S, _GROWTH * row["today"])
    ]
    most = max(unclear, key=_grown, default=None)
    told = []
    if losing:
        named = [f"{wording.width(row['part'])} ({_from_to(row)})" for row in losing]
        told.append(f"By width, longer would wait {_listed(named)}.")
    if most is not None:
        ends = wording.rough_interval(_figure(most))
        within = f", 95 % interval of the change {ends}" if ends else ""
        told.append(
            f"{'Perhaps also' if losing else 'By width, perhaps'} {wording.width(most['part'])} "
            f"({_from_to(most)}{within}), which may be chance."
        )
    if not losing and most is None:
        told.append("No width class would wait longer, as far as can be told.")
    gaining = [wording.width(row["part"]) for row in _of(rows, Outcome.gains)]
    if gaining:
        told.append(f"Less would wait {_listed(gaining)}.")
    return told


def _of(rows: Sequence[Row], outcome: Outcome) -> list[Row]:
    return [row for row in rows if row["outcome"] == outcome]


def _grown(row: Row) -> float:
    return float(row["difference"])


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _from_to(row: Row) -> str:
    """Both means in one unit: ``20 h to 84 h``."""
    today, changed = row["today"], row["changed"]
    unit, size = wording.time_unit(today if today >= _GROWTH_S else changed)
    before, after = (wording.two_digits(one / size) for one in (today, changed))
    return f"{before} {unit} to {after} {unit}"


def _figure(row: Row, sign: int = 1) -> Figure:
    """The change, or how much less it is."""
    lower, upper = (None if row[end] is None else sign * row[end] for end in ("lower", "upper"))
    if sign < 0:
        lower, upper = upper, lower
    return Figure("wait_change", sign * row["difference"], lower, upper, "s")


def _accounts(parts: pl.DataFrame) -> str:
    of = comparison.outcomes(parts, "wait_mean")
    if not any(of.values()):
        return ""
    rest = of[Outcome.unclear] + of[Outcome.same]
    return (
        f"Of {wording.plural(sum(of.values()), 'account')}, {wording.count(of[Outcome.gains])} "
        f"would wait less and {wording.count(of[Outcome.loses])} longer; for {wording.count(rest)} "
        "it is unclear or the same."
    )
