"""Causes of waiting: read, as a chart, in sentences and as findings (SPEC §11)."""

from collections.abc import Container, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from audit.registry.causes import CAUSES, LACKS, Cause, Lack
from audit.report import wording
from audit.report.charts import series
from audit.report.charts.marks import bars
from audit.report.charts.marks.bars import BarPart, Divided
from audit.report.charts.marks.frame import Series
from audit.report.charts.series import value
from audit.report.charts.style import Chart
from audit.report.contents import Contents, PoolPart
from audit.report.figures import Figure, Figures, records
from audit.report.finding import UNEXPLAINED, Kind, Place, Subject, whole
from audit.report.part import time_passed
from audit.report.sections.causes.record import Causes, Reservations, Scattered, Unexplained
from audit.report.sections.fair_starts.record import FairStart, Fidelity
from audit.report.source import ReportSection, SectionSource
from audit.scenario.releases.chains import OwnEnd

MUCH_UNEXPLAINED: Final = 0.1
"""Share of all waiting above which a report shows where unexplained waiting is."""


def read(source: SectionSource) -> dict[str, Causes]:
    """Return what single nodes lacked, and where unexplained waiting is, of each pool."""
    unexplained = source.by_pool("causes/unexplained", least=MUCH_UNEXPLAINED)
    return {
        pool: Causes(records(Scattered, rows), records(Unexplained, unexplained[pool]))
        for pool, rows in source.by_pool("causes/scattered").items()
    }


_MOST: Final = 0.5
"""Part of the waiting of which a request must be for a sentence to name it."""
_GIB: Final = 1 << 30


def lack_of(one: Scattered) -> Lack:
    """Return the registry's entry of what was lacking."""
    return next(lack for lack in LACKS if lack.key == one.lack)


def amount(one: Scattered) -> str:
    """Return the amount that is requested of each node; empty if it says nothing."""
    lack = lack_of(one)
    if one.amount is None:
        return ""
    if lack.resource == "mem_bytes":
        return f"{wording.number(one.amount / _GIB)} GiB of memory"
    return wording.plural(one.amount, lack.words.removesuffix("s"))


def request(one: Scattered) -> str:
    """Return the request of most of this waiting: ``4 GPUs on each of 2 nodes``."""
    nodes = "one node" if one.nodes == 1 else f"each of {wording.count(one.nodes)} nodes"
    return f"{amount(one)} on {nodes}" if amount(one) else nodes


def sentence(one: Scattered, pool: PoolPart) -> str:
    """Return for what share of waiting which resource was free, but not on single nodes."""
    lack = lack_of(one)
    start = f"For {wording.rough(pool.figure(lack.share))} of the waiting of {_JOBS[lack.key]}, "
    if one.part < _MOST or not amount(one):
        return (
            f"{start}enough was free on all nodes together, but single nodes lacked {lack.words}."
        )
    if one.nodes > 1:
        return f"{start}enough was free on all nodes together, but not {request(one)}."
    if lack.key == "mem":
        return f"{start}{amount(one)} was free, but no otherwise suitable node had it."
    number = wording.count(one.amount)
    return (
        f"{start}{number} or more {lack.words} were free, but no otherwise suitable node had "
        f"{number}."
    )


_JOBS: Final = {
    **dict.fromkeys((lack.key for lack in LACKS), "all jobs"),
    "gpus": "GPU jobs",
    "mem": "jobs that request memory",
}
"""Jobs whose waiting is the denominator of ``Lack.share``."""


def scattered(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield the resource that single nodes lacked longest while enough was free in total."""
    pool = place.pool
    if pool.figure(measure).value is None or not pool[Causes].scattered:
        return
    one = pool[Causes].scattered[0]
    lack = lack_of(one)
    figure = pool.figure(lack.share)
    effect = figure.value or 0.0
    waited = (pool.figure("wait_mean").value or 0.0) * pool.attempts
    words = {"sentence": sentence(one, pool), "remedy": lack.remedy}
    yield Subject(
        *("pool", None, words, pool.figure),
        effect=effect,
        sure=effect if figure.lower is None else figure.lower,
        part=min(one.lacked_s / (effect * waited), 1.0) if effect and waited else 0.0,
        sql=place.sql(lack.share, "partition"),
    )


KINDS: Final = (
    Kind(
        scattered,
        "cause_nodes_share",
        "free capacity scattered over nodes",
        "why",
        "{sentence}",
        "{remedy}.",
        0.05,
    ),
    Kind(
        whole,
        UNEXPLAINED,
        "unexplained waits",
        "why",
        "{cause_unexplained_share} of all waiting time is unexplained "
        "({cause_unexplained_share:within}): enough was free, and the log does not say why jobs "
        "waited.",
        "Check limits, holds, node features and closed hours that the log does not show.",
        0.1,
        holds=lambda pool: not pool.part,
    ),
)


def causes(pool: PoolPart) -> tuple[Cause, ...]:
    """Return the causes of waiting that tables of a pool show."""
    return tuple(one for one in CAUSES if not one.optional or pool.figure(one.share).value)


def main_cause(of: Figures) -> str:
    """Return the cause with the largest share of waiting, and this share in words."""
    shares = [(of.figure(cause.share).value or 0.0, cause.legend) for cause in CAUSES]
    share, legend = max(shares, key=itemgetter(0))
    return f"{legend} ({wording.rough_percent(share)})" if share else wording.UNKNOWN


def after_own_end(job_id: str, end: OwnEnd, user: str) -> str:
    """Return after which job of the user a job started.

    Args:
        user: in words, e.g. ``the same user``.
    """
    after = f"{wording.duration(end.after_s)} after" if end.after_s > 0 else "when"
    job, other = (wording.name(name, 40) for name in (job_id, end.job_id))
    return f"Job {job} started {after} job {other} of {user} ended: a dependency or a limit."


SHORT_S: Final = 14 * 86_400
"""Logs selected by the end of jobs are long enough from this length on, s."""
MUCH_AT_END: Final = 0.02
"""Least share of all waiting at the end of a log that calls for caution."""
LITTLE_AT_BEGIN: Final = 0.5
"""If known jobs used less than this part of the mean before the log begins, others ran then."""


def reservations(of: Reservations) -> str:
    """Return whether jobs ahead keep others from starting, and how that is known."""
    if of.broken is None or of.stretches is None:
        return f"By the configured backfilling, {_kept_by(of)}."
    if of.strict:
        return (
            "In this log, jobs hardly ever start while a job ahead of them cannot, so waiting "
            "behind such a job counts as kept for it."
        )
    if of.most == 0:
        return (
            "This log shows no reservations, so no waiting counts as kept for a bigger job ahead."
        )
    return (
        f"This log shows reservations: the planned start of a job ahead kept jobs from starting "
        f"{wording.plural(of.stretches, 'time')}, and {wording.plural(of.broken, 'start')} delayed "
        "one."
    )


def _kept_by(of: Reservations) -> str:
    if of.strict:
        return "no job starts while a job ahead of it cannot"
    if of.most is None:
        return "every waiting job has a reservation"
    if of.most == 0:
        return "no job has a reservation"
    return f"at most {wording.plural(of.most, 'job')} at one time have a reservation"


def of_pool(pool: PoolPart) -> tuple[str, ...]:
    """Return what a reader of a pool's causes should know about them."""
    fidelity = pool[FairStart].fidelity
    if fidelity is None:
        return ()
    return tuple(filter(None, [*_reserved(fidelity), _full(pool), *_cautions(fidelity)]))


def _reserved(fidelity: Fidelity) -> Iterator[str]:
    if (strict := fidelity.figure("plan_strict").value) is not None:
        counts = ("plan_depth", "plan_broken", "plan_stretches")
        most, broken, stretches = (_whole(fidelity.figure(name).value) for name in counts)
        yield reservations(Reservations(most, bool(strict), broken, stretches))


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _full(pool: PoolPart) -> str:
    """Return the range of the waiting in which the machine was full."""
    full = pool.figure("full_share")
    if not full.value or full.lower is None:
        return ""
    most = wording.rough_percent(full.value)
    if (least := wording.rough_percent(full.lower)) == most:
        return ""
    return (
        f"For {least} to {most} of all waiting time the machine was full. The lower figure leaves "
        "out jobs that could have started earlier and did not: something else may have held them "
        "while it was full."
    )


def _cautions(fidelity: Fidelity) -> Iterator[str]:
    """Yield where the log has less than happened."""
    use, late = fidelity.figure("begin_use").value, fidelity.figure("end_waiting_share").value
    if use is not None and use < LITTLE_AT_BEGIN:
        yield (
            f"Just before the log begins, its jobs used {wording.rough_percent(use)} of their mean "
            "use. Jobs that are not in the log may have run, so capacity may only seem free in its "
            "first days."
        )
    if late is None:
        return
    missing = "jobs that had not ended are not in the log"
    if late >= MUCH_AT_END:
        yield (
            f"{wording.rough_percent(late)} of all waiting time is at the end of the log. There, "
            f"{missing}, so capacity may only seem free."
        )
    length = fidelity.figure("log_length").value
    if length is not None and length < SHORT_S:
        yield (f"The log is shorter than 14 days, and {missing}, so capacity may only seem free.")


_WRITTEN: Final = tuple(cause for cause in CAUSES if cause.key in ("rule", "later", "unexplained"))
"""Causes whose share is written in a pool's bars."""
_WRITTEN_FROM: Final = 0.08
"""Least share of a part with text in it."""


class DividedWaits(NamedTuple):
    """Waits of which the causes are drawn as one bar."""

    label: str
    name: str  # in tips and for those who cannot see the chart
    shares: Mapping[Cause, Figure]
    mean: float | None  # s


def why(pool: PoolPart) -> Chart | None:
    """Draw the causes of waiting by width class."""
    labels = [label for label, _ in series.classes(pool, "cause_unexplained_share")]
    rows = [
        DividedWaits(label, series.jobs(label, pool), shares, part.figure("wait_mean").value)
        for part in pool.widths
        if (label := wording.width(part.label)) in labels
        and (shares := {cause: part.figure(cause.share) for cause in CAUSES})
        and sum(map(value, shares.values())) > 0
    ]
    if not rows:
        return None
    present = [cause for cause in CAUSES if not cause.optional or has(rows, cause)]
    most = max(CAUSES, key=lambda cause: value(pool.figure(cause.share)))
    share = wording.rough(pool.figure(most.share))
    title = f"{share} of all waiting time passed {time_passed(most, part=bool(pool.part))}"
    unit = wording.resource(pool.resource)
    note = f"Share of waiting time; {unit}s requested at the left, mean wait at the right."
    return stacked(title, rows, present, _WRITTEN, note)


def has(rows: Sequence[DividedWaits], cause: Cause) -> bool:
    """Return whether any of these waits has the cause."""
    return any(value(row.shares[cause]) for row in rows)


def stacked(
    title: str,
    rows: Sequence[DividedWaits],
    present: Sequence[Cause],
    written: Container[Cause],
    note: str,
) -> Chart:
    """Draw a bar for each of ``rows``; the shares of the causes ``written`` stand in them."""
    divided, words = [], []
    for row in rows:
        parts, named = [], []
        for number, cause in enumerate(present):
            figure = row.shares[cause]
            share, percent = value(figure), wording.percent(value(figure))
            inside = f"{100 * share:.0f} %" if cause in written and share >= _WRITTEN_FROM else ""
            tip = f"{row.name}, {cause.legend}: {percent}{series.within(figure)}"
            parts.append(BarPart(number, share, tip, inside))
            named.append(f"{percent} {cause.legend}")
        mean = "" if row.mean is None else wording.rough_duration(row.mean)
        divided.append(Divided(row.label, tuple(parts), mean))
        words.append(f"{row.name}: {', '.join(named)}")
    alt = f"Bars divided by cause of waiting. {'; '.join(words)}."
    kinds = [Series(cause.legend, f"var(--{cause.key})", "block") for cause in present]
    drawn = bars.divided(divided, kinds, "mean wait")
    return Chart("why", title, alt, *drawn, note)


SECTION: Final = ReportSection(
    "causes",
    Causes,
    read,
    in_part=lambda _: Causes(),
    findings=KINDS,
    charts=(why,),
    filters=(causes, main_cause, of_pool, lack_of, request),
)
