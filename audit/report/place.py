"""The pool that findings and answers are about: its width classes and entities."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, NamedTuple

from audit.report import wording
from audit.report.contents import Contents, Who
from audit.report.figures import SMALL_SAMPLE, Breakdown, Figure
from audit.report.pool import PoolPart
from audit.report.sections.fair_starts import text as belief
from audit.report.sections.passed_over.record import OrderTest, PassedOver

DELAY: Final = "miss_delivered_share"
UNEXPLAINED: Final = "cause_unexplained_share"
SHORTFALL: Final = "re_unfairness_share"
LEAST_TESTED: Final = 5
"""With fewer entities tested, the log cannot tell whether the order was fair."""
_CONFIDENCE: Final = 0.95


def corrected(figure: Figure, among: int) -> tuple[float, float] | None:
    """Return the interval of a figure that is the most extreme of ``among``; None without one.

    Its confidence is 1 − 0.05 / among (Bonferroni). Both sides of the 95 % interval are stretched
    as those of a normal distribution.
    """
    value, lower, upper = figure.value, figure.lower, figure.upper
    if value is None or lower is None or upper is None:
        return None
    # two-sided quantiles, in standard deviations
    wide, plain = (
        NormalDist().inv_cdf((1 + confidence) / 2)
        for confidence in (1 - (1 - _CONFIDENCE) / among, _CONFIDENCE)
    )
    return value - wide / plain * (value - lower), value + wide / plain * (upper - value)


class WorstWidth(NamedTuple):
    """A width class that is significantly worse than the whole pool in some figure."""

    width: Breakdown
    sure: float  # lower end of the corrected interval


@dataclass(frozen=True, slots=True)
class Place:
    """A pool in its report."""

    cluster: str
    period: str
    pool: PoolPart
    number: int  # from 1
    several: bool  # whether the report has other pools

    def anchor(self, section: str) -> str:
        """Return the anchor of a section about the pool."""
        return f"pool-{self.number}-{section}"

    def text(self, words: str) -> str:
        """Return a sentence, after the pool's name if there are several."""
        return f"{wording.name(self.pool.name, 30)}: {words}" if self.several else words

    def sql(self, metric: str, dimension: str = "all") -> str:
        """Return the query for a figure by the values of a dimension."""
        return (
            "SELECT dimension_value, value, lower, upper, attempts FROM summary "  # noqa: S608
            f"WHERE cluster = {quoted(self.cluster)} AND pool = {quoted(self.pool.name)} "
            f"AND period = {quoted(self.period)} AND schedule = 'observed' "
            f"AND metric = '{metric}' AND dimension = '{dimension}' ORDER BY value DESC"
        )

    def part(self, of: Breakdown) -> float:
        """Return the share of the pool's work that the attempts of ``of`` did."""
        whole, own = self.pool.figure("consumed").value, of.figure("consumed").value
        return own / whole if whole and own else 0.0

    def worst_width(self, metric: str) -> WorstWidth | None:
        """Return the width class with the greatest figure, if it is significantly worse.

        Its corrected interval must be above the pool's figure, and above 0.
        """
        classes = [
            part
            for part in self.pool.widths
            if part.label[:1] in "123456789>"
            and (figure := part.figure(metric)).value is not None
            and (figure.attempts or 0) >= SMALL_SAMPLE
        ]
        whole = self.pool.figure(metric).value
        if len(classes) < 2 or whole is None:
            return None
        worst = max(classes, key=lambda part: part.figure(metric).value or 0.0)
        within = corrected(worst.figure(metric), len(classes))
        if within is None or within[0] <= max(whole, 0.0):
            return None
        return WorstWidth(worst, within[0])

    def jobs_of(self, width: Breakdown) -> str:
        """Return the attempts of a width class in words, as ``jobs of 5–8 CPUs``."""
        plural = "" if width.label == "1" else "s"
        return (
            f"jobs of {wording.width(width.label)} {wording.resource(self.pool.resource)}{plural}"
        )


def quoted(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def trusted(pool: PoolPart) -> bool:
    """Return whether delays by later arrivals can judge the order: the site's rule is known.

    They cannot in a part of the workload.
    """
    return not pool.part and belief.good_fit(pool)


# --- entities that are passed over ---------------------------------------------------------------


def named(contents: Contents) -> tuple[Who, ...]:
    """Return the users and accounts that the report's tables name as passed over."""
    found = [
        Who(one.kind, one.name)
        for pool in contents.pools
        for one in pool[OrderTest].passed[: contents.options.rows]
    ]
    return tuple(dict.fromkeys(found))


def unfair(pool: PoolPart) -> tuple[PassedOver, ...]:
    """Return those passed over; empty if too few entities were tested."""
    of = pool[OrderTest]
    return of.passed if sum(of.tested.values()) >= LEAST_TESTED else ()


def subject_of(kind: str, name: str | None, *, start: bool = True) -> str:
    """Return an entity in words; ``start``: at the start of a sentence."""
    word = "QOS" if kind == "qos" else wording.first_upper(kind) if start else kind
    return f"{word} {wording.name(name, 30)}"
