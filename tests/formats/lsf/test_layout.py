"""Where the fields of a record stand, by version and by the lengths of its lists."""

import pytest

from tests.formats.lsf.test_acct import LATE, NINE, finish, parse


def only(text: str) -> dict[str, object]:
    parsed = parse(text)
    assert parsed.refusals["reason"].to_list() == []
    return parsed.records.row(0, named=True)


@pytest.mark.parametrize(
    ("tail", "walltime", "nodes", "eligible"),
    [
        (None, None, 1, False),
        ("", None, 1, False),
        (" 0", None, 1, False),
        (' 1 7 "x"', None, 1, False),
        (' 1 7 "x" 0', None, 1, False),
        (NINE, 43_200, 1, False),
        (NINE.replace('0 1 "k" "v"', "0 0"), 43_200, 1, False),
        (NINE.replace(' 1 "k" "v"', " 0"), 43_200, 1, False),
        (LATE, 3_600, 2, True),
        (LATE.replace(' 2 "2*h1" "h2" 4', " 0 4"), 3_600, 1, True),
        (LATE.replace('"/home" 0 "" 0.0', '"/home" 1 "17" 2 "" 0.0'), 3_600, 2, True),
        (LATE.replace(" 4 0 0 0 0 1", " 4 2 1 9 1 11 12 1 0 0 0 1"), 3_600, 2, True),
    ],
)
def test_what_stands_behind_lists_is_found(
    tail: str | None, walltime: int | None, nodes: int, *, eligible: bool
) -> None:
    found = only(finish(tail=tail))
    assert found["walltime_s"] == walltime
    assert found["nodes"] == nodes
    assert (found["eligible_time"] is not None) == eligible


def test_when_it_was_requeued_stands_behind_ranges() -> None:
    tail = LATE.replace(" 4 0 0 0 0 1", " 0 1 1 9 1 1643910007 0 0 1")
    assert only(finish(tail=tail))["eligible_time"] == 1_643_910_007


@pytest.mark.parametrize(
    ("hosts", "cpus", "nodes"),
    [
        ('0 1 "h1"', 1, 1),
        ('0 3 "h1" "h1" "h2"', 3, 2),
        ('2 "a" "b" 2 "16*h1" "h2"', 17, 2),
        ("0 0", 1, None),
        ('2 "a" "b"', 2, 2),  # without the number of execution hosts
    ],
)
def test_hosts(hosts: str, cpus: int, nodes: int | None) -> None:
    found = only(finish(hosts=hosts, tail=None))
    assert (found["cpus"], found["nodes"], found["state"]) == (cpus, nodes, "COMPLETED")


@pytest.mark.parametrize(
    "text",
    [
        finish(hosts="999999999999999999 0"),
        finish(hosts="-3 0"),
        finish(hosts="0 -1"),
        finish(tail=" 999999999999999999"),
        finish(tail=" -1"),
        finish(tail=" 0 999999999999999999 1 2 3"),
        finish(tail=" 0 1 h1 130 0 12 6 -4 43200 0"),
        finish(tail=LATE.replace('"" 0.0', '999999999999999999 "" 0.0')).replace('"" 0.0', "x"),
    ],
)
def test_lengths_that_cannot_be_lose_the_record_alone(text: str) -> None:
    parsed = parse(text, finish(2))
    assert parsed.records["job_id"].to_list()[-1] == "2"
    assert parsed.records.height + parsed.refusals.height == 2
