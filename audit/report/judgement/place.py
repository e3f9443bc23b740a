"""Where a finding is: its pool, how its anchors and queries name it, and which widths stand out."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from audit.report.judgement.levels import corrected
from audit.report.record.pool import SMALL_SAMPLE, Breakdown, Figure, PoolPart
from audit.report.text import wording

_ALL: Final = "all"


class WorstWidth(NamedTuple):
    """A width class that stands out from the whole pool in some figure."""

    width: Breakdown
    sure: float
    """The least of its figure that an interval fair to a pick from several leaves."""


@dataclass(frozen=True, slots=True)
class Place:
    """A pool of a report."""

    cluster: str
    period: str
    pool: PoolPart
    number: int
    """Its place in the report, from 1."""
    several: bool
    """Whether the report has other pools."""

    def anchor(self, section: str) -> str:
        """Where the page shows a section of it."""
        return f"pool-{self.number}-{section}"

    def text(self, words: str) -> str:
        """A sentence, with the pool before it where there are several."""
        return f"{wording.name(self.pool.name, 30)}: {words}" if self.several else words

    def sql(self, metric: str, dimension: str = _ALL) -> str:
        """The query that gives a figure by the values of a dimension."""
        return (
            "SELECT dimension_value, value, lower, upper, attempts FROM summary "  # noqa: S608
            f"WHERE cluster = {quoted(self.cluster)} AND pool = {quoted(self.pool.name)} "
            f"AND period = {quoted(self.period)} AND schedule = 'observed' "
            f"AND metric = '{metric}' AND dimension = '{dimension}' ORDER BY value DESC"
        )

    def owners_sql(self, kind: str, column: str) -> str:
        """The query that gives a column of the view of users or accounts."""
        return (
            f'SELECT "{kind}", attempts, {column} FROM {kind}_fairness '  # noqa: S608
            f"WHERE cluster = {quoted(self.cluster)} AND pool = {quoted(self.pool.name)} "
            f"AND period = {quoted(self.period)} AND schedule = 'observed' "
            f"ORDER BY {column} DESC NULLS LAST"
        )

    def part(self, of: Breakdown) -> float:
        """The part of the pool's work that the attempts of ``of`` did."""
        whole, own = self.pool.figure("consumed").value, of.figure("consumed").value
        return own / whole if whole and own else 0.0

    def widths(self, metric: str) -> list[Breakdown]:
        """The width classes in which so many attempts have the figure that it says something."""
        return [
            part
            for part in self.pool.widths
            if part.label[:1] in "123456789>"
            and (figure := part.figure(metric)).value is not None
            and (figure.attempts or 0) >= SMALL_SAMPLE
        ]

    def worst_width(self, metric: str) -> WorstWidth | None:
        """The width class whose figure is greatest, where it is more than that of the whole pool.

        None otherwise: even the interval that is fair to a pick from several must lie above the
        pool's figure, and above 0.
        """
        classes, whole = self.widths(metric), self.pool.figure(metric).value
        if len(classes) < 2 or whole is None:
            return None
        worst = max(classes, key=lambda part: part.figure(metric).value or 0.0)
        within = corrected(worst.figure(metric), len(classes))
        if within is None or within[0] <= max(whole, 0.0):
            return None
        return WorstWidth(worst, within[0])

    def jobs_of(self, width: Breakdown) -> str:
        """The attempts of a width class in words, as ``jobs of 5–8 CPUs``."""
        one = width.label == "1"
        unit = wording.resource(self.pool.resource) + ("" if one else "s")
        return f"jobs of {wording.width(width.label)} {unit}"


def own(figure: Figure) -> float:
    """The least of a figure that its interval leaves; 0 without one."""
    return figure.lower or 0.0


def quoted(text: str) -> str:
    """A text inside a query that is shown to a reader, and run by nobody else."""
    return "'" + text.replace("'", "''") + "'"
