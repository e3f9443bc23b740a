"""The registry of measures: name, unit, form and definition of each figure.

Tables of the report, docs/metrics.md and column comments are generated from these entries; a figure
without an entry is refused (``unit_of``).
"""

from collections.abc import Mapping
from typing import Final

from audit.registry.account import MEASURES as _OF_ACCOUNT
from audit.registry.causes import CAUSES, LACKS
from audit.registry.measure import (
    AREA,
    ARRAYS,
    ATTEMPTS,
    BOOKED,
    COUNT,
    DELIVERED,
    DURATION,
    ENDED,
    ENTITIES,
    INTERRUPTED,
    JOBS,
    NUMBER,
    NUWT,
    ON_NODES,
    ONE,
    PER_ATTEMPT,
    RELAXED,
    RESOURCE,
    RESOURCE_TIME,
    SECONDS,
    SHARE,
    SIZED,
    STRICT,
    TAKES,
    Greatest,
    Heading,
    Measure,
    Of,
    Quantile,
    Quotient,
    RatioRange,
    Total,
)
from audit.registry.requested import MEASURES as _REQUESTED

_ALL: Final = ("all",)
_WIDTHS: Final = ("all", "width_class", "partition", "qos", "gpu_type")
_ACCOUNTS: Final = (*_WIDTHS, "account")
_QUEUE: Final = "partition_qos_gpu_type"
_QUEUES: Final = (*_ACCOUNTS, _QUEUE)
_OWNED: Final = (*_WIDTHS, "user", "account")
_PLACES: Final = (*_OWNED, "hour_of_week")
_KINDS: Final = ("entity_kind",)
_FSTS: Final = "if fair start times were computed"
_BOOKED: Final = "where waits were attributed to causes"
_SPEC_CAUSES: Final = "account of waits"
_ON_NODES: Final = "where the nodes of the pool are known"
_INTERRUPTED: Final = "where attempts were preempted, requeued or suspended"
_PAIRED: Final = "for entities with pairs (see *Passed over*)"
_TESTED: Final = "for entities with at least 20 attempts with pairs, on at least 8 days"
_NAMED: Final = ("user", "account")
_PLACED: Final = ("partition", "qos")
_COMPARED: Final = (*_NAMED, *_PLACED)
_OFTEN: Final = ("gpus", "mem_bytes")
"""Resources that not all attempts request."""
SLOWDOWN: Final = "max(1, (end − arrival) / max(runtime, τ))"
_SABIN_RE, _KLUSACEK = "Sabin & Sadayappan §3.2", "Klusáček & Rudová §2.3"

# One entry in two or three lines, so that they can be compared.
# fmt: off
_POPULATION: Final = (
    Measure("attempts", "Attempts that ended in the period", ATTEMPTS, COUNT, _ALL,
            "attempts that started, and ended in the period", "", Heading.ATTEMPTS,
            "Ended in the period: every figure is about these"),
    Measure("jobs", "Jobs with an attempt that ended in the period", JOBS, COUNT, _ALL,
            "jobs with an attempt that started, and ended in the period", "", Heading.ATTEMPTS),
    Measure("users", "Users with an attempt that ended or never started", "users", COUNT, _ALL,
            "users with an attempt that ended in the period, or that left the queue in it without "
            "starting", "", Heading.ATTEMPTS),
    Measure("never_started", "Attempts that never started (not in the waits below)", ATTEMPTS,
            COUNT, ("all", "account"), "attempts that left the queue without starting: figures of "
            "waits, causes and fairness leave them out", "", Heading.ATTEMPTS, "Never started"),
    Measure("gave_up_wait_s", "Total wait of attempts that never started", SECONDS, DURATION,
            ("all", "account"), "total wait, until they left the queue, of the attempts that never "
            "started", "", Heading.ATTEMPTS, "Total wait of those that never started"),
    Measure("running", "Attempts running when the log was taken", ATTEMPTS, COUNT, _ALL,
            "attempts that were still running when the log was taken: they count in the use of the "
            "machine, but have no figures of their own",
            record_label="Open: running when the log was taken"),
    Measure("overdue", "Attempts running over a day past their walltime", ATTEMPTS, COUNT, _ALL,
            "attempts without an end in the log that started before the end of the period, and "
            "whose walltime ended more than a day before it, or before the log ended: the records "
            "of their ends are probably missing", when="if there are any",
            record_label="Open: running over a day past the walltime"),
    Measure("pending", "Attempts waiting when the log was taken", ATTEMPTS, COUNT, _ALL,
            "attempts that were still waiting when the log was taken: they count in the queue, but "
            "have no figures of their own",
            record_label="Open: waiting when the log was taken"),
    Measure("start_unknown", "Attempts whose start is unknown", ATTEMPTS, COUNT, _ALL,
            "attempts that ran, but whose start is not in the log: all other figures leave them "
            "out", record_label="Ran, but the log does not say when they started"),
    Measure("arrival_unknown", "Attempts whose arrival is unknown", ATTEMPTS, COUNT, _ALL,
            "attempts without an arrival in the log: they count in utilization and usage, but not "
            "in figures of waits, fair start times or resource equality"),
    Measure("arrivals_clipped", "Attempts that started before they arrived", ATTEMPTS, COUNT, _ALL,
            "attempts that started before they were eligible or submitted, according to the log; "
            "they count as arriving when they started",
            record_label="Started before they arrived: arrival set to the start"),
    Measure("size_unknown", "Attempts whose size is unknown", ATTEMPTS, COUNT, _ALL,
            "attempts without an amount of the counted resource in the log: they count as "
            "size 0 in utilization, and figures of resource equality leave them out",
            record_label="Size unknown, counted as 0"),
    Measure("pending_left_out", "Waiting attempts without a size or walltime", ATTEMPTS, COUNT,
            _ALL, "waiting attempts whose size or walltime is unknown: fair start times and "
            "simulations leave them out", when="if there are any", record_label="Queued without a "
            "size or walltime: left out of fair start times"),
    Measure("exceeds_capacity", "Attempts larger than the whole pool", ATTEMPTS, COUNT, _ALL,
            "attempts that request more than the whole pool has", record_label="Larger than the "
            "whole pool"),
    Measure("walltime_unknown", "Attempts whose walltime is unknown", ATTEMPTS, COUNT, _ALL,
            "attempts that ended in the period and whose walltime is unknown; where a simulation "
            "needs one, it is the attempt's occupancy"),
    Measure("over_requested_walltime", "Attempts that exceeded their walltime", ATTEMPTS, COUNT,
            _ALL, "attempts that ran longer than their requested walltime",
            record_label="Ran longer than the requested walltime"),
)

_WAITS: Final = (
    Measure("wait_mean", "Mean wait", SECONDS, DURATION, (*_QUEUES, "hour_of_week"),
            "mean of start − arrival; by hour of the week of the arrival, `0` is Monday 00:00 in "
            "the cluster's zone", "", Heading.WAITS, figure=Quotient(ENDED, "wait_s")),
    Measure("wait_median", "Median wait", SECONDS, DURATION, _QUEUES,
            "median of start − arrival", "", Heading.WAITS, figure=Quantile(ENDED, "wait_s", 500)),
    Measure("wait_p90", "90th percentile of the wait", SECONDS, DURATION, _QUEUES,
            "90th percentile of start − arrival", "", Heading.WAITS,
            figure=Quantile(ENDED, "wait_s", 900)),
    Measure("wait_p99", "99th percentile of the wait", SECONDS, DURATION, _ACCOUNTS,
            "99th percentile of start − arrival", "", Heading.WAITS,
            figure=Quantile(ENDED, "wait_s", 990)),
    Measure("wait_max", "Longest wait", SECONDS, DURATION, _ACCOUNTS,
            "greatest start − arrival", "", Heading.WAITS, figure=Greatest(ENDED, "wait_s")),
    Measure("bounded_slowdown_mean", "Mean bounded slowdown", ONE, NUMBER, _WIDTHS,
            f"mean of {SLOWDOWN}, τ = `metrics.tau_s`", _KLUSACEK, Heading.WAITS,
            figure=Quotient(ENDED, "bounded_slowdown")),
    Measure("bounded_slowdown_median", "Median bounded slowdown", ONE, NUMBER, _WIDTHS,
            f"median of {SLOWDOWN}", _KLUSACEK, Heading.WAITS,
            figure=Quantile(ENDED, "bounded_slowdown", 500)),
    Measure("bounded_slowdown_p90", "90th percentile of bounded slowdown", ONE, NUMBER, _WIDTHS,
            f"90th percentile of {SLOWDOWN}", _KLUSACEK, Heading.WAITS,
            figure=Quantile(ENDED, "bounded_slowdown", 900)),
    Measure("stretch", "Stretch: response / occupancy", ONE, NUMBER, ("all", *_NAMED),
            "Σ (end − arrival) / Σ occupancy", "Bender, Chakrabarti & Muthukrishnan 1998",
            Heading.WAITS, figure=Quotient(ENDED, "response_s", "occupancy_s")),
    Measure("response_weighted", "Response, weighted by size · occupancy", SECONDS, DURATION,
            _ACCOUNTS, "Σ size · occupancy · (end − arrival) / Σ size · occupancy",
            "Goponenko et al. 2022", Heading.WAITS,
            figure=Quotient(SIZED, "response_area", "re_consumed")),
    Measure("array_concurrency", "Mean number of tasks of an array that ran at one time", "tasks",
            NUMBER, ("all", *_COMPARED), "Σ occupancy of the tasks of arrays / Σ (last end − first "
            "start) of arrays", "", Heading.WAITS, when="where arrays ran",
            figure=Quotient(ARRAYS, "occupancy_s", "array_span_s")),
    Measure("overtaken_share", "Attempts overtaken by a later attempt", ONE, SHARE, _WIDTHS,
            "share of attempts that were overtaken: another attempt arrived later and started "
            "earlier",
            "Sabin & Sadayappan §2", Heading.WAITS, figure=Quotient(ENDED, "overtaken")),
    Measure("overtaken_by_mean", "Mean number of later attempts that started earlier", ATTEMPTS,
            NUMBER, _WIDTHS, "mean number of attempts that overtook an attempt",
            "Sabin & Sadayappan §2", Heading.WAITS, figure=Quotient(ENDED, "overtaken_by")),
)

_ANATOMY: Final = (
    *(
        Measure(cause.share, cause.label, ONE, SHARE, (*_PLACES, _QUEUE),
                f"share of all waiting time that passed {cause.meanwhile}", _SPEC_CAUSES,
                when=_BOOKED,
                figure=Quotient(BOOKED, cause.column, "wait_s"))
        for cause in CAUSES
    ),
    Measure("cause_rule_free_share", "Limits and closed hours, although enough was free", ONE,
            SHARE, _PLACES, "share of all waiting time in which enough was free, and only a limit "
            "or closed hours kept the job from starting", _SPEC_CAUSES, when=_BOOKED,
            figure=Quotient(BOOKED, "cause_rule_free_s", "wait_s")),
    *(
        Measure(lack.share, f"Enough free in total, but single nodes lacked {lack.words}", ONE,
                SHARE, ("all", *_COMPARED), "share of all waiting time"
                f"{f' of attempts that request {lack.words}' if lack.resource in _OFTEN else ''} "
                "in which enough was free on all nodes together, but single nodes lacked "
                f"{lack.words}", _SPEC_CAUSES, when=_ON_NODES,
                figure=Quotient(ON_NODES, lack.column, f"wait_of_{lack.key}"))
        for lack in LACKS
    ),
    Measure("nodes_guessed_share", "Node time for which amounts on each node were estimated", ONE,
            SHARE, _ALL, "share of the node-seconds of all attempts for which the log does not "
            "give the amounts on each node: the audit assumes that an attempt filled its nodes in "
            "the order of its node list, or in proportion to their resources", when=_ON_NODES,
            record_label="Share of node time for which amounts on each node were estimated"),
    Measure("nodes_uneven_share", "Jobs whose requests do not divide evenly among their nodes", ONE,
            SHARE, _ALL, "share of all attempts whose requests do not divide evenly among their "
            "nodes: whether they fit is decided CPU by CPU, on the nodes that hold most first",
            when=_ON_NODES),
    Measure("idle_usable", "Idle capacity that waiting jobs could have used", AREA, RESOURCE_TIME,
            _PLACES, "∫ min(free capacity, Σ size of the jobs that wait with the cause `cycle` or "
            "`unexplained`) dt, divided among jobs in proportion to their sizes", _SPEC_CAUSES,
            when=_BOOKED, figure=Total(BOOKED, "idle_usable")),
    Measure("released_own_share", "Unexplained waiting until a job of the same user ended", ONE,
            SHARE, _OWNED, "share of all waiting time that is unexplained and of jobs that started "
            "within 60 s after another job of their user ended: consistent with a limit or a "
            "dependency, without proving one", _SPEC_CAUSES, when=_BOOKED,
            figure=Quotient(BOOKED, "released_own_s", "wait_s")),
    Measure("full_share", "Waiting because the machine was full (upper bound)", ONE, SHARE, _OWNED,
            "share of all waiting time in which earlier jobs, later jobs or running jobs of the "
            "same user left too little free; `lower` leaves out jobs that could have started "
            "earlier for 15 min in all, or for two intervals of scheduling passes: a hold may have "
            "kept them waiting", _SPEC_CAUSES, when=_BOOKED,
            figure=RatioRange(BOOKED, "surely_full", "full", "wait_s")),
)

_SIMILAR: Final = (
    Measure("excess_wait", "Wait beyond that of similar jobs", SECONDS, DURATION, _NAMED,
            "Σ max(0, wait − median wait of similar jobs) over the attempts that have similar "
            "jobs; the interval resamples days, and needs at least 10",
            when="for users and accounts with attempts that have similar jobs"),
)

_PASSED: Final = (
    Measure("passed_share", "Later jobs of others that started first", ONE, SHARE, _COMPARED,
            "Σ lost / Σ pairs, weighted: share of the later jobs of other users, with requests at "
            "least as large, that started more than 60 s earlier", when=_PAIRED),
    Measure("passed_expected", "Expected share of later jobs that started first", ONE, SHARE,
            _COMPARED, "the value of passed_share that is expected from the pairs of all other "
            "entities in the same classes",
            when=_PAIRED),
    Measure("passed_excess", "Later jobs that started first, more than expected", ONE, SHARE,
            _COMPARED, "passed_share − passed_expected; `lower` is its one-sided 95 % bound",
            when=_TESTED),
    Measure("passed_s", "Waiting after a later job had started first", SECONDS, DURATION, _COMPARED,
            "Σ (start of the attempt − first start of a later job that overtook it)", when=_PAIRED),
    Measure("passed_named", "Whether it is named as passed over", ONE, COUNT, _NAMED,
            "1 where passed_excess is significant (jackknife over stretches of days; "
            "Benjamini-Hochberg at 5 %, by kind of entity), and no other condition of `passed_why` "
            "fails; else 0; NULL if the test is not possible",
            when="where the log names several users"),
    Measure("passed_ahead", "Later jobs of the partition or QOS that started before others", ONE,
            SHARE, _PLACED, "share of the later jobs of this partition (QOS) that started before "
            "jobs of the partitions (QOS) that the test finds passed over: Σ lost / Σ pairs",
            when="where the test finds a partition (QOS) passed over, most often by this one"),
    Measure("usage_multiple", "Usage as a multiple of its share", ONE, NUMBER, _NAMED,
            "its fraction of the pool's resource-seconds in the period / its fraction of the "
            "shares of all entities that used the pool: the site's shares, else equal ones",
            when="where passed_named is 1, or would be, and the order follows usage"),
)

_EQUALITY: Final = (
    Measure("re_unfairness", "Shortfall per attempt (overall unfairness)", PER_ATTEMPT,
            RESOURCE_TIME, _OWNED, "Σ max(deserved − consumed, 0) / attempts whose size is known",
            _SABIN_RE, Heading.EQUALITY, figure=Quotient(SIZED, "re_unfair")),
    Measure("consumed", "Resource time consumed", AREA, RESOURCE_TIME, _OWNED,
            "Σ size · occupancy of the attempts whose size is known",
            figure=Total(SIZED, "re_consumed")),
    Measure("re_unfairness_share", "Shortfall as a share of what was consumed", ONE, SHARE, _OWNED,
            "Σ max(deserved − consumed, 0) / Σ consumed", _SABIN_RE, Heading.EQUALITY,
            figure=Quotient(SIZED, "re_unfair", "re_consumed")),
    Measure("re_treated_unfairly_share", "Attempts that got less than an equal share", ONE, SHARE,
            _OWNED, "share of attempts that deserved more than they consumed, of those whose "
            "size is known", _SABIN_RE, Heading.EQUALITY, figure=Quotient(SIZED, "re_treated")),
    Measure("re_unfairness_net", "Shortfall less surplus, per attempt", PER_ATTEMPT, RESOURCE_TIME,
            _OWNED, "Σ (deserved − consumed) / attempts whose size is known; 0 over all attempts",
            _SABIN_RE, figure=Quotient(SIZED, "re_unfairness")),
    Measure("share_deficit", "Deficit against dominant-resource fairness", SECONDS, DURATION,
            _NAMED, "∫ max(0, a* − s) dt, in s of the whole pool: s is the dominant share in use, "
            "and a* the dominant share under dominant-resource fairness, by the site's shares "
            "(else equal ones), never above the demand", "Ghodsi et al. 2011 §4"),
    Measure("re_conservation", "Shortfalls and surpluses that do not cancel out", ONE, NUMBER,
            _ALL, "|Σ (deserved − consumed)| / Σ consumed over the pool: 0 up to rounding",
            _SABIN_RE),
)

_PREEMPTION: Final = (
    Measure("preempted", "Attempts that were preempted or requeued", ATTEMPTS, COUNT,
            ("all", *_COMPARED), "attempts that ended PREEMPTED or were requeued",
            when=_INTERRUPTED, figure=Total(INTERRUPTED, "preempted")),
    Measure("lost_work", "Work lost to preemption (upper bound)", AREA, RESOURCE_TIME,
            ("all", *_COMPARED), "Σ size · occupancy of attempts that ended PREEMPTED or were "
            "requeued: an upper bound, because checkpoints are not in logs", when=_INTERRUPTED,
            figure=Total(INTERRUPTED, "lost_work")),
    Measure("lost_share", "Work lost to preemption as a share of consumption (upper bound)", ONE,
            SHARE, ("all", *_COMPARED), "lost_work / Σ size · occupancy", when=_INTERRUPTED,
            figure=Quotient(INTERRUPTED, "lost_work", "area")),
    Measure("freed_share", "Preempted attempts on whose nodes another job started", ONE, SHARE,
            _ALL, "share of preempted and requeued attempts with known nodes after which another "
            "job started on one of their nodes within 60 s",
            when=_INTERRUPTED, figure=Quotient(INTERRUPTED, "taken", "preempted_on_nodes")),
    Measure("preemptible_share", "Waiting although preemption would have freed enough", ONE, SHARE,
            ("all", *_COMPARED), "share of the waiting of attempts that may preempt others, in "
            "which enough was free only if the resources of the jobs that they may preempt count "
            "as free", _SPEC_CAUSES, when="where jobs may preempt others (`preemption` in "
            "config.toml)", figure=Quotient(TAKES, "preemptible_s", "wait_s")),
    Measure("suspended_time", "Time for which jobs were suspended", SECONDS, DURATION,
            ("all", *_COMPARED), "Σ suspended time of attempts", when=_INTERRUPTED,
            figure=Total(INTERRUPTED, "suspended")),
)

_MACHINE: Final = (
    Measure("utilization", "Utilization", ONE, SHARE, ("all", "day", "resource"),
            "busy resource-seconds / capacity resource-seconds; of each resource where the pool "
            "has several", "", Heading.MACHINE),
    Measure("loss_of_capacity", "Loss of capacity", ONE, SHARE, _ALL, "time mean of min(idle "
            "capacity, total size of waiting attempts) / capacity", "", Heading.MACHINE),
    Measure("queued_mean", "Mean size of the queue", RESOURCE, NUMBER, ("all", "day"),
            "time mean of the total size of waiting attempts"),
    Measure("covered_time", "Time that the log covers", SECONDS, DURATION, _ALL,
            "the part of the period from the begin of the log to its last instant, over which "
            "utilization and the queue are averaged"),
    Measure("capacity", "Amount that the pool has", RESOURCE, COUNT, _ALL,
            "amount of the counted resource that the pool has at the end of the period", "",
            Heading.MACHINE),
    Measure("peak_in_use", "Greatest amount in use at one time", RESOURCE, COUNT, _ALL,
            "greatest amount in use at any time", "", Heading.MACHINE),
    Measure("over_capacity_time", "Time with more in use than the pool has", ONE, SHARE, _ALL,
            "share of the time in which more was in use than the pool has", "", Heading.MACHINE,
            "Share of time with more in use than the pool has"),
    *(
        Measure(f"used_{column}", f"Use of {words}", "pool-hours", NUMBER, ("user",),
                f"∫ {words} that the user occupied / {words} of the pool dt, in hours",
                when="where the pool has several resources")
        for column, words in (("cpus", "CPUs"), ("nodes", "nodes"), ("gpus", "GPUs"),
                              ("mem_bytes", "memory"))
    ),
)


_PAPER: Final = "Sabin & Sadayappan §3.1.3"


def _of_fst(of: Of, source: str = "") -> tuple[Measure, ...]:
    """Return the measures of the delivered, the strict or the relaxed fair start time (FST)."""
    fst = of.value
    return (
        Measure(f"miss_{fst}_mean", f"Overall unfairness: miss per attempt by the {fst} FST",
                SECONDS, DURATION, _PLACES, "Σ max(start − FST, 0) / attempts, by the "
                f"{fst} FST", source, Heading.FAIR_STARTS, when=_FSTS,
                figure=Quotient(of, "miss")),
        Measure(f"missed_{fst}_share", f"Attempts later than their {fst} FST", ONE, SHARE, _PLACES,
                f"share of attempts that started later than their {fst} FST by more than "
                "`metrics.tolerance_s`", "", Heading.FAIR_STARTS, when=_FSTS,
                figure=Quotient(of, "missed")),
        Measure(f"missed_{fst}_mean", f"Mean delay of attempts later than their {fst} FST", SECONDS,
                DURATION, _PLACES, f"mean miss of the attempts that missed their {fst} FST; NULL "
                "if none did", "", Heading.FAIR_STARTS, when=_FSTS,
                figure=Quotient(of, "missed_by", "missed")),
        Measure(f"preferred_{fst}_share", f"Attempts earlier than their {fst} FST", ONE, SHARE,
                _PLACES, f"share of attempts that started before their {fst} FST, by more than "
                "`metrics.tolerance_s`", "", Heading.FAIR_STARTS, when=_FSTS,
                figure=Quotient(of, "preferred")),
        Measure(f"preference_{fst}_mean", f"Preference per attempt by the {fst} FST", SECONDS,
                DURATION, _PLACES, f"Σ max(FST − start, 0) / attempts, by the {fst} FST", "",
                Heading.FAIR_STARTS, when=_FSTS, figure=Quotient(of, "preference")),
    )


_FAIR_STARTS: Final = (
    Measure("miss_delivered_share", "Delay by later arrivals as a share of waiting", ONE, SHARE,
            _PLACES, "Σ max(start − FST, 0) / Σ wait, by the delivered FST: the start without "
            "later arrivals, on what the machine delivered", when=_FSTS,
            figure=Quotient(DELIVERED, "miss", "wait_s")),
    Measure("miss_cautious_share", "Delay by later arrivals, cautious reading", ONE, SHARE, _PLACES,
            "Σ miss_cautious_s / Σ wait: as miss_delivered_share, but a job counts as held if a "
            "later job of its user, with a request and walltime at least as large, overtook it",
            when=_FSTS, figure=Quotient(DELIVERED, "cautious", "wait_s")),
    *_of_fst(DELIVERED),
    *_of_fst(STRICT, _PAPER),
    *_of_fst(RELAXED, _PAPER),
    Measure("fair_slowdown_mean", "Mean fair slowdown", ONE, NUMBER, _WIDTHS,
            "mean bounded slowdown with the delivered FST in place of the start", _KLUSACEK,
            Heading.FAIR_STARTS, when=_FSTS, figure=Quotient(DELIVERED, "fair_slowdown")),
    Measure("over_fair_slowdown_share", "Attempts slowed down more than fair", ONE, SHARE, _WIDTHS,
            "share of attempts whose bounded slowdown exceeds their fair slowdown", _KLUSACEK,
            Heading.FAIR_STARTS, when=_FSTS, figure=Quotient(DELIVERED, "slower")),
    Measure("fst_attempts", "Attempts by status of their fair start time", ATTEMPTS, COUNT,
            ("fst_status",), "attempts that ended in the period, by status of their strict and "
            "relaxed FST", when=_FSTS),
)

_OWNERS: Final = (
    Measure("uwt", "Mean NUWT (UWT)", NUWT, NUMBER, _KINDS,
            "mean over users (or accounts) of NUWT = Σ wait / Σ (runtime · size)",
            "Klusáček & Rudová §4.1", Heading.OWNERS),
    Measure("nuwt_median", "Median NUWT", NUWT, NUMBER, _KINDS, "median NUWT", "", Heading.OWNERS),
    Measure("nuwt_q1", "Lower quartile of NUWT", NUWT, NUMBER, _KINDS, "lower quartile of NUWT", "",
            Heading.OWNERS),
    Measure("nuwt_q3", "Upper quartile of NUWT", NUWT, NUMBER, _KINDS, "upper quartile of NUWT", "",
            Heading.OWNERS),
    Measure("nuwt_pooled", "NUWT of all together (ΣTUWT / ΣTUSA)", NUWT, NUMBER, _KINDS, "Σ wait / "
            "Σ (runtime · size) over all users (or accounts) together", "", Heading.OWNERS),
    Measure("nuwt_deviation", "Standard deviation of NUWT", NUWT, NUMBER, _KINDS,
            "population standard deviation of NUWT", "", Heading.OWNERS),
    Measure("nuwt_f", "F, sum of squared distances from UWT", f"({NUWT})²", NUMBER, _KINDS, "F = Σ "
            "(UWT − NUWT)² over users (or accounts)", "Klusáček & Rudová §4.1", Heading.OWNERS),
    Measure("jain_stretch", "Jain's index of the stretch", ONE, NUMBER, _KINDS,
            "(Σ x)² / (n Σ x²) of the stretch x of users (or accounts) with at least 10 jobs: from "
            "1/n to 1, where all have the same", "Jain, Chiu & Hawe 1984"),
    Measure("nuwt_entities", "Users or accounts counted in NUWT", ENTITIES, COUNT, _KINDS,
            "users (or accounts) that the figures of NUWT cover", "", Heading.OWNERS),
    Measure("nuwt_single_job", "Left out of NUWT: fewer than two started jobs", ENTITIES, COUNT,
            _KINDS, "users (or accounts) left out because of fewer than two started jobs",
            "Klusáček & Rudová §5.1", Heading.OWNERS),
    Measure("nuwt_no_usage", "Left out of NUWT: no usage", ENTITIES, COUNT, _KINDS,
            "users (or accounts) left out because they used nothing", "", Heading.OWNERS),
)

_FIDELITY: Final = (
    *_OF_ACCOUNT,
    Measure("replayed", "Replayed attempts", ATTEMPTS, COUNT, (),
            "attempts that ended in the period and have a start in both schedules"),
    Measure("start_error_median", "Median error of replayed starts", SECONDS, DURATION, (),
            "median of |replayed start − observed start|, nearest-rank"),
    Measure("start_error_p90", "90th percentile of the error of replayed starts", SECONDS, DURATION,
            (), "90th percentile of |replayed start − observed start|"),
    Measure("wait_correlation", "Rank correlation of replayed and observed waits", ONE, NUMBER, (),
            "Spearman's rank correlation of replayed and observed waits"),
    Measure("mean_wait_error", "Error of the replayed mean wait", SECONDS, DURATION, (),
            "mean replayed wait − mean observed wait"),
    *(
        Measure(f"miss_{fst}_share_beyond_{limit}", f"Total {fst} miss above the {words} error of "
                "replayed starts", ONE, SHARE, (), f"share of the sum of {fst} misses that remains "
                f"without the misses below the {words} of the error of replayed starts")
        for fst in ("strict", "relaxed")
        for limit, words in (("median", "median"), ("p90", "90th percentile"))
    ),
    Measure("agreement", "Agreement of a scheduling rule with the observed starts", ONE, SHARE, (),
            "A: Σ |chosen ∩ observed| / Σ (|observed| + |chosen that do not start|) over the "
            "instants with starts at which more jobs wait than start; *observed* are the starts "
            "after waits of more than 60 s, *chosen* the jobs that one pass of the rule starts "
            "then; a row for each rule that may be the site's"),
    Measure("agreement_compared", "Instants that the agreement compares", ONE, SHARE, (),
            "share of the instants of `agreement` that were compared: evenly spaced ones of many"),
    Measure("agreement_nodes", "Agreement of the modelled policy by free nodes", ONE, SHARE, (),
            "as `agreement`, of the modelled policy, where the observed free nodes decide which "
            "jobs can start", when="where the nodes of the pool are known"),
    Measure("rule_used", "Whether fair start times follow a known rule", ONE, COUNT, (),
            "1: they follow a rule with an agreement of at least 0.65; 0: no such rule is known, "
            "and they keep the order in which jobs started"),
    Measure("may_say", "What the fair start times may be used for", ONE, COUNT, (), "2: figures of "
            "the pool and of users; 1: figures of the pool, accurate to 6 points, and of users as "
            "probable; 0: figures of the pool only, in two readings"),
)

SUMMARY: Final[Mapping[str, Measure]] = {measure.key: measure for measure in (
    *_POPULATION, *_WAITS, *_ANATOMY, *_SIMILAR, *_PASSED, *_EQUALITY, *_PREEMPTION, *_MACHINE,
    *_REQUESTED, *_FAIR_STARTS, *_OWNERS,
)}
"""Every measure of the view ``summary`` by key, in order of display."""
# fmt: on

FIDELITY: Final[Mapping[str, Measure]] = {measure.key: measure for measure in _FIDELITY}
"""Every measure of the view ``fidelity`` by key."""


def find(key: str) -> Measure | None:
    """Return the measure of this key."""
    return SUMMARY.get(key) or FIDELITY.get(key)


def unit_of(key: str, dimension_value: str | None = None) -> str:
    """Return the unit of a figure; for counts of users or accounts it is ``dimension_value``.

    Raises KeyError if the registry has no such measure.
    """
    measure = find(key)
    if measure is None:
        raise KeyError(f"measure {key!r} has no entry in audit/registry/measures.py")
    return f"{dimension_value}s" if measure.unit == ENTITIES else measure.unit
