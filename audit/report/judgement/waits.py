"""What is found about why attempts waited: later arrivals, room, and what nobody explains."""

from collections.abc import Iterator

from audit.report.judgement.finding import Cause, Finding
from audit.report.judgement.place import Place, WorstWidth, own
from audit.report.text import wording

OVERTAKEN = "overtaken_wait_share"
ROOM = "wait_room_share"


def of_waits(place: Place) -> Iterator[Finding]:
    """What is found of the pool as a whole, and of the width class that it hits most."""
    yield from _overtaken(place)
    if hit := place.worst_width(OVERTAKEN):
        yield _overtaken_class(place, hit)
    yield from _room(place)


def _overtaken(place: Place) -> Iterator[Finding]:
    share, mean = place.pool.figure(OVERTAKEN), place.pool.figure("overtaken_time_mean")
    if share.value is None or share.value <= 0:
        return
    yield Finding(
        subject="All jobs",
        about="pool",
        name=None,
        measure=OVERTAKEN,
        figure=share,
        effect=share.value,
        sure=own(share),
        part=1.0,
        cause=Cause.LATER_ARRIVALS,
        action="Look at which widths lose, and reserve for more of the queue.",
        anchor=place.anchor("fair"),
        sql=place.sql(OVERTAKEN, "width_class"),
        text=place.text(
            f"Later arrivals cost {wording.rough(share)} of all waiting "
            f"({wording.rough_interval(share)}), {wording.rough(mean)} for each job."
        ),
    )


def _overtaken_class(place: Place, hit: WorstWidth) -> Finding:
    share, mean = hit.width.figure(OVERTAKEN), hit.width.figure("overtaken_time_mean")
    jobs = wording.first_upper(place.jobs_of(hit.width))
    return Finding(
        subject=jobs,
        about="width",
        name=hit.width.label,
        measure=OVERTAKEN,
        figure=share,
        effect=share.value or 0.0,
        sure=hit.sure,
        part=place.part(hit.width),
        cause=Cause.LATER_ARRIVALS,
        action="Reserve for more of the queue than its head, or give wide jobs hours of their own.",
        anchor=place.anchor("fair"),
        sql=place.sql(OVERTAKEN, "width_class"),
        text=place.text(
            f"{jobs} lose {wording.rough(share)} of their waiting to later arrivals "
            f"({wording.rough_interval(share)}), {wording.rough(mean)} each."
        ),
    )


def _room(place: Place) -> Iterator[Finding]:
    share = place.pool.figure(ROOM)
    if share.value is None:
        return
    yield Finding(
        subject="All jobs",
        about="pool",
        name=None,
        measure=ROOM,
        figure=share,
        effect=share.value,
        sure=own(share),
        part=1.0,
        cause=Cause.NOT_COMPETITION,
        action="Look for limits, holds and closed hours: fairaudit fit-policy finds many.",
        anchor=place.anchor("why"),
        sql=place.sql(ROOM, "width_class"),
        text=place.text(
            f"During {wording.rough(share)} of all waiting ({wording.rough_interval(share)}) there "
            "was room for the job: no competition held it back."
        ),
    )
