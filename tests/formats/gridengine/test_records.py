"""What the columns of an accounting line say of an attempt."""

import polars as pl
import pytest

from audit.formats.gridengine.records import COLUMNS, FEWEST, Request, realigned, request
from tests.formats.gridengine.test_accounting import line, parse

T = 1795234360
TIMES = f"{T}:{T + 1}:{T + 5}"


def only(text: str) -> dict[str, object]:
    parsed = parse(text)
    assert parsed.refusals.is_empty()
    return parsed.records.row(0, named=True)


@pytest.mark.parametrize(
    ("failed", "category", "state"),
    [
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
    ],
)
def test_states(failed: str, category: str, state: str) -> None:
    assert only(line(times=TIMES, failed=failed, category=category))["state"] == state


def test_what_never_started() -> None:
    found = only(line(times=f"{T}:0:0", failed="0:0"))
    assert (found["state"], found["start_time"], found["end_time"]) == ("FAILED", None, T)
    assert only(line(times=f"{T}:0:{T + 9}", failed="1:0"))["end_time"] == T + 9


def test_an_end_that_is_not_said_follows_from_the_time_it_took() -> None:
    assert only(line(times=f"{T}:{T + 1}:0"))["end_time"] == T + 1 + 4
    unknown = line(times=f"{T}:{T + 1}:0", failed="0:0").replace(":0:0:4:", ":0:0:0:", 1)
    assert parse(unknown).refusals["reason"].to_list() == [
        "column 11 (end_time): 0, and ru_wallclock too: when it ended is unknown"
    ]


def test_a_submission_time_that_is_not_said() -> None:
    found = only(line(times=f"0:{T}:{T + 1}"))
    assert (found["submit_time"], found["start_time"]) == (None, T)


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


@pytest.mark.parametrize(
    ("project", "account", "expected"),
    [("bio", "x", "bio"), ("NONE", "x", "x"), ("NONE", "sge", None), ("", "", None)],
)
def test_accounts(project: str, account: str, expected: str | None) -> None:
    assert only(line(project=project, account=account))["account"] == expected


def test_reservations_and_slots() -> None:
    found = only(line(reservation=":17:1795234000", slots="mpi:12", category="-l h_vmem=1K"))
    assert (found["reservation"], found["cpus"], found["nodes"]) == ("17", 12, None)
    assert found["mem_bytes"] == 12 << 10
    assert only(line(reservation=""))["reservation"] is None
    assert only(line(slots="NONE:0"))["cpus"] is None


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


@pytest.mark.parametrize("fields", [{"name": "a:5"}, {"account": "7:x"}, {"account": "a:5:6"}])
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
        ("-l s_rt=100,h_rt=200", (200, None, 0)),
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
    assert request(category) == Request(*expected)
