"""PBS's accounting logs: what every dialect owes, each type of record, and real spellings."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from audit.formats import dialects
from audit.formats.dialects import PLAIN, Header, Reading
from audit.formats.lines import Block
from audit.formats.pbs import reader
from audit.formats.pbs.records import MISCOUNTED, SLOTLESS, WITHHELD
from bench.logs.writers.pbs import text, write
from tests.formats import contract
from tests.places import DATA

LOG = (
    b"11/14/2023 22:13:20;Q;7.srv;user=ana group=staff queue=batch ctime=1700000000 "
    b"qtime=1700000000 etime=1700000000 Resource_List.ncpus=8\n",
    b"11/14/2023 22:14:20;S;7.srv;user=ana group=staff queue=batch ctime=1700000000 "
    b"start=1700000060 exec_host=n1/0-7 Resource_List.walltime=02:00:00\n",
    b"11/14/2023 22:15:00;L;license;floating license hour:1 day:2 month:3 max:4\n",
    b"11/14/2023 22:16:40;D;8[3].srv;requestor=ben@head\n",
    b"11/14/2023 23:14:20;E;7.srv;user=ana group=staff queue=batch ctime=1700000000 "
    b"start=1700000060 exec_host=n1/0-7 end=1700003660 Exit_status=0\n",
)

CASE = contract.Case(
    reader.DIALECT,
    LOG,
    write,
    carries=(
        *("job_id", "user", "account", "group", "partition", "state", "submit_time"),
        *("eligible_time", "start_time", "end_time", "walltime_s", "cpus", "nodes", "gpus"),
        *("mem_bytes", "node_list", "node_amounts"),
    ),
    on_nodes=("cpus", "gpus"),
    names=("user", "account", "group", "partition"),
    returned=text,
    ids=("7.srv", "8[3].srv", "12", "9-4.srv"),
    changes={"walltime_s": st.integers(10_001, 1_000_000)},
)


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
def test_contract(check: contract.Check) -> None:
    check(CASE)


HEAD = "11/14/2023 22:13:20;{};{};"
BASE = "user=ana queue=batch ctime=100 etime=110 start=200 "


def one(kind: str, message: str, job: str = "7.srv", zone: str = "UTC") -> dict[str, Any]:
    """The only record of a log."""
    data = f"{HEAD.format(kind, job)}{message}\n".encode()
    return contract.only(reader.parse(Block(data, 0, 1), Header(zone=zone)))


def each(messages: Iterable[str]) -> list[dict[str, Any]]:
    """The records of a log of ends with these messages, in order."""
    lines = [f"{HEAD.format('E', f'{k}.srv')}{message}\n" for k, message in enumerate(messages)]
    parsed = reader.parse(Block("".join(lines).encode(), 0, 1), Header(zone="UTC"))
    assert parsed.refusals.is_empty()
    return parsed.records.sort("line").rows(named=True)


def why(data: str) -> str:
    """Why the only line of a log is refused."""
    return contract.why(reader.parse(Block(f"{data}\n".encode(), 0, 1), Header(zone="UTC")))


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("Q", "queue=batch", {"kind": "queued", "submit_time": 1_700_000_000, "state": "PENDING"}),
        ("Q", "queue=b user=ana ctime=5", {"submit_time": 5, "user": "ana", "end_time": None}),
        ("S", BASE, {"kind": "sighting", "start_time": 200, "end_time": None, "state": "RUNNING"}),
        ("s", BASE, {"kind": "sighting", "start_time": 200, "state": "RUNNING"}),
        ("E", BASE + "end=300", {"kind": "sighting", "end_time": 300, "occupancy_s": 100}),
        ("R", BASE + "end=300", {"kind": "sighting", "end_time": 300, "state": "REQUEUED"}),
        ("R", "", {"kind": "left", "end_time": 1_700_000_000, "state": "REQUEUED"}),
        ("D", "requestor=ana@h", {"kind": "left", "state": "CANCELLED", "user": None}),
        ("A", "Job aborted; all of it", {"kind": "left", "state": "CANCELLED"}),
        ("M", "other.srv", {"kind": "left", "state": "MOVED"}),
        ("z", "resources_used.cput=1", {"kind": "paused", "state": None}),
        ("r", "", {"kind": "resumed", "start_time": None}),
        ("E", "ctime=100 start=0 end=300", {"start_time": None, "state": "CANCELLED"}),
    ],
)
def test_types(kind: str, message: str, expected: dict[str, object]) -> None:
    found = one(kind, message)
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("kind", reader.PASSED_OVER)
def test_what_is_no_attempt_is_counted(kind: str) -> None:
    data = f"{HEAD.format(kind, 'R12.srv')}anything at all\n".encode()
    parsed = reader.parse(Block(data, 0, 1), Header(zone="UTC"))
    assert contract.accounted(parsed) == parsed.steps == 1


def test_states() -> None:
    cases = [
        ("Exit_status=1", "FAILED"),
        ("Exit_status=139", "FAILED"),
        ("Exit_status=271", "CANCELLED"),
        ("Exit_status=265", "CANCELLED"),
        ("Exit_status=267", "FAILED"),
        ("Exit_status=271 Resource_List.walltime=100", "TIMEOUT"),
        ("Exit_status=271 Resource_List.walltime=101", "CANCELLED"),
        ("Exit_status=271 Resource_List.walltime=0", "CANCELLED"),
        ("Exit_status=-29 run_count=1", "TIMEOUT"),
        ("Exit_status=-27 run_count=1", "OUT_OF_MEMORY"),
        ("Exit_status=-11", "TIMEOUT"),
        ("Exit_status=-11 run_count=1", "FAILED"),
        ("Exit_status=-10", "OUT_OF_MEMORY"),
        ("Exit_status=-3", "FAILED"),
        ("session=1", None),
    ]
    found = each(f"{BASE}end=300 {message}" for message, _ in cases)
    assert [
        (message, row["state"]) for (message, _), row in zip(cases, found, strict=True)
    ] == cases


KEYS: list[tuple[str, dict[str, object]]] = [
    ('account="a b" project=p', {"account": "a b"}),
    ('account="phys" project=p', {"account": "phys"}),
    ("project=p", {"account": "p"}),
    ("project=_pbs_project_default", {"account": None}),
    ("""jobname='say "start=9 end=9"' group=g""", {"group": "g", "start_time": 200}),
    ('jobname="user=eve queue=x" group=g', {"group": "g", "user": "ana", "partition": "batch"}),
    ("Resource_Request_2.0=-L tasks=1:lprocs=4 -L tasks=1 group=g", {"group": "g"}),
    ("comment=a=b=c Resource_List.mem=1gb", {"mem_bytes": 1 << 30}),
    ("resvname=night resvID=R1.srv", {"reservation": "night"}),
    ("resvID=R1.srv", {"reservation": "R1.srv"}),
    ("Resource_List.qos=high", {"qos": "high"}),
    ("Resource_List.nodes=1 Resource_List.ncpus=8", {"cpus": 8, "nodes": 1, "gpus": 0}),
    ("Resource_List.procs=16 Resource_List.nodect=1", {"cpus": 16, "req_cpus": 16}),
    # the server adds `default_chunk.ncpus` to chunks that name no CPUs
    ("Resource_List.select=4:mpiprocs=36 Resource_List.ncpus=144", {"cpus": 144, "req_cpus": 144}),
    ("exec_host=n1/0-7 Resource_List.nodes=1:ppn=2", {"cpus": 8, "req_cpus": 2}),
    ("exec_vnode=(n1:ncpus=4)", {"cpus": 4, "req_cpus": None}),
    ("exec_host=n1:ncpus=4:mem=2gb", {"cpus": 4, "mem_bytes": 2 << 30, "node_list": "n1"}),
    ("Resource_List.pmem=2gb Resource_List.ncpus=4", {"mem_bytes": 8 << 30}),
    ("exec_host=n1/0-3 Resource_List.ncpus=1", {"cpus": 4}),
    ("total_execution_slots=9 unique_node_count=3", {"cpus": 9, "nodes": 3}),
    ("total_execution_slots=9 unique_node_count=3 exec_host=n1/0", {"cpus": 1, "nodes": 1}),
    (
        "exec_host=n1+n2 Resource_List.ncpus=8 Resource_List.nodect=2",
        {"cpus": 8, "nodes": 2, "node_list": "n1,n2", "node_amounts": None},
    ),
    (
        "exec_host=B-1-512 Resource_List.ncpus=512 Resource_List.nodes=512",
        {"cpus": 512, "nodes": 512, "node_list": None},
    ),
    ("exec_host=n1/0-3+n2 Resource_List.ncpus=8", {"cpus": 8, "nodes": 2}),
    ("resource_assigned.ncpus=48 exec_vnode=(n1:ncpus=4)", {"cpus": 48}),
    ("resources_assigned.ncpus=48 exec_vnode=(n1:ncpus=4)", {"cpus": 48}),
    ("exec_host=n1/0*4 exec_gpus=n1-gpu/0+n1-gpu/1", {"gpus": 2, "cpus": 4}),
    (
        "exec_host=n1/0+n2/0 exec_gpus=n2-gpu/0+n2-gpu/1",
        {"gpus": 2, "node_list": "n1,n2", "node_amounts": "cpus=1(x2) gpus=0,2"},
    ),
    ("exec_host=n1-gpu/0+n1/0 exec_gpus=n1-gpu/0", {"gpus": 1, "node_list": "n1"}),
    ("exec_host=n1/0*2 exec_vnode=(m[0]:ncpus=2)", {"node_list": "m", "cpus": 2}),
    ("Resource_List.nodes=2:ppn=8:gpus=2", {"cpus": 16, "nodes": 2, "gpus": 4}),
    ("Resource_List.vmem=8gb Resource_List.ncpus=4", {"mem_bytes": 8 << 30}),
    ("Resource_List.pvmem=2gb Resource_List.ncpus=4", {"mem_bytes": 8 << 30}),
    ("Resource_List.pvmem=2gb Resource_List.mem=1gb", {"mem_bytes": 1 << 30}),
    ("Resource_List.pmem=999999tb Resource_List.ncpus=9999999", {"mem_bytes": None}),
    ("Resource_List.mppwidth=64", {"cpus": 64, "nodes": None, "gpus": 0}),
    (
        "exec_host=login1/0 Resource_List.mppwidth=64 Resource_List.mppdepth=2 "
        "Resource_List.mppnppn=24 Resource_List.mppmem=1gb",
        {"cpus": 128, "nodes": 3, "mem_bytes": 64 << 30, "node_list": None},
    ),
    (
        "exec_host=n1/0-63+n2/0-63 Resource_List.mppwidth=100 Resource_List.mppnppn=50",
        {"cpus": 128, "nodes": 2, "node_list": "n1,n2"},
    ),
    ("Resource_List.walltime=unlimited", {"walltime_s": None}),
    ("Resource_List.walltime=00:00:00", {"walltime_s": None}),
    ("Resource_List.walltime=144:00:00", {"walltime_s": 518_400}),
    ("Resource_List.walltime=02:43", {"walltime_s": 163}),
    ("Resource_List.walltime=163", {"walltime_s": 163}),
    ("Resource_List.walltime=1:02:03:04", {"walltime_s": 93_784}),
    ("Resource_List.walltime=00:16:40.250", {"walltime_s": 1_000}),
    ("Resource_List.ncpus=many", {"cpus": None, "gpus": None}),
    ("user=ben", {"user": "ben"}),
    ("Resource_Lost.walltime=5 Resource_List.walltime=9", {"walltime_s": 9}),
    ("Resource_List.walltime=9 Resource_Lost.walltime=5", {"walltime_s": 9}),
    ("xuser=ben Xctime=5", {"user": "ana", "submit_time": 100}),
]


def test_keys() -> None:
    found = each(f"{BASE}{message} end=300" for message, _ in KEYS)
    for (message, expected), row in zip(KEYS, found, strict=True):
        assert {name: row[name] for name in expected} == expected, message


@pytest.mark.parametrize(
    ("job", "number", "task"),
    [
        ("7", 7, None),
        ("7.srv.org", 7, None),
        ("7[5].srv", 7, 5),
        ("7[].srv", 7, None),
        ("7-5.srv", 7, 5),
        ("7[1-1000000%50].srv", 7, None),
        ("7.[host]", 7, None),
    ],
)
def test_ids(job: str, number: int, task: int | None) -> None:
    found = one("E", f"{BASE}end=300", job)
    assert (found["job_id"], found["job_number"], found["array_task"]) == (job, number, task)


@pytest.mark.parametrize(
    ("job", "indices", "tasks", "array_tasks"),
    [
        ("7[].srv", "array_indices=1-100", 100, "1-100"),
        ("7[].srv", "array_indices=1-9:2%3", 5, "1-9:2"),
        ("7[].srv", "array_indices=1-100 array_indices_remaining=90-100", 11, "90-100"),
        ("7[].srv", "array_indices=many", 1, None),
        ("7[].srv", "", 1, None),
        ("7[3].srv", "array_indices=1-100", 1, None),
    ],
)
def test_an_array_stands_for_its_tasks(
    job: str, indices: str, tasks: int, array_tasks: str | None
) -> None:
    found = one("Q", f"user=ana queue=batch ctime=100 etime=110 {indices}", job)
    assert (found["tasks"], found["array_tasks"]) == (tasks, array_tasks)


@pytest.mark.parametrize("kind", ["S", "s"])
def test_an_array_as_a_whole_does_not_start(kind: str) -> None:
    line = f"{HEAD.format(kind, '7[].srv')}{BASE}array_indices=1-100\n".encode()
    parsed = reader.parse(Block(line, 0, 1), Header(zone="UTC"))
    assert (parsed.records.height, parsed.refusals.height, parsed.steps) == (0, 0, 1)
    ended = one("E", f"{BASE}end=300 Exit_status=0", "7[].srv")
    assert (ended["kind"], ended["state"]) == ("left", "CANCELLED")
    assert (ended["start_time"], ended["end_time"], ended["occupancy_s"]) == (None, 300, None)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a line of something else", "does not begin with a time, a type and an id"),
        (HEAD.format("E", "") + BASE, "does not begin with a time, a type and an id"),
        (HEAD.format("X", "7.srv") + BASE, "field type: 'X' is unknown in PBS"),
        (HEAD.format("E", "R7.srv") + BASE + "end=300", "field id: 'R7.srv' is not a job id"),
        (HEAD.format("D", "x") + "requestor=a", "field id: 'x' is not a job id"),
        (HEAD.format("E", "7") + BASE, "field end is missing"),
        (HEAD.format("S", "7") + "ctime=100", "field start is missing"),
        (HEAD.format("E", "7") + BASE + "end=199", "ends 1 s before it starts"),
        (HEAD.format("E", "7") + BASE + "end=soon", "field end: 'soon' is not a time in s"),
        (HEAD.format("E", "7") + BASE + "end=1700000000000", "field end: '1700000000000' is too"),
        ("13/14/2023 22:13:20;D;7.srv;", "field time: '13/14/2023 22:13:20' is not a time"),
        ("11/31/2023 22:13:20;Q;7.srv;queue=b", "field time: '11/31/2023 22:13:20' is not a time"),
    ],
)
def test_refused_with_the_reason(line: str, reason: str) -> None:
    assert reason in why(line)


def remarked(message: str) -> dict[str, int]:
    """The remarks about a run that ended."""
    data = f"{HEAD.format('E', '7.srv')}{BASE}end=300 {message}\n".encode()
    parsed = reader.parse(Block(data, 0, 1), Header(zone="UTC"))
    assert parsed.refusals.is_empty()
    return dict(parsed.remarks)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        *(("walltime", text) for text in ("4h", "36:", "1:2:3:4:5", "-42:-21", "9" * 10)),
        *(("mem", text) for text in ("much", "9.22e18")),
        *(("ncpus", text) for text in ("many", "4294967295")),
    ],
)
def test_an_amount_or_limit_that_cannot_be_read_is_unknown(key: str, text: str) -> None:
    name = f"Resource_List.{key}"
    column = {"walltime": "walltime_s", "mem": "mem_bytes", "ncpus": "cpus"}[key]
    data = f"{HEAD.format('E', '7.srv')}{BASE}end=300 {name}={text}\n".encode()
    parsed = reader.parse(Block(data, 0, 1), Header(zone="UTC"))
    assert contract.only(parsed)[column] is None
    assert parsed.remarks == {f"field {name} cannot be read, and counts as unknown": 1}


def test_what_may_be_written_is_no_doubt() -> None:
    message = "Resource_List.walltime=unlimited Resource_List.mem=0 Resource_List.nodect=2:ppn=4"
    assert remarked(message) == {}


def test_contradictions_between_keys_are_counted() -> None:
    assert remarked("exec_host=n1 Resource_List.ncpus=8") == {SLOTLESS: 1}
    assert remarked("exec_host=n1/0 unique_node_count=2") == {MISCOUNTED: 1}
    assert remarked("exec_host=n1/0 total_execution_slots=1 unique_node_count=1") == {}


def test_records_of_cobalt_count_by_what_was_requested() -> None:
    data = (DATA / "cases" / "pbs-cobalt" / "input").read_bytes()
    parsed = reader.parse(Block(data, 0, 1), reader.header(data))
    started = parsed.records.filter(parsed.records["kind"] == "sighting")
    assert started.select("cpus", "nodes", "node_list").rows() == [(512, 512, None)] * 2
    assert parsed.remarks == {SLOTLESS: 2}


def test_what_jobs_with_whole_nodes_kept_from_others_is_unknown_without_starts() -> None:
    def read(*kinds: str) -> dict[str, int]:
        where = "exec_vnode=(n1:ncpus=2) Resource_List.place=scatter:excl"
        data = "".join(f"{HEAD.format(kind, '7.srv')}{BASE}end=300 {where}\n" for kind in kinds)
        parsed = reader.parse(Block(data.encode(), 0, 1), reader.header(data.encode()))
        assert set(parsed.records["cpus"]) == {2}
        return dict(parsed.remarks)

    assert read("E", "E") == {WITHHELD: 2}
    assert read("S", "E") == {}


def test_a_cut_line_is_refused_though_it_could_be_read() -> None:
    data = f"{HEAD.format('E', '7')}{BASE}end=300".encode()
    parsed = reader.parse(Block(data, 0, 1), Header(zone="UTC"))
    assert parsed.refusals.select("code", "reason").rows() == [
        ("cut", "the log ends within this record")
    ]


def test_bytes_that_are_not_utf8_are_kept() -> None:
    data = f"{HEAD.format('E', '7')}{BASE}end=300\n".encode().replace(b"ana", b"\xff\xfe")
    parsed = reader.parse(Block(data, 0, 1), Header(zone="UTC"))
    assert parsed.records["user"].to_list() == ["\\xff\\xfe"]


def test_heads_are_of_the_zone() -> None:
    assert one("D", "", zone="Asia/Kolkata")["end_time"] == 1_700_000_000 - 19_800
    summer = one("D", "", zone="America/New_York")["end_time"]
    assert summer == 1_700_000_000 + 5 * 3_600


@pytest.mark.parametrize(
    ("hours", "zone"), [(0, "UTC"), (-5, "Etc/GMT+5"), (2, "Etc/GMT-2"), (13, "Etc/GMT-13")]
)
def test_the_clock_is_known_by_the_log_s_own_times(hours: int, zone: str) -> None:
    line = f"{HEAD.format('E', '7')}{BASE}end={1_700_000_000 - 3_600 * hours}\n"
    header = reader.header(line.encode() * 3)
    assert header.zone == zone
    assert bool(header.problems) is (hours != 0)
    assert reader.header(line.encode(), Reading(zone="Asia/Tokyo")).zone == "Asia/Tokyo"


def test_a_log_without_such_times_is_read_as_utc_and_says_so() -> None:
    header = reader.header(f"{HEAD.format('D', '7')}requestor=a\n".encode(), PLAIN)
    assert header.local_times
    assert header.zone is None


REAL = os.environ.get("FAIRAUDIT_REAL_LOGS")


@pytest.mark.skipif(REAL is None, reason="FAIRAUDIT_REAL_LOGS does not name the real logs")
def test_records_of_several_sites() -> None:
    """Size, walltime and state of each record."""
    data = (Path(str(REAL)) / "pbs/xdmod-unit-pbs-accounting-logs.log").read_bytes()
    parsed = reader.parse(Block(data, 0, 1), reader.header(data))
    assert parsed.refusals.is_empty()
    columns = ("job_number", "cpus", "nodes", "gpus", "walltime_s", "state", "account")
    assert parsed.records.select(columns).rows() == [
        (6, 32, 4, 0, 14_400, "COMPLETED", None),
        (6, 32, 4, 0, 14_400, "COMPLETED", None),
        (6_464_684, 4, 1, 0, 86_400, "FAILED", "anonaccount"),
        (2994, 65, 5, 0, 163, "COMPLETED", None),
        (2995, 12, 2, 0, 163, "COMPLETED", None),
        (7904, 28, 1, 1, 345_600, "FAILED", "group2"),
        (10_711, 28, 1, 4, None, "COMPLETED", "group2"),
        (10_712, 28, 1, 2, 345_600, "COMPLETED", "group2"),
        (3_073_070, 48, 1, 4, 36_000, "TIMEOUT", "[project1]"),
    ]
    assert parsed.records["mem_bytes"].to_list()[-1] == 190_000_128 << 10


def test_an_empty_line_as_on_windows_is_nothing_even_where_it_is_the_first() -> None:
    parsed = CASE.read(b"\r\n" + CASE.sample)
    assert parsed.refusals.is_empty()
    assert contract.rows(parsed) == contract.rows(CASE.whole)


@pytest.mark.parametrize(
    "prefix",
    [
        b"Nov 14 22:13:20 srv PBS_Server[12]: ",
        b"<134>Nov  4 22:13:20 srv pbs_server: ",
        b"<134>2023-11-14T22:13:20.123456+01:00 srv PBS_Server: ",
        b"20231114:",
        b"/var/spool/pbs/server priv/20231114:17:",
    ],
)
def test_what_syslog_or_grep_writes_before_a_record_is_skipped(prefix: bytes) -> None:
    data = b"".join(prefix + line for line in LOG)
    assert dialects.detect(data, "x") is reader.DIALECT
    parsed = CASE.read(data, reader.header(data))
    assert reader.header(data) == CASE.header
    assert contract.rows(parsed) == contract.rows(CASE.whole)
    assert (parsed.refusals.height, parsed.steps) == (0, CASE.whole.steps)


def test_files_that_grep_names_are_skipped() -> None:
    data = (DATA / "cases" / "pbs-grep-prefix" / "input").read_bytes()
    assert dialects.detect(data, "x") is reader.DIALECT
    parsed = reader.parse(Block(data, 0, 1), reader.header(data))
    assert parsed.refusals.is_empty()
    assert parsed.records["job_id"].to_list() == ["9.srv", "10.srv"]


def test_a_prefix_in_some_lines_only_is_skipped() -> None:
    data = b"".join([LOG[0], b"20231114:" + LOG[1], *LOG[2:]])
    assert contract.rows(CASE.read(data)) == contract.rows(CASE.whole)


@pytest.mark.parametrize(
    ("ids", "server"),
    [
        (["7.srv", "8[3].srv"], "srv"),
        (["7.pbs-1.x.edu"], "pbs-1.x.edu"),
        (["7.srv", "8.other"], None),
        (["7"], None),
        (["7../etc"], None),
    ],
)
def test_the_server_is_the_only_one_that_records_name(ids: list[str], server: str | None) -> None:
    data = "".join(f"{HEAD.format('E', job)}{BASE}end=300\n" for job in ids)
    assert reader.header(data.encode()).server == server


RESERVED = (
    "03/01/2026 00:02:00;U;R12.srv;requestor=ana@h",
    "03/01/2026 00:02:00;Y;R12.srv;requestor=Scheduler@srv start=1772323210 end=1772329999",
    '03/01/2026 00:02:00;B;R12.srv;owner=ana@h name="R 1" start=1772323210 end=1772326800',
    "03/01/2026 00:03:00;K;R12.srv;requestor=ana@h",
    "03/01/2026 00:03:00;k;R12.srv;requestor=ana@h",
    "03/01/2026 00:03:00;F;R12.srv;owner=ana@h name=R1 queue=R12",
)
"""Records of a reservation, of all types that the guides list."""


def test_records_of_reservations_are_counted_and_their_jobs_are_read() -> None:
    job = (
        "03/01/2026 00:05:00;E;9.srv;user=ana queue=R12 resvname=R1 resvID=R12.srv "
        "ctime=1772323200 start=1772323210 exec_host=n1/0 end=1772323500 Exit_status=0"
    )
    data = "".join(f"{line}\n" for line in (*RESERVED, job)).encode()
    parsed = reader.parse(Block(data, 0, 1), Header(zone="UTC"))
    assert (parsed.refusals.height, parsed.steps) == (0, 6)
    found = parsed.records.row(0, named=True)
    assert (found["partition"], found["reservation"], found["cpus"]) == ("R12", "R1", 1)
