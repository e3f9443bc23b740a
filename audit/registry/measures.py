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
_FSTS: Final = "with fair start times"
_BOOKED: Final = "where waits were booked to causes"
_SPEC_CAUSES: Final = "account of waits"
_ON_NODES: Final = "where the nodes of the pool are known"
_INTERRUPTED: Final = "where attempts were preempted, requeued or suspended"
_PAIRED: Final = "for entities with pairs"
_TESTED: Final = "for entities with at least 20 attempts with pairs on 8 days"
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
    Measure("jobs", "Jobs they belong to", JOBS, COUNT, _ALL,
            "jobs that these attempts belong to", "", Heading.ATTEMPTS),
    Measure("users", "Users they belong to", "users", COUNT, _ALL,
            "users of these attempts, and of those that never started", "", Heading.ATTEMPTS),
    Measure("never_started", "Attempts that never started (in no figure below)", ATTEMPTS, COUNT,
            ("all", "account"),
            "attempts that left the queue without starting; not in any other figure", "",
            Heading.ATTEMPTS, "Never started"),
    Measure("gave_up_wait_s", "… total wait before they left the queue", SECONDS, DURATION,
            ("all", "account"), "total wait of those that never started", "",
            Heading.ATTEMPTS, "… total wait before they left the queue"),
    Measure("running", "Running when the log was taken", ATTEMPTS, COUNT, _ALL,
            "attempts that ran when the log was taken: context of others, not in any other figure",
            record_label="Open: running when the log was taken"),
    Measure("pending", "Waiting when the log was taken", ATTEMPTS, COUNT, _ALL,
            "attempts that waited when the log was taken: context of others, not in any other "
            "figure",
            record_label="Open: waiting when the log was taken"),
    Measure("start_unknown", "Start unknown", ATTEMPTS, COUNT, _ALL,
            "attempts that ran, but the log does not say when; not in any other figure",
            record_label="Ran, but the log does not say when they started"),
    Measure("arrival_unknown", "Arrival unknown", ATTEMPTS, COUNT, _ALL,
            "attempts without an arrival in the log: they count in utilization and usage, but not "
            "in figures of waits, fair start times or resource equality"),
    Measure("arrivals_clipped", "Started before they arrived", ATTEMPTS, COUNT, _ALL,
            "attempts that started before they were eligible or submitted, according to the log; "
            "they count as arriving when they started",
            record_label="Started before they arrived: arrival set to the start"),
    Measure("size_unknown", "Size unknown", ATTEMPTS, COUNT, _ALL,
            "attempts without an amount of the counted resource in the log: they count as 0 in "
            "what is in use, and are not in figures of resource equality",
            record_label="Size unknown, counted as 0"),
    Measure("pending_left_out", "Queued without a size or walltime", ATTEMPTS, COUNT, _ALL,
            "pending attempts of unknown size or walltime, which are left out of fair start times "
            "and simulations", when="where there are any",
            record_label="Queued without a size or walltime: left out of fair start times"),
    Measure("exceeds_capacity", "Larger than the whole pool", ATTEMPTS, COUNT, _ALL,
            "attempts larger than the pool", record_label="Larger than the whole pool"),
    Measure("walltime_unknown", "Walltime unknown", ATTEMPTS, COUNT, _ALL,
            "attempts that ended in the period without a known walltime; if one has to be "
            "estimated, it is the attempt's occupancy"),
    Measure("over_requested_walltime", "Over their walltime", ATTEMPTS, COUNT, _ALL,
            "attempts that ran longer than their requested walltime",
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
    Measure("array_concurrency", "Tasks of an array that ran at one time", "tasks", NUMBER,
            ("all", *_COMPARED), "Σ occupancy of the tasks of arrays / Σ (last end − first start) "
            "of arrays", "", Heading.WAITS, when="where arrays ran",
            figure=Quotient(ARRAYS, "occupancy_s", "array_span_s")),
    Measure("overtaken_share", "Attempts overtaken by a later one", ONE, SHARE, _WIDTHS,
            "share of attempts that were overtaken: another one arrived later and started earlier",
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
    Measure("cause_rule_free_share", "Limits and closed hours, with free capacity", ONE, SHARE,
            _PLACES, "share of all waiting time in which only a limit or closed hours kept the job "
            "from starting: enough was free", _SPEC_CAUSES, when=_BOOKED,
            figure=Quotient(BOOKED, "cause_rule_free_s", "wait_s")),
    *(
        Measure(lack.share, f"Free, but single nodes lacked {lack.words}", ONE, SHARE,
                ("all", *_COMPARED), "share of all waiting time"
                f"{f' of attempts that request {lack.words}' if lack.resource in _OFTEN else ''} "
                "in which enough was free on all nodes together, but single nodes lacked "
                f"{lack.words}", _SPEC_CAUSES, when=_ON_NODES,
                figure=Quotient(ON_NODES, lack.column, f"wait_of_{lack.key}"))
        for lack in LACKS
    ),
    Measure("nodes_guessed_share", "Node time of which the division among nodes was guessed", ONE,
            SHARE, _ALL, "share of the node-seconds of all attempts for which the amounts on "
            "single nodes are not in the log: nodes were filled in the order of the attempt's "
            "list, or in proportion to what they have", when=_ON_NODES,
            record_label="Share of node time of which the division among nodes was guessed"),
    Measure("idle_usable", "Idle capacity that waiting jobs could have used", AREA,
            RESOURCE_TIME, _PLACES, "∫ min(free, Σ size of the jobs whose wait is booked to cycle "
            "or unexplained) dt, in proportion to their sizes", _SPEC_CAUSES, when=_BOOKED,
            figure=Total(BOOKED, "idle_usable")),
    Measure("released_own_share", "Unexplained, and ended by an end of the user's own jobs", ONE,
            SHARE, _OWNED, "share of all waiting time that is unexplained, of jobs that start "
            "within 60 s after an end of their own user: consistent with a limit or a dependency, "
            "without proving one", _SPEC_CAUSES, when=_BOOKED,
            figure=Quotient(BOOKED, "released_own_s", "wait_s")),
    Measure("full_share", "Machine full, at most", ONE, SHARE, _OWNED,
            "share of all waiting time in which too little was free, because of earlier jobs, "
            "later jobs or running jobs of the same user; `lower` leaves out jobs that could have "
            "started earlier for 15 min in all, or two intervals of passes: they may have been "
            "held meanwhile", _SPEC_CAUSES, when=_BOOKED,
            figure=RatioRange(BOOKED, "surely_full", "full", "wait_s")),
)

_SIMILAR: Final = (
    Measure("excess_wait", "Wait beyond that of similar jobs", SECONDS, DURATION, _NAMED,
            "Σ max(0, wait − median wait of similar jobs) over the attempts that have similar "
            "jobs; the interval is over days, and needs at least 10",
            when="for users and accounts with attempts that have similar jobs"),
)

_PASSED: Final = (
    Measure("passed_share", "Later jobs that started first", ONE, SHARE, _COMPARED,
            "Σ lost / Σ pairs, weighted: share of the later jobs of others, with requests at least "
            "as large, that started more than 60 s earlier", when=_PAIRED),
    Measure("passed_expected", "… expected of others' similar jobs", ONE, SHARE, _COMPARED,
            "the share expected from the pairs of all other entities, class by class",
            when=_PAIRED),
    Measure("passed_excess", "… beyond that", ONE, SHARE, _COMPARED,
            "passed_share − passed_expected; `lower` is its one-sided 95 % bound", when=_TESTED),
    Measure("passed_s", "Time after the first of them started", SECONDS, DURATION, _COMPARED,
            "Σ (start − first start of a later job that passed the attempt)", when=_PAIRED),
    Measure("passed_named", "Is passed over", ONE, COUNT, _NAMED,
            "1 where passed_excess is significant (jackknife over stretches of days; "
            "Benjamini-Hochberg at 5 %, by kind of entity), and no other condition of `passed_why` "
            "fails; else 0; NULL if the test is not possible",
            when="where the log names several users"),
    Measure("passed_ahead", "Its later jobs started first, of pairs with those it passed over", ONE,
            SHARE, _PLACED, "Σ lost / Σ pairs of the partitions (QOS) that would be named as "
            "passed over, if these were users, with the later jobs of this one",
            when="where a partition (QOS) would be named, and this one passed it most"),
    Measure("usage_multiple", "Usage as a multiple of its share", ONE, NUMBER, _NAMED,
            "fraction of the pool's resource-seconds in the period / fraction of the shares of all "
            "entities that used the pool: the site's, else equal ones of users",
            when="where passed_named is 1, or would be, and the order follows usage"),
)

_EQUALITY: Final = (
    Measure("re_unfairness", "Shortfall per attempt (overall unfairness)", PER_ATTEMPT,
            RESOURCE_TIME, _OWNED, "Σ max(deserved − consumed, 0) / attempts whose size is known",
            _SABIN_RE, Heading.EQUALITY, figure=Quotient(SIZED, "re_unfair")),
    Measure("consumed", "Consumed", AREA, RESOURCE_TIME, _OWNED,
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
    Measure("re_conservation", "How far shortfalls and surpluses are from cancelling out", ONE,
            NUMBER, _ALL, "|Σ (deserved − consumed)| / Σ consumed over the pool: 0 up to rounding",
            _SABIN_RE),
)

_PREEMPTION: Final = (
    Measure("preempted", "Preempted or requeued", ATTEMPTS, COUNT, ("all", *_COMPARED),
            "attempts that ended PREEMPTED or were requeued", when=_INTERRUPTED,
            figure=Total(INTERRUPTED, "preempted")),
    Measure("lost_work", "Work lost to preemption, at most", AREA, RESOURCE_TIME,
            ("all", *_COMPARED), "Σ size · occupancy of attempts that ended PREEMPTED or were "
            "requeued: an upper bound, because checkpoints are not in logs", when=_INTERRUPTED,
            figure=Total(INTERRUPTED, "lost_work")),
    Measure("lost_share", "… as a share of what was consumed", ONE, SHARE, ("all", *_COMPARED),
            "lost_work / Σ size · occupancy", when=_INTERRUPTED,
            figure=Quotient(INTERRUPTED, "lost_work", "area")),
    Measure("freed_share", "Preempted attempts on whose nodes another job started", ONE, SHARE,
            _ALL, "share of preempted and requeued attempts with known nodes after which another "
            "job started on one of their nodes within 60 s",
            when=_INTERRUPTED, figure=Quotient(INTERRUPTED, "taken", "preempted_on_nodes")),
    Measure("preemptible_share", "Waiting with enough that preemptible jobs hold", ONE, SHARE,
            ("all", *_COMPARED), "share of the waiting of attempts to which others give way, in "
            "which they fit only because what these hold counts as free", _SPEC_CAUSES,
            when="where jobs give way to others (preemption in config.toml)",
            figure=Quotient(TAKES, "preemptible_s", "wait_s")),
    Measure("suspended_time", "Time for which jobs were suspended", SECONDS, DURATION,
            ("all", *_COMPARED), "Σ suspended time of attempts", when=_INTERRUPTED,
            figure=Total(INTERRUPTED, "suspended")),
)

_MACHINE: Final = (
    Measure("utilization", "Utilization", ONE, SHARE, ("all", "day", "resource"),
            "busy resource-seconds / capacity resource-seconds; of each resource where the pool "
            "has several", "", Heading.MACHINE),
    Measure("loss_of_capacity", "Loss of capacity", ONE, SHARE, _ALL,
            "time mean of min(idle, queued size) / capacity", "", Heading.MACHINE),
    Measure("queued_mean", "Size of the queue", RESOURCE, NUMBER, ("all", "day"),
            "time mean of the total size of waiting attempts"),
    Measure("covered_time", "Time that the log covers", SECONDS, DURATION, _ALL,
            "the part of the period from the begin of the log to its last instant, over which "
            "utilization and the queue are averaged"),
    Measure("peak_in_use", "Most in use at once", RESOURCE, COUNT, _ALL,
            "greatest amount in use at any time", "", Heading.MACHINE),
    Measure("over_capacity_time", "Time with more in use than the pool has", ONE, SHARE, _ALL,
            "share of the time in which more was in use than the pool has", "", Heading.MACHINE,
            "Share of time with more in use than the pool has"),
    *(
        Measure(f"used_{column}", f"Use of {words}", "pool-hours", NUMBER, ("user",),
                f"{words} occupied · time, in hours of the whole pool",
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
        Measure(f"miss_{fst}_mean", "Miss per attempt (overall unfairness)", SECONDS, DURATION,
                _PLACES, f"overall unfairness by the {fst} FST: Σ max(start − FST, 0) / attempts",
                source, Heading.FAIR_STARTS, when=_FSTS, figure=Quotient(of, "miss")),
        Measure(f"missed_{fst}_share", "Attempts that started later than it", ONE, SHARE, _PLACES,
                f"share of attempts that missed their {fst} FST by more than "
                "`metrics.tolerance_s`", "", Heading.FAIR_STARTS, when=_FSTS,
                figure=Quotient(of, "missed")),
        Measure(f"missed_{fst}_mean", "… mean delay of those", SECONDS, DURATION,
                _PLACES, f"mean miss of the attempts that missed their {fst} FST; NULL if none did",
                "", Heading.FAIR_STARTS, when=_FSTS, figure=Quotient(of, "missed_by", "missed")),
        Measure(f"preferred_{fst}_share", "Attempts that started earlier than it", ONE, SHARE,
                _PLACES, f"share of attempts that started before their {fst} FST, by more than "
                "`metrics.tolerance_s`", "", Heading.FAIR_STARTS, when=_FSTS,
                figure=Quotient(of, "preferred")),
        Measure(f"preference_{fst}_mean", "Preference per attempt", SECONDS, DURATION, _PLACES,
                f"Σ max(FST − start, 0) / attempts, by the {fst} FST", "", Heading.FAIR_STARTS,
                when=_FSTS, figure=Quotient(of, "preference")),
    )


_FAIR_STARTS: Final = (
    Measure("miss_delivered_share", "Delay by later arrivals as a share of waiting", ONE, SHARE,
            _PLACES, "Σ max(start − FST, 0) / Σ wait, by the delivered FST: the start without "
            "later arrivals, on what the machine delivered", when=_FSTS,
            figure=Quotient(DELIVERED, "miss", "wait_s")),
    Measure("miss_cautious_share", "… by the cautious reading", ONE, SHARE, _PLACES,
            "the same, where jobs that a later job of their user passed, with a request and "
            "walltime at least as large, are taken to be held", when=_FSTS,
            figure=Quotient(DELIVERED, "cautious", "wait_s")),
    *_of_fst(DELIVERED),
    *_of_fst(STRICT, _PAPER),
    *_of_fst(RELAXED, _PAPER),
    Measure("fair_slowdown_mean", "Mean fair slowdown", ONE, NUMBER, _WIDTHS,
            "mean bounded slowdown with the delivered FST in place of the start", _KLUSACEK,
            Heading.FAIR_STARTS, when=_FSTS, figure=Quotient(DELIVERED, "fair_slowdown")),
    Measure("over_fair_slowdown_share", "Attempts slowed down more than that", ONE, SHARE, _WIDTHS,
            "share of attempts whose bounded slowdown exceeds their fair slowdown", _KLUSACEK,
            Heading.FAIR_STARTS, when=_FSTS, figure=Quotient(DELIVERED, "slower")),
    Measure("fst_attempts", "Attempts by status of their fair start time", ATTEMPTS, COUNT,
            ("fst_status",), "attempts that ended in the period, by status of their strict and "
            "relaxed FST", when=_FSTS),
)

_OWNERS: Final = (
    Measure("uwt", "Mean (UWT)", NUWT, NUMBER, _KINDS,
            "mean over users (or accounts) of NUWT = Σ wait / Σ (runtime · size)",
            "Klusáček & Rudová §4.1", Heading.OWNERS),
    Measure("nuwt_median", "Median", NUWT, NUMBER, _KINDS, "median NUWT", "", Heading.OWNERS),
    Measure("nuwt_q1", "Lower quartile", NUWT, NUMBER, _KINDS, "lower quartile of NUWT", "",
            Heading.OWNERS),
    Measure("nuwt_q3", "Upper quartile", NUWT, NUMBER, _KINDS, "upper quartile of NUWT", "",
            Heading.OWNERS),
    Measure("nuwt_pooled", "All together (ΣTUWT / ΣTUSA)", NUWT, NUMBER, _KINDS,
            "Σ wait / Σ (runtime · size) over all of them together", "", Heading.OWNERS),
    Measure("nuwt_deviation", "Standard deviation", NUWT, NUMBER, _KINDS,
            "population standard deviation of NUWT", "", Heading.OWNERS),
    Measure("nuwt_f", "F, sum of squared distances from the mean", f"({NUWT})²", NUMBER, _KINDS,
            "Σ (UWT − NUWT)²", "Klusáček & Rudová §4.1", Heading.OWNERS),
    Measure("jain_stretch", "Jain's index of the stretch", ONE, NUMBER, _KINDS,
            "(Σ x)² / (n Σ x²) of the stretch x of users (or accounts) with at least 10 jobs: from "
            "1/n to 1, where all have the same", "Jain, Chiu & Hawe 1984"),
    Measure("nuwt_entities", "Number counted", ENTITIES, COUNT, _KINDS,
            "users (or accounts) in the figures of NUWT", "", Heading.OWNERS),
    Measure("nuwt_single_job", "Left out: fewer than two started jobs", ENTITIES, COUNT, _KINDS,
            "users (or accounts) left out because of fewer than two started jobs",
            "Klusáček & Rudová §5.1", Heading.OWNERS),
    Measure("nuwt_no_usage", "Left out: no usage, so no NUWT", ENTITIES, COUNT, _KINDS,
            "users (or accounts) left out because they used nothing", "", Heading.OWNERS),
)

_FIDELITY: Final = (
    *_OF_ACCOUNT,
    Measure("replayed", "Replayed attempts", ATTEMPTS, COUNT, (),
            "attempts that ended in the period and have a start in both schedules"),
    Measure("start_error_median", "Error of start, median", SECONDS, DURATION, (),
            "median of |replayed start − observed start|, nearest-rank"),
    Measure("start_error_p90", "Error of start, 90th percentile", SECONDS, DURATION, (),
            "90th percentile of |replayed start − observed start|"),
    Measure("wait_correlation", "Rank correlation of waits", ONE, NUMBER, (),
            "Spearman's rank correlation of replayed and observed waits"),
    Measure("mean_wait_error", "Error of the mean wait", SECONDS, DURATION, (),
            "mean replayed wait − mean observed wait"),
    *(
        Measure(f"miss_{fst}_share_beyond_{limit}", f"Miss total beyond the {words}, {fst}", ONE,
                SHARE, (), f"share of the sum of {fst} misses that remains when those below the "
                f"{words} of the error of start are left out")
        for fst in ("strict", "relaxed")
        for limit, words in (("median", "median"), ("p90", "90th percentile"))
    ),
    Measure("agreement", "Agreement of a rule", ONE, SHARE, (),
            "A: Σ |chosen ∩ observed| / Σ (|observed| + |chosen that do not start|) over the "
            "instants with starts at which more wait than start; *observed* are starts after "
            "waits of more than 60 s, *chosen* those that one pass of the rule makes then; a row "
            "for each rule that may be the site's"),
    Measure("agreement_compared", "… instants that were compared", ONE, SHARE, (),
            "share of these instants that were compared, evenly spaced",
            when="where not all were"),
    Measure("agreement_nodes", "… with the free nodes", ONE, SHARE, (),
            "the agreement of the modelled policy where the observed free nodes decide what fits",
            when="where the nodes of the pool are known"),
    Measure("rule_used", "Rule of the fair start times", ONE, COUNT, (),
            "1: a known rule, with an agreement of at least 0.65; 0: none is known, and the order "
            "in which jobs started is kept"),
    Measure("may_say", "What the fair start times may be used for", ONE, COUNT, (),
            "2: figures of the pool and of users; 1: those of the pool within 6 points, and users "
            "as probable; 0: those of the pool, as two readings"),
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
