"""Pools, capacities and nodes by what ran, on a made cluster whose only scarcity is GPUs."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import polars as pl
import pytest

from audit.cluster import inference
from audit.cluster.declared import NodeFiles
from audit.cluster.hardware import hardware, partition_groups
from audit.cluster.inference import capacity
from audit.config import Config
from audit.metrics.attempts import population
from audit.metrics.attempts.account import account as booked_waits
from audit.model import Resource
from audit.oneoff.audit import AuditOptions, audit
from audit.pipeline.opening import ClusterLog, LogRequest, Session, open_log
from audit.pipeline.published import open_published
from audit.registry.causes import COLUMNS
from audit.store import database
from tests import stores
from tests.places import DATA
from tests.strategies import ended, frame

CPUS, GPUS = 64, 4
DAY = 86_400


LACKED = """
    SELECT
        sum(wait_s),
        sum(cause_earlier_s + cause_later_s + cause_unavailable_s),
        sum(cause_nodes_s)
    FROM job_fairness
    WHERE gpus > 0
"""


class Job(NamedTuple):
    number: int
    submit: int
    partition: str
    cpus: int
    gpus: int
    length: int


class Ran(NamedTuple):
    job: Job
    start: int
    node: str


class Nodes(NamedTuple):
    """The number of nodes without GPUs, in twenties, and with GPUs, in fours."""

    twenties: int
    fours: int

    @property
    def cpu(self) -> int:
        return 20 * self.twenties

    @property
    def gpu(self) -> int:
        return 4 * self.fours


SMALL, LARGE = Nodes(1, 1), Nodes(5, 2)


def made(overlap: bool, nodes: Nodes, jobs: list[Job]) -> Iterator[tuple[Ran, float]]:
    """Run jobs on a cluster with one type of GPUs, see ``run``.

    With ``overlap``, jobs without GPUs may run on all nodes.
    """
    free = {f"c{k:03}": (CPUS, 0) for k in range(nodes.cpu)}
    free |= {f"g{k}": (CPUS, GPUS) for k in range(nodes.gpu)}
    may = {"gpu": [n for n in free if n[0] == "g"], "batch": [n for n in free if n[0] == "c"]}
    if overlap:
        may["batch"] += may["gpu"]
    return run(free, may, jobs)


def run(
    free: dict[str, tuple[int, int]], may: dict[str, list[str]], jobs: list[Job]
) -> Iterator[tuple[Ran, float]]:
    """Yield each job when it starts, and the seconds in which it would have fitted before.

    Each partition starts its jobs in the order of their arrival, and never a later one first.

    Args:
        free: CPUs and GPUs of each node.
        may: the nodes of each partition.
    """
    ends: list[tuple[int, str, Job]] = []
    queue: dict[str, list[Job]] = {partition: [] for partition in may}
    fitted: dict[int, float] = {}
    coming = list(jobs)
    now = 0
    while coming or ends or any(queue.values()):
        times = [coming[0].submit] if coming else []
        then = min(times + [end for end, _, _ in ends])
        for job in [job for waiting in queue.values() for job in waiting]:
            if any(_fits(free[name], job) for name in may[job.partition]):
                fitted[job.number] = fitted.get(job.number, 0) + then - now
        now = then
        for end, name, job in [one for one in ends if one[0] == now]:
            free[name] = (free[name][0] + job.cpus, free[name][1] + job.gpus)
            ends.remove((end, name, job))
        while coming and coming[0].submit == now:
            queue[coming[0].partition].append(coming.pop(0))
        for partition, waiting in queue.items():
            while waiting:
                job = waiting[0]
                turn = job.number % len(may[partition])
                order = may[partition][turn:] + may[partition][:turn]
                fitting = [n for n in order if _fits(free[n], job)]
                if not fitting:
                    break
                cpus, gpus = free[fitting[0]]
                free[fitting[0]] = (cpus - job.cpus, gpus - job.gpus)
                ends.append((now + job.length, fitting[0], waiting.pop(0)))
                yield Ran(job, now, fitting[0]), fitted.get(job.number, 0.0)


def _fits(free: tuple[int, int], job: Job) -> bool:
    return free[0] >= job.cpus and free[1] >= job.gpus


def jobs(random: Random, nodes: Nodes) -> list[Job]:
    """Return ten days of jobs that ask for 90 % of the GPUs and 40 % of the CPUs."""
    kinds = [0, 0] * nodes.twenties + [1, 1, 2, 4] * nodes.fours
    found: list[Job] = []
    at = 0
    while at < 10 * DAY:
        at += random.randrange(1, 700 * 6 // len(kinds))
        gpus = random.choice(kinds)
        length = random.randrange(600, 6_000 if gpus else 9 * 3_600)
        cpus = 8 * gpus or random.choice([1, 4, 16, 32])
        found.append(Job(len(found) + 1, at, "gpu" if gpus else "batch", cpus, gpus, length))
    return found


def clock(second: int) -> str:
    return datetime.fromtimestamp(1_767_225_600 + second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def write_log(folder: Path, ran: list[Ran]) -> Path:
    """Write the log as sacct -P would."""
    lines = ["JobID|User|Account|Partition|State|Submit|Start|End|Timelimit|AllocTRES|NodeList"]
    for job, start, node in ran:
        tres = f"billing={job.cpus},cpu={job.cpus},node=1" + (
            f",gres/gpu={job.gpus}" if job.gpus else ""
        )
        user = f"u{job.number * 7 % 301}"
        times = "|".join(clock(t) for t in (job.submit, start, start + job.length))
        who = f"{job.number}|{user}|a{job.number % 3}|{job.partition}|COMPLETED"
        lines.append(f"{who}|{times}|10:00:00|{tres}|{node}")
    path = folder / "made.psv"
    path.write_text("\n".join(lines) + "\n")
    return path


def groups(*rows: tuple[str | None, str | None]) -> list[list[str | None]]:
    """Return the groups of jobs with these partitions and nodes; without nodes they are pending."""
    return partition_groups(
        frame(
            [
                {
                    "partition": partition,
                    "node_list": nodes,
                    "start_time": None if nodes is None else 10,
                    "end_time": None if nodes is None else 20,
                }
                for partition, nodes in rows
            ]
        )
    )


def test_partitions_that_share_nodes_are_one_group() -> None:
    assert groups(("a", "n[1-2]"), ("b", "n2,n3"), ("b", "n3"), ("c", "n4")) == [["b", "a"], ["c"]]


def test_a_job_without_partition_is_with_the_largest_group() -> None:
    assert groups(("a", "n1"), ("a", "n1"), ("b", "n2"), (None, None)) == [["a", None], ["b"]]


def test_a_pending_job_is_with_the_first_of_its_partitions_that_ran_jobs() -> None:
    assert groups(("a", "n1"), ("b", "n2"), ("x,b,a", None)) == [["a"], ["b", "x,b,a"]]


def test_a_partition_is_not_taken_for_a_node() -> None:
    assert groups(("a", "n1"), ("n1", "n2")) == [["a"], ["n1"]]


def test_gpus_that_only_jobs_of_no_time_had_limit_nobody() -> None:
    rows = frame([ended(0, 5, 10, 2), ended(0, 7, 7, 1, gpus=4)])
    assert hardware(rows).amounts == {"cpus": 2}


@pytest.mark.parametrize(
    ("amounts", "cpus"),
    [
        (None, {"n1": 4, "n2": 4}),  # at least the even part
        ("cpus=1,6", {"n1": 1, "n2": 8}),  # beside 2 of another job
        ("cpus=1,5", {"n1": 4, "n2": 4}),  # not all of the job
    ],
)
def test_what_the_log_states_of_nodes_shows_their_size(
    amounts: str | None, cpus: dict[str, int]
) -> None:
    several = ended(0, 0, 10, 7, nodes=2, node_list="n[1-2]", node_amounts=amounts)
    rows = frame([several, ended(0, 5, 10, 2, nodes=1, node_list="n2")])
    assert {node.name: dict(node.amounts)["cpus"] for node in hardware(rows).nodes} == cpus


def test_gpus_that_certainly_fit_on_their_nodes_show_no_others() -> None:
    # 2 GPUs of each type on both nodes: the log does not say that each node has one type
    typed = [
        ended(0, 0, 10, 1, gpus=4, gpu_types=f"{kind}:4", nodes=1, node_list=name)
        for kind, name in (("a100", "g1"), ("v100", "g2"))
    ]
    both: dict[str, Any] = {"gpus": 4, "gpu_types": "a100:2,v100:2", "nodes": 2}
    both["node_list"] = "g[1-2]"
    amounts = [
        {name: amount for name, amount in node.amounts if name.startswith("gpus:")}
        for node in hardware(frame([*typed, ended(20, 20, 30, 2, **both)])).nodes
    ]
    assert amounts == [{"gpus:a100": 4, "gpus:v100": 0}, {"gpus:a100": 0, "gpus:v100": 4}]


def test_nodes_win_over_the_peak_in_use() -> None:
    # never both nodes at once, so at most 4 of 8 CPUs are in use
    rows = [ended(k, k, k + 9, 4, nodes=1, node_list=f"n{k % 2}") for k in range(0, 90, 9)]
    assert hardware(frame(rows)).amounts == {"cpus": 8}


def daily(node: str, first: int, last: int) -> list[dict[str, Any]]:
    """A job a day on a node, of 23 hours and four CPUs."""
    begins = (day * DAY for day in range(first, last))
    length = DAY * 23 // 24
    return [ended(begin, begin, begin + length, 4, nodes=1, node_list=node) for begin in begins]


def test_nodes_that_came_late_or_went_early_were_not_there_all_the_time() -> None:
    """The machine grows on day 60, and a node is replaced on day 90 of 120."""
    rare = [*daily("rare", 40, 41), *daily("rare", 60, 85), *daily("rare", 119, 120)]
    rows = [
        *(daily("a", 0, 120) + daily("old", 0, 90) + daily("new", 90, 120)),
        *(daily("late", 60, 120) + daily("few", 60, 70) + daily("soon", 20, 120) + rare),
    ]
    attempts = frame(rows)
    found = hardware(attempts)
    assert [(one.node, one.begin, one.end, one.why) for one in found.absences] == [
        ("late", 0, 60 * DAY, "unseen"),
        ("new", 0, 90 * DAY, "unseen"),
        ("old", 89 * DAY + DAY * 23 // 24, None, "unseen"),
    ]
    made, facts = inference.pool(attempts, [], None, None, 120 * DAY)
    amounts = {day: made.capacity_at(day * DAY) for day in (0, 59, 60, 89, 90, 119)}
    assert amounts == {0: 20, 59: 20, 60: 24, 89: 24, 90: 24, 119: 24}
    assert made.by_nodes
    assert any(one.value.startswith("2 nodes not from the begin of the log on, 1") for one in facts)


def test_nodes_of_an_idle_machine_are_not_taken_for_gone() -> None:
    """From day 60 on, a limit leaves one job a day: no node but the first is needed."""
    idle = frame([*daily("a", 0, 60), *daily("b", 0, 60), *daily("c", 0, 60)])
    rest = [
        ended(k * DAY, k * DAY, k * DAY + DAY // 3, 4, nodes=1, node_list="a")
        for k in range(60, 120)
    ]
    assert hardware(pl.concat([idle, frame(rest)])).absences == ()
    busy = frame(daily("a", 60, 120))
    assert [one.node for one in hardware(pl.concat([idle, busy])).absences] == ["b", "c"]


def test_before_a_machine_grows_jobs_wait_for_a_full_machine() -> None:
    """Two jobs in turn on the only node, twice a day; the second node comes on day 60."""
    rows = []
    for day in range(120):
        begin, length = day * DAY, DAY // 3
        for number, node in enumerate(("a", "a" if day < 60 else "b")):
            wait = length if node == "a" and number else 0
            start, owner = begin + wait, f"u{number}"
            rows.append(ended(begin, start, start + length, 4, owner, nodes=1, node_list=node))
    attempts = frame(rows)
    pool, _ = inference.pool(attempts, [], None, None, 120 * DAY)
    described = population.describe(attempts, [pool])
    booked = booked_waits(described, pool, 120 * DAY).attempts
    sums = booked.select(pl.col(COLUMNS).sum()).row(0, named=True)
    # the first day is before the log begins
    assert sums["cause_earlier_s"] + sums["cause_later_s"] == 59 * DAY // 3
    assert sums["cause_unexplained_s"] == 0


def test_a_job_whose_end_was_lost_adds_nothing_to_its_node_or_the_peak() -> None:
    on_n1: dict[str, Any] = {"nodes": 1, "node_list": "n1"}
    lost = {**ended(0, 0, 10, 4, walltime_s=35, **on_n1), "end_time": None, "state": "RUNNING"}
    rows = frame([lost, ended(30, 30, 40, 4, **on_n1)])
    assert hardware(rows).amounts == {"cpus": 4}
    amount, _ = capacity(rows, [], Resource.cpus, None, 40, on_nodes=4)
    assert amount == 4
    running = rows.with_columns(walltime_s=pl.lit(45))
    assert hardware(running).amounts == {"cpus": 8}


@pytest.mark.parametrize("nodes", [None, "n[1-", "n[0-99999999]"])
def test_without_readable_nodes_all_partitions_are_one_group(nodes: str | None) -> None:
    assert groups(("a", nodes), ("b", nodes)) == [["a", "b"]]


@pytest.mark.thorough
@pytest.mark.usefixtures("figures_only")
@pytest.mark.parametrize(
    ("overlap", "nodes"),
    [
        (False, SMALL),
        (True, SMALL),
        pytest.param(False, LARGE, marks=pytest.mark.slow),
        pytest.param(True, LARGE, marks=pytest.mark.slow),
    ],
)
def test_scarce_gpus_are_found_on_their_nodes(tmp_path: Path, overlap: bool, nodes: Nodes) -> None:
    results = list(made(overlap, nodes, jobs(Random(5), nodes)))
    log = write_log(tmp_path, [one for one, _ in results])
    settings = Config()
    outcome = audit(
        Session(LogRequest(logs=[log]), settings, fit=True), AuditOptions(out=tmp_path, pdf=False)
    )
    pools = {pool.name: pool for pool in open_published(outcome.database, settings).setting.pools}
    pool = pools["all" if overlap else "gpu"]
    assert {name: len(pool.nodes) for name, pool in pools.items()} == (
        {"all": nodes.cpu + nodes.gpu} if overlap else {"batch": nodes.cpu, "gpu": nodes.gpu}
    )
    assert (pool.resource, dict(pool.amounts)["gpus"]) == (
        Resource.cpus if overlap else Resource.gpus,
        nodes.gpu * GPUS,
    )
    of_gpus = [(one, fits) for one, fits in results if one.job.gpus]
    truth = sum(fits for _, fits in of_gpus)
    with stores.published(outcome.database) as con:
        [(waited, lacked, scattered)] = database.rows(con, LACKED)
        assert database.rows(con, "SELECT rule FROM rules") == []
    assert waited == sum(one.start - one.job.submit for one, _ in of_gpus)
    assert abs((waited - lacked - scattered) - truth) < 0.01 * waited
    assert scattered > 0.05 * waited  # what sums over the nodes would call free


def opened(case: str, log: str = "input", nodes: str = "nodes") -> ClusterLog:
    folder = DATA / "cases" / case
    request = LogRequest(logs=[folder / log], zone="UTC", files=NodeFiles(folder / nodes))
    found = open_log(request, Config())
    assert found.setting.warnings == ()
    return found


def test_types_of_gpus_that_no_field_places_add_none_to_declared_nodes() -> None:
    found = []
    for log in ("without", "input"):
        of = opened("nodes-gpu-types", log)
        [pool] = of.setting.pools
        waits = booked_waits(of.described, pool, of.setting.now).attempts
        sums = waits.select(COLUMNS).sum().row(0, named=True)
        found.append((pool, {cause: seconds for cause, seconds in sums.items() if seconds}))
    assert found[0] == found[1]
    [_, (pool, causes)] = found
    amounts = dict(pool.amounts)
    assert (amounts["gpus"], amounts["gpus:a100"], amounts["gpus:v100"]) == (8, 4, 4)
    assert not {"cause_unexplained_s", "cause_nodes_s"} & causes.keys()
    assert causes["cause_earlier_s"] > 0.99 * sum(causes.values())


def test_a_job_that_uses_all_of_unequal_nodes_contradicts_none() -> None:
    [pool] = opened("nodes-gpu-types", "input-six", "nodes-six").setting.pools
    assert [dict(node.amounts)["gpus:a100"] for node in pool.nodes] == [4, 2]


def test_all_memory_of_unequal_nodes_does_not_show_that_it_is_not_counted() -> None:
    amounts = {pool.name: dict(pool.amounts) for pool in opened("nodes-memory").setting.pools}
    assert amounts["cpu"]["mem_bytes"] == 320_000 << 20
    assert (amounts["gpu"]["gpus:a100"], amounts["gpu"]["gpus:v100"]) == (4, 4)


def test_declared_partitions_without_jobs_are_left_out() -> None:
    pools = opened("nodes-empty-partition").setting.pools
    assert [node.name for pool in pools for node in pool.nodes] == ["g01", "g02"]
