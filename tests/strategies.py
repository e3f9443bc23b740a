"""Small workloads with everything in them that real logs have, and more of it."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st

from audit.metrics.fairshare.operators import OPERATORS
from audit.metrics.fairshare.trees import NO_SHARE, Tree, TreeNode
from audit.metrics.fairshare.usage import HalfLife, Method, Windows
from audit.metrics.slurm.multifactor import Scale
from audit.metrics.slurm.shares import tree_of
from audit.metrics.slurm.usage import SlurmUsage
from audit.model import ATTEMPTS, Backfill, Order, Policy, Pool, Resource
from audit.model import CapacityStep as Declared
from audit.policies import takers
from audit.scenario.limits import NO_EDGES, ROOM, SHUT, UNLIMITED, AttemptLimits, WindowEdges
from audit.scenario.multifactor import Multifactor, Priorities
from audit.scenario.ownership import Fairshare, Ownership
from audit.scenario.workload import NEVER, Preemptible, Workload
from audit.words import Algorithm
from tests.naive import multifactor
from tests.naive.simulation import BLOCKED, Job, Log, Ranking, Rule, Step, Window, estimate_of

EPOCH = 1_000_000_000
"""Times start here, so that small sums of large numbers are met."""
NOW = EPOCH + 60
"""When these logs were taken; no attempt that has ended ends later."""


_ORDERS, _BACKFILLS = tuple(Order), tuple(Backfill)
EVERY_POLICY = [
    pytest.param(
        order,
        backfill,
        id=f"{backfill}-{order}",
        marks=() if (i - k) % len(_BACKFILLS) < 2 else pytest.mark.thorough,
    )
    for i, order in enumerate(_ORDERS)
    for k, backfill in enumerate(_BACKFILLS)
]
"""Every order under every backfilling; of those that are not marked, each order meets two
backfillings and each backfilling two orders or more."""


@functools.lru_cache(None, typed=True)
def _strategy(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


def sampled(values: Sequence[Any]) -> st.SearchStrategy[Any]:
    """``st.sampled_from``, made once: within a strategy, to make it takes longer than to draw."""
    return _strategy(*values)


_instants = st.integers(0, 30)
_lengths = st.sampled_from([0, 0, 1, 2, 3, 7, 15, 30])
_sizes = st.sampled_from([None, 0, 1, 1, 2, 3, 4, 5, 8, 16, 17, 128, 129, 3_000])
_standings = st.sampled_from(
    ["ended"] * 6 + ["running", "pending", "never_started", "never_started", "start_unknown"]
)
_names = st.sampled_from([None, "ann", "bob", "cem", "dot"])
_NO_ATTEMPTS = pl.DataFrame(schema=ATTEMPTS)


def frame(records: list[dict[str, Any]]) -> pl.DataFrame:
    """Records as attempts; what they leave out is null, job and line numbers are counted."""
    numbered = [
        {"cluster": "c", "job_id": str(k), "job_number": k, "attempt": 1, "line": k, **record}
        for k, record in enumerate(records, 1)
    ]
    if not numbered:
        return _NO_ATTEMPTS
    given = {name: of for name, of in ATTEMPTS.items() if any(name in one for one in numbered)}
    parts = [_NO_ATTEMPTS, pl.from_dicts(numbered, schema=given)]
    return pl.concat(parts, how="diagonal", rechunk=True)


def ended(
    arrival: int, start: int, end: int, size: int, user: str | None = "ann", **more: Any
) -> dict[str, Any]:
    """The record of an attempt that ran."""
    return {
        "submit_time": arrival,
        "start_time": start,
        "end_time": end,
        "cpus": size,
        "user": user,
        "state": "COMPLETED",
        **more,
    }


@st.composite
def _record(draw: st.DrawFn, only_ended: bool) -> dict[str, Any]:
    standing = "ended" if only_ended else draw(_standings)
    submit = EPOCH + draw(_instants)
    start = max(submit + draw(_lengths) - draw(sampled([0, 0, 0, 2])), EPOCH)
    end = min(start, NOW) + min(draw(_lengths), max(NOW - start, 0))
    record: dict[str, Any] = {
        "submit_time": draw(sampled([submit, submit, submit, submit, None])),
        "eligible_time": draw(sampled([None, None, submit + 1, submit + 5])),
        "cpus": draw(_sizes),
        "user": draw(_names),
        "account": draw(sampled([None, "physics", "history"])),
        "suspended_s": draw(sampled([None, None, 0, 2, 100])),
        "state": "PENDING" if standing == "pending" else "COMPLETED",
    }
    if only_ended and record["eligible_time"] is None:
        record["submit_time"] = submit  # or the arrival is unknown
    if standing in ("ended", "running"):
        record["start_time"] = start
    if standing in ("ended", "never_started"):
        record["end_time"] = end
    if standing == "start_unknown":
        record["occupancy_s"] = draw(_lengths)
    return record


@st.composite
def workloads(draw: st.DrawFn, most: int = 14, only_ended: bool = False) -> pl.DataFrame:
    """Attempts of one pool; some are further attempts of the job before them."""
    records = draw(st.lists(_record(only_ended), max_size=most))
    job, attempt = 0, 1
    for record in records:
        again = job > 0 and draw(st.integers(0, 4)) == 0
        job, attempt = (job, attempt + 1) if again else (job + 1, 1)
        record |= {"job_id": str(job), "job_number": job, "attempt": attempt}
    return frame(records)


CHARGED = pl.Schema(
    {
        "user": pl.String,
        "account": pl.String,
        "start_time": pl.Int64,
        "end_time": pl.Int64,
        "penalty": pl.Float64,
    }
)
"""The columns that usage is made of."""


@st.composite
def charged(draw: st.DrawFn, unit: int = 1, begin: int = EPOCH, most: int = 14) -> pl.DataFrame:
    """Attempts with penalties, over 60 ``unit`` seconds from ``begin`` on, when the log was taken.

    Some never started, some are still running, some took no time.
    """
    rows = []
    for _ in range(draw(st.integers(0, most))):
        start = draw(st.integers(0, 60))
        end = min(start + draw(_lengths), 60)
        life = draw(sampled(["ended"] * 5 + ["running", "never_started"]))
        rows.append(
            {
                "user": draw(_names),
                "account": draw(sampled([None, "physics", "history"])),
                "start_time": None if life == "never_started" else begin + start * unit,
                "end_time": None if life == "running" else begin + end * unit,
                "penalty": draw(sampled([0.0, 0.1, 0.3, 1.0, 1 / 3, 2**-40, 64.0])),
            }
        )
    return pl.DataFrame(rows, schema=CHARGED)


@st.composite
def policies(
    draw: st.DrawFn,
    order: Order | None = None,
    backfill: Backfill | None = None,
    slurm: bool = True,
    intervals: bool = False,
) -> Policy:
    """Any policy; half of those that can be have a depth or a window.

    Args:
        draw: Hypothesis's.
        order, backfill: None: any.
        slurm: whether it may be ``multifactor``, which needs to know how Slurm is configured.
        intervals: whether there may be passes only every so often.
    """
    orders = [one for one in Order if slurm or one is not Order.multifactor]
    order = draw(sampled(orders)) if order is None else order
    backfill = draw(sampled(list(Backfill))) if backfill is None else backfill
    every = draw(sampled([None, None, 1, 2, 5])) if intervals else None
    if backfill not in takers("depth"):
        return Policy(order, backfill, interval_s=every)
    depth = draw(sampled([None, None, None, 1, 2, 3]))
    window = draw(sampled([None, None, None, 1, 3, 8]))
    reservations = None
    if backfill is Backfill.conservative_replan:
        reservations = draw(sampled([None, None, 1, 2, 3]))
    resolution = draw(sampled([None, None, 2, 4])) if reservations is None else None
    if backfill is not Backfill.conservative_replan:
        resolution = None
    delay = draw(sampled([None, None, 2, 3])) if backfill in takers("batch_delay_s") else None
    return Policy(order, backfill, depth, window, every, reservations, resolution, delay)


def rule(policy: Policy) -> Rule:
    """The same policy for the slow twin."""
    return Rule(
        *(policy.order.value, policy.backfill.value, policy.depth, policy.window_s),
        interval=policy.interval_s,
        reservations=policy.reservations,
        resolution=policy.resolution_s,
        pause=policy.batch_delay_s or 0,
    )


TREE = {
    "physics": ("", 40),
    "chemistry": ("", 60),
    "theory": ("physics", 3),
    "bob": ("chemistry", 2),
    "cem": ("chemistry", None),
    "ann": ("theory", 1),
    "dot": ("", 10),
}
"""A share tree: parent and share of each node, None: fairshare=parent."""
_trees = st.sampled_from([None, TREE])


@st.composite
def rankings(draw: st.DrawFn) -> Ranking:
    """How owners are ranked: mostly in windows, without a tree only by ``absolute``."""
    tree = draw(_trees)
    operator = "absolute" if tree is None else draw(sampled(OPERATORS))
    return Ranking(
        draw(sampled([1, 3, 7])),
        draw(st.integers(1, 3)),
        draw(sampled([0.0, 0.5, 0.75, 2.0])),
        draw(sampled([None, None, 2, 30])),
        operator,
        tree,
        draw(sampled([1, 5, 300])),
        draw(slurms()),
    )


TIES = {"lab": ("", 1), "bob": ("lab", 3), "den": ("", 1), "ann": ("den", 3), "cem": ("den", 1)}
"""A tree in which accounts and users tie; it lacks dot."""
PARENTS = {
    "lab": ("", None),
    "bob": ("lab", 1),
    "ann": ("lab", None),
    "cem": ("", 1),
    "dot": ("", 2),
}
"""A tree in which an account has no share."""
_slurm_trees = st.sampled_from([multifactor.EVEN, TREE, TIES, PARENTS])


@st.composite
def slurms(draw: st.DrawFn) -> multifactor.Slurm:
    """How slurmctld is configured."""
    reset = draw(sampled(["none", "none", "daily"]))
    return multifactor.Slurm(
        tree=draw(_slurm_trees),
        half_life=draw(sampled([2, 30, 1000] + [0] * (reset == "daily"))),
        period=draw(sampled([1, 3, 5, 60])),
        phase=draw(sampled([0, 1, 7])),
        reset=reset,
        age=draw(sampled([0.0, 10.0, 1000.0])),
        max_age=draw(sampled([3.0, 40.0])),
        fairshare=draw(sampled([0.0, 10.0, 1000.0])),
        algorithm=draw(sampled(["fair_tree", "fair_tree", "classic"])),
        dampening=draw(sampled([1.0, 3.0])),
    )


_arrivals = st.integers(0, 12)
_occupancies = st.sampled_from([0, 0, 1, 2, 3, 5, 8, 13])
_walltimes = st.sampled_from([None, 0, 1, 2, 3, 4, 5, 8, 10, 13, 21])  # overruns among them
_delays = st.sampled_from([0, 0, 0, 1, 2, 3, 5, 8, 13])
_priorities = st.sampled_from([None, 0.0, 0.0, 1.0, 2.5, -1.0])
_fates = st.sampled_from(["ended"] * 9 + ["blocked", "preempted", "open", "pending", "lost"])


@st.composite
def logs(
    draw: st.DrawFn,
    most: int = 10,
    resources: int | None = None,
    plain: bool = False,
    blocked: bool = True,
    exact: bool = False,
    zero: bool = True,
    limited: bool = False,
) -> Log:
    """The attempts of a pool with an observed schedule that no policy need have made.

    Args:
        most: attempts.
        resources: how many; None: mostly one.
        plain: neither capacity steps, nor attempts that are not ended or were blocked.
        blocked: whether some waited for something other than their turn.
        exact: each takes as long as was estimated.
        zero: whether some take no time.
        limited: whether there may be limits and windows.
    """
    count = draw(sampled([1, 1, 2, 3])) if resources is None else resources
    capacity = tuple(draw(st.integers(1, 5)) for _ in range(count))
    jobs = []
    for arrival in sorted(draw(st.lists(_arrivals, max_size=most))):
        fate = "ended" if plain else draw(_fates)
        held = fate == "blocked" or (fate == "pending" and draw(st.integers(0, 3)) == 0)
        occupancy = draw(_occupancies)
        walltime = occupancy if exact else draw(_walltimes)
        estimate = estimate_of(occupancy, walltime)
        if fate in ("open", "pending"):
            occupancy = estimate
        if exact or not zero:
            occupancy = max(occupancy, int(not zero))
            estimate = max(occupancy, 1) if exact else max(estimate, occupancy)
        sized = plain or draw(st.integers(0, 9)) > 0
        start = None if fate in ("pending", "lost") else EPOCH + arrival + draw(_delays)
        jobs.append(
            Job(
                arrival=EPOCH + arrival,
                occupancy=occupancy,
                estimate=estimate,
                request=tuple(draw(_requests(amount)) if sized else 0 for amount in capacity),
                start=start,
                end=None if start is None else start + occupancy,
                priority=draw(_priorities),
                blocked=blocked and held,
                open=fate in ("open", "pending"),
                assumed=fate == "open" and walltime is None,
                preempted=fate == "preempted",
                sized=sized,
                owner=draw(sampled(["ann", "bob", "bob", "cem", "dot"])),
                charge=draw(sampled([0, 1, 1, 2, 5])),
                used=draw(sampled([0, 1, 2, 5])),
                fixed=draw(sampled([0.0, 0.0, 3.5, 500.0, -20.0])),
                tier=draw(sampled([1, 1, 1, 1, 2])),
            )
        )
    steps = () if plain else draw(_steps(capacity))
    log = Log(tuple(jobs), capacity, steps)
    return draw(_limited(log)) if limited else log


@st.composite
def _limited(draw: st.DrawFn, log: Log) -> Log:
    """The same with at most two limits, per owner or for all, and at most two windows."""
    kinds = draw(st.lists(sampled(["owner", "owner", "all"]), max_size=2))
    timed = [draw(sampled([False, False, True])) for _ in kinds]
    owners = sorted({job.owner for job in log.jobs})
    most = tuple(
        (
            f"{k} {name}",
            (draw(st.integers(0, 4)) if kind == "all" else bound) * (8 if timed[k] else 1),
        )
        for k, kind in enumerate(kinds)
        for bound in [draw(st.integers(1, 3))]
        for name in (owners if kind == "owner" else [""])
    )
    period = draw(sampled([2, 7, 12]))
    hours = st.frozensets(st.integers(0, period - 1), max_size=period)
    shut = draw(st.lists(hours, max_size=2))
    jobs = []
    for job in log.jobs:
        counts = []
        for k, kind in enumerate(kinds):
            amount = draw(sampled([0, 1, 1, 1, 2]))
            if amount:
                name = f"{k} {job.owner if kind == 'owner' else ''}"
                counts.append((name, amount, draw(sampled([True] * 5 + [False]))))
        windows = [k for k in range(len(shut)) if draw(st.booleans())]
        jobs.append(job._replace(counts=tuple(counts), windows=tuple(windows)))
    return log._replace(
        jobs=tuple(jobs),
        most=most,
        late=frozenset(name for name, _ in most if draw(st.booleans())),
        remaining=frozenset(name for name, _ in most if timed[int(name.split()[0])]),
        windows=tuple(Window(each, 1, period, EPOCH) for each in shut),
    )


@functools.cache
def _requests(amount: int) -> st.SearchStrategy[int]:
    """Often small or all there is, at times nothing or more than there is."""
    return st.sampled_from([0, 1, 1, 1, 2, 2, max(amount - 1, 0), amount, amount, amount + 1])


@st.composite
def _steps(draw: st.DrawFn, capacity: tuple[int, ...]) -> tuple[Step, ...]:
    """Changes of a capacity that never falls below nothing."""
    steps = []
    had = capacity
    times = draw(sampled([0, 0, 1, 2]))
    for time in sorted(draw(st.integers(-1, 25)) for _ in range(times)):
        has = tuple(max(amount + draw(st.integers(-3, 2)), 0) for amount in had)
        change = tuple(now - before for now, before in zip(has, had, strict=True))
        steps.append(Step(EPOCH + time, change, draw(st.booleans())))
        had = has
    return tuple(steps)


def arrays(log: Log, ranking: Ranking = Ranking()) -> Workload:  # noqa: B008 (a NamedTuple)
    """A log as the package takes it."""
    jobs, steps, count = log.jobs, log.steps, len(log.capacity)

    def ints(values: list[int | None]) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.array([NEVER if value is None else value for value in values], np.int64)

    def amounts(rows: list[tuple[int, ...]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        table = np.array(rows, np.int64).reshape(-1, count)
        return np.ascontiguousarray(table[:, 0]) if count == 1 else table

    return Workload(
        arrival=ints([job.arrival for job in jobs]),
        start=ints([job.start for job in jobs]),
        end=ints([job.end for job in jobs]),
        occupancy=ints([job.occupancy for job in jobs]),
        estimate=ints([job.estimate for job in jobs]),
        request=amounts([job.request for job in jobs]),
        priority=np.array(
            [np.nan if job.priority is None else job.priority for job in jobs], np.float64
        ),
        blocked=np.array([job.blocked for job in jobs], np.bool_),
        open=np.array([job.open for job in jobs], np.bool_),
        assumed=np.array([job.assumed for job in jobs], np.bool_),
        preempted=np.array([job.preempted for job in jobs], np.bool_),
        sized=np.array([job.sized for job in jobs], np.bool_),
        capacity=np.array(log.capacity, np.int64),
        step_time=ints([step.time for step in steps]),
        step_change=amounts([step.change for step in steps]),
        step_planned=np.array([step.planned for step in steps], np.bool_),
        owners=ownership_of(log, ranking),
        limits=limits_of(log),
        preemptible=_preemptible(log),
    )


def _preemptible(log: Log) -> Preemptible | None:
    if not any(job.takes for job in log.jobs):
        return None

    def bits(rules: Iterable[frozenset[int]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.array([sum(1 << number for number in of) for of in rules], np.int64)

    delays = [NEVER if job.delay is None else job.delay for job in log.jobs]
    return Preemptible(
        bits(job.gives_way for job in log.jobs),
        bits(job.takes for job in log.jobs),
        np.array(delays, np.int64),
    )


def limits_of(log: Log) -> AttemptLimits:
    """The limits and windows of a log's attempts."""
    if not log.most and not log.windows:
        return UNLIMITED
    names = [name for name, _ in log.most]
    touches = [
        [(names.index(name), amount, binds) for name, amount, binds in job.counts]
        + [(len(names) + w, 1, True) for w in job.windows]
        for job in log.jobs
    ]
    flat = [touch for each in touches for touch in each]
    counter, amount, binding = zip(*flat, strict=True) if flat else ((), (), ())
    return AttemptLimits(
        np.cumsum([0, *map(len, touches)]),
        np.array(counter, np.int64),
        np.array(amount, np.int64),
        np.array(binding, np.bool_),
        np.array([*(bound for _, bound in log.most), *[ROOM] * len(log.windows)], np.int64),
        np.array([*(name in log.late for name in names), *[False] * len(log.windows)], np.bool_),
        np.array([name in log.remaining for name in names] + [False] * len(log.windows), np.bool_),
        _edges(log),
        np.array([log.breaks(k) for k in range(len(log.jobs))], np.bool_),
    )


def _edges(log: Log) -> WindowEdges:
    """Known one by one until some time after the first attempt, then by their period."""
    if not log.windows:
        return NO_EDGES
    since = min((job.arrival for job in log.jobs), default=0)
    since = min([since, *(job.start for job in log.jobs if job.start is not None)])
    period = log.windows[0].units
    until = since + 3
    edges = []
    for t in range(since, until + period + 1):
        for k, window in enumerate(log.windows, len(log.most)):
            before = t > since and window.closed(t - 1)
            if window.closed(t) != before:
                edges.append((t, k, SHUT if window.closed(t) else -SHUT))
    time, counter, change = np.array(edges, np.int64).reshape(-1, 3).T.copy()
    return WindowEdges(time, counter, change, int((time > until).sum()), period)


def ownership_of(log: Log, ranking: Ranking) -> Ownership:
    """The owners of a log's attempts."""
    method: Method = Windows(interval_s=ranking.interval, depth=ranking.depth, decay=ranking.decay)
    if ranking.half_life is not None:
        method = HalfLife(half_life_s=ranking.half_life)
    names = sorted({job.owner for job in log.jobs})
    given = dict.fromkeys(names, ("", 0)) if ranking.tree is None else dict(ranking.tree)
    nodes = ["", *given]
    tree = Tree(
        tuple(nodes),
        tuple("user" if name in ("ann", "bob", "cem", "dot") else "account" for name in nodes),
        (None,) * len(nodes),
        np.array([-1, *(nodes.index(parent) for parent, _ in given.values())], np.int64),
        np.array([1.0, *(np.nan if of is None else of for _, of in given.values())]),
    )
    fairshare = Fairshare(
        method=method,
        operator=ranking.operator,
        tree=tree if ranking.tree else None,
        recalculation_s=ranking.recalculation,
        multifactor=slurm_of(ranking.slurm),
    )
    numbers = [names.index(job.owner) for job in log.jobs]
    return Ownership(
        leaf=np.array([nodes.index(job.owner) for job in log.jobs], np.int64),
        name=np.array(numbers, np.int64),
        charge=np.array([job.charge for job in log.jobs], np.float64),
        used=np.array([job.used for job in log.jobs], np.float64),
        tree=tree,
        fairshare=fairshare,
        priorities=priorities_of(log, fairshare.multifactor),
    )


def slurm_of(slurm: multifactor.Slurm) -> Multifactor:
    """How slurmctld is configured, as the package takes it."""
    return Multifactor(
        tree_of(
            TreeNode(
                name,
                "user" if name in multifactor.USERS else "account",
                NO_SHARE if share is None else share,
                parent or None,
            )
            for name, (parent, share) in slurm.tree.items()
        ),
        SlurmUsage(
            half_life_s=slurm.half_life,
            period_s=slurm.period,
            phase_s=slurm.phase,
            reset=slurm.reset,
            zone=ZoneInfo("UTC"),
        ),
        {"age": slurm.age, "fairshare": slurm.fairshare},
        Scale(cpus=1, nodes=1, max_age_s=slurm.max_age),
        Algorithm(slurm.algorithm),
        slurm.dampening,
    )


def priorities_of(log: Log, slurm: Multifactor | None) -> Priorities:
    """The kept priorities of a log's attempts; users that the tree lacks belong to root."""
    assert slurm is not None
    names = slurm.tree.names
    return Priorities(
        np.array([names.index(j.owner) if j.owner in names else 0 for j in log.jobs], np.int64),
        np.array([job.fixed for job in log.jobs], np.float64),
        np.array([job.tier for job in log.jobs], np.int64),
    )


def performed(log: Log, starts: Mapping[int, int]) -> Log:
    """The log of what a simulation did; what it did not start is pending."""

    def did(k: int, job: Job) -> Job:
        if job.blocked:
            return job
        if k not in starts:
            return job._replace(start=None, end=None, open=True)
        return job._replace(start=starts[k], end=starts[k] + job.occupancy)

    return log._replace(jobs=tuple(did(k, job) for k, job in enumerate(log.jobs)))


Rows = list[dict[str, Any]]
"""Records of attempts, as ``frame`` takes them."""

POOLS = (
    Pool("main", Resource.cpus, 4),
    Pool("main", Resource.nodes, 3, amounts=(("cpus", 8), ("nodes", 3))),
    Pool(
        "main",
        Resource.cpus,
        4,
        steps=(
            Declared(EPOCH + 6, (("cpus", 2), ("gpus", 1))),
            Declared(EPOCH + 12, (("cpus", 5),), planned=True),
        ),
        amounts=(("cpus", 4), ("gpus", 2), ("nodes", 2)),
        exclusive_nodes=True,
    ),
)
"""One resource; another than cpus; three, the nodes exclusive, that change."""

_reasons = st.sampled_from(["Priority", "Resources", "None", None, None, None, None, *BLOCKED])


@st.composite
def _row(draw: st.DrawFn) -> dict[str, Any]:
    submit = EPOCH + draw(_arrivals)
    eligible = draw(sampled([None, None, submit, submit + 1, submit + 4]))
    start = submit + draw(_delays) - draw(sampled([0, 0, 0, 0, 1]))  # clocks differ
    occupancy = draw(_occupancies)
    record = {
        "submit_time": submit,
        "eligible_time": eligible,
        "walltime_s": draw(_walltimes),
        "cpus": draw(sampled([None, 0, 1, 1, 2, 2, 3, 4, 5, 6])),
        "nodes": draw(sampled([None, 1, 1, 2, 3, 4])),
        "gpus": draw(sampled([None, 0, 0, 1, 2])),
        "user": draw(_names),
        "priority": draw(_priorities),
        "reason": draw(_reasons),
        "reservation": draw(sampled([None] * 9 + ["", "course"])),
        "suspended_s": draw(sampled([None, None, 0, 2])),
        "state": "COMPLETED",
    }
    match draw(sampled(["ended"] * 14 + ["preempted", "running", "pending", "never", "?"])):
        case "ended":
            record |= {"start_time": start, "end_time": start + occupancy}
        case "preempted":
            record |= {"start_time": start, "end_time": start + occupancy, "state": "PREEMPTED"}
        case "running":
            record |= {"start_time": start, "state": "RUNNING"}
        case "pending":
            record |= {"state": "PENDING"}
        case "never":
            record |= {"end_time": submit + occupancy, "state": "CANCELLED"}
        case _:
            record |= {"occupancy_s": occupancy}
    return record


def rows(most: int = 10) -> st.SearchStrategy[Rows]:
    """Records of a pool: of every standing, some held, some reserved, some later preempted."""
    return st.lists(_row(), max_size=most).map(
        lambda records: [
            {**record, "job_id": str(k), "job_number": k} for k, record in enumerate(records, 1)
        ]
    )
