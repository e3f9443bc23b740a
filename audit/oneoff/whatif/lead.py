"""The lead of the page of ``fairaudit whatif``: sentences about the figures in its tables.

They are about attempts that would never start, the error of the replay, the mean wait, losses and
gains, in this order. The width class whose mean wait grows most is named even if the growth is not
significant.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from audit.metrics.attempts.fidelity import KNOWN, short_of_known
from audit.metrics.claims import PartEffect
from audit.report import wording
from audit.report.figures import Figure
from audit.scenario.whatif import comparison
from audit.scenario.whatif.comparison import MOST_MISSED, NEVER_STARTS, NOT_REPRODUCED
from audit.words import first_of

_NAMED: Final = 3  # largest number of width classes of a kind that are named; of more, the number
_GROWTH: Final = 0.1
_GROWTH_S: Final = 60
"""Growth of its mean wait from which a width class is named even if it is not significant."""

ENOUGH_CORRELATION: Final = 0.65
"""Least rank correlation of replayed and observed waits."""

Row = dict[str, Any]


def lead(
    parts: pl.DataFrame,
    fidelity: pl.DataFrame,
    agreement: float | None,
    missed: float = 0.0,
    only_after: int = 0,
) -> str:
    """Return the effect of a change on a pool, in sentences.

    Args:
        parts: columns of ``comparison.COMPARED``.
        fidelity: columns of ``metrics.attempts.fidelity.FIDELITY_SCHEMA``, of today's replay.
        agreement: of today's policy with the observed starts; None: not known.
        missed: ``comparison.missed_share``.
        only_after: ``comparison.only_after``.
    """
    overall = comparison.waits(parts, "all")
    if overall.is_empty():
        return "No job ended in both schedules."
    widths = [
        row
        for row in comparison.waits(parts, "width_class").iter_rows(named=True)
        if row["part"] is not None
    ]
    row = overall.row(0, named=True)
    about = (
        _never(row, widths),
        _only_after(only_after),
        _error(row, dict(fidelity.select("metric", "value").iter_rows())),
    )
    if row["outcome"] == comparison.NOT_AGREEING:
        return " ".join(filter(None, (*about, _untested(agreement))))
    if missed >= MOST_MISSED:
        return " ".join(filter(None, (*about, _missed(missed))))
    of_entities = (_entities(parts, dimension) for dimension in comparison.ENTITIES)
    whole = (_whole(row), _total(row))
    return " ".join(filter(None, (*about, *whole, *_widths(widths), *of_entities)))


def _untested(agreement: float | None) -> str:
    known = "how far the replayed policy agrees with the observed starts is not known"
    if agreement is not None:
        share = wording.rough_percent(short_of_known(agreement))
        known = f"the replayed policy agrees with {share} of the observed starts"
    return f"No effect is shown: {known}, and {wording.rough_percent(KNOWN)} are required."


def _missed(share: float) -> str:
    return (
        "No effect is shown: the replay of today's rules misses the observed mean wait by more "
        f"than a quarter in width classes with {wording.rough_percent(share)} of the waiting, and "
        f"less than {wording.rough_percent(MOST_MISSED)} is required."
    )


def _never(row: Row, widths: Sequence[Row]) -> str:
    """State the number of jobs that would never start, and the width classes without any start."""
    count = row["never_start"]
    if not count:
        return ""
    of = count + row["attempts"]
    gone = [wording.width(one["part"]) for one in _of(widths, NEVER_STARTS)]
    among = f", among them all of width {first_of(gone, _NAMED)}" if gone else ""
    return (
        f"{wording.count(count)} of {wording.plural(of, 'job')} would never start under this "
        f"change{among}. The waits below leave them out."
    )


def _only_after(count: int) -> str:
    if not count:
        return ""
    return (
        f"{wording.plural(count, 'job')} would start under this change alone. The waits below "
        "leave them out."
    )


def _error(row: Row, of: dict[str, float | None]) -> str:
    """State how well the replay of today's rules matches the log."""
    correlation, observed = of.get("wait_correlation"), row["observed"]
    if correlation is None or not observed:
        return "How well the replay matches the log is unknown: treat this as a trial."
    error = row["today"] - observed
    size = f"{wording.rough_percent(abs(error) / observed)} {'longer' if error > 0 else 'shorter'}"
    than = f"{size} than observed" if abs(error) >= 0.005 * observed else "as long as observed"
    doubt = ": treat this as a trial" * (correlation < ENOUGH_CORRELATION)
    return (
        f"In a replay of today's rules, waits are {than} on average "
        f"({_between(row, 'today', ' instead of ', 'observed')}). Their rank correlation with "
        f"observed waits is {correlation:.2f}{doubt}."
    ).replace("-0.", "−0.")


def _whole(row: Row) -> str:
    match row["outcome"]:
        case comparison.NEVER_STARTS:
            return "No job would start."
        case comparison.NOT_REPRODUCED:
            return (
                "The replay misses the observed mean wait by more than a quarter, so no change of "
                "the mean wait of all jobs is shown. Rules that `fairaudit fit-policy --write` "
                "finds may bring it closer; pass them with --config."
            )
        case PartEffect.same.value:
            return "The change makes no difference to the mean wait."
        case PartEffect.unclear.value:
            ends = wording.rough_interval(_figure(row))
            within = f" (95 % interval of the change: {ends})" if ends else ""
            return f"Whether the mean wait changes is unclear: {_from_to(row)}{within}."
        case outcome:
            less = outcome == PartEffect.gains.value
            change = _figure(row, -1 if less else 1)
            return (
                f"The mean wait goes from {_from_to(row)}, {wording.rough(change)} "
                f"{'less' if less else 'more'} ({wording.rough_interval(change)})."
            )


def _total(row: Row) -> str:
    if row["outcome"] not in (PartEffect.gains.value, PartEffect.loses.value):
        return ""
    total = abs(row["difference"]) * row["attempts"]
    less = "less" if row["outcome"] == PartEffect.gains.value else "more"
    return f"All jobs together would wait {wording.rough_duration(total)} {less}."


def _widths(rows: Sequence[Row]) -> Iterator[str]:
    """Name width classes that would wait longer, then those that would wait less."""
    losing = sorted(_of(rows, PartEffect.loses), key=lambda row: -row["difference"])
    unclear = [
        row
        for row in _of(rows, PartEffect.unclear)
        if row["difference"] >= max(_GROWTH_S, _GROWTH * row["today"])
    ]
    most = max(unclear, key=lambda row: float(row["difference"]), default=None)
    unknown = [wording.width(row["part"]) for row in _of(rows, NOT_REPRODUCED)]
    if losing:
        named = [f"{wording.width(row['part'])} ({_from_to(row)})" for row in losing]
        yield f"Jobs of width {first_of(named, _NAMED)} would wait longer."
    if most is not None:
        ends = wording.rough_interval(_figure(most))
        within = f"; 95 % interval of the change {ends}" if ends else ""
        yield (
            f"Jobs of width {wording.width(most['part'])} might wait longer ({_from_to(most)}"
            f"{within}), which is not significant."
        )
    judged = len(rows) - len(unknown) - len(_of(rows, NEVER_STARTS))
    if not losing and most is None and judged:
        known = " with a figure" * (judged < len(rows))
        yield f"No width class{known} would wait significantly longer."
    gaining = [wording.width(row["part"]) for row in _of(rows, PartEffect.gains)]
    if gaining:
        yield f"Jobs of width {first_of(gaining, _NAMED)} would wait less."
    if unknown:
        yield (
            f"Jobs of width {first_of(unknown, _NAMED)} have no figure, because the replay misses "
            "their observed waits."
        )


def _of(rows: Sequence[Row], outcome: str) -> list[Row]:
    return [row for row in rows if row["outcome"] == outcome]


def _from_to(row: Row) -> str:
    return _between(row, "today", " to ", "changed")


def _between(row: Row, first: str, word: str, second: str) -> str:
    """Return two means in one unit: ``20 h to 84 h``."""
    unit, size = wording.time_unit(row[first] if row[first] >= _GROWTH_S else row[second])
    one, other = (wording.two_digits(row[name] / size) for name in (first, second))
    return f"{one} {unit}{word}{other} {unit}"


def _figure(row: Row, sign: int = 1) -> Figure:
    """Return the change, or by how much it is less."""
    lower, upper = (None if row[end] is None else sign * row[end] for end in ("lower", "upper"))
    if sign < 0:
        lower, upper = upper, lower
    return Figure("wait_change", sign * row["difference"], lower, upper, "s")


def _entities(parts: pl.DataFrame, dimension: str) -> str:
    """Count accounts or users who gain and lose, and name those whose waits change most."""
    of = comparison.outcomes(parts, "wait_mean", dimension)
    if not any(of.values()):
        return ""
    rows = [*comparison.waits(parts, dimension).iter_rows(named=True)]
    less, longer = (_most(_of(rows, one)) for one in (PartEffect.gains, PartEffect.loses))
    rest = of[PartEffect.unclear] + of[PartEffect.same]
    more = [
        f"{wording.count(of[NOT_REPRODUCED])} have no figure" * bool(of[NOT_REPRODUCED]),
        f"in {wording.count(of[NEVER_STARTS])} no job would start" * bool(of[NEVER_STARTS]),
    ]
    others = "".join(f"; {one}" for one in more if one)
    return (
        f"Of {wording.plural(sum(of.values()), dimension)}, {wording.count(of[PartEffect.gains])} "
        f"would wait less{less} and {wording.count(of[PartEffect.loses])} longer{longer}; for "
        f"{wording.count(rest)} it is unclear or the same{others}."
    )


def _most(rows: Sequence[Row]) -> str:
    """Name the first of some accounts or users; empty where its name is not known."""
    if not rows or rows[0]["part"] is None:
        return ""
    return f" (most: {wording.name(rows[0]['part'])}, {_from_to(rows[0])})"
