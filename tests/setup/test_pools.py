"""Pools and nodes from files about nodes: in config.toml as init writes it, a run and an audit."""

from pathlib import Path

import pytest

from audit import config
from audit.cluster.declared import NodeFiles
from audit.config.places import Site
from audit.nightly.run import run
from audit.oneoff.audit import AuditOptions, audit
from audit.pipeline.opening import LogRequest, Session
from audit.pipeline.published import open_published
from audit.setup import init as initial
from audit.setup.doctor import examine
from audit.setup.init import infer
from audit.setup.pools import of_nodes
from tests import stores
from tests.cluster.test_declared import machine

NODES = """\
NodeName=c1 CPUTot=4 RealMemory=8192 State=IDLE Partitions=batch,debug
NodeName=c2 CPUTot=4 RealMemory=8192 State=DOWN Partitions=batch Reason=x [root@2026-01-02T00:00:00]
NodeName=g1 CPUTot=4 RealMemory=8192 Gres=gpu:a100:2 Partitions=gpu AvailableFeatures=ib
"""
LOG = """\
JobID|User|Account|Partition|State|Submit|Start|End|Timelimit|AllocTRES|NodeList
1|ann|a|batch|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00|02:00:00|cpu=4,node=1|c1
2|bob|a|batch|COMPLETED|2026-01-01T00:10:00|2026-01-01T01:00:00|2026-01-01T02:00:00|02:00:00|cpu=8,node=2|c[1-2]
3|ann|a|gpu|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00|02:00:00|cpu=1,node=1,gres/gpu=1|g1
"""
VIEW = "SELECT pool, node, cpus, mem_bytes, gpus, gpu_type, features, source FROM nodes"
SHOWN = [
    ("batch", "c1", 4, 8 << 30, 0, None, None, "scontrol"),
    ("batch", "c2", 4, 8 << 30, 0, None, None, "scontrol"),
    ("gpu", "g1", 4, 8 << 30, 2, "a100", ["ib"], "scontrol"),
]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nodes.txt").write_text(NODES)
    Path("log.psv").write_text(LOG)


def shown(path: Path) -> list[tuple[object, ...]]:
    return stores.fetch(path, VIEW).rows()


@pytest.mark.thorough
def test_init_writes_pools_and_files_and_a_run_uses_them() -> None:
    files = NodeFiles(Path("nodes.txt"))
    draft = infer([Path("log.psv")], name="lab", zone="UTC", machines=files)
    assert {pool.name: sorted(pool.partitions) for pool in draft.pools} == {
        "batch": ["batch", "debug"],
        "gpu": ["gpu"],
    }
    path = Path("config.toml")
    initial.save(path, initial.write(draft))
    settings = config.load(path)
    assert settings.clusters[0] == draft.cluster
    assert settings.clusters[0].hardware == config.HardwareConfig(nodes="nodes.txt")
    site = Site(settings.model_copy(update={"report": config.ReportConfig(pdf=False)}), Path())
    assert not run(site, 1_800_000_000).failures
    assert shown(site.database) == SHOWN
    # what the files said is part of the figures: another shape makes them stale
    Path("nodes.txt").write_text(NODES.replace("CPUTot=4 RealMemory=8192 Gres", "CPUTot=6 Gres"))
    assert run(site, 1_800_000_100).computed
    assert shown(site.database)[2][:3] == ("gpu", "g1", 6)
    assert not run(site, 1_800_000_200).computed


@pytest.mark.thorough
def test_an_audit_uses_them_and_keeps_their_values() -> None:
    request = LogRequest(logs=[Path("log.psv")], cluster="lab", files=NodeFiles(Path("nodes.txt")))
    outcome = audit(
        Session(request, config.Config(), fit=False), AuditOptions(out=Path("out"), pdf=False)
    )
    assert shown(outcome.database) == SHOWN
    Path("nodes.txt").unlink()
    log = open_published(outcome.database, config.Config())
    assert {pool.name: len(pool.nodes) for pool in log.setting.pools} == {"batch": 2, "gpu": 1}
    (pool,) = (pool for pool in log.setting.pools if pool.name == "batch")
    assert [(one.node, one.end) for one in pool.absences] == [("c2", None)]


def test_nodes_that_share_partitions_are_one_pool() -> None:
    notes: dict[str, str] = {}
    nodes = (machine("n1", ("a", "b"), cpus=4), machine("n2", ("b",), cpus=4))
    (pool,) = of_nodes(nodes, None, [], notes)
    assert (pool.name, pool.partitions, pool.capacity) == ("all", (), config.AmountsConfig())
    assert notes == {"clusters.pools[0].capacity": "Left out: each run takes it from its nodes."}


@pytest.mark.usefixtures("sound_installation")
def test_doctor_says_where_nodes_come_from() -> None:
    Path("events.psv").write_text(
        "NodeName|TimeStart|TimeEnd|State\nc1|2026-01-01T00:00:00|2026-01-01T01:00:00|DRAINED\n"
    )
    table = config.Nodes(names="x[1-3]", cpus=4)
    cluster = config.Cluster(
        name="lab",
        hardware=config.HardwareConfig(nodes="nodes.txt", events="events.psv"),
        pools=(
            config.PoolConfig(name="rest"),
            config.PoolConfig(name="x", partitions=("x",), nodes=(table,)),
        ),
    )
    initial.save(Path("config.toml"), initial.annotated(cluster))
    (finding,) = (one for one in examine(Path("config.toml"), None) if "lab" in one.what)
    assert finding.ok
    assert "3 nodes from scontrol; 3 nodes of pool 'x' from config.toml" in finding.found
    assert "2 times of nodes out of service; 1 drain may have begun earlier" in finding.found
    Path("nodes.txt").unlink()
    (finding,) = (one for one in examine(Path("config.toml"), None) if "lab" in one.what)
    assert not finding.ok
    assert "clusters.hardware.nodes of cluster 'lab'" in finding.found
