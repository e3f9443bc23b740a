"""What a site declares about its nodes wins over what ran on them, and contradictions are told."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from audit import config
from audit.cluster import declared, presence
from audit.cluster.declared import NodeFiles
from audit.cluster.inference import Fact
from audit.cluster.setting import ClusterSettings, configured, one_off
from audit.config.usage import Nodes
from audit.errors import ConfigError, UsageError
from audit.metrics.attempts.account import Durations, account
from audit.metrics.attempts.population import describe
from audit.model import EVIDENCE, Absence, Declared, Node
from tests.strategies import ended, frame

AT = 1_795_233_600  # 2026-11-21T04:00:00 UTC
GIB = 1 << 30
NODES = """\
NodeName=n1 CPUTot=4 RealMemory=8192 State=IDLE+DRAIN Partitions=batch Reason=x [root@{since}]
NodeName=n2 CPUTot=4 RealMemory=8192 State=IDLE Partitions=batch
"""
EVENTS = """\
Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User
lab|n1|2026-11-21T01:00:00|2026-11-21T02:00:00|DRAINED|old|root(0)
lab|n1|2026-11-21T04:30:00|Unknown|DRAINED|x|root(0)
"""
CLUSTER = Fact("cluster", "lab", "a test")


def said(tmp_path: Path, since: str = "2026-11-21T04:00:00", events: str = EVENTS) -> Declared:
    (tmp_path / "nodes.txt").write_text(NODES.format(since=since))
    (tmp_path / "events.psv").write_text(events)
    files = NodeFiles(tmp_path / "nodes.txt", tmp_path / "events.psv")
    return declared.read(files, "UTC", "lab")


def test_a_drain_begins_with_its_command_where_the_node_has_it(tmp_path: Path) -> None:
    found = said(tmp_path)
    assert found.absences == (
        Absence("n1", AT - 10_800, AT - 7_200, "drained"),
        Absence("n1", AT, None, "drained", before=AT + 1_800),
    )
    (caution,) = found.cautions
    assert caution.startswith("1 drain may have begun earlier")


def test_the_record_of_a_node_dates_no_failure(tmp_path: Path) -> None:
    # the record is older: it may be about a drain that has ended
    found = said(tmp_path, events=EVENTS.replace("Unknown|DRAINED", "Unknown|DOWN*"))
    assert found.absences[1:] == (Absence("n1", AT + 1_800, None, "down"),)


def test_a_record_is_older_than_the_drain_if_jobs_start_after_it(tmp_path: Path) -> None:
    # commanded at AT, says the record; the last job on n1 starts 600 s later, the drain is dated
    # from its end at 1,800 s, and what starts at 2,000 s is in a reservation
    rows = pl.DataFrame(
        {
            "node_list": ["n[1-2]", "n1", "n2", "n1", "n1"],
            "start_time": [AT + 600, AT - 60, AT + 900, AT + 2_000, None],
        }
    )
    (old, drain) = presence.after_starts(said(tmp_path).absences, rows)
    assert (old.begin, drain.begin) == (AT - 10_800, AT + 601)
    (_, drain) = presence.after_starts(said(tmp_path).absences, rows[1:3])
    assert drain.begin == AT


def test_the_record_of_a_node_dates_no_drain_that_has_ended(tmp_path: Path) -> None:
    ended_event = EVENTS.replace("Unknown", "2026-11-21T05:00:00")
    found = said(tmp_path, "2026-11-21T06:00:00", ended_event)
    assert found.absences[1:] == (
        Absence("n1", AT + 1_800, AT + 3_600, "drained"),
        Absence("n1", AT + 7_200, None, "drained", before=1 << 60),
    )


def test_a_node_that_is_down_since_an_unknown_time_is_counted(tmp_path: Path) -> None:
    found = said(tmp_path, "Unknown", EVENTS.split("\n", maxsplit=1)[0])
    assert found.absences == ()
    assert found.cautions == ("no file says when 1 node went out of service",)


def test_what_is_stored_is_restored(tmp_path: Path) -> None:
    found = said(tmp_path)
    assert declared.restored(json.loads(json.dumps(declared.stored(found)))) == found
    assert declared.restored({}) == Declared()


@pytest.mark.parametrize("text", [None, "", "no nodes here"])
def test_a_file_of_no_use_is_an_error(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "nodes.txt"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError, match=r"nodes.txt: .*\(--nodes\)"):
        declared.read(NodeFiles(path), "UTC", None)
    cluster = config.Cluster(name="lab", hardware=config.HardwareConfig(nodes="nodes.txt"))
    with pytest.raises(ConfigError, match=r"clusters.hardware.nodes of cluster 'lab'"):
        declared.configured(cluster, tmp_path)


def test_reservations_have_no_names_where_these_are_pseudonyms(tmp_path: Path) -> None:
    text = "ReservationName=secret StartTime=2026-11-21T04:00:00 EndTime=Unknown Nodes=n1\n"
    (tmp_path / "res.txt").write_text(text)
    hidden = config.PeopleConfig(key_file="key", pseudonyms=("reservation",))
    cluster = config.Cluster(
        name="lab", hardware=config.HardwareConfig(reservations="res.txt"), people=hidden
    )
    found = declared.configured(cluster, tmp_path)
    assert found.absences == (Absence("n1", AT, None, "reserved", None),)


def machine(name: str, partitions: tuple[str, ...] = ("batch",), **amounts: int) -> Node:
    return Node(name, tuple(amounts.items()), partitions, (), "scontrol")


def log(*jobs: dict[str, Any], counts_memory: bool | None = None) -> ClusterSettings:
    rows = frame(list(jobs))
    nodes = tuple(machine(f"n{k}", cpus=4, mem_bytes=8 * GIB, nodes=1) for k in (1, 2))
    return one_off(
        CLUSTER, rows, {}, None, None, "UTC", declared=Declared(nodes, (), (), counts_memory)
    )


def job(
    start: int, end: int, cpus: int, node: str, gib: int = 1, submit: int = 0
) -> dict[str, Any]:
    of: dict[str, Any] = {"partition": "batch", "nodes": 1, "node_list": node}
    return ended(submit, start, end, cpus, mem_bytes=gib * GIB, **of)


def test_declared_nodes_win_and_memory_decides() -> None:
    # 6 of 8 GiB are in use on n1 and on n2: 4 more fit in the sum, and on neither
    jobs = (
        job(0, 10, 1, "n1", 6),
        job(0, 10, 1, "n2", 6),
        job(10, 20, 1, "n1", 4, submit=2),
    )
    setting = log(*jobs)
    (pool,) = setting.pools
    assert (pool.capacity, dict(pool.amounts)) == (8, {"cpus": 8, "mem_bytes": 16 * GIB})
    assert [node.source for node in pool.nodes] == ["scontrol"] * 2
    described = describe(frame(list(jobs)), setting.pools)
    rows = account(described, pool, 100, log_begin=0, durations=Durations(0)).attempts.sort("line")
    assert rows["cause_nodes_s"].to_list() == [0, 0, 8]
    assert setting.warnings == ()


def test_memory_that_the_scheduler_does_not_count_decides_nothing() -> None:
    setting = log(job(0, 10, 1, "n1", 6), job(0, 10, 1, "n1", 6))
    assert dict(setting.pools[0].amounts) == {"cpus": 8}
    (warning,) = setting.warnings
    assert "on 1 of 1 node jobs requested more memory" in warning


def test_slurm_conf_says_whether_memory_counts() -> None:
    jobs = (job(0, 10, 1, "n1", 6), job(0, 10, 1, "n1", 6))
    counted = log(*jobs, counts_memory=True)
    assert dict(counted.pools[0].amounts) == {"cpus": 8, "mem_bytes": 16 * GIB}
    assert counted.warnings == ("1 node ran more than declared: n1",)
    without = log(*jobs, counts_memory=False)
    assert dict(without.pools[0].amounts) == {"cpus": 8}
    assert without.warnings == ()


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("SelectTypeParameters=CR_Core_Memory", True),
        ("SelectTypeParameters=CR_Core", False),
        ("SlurmctldPort=6817", None),  # Slurm's default differs between versions
    ],
)
def test_slurm_conf_of_the_usage_is_read(tmp_path: Path, line: str, counts: bool | None) -> None:
    (tmp_path / "slurm.conf").write_text(f"ClusterName=lab\n{line}\n")
    (tmp_path / "nodes.txt").write_text(NODES)
    usage = config.UsageConfig(slurm_conf="slurm.conf")
    hardware = config.HardwareConfig(nodes="nodes.txt")
    cluster = config.Cluster(name="lab", usage=usage, hardware=hardware)
    found = declared.configured(cluster, tmp_path)
    assert found.counts_memory is counts
    without = declared.configured(config.Cluster(name="lab", usage=usage), tmp_path)
    assert without == Declared()
    assert declared.restored(json.loads(json.dumps(declared.stored(found)))) == found


def test_jobs_on_undeclared_nodes_and_more_than_declared_are_cautions() -> None:
    setting = log(job(0, 10, 5, "n1"), job(20, 30, 2, "n9"), job(40, 50, 1, "n9"))
    (pool,) = setting.pools
    assert [(node.name, node.source) for node in pool.nodes] == [
        ("n1", "scontrol"),
        ("n2", "scontrol"),
        ("n9", "inferred"),
    ]
    # the stray node takes no job before the first and after the last that ran on it
    assert {(one.node, one.begin, one.end) for one in pool.absences} == {
        ("n9", 0, pool_time(20)),
        ("n9", pool_time(50), None),
    }
    more, strays = setting.warnings
    assert more.startswith("1 node ran more than declared: n1")
    assert strays.startswith("jobs ran on 1 undeclared node: n9")


def test_a_partition_that_is_not_declared_has_the_nodes_on_which_its_jobs_ran() -> None:
    setting = log({**job(0, 10, 1, "n1"), "partition": "renamed"}, job(0, 10, 1, "n1"))
    (pool,) = setting.pools
    assert [node.partitions for node in pool.nodes] == [("batch", "renamed"), ("batch",)]


def pool_time(second: int) -> int:
    return int(frame([ended(0, second, second + 1, 1)])["start_time"][0])


def test_without_node_lists_sums_of_the_declared_nodes_decide() -> None:
    setting = log({**job(0, 10, 1, "n1"), "node_list": None})
    (pool,) = setting.pools
    assert (pool.capacity, pool.nodes) == (8, ())
    assert "sums over the declared nodes decide" in setting.warnings[0]


def test_partitions_of_declared_nodes_make_pools() -> None:
    nodes = (machine("n1", ("a", "b"), cpus=4), machine("n2", ("c",), cpus=2))
    rows = frame([{**job(0, 10, 1, "n1"), "partition": name, "node_list": None} for name in "abc"])
    setting = one_off(CLUSTER, rows, {}, None, None, "UTC", declared=Declared(nodes))
    assert {pool.name: pool.capacity for pool in setting.pools} == {"a": 4, "c": 2}


def test_tables_of_config_toml_describe_nodes() -> None:
    table = Nodes(names="n[1-2]", cpus=4, mem="8GiB", gpus=1, gpu_type="A100")
    pool = config.PoolConfig(name="all", nodes=(table,))
    cluster = config.Cluster(name="lab", pools=(pool,))
    (found,) = configured(cluster, frame([job(0, 10, 1, "n1")]), {}).pools
    amounts = (("cpus", 4), ("mem_bytes", 8 * GIB), ("nodes", 1), ("gpus", 1), ("gpus:a100", 1))
    assert found.nodes == tuple(Node(n, amounts, (), None, "config.toml") for n in ("n1", "n2"))
    assert found.capacity == 8


def test_steps_of_a_capacity_and_other_amounts_are_cautions() -> None:
    table = Nodes(names="n[1-2]", cpus=4)
    step = config.StepConfig.model_validate({"since": "2026-01-01", "cpus": 6}, strict=False)
    capacity = config.AmountsConfig(cpus=7)
    pool = config.PoolConfig(name="all", nodes=(table,), capacity=capacity, steps=(step,))
    cluster = config.Cluster(name="lab", pools=(pool,))
    setting = configured(cluster, frame([job(0, 10, 1, "n1")]), {})
    assert (setting.pools[0].capacity, setting.pools[0].nodes) == (7, ())
    assert [warning.split(",")[0] for warning in setting.warnings] == [
        "pool 'all': 7 CPUs are configured",
        "its capacity has steps",
    ]


def test_a_node_occurs_once() -> None:
    tables = (Nodes(names="n[1-3]", cpus=4), Nodes(names="n3", cpus=8))
    pool = config.PoolConfig(name="all", nodes=tables)
    with pytest.raises(ValueError, match="nodes that occur twice: n3"):
        config.Cluster(name="lab", pools=(pool,))


def test_jobs_wait_for_a_drained_node() -> None:
    # the only node of its partition is drained while a job waits for it
    rows = frame([job(0, 10, 4, "n1"), job(50, 60, 4, "n1", submit=20)])
    begin = pool_time(15)
    away = (Absence("n1", begin, begin + 25, "drained"),)
    nodes = (machine("n1", cpus=4),)
    setting = one_off(CLUSTER, rows, {}, None, None, "UTC", declared=Declared(nodes, away))
    described = describe(rows, setting.pools)
    booked = account(
        described, setting.pools[0], setting.now, durations=Durations(0)
    ).attempts.sort("line")
    assert booked["cause_unavailable_s"].to_list() == [0, 20]
    assert booked["cause_unexplained_s"].to_list() == [0, 10]


def logged(*rows: tuple[str, int, str]) -> pl.DataFrame:
    """Statements of a scheduler about nodes: node, seconds since AT, state."""
    found = [
        {**dict.fromkeys(EVIDENCE.names()), "kind": "ctld-log"}
        | {"node": node, "instant": AT + second, "state": state}
        for node, second, state in rows
    ]
    return pl.DataFrame(found, EVIDENCE).sort("instant")


def test_the_schedulers_log_dates_each_drain_to_the_second(tmp_path: Path) -> None:
    rows = (
        ("n1", -11_000, "DRAINING"),
        ("n1", -7_200, "IDLE"),
        ("n1", -60, "DRAINING"),
        ("n1", 1_800, "DRAINED"),
    )
    found = declared.dated(said(tmp_path, "Unknown"), logged(*rows))
    assert found.absences == (
        Absence("n1", AT - 11_000, AT - 7_200, "drained"),
        Absence("n1", AT - 60, None, "drained"),
    )
    assert found.cautions == ()


def test_a_command_before_the_last_return_is_of_another_drain(tmp_path: Path) -> None:
    found = declared.dated(said(tmp_path, "Unknown"), logged(("n1", -11_000, "DRAINING")))
    assert found.absences[1] == Absence("n1", AT + 1_800, None, "drained")
    (caution,) = found.cautions
    assert caution.startswith("1 drain may have begun earlier")


def test_nodes_without_events_are_absent_as_logged(tmp_path: Path) -> None:
    rows = (("n2", 0, "DOWN"), ("n2", 60, "IDLE"), ("n2", 90, "DRAINING"), ("x", 0, "DOWN"))
    found = declared.dated(said(tmp_path), logged(*rows))
    assert found.absences[2:] == (
        Absence("n2", AT, AT + 60, "down"),
        Absence("n2", AT + 90, None, "drained"),
    )


def test_without_a_log_nothing_changes(tmp_path: Path) -> None:
    assert declared.dated(said(tmp_path), logged()) == said(tmp_path)
