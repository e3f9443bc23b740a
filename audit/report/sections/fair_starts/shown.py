"""Fair start times on the page: rows of tables, cautions and findings, and the chart of misses."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from audit.metrics.attempts.fidelity import MaySay
from audit.model import COUNTED, FstStatus
from audit.report import finding, wording
from audit.report.charts import series
from audit.report.charts.marks import dots, scales
from audit.report.charts.marks.dots import Dot, DotRow
from audit.report.charts.marks.frame import Series
from audit.report.charts.series import value
from audit.report.charts.style import EARLIER, LATER, OWN, Chart
from audit.report.contents import Contents, PoolPart
from audit.report.finding import DELAY, Kind, Notice, in_pool, whole, worst_width
from audit.report.sections.fair_starts import record as belief
from audit.report.sections.fair_starts.record import FairStart
from audit.report.sections.who.record import Entities, Entity
from audit.report.sections.who.section import most, net, with_fair_starts
from audit.report.source import ReportSection

STATUSES: Final[Mapping[str, tuple[str, str]]] = {
    FstStatus.FINAL: (
        "final",
        "Everything that it depends on has ended: later logs will not change it.",
    ),
    FstStatus.PROVISIONAL: (
        "provisional",
        "A job that ran or waited when it arrived has not ended yet: later logs may change it.",
    ),
    FstStatus.PREEMPTED_CONTEXT: (
        "beside a preempted job",
        "A job that ran when it arrived was preempted later, which the model does not reproduce.",
    ),
    FstStatus.ASSUMED_ESTIMATE: (
        "with an assumed end",
        "A job without a walltime ran when it arrived, and has not ended yet. The model assumes a "
        "run time that nine in ten similar jobs do not exceed.",
    ),
    FstStatus.OVER_CAPACITY: (
        "over capacity",
        "More was in use than the pool has when it arrived, so the model's result is doubtful.",
    ),
    FstStatus.EXCEEDS_CAPACITY: (
        "larger than the pool",
        "It requests more than the pool has: in the model it would never start.",
    ),
    FstStatus.EXCEEDS_LIMIT: (
        "beyond a limit",
        "It exceeds a limit of the pool by itself: in the model it would never start.",
    ),
    FstStatus.BLOCKED: (
        "blocked",
        "A hold, limit, dependency, reservation or licence kept it from starting, not its place "
        "in the queue.",
    ),
    FstStatus.RESERVED: (
        "reserved",
        "It ran in an advance reservation, which is not part of the pool while it lasts.",
    ),
    FstStatus.NOT_SAMPLED: (
        "not sampled",
        "The queue was too long to compute all within the budget: a random sample represents it.",
    ),
}
"""Each status of a fair start time in words, and why an attempt has it."""


def status(text: str) -> tuple[str, str]:
    """Return a status in words, and why an attempt has it."""
    return STATUSES.get(text) or (text, "")


def delayed(of: Entities, pool: PoolPart, rows: int) -> tuple[Entity, ...]:
    """Return those that later arrivals delayed most in total, most first.

    Without a known rule, only those with a delay above a quarter of their waiting by both readings
    are returned, or none (SPEC §10, *What may be said*).
    """
    fidelity = pool[FairStart].fidelity
    say = MaySay.POOL if fidelity is None else fidelity.may_say
    if say is MaySay.POOL:
        return ()
    named = with_fair_starts(of)
    if say is MaySay.PROBABLY:
        named = [row for row in named if row.missed and row.missed.least_s > PROBABLE * row.tuwt_s]
    return most(named, net, rows)


PROBABLE: Final = 0.25
"""Part of an entity's waiting above which its delay is probable."""


def of_fair_starts(contents: Contents) -> Iterator[Notice]:
    """Yield cautions about fair start times."""
    for pool in contents.pools:
        if pool.attempts:
            yield from _of_pool(pool, contents)


def _of_pool(pool: PoolPart, contents: Contents) -> Iterator[Notice]:
    where, fair = in_pool(pool, contents), pool[FairStart]
    if not fair.statuses and not pool.has_fair_starts:
        yield Notice(
            f"No fair start times were computed{where}, so the report does not say whether jobs "
            "started later than fair."
        )
        return

    def of_all(number: int) -> str:
        attempts = wording.plural(fair.subjects, "attempt")
        share = wording.percent(number / fair.subjects)
        return f"{wording.count(number)} of {attempts} ({share}){where}"

    if fair.not_sampled:
        yield Notice(
            "Strict and relaxed fair start times were computed for "
            f"{of_all(fair.subjects - fair.not_sampled)}, as many as the budget allowed. "
            "They have the longest waits, or are a sample of the others by user, width and day. "
            "Figures from it are estimates, and their intervals include the sampling error. Users "
            "without a sampled attempt have no such figures. 'audit --budget' and "
            "[simulation] budget_s compute more."
        )
    left_out = fair.subjects - fair.counted - fair.not_sampled
    if left_out > finding.MANY * fair.subjects:
        reasons = ", ".join(
            f"{status(row.status)[0]} {wording.count(row.attempts)}"
            for row in fair.statuses
            if row.status not in {*COUNTED, FstStatus.NOT_SAMPLED}
        )
        yield Notice(
            f"Figures of strict and relaxed fair start times leave out {of_all(left_out)}: "
            f"{reasons}."
        )
    pending = sum(row.attempts for row in fair.statuses if row.status == FstStatus.PROVISIONAL)
    if pending > finding.MANY * fair.subjects:
        yield Notice(
            f"The strict and relaxed fair start times of {of_all(pending)} are provisional: later "
            "logs may change them."
        )
    if pool.has_fair_starts and not belief.good_fit(pool):
        yield Notice(f"Delays by later arrivals{where}: {belief.verdict(pool)}")


KINDS: Final = (
    Kind(
        whole,
        DELAY,
        "later arrivals",
        "fair",
        "{miss_delivered_share} of all waiting time is delay by later arrivals "
        "({miss_delivered_share:within}), under the rule that this log shows.",
        "Check which widths are delayed. Compare rules that reserve for more jobs with fairaudit "
        "whatif.",
        holds=belief.trusted,
    ),
    Kind(
        worst_width,
        DELAY,
        "later arrivals",
        "fair",
        "{subject}: {miss_delivered_share} of their waiting time is delay by later arrivals "
        "({miss_delivered_share:within}), under the site's known rule.",
        "Compare rules that reserve for more jobs with fairaudit whatif.",
        holds=belief.trusted,
    ),
)


_MISSES: Final = {
    "delivered": Series("on what the machine delivered", OWN, "diamond"),
    "strict": Series("strict", LATER, "circle"),
    "relaxed": Series("relaxed", EARLIER, "square", hollow=True),
}


def miss(pool: PoolPart) -> Chart | None:
    """Draw the mean miss of fair start times by width class, as [S] figures 7 to 14."""
    found = {
        kind: {
            "all": pool.figure(f"miss_{kind}_mean"),
            **dict(series.classes(pool, f"miss_{kind}_mean")),
        }
        for kind in _MISSES
    }
    known = [of for by_width in found.values() for of in by_width.values() if of.value is not None]
    if not any(of.value for of in known):
        return None
    unit, size = wording.time_unit(max(of.upper or value(of) for of in known))

    def dot(number: int, kind: str, label: str) -> Dot:
        figure = found[kind][label]
        of = "all attempts" if label == "all" else series.jobs(label, pool)
        tip = f"{of}, {kind}: {wording.duration(figure.value)}{series.within(figure)}"
        lower, upper = (end if end is None else end / size for end in (figure.lower, figure.upper))
        tip += series.resting_on(figure)
        return Dot(number, value(figure) / size, lower, upper, tip, series.few(figure))

    rows = [
        DotRow(
            label,
            tuple(
                dot(number, kind, label)
                for number, (kind, of) in enumerate(found.items())
                if label in of and of[label].value is not None
            ),
        )
        for label in dict.fromkeys(label for by_width in found.values() for label in by_width)
    ]
    ends = [(of.upper if of.upper is not None else value(of)) / size for of in known]
    axis = scales.linear(ends, scales.plain, title=f"Mean miss, {unit}")
    title = "No job started later than fair"
    if late := series.classes(pool, "miss_delivered_mean"):
        (label, most), _ = series.extremes(late)
        title = (
            f"Jobs of {series.jobs(label, pool)} started latest: on average "
            f"{wording.rough_duration(value(most))} after their fair start times"
        )
    words = "; ".join(
        f"{kind}: "
        + ", ".join(f"{label} {wording.duration(of.value)}" for label, of in by_width.items())
        for kind, by_width in found.items()
    )
    return Chart(
        "miss",
        title,
        "Dots with 95 % intervals. Mean miss of the fair start times: on what the machine "
        f"delivered, strict and relaxed. {words}.",
        *dots.drawn(rows, dots.Looks(tuple(_MISSES.values()), axis)),
        f"By {wording.resource(pool.resource)}s requested; lines are 95 % intervals. Strict and "
        "relaxed: under the modelled policy, relaxed also without passing earlier jobs.",
    )


SECTION: Final = ReportSection(
    "fair_starts",
    FairStart,
    belief.read,
    in_part=lambda of: replace(of, delayed=()),
    notices=of_fair_starts,
    findings=KINDS,
    charts=(miss,),
    filters=(
        *(delayed, status, belief.fit_table, belief.agreements, belief.good_fit, belief.verdict),
        *(belief.policy, belief.fair_order, belief.tolerance, belief.most_delayed),
    ),
)
