"""Measures of the view ``fidelity`` about the account of waits: its log, plan and interval."""

from typing import Final

from audit.registry.measure import COUNT, DURATION, EPOCH, ONE, SECONDS, SHARE, Measure

_CHOSEN: Final = "where the pool's backfilling is not configured"

# fmt: off
MEASURES: Final = (
    Measure("log_begin", "Begin of the log", EPOCH, COUNT, (),
            "the instant from which on the log has what happened; time before it is in no "
            "utilization, and waiting before it has the cause `outside`"),
    Measure("log_length", "Length of the log", SECONDS, DURATION, (),
            "from the begin of the log to its last instant, or to the end of the period"),
    Measure("begin_use", "Use at the begin of the log", ONE, SHARE, (),
            "amount that known jobs used just before the begin of the log / mean use until the end "
            "of the period; NULL: the log began before"),
    Measure("end_waiting_share", "Waiting at the end of the log", ONE, SHARE, (),
            "share of all waiting time that is nearer to the end of the log than the 95th "
            "percentile of occupancies; NULL: the log ends later, or is not selected by end"),
    Measure("plan_depth", "Reservations that the account assumes", "reservations", COUNT, (),
            "most jobs that have a reservation at one time, in the account of waits; NULL: all"),
    Measure("plan_strict", "Whether no job starts behind one that cannot", ONE, COUNT, (),
            "1: the account of waits has a strict queue, without backfilling; else 0"),
    Measure("interval_s", "Interval of scheduling passes", SECONDS, DURATION, (),
            "configured, or inferred from the starts; NULL: not known, and 60 s are assumed"),
    *(
        Measure(f"plan_{key}", label, unit, COUNT, (), meaning, when=_CHOSEN)
        for key, label, unit, meaning in (
            ("starts", "Starts with which the plan was tried", "starts",
             "starts since the log began"),
            ("behind", "… behind a job with a reservation", "starts",
             "those of these while a job with one of 20 reservations was ahead"),
            ("broken", "… that break the plan", "starts",
             "those of these for which the plan had no room"),
            ("stretches", "Stretches in which a job was kept from starting", "stretches",
             "maximal runs of instants in which the plan kept a job from starting"),
            ("lapses", "Jobs that could start and did not", "lapses",
             "jobs that could have started for 15 min in all, or two intervals of passes"),
        )
    ),
)
# fmt: on
