"""What is found about the pool: shares of it, idle time beside a queue, who cannot start."""

from collections.abc import Iterator

from audit.report.judgement.finding import Cause, Finding
from audit.report.judgement.place import Place, WorstWidth, own
from audit.report.text import wording

SHORTFALL = "re_unfairness_share"


def of_pool(place: Place) -> Iterator[Finding]:
    """Equal sharing over all and by width, idle time beside a queue, and stuck attempts."""
    yield from _sharing(place)
    if short := place.worst_width(SHORTFALL):
        yield _sharing_class(place, short)
    yield from _idle(place)
    yield from _stuck(place)


def _sharing(place: Place) -> Iterator[Finding]:
    share, treated = (place.pool.figure(key) for key in (SHORTFALL, "re_treated_unfairly_share"))
    if share.value is None or treated.value is None:
        return
    yield Finding(
        subject="All jobs",
        about="pool",
        name=None,
        measure=SHORTFALL,
        figure=share,
        effect=min(share.value, 1.0),
        sure=min(own(share), 1.0),
        part=1.0,
        cause=Cause.UNEQUAL_SHARES,
        action="See which widths and users went short.",
        anchor=place.anchor("sharing"),
        sql=place.sql(SHORTFALL, "width_class"),
        text=place.text(
            f"{wording.first_upper(wording.one_in(treated.value))} jobs got less than an equal "
            f"share, short by {wording.rough(share)} of all that was consumed "
            f"({wording.rough_interval(share)})."
        ),
    )


def _sharing_class(place: Place, worst: WorstWidth) -> Finding:
    share = worst.width.figure(SHORTFALL)
    jobs = wording.first_upper(place.jobs_of(worst.width))
    return Finding(
        subject=jobs,
        about="width",
        name=worst.width.label,
        measure=SHORTFALL,
        figure=share,
        effect=min(share.value or 0.0, 1.0),
        sure=min(worst.sure, 1.0),
        part=place.part(worst.width),
        cause=Cause.UNEQUAL_SHARES,
        action="Give this width more of the machine, or its own hours.",
        anchor=place.anchor("sharing"),
        sql=place.sql(SHORTFALL, "width_class"),
        text=place.text(
            f"{jobs} went shortest of an equal share: by {wording.rough(share)} of what they "
            f"consumed ({wording.rough_interval(share)})."
        ),
    )


def _idle(place: Place) -> Iterator[Finding]:
    lost = place.pool.figure("loss_of_capacity")
    if lost.value is None:
        return
    yield Finding(
        subject="The machine",
        about="pool",
        name=None,
        measure="loss_of_capacity",
        figure=lost,
        effect=lost.value,
        sure=own(lost),
        part=1.0,
        cause=Cause.IDLE,
        action="See what the first in the queue were waiting for then.",
        anchor=place.anchor("machine"),
        sql=place.sql("loss_of_capacity"),
        text=place.text(
            f"{wording.rough(lost)} of the machine ({wording.rough_interval(lost)}) stood idle "
            "while the queue asked for as much."
        ),
    )


def _stuck(place: Place) -> Iterator[Finding]:
    stuck = place.pool.stuck
    if stuck is None:
        return
    number = stuck.waiting + stuck.gave_up
    part = number / (place.pool.attempts + number)
    open_ = f"{wording.plural(stuck.waiting, 'job')} still waiting" if stuck.waiting else ""
    gone = f"{wording.count(stuck.gave_up)} that gave up" if stuck.gave_up else ""
    figure = place.pool.figure("pending")
    yield Finding(
        subject="Stuck jobs",
        about="pool",
        name=None,
        measure="pending",
        figure=figure,
        effect=1.0,
        sure=1.0,  # a count, which no chance made
        part=part,
        cause=Cause.STUCK,
        action="Go through them: fairaudit stuck lists each with its probable cause.",
        anchor=place.anchor("peers"),
        sql="SELECT * FROM stuck",
        text=place.text(
            f"{' and '.join(filter(None, (open_, gone)))} waited longer than 95 % of jobs like "
            "them."
        ),
    )
