"""Several records of one job: bursts, summaries, ids that are not unique."""

import polars as pl

from audit.formats import swf
from audit.formats.lines import Block
from audit.ingest.attempts import resolve
from tests.logs import line, log


def records(*lines: str, input_id: str = "a") -> pl.DataFrame:
    text = log(lines, UnixStartTime=0).encode()
    parsed = swf.parse(Block(text, 0, 1), swf.header(text))
    assert parsed.refusals.is_empty()
    return parsed.records.with_columns(cluster=pl.lit("c"), input_id=pl.lit(input_id))


def brief(resolved: pl.DataFrame) -> list[tuple[object, ...]]:
    columns = ("job_id", "attempt", "superseded", "eligible_time", "start_time", "end_time")
    return resolved.select(columns).sort("job_id", "superseded", "attempt").rows()


def test_bursts_follow_one_another_and_replace_their_summary() -> None:
    # burst 1: submitted at 100, waits 5, runs 10        -> [105, 115)
    # burst 2: waits 7 from 115, runs 10                 -> [122, 132)
    # burst 3: waits 3 from 132, runs 4                  -> [135, 139)
    found = resolve(
        records(
            line(1, submit=100, wait=5, run=10, status=2),
            line(1, submit=-1, wait=7, run=10, status=2),
            line(1, submit=-1, wait=3, run=4, status=3),
            line(1, submit=100, wait=15, run=24, status=1),
        )
    )
    assert brief(found) == [
        ("1", 1, False, None, 105, 115),
        ("1", 2, False, 115, 122, 132),
        ("1", 3, False, 132, 135, 139),
        ("1", 0, True, None, 115, 139),
    ]
    assert brief(resolve(found)) == brief(found)


def test_behind_an_unknown_burst_all_is_unknown() -> None:
    found = resolve(
        records(
            line(1, submit=100, wait=5, run=10, status=2),
            line(1, submit=-1, wait=-1, run=10, status=2),
            line(1, submit=-1, wait=3, run=4, status=3),
        )
    )
    assert [row[3:] for row in brief(found)] == [
        (None, 105, 115),
        (None, None, None),
        (None, None, None),
    ]


def test_a_later_burst_that_never_started_left_the_queue() -> None:
    found = resolve(
        records(
            line(1, submit=100, wait=5, run=10, status=2),
            line(1, submit=-1, wait=8, run=-1, status=4),
        )
    )
    assert brief(found)[1] == ("1", 2, False, 115, None, 123)


def test_without_its_first_burst_nothing_is_known_of_a_later_one() -> None:
    found = resolve(records(line(1, submit=-1, wait=8, run=5, status=3)))
    assert brief(found) == [("1", 1, False, None, None, None)]


def test_equal_lines_of_one_log_are_different_attempts_of_several_logs_the_same() -> None:
    twice = [line(4, submit=9), line(4, submit=9)]
    one, other = records(*twice, input_id="a"), records(*twice, line(4, submit=3), input_id="b")
    for order in ([one, other], [other, one]):
        found = resolve(pl.concat(order))
        assert found.sort("attempt").select("attempt", "submit_time").rows() == [
            (1, 3),
            (2, 9),
            (3, 9),
        ]


def test_the_order_of_inputs_changes_nothing() -> None:
    first = records(line(1, submit=100, wait=5, run=10, status=2), line(2), input_id="a")
    second = records(
        line(1, submit=-1, wait=7, run=10, status=3), line(2), line(2, run=5), input_id="b"
    )
    forwards = resolve(pl.concat([first, second]))
    backwards = resolve(pl.concat([resolve(second), resolve(first)], how="diagonal"))
    assert forwards.sort(pl.all()).equals(backwards.select(forwards.columns).sort(pl.all()))


def test_a_cancelled_job_with_bursts_keeps_its_own_record() -> None:
    found = resolve(
        records(
            line(1, submit=100, wait=5, run=10, status=2),
            line(1, submit=200, wait=5, run=-1, status=5),
        )
    )
    assert [row[1:3] for row in brief(found)] == [(1, False), (2, False)]
