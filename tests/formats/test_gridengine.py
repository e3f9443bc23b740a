"""Grid Engine's accounting file, as several versions wrote it, and damaged."""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import strategies as st

from audit.formats import gridengine
from audit.formats.dialects import PLAIN, Parsed, Reading
from audit.formats.gridengine import COLUMNS, DIALECT, FEWEST, ResourceRequest, realigned, request
from audit.formats.lines import Block
from bench.logs.writers.gridengine import escaped, write
from tests.formats import contract
from tests.formats.contract import EPOCH, PLAIN_JOB, case_frame
from tests.places import DATA

HEAD = b"# Version: 8.1.9\n# \n# DO NOT MODIFY THIS FILE MANUALLY!\n# \n"
RUSAGE = "0.000978:0.003914:4516.0:0:0:0:0:548:0:0:0.0:8:0:0:0:9:3"


def line(
    job: str = "4",
    times: str = "1795234360:1795234361:1795234365",
    failed: str = "0:0",
    *,
    host: str = "node1",
    name: str = "sleep",
    account: str = "sge",
    project: str = "physproj",
    slots: str = "NONE:1",
    task: str = "0",
    category: str = "NONE",
    pe_task: str = "NONE",
    reservation: str = ":0:0",
) -> str:
    usage = f"{failed}:4:{RUSAGE}"
    head = f"all.q:{host}:staff:ana:{name}:{job}:{account}:0:{times}:{usage}"
    tail = f"{project}:defaultdepartment:{slots}:{task}:0.004892:0.000000:0.000000:{category}"
    return f"{head}:{tail}:0.000000:{pe_task}:3604480.000000{reservation}\n"


RECORDS = (
    line(),
    line("2", task="1", slots="smp:4", category="-l h_rt=60,h_vmem=1G -pe smp 4"),
    line("3", "0:1795234361:1795234365", slots="mpi:8", pe_task="1.node2"),
    line("5", failed="25:99", reservation=""),
    line("5", "1795234360:1795234370:1795234380", failed="37:137", category="-l h_rt=3"),
    line("6", "1795234360:0:0", failed="1:0"),
    line("9999999", "1795234360123:1795234361456:1795234365789")[:-1]
    + ":NONE:NONE:668106752:638583808:dev1:/home/ana:qsub -N a script.sh:4.5:954601:NONE\n",
)
CASE = contract.Case(
    dialect=DIALECT,
    head=HEAD,
    records=tuple(RECORDS[at].encode() for at in (0, 2, 4, 6)),
    write=write,
    carries=(
        *("job_id", "user", "account", "group", "partition", "state", "submit_time"),
        *("start_time", "end_time", "walltime_s", "cpus", "gpus", "node_list"),
    ),
    names=("user", "account", "group", "partition"),
    returned=escaped,
    ids=("7", "8", "12", "12.3"),
    changes={
        "state": st.sampled_from(["COMPLETED", "FAILED", "TIMEOUT", "REQUEUED"]),
        "nodes": st.just(1),
        "node_list": st.sampled_from(["n1", "n-17.site"]),
    },
)


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
def test_contract(check: contract.Check) -> None:
    check(CASE)


def parse(*lines: str) -> Parsed:
    return contract.parsed(DIALECT, "".join(lines))


def test_the_sample_by_hand() -> None:
    parsed = CASE.read(HEAD + "".join(RECORDS).encode())
    assert parsed.steps == 1  # the task of job 3
    found = parsed.records.select(
        *("job_id", "job_number", "array_task", "state", "submit_time", "start_time", "end_time"),
        *("walltime_s", "cpus", "nodes", "mem_bytes", "line"),
    )
    t = 1795234360
    assert found.rows() == [
        ("4", 4, None, "COMPLETED", t, t + 1, t + 5, None, 1, 1, None, 5),
        ("2.1", 2, 1, "COMPLETED", t, t + 1, t + 5, 60, 4, None, 4 << 30, 6),
        ("5", 5, None, "REQUEUED", t, t + 1, t + 5, None, 1, 1, None, 8),
        ("5", 5, None, "TIMEOUT", t, t + 10, t + 20, 3, 1, 1, None, 9),
        ("6", 6, None, "FAILED", t, None, t, None, 1, 1, None, 10),
        ("9999999", 9999999, None, "COMPLETED", t, t + 1, t + 5, None, 1, 1, None, 11),
    ]
    same = {"user": "ana", "account": "physproj", "group": "staff", "partition": "all.q"}
    for column, value in same.items():
        assert set(parsed.records[column]) == {value}


def test_the_header_says_the_version() -> None:
    assert gridengine.header(HEAD, PLAIN).entries == {"version": "8.1.9"}
    assert gridengine.header(b"", Reading(zone="Asia/Tokyo")).zone == "Asia/Tokyo"


def test_a_file_without_jobs_is_recognised_by_its_comments() -> None:
    assert gridengine.recognises(HEAD)
    assert not gridengine.recognises(b"# \n# DO NOT MODIFY THIS FILE MANUALLY!\n")


def test_comments_blank_lines_and_single_characters_are_nothing() -> None:
    parsed = parse("#\n", "\n", "x\n", line(), "# all:" + ":" * 60 + "\n", "\r\n")
    assert (parsed.records.height, parsed.refusals.height, parsed.steps) == (1, 0, 0)


@pytest.mark.parametrize(
    ("text", "reason", "code"),
    [
        ("all.q:node1\n", "2 columns, an accounting record has 43 or more", "shape"),
        (line()[:-1], "the log ends within this line", "cut"),
        (line("4x"), "column 6 (job_number): '4x' is not a valid job number", "value"),
        (line(times="1:x:3"), "column 10 (start_time): 'x' is not a valid time", "value"),
        (line(times="1:-2:3"), "column 10 (start_time): '-2' is not a valid time", "value"),
        (line(task="x"), "column 36 (task_number): 'x' is not a valid task number", "value"),
        (line(times="5:9:7"), "ends 2 s before it starts (columns start_time, end_time)", "order"),
        (
            line(times="1:2:99999999999"),
            "column 11 (end_time): 99999999999 lies beyond 2242",
            "time",
        ),
    ],
)
def test_what_is_wrong_is_named_and_shown(text: str, reason: str, code: str) -> None:
    parsed = parse(line(), text)
    assert parsed.records.height == 1
    assert parsed.refusals["reason"].to_list() == [reason]
    assert parsed.refusals["line"].to_list() == [2]


def test_capture() -> None:
    """A file of Son of Grid Engine 8.1.9, of jobs with known results."""
    data = (DATA / "gridengine" / "accounting").read_bytes()
    parsed = gridengine.parse(Block(data, 0, 1), gridengine.header(data, PLAIN))
    assert parsed.refusals.is_empty()
    found = parsed.records.select("job_id", "state", "walltime_s", "cpus", "account")
    assert found.sort("job_id").rows() == [
        ("1", "COMPLETED", None, 1, None),
        ("10", "COMPLETED", None, 1, None),
        *((f"2.{task}", "COMPLETED", None, 1, None) for task in range(1, 5)),
        ("3", "COMPLETED", 60, 4, "physproj"),
        ("4", "COMPLETED", None, 1, None),
        ("5", "TIMEOUT", 3, 1, None),
        ("6", "FAILED", None, 1, None),
        ("7", "COMPLETED", None, 1, None),
        ("8", "FAILED", None, 1, None),
    ]
    waited = parsed.records.select(pl.col("start_time") - pl.col("submit_time"))
    assert waited.sum().item() == 8 + 21  # held, and begun later (qsub -a)


def test_real_lines(real_logs: Path) -> None:
    found = {}
    for name in ("sge", "uge"):
        path = real_logs / "gridengine" / f"xdmod-unit-{name}-accounting-logs.log"
        parsed = gridengine.parse(Block(path.read_bytes(), 0, 1), CASE.header)
        assert parsed.refusals.is_empty()
        columns = ("job_id", "submit_time", "end_time", "walltime_s", "cpus", "gpus", "mem_bytes")
        found[name] = parsed.records.select(columns).rows()
    assert found["sge"] == [
        ("22947", 1310761621, 1311095414, 36_000, 1, 0, None),
        ("22947", 1310761621, 1311095414, 36_000, 1, 0, 1 << 40),
    ]
    assert found["uge"] == [
        ("22947", 1310761621, 1311095414, 36_000, 1, 0, None),
        ("4437956", 1652111621, 1652124460, None, 16, 1, 16 << 30),
    ]


def test_half_of_the_lines_must_look_like_jobs() -> None:
    good, other = line().encode(), b"all.q:node1:and so on\n"
    assert gridengine.recognises(good + other)
    assert not gridengine.recognises(good + 2 * other)


def test_milliseconds_are_read_as_seconds() -> None:
    never = {"start_time": None, "end_time": EPOCH, "state": "FAILED", "cpus": 1, "nodes": 1}
    frame = case_frame(CASE, [dict(PLAIN_JOB), {**PLAIN_JOB, **never}])
    plain, fine = write(frame), write(frame, milliseconds=True)
    assert plain != fine
    one, two = (
        gridengine.parse(Block(data, 0, 1), gridengine.header(data, PLAIN))
        for data in (plain, fine)
    )
    assert one.records.drop("byte_offset").equals(two.records.drop("byte_offset"))
    assert one.records["start_time"].to_list() == [EPOCH + 60, None]


def test_ids_of_others_are_distinguished_by_their_numbers() -> None:
    frame = case_frame(CASE, [{**PLAIN_JOB, "job_id": "7[3]", "job_number": 7, "array_task": 3}])
    assert CASE.read(write(frame)).records["job_id"].to_list() == ["7.3"]


def test_names_stay_in_their_columns() -> None:
    assert escaped("#a:b\n\r") == "\\x23a\\x3ab\\x0a\\x0d"
    assert escaped("a#b") == "a#b"


T = 1795234360


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        *(
            ({"failed": failed, "category": category}, {"state": state})
            for failed, category, state in (
                ("0:0", "NONE", "COMPLETED"),
                ("0:1", "NONE", "FAILED"),
                ("0:137", "NONE", "FAILED"),
                ("24:0", "NONE", "REQUEUED"),
                ("25:99", "NONE", "REQUEUED"),
                ("30:100", "NONE", "FAILED"),
                ("37:137", "NONE", "TIMEOUT"),
                ("100:137", "NONE", "FAILED"),
                ("100:137", "-l h_rt=4", "TIMEOUT"),
                ("100:137", "-l h_rt=5", "FAILED"),
                ("0:137", "-l h_rt=4", "FAILED"),
            )
        ),
        # one that never started has left the queue; a missing end follows from the run time
        ({"times": f"{T}:0:0"}, {"state": "FAILED", "start_time": None, "end_time": T}),
        ({"times": f"{T}:0:{T + 9}", "failed": "1:0"}, {"end_time": T + 9}),
        ({"times": f"{T}:{T + 1}:0"}, {"end_time": T + 1 + 4}),
        ({"times": f"0:{T}:{T + 1}"}, {"submit_time": None, "start_time": T}),
        ({"project": "bio", "account": "x"}, {"account": "bio"}),
        ({"project": "NONE", "account": "x"}, {"account": "x"}),
        ({"project": "NONE", "account": "sge"}, {"account": None}),
        ({"project": "", "account": ""}, {"account": None}),
        ({"reservation": ":17:1795234000"}, {"reservation": "17"}),
        ({"reservation": ""}, {"reservation": None}),
        ({"slots": "mpi:12", "category": "-l h_vmem=1K"}, {"cpus": 12, "mem_bytes": 12 << 10}),
        ({"slots": "NONE:0"}, {"cpus": None}),
        # the host is known of jobs on one node
        ({}, {"nodes": 1, "node_list": "node1"}),
        ({"slots": "smp:1"}, {"nodes": 1, "node_list": "node1"}),
        ({"slots": "mpi:8"}, {"nodes": None, "node_list": None}),
        ({"times": f"{T}:0:0", "failed": "1:0"}, {"nodes": 1, "node_list": None}),
        ({"host": "a,b"}, {"nodes": 1, "node_list": None}),
        ({"host": "x" * 256}, {"nodes": 1, "node_list": None}),
    ],
)
def test_fields(fields: dict[str, str], expected: dict[str, object]) -> None:
    found = contract.only(parse(line(**fields)))
    assert {name: found[name] for name in expected} == expected


def test_without_an_end_and_the_time_it_took_it_is_refused() -> None:
    unknown = line(times=f"{T}:{T + 1}:0", failed="0:0").replace(":0:0:4:", ":0:0:0:", 1)
    assert parse(unknown).refusals["reason"].to_list() == [
        "column 11 (end_time): 0, and ru_wallclock too: when it ended is unknown"
    ]


@pytest.mark.parametrize(
    "text",
    [
        line(pe_task="1.node2"),
        line(pe_task="12.node2.example.org"),
        line(times="0:0:0", failed="25:0"),
        line(failed="0:4294967295"),
        line(failed="0:-1"),
    ],
)
def test_lines_that_are_no_attempts_are_counted(text: str) -> None:
    parsed = parse(line(), text)
    assert (parsed.records.height, parsed.refusals.height, parsed.steps) == (1, 0, 1)


def test_rows_in_any_order_say_the_same() -> None:
    lines = [line("1"), line("2", failed="25:1"), line("3", name="a:b"), line("4", pe_task="1.n")]
    one, two = parse(*lines), parse(*lines[::-1])
    drop = ("line", "byte_offset")
    assert one.records.drop(drop).sort("job_id").equals(two.records.drop(drop).sort("job_id"))
    assert one.records["byte_offset"].is_sorted()
    assert one.records.schema["state"] == pl.String


def place(name: str) -> int:
    return COLUMNS[name].place


def test_a_line_without_such_texts_stays_as_it_is() -> None:
    assert realigned(line()[:-1]) == line()[:-1].split(":")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("category", "-l h_rt=24:00:00 -pe smp 4"),
        ("category", "-l h_rt=1:0:0"),
        ("category", "-l h_rt=0:10,gpu=1"),
        ("account", "a:b"),
    ],
)
def test_columns_are_found_behind_it(column: str, value: str) -> None:
    moved = realigned(line(**{column: value})[:-1])
    assert moved is not None
    assert moved[place(column)] == value
    plain = line()[:-1].split(":")
    plain[place(column)] = value
    assert moved == plain


def test_a_name_is_put_together_again() -> None:
    moved = realigned(line(name="a:b")[:-1])
    assert moved is not None
    assert moved[3:6] == ["ana", "a:b", "4"]


def test_a_name_with_colons_costs_nothing() -> None:
    parsed = parse(line(name="a:b: c"), line(category="-l h_rt=1:00:00,gpu=2", slots="smp:2"))
    assert parsed.refusals.is_empty()
    found = parsed.records.select("job_id", "user", "walltime_s", "gpus", "cpus", "end_time")
    assert found.rows() == [
        ("4", "ana", None, 0, 1, 1795234365),
        ("4", "ana", 3600, 2, 2, 1795234365),
    ]


def test_behind_the_columns_that_count_anything_may_stand() -> None:
    univa = line()[:-1] + ":NONE:NONE:1:2:host:/a:b:qsub -N a:b c:4.5:7:NONE:8\n"
    assert realigned(univa[:-1]) == line()[:-1].split(":")
    assert parse(univa).refusals.is_empty()


@pytest.mark.parametrize(
    ("name", "account"),
    [("a:5", "sge"), ("12:30:00", "sge"), ("a:05", "x"), ("a:0", "0:x"), ("a:-3", "b:12345678901")],
)
def test_numbers_in_names_are_read_where_only_one_can_be_the_job_s(name: str, account: str) -> None:
    moved = realigned(line(name=name, account=account)[:-1])
    assert moved is not None
    assert moved[4:7] == [name, "4", account]
    assert parse(line(name=name, account=account)).records["job_id"].to_list() == ["4"]


@pytest.mark.parametrize(
    ("fields", "column", "title"),
    [
        ({"slots": "NONE:"}, "cpus", "column 35 (slots)"),
        ({"slots": f"NONE:{1 << 40}"}, "cpus", "column 35 (slots)"),
        ({"reservation": ":x:0"}, "reservation", "column 44 (arid)"),
    ],
)
def test_what_a_line_does_not_need_may_be_unreadable(
    fields: dict[str, str], column: str, title: str
) -> None:
    parsed = parse(line(), line("5", **fields))
    assert parsed.refusals.is_empty()
    assert parsed.records[column].to_list()[1] is None
    assert parsed.remarks == {f"{title} cannot be read, and counts as unknown": 1}


def test_the_smaller_limit_counts() -> None:
    parsed = parse((DATA / "cases" / "sge-soft-limit" / "input").read_text())
    found = parsed.records.select("walltime_s", "state")
    assert found.rows() == [(180_000, "TIMEOUT"), (5_400, "COMPLETED")]


@pytest.mark.parametrize(
    "fields", [{"name": "a:5", "account": "x"}, {"account": "7:x"}, {"account": "a:5:6"}]
)
def test_where_it_can_be_read_in_two_ways_it_is_refused(fields: dict[str, str]) -> None:
    text = line(**fields)
    assert realigned(text[:-1]) is None
    (reason,) = parse(text).refusals["reason"]
    assert reason.startswith("column ")


def test_a_very_long_line_is_not_searched() -> None:
    assert realigned(":".join(["1"] * 3_000)) is None
    assert realigned(":".join(["1"] * (FEWEST - 1))) is None


@pytest.mark.parametrize(
    ("category", "expected"),
    [
        ("NONE", (None, None, 0)),
        ("-l h_rt=36000 -pe mype 1", (36_000, None, 0)),
        ("-u ana,staff -q long -l h_rt=1:02:03,gpu=2", (3_723, None, 2)),
        ("-l h_rt=:10:", (None, None, 0)),
        ("-l h_rt=:10:0", (600, None, 0)),
        ("-l s_rt=100,h_rt=200", (100, None, 0)),
        ("-l s_rt=200,h_rt=0:1:40", (100, None, 0)),
        ("-l s_rt=INFINITY,h_rt=200", (200, None, 0)),
        ("-l s_rt=100", (100, None, 0)),
        ("-l h_rt=INFINITY,h_vmem=INFINITY", (None, None, 0)),
        ("-l h_rt=0", (None, None, 0)),
        ("-l mem_free=1.000T,s_vmem=1.024t", (None, 1 << 40, 0)),
        ("-l s_vmem=1.024t", (None, 1_024 * 10**9, 0)),
        ("-l h_vmem=2k,mem_free=9G", (None, 2_000, 0)),
        ("-l m_mem_free=.5G,h_vmem=9G", (None, 1 << 29, 0)),
        ("-l h_vmem=100", (None, 100, 0)),
        ("-l h_vmem=99999999T", (None, None, 0)),
        ("-l gpus=1.000000", (None, None, 1)),
        ("-l gpu=99999999", (None, None, 0)),
        ("-soft -l h_rt=5,gpu=3", (None, None, 0)),
        ("-l a=1 -l h_rt=7", (7, None, 0)),
        ("-l hostname=a-l h_rt=5", (None, None, 0)),
        ("-l =,,h_rt", (None, None, 0)),
        (f"-l h_rt={'9' * 5_000}", (None, None, 0)),
    ],
)
def test_requests(category: str, expected: tuple[int | None, int | None, int]) -> None:
    assert request(category) == ResourceRequest(*expected)


def gridware(**given: object) -> str:
    """A record of accounting.jsonl; keys without a value are left out."""
    record = {
        "job_number": 7,
        "task_number": 0,
        "start_time": 1795234361000001,
        "end_time": 1795234961999999,
        "owner": "ana",
        "group": "staff",
        "account": "sge",
        "qname": "all.q",
        "hostname": "n1",
        "slots": 1,
        "job_name": "a:b",
        "priority": 0,
        "submission_time": 1795234360500000,
        "failed": 0,
        "exit_status": 0,
        "usage": {"rusage": {"ru_wallclock": 600}, "usage": {"wallclock": 600.1, "iow": 0.0}},
    } | given
    return json.dumps({key: of for key, of in record.items() if of is not None}) + "\n"


def test_gridware_writes_json() -> None:
    job = {"project": "p1", "granted_pe": "mpi", "slots": 8, "arid": 3, "task_number": 2}
    requests = {"category": "-l h_rt=3600,gpu=2,h_vmem=1G -pe mpi 8"}
    lines = (gridware(), gridware(**job, **requests), gridware(pe_taskid="1.n2"))
    assert gridengine.recognises(lines[0].encode())
    parsed = parse(*lines)
    plain, parallel = parsed.records.rows(named=True)
    assert (parsed.steps, parsed.refusals.height) == (1, 0)
    expected = {
        "job_id": "7",
        "user": "ana",
        "group": "staff",
        "account": None,
        "partition": "all.q",
        "submit_time": 1795234360,
        "start_time": 1795234361,
        "end_time": 1795234961,
        "cpus": 1,
        "nodes": 1,
        "node_list": "n1",
        "state": "COMPLETED",
        "walltime_s": None,
    }
    assert {name: plain[name] for name in expected} == expected
    expected = {
        "job_id": "7.2",
        "array_task": 2,
        "account": "p1",
        "reservation": "3",
        "cpus": 8,
        "walltime_s": 3600,
        "gpus": 2,
        "mem_bytes": 8 << 30,
        "nodes": None,
        "node_list": None,
    }
    assert {name: parallel[name] for name in expected} == expected


def test_records_of_json_and_of_columns_may_follow_each_other() -> None:
    parsed = parse(line("4"), gridware(job_number=5), line("6"))
    assert parsed.records["job_id"].to_list() == ["4", "5", "6"]
    assert parsed.records["line"].to_list() == [1, 2, 3]


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (gridware()[:-3] + "\n", "is not an object of JSON"),
        (gridware(start_time="soon"), "column 10 (start_time): 'soon' is not a valid time"),
        (gridware(submission_time=None), "column 9 (submission_time): '' is not a valid time"),
    ],
)
def test_unreadable_records_of_json_are_refused(record: str, why: str) -> None:
    assert contract.why(parse(record)) == why


def test_names_in_json_may_have_bytes_that_are_not_utf8() -> None:
    data = gridware(owner="X").encode().replace(b'"X"', b'"\xe9va"')
    (row,) = DIALECT.parse(Block(data, 0, 1), DIALECT.header(data, PLAIN)).records.rows(named=True)
    assert row["user"] == r"\xe9va"
