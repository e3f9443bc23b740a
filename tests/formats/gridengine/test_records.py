"""What the columns of an accounting line say of an attempt."""

import polars as pl
import pytest

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
