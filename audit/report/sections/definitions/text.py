"""The meaning of each figure of a report, with a small example that the same code computes.

Most examples are about the same four attempts in a pool of four CPUs.
"""

from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.config import Metrics
from audit.metrics import dominant_share
from audit.metrics.attempts import performance, similar, users
from audit.metrics.attempts.account import account
from audit.metrics.attempts.fidelity import KNOWN
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.resource_equality import overall, resource_equality
from audit.metrics.fairshare.penalty import Hardware, of_fractions, relative_penalty
from audit.metrics.fairshare.usage import Windows, usage
from audit.metrics.pairs import LEAD_S, Log, paired
from audit.metrics.passed import tested
from audit.model import Period, Pool, Resource
from audit.registry.causes import CAUSES
from audit.report import wording
from audit.report.sections.definitions.example_logs import DELAYED, JOBS, PASSED, log_of
from audit.report.sections.definitions.record import Definition, Example

_DEFAULT: Final = Metrics()
_POOL: Final = Pool("example", Resource.cpus, 4)
_END: Final = 260
_WINDOW_S: Final = 100


@cache
def definitions(metrics: Metrics = _DEFAULT) -> tuple[Definition, ...]:
    """Return the definitions under the metrics in force, in the order of the report."""
    described = performance.overtakes(describe(log_of(JOBS), [_POOL], tau_s=metrics.tau_s))
    weighted = resource_equality(described, _END, metrics.resource_equality_weights)
    attempts = weighted.sort("job_number")
    return (
        _wait(attempts),
        _bounded_slowdown(attempts, metrics.tau_s),
        _why(attempts),
        _passed(),
        _similar(),
        _overtaking(attempts),
        _resource_equality(attempts, metrics),
        _delay(metrics.tau_s),
        _fair_start(metrics.tau_s),
        _nuwt(attempts, metrics.keep_single_job_users),
        _dominant_share(attempts),
        _preemption(),
        _machine(attempts),
        _penalties(),
        _decayed(attempts),
    )


def _example(caption: str, frame: pl.DataFrame, columns: str, result: str = "") -> Example:
    """Return an example with columns of ``frame``, as in ``Job <job_id> | User <user>``."""
    items = (item.rstrip(">").split(" <") for item in columns.split(" | "))
    titles, names = zip(*items, strict=True)
    rows = frame.select(names).iter_rows()
    return Example(caption, titles, tuple(tuple(map(_cell, row)) for row in rows), result)


def _cell(value: object) -> str:
    if isinstance(value, int):
        return wording.count(value)
    return wording.number(value) if isinstance(value, float) else str(value)


def _mean(frame: pl.DataFrame, column: str) -> str:
    return wording.number(float(frame.select(pl.col(column).cast(pl.Float64).mean()).item()))


def _wait(attempts: pl.DataFrame) -> Definition:
    return Definition(
        "wait",
        "Attempt and wait",
        "An attempt is one execution of a job; a requeued job has several. Sentences that mention "
        "jobs count attempts. An attempt arrives when it is submitted or, if the log says so, when "
        "it becomes eligible, and waits until it starts. Attempts that never started have no wait; "
        "the report shows their number and the time until they left the queue. An attempt belongs "
        "to the period in which it ended.",
        "wait = start − arrival",
        "fairaudit",
        _example(
            "Four attempts in a pool of 4 CPUs",
            attempts,
            "Job <job_id> | User <user> | CPUs <size> | Arrival <arrival_time> | "
            "Start <start_time> | End <end_time> | Wait (s) <wait_s>",
            f"Mean wait: {_mean(attempts, 'wait_s')} s.",
        ),
    )


def _bounded_slowdown(attempts: pl.DataFrame, tau_s: int) -> Definition:
    return Definition(
        "bounded-slowdown",
        "Bounded slowdown",
        "The time from arrival to end divided by the run time. Runs shorter than "
        f"{tau_s} s count as {tau_s} s, so that very short jobs do not dominate the mean.",
        f"max(1, (end − arrival) / max(runtime, {tau_s} s))",
        "Klusáček and Rudová 2012, §2",
        _example(
            "Bounded slowdown of the four attempts",
            attempts,
            "Job <job_id> | Arrival <arrival_time> | End <end_time> | Runtime (s) <runtime_s> | "
            "Bounded slowdown <bounded_slowdown>",
            f"Mean: {_mean(attempts, 'bounded_slowdown')}.",
        ),
    )


def _why(attempts: pl.DataFrame) -> Definition:
    booked = account(attempts, _POOL, _END, log_begin=0).attempts.sort("job_number")
    causes = (f"{of.heading} (s) <{of.column}>" for of in CAUSES if booked[of.column].sum())
    return Definition(
        "why",
        "Causes of waiting",
        "Every second of a wait has one cause. The job may be held, the pool too small, or a limit "
        "or closed hours may forbid its start. If too little is free, jobs that use what it lacks "
        "share the second. Otherwise jobs ahead may be about to start. The rest is unexplained.",
        f"{' + '.join(cause.key for cause in CAUSES)} = wait",
        "fairaudit, account of waits",
        _example(
            "The waits of the four jobs",
            booked,
            " | ".join(("Job <job_id> | CPUs <size> | Wait (s) <wait_s>", *causes)),
        ),
    )


def _passed() -> Definition:
    end = max(row[-1] for row in PASSED)
    described = describe(log_of(PASSED), [_POOL])
    log = Log.of(described, _POOL, Period("all", 0, end + 1), ZoneInfo("UTC"))
    compared = paired(log, "user").attempts
    numbered = described.with_columns(row=pl.int_range(pl.len()))
    shown = numbered.join(compared.drop("user"), on="row", how="left").sort("job_number")
    shown = shown.with_columns(pl.col("pairs", "lost", "passed_s").fill_null(0))
    return Definition(
        "passed",
        "Passed over",
        f"A job that waits longer than {LEAD_S} s forms a pair with each later job of another "
        "user, in the same partition and QOS, that has at least its size, walltime and GPUs. It "
        f"loses the pair if the later job starts more than {LEAD_S} s before it. Its passed time "
        "runs from the first such start to its own start. A lost pair does not count if a hold or "
        "a limit of its user or account forbade the job's start then. A burst is a series of jobs "
        "that a user submits while earlier ones wait; all pairs between two bursts count as one. "
        "The expected share is that of all others in similar pairs. A user or account is passed "
        "over if its share of lost pairs is significantly greater, with a lower bound of the "
        f"difference of at least {tested.LEAST_EXCESS:.2f}, and its passed time is at least "
        f"{100 * tested.LEAST_OF_WAITING:g} % of all waiting time or "
        f"{wording.duration(tested.LEAST_PER_JOB_S)} per job. Own later jobs must not pass own "
        "earlier ones about as often, and the order must not follow usage. No model is used.",
        "share = Σ lost / Σ pairs;  expected = Σ pairs · rate of all others / Σ pairs",
        "fairaudit",
        _example(
            "Later jobs that requested at least as much",
            shown,
            "Job <job_id> | User <user> | CPUs <size> | Arrival <arrival_time> | "
            "Start <start_time> | Pairs <pairs> | Lost <lost> | Passed time (s) <passed_s>",
            "Job 1 forms no pair with job 4, which requests less.",
        ),
    )


def _similar() -> Definition:
    """Five users request the same at the same time; the last waits longer than the others."""
    waits = {"anna": 60, "ben": 120, "cleo": 90, "dora": 90, "emil": 600}
    rows = [
        (10 * number + job, user, 1, 100 * job, 100 * job + wait, 100 * job + wait + 50)
        for number, (user, wait) in enumerate(waits.items())
        for job in range(1, 8)
    ]
    pool, end = _POOL._replace(capacity=100), max(row[-1] for row in rows)
    accounted = account(describe(log_of(rows), [pool]), pool, end).attempts
    shown = similar.similar_waits(accounted, [Period("all", 0, end)]).group_by("user")
    both = ("wait_s", reference := similar.REFERENCE["user"])
    more = similar.excess(reference).sum().alias("excess_wait_s")
    sums = shown.agg(pl.len().alias("attempts"), pl.col(both).median(), more)
    return Definition(
        "similar",
        "Waits of similar jobs",
        "Similar jobs are those of other users in the same pool, partition and QOS, of the same "
        "width and walltime class, that arrived at about the same time: at least "
        f"{similar.LEAST_SIMILAR} jobs of {similar.LEAST_ENTITIES} users. Half of them waited at "
        "most the median. A user's excess is the total time by which its jobs waited longer. It "
        "names no user, because users who submit in campaigns always wait longer.",
        "excess = Σ max(0, wait − median wait of similar jobs)",
        "fairaudit",
        _example(
            "Five users with seven equal jobs each",
            sums.sort("user"),
            "User <user> | Jobs <attempts> | Median wait (s) <wait_s> | "
            "Median wait of similar jobs (s) <similar_wait_s> | Excess (s) <excess_wait_s>",
        ),
    )


def _overtaking(attempts: pl.DataFrame) -> Definition:
    return Definition(
        "overtaking",
        "Overtaking",
        "An attempt is overtaken by attempts that arrived later and started earlier. That is not "
        "always a disadvantage: a narrow attempt may use capacity that a wide one could not.",
        "",
        "Sabin and Sadayappan, §2",
        _example(
            "Overtaking among the four attempts",
            attempts,
            "Job <job_id> | Arrival <arrival_time> | Start <start_time> | "
            "Overtaken by <overtaken_by> | Overtook <overtook>",
        ),
    )


def _resource_equality(attempts: pl.DataFrame, metrics: Metrics) -> Definition:
    if by_size := metrics.resource_equality_weights == "size":
        part, how = "size · used / active", "in proportion to their size"
        cancels = "over all attempts of a pool, the two cancel out"
    else:
        part, how = "used / number of active attempts", "equally"
        cancels = "they need not cancel out, because no job gets what a narrow one cannot use"
    queued = (
        " Attempts that never started count as waiting until they left the queue."
        if metrics.count_never_started
        else ""
    )
    total = float(attempts["re_unfairness"].sum())
    shortfalls = wording.number(0.0 if abs(total) < 1e-9 else total)  # hides errors of rounding
    return Definition(
        "resource-equality",
        "Resource equality",
        "At every moment, the capacity in use is divided among all attempts that wait or run, "
        f"{how}, but no attempt gets more than its size. The sum of these parts is what an attempt "
        f"deserved. A shortfall is positive and a surplus negative; {cancels}. The overall figure "
        f"is the total shortfall divided by the number of attempts.{queued}",
        f"deserved = ∫ from arrival to end of min({part}, size);  "
        "consumed = (end − start) · size;  shortfall = deserved − consumed;  "
        "overall = Σ max(shortfall, 0) / attempts",
        f"Sabin and Sadayappan, {'§3.2' if by_size else '§2 (RAQFM) and §3.2'}",
        _example(
            "CPU-seconds that each attempt deserved and consumed",
            attempts,
            "Job <job_id> | CPUs <size> | Deserved <re_deserved> | Consumed <re_consumed> | "
            "Shortfall <re_unfairness>",
            f"Overall: {wording.number(overall(attempts))} CPU-seconds per attempt. "
            f"Sum of all shortfalls: {shortfalls}.",
        ),
    )


def _delay(tau_s: int) -> Definition:
    # Imported late: these modules load compiled code.
    from audit.scenario.delivered.agreement import agreement, rule_of
    from audit.scenario.delivered.fair_starts import delivered_starts
    from audit.scenario.scenario import Scenario

    scenario = Scenario(describe(log_of(PASSED), [_POOL], tau_s=tau_s), _POOL, 1_100)
    known = rule_of(scenario, agreement(scenario))
    made = delivered_starts(scenario, known, tau_s=tau_s).sort("job_number")
    delays = made["miss_delivered_s"].to_list()
    return Definition(
        "delay",
        "Delay by later arrivals",
        "An attempt's fair start time (FST) is when it would have started without later arrivals, "
        "in the capacity that the machine demonstrably delivered: what ran, and what the site's "
        "rule left free. With the later arrivals left in, the observed schedule results exactly, "
        "so the whole difference comes from removing them. The rule is the one that agrees best "
        "with the observed starts. "
        f"If none reaches {wording.rough_percent(KNOWN)}, the order in which jobs started is kept. "
        "The cautious reading takes a job to be held while a later job of its user, at least as "
        "large and long, has started before it.",
        "agreement = Σ |chosen ∩ observed| / Σ (|observed| + |chosen that do not start|);  "
        "delay = max(start − FST, 0);  "
        f"fair slowdown = max(1, (FST + occupancy − arrival) / max(runtime, {tau_s} s))",
        "fairaudit; fair slowdown: Klusáček and Rudová 2012, §2.3",
        _example(
            "A job that a later one passed, in a pool of 4 CPUs",
            made,
            "Job <job_id> | CPUs <size> | Arrival <arrival_time> | Start <start_time> | "
            "FST <fst_delivered> | Delay (s) <miss_delivered_s> | "
            "Fair slowdown <fair_slowdown>",
            f"Job 2 arrived after job 1 and started before it: job 1 lost "
            f"{wording.count(delays[0])} s.",
        ),
    )


def _fair_start(tau_s: int) -> Definition:
    # Imported late: these modules load compiled code.
    from audit.scenario.fair_start import fair_start_times
    from audit.scenario.scenario import Scenario

    described = describe(log_of(DELAYED), [_POOL], tau_s=tau_s)
    made = fair_start_times(Scenario(described, _POOL, _END), tau_s=tau_s).sort("job_number")
    early_s = made.filter(job_id="3").select(pl.col("fst_strict") - pl.col("start_time")).item()
    return Definition(
        "fair-start",
        "Strict and relaxed fair start time",
        "These are the fair start times of the literature: when an attempt would have started "
        "without later arrivals under a modelled policy. The model starts from the jobs that ran "
        "and waited when the attempt arrived, and uses real run times. Strict: the attempt queues "
        "at once and may be backfilled past jobs ahead of it. Relaxed: it queues only after all "
        "jobs that waited before it have started. The miss is how much later than its FST an "
        "attempt really started; earlier starts of other attempts do not offset it. On a real log "
        "a large part of it is error of the model. A replay of the whole period shows these "
        "errors, which are the differences between replayed and observed starts. It also shows how "
        "much of the total miss remains without misses below these errors.",
        "miss = max(start − FST, 0);  overall unfairness = Σ miss / attempts with an FST",
        "Sabin and Sadayappan, §3.1",
        _example(
            "Four attempts in a pool of 4 CPUs: first come, first served with EASY backfilling",
            made,
            "Job <job_id> | CPUs <size> | Arrival <arrival_time> | Start <start_time> | "
            "End <end_time> | Strict FST <fst_strict> | Relaxed FST <fst_relaxed> | "
            "Strict miss (s) <miss_strict_s> | Relaxed miss (s) <miss_relaxed_s>",
            f"Job 3 passed job 2 and delayed it: it started {wording.count(early_s)} s before its "
            "FST. Job 4 could have passed job 2 without delaying it, which only the strict FST "
            f"allows. Overall: {_mean(made, 'miss_strict_s')} s per attempt strict, "
            f"{_mean(made, 'miss_relaxed_s')} s relaxed.",
        ),
    )


def _nuwt(attempts: pl.DataFrame, keep_single: bool) -> Definition:
    entities = users.by_entity(attempts, "user")
    spread = users.dispersion(entities, keep_single)
    single = "" if keep_single else "with fewer than two started jobs and users "
    return Definition(
        "nuwt",
        "NUWT, UWT and F",
        "A user's NUWT is the total wait of its attempts (TUWT) divided by the resource-seconds "
        "that they used (TUSA). It is high for users who wait long for little. UWT is the mean of "
        f"NUWT over users, and F the sum of squared deviations from it. Users {single}without "
        "usage are left out and counted. A few users with very little usage can dominate the mean, "
        "so the report also shows the median, the quartiles and the pooled ratio.",
        "NUWT = Σ wait / Σ (runtime · size);  UWT = mean of NUWT;  F = Σ (UWT − NUWT)²",
        "Klusáček and Rudová 2012, §2.3, §4.1, §5.1",
        _example(
            "NUWT of the two users",
            entities,
            "User <entity> | Jobs <jobs> | TUWT (s) <tuwt_s> | TUSA (CPU-s) <tusa> | NUWT <nuwt>",
            f"UWT {wording.number(spread.uwt)}, median {wording.number(spread.median)} (nearest "
            f"rank), pooled ratio {wording.number(spread.pooled)}, standard deviation "
            f"{wording.number(spread.deviation)}, F {wording.number(spread.f)}.",
        ),
    )


def _dominant_share(attempts: pl.DataFrame) -> Definition:
    entities = users.by_entity(attempts, "user")
    return Definition(
        "dominant-share",
        "Deficit of dominant share",
        "A user's dominant share is the greatest fraction of any resource of the pool that its "
        "jobs use. The fair one is that of dominant-resource fairness. At every moment, the shares "
        "of all users with jobs in the pool grow in proportion to the site's shares (else "
        "equally). A user's share stops when its demand is met or a resource that it needs is "
        "used up. The deficit is the difference over time, in seconds of the whole pool. Held "
        "jobs demand nothing.",
        "deficit = ∫ max(0, fair − used) dt",
        "Ghodsi et al. 2011, §4",
        _example(
            "The two users",
            dominant_share.beside(entities, "user", attempts, _POOL, (0, _END), _END)[0],
            "User <entity> | Jobs <jobs> | Deficit (s of the pool) <share_deficit>",
            "From 10 s to 100 s, Ben waits for all CPUs; half of them are a fair share.",
        ),
    )


def _preemption() -> Definition:
    return Definition(
        "preemption",
        "Work lost to preemption",
        "A preempted or requeued job loses what it computed since its last checkpoint. The log "
        "does not show checkpoints, so whole attempts are counted: an upper bound.",
        "lost work ≤ size · occupancy of attempts that ended PREEMPTED or were requeued",
        "fairaudit",
        Example(
            "A job of 4 CPUs",
            ("Attempt", "State", "Occupancy (s)", "Lost work, at most (CPU-s)"),
            (("1", "PREEMPTED", "100", "400"), ("2", "COMPLETED", "300", "0")),
            "",
        ),
    )


def _machine(attempts: pl.DataFrame) -> Definition:
    did = performance.activity(attempts, _POOL.capacity, [0, _END], _END)
    return Definition(
        "utilization",
        "Utilization and loss of capacity",
        "Utilization is the busy part of the pool's capacity over the whole period. Loss of "
        "capacity is the part that was idle while queued jobs requested at least as much. It is "
        "the time average of the smaller of idle and queued capacity.",
        "utilization = busy resource-seconds / capacity resource-seconds;  "
        "loss = mean of min(idle, queued) / capacity",
        "fairaudit; also in general use",
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
    """The costs of some requests; the first is the example of [M] §1."""
    shown = ("cpu", "max", "sum", "root")
    requests = {
        "A tenth of the CPUs, all of the memory": 1.0,
        "A tenth of both": 0.1,
        "A tenth of the CPUs alone": 0.0,
    }
    rows = []
    for request, memory in requests.items():
        fractions = {"cpus": np.array([0.1]), "mem_bytes": np.array([memory])}
        costs = (of_fractions(name, fractions).tolist()[0] for name in shown)
        rows.append((request, *map(wording.number, costs)))
    return Definition(
        "penalty",
        "Penalty",
        "A penalty is the cost of each second of an attempt, computed from the fractions of the "
        "pool's resources that it held. By CPUs alone, an attempt that takes all of the memory but "
        "few CPUs costs very little, although no other job can use the remaining CPUs. The other "
        "penalties include all known resources: the largest fraction, the mean, or the part lost.",
        "with q_x the fraction of resource x and r resources:  cpu = q_cpus;  max = max q_x;  "
        "sum = Σ q_x / r;  root = 1 − (Π (1 − q_x))^(1/r)",
        "Klusáček, Rudová and Jaroš, §1",
        Example("Cost of a second of three attempts", ("Attempt", *shown), tuple(rows), ""),
    )


def _decayed(attempts: pl.DataFrame) -> Definition:
    available = {"cpus": float(_POOL.capacity)}
    charged = relative_penalty(attempts, "cpu", Hardware(available=available)).charged
    method = Windows(interval_s=_WINDOW_S, depth=3, decay=0.5)
    used = usage(charged, "user", method, [_END], _END)
    one = Windows(interval_s=_WINDOW_S, depth=1, decay=1.0)
    ends = [_END - age * _WINDOW_S for age in range(3)]
    windows = usage(charged, "user", one, ends[::-1], _END).usage.tolist()
    columns = (*windows[::-1], used.usage[0].tolist())
    return Definition(
        "decayed-usage",
        "Decayed usage",
        "Each second of an attempt counts with its penalty, such as the fraction of the pool's "
        "CPUs that it occupied. Older seconds count less. A window has a weight of decay to the "
        "power of its age; with a half-life, 2 to the power of minus the age in half-lives. The "
        "usage fraction is a user's part of all usage. If a target is configured, "
        "an operator computes a priority from the target and the usage fraction, for example their "
        "difference. Rank 1 has the highest priority. A share tree compares targets and usage of "
        "the children of each account.",
        "usage fraction = Σ decay^i · t_i / Σ decay^i · T_i, where t_i are the user's "
        "penalty-seconds in window i (0 is the latest) and T_i those of all users",
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
            f"Usage of all users: {wording.number(used.total.tolist()[0], 5)} s.",
        ),
    )
