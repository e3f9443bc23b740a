"""Measures of the view ``fidelity`` about the account of waits: its log, plan and interval."""

from typing import Final

from audit.registry.measure import COUNT, DURATION, EPOCH, ONE, SECONDS, SHARE, Measure

_INFERRED: Final = "where the pool's backfilling is not configured"

# fmt: off
MEASURES: Final = (
    Measure("log_begin", "Begin of the log", EPOCH, COUNT, (), "instant from which the log is "
            "complete: utilization leaves out the time before it, and waiting before it has the "
            "cause `outside`"),
    Measure("log_length", "Length of the log", SECONDS, DURATION, (),
            "time from the begin of the log to its last instant, or to the end of the period"),
    Measure("begin_use", "Use at the begin of the log, as a share of its mean", ONE, SHARE, (),
            "amount that known jobs used just before the begin of the log / mean use until the end "
            "of the period; NULL: the log began before the period"),
    Measure("end_waiting_share", "Waiting at the end of the log", ONE, SHARE, (),
            "share of all waiting time that is nearer to the end of the log than the 95th "
            "percentile of occupancies; NULL: the log ends after the period, or has jobs that had "
            "not ended"),
    Measure("plan_depth", "Reservations that the account of waits assumes", "reservations", COUNT,
            (), "maximum number of jobs with a reservation at one time; NULL: all waiting jobs"),
    Measure("plan_strict", "Whether the account of waits assumes a strict queue", ONE, COUNT, (),
            "1: no job starts before an earlier job of the queue that cannot start yet; else 0"),
    Measure("interval_s", "Interval of scheduling passes", SECONDS, DURATION, (),
            "time between passes, configured or inferred from the starts; NULL: not known, and 60 "
            "s are assumed"),
    *(
        Measure(f"plan_{key}", label, unit, COUNT, (), meaning, when=_INFERRED)
        for key, label, unit, meaning in (
            ("starts", "Starts compared with assumed reservations", "starts",
             "starts since the log began, compared with at most 20 reservations of jobs ahead"),
            ("behind", "Starts behind a job with a reservation", "starts",
             "starts of plan_starts at which a job ahead had a reservation"),
            ("broken", "Starts that would delay a job with a reservation", "starts",
             "starts of plan_behind that would have delayed the reservation of a job ahead"),
            ("stretches", "Stretches in which a reservation kept a job waiting", "stretches",
             "maximal runs of instants in which a reservation of a job ahead kept a job from "
             "starting"),
            ("lapses", "Jobs that could start and did not", "lapses",
             "jobs that could have started for 15 min in all, or for two intervals of scheduling "
             "passes"),
        )
    ),
)
# fmt: on
