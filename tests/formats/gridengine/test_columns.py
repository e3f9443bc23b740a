"""Lines in which some text has a `:` in it."""

import pytest

from audit.formats.gridengine.columns import COLUMNS, FEWEST, realigned
from tests.formats.gridengine.test_accounting import line, parse

T = "1795234360:1795234361:1795234365"


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
