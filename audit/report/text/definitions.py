"""What each figure of a report means, with a small example worked out by the real functions.

The examples are computed when the report is made, by the code that computed its figures: they
cannot drift away from it. All look at the same four attempts in a pool of four CPUs.
"""

from functools import cache
from typing import Final

import numpy as np
import polars as pl

from audit.config import Metrics
from audit.metrics.attempts import performance, users
from audit.metrics.attempts.account import account
from audit.metrics.attempts.fidelity import ENOUGH_AGREEMENT, ENOUGH_CORRELATION
from audit.metrics.attempts.peers import peer_waits
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.resource_equality import overall, resource_equality
from audit.metrics.fairshare.penalty import Hardware, of_fractions, relative_penalty
from audit.metrics.fairshare.usage import Windows, usage
from audit.metrics.pairs import Log, paired
from audit.model import Period, Pool, Resource
from audit.registry.causes import CAUSES
from audit.report.record.page import Definition, Example
from audit.report.text import wording
from audit.report.text.worked import example_of, log

_DEFAULT: Final = Metrics()
_POOL: Final = Pool("example", Resource.cpus, 4)
_END: Final = 260
_WINDOW_S: Final = 100
# job, user, CPUs, submit, start, end. Anna's second job slips past Ben's wide one.
_JOBS: Final = (
    (1, "anna", 3, 0, 0, 100),
    (2, "ben", 4, 10, 100, 200),
    (3, "anna", 1, 20, 20, 80),
    (4, "ben", 1, 30, 200, 260),
)
# The same four, but anna's second job runs so long that ben's wide one has to wait for it.
_DELAYED: Final = (
    (1, "anna", 3, 0, 0, 100),
    (2, "ben", 4, 10, 150, 250),
    (3, "anna", 1, 20, 20, 150),
    (4, "ben", 1, 30, 250, 300),
)
# Ben's job waits while anna's, which requests as much and arrives later, starts first.
_PASSED: Final = (
    (1, "ben", 2, 0, 900, 1_000),
    (2, "anna", 2, 100, 300, 400),
    (3, "cleo", 4, 200, 1_000, 1_100),
    (4, "dora", 1, 250, 350, 400),
)


@cache
def definitions(metrics: Metrics = _DEFAULT) -> tuple[Definition, ...]:
    """The definitions, in the order in which a report uses them.

    Args:
        metrics: what was in force when the figures were computed.
    """
    attempts = _attempts(metrics)
    return (
        _wait(attempts),
        _bounded_slowdown(attempts, metrics.tau_s),
        _why(attempts),
        _passed(),
        _peers(),
        _overtaking(attempts),
        _resource_equality(attempts, metrics),
        _fair_start(metrics.tau_s),
        _nuwt(attempts, metrics.keep_single_job_users),
        _machine(attempts),
        _penalties(),
        _decayed(attempts),
    )


def _wait(attempts: pl.DataFrame) -> Definition:
    return Definition(
        "wait",
        "Attempt and wait",
        "An attempt is one execution of a job; a job that was requeued has several. Where a report "
        "says jobs in a sentence, it counts attempts. An attempt arrives "
        "when it is submitted, or becomes eligible where the log knows that, and waits until "
        "it starts. Attempts that never started have no wait: their number, and the time "
        "until they left the queue, stand beside each figure of waits. An attempt belongs to "
        "the period in which it ended.",
        "wait = start − arrival",
        "fairaudit",
        example_of(
            "Four attempts in a pool of 4 CPUs",
            attempts,
            ("job_id", "user", "size", "arrival_time", "start_time", "end_time", "wait_s"),
            ("Job", "User", "CPUs", "Arrival", "Start", "End", "Wait (s)"),
            f"Mean wait: {wording.number(_mean(attempts, 'wait_s'))} s.",
        ),
    )


def _bounded_slowdown(attempts: pl.DataFrame, tau_s: int) -> Definition:
    return Definition(
        "bounded-slowdown",
        "Bounded slowdown",
        "How many times longer an attempt took, waiting included, than it ran; runs shorter "
        f"than {tau_s} s count as {tau_s} s, so that trifles do not rule the mean.",
        f"max(1, (end − arrival) / max(runtime, {tau_s} s))",
        "Klusáček and Rudová 2012, §2",
        example_of(
            "Bounded slowdown of the four attempts",
            attempts,
            ("job_id", "arrival_time", "end_time", "runtime_s", "bounded_slowdown"),
            ("Job", "Arrival", "End", "Runtime (s)", "Bounded slowdown"),
            f"Mean: {wording.number(_mean(attempts, 'bounded_slowdown'))}.",
        ),
    )


def _why(attempts: pl.DataFrame) -> Definition:
    booked = account(attempts, _POOL, _END, cycle_s=60).attempts.sort("job_number")
    causes = [cause for cause in CAUSES if booked[cause.column].sum()]
    return Definition(
        "why",
        "What jobs waited for",
        "Every second of a wait is booked to one cause, without any model. A job may be held, or "
        "the pool may not have what it requested, or a limit or closed hours may forbid it. If it "
        "does not fit into the free capacity, the second is divided among those who use what it "
        "lacks. If it fits, jobs ahead of it may need that capacity. What is left is unexplained. "
        "Sums over a pool do not see single nodes or their features, so part of what is "
        "unexplained may be due to them.",
        f"{' + '.join(cause.key for cause in CAUSES)} = wait",
        "fairaudit, account of waits",
        example_of(
            "The waits of the four jobs",
            booked,
            ("job_id", "size", "wait_s", *(cause.column for cause in causes)),
            ("Job", "CPUs", "Wait (s)", *(f"{cause.heading} (s)" for cause in causes)),
            "",
        ),
    )


def _passed() -> Definition:
    end = max(row[-1] for row in _PASSED)
    described = describe(log(_PASSED), [_POOL])
    compared = paired(Log.of(described, _POOL, Period("all", 0, end + 1)), "user")
    numbered = described.with_columns(row=pl.int_range(pl.len()))
    shown = numbered.join(compared, on="row", how="left").sort("job_number")
    shown = shown.with_columns(pl.col("pairs", "lost", "passed_s").fill_null(0))
    return Definition(
        "passed",
        "Passed over",
        "A job makes a pair with each later job of another user in the same partition and QOS "
        "that arrives while it waits and requests at least as much of everything. It loses the "
        "pair if the later job starts more than 60 s earlier; its passed time runs from the first "
        "such start to its own. There is no pair while a hold, a limit or closed hours keep the "
        "job from starting. All pairs between two bursts of jobs together count as one. The "
        "expected share is what all others lost in similar pairs. Users, accounts, partitions and "
        "QOS are passed over if their share of lost pairs is significantly greater, the lower "
        "bound of the difference is at least 0.10, and their passed time is at least 0.5 % of all "
        "waiting or one day per job. Partitions and QOS are compared with all others. No model is "
        "used.",
        "share = Σ lost / Σ pairs;  expected = Σ pairs · rate of all others / Σ pairs",
        "fairaudit",
        example_of(
            "Later jobs that requested at least as much",
            shown,
            (
                "job_id",
                "user",
                "size",
                "arrival_time",
                "start_time",
                "pairs",
                "lost",
                "passed_s",
            ),
            ("Job", "User", "CPUs", "Arrival", "Start", "Pairs", "Lost", "Passed time (s)"),
            "Job 1 makes no pair with job 4, which requests less.",
        ),
    )


def _peers() -> Definition:
    """Five users ask for the same at the same time; the last waits longer than the others."""
    waits = {"anna": 60, "ben": 120, "cleo": 90, "dora": 90, "emil": 600}
    rows = [
        (10 * number + job, user, 1, 100 * job, 100 * job + wait, 100 * job + wait + 50)
        for number, (user, wait) in enumerate(waits.items())
        for job in range(1, 8)
    ]
    described = describe(log(tuple(rows)), [_POOL._replace(capacity=100)])
    pool = _POOL._replace(capacity=100)
    end = max(row[-1] for row in rows)
    beside = peer_waits(account(described, pool, end, cycle_s=60).attempts, [Period("all", 0, end)])
    shown = beside.group_by("user").agg(
        pl.len().alias("attempts"), pl.col("wait_s").mean(), pl.col("peer_wait_s").mean()
    )
    shown = shown.with_columns(ratio=pl.col("wait_s") / pl.col("peer_wait_s")).sort("user")
    return Definition(
        "peers",
        "Wait beside similar jobs",
        "Similar jobs are jobs of other users in the same pool, of the same width and walltime "
        "class, that arrived at about the same time: at least 20 of at least 3 users, each user "
        "counting once. The ratio of a user is the wait of its jobs divided by that of similar "
        "jobs. It names nobody: users who work in campaigns have high ratios by themselves.",
        "ratio = Σ wait / Σ mean wait of similar jobs;  "
        "excess = Σ (wait − mean wait of similar jobs)",
        "fairaudit",
        example_of(
            "Five users with seven equal jobs each",
            shown,
            ("user", "attempts", "wait_s", "peer_wait_s", "ratio"),
            ("User", "Jobs", "Mean wait (s)", "Of similar jobs (s)", "Ratio"),
            "",
        ),
    )


def _overtaking(attempts: pl.DataFrame) -> Definition:
    return Definition(
        "overtaking",
        "Overtaking",
        "An attempt is overtaken by those that arrived later and started earlier. This is not "
        "always a disadvantage: a narrow attempt may use what a wide one could not.",
        "",
        "Sabin and Sadayappan, §2",
        example_of(
            "Who overtook whom",
            attempts,
            ("job_id", "arrival_time", "start_time", "overtaken_by", "overtook"),
            ("Job", "Arrival", "Start", "Overtaken by", "Overtook"),
            "",
        ),
    )


def _resource_equality(attempts: pl.DataFrame, metrics: Metrics) -> Definition:
    by_size = metrics.resource_equality_weights == "size"
    cancels = (
        "and over all attempts of a pool the two cancel out"
        if by_size
        else "and what a narrow attempt could not use is given to nobody, so the two need not "
        "cancel out"
    )
    queued = (
        " Attempts that never started count as waiting until they left the queue."
        if metrics.count_never_started
        else ""
    )
    part = "size · used / active" if by_size else "used / number of active attempts"
    return Definition(
        "resource-equality",
        "Resource equality",
        "At every moment, the capacity in use is divided among all attempts that are "
        f"waiting or running, {'in proportion to their size' if by_size else 'the same to each'}, "
        "and none gets more than its size. "
        "An attempt deserved what it would have collected in this way. A shortfall is positive, a "
        f"surplus negative, {cancels}. "
        f"The overall figure is the total shortfall divided by the number of attempts.{queued}",
        f"deserved = ∫ from arrival to end of min({part}, size);  "
        "consumed = (end − start) · size;  shortfall = deserved − consumed;  "
        "overall = Σ max(shortfall, 0) / attempts",
        f"Sabin and Sadayappan, {'§3.2' if by_size else '§2 (RAQFM) and §3.2'}",
        example_of(
            "What each deserved and got, in CPU-seconds",
            attempts,
            ("job_id", "size", "re_deserved", "re_consumed", "re_unfairness"),
            ("Job", "CPUs", "Deserved", "Consumed", "Shortfall"),
            f"Overall: {wording.number(overall(attempts))} CPU-seconds per attempt. "
            f"Sum of all shortfalls: {_sum_of_shortfalls(attempts)}.",
        ),
    )


def _fair_start(tau_s: int) -> Definition:
    # compiled code: not before it is due
    from audit.scenario.fair_start import fair_start_times
    from audit.scenario.scenario import Scenario

    described = describe(log(_DELAYED), [_POOL], tau_s=tau_s)
    made = fair_start_times(Scenario(described, _POOL, _END), tau_s=tau_s).sort("job_number")
    strict, relaxed = (wording.number(_mean(made, f"miss_{of}_s")) for of in ("strict", "relaxed"))
    return Definition(
        "fair-start",
        "Fair start time, miss and fair slowdown",
        "An attempt's fair start time (FST) is when it would have started had nobody arrived after "
        "it. From what ran and waited when it arrived, the policy of the pool is played forward "
        "with the times that everything really took. Strict: the attempt queues at once, and may "
        "slip past those ahead of it where the policy allows that. Relaxed: it queues only when "
        "all that waited before it have started. What it started later than that is its miss; what "
        "it started earlier is preference, and makes up for no miss. Fair slowdown is bounded "
        "slowdown with the strict FST in the place of the start. The played-forward policy is a "
        "model, so a replay of the whole period under it shows how far the figures can be "
        "believed: by how much replayed starts differ from those observed, and how much of the "
        "miss total remains without misses that are smaller than such errors. Played forward with "
        "everybody who did come later, the model gives another start: what lies between the FST "
        "and that is overtaken time, the cost of later arrivals; what lies between that and the "
        "real start the model does not explain. Nobody is named by any of it unless the model "
        f"starts {wording.rough_percent(ENOUGH_AGREEMENT)} of those that waited when the site did, "
        f"and its waits rank as those observed by {ENOUGH_CORRELATION:g}.",
        "miss = max(start − FST, 0);  overtaken = modelled start − FST;  "
        "overall unfairness = Σ miss / attempts with an FST;  "
        f"fair slowdown = max(1, (FST + occupancy − arrival) / max(runtime, {tau_s} s))",
        "Sabin and Sadayappan, §3.1; fair slowdown: Klusáček and Rudová 2012, §2.3",
        example_of(
            "Four attempts in a pool of 4 CPUs, by first come, first served with EASY backfilling",
            made,
            (
                *("job_id", "size", "arrival_time", "start_time", "end_time", "fst_strict"),
                *("fst_relaxed", "miss_strict_s", "miss_relaxed_s", "fair_slowdown"),
            ),
            (
                *("Job", "CPUs", "Arrival", "Start", "End", "Strict FST", "Relaxed FST"),
                *("Strict miss (s)", "Relaxed miss (s)", "Fair slowdown"),
            ),
            "Job 3 was let past job 2 and delayed it: it started "
            f"{wording.count(_preference(made, '3'))} s before its FST. Job 4 could have "
            "slipped past job 2 without delaying it, which only the strict FST grants. Overall: "
            f"{strict} s per attempt strict, {relaxed} s relaxed.",
        ),
    )


def _preference(made: pl.DataFrame, job: str) -> int:
    own = made.filter(pl.col("job_id") == job)
    return int(own.select(pl.col("fst_strict") - pl.col("start_time")).item())


def _nuwt(attempts: pl.DataFrame, keep_single: bool) -> Definition:
    entities = users.by_entity(attempts, "user")
    spread = users.dispersion(entities, keep_single)
    left_out = (
        "Users without usage are left out and counted."
        if keep_single
        else "Users with fewer than two started jobs, and those without usage, are left out and "
        "counted."
    )
    return Definition(
        "nuwt",
        "NUWT, UWT and F",
        "The time that a user's attempts waited (TUWT) over the resource-seconds that they used "
        "(TUSA) is the user's NUWT: high where one waits long for little. UWT is its mean over "
        f"users, F the sum of squared distances from that mean. {left_out} "
        "A few users with next to no "
        "usage can rule the mean, so median, quartiles and the pooled ratio stand beside it.",
        "NUWT = Σ wait / Σ (runtime · size);  UWT = mean of NUWT;  F = Σ (UWT − NUWT)²",
        "Klusáček and Rudová 2012, §2.3, §4.1, §5.1",
        example_of(
            "NUWT of the two users",
            entities,
            ("entity", "jobs", "tuwt_s", "tusa", "nuwt"),
            ("User", "Jobs", "TUWT (s)", "TUSA (CPU-s)", "NUWT"),
            f"UWT {wording.number(spread.uwt)}, median {wording.number(spread.median)} (nearest "
            f"rank), pooled ratio {wording.number(spread.pooled)}, standard deviation "
            f"{wording.number(spread.deviation)}, F {wording.number(spread.f)}.",
        ),
    )


def _machine(attempts: pl.DataFrame) -> Definition:
    did = performance.activity(attempts, _POOL.capacity, [0, _END], _END)
    return Definition(
        "utilization",
        "Utilization and loss of capacity",
        "Utilization is the busy part of what the pool could have given over the whole period. "
        "Loss of capacity is the part that stood idle while the queue asked for at least as much: "
        "the time mean of the smaller of what is idle and what is queued.",
        "utilization = busy resource-seconds / capacity resource-seconds;  "
        "loss = mean of min(idle, queued) / capacity",
        "fairaudit; in use elsewhere too",
        Example(
            f"The pool over the {_END} seconds of the example",
            ("Figure", "Value"),
            (
                ("Utilization", wording.percent(performance.utilization(did))),
                ("Loss of capacity", wording.percent(performance.loss_of_capacity(did))),
                ("Mean queue (CPUs)", wording.number(performance.queued_mean(did))),
            ),
            "",
        ),
    )


def _penalties() -> Definition:
    """What the same job costs, by penalty; [M] §1's has a tenth of the CPUs and all memory."""
    shown = ("cpu", "max", "sum", "root")
    requests = (
        ("A tenth of the CPUs, all of the memory", 0.1, 1.0),
        ("A tenth of both", 0.1, 0.1),
        ("A tenth of the CPUs alone", 0.1, 0.0),
    )
    return Definition(
        "penalty",
        "Penalty",
        "What each second of an attempt costs, from the parts that it held of each resource of its "
        "pool. By CPUs alone, who takes all memory and leaves the CPUs idle pays next to nothing, "
        "though nobody else can use them. The others heed every resource that the pool is known to "
        "have: the greatest part, the mean of all, or what is left to nobody else.",
        "with q_x the part of resource x and r resources:  cpu = q_cpus;  max = max q_x;  "
        "sum = Σ q_x / r;  root = 1 − (Π (1 − q_x))^(1/r)",
        "Klusáček, Rudová and Jaroš, §1, formulas 2, 3, 9 and 11",
        Example(
            "Cost of a second of three attempts",
            ("Attempt", *shown),
            tuple(
                (
                    what,
                    *(
                        wording.number(
                            of_fractions(
                                name, {"cpus": np.array([cpus]), "mem_bytes": np.array([memory])}
                            ).tolist()[0]
                        )
                        for name in shown
                    ),
                )
                for what, cpus, memory in requests
            ),
            "",
        ),
    )


def _decayed(attempts: pl.DataFrame) -> Definition:
    available = {"cpus": float(_POOL.capacity)}
    charged = relative_penalty(attempts, "cpu", Hardware(available=available)).charged
    method = Windows(interval_s=_WINDOW_S, depth=3, decay=0.5)
    used = usage(charged, "user", method, [_END], _END)
    one = Windows(interval_s=_WINDOW_S, depth=1, decay=1.0)
    ends = [_END - age * _WINDOW_S for age in (2, 1, 0)]
    oldest, middle, youngest = usage(charged, "user", one, ends, _END).usage.tolist()
    columns = (youngest, middle, oldest, used.usage[0].tolist())
    return Definition(
        "decayed-usage",
        "Decayed usage",
        "What counts of an attempt in each second is its penalty, such as the part of its pool's "
        "CPUs that it occupied. Older seconds count less: with windows, those of each window are "
        "weighted by decay to the power of its age; with a half-life, by 2 to the power of minus "
        "the age in half-lives. The usage fraction is a user's part of everyone's usage. It is "
        "compared with the target, where one is configured: an operator makes a priority of the "
        "two, such as target − usage fraction, and rank 1, the highest priority, would be served "
        "first by a scheduler that goes by nothing else. In a share tree targets and usage are "
        "compared among those below the same account, level by level.",
        "usage fraction = Σ decay^i · t_i / Σ decay^i · T_i, where t_i are the user's "
        "penalty-seconds in window i (0 is the latest) and T_i everyone's",
        "Bui et al., §2.1, equation 1",
        Example(
            f"Usage after {_END} s, with 3 windows of {_WINDOW_S} s and a decay of "
            f"{method.decay:g} (in seconds of the whole pool)",
            ("User", "Window 0", "Window 1", "Window 2", "Usage", "Usage fraction"),
            tuple(
                (
                    str(name),
                    *(wording.number(column[at], 4) for column in columns),
                    wording.percent(used.fraction[0].tolist()[at]),
                )
                for at, name in enumerate(used.entities)
            ),
            f"Everyone's usage: {wording.number(used.total.tolist()[0], 5)} s.",
        ),
    )


def _attempts(metrics: Metrics) -> pl.DataFrame:
    described = performance.overtakes(describe(log(_JOBS), [_POOL], tau_s=metrics.tau_s))
    return resource_equality(described, _END, metrics.resource_equality_weights).sort("job_number")


def _mean(frame: pl.DataFrame, column: str) -> float:
    return float(frame.select(pl.col(column).cast(pl.Float64).mean()).item())


def _sum_of_shortfalls(frame: pl.DataFrame) -> str:
    total = float(frame.select(pl.col("re_unfairness").sum()).item())
    # What rounding leaves of zero is not worth a reader's thought.
    return wording.number(0.0 if abs(total) < 1e-9 else total)
