"""What the fields of a record say of an attempt."""

import pytest

from audit.formats.lsf.records import allocation, group_of
from tests.formats.lsf.test_acct import LATE, T, finish
from tests.formats.lsf.test_layout import only


@pytest.mark.parametrize(
    ("status", "exit_info", "started", "state"),
    [
        (64, 0, True, "COMPLETED"),
        (192, 0, True, "COMPLETED"),  # and its post-execution command was done
        (32, 0, True, "FAILED"),
        (32, 1, True, "PREEMPTED"),
        (32, 5, True, "TIMEOUT"),
        (32, 14, True, "CANCELLED"),
        (32, 11, True, "REQUEUED"),
        (32, 16, True, "OUT_OF_MEMORY"),
        (32, 99, True, "FAILED"),
        (32, 0, False, "CANCELLED"),
    ],
)
def test_states(status: int, exit_info: int, *, started: bool, state: str) -> None:
    times = (T + 60, T, 0, T + 10 if started else 0)
    found = only(finish(status=status, exit_info=exit_info, times=times))
    assert found["state"] == state
    assert (found["start_time"], found["end_time"]) == (T + 10 if started else None, T + 60)


@pytest.mark.parametrize(
    ("begin", "tail", "eligible"),
    [
        (0, "", None),
        (T + 5, "", T + 5),
        (T - 5, "", None),
        (0, LATE, T + 4),
        (T + 5, LATE, T + 5),
        (T + 3, LATE, T + 4),
        (0, LATE.replace('"h2" 4 0 0', f'"h2" 4 0 {T + 9}'), T + 9),
        (0, LATE.replace('"h2" 4', '"h2" -1'), None),
    ],
)
def test_from_when_on_it_waited(begin: int, tail: str, eligible: int | None) -> None:
    assert only(finish(times=(T + 60, T, begin, T + 10), tail=tail))["eligible_time"] == eligible


@pytest.mark.parametrize(("ran", "suspended"), [(0, None), (45, 5), (50, 0), (99, 0), (-1, None)])
def test_suspended_time(ran: int, suspended: int | None) -> None:
    assert only(finish(tail=LATE.replace('"" 45', f'"" {ran}')))["suspended_s"] == suspended


@pytest.mark.parametrize("limit", [-1, 0, 1 << 40])
def test_no_run_limit(limit: int) -> None:
    assert only(finish(tail=LATE.replace(" 3600 ", f" {limit} ")))["walltime_s"] is None


def test_tasks_of_arrays_and_reservations() -> None:
    found = only(finish(7, idx=3, reservation="ana#0"))
    assert (found["job_id"], found["job_number"], found["array_task"]) == ("7[3]", 7, 3)
    assert found["reservation"] == "ana#0"


def test_what_never_started_has_the_size_that_was_asked_for() -> None:
    found = only(
        finish(status=32, hosts="0 0", times=(T + 60, T, 0, 0)).replace(" 2 1 ", " 2 9 ", 1)
    )
    assert (found["cpus"], found["nodes"], found["start_time"]) == (9, None, None)


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        (b"", (0, 0)),
        (b'"h1"', (1, 1)),
        (b'"2*h1" "h1" "h2@far"', (4, 2)),
        (b'"x*y"', (1, 1)),
        (b'"99999999999*h"', (1, 1)),
        (b'"999999999*h"', (1 << 28, 1)),
    ],
)
def test_allocations(hosts: bytes, expected: tuple[int, int]) -> None:
    assert allocation(hosts) == expected


@pytest.mark.parametrize(
    ("charged", "group"),
    [
        ("/eng/chip/ana", "eng/chip"),
        ("/ana", None),
        ("ana", None),
        ("/eng/bob", "eng/bob"),
        (None, None),
    ],
)
def test_groups(charged: str | None, group: str | None) -> None:
    assert group_of(charged, "ana") == group
