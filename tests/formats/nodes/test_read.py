"""Listings of machines: the lab's own, by hand, and hostile ones."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.nodes import machine, pbsnodes, scontrol, sinfo
from audit.formats.nodes.machine import Drain
from audit.formats.nodes.read import read
from audit.model import Node
from tests.places import DATA, SLURM

LAB = (("cpus", 16), ("mem_bytes", 64_000 << 20), ("nodes", 1), ("gpus", 4), ("gpus:a100", 4))

ONE_LINE = (
    "NodeName=g1 CPUAlloc=0 CPUEfctv=30 CPUTot=32 AvailableFeatures=ib,fast Gres=gpu:a100:2(S:0-1),"
    "gpu:v100:1,nic:1 RealMemory=1000 MemSpecLimit=100 State=IDLE+DRAIN Partitions=gpu,all "
    "CfgTRES=cpu=30,mem=900M,gres/gpu=3 Comment=State=DOWN "
    "Reason=disk [of rack 7] [root@2026-11-21T04:00:00]\n"
)
G1 = Node(
    "g1",
    (
        *(("cpus", 30), ("mem_bytes", 900 << 20), ("nodes", 1), ("gpus", 3)),
        *(("gpus:a100", 2), ("gpus:v100", 1)),
    ),
    ("gpu", "all"),
    ("ib", "fast"),
    scontrol.SOURCE,
)


def test_the_nodes_of_a_lab_as_scontrol_and_sinfo_print_them() -> None:
    said = read((SLURM / "nodes" / "nodes.txt").read_text())
    assert said.nodes == (
        Node("n1", LAB, ("batch", "short", "cpuonly"), (), scontrol.SOURCE),
        Node("n2", LAB, ("batch", "short"), (), scontrol.SOURCE),
    )
    assert (said.drains, said.problems) == ((), ())
    (listed,) = read((SLURM / "nodes" / "sinfo.psv").read_text()).nodes
    assert listed == Node("n1", LAB, ("batch", "short"), (), sinfo.SOURCE)


def test_one_node_per_line() -> None:
    said = read(ONE_LINE)
    assert said.nodes == (G1,)
    assert said.drains == (Drain("g1", "drained", "2026-11-21T04:00:00"),)


@pytest.mark.parametrize(
    "written",
    [
        {"state": "idle", "state_flags": ["DRAIN"], "features": "ib,fast", "cpus": 30},
        {
            "state": ["IDLE", "DRAIN"],
            "features": ["ib", "fast"],
            "cpus": 32,
            "effective_cpus": 30,
        },
    ],
    ids=["22.05", "24.05"],
)
def test_nodes_in_json(written: dict[str, object]) -> None:
    entry = {
        "name": "g1",
        "real_memory": 1_000,
        "specialized_memory": 100,
        "gres": "gpu:a100:2(S:0-1),gpu:v100:1",
        "partitions": ["gpu", "all"],
        "reason_changed_at": {"set": True, "infinite": False, "number": 1_795_233_600},
        **written,
    }
    said = read(json.dumps({"meta": {}, "nodes": [entry, {"cpus": 3}, 7]}))
    assert said.nodes == (G1,)
    assert said.drains == (Drain("g1", "drained", "1795233600"),)
    assert len(said.problems) == 2


def test_gpus_of_cfgtres_where_gres_has_none() -> None:
    (node,) = read("NodeName=a Gres=(null) CfgTRES=cpu=2,gres/gpu=4,gres/gpu:a100=4").nodes
    assert dict(node.amounts) == {"nodes": 1, "gpus": 4, "gpus:a100": 4}


def test_a_table_of_sinfo_without_separator() -> None:
    said = read(
        "Tue Nov 24 15:00:00 2026\n"
        "NODELIST NODES PARTITION STATE CPUS S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON\n"
        "n1           1    batch* drain   16 1:16:1 64000      0      1  fast,ib  bad disk here\n"
        "n1           1    debug  drain   16 1:16:1 64000      0      1  fast,ib  bad disk here\n"
        "n[2-3]       2    batch* idle   16+ 1:16:1 64000+     0      1   (null)  none\n"
        "n[           1    batch* idle    16 1:16:1 64000      0      1   (null)  none\n"
        "short row\n"
    )
    assert said.nodes[0] == Node(
        "n1",
        (("cpus", 16), ("mem_bytes", 64_000 << 20), ("nodes", 1)),
        ("batch", "debug"),
        ("fast", "ib"),
        sinfo.SOURCE,
    )
    # the least of different amounts is no amount
    assert [(node.name, node.amounts) for node in said.nodes[1:]] == [
        ("n2", (("nodes", 1),)),
        ("n3", (("nodes", 1),)),
    ]
    assert said.drains == (Drain("n1", "drained", None),)
    assert len(said.problems) == 2


def test_nodes_of_pbs_and_torque() -> None:
    said = read(
        "c1\n"
        "     Mom = c1.site\n"
        "     state = free\n"
        "     resources_available.gpu_model = A100\n"
        "     resources_available.infiniband = True\n"
        "     resources_available.mem = 1024kb\n"
        "     resources_available.ncpus = 64\n"
        "     resources_available.ngpus = 4\n"
        "     queue = gpuq\n"
        "\n"
        "c2\n"
        "     state = offline,job-exclusive\n"
        "     np = 16\n"
        "     properties = fast,ib\n"
        "     status = rectime=1,ncpus=16,physmem=2gb,jobs=\n"
        "     gpus = 2\n"
        "what is this line\n"
    )
    assert said.nodes == (
        Node(
            "c1",
            (("cpus", 64), ("mem_bytes", 1 << 20), ("nodes", 1), ("gpus", 4), ("gpus:a100", 4)),
            ("gpuq",),
            ("infiniband",),
            pbsnodes.SOURCE,
        ),
        Node(
            "c2",
            (("cpus", 16), ("mem_bytes", 2 << 30), ("nodes", 1), ("gpus", 2)),
            (),
            ("fast", "ib"),
            pbsnodes.SOURCE,
        ),
    )
    assert said.drains == (Drain("c2", "drained", None),)
    assert len(said.problems) == 1


def test_nodes_of_pbs_as_json() -> None:
    """What ``pbsnodes -av -F json`` prints says the same as its text."""
    text = """\
n1[0]
     state = free
     resources_available.mem = 1024kb
     resources_available.ncpus = 4
     resources_available.ngpus = 2
     resources_available.ssd = True
n1[1]
     state = free
     resources_available.mem = 1024kb
     resources_available.ncpus = 4
n2
     state = offline
     queue = gpuq
     resources_available.ncpus = 8
"""
    half = {"mem": "1024kb", "ncpus": 4}
    nodes = {
        "n1[0]": {"state": "free", "resources_available": half | {"ngpus": 2, "ssd": "True"}},
        "n1[1]": {"state": "free", "resources_available": half},
        "n2": {"state": "offline", "queue": "gpuq", "resources_available": {"ncpus": 8}},
    }
    assert read(json.dumps({"pbs_version": "23.06.06", "nodes": nodes})) == read(text)
    assert len(read(text).nodes) == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{}",
        '{"nodes": {}}',
        '{"nodes": 3}',
        '{"nodes":' * 9_999,
        "[1]",
        "NODELIST\nn1",
        "x y z",
        "\0" * 9,
    ],
)
def test_what_is_no_listing_is_refused(text: str) -> None:
    said = read(text)
    assert not said.nodes
    assert said.problems


@pytest.mark.parametrize(
    "line",
    [
        "NodeName=n1 CPUTot=999999999999",
        "NodeName=n1 RealMemory=99999999999999999",
        f"NodeName={'n' * 300} CPUTot=1",
        "NodeName= CPUTot=1",
    ],
)
def test_impossible_nodes_are_left_out_and_counted(line: str) -> None:
    said = read(f"{line}\nNodeName=n2 CPUTot=2\n")
    assert [node.name for node in said.nodes] == ["n2"]
    assert len(said.problems) == 1


def test_no_more_nodes_than_a_cluster_can_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "MOST", 2)
    said = read("\n".join(f"NodeName=n{k} CPUTot=1" for k in range(5)))
    assert len(said.nodes) == 2
    assert len(said.problems) == 1


PIECES = st.sampled_from(
    [*"=:gpu4,[]-+|(*)\n\t {}\"'", "NodeName=", "NODELIST|CPUS\n", "CPUTot=1 "]
)


@given(st.lists(PIECES).map("".join))
def test_no_text_is_an_error(text: str) -> None:
    read(text)
    read("NodeName=" + text)
    read("NODELIST|CPUS|GRES\n" + text)
    read("n1\n  state = free\n" + text)


def vnodes(**states: str) -> str:
    """A natural vnode without CPUs, and two others in the states of ``a`` and ``b``."""
    text = (DATA / "cases" / "pbsnodes-vnodes" / "input").read_text()
    first, a, b = text.split("\n\n")[:3]
    parts = (a.replace("= free", f"= {states['a']}"), b.replace("= free", f"= {states['b']}"))
    return "\n\n".join((first, *parts, ""))


def test_vnodes_are_parts_of_one_node() -> None:
    found = read(vnodes(a="free", b="job-busy"))
    amounts = (("cpus", 8), ("mem_bytes", 32 << 30), ("nodes", 1), ("gpus", 2))
    assert found == machine.NodeListing((Node("n1", amounts, (), (), pbsnodes.SOURCE),))


def test_a_node_is_out_of_service_with_all_its_vnodes() -> None:
    assert read(vnodes(a="offline", b="down,offline")).drains == (Drain("n1", "drained", None),)
    half = read(vnodes(a="offline", b="free"))
    assert half.drains == ()
    assert half.problems == (
        "node 'n1': 1 of 2 vnodes are out of service: the node counts as in service",
    )


def test_a_node_belongs_to_the_queues_of_its_vnodes() -> None:
    text = "n[0]\n  np = 2\n  queue = a\nn[1]\n  np = 4\n  queue = b\nm[0]\n  np = 1\n"
    assert [
        (node.name, node.partitions, dict(node.amounts)["cpus"]) for node in read(text).nodes
    ] == [
        ("n", ("a", "b"), 6),
        ("m", (), 1),
    ]
