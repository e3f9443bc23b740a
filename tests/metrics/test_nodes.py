"""The account of waits by nodes: against the slow twin, and by hand."""

from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.hostlists import LONGEST, MOST, amounts_of, amounts_text, count, expand, listed
from audit.metrics import nodes
from audit.metrics.attempts import contention
from audit.metrics.attempts.account import Durations, account
from audit.metrics.attempts.population import describe
from audit.metrics.nodes import members
from audit.metrics.waits.plan import STRICT
from audit.metrics.waits.queue import in_force, queued
from audit.metrics.waits.walk import LogFacts, Plan, book, scene
from audit.model import Absence, Backfill, Node, Order, Policy, Pool, Resource
from audit.registry.causes import CAUSES, COLUMNS, LACKS
from audit.words import Placement
from tests.metrics.attempts.test_account import crowds
from tests.metrics.waits.compared import assert_same
from tests.naive import account as naive
from tests.naive import nodes as on
from tests.scenario.test_engine import slow_pool
from tests.strategies import EPOCH, NOW, Rows, ended, frame, sampled

SHAPES = {
    "n1": on.Machine((4, 0), ("batch",), ("amd", "ssd")),
    "n2": on.Machine((4, 0), ("batch", "debug"), ("amd",)),
    "g1": on.Machine((2, 2), ("gpu",)),
    "g2": on.Machine((2, 2), ("gpu", "batch"), ("intel", "ssd")),
}
POOL = Pool(
    "main",
    Resource.cpus,
    12,
    amounts=(("cpus", 12), ("gpus", 4)),
    nodes=tuple(
        Node(
            name,
            (("cpus", one.amounts[0]), ("gpus", one.amounts[1])),
            one.partitions,
            one.features,
        )
        for name, one in SHAPES.items()
    ),
)


@pytest.mark.parametrize(
    ("hostlist", "names"),
    [
        ("n[08-10],gpu01", ["n08", "n09", "n10", "gpu01"]),
        ("r[0-1]n[0-1]-ib", ["r0n0-ib", "r0n1-ib", "r1n0-ib", "r1n1-ib"]),
        ("n[1,3-4],n1", ["n1", "n3", "n4"]),
        ("", []),
        ("None assigned", ["None assigned"]),
        ("n[1-", None),
        ("n[a-b]", None),
        ("n[3-1]", None),
        *((malformed, None) for malformed in ("n]1[", "n[]", "n[[1]]", "n[1-2]]", "n[-2]")),
        (f"n[{'9' * 5_000}]", None),
        ("x" * (LONGEST + 1) + "[1-2]", None),
        ("[0-9]" * 400, None),
        (f"n[0-{MOST}]", None),
        ("n[0-999]" * 3, None),
        ("n[1-99999999999999999999]", None),
    ],
)
def test_a_hostlist_names_its_nodes(hostlist: str, names: list[str] | None) -> None:
    assert expand(hostlist) == names


def test_a_hostlist_names_at_most_so_many() -> None:
    assert expand("n[1-4]", most=4) == ["n1", "n2", "n3", "n4"]
    for hostlist in ("n[1-5]", "n[1-3],n[4-5]", "n[1-2][1-3]", "n[0-99999999999999999]"):
        assert expand(hostlist, most=4) is None


@pytest.mark.parametrize("hostlist", ["n[08-10],gpu01", "r[0-1]n[0-1]-ib", "n[1-", "n[3-1],a", ""])
def test_names_are_counted_before_they_are_made(hostlist: str) -> None:
    assert count(hostlist) >= len(expand(hostlist) or [])


def test_hostlists_of_too_many_nodes_are_not_read() -> None:
    lists = pl.Series([f"rack{k}n[0-{MOST - 1}]" for k in range(1_000)])
    assert members(lists).is_empty()
    assert members(lists[:2]).height == 2 * MOST


@pytest.mark.parametrize(
    "names",
    [
        *([], [""], ["a", ""], ["a b"], ["a,b"], ["n[1]"], ["a\nb"], ["x" * (LONGEST + 1)]),
        [f"n{k}" for k in range(MOST + 1)],
    ],
)
def test_names_that_no_hostlist_can_hold_are_unknown(names: list[str]) -> None:
    assert listed(names) is None


@given(st.dictionaries(st.text(min_size=1, max_size=9), st.integers(0, 3), min_size=1, max_size=9))
def test_hostlists_and_amounts_that_are_written_are_read(nodes: dict[str, int]) -> None:
    hostlist, amounts = listed(list(nodes)), list(nodes.values())
    assert hostlist is None or expand(hostlist) == list(nodes)
    text = amounts_text({"cpus": amounts, "gpus": [1] * len(nodes)})
    assert amounts_of(text, len(nodes)) == {"cpus": amounts, "gpus": [1] * len(nodes)}


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("cpus=4(x2),8", {"cpus": [4, 4, 8]}),
        ("cpus=4,8 gpus=1(x3)", {"gpus": [1, 1, 1]}),
        ("cpus=1(x999999999)", {}),
        ("cpus=1(x0),2(x3)", {"cpus": [2, 2, 2]}),
        (f"cpus={10**18 - 1}(x3) mem_bytes=-1(x3)", {"cpus": [10**18 - 1] * 3}),
        ("x", {}),
        ("", {}),
        (None, {}),
    ],
)
def test_amounts_on_three_nodes(text: str | None, amounts: dict[str, list[int]]) -> None:
    assert amounts_of(text, 3) == amounts


absences = st.builds(
    lambda node, begin, length: Absence(node, begin, length and begin + length, "drained"),
    sampled([*SHAPES]),
    st.integers(EPOCH, NOW),
    st.one_of(st.none(), st.integers(1, 20)),
)


APART = {**SHAPES, "n2": SHAPES["n2"]._replace(partitions=("debug",))} | {
    "g2": SHAPES["g2"]._replace(partitions=("gpu",))
}
"""Partitions that share no node."""


@pytest.mark.parametrize("plan", [Plan(0), Plan(1), Plan(20), STRICT], ids=str)
@given(data=st.data(), records=crowds(), away=st.lists(absences, max_size=3))
def test_as_defined(plan: Plan, data: st.DataObject, records: Rows, away: list[Absence]) -> None:
    shapes = APART if data.draw(st.booleans()) else SHAPES
    for record in records:
        _on_nodes(data, record)
        record["walltime_s"] = data.draw(sampled([None, 2, 7, 30]))
    nodes = tuple(one._replace(partitions=shapes[one.name].partitions) for one in POOL.nodes)
    stated = data.draw(st.sampled_from(Placement))
    pool = POOL._replace(nodes=nodes, absences=tuple(away), placement=stated)
    described = describe(frame(records), [pool]).with_row_index("row")
    queue = queued(described, NOW, pl.col("size") > 0)
    lapse = data.draw(sampled([1, 8, 900]))
    known = LogFacts(EPOCH, 2, lapse_s=lapse)
    rules = in_force(queue, (), (), pool.zone)
    got = book(scene(queue, pool, rules, known, outage_s=4), plan)
    absent = {
        name: [range(one.begin, one.end or 2 * NOW) for one in away if one.node == name]
        for name in SHAPES
    }
    site = naive.site_of(
        frame(records).with_columns(size="cpus").to_dicts(),
        *(*slow_pool(POOL), NOW),
        begin=EPOCH,
        interval=2,
        lapse=lapse,
        outage=4,
        machines=shapes,
        absent=absent,
        stated=stated,
    )
    want = naive.account(site, naive.Depth(plan.reservations, plan.strict))
    assert_same(got, want, queue, pool)


def _on_nodes(data: st.DataObject, record: dict[str, Any]) -> None:
    """Draw a partition, GPUs, and the nodes on which a record ran."""
    partition = data.draw(sampled(["batch", "batch", "gpu", "debug", "debug,gpu", None]))
    names = [name for name in SHAPES if name in on.eligible(SHAPES, {"partition": partition})]
    some = data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
    gpus = data.draw(sampled([None, 1, 2])) if "g1" in names or "g2" in names else None
    record |= {"partition": partition, "nodes": len(some), "gpus": gpus, "reservation": None}
    record["constraints"] = data.draw(sampled([None, None, None, *on.MET]))
    if record["start_time"] is not None and data.draw(sampled([True, True, True, False])):
        record["node_list"] = ",".join(some)
        record["node_amounts"] = data.draw(sampled([None, _amounts(data, record, len(some))]))


def _amounts(data: st.DataObject, record: dict[str, Any], nodes: int) -> str:
    """Draw how the CPUs and the GPUs of a record are divided among its nodes."""
    items = []
    for name in ("cpus", "gpus"):
        cuts = data.draw(st.lists(st.integers(0, record[name] or 0), min_size=nodes - 1))[
            : nodes - 1
        ]
        edges = [0, *sorted(cuts), (record[name] or 0) + data.draw(sampled([0, 0, 1]))]
        items.append(f"{name}={','.join(str(b - a) for a, b in pairwise(edges))}")
    return " ".join(items)


def parts(*records: dict[str, Any]) -> list[dict[str, float]]:
    """Return what each attempt waited for, by key of the cause."""
    made = account(
        describe(frame(list(records)), [POOL]), POOL, 100, durations=Durations(0), log_begin=-1
    )
    rows = made.attempts.sort("line").select(COLUMNS).rows()
    keys = [cause.key for cause in CAUSES]
    return [{k: v for k, v in zip(keys, row, strict=True) if v} for row in rows]


def test_free_capacity_that_is_scattered_over_nodes() -> None:
    # Two jobs of one GPU each leave one GPU free on g1 and on g2 from 0 to 10. A job of two GPUs
    # on one node fits in their sum, and on no node.
    one = {"partition": "gpu", "nodes": 1, "gpus": 1}
    got = parts(
        ended(0, 0, 10, 1, "ann", node_list="g1", **one),
        ended(0, 0, 10, 1, "bob", node_list="g2", **one),
        ended(2, 10, 20, 1, "cem", node_list="g1", **{**one, "gpus": 2}),
    )
    assert got == [{}, {}, {"nodes": 8}]


@pytest.mark.parametrize(
    ("on_g1", "on_g2", "request_", "lack"),
    [  # CPUs and GPUs; g1 and g2 have 2 of each
        ((1, 1), (0, 0), (1, 2), None),
        ((1, 1), (1, 1), (1, 2), "gpus"),
        ((1, 0), (1, 0), (2, 0), "cpus"),
        ((0, 1), (1, 0), (2, 2), "gpus"),  # on g2 it lacks CPUs: of both, GPUs are named
        ((1, 1), (1, 1), (2, 2), "several"),
    ],
)
def test_what_single_nodes_lack(
    on_g1: tuple[int, int], on_g2: tuple[int, int], request_: tuple[int, int], lack: str | None
) -> None:
    one = {"partition": "gpu", "nodes": 1}
    made = account(
        describe(
            frame(
                [
                    ended(0, 0, 10, on_g1[0], "ann", node_list="g1", gpus=on_g1[1], **one),
                    ended(0, 0, 10, on_g2[0], "bob", node_list="g2", gpus=on_g2[1], **one),
                    ended(2, 10, 20, request_[0], "cem", node_list="g1", gpus=request_[1], **one),
                ]
            ),
            [POOL],
        ),
        *(POOL, 100),
        durations=Durations(0),
        log_begin=-1,
    )
    row = made.attempts.filter(user="cem").row(0, named=True)
    got = {one.key: row[one.column] for one in LACKS if row[one.column]}
    assert got == ({} if lack is None else {lack: 8.0})


def test_nodes_with_the_required_features_lack_capacity_that_others_have() -> None:
    # One CPU and one GPU are free on each node with SSDs, two of both on the other.
    nodes = [
        Node(name, (("cpus", 2), ("gpus", 2)), ("batch",), features)
        for name, features in (("n1", ("ssd",)), ("n2", ("ssd",)), ("n3", ("hdd",)))
    ]
    amounts = (("cpus", 6), ("gpus", 6))
    pool = Pool("batch", Resource.cpus, 6, amounts=amounts, nodes=tuple(nodes))
    one = {"partition": "batch", "nodes": 1}
    records = [
        ended(0, 0, 10, 1, "ann", node_list="n1", gpus=1, **one),
        ended(0, 0, 10, 1, "bob", node_list="n2", gpus=1, **one),
        ended(2, 10, 20, 2, "cem", node_list="n1", gpus=2, constraints="ssd", **one),
    ]
    made = account(
        describe(frame(records), [pool]), pool, 100, durations=Durations(0), log_begin=-1
    )
    row = made.attempts.filter(user="cem").row(0, named=True)
    assert {one.key: row[one.column] for one in LACKS if row[one.column]} == {"feature": 8.0}


def test_without_nodes_nothing_is_lacking() -> None:
    described = describe(frame([ended(0, 5, 9, 1)]), [POOL])
    made = account(described, POOL._replace(nodes=()), 100, durations=Durations(0), log_begin=-1)
    assert made.guessed is None
    assert made.attempts.select(one.column for one in LACKS).row(0) == (None,) * len(LACKS)


def test_the_share_of_node_time_that_was_guessed() -> None:
    # 3 CPUs on two nodes for 10 s: two or one on each. 1 CPU on one node for 20 s is exact.
    records = [
        ended(0, 0, 10, 3, nodes=2, node_list="n1,n2", partition="batch"),
        ended(0, 0, 20, 1, nodes=1, node_list="n1", partition="batch"),
    ]
    made = account(
        describe(frame(records), [POOL]), POOL, 100, durations=Durations(0), log_begin=-1
    )
    assert made.guessed == (0.5, 0.5)  # 3 CPUs do not divide evenly among two nodes


def test_only_nodes_of_its_partition_count() -> None:
    # debug has n2 alone, which bob fills; n1 is free, but not for ann.
    got = parts(
        ended(0, 0, 10, 4, "bob", partition="batch", nodes=1, node_list="n2"),
        ended(4, 10, 20, 1, "ann", partition="debug", nodes=1, node_list="n2"),
    )
    assert got == [{}, {"earlier": 6}]


def test_only_nodes_with_the_required_features_count() -> None:
    # n2 is free all the time, but only n1, which bob fills, and g2 have an SSD.
    four = {"partition": "batch", "nodes": 1, "constraints": "ssd"}
    got = parts(
        ended(0, 0, 10, 4, "bob", node_list="n1", **four),
        ended(4, 10, 20, 4, "ann", node_list="n1", **four),
        ended(4, 10, 20, 4, "cem", node_list="n2", **{**four, "constraints": "tape"}),
    )
    # no node has a tape: that was different when cem's job ran
    assert got == [{}, {"earlier": 6}, {"unexplained": 6}]


def test_only_the_nodes_that_a_job_requires_count(monkeypatch: pytest.MonkeyPatch) -> None:
    # n2 is free all the time, but ann's job requires n1, which bob fills. No pool has n99.
    four = {"partition": "batch", "nodes": 1}
    log = (
        ended(0, 0, 10, 4, "bob", node_list="n1", **four),
        ended(4, 10, 20, 4, "ann", node_list="n1", required_nodes="n1", **four),
        ended(4, 10, 20, 4, "cem", node_list="n2", required_nodes="n99", **four),
    )
    assert parts(*log) == [{}, {"earlier": 6}, {"unexplained": 6}]
    monkeypatch.setattr(nodes, "MOST_REQUIRED", 2)  # too many different lists
    assert parts(*log) == [{}, {"unexplained": 6}, {"claimed": 6}]


@pytest.mark.parametrize("partition", ["batch,gpu", None])
def test_only_nodes_with_gpus_count_for_a_job_that_requests_some(partition: str | None) -> None:
    # n1 and n2 are free all the time, but only g1 and g2, whose CPUs bob uses, have GPUs.
    one = {"partition": partition, "nodes": 1}
    got = parts(
        ended(0, 0, 10, 2, "bob", node_list="g1", **one),
        ended(0, 0, 10, 2, "bob", node_list="g2", **one),
        ended(4, 10, 20, 1, "ann", node_list="g1", gpus=1, **one),
    )
    assert got == [{}, {}, {"earlier": 6}]


def test_what_runs_on_a_drained_node_holds_nothing_of_the_others() -> None:
    # ann's job fills n1, which takes no more jobs from 2 to 7, and bob's and cem's fill n2. From 4
    # to 7, n2 is all that ann's second job could use; then n1 counts too, and she holds half.
    pool = POOL._replace(absences=(Absence("n1", 2, 7, "drained"),))
    four = {"partition": "batch", "nodes": 1, "constraints": "amd"}
    records = [
        ended(0, 0, 10, 4, "ann", node_list="n1", **four),
        ended(0, 0, 10, 2, "bob", node_list="n2", **four),
        ended(0, 0, 10, 2, "cem", node_list="n2", **four),
        ended(4, 10, 20, 4, "ann", node_list="n1", **four),
    ]
    made = account(
        describe(frame(records), [pool]), pool, 100, durations=Durations(0), log_begin=-1
    )
    row = made.attempts.filter(arrival_time=4).row(0, named=True)
    assert (row["cause_own_s"], row["cause_earlier_s"]) == (1.5, 4.5)


def test_nodes_of_a_reservation_are_unavailable() -> None:
    reserved = {"reservation": "maint", "partition": "debug", "nodes": 1, "node_list": "n2"}
    got = parts(
        ended(0, 0, 10, 1, "bob", **reserved),
        ended(4, 10, 20, 1, "ann", partition="debug", nodes=1, node_list="n2"),
    )
    assert got[1] == {"unavailable": 6}


def test_a_request_that_fits_on_no_empty_node_is_unavailable() -> None:
    # 5 CPUs on one node: the largest has 4.
    got = parts(
        {**ended(0, 20, 30, 5, "ann", partition="batch", nodes=1), "node_list": None},
    )
    assert got == [{"unavailable": 20}]


def test_a_request_that_fits_on_no_empty_node_is_unavailable_while_others_run() -> None:
    # Of 10 CPUs, bob leaves fewer than 5 from 4 to 14: they were never enough on one node.
    got = parts(
        {**ended(0, 20, 30, 5, "ann", partition="batch", nodes=1), "node_list": None},
        ended(4, 4, 14, 4, "bob", partition="batch", nodes=1, node_list="n1"),
        ended(4, 4, 14, 3, "bob", partition="batch", nodes=1, node_list="n2"),
    )
    assert got == [{"unavailable": 20}, {}, {}]


def test_equal_parts_go_to_nodes_of_their_own() -> None:
    # 8 CPUs on 2 nodes: n1 is free, n2 has 3 of 4, and g2 has 2.
    got = parts(
        ended(0, 0, 10, 1, "bob", partition="debug", nodes=1, node_list="n2"),
        ended(2, 10, 20, 8, "ann", partition="batch", nodes=2, node_list="n1,n2"),
    )
    assert got[1] == {"nodes": 8}


def test_bytes_of_memory_that_do_not_divide_evenly_leave_the_parts_equal() -> None:
    # 1 CPU on each of 2 nodes, with 5 bytes together: bob fills n2, so n1 alone is not enough.
    amounts = (("cpus", 4), ("mem_bytes", 100))
    pool = Pool(
        "batch",
        Resource.cpus,
        8,
        amounts=(("cpus", 8), ("mem_bytes", 200)),
        nodes=tuple(Node(name, amounts, ("batch",)) for name in ("n1", "n2")),
    )
    records = [
        ended(0, 0, 10, 4, "bob", partition="batch", nodes=1, node_list="n2", mem_bytes=10),
        ended(2, 10, 20, 2, "ann", partition="batch", nodes=2, node_list="n1,n2", mem_bytes=5),
    ]
    made = account(
        describe(frame(records), [pool]), pool, 100, durations=Durations(0), log_begin=-1
    )
    row = made.attempts.filter(user="ann").row(0, named=True)
    assert row["cause_nodes_s"] == row["cause_nodes_cpus_s"] == 8


def test_what_the_log_states_of_each_node_is_not_guessed() -> None:
    # 5 CPUs on n1 and n2 fill n1 first; the log says 1 and 4.
    several = ended(0, 0, 10, 5, "bob", partition="batch", nodes=2, node_list="n1,n2")
    waits = ended(4, 10, 20, 1, "ann", partition="debug", nodes=1, node_list="n2")
    got = [parts({**several, "node_amounts": text}, waits)[1] for text in (None, "cpus=1,4")]
    assert got == [{"unexplained": 6}, {"earlier": 6}]


def test_memory_and_gpus_that_no_field_places_go_in_proportion_to_the_nodes() -> None:
    amounts = ("cpus", "mem_bytes", "gpus", "gpus:a100", "gpus:v100")
    has = {"g1": (8, 300, 4, 4, 0), "g2": (8, 100, 6, 2, 4)}
    pool = Pool(
        "main",
        Resource.gpus,
        10,
        amounts=tuple(zip(amounts, (16, 400, 10, 6, 4), strict=True)),
        nodes=tuple(
            Node(name, tuple(zip(amounts, of, strict=True)), ()) for name, of in has.items()
        ),
    )

    def on_nodes(*records: dict[str, Any]) -> dict[str, list[int]]:
        described = describe(frame(list(records)), [pool]).with_columns(end="end_time")
        found = nodes.placed(described, described.clear(), pool).nodes
        rows = found.amount[:, found.first[-2] :].tolist()
        return dict(zip(contention.counted_resources(pool), rows, strict=True))

    both: dict[str, Any] = {"nodes": 2, "node_list": "g[1-2]", "mem_bytes": 40, "gpus": 5}
    # CPUs fill the nodes in their order, also where GPUs are counted and they divide evenly
    got = on_nodes(ended(0, 0, 9, 10, gpu_types="a100:3,v100:2", **both))
    assert got == {
        "cpus": [8, 2],
        "mem_bytes": [30, 10],
        "gpus": [2, 3],
        "gpus:a100": [2, 1],
        "gpus:v100": [0, 2],
    }
    # GPUs of no type; g1 has none of one that no node has
    assert on_nodes(ended(0, 0, 9, 10, **both))["gpus"] == [2, 3]


TWO = Pool(
    "two",
    Resource.cpus,
    8,
    policy=Policy(Order.fcfs, Backfill.conservative_replan, reservations=20),
    amounts=(("cpus", 8),),
    nodes=(Node("n1", (("cpus", 4),), ("p", "left")), Node("n2", (("cpus", 4),), ("p", "right"))),
    states_backfill=True,
)
"""Two nodes of 4 CPUs, whose configured plan keeps 20 reservations."""


def planned(*records: dict[str, Any]) -> list[dict[str, float]]:
    """As ``parts``, in the pool ``TWO`` under its configured plan, with passes each 60 s."""
    described = describe(frame(list(records)), [TWO])
    made = account(described, TWO, 2_000, log_begin=-1)
    rows = made.attempts.sort("line").select(COLUMNS).rows()
    keys = [cause.key for cause in CAUSES]
    return [{k: v for k, v in zip(keys, row, strict=True) if v} for row in rows]


def of_two(
    times: tuple[int, int, int], cpus: int, user: str, node: str, walltime_s: int, **more: Any
) -> dict[str, Any]:
    """One job on one of the nodes."""
    on_one = {"nodes": 1, "node_list": node, "partition": "p", "walltime_s": walltime_s}
    return ended(*times, cpus, user, **{**on_one, **more})


def test_a_node_is_kept_for_a_bigger_job_but_another_is_not() -> None:
    # R leaves 2 CPUs of n1 free until 100, S 2 of n2 until 200: W, of 4 CPUs, fits in their sum and
    # on no node, and gets n1 at 100. K and L are longer than that. K, which only n1 can hold, would
    # delay W; L, which only n2 can hold, would not: that it waits until 150 is the scheduler's.
    records = (
        of_two((0, 0, 100), 2, "ann", "n1", 100),
        of_two((0, 0, 200), 2, "bob", "n2", 200),
        of_two((10, 100, 150), 4, "cem", "n1", 50),
        of_two((20, 150, 400), 2, "dot", "n1", 500, partition="left"),
        of_two((20, 150, 400), 2, "eve", "n2", 500, partition="right"),
    )
    assert planned(*records) == [
        {},
        {},
        {"nodes": 90},
        {"kept": 80, "earlier": 50},
        {"unexplained": 70, "cycle": 60},
    ]


def test_a_partition_with_hardware_of_its_own_has_outages_of_its_own() -> None:
    # ann's job runs on n1, of the other partition; for more than 600 s nothing runs on n2. With a
    # node in both partitions, their hardware is one, and that ann's job runs is no outage.
    apart = tuple(
        one._replace(partitions=(name,)) for one, name in zip(TWO.nodes, "ab", strict=True)
    )
    joined = (*apart, Node("n3", (("cpus", 1),), ("a", "b")))
    records = [
        of_two((0, 0, 2_000), 4, "ann", "n1", 2_000, partition="a"),
        of_two((100, 900, 1_000), 2, "bob", "n2", 100, partition="b"),
    ]
    for machine, cause in ((apart, "unavailable"), (joined, "unexplained")):
        pool = TWO._replace(nodes=machine)
        made = account(describe(frame(records), [pool]), pool, 3_000, log_begin=-1)
        row = made.attempts.filter(user="bob").row(0, named=True)
        assert row[f"cause_{cause}_s"] + row["cause_cycle_s"] == 800
        assert made.outages.rows() == ([(0, 900, 800)] if machine == apart else [])


@pytest.mark.parametrize(
    ("placement", "cause"),
    [
        (Placement.packed, "unexplained"),  # n2 keeps less free, so ann's job claims it
        (Placement.least_loaded, "claimed"),
        (Placement.consecutive, "unexplained"),
    ],
)
def test_claims_take_nodes_by_the_stated_placement(placement: Placement, cause: str) -> None:
    # n1 is free, and bob uses 1 of the 4 CPUs of n2: ann's 3 fit on both, cem's 4 on n1 alone.
    amd = {"partition": "batch", "nodes": 1, "constraints": "amd"}
    records = [
        ended(0, 0, 20, 1, "bob", node_list="n2", **amd),
        ended(2, 10, 20, 3, "ann", node_list="n2", **amd),
        ended(3, 10, 20, 4, "cem", node_list="n1", **amd),
    ]
    pool = POOL._replace(placement=placement)
    made = account(
        describe(frame(records), [pool]), pool, 100, durations=Durations(0), log_begin=-1
    )
    row = made.attempts.filter(user="cem").row(0, named=True)
    assert row[f"cause_{cause}_s"] == 7


def test_a_start_against_the_plan_takes_what_is_left() -> None:
    # n2 has 2 of 4 CPUs free until bob's job is expected to end at 10, from when on ann's keeps 4.
    # Nobody knows where cem's 30 s are: on what is left of n2, so that dan's 5 s do not fit there.
    debug = {"partition": "debug", "nodes": 1}
    records = [
        {**ended(0, 0, 10, 2, "bob", node_list="n2", **debug), "walltime_s": 10},
        {**ended(1, 10, 20, 4, "ann", node_list="n2", **debug), "walltime_s": 10},
        {**ended(2, 3, 33, 2, "cem", **debug), "walltime_s": 30, "node_list": None},
        {**ended(2, 3, 8, 2, "dan", node_list="n2", **debug), "walltime_s": 5},
    ]
    queue = queued(describe(frame(records), [POOL]).with_row_index("row"), 100, pl.col("size") > 0)
    log = scene(queue, POOL, in_force(queue, (), (), "UTC"), LogFacts(0, 1), outage_s=100)
    starts = book(log, Plan(1)).starts
    assert (starts.behind, starts.broken) == (2, 2)


def test_what_the_own_job_ahead_claims_on_a_node_is_own() -> None:
    # S fills n2. J, of 4 CPUs, may start on n1 from 10 on, and does at 100: it claims n1, which K
    # of the same user needs too. Then J runs there, and half of what K lacks is its user's.
    records = (
        of_two((0, 0, 150), 4, "bob", "n2", 150),
        of_two((10, 100, 150), 4, "ann", "n1", 50),
        of_two((20, 150, 160), 2, "ann", "n1", 10),
        of_two((20, 150, 160), 2, "cem", "n1", 10),
    )
    assert planned(*records) == [
        {},
        {"unexplained": 30, "cycle": 60},
        {"own": 80 + 25, "earlier": 25},
        {"claimed": 80, "earlier": 50},
    ]


def test_a_job_that_does_not_start_on_its_free_node_claims_it_no_longer_than_it_lapses() -> None:
    # S fills n2. J could start on n1 from 0 on, and does at 1,200: after 900 s it has lapsed, and
    # K, behind it, could have started since; J runs from 1,200 on, within the last pass before K.
    records = (
        of_two((0, 0, 1_300), 4, "bob", "n2", 1_300),
        of_two((0, 1_200, 1_250), 4, "ann", "n1", 50),
        of_two((100, 1_250, 1_300), 4, "cem", "n1", 50),
    )
    assert planned(*records) == [
        {},
        {"unexplained": 1_200},
        {"claimed": 800, "unexplained": 290, "cycle": 10, "earlier": 50},
    ]
