"""Several records of one job: bursts, summaries, ids that are not unique."""

from itertools import permutations

import polars as pl
import pytest

from audit.formats import swf
from audit.formats.dialects import PLAIN
from audit.formats.lines import Block
from audit.formats.sacct import text as sacct
from audit.ingest.attempts import resolve
from audit.metrics.attempts.population import describe
from audit.model import RECORDS, Pool
from audit.words import Resource
from tests.logs import line, log
from tests.places import DATA


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


def test_equal_lines_are_one_attempt_in_one_log_or_in_several() -> None:
    twice = [line(4, submit=9), line(4, submit=9)]
    one, other = records(*twice, input_id="a"), records(*twice, line(4, submit=3), input_id="b")
    for order in ([one, other], [other, one]):
        found = resolve(pl.concat(order))
        assert found.sort("attempt").select("attempt", "submit_time").rows() == [(1, 3), (2, 9)]


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


# Executions (Slurm): identified by job id and submit time, later records are more complete.

HEADER = "JobID|State|Submit|Start|End|AllocTRES"


def execution(
    job: str, submit: int, start: int | None = None, end: int | None = None, state: str = ""
) -> str:
    """A row of sacct; times in epoch seconds. Pending, running or ended, as the times say."""
    state = state or ("PENDING" if start is None else "RUNNING" if end is None else "COMPLETED")
    texts = ["Unknown" if time is None else str(1_000_000 + time) for time in (submit, start, end)]
    return "|".join([job, state, *texts, "cpu=1"])


def dump(*rows: str, input_id: str) -> pl.DataFrame:
    text = "\n".join([HEADER, *rows, ""]).encode()
    parsed = sacct.parse(Block(text, 0, 1), sacct.header(text, PLAIN))
    assert parsed.refusals.is_empty()
    return parsed.records.with_columns(cluster=pl.lit("c"), input_id=pl.lit(input_id))


def kept(resolved: pl.DataFrame) -> list[tuple[object, ...]]:
    rows = resolved.filter(~pl.col("superseded")).sort("job_id", "attempt")
    base = pl.col("start_time") - 1_000_000, pl.col("end_time") - 1_000_000
    return rows.select("job_id", "attempt", *base).rows()


def test_what_is_known_later_supersedes_what_was_known_earlier() -> None:
    dumps = [
        dump(execution("7", 0), input_id="c"),
        dump(execution("7", 0, 10), input_id="a"),
        dump(execution("7", 0, 10, 20), input_id="b"),
    ]
    for order in permutations(dumps):
        found = resolve(pl.concat(order))
        assert kept(found) == [("7", 1, 10, 20)]
        assert found.height == 3
        stepwise = resolve(pl.concat([resolve(pl.concat(order[:2])), order[2]], how="diagonal"))
        assert kept(stepwise) == [("7", 1, 10, 20)]
    together = resolve(dump(execution("7", 0), execution("7", 0, 10, 20), input_id="a"))
    assert kept(together) == [("7", 1, 10, 20)]


def test_clipped_times_give_way_to_whole_ones() -> None:
    clipped = dump(execution("7", 0, 12, 18), input_id="a")
    whole = dump(execution("7", 0, 10, 20), input_id="b")
    for order in ([clipped, whole], [whole, clipped]):
        assert kept(resolve(pl.concat(order))) == [("7", 1, 10, 20)]


def test_an_execution_that_comes_again_is_the_same_one() -> None:
    row = execution("7", 0, 10, 20)
    assert resolve(dump(row, row, input_id="a")).height == 1
    assert resolve(pl.concat([dump(row, input_id="a"), dump(row, input_id="b")])).height == 1


def test_a_requeued_job_has_several_attempts() -> None:
    found = resolve(
        dump(execution("19", 0, 10, 20, "REQUEUED"), execution("19", 20, 30, 40), input_id="a")
    )
    assert kept(found) == [("19", 1, 10, 20), ("19", 2, 30, 40)]


@pytest.mark.thorough
def test_a_part_of_a_resized_job_has_no_arrival() -> None:
    first = dump(execution("85", 0, 305, 605, "RESIZING"), input_id="a")
    second = dump(execution("85", 605, 605, 705, "RESIZING"), input_id="b")
    third = dump(execution("85", 705, 705), execution("85", 705, 705, 905), input_id="c")
    other = dump(execution("86", 605, 605, 905), input_id="d")
    expected = [(305, 605, 0), (605, 705, None), (705, 905, None), (605, 905, 605)]
    for order in permutations((first, second, third, other)):
        once = resolve(pl.concat(order))
        stepwise = pl.DataFrame(schema=once.schema)
        for more in order:
            stepwise = resolve(pl.concat([stepwise, more], how="diagonal"))
        for found in (once, stepwise):
            rows = found.filter(~pl.col("superseded")).sort("job_id", "attempt")
            times = rows.select("start_time", "end_time", "submit_time") - 1_000_000
            assert times.rows() == expected
            assert rows["eligible_time"].null_count() == len(rows)


def test_a_part_that_ran_when_its_job_was_submitted_again_is_over() -> None:
    rows = [
        execution("85", 0, 305, 605, "RESIZING"),
        execution("85", 605, 605),
        execution("85", 800, 900, 905),
    ]
    assert kept(resolve(dump(*rows, input_id="a"))) == [("85", 1, 305, 605), ("85", 2, 900, 905)]


def test_a_resized_job_waited_once() -> None:
    data = (DATA / "cases" / "slurm-resized" / "input").read_bytes()
    found = sacct.parse(Block(data, 0, 1), sacct.header(data, PLAIN)).records
    attempts = resolve(found.with_columns(cluster=pl.lit("c"), input_id=pl.lit("a")))
    pool = Pool("all", Resource.cpus, 8, amounts=(("cpus", 8),))
    described = describe(attempts, [pool], {"gpu": "all"}).sort("start_time")
    assert described.select("wait_s", "cpus", "standing").rows() == [
        (305, 8, "ended"),
        (None, 4, "arrival_unknown"),
    ]


def test_a_run_that_was_open_before_its_job_was_submitted_again_is_over() -> None:
    open_run = dump(execution("19", 0, 10), input_id="a")
    later = dump(execution("19", 20, 30, 40), input_id="b")
    for order in ([open_run, later], [later, open_run]):
        assert kept(resolve(pl.concat(order))) == [("19", 1, 30, 40)]


def runs(*spans: tuple[int, int | None, int], input_id: str = "a", **more: object) -> pl.DataFrame:
    """Runs of job 1, submitted at 100 unless said otherwise: (eligible or 0, start, end)."""
    rows = [
        {
            "job_id": "1",
            "kind": "run",
            "submit_time": 100,
            "eligible_time": eligible or None,
            "start_time": start,
            "end_time": end,
            "line": line,
            **more,
        }
        for line, (eligible, start, end) in enumerate(spans, 1)
    ]
    whole = [{name: row.get(name) for name in RECORDS} for row in rows]
    frame = pl.DataFrame(whole, schema=RECORDS)
    return frame.with_columns(cluster=pl.lit("c"), input_id=pl.lit(input_id))


def test_a_run_waits_from_the_end_of_the_one_before() -> None:
    # the second was rerun at once, the third says that it was held until 180, the fourth gave up
    found = resolve(runs((0, 110, 120), (0, 150, 160), (180, 190, 200), (0, None, 230)))
    expected = [
        ("1", 1, False, None, 110, 120),
        ("1", 2, False, 120, 150, 160),
        ("1", 3, False, 180, 190, 200),
        ("1", 4, False, 200, None, 230),
    ]
    assert brief(found) == expected
    assert brief(resolve(found)) == expected


def test_runs_of_several_logs_in_any_order_are_the_same() -> None:
    early = runs((0, 110, 120), (0, 150, 160))
    late = runs((0, 150, 160), (0, 190, 200), input_id="b")  # they share a run
    for first, second in ((early, late), (late, early)):
        settled = resolve(first).select(early.columns)
        found = brief(resolve(pl.concat([settled, second])))
        assert [row[1:4] for row in found] == [(1, False, None), (2, False, 120), (3, False, 160)]


def test_runs_with_one_start_are_one() -> None:
    first = runs((0, 110, 120), (0, 110, 120), (0, 110, 125), (0, 150, 160))
    for order in (first, first.reverse()):
        found = resolve(order)
        kept = found.filter(~pl.col("superseded"))
        assert [row[4:] for row in brief(kept)] == [(110, 125), (150, 160)]
        assert brief(resolve(found)) == brief(found)


def test_the_same_number_submitted_again_is_another_job() -> None:
    found = resolve(pl.concat([runs((0, 110, 120)), runs((0, 310, 320), submit_time=300)]))
    assert [(row[1], row[3]) for row in brief(found)] == [(1, None), (2, None)]


def test_runs_that_overlap_are_not_in_turn() -> None:
    found = resolve(runs((0, 110, 150), (0, 120, 130)))
    assert [row[3] for row in brief(found)] == [None, None]
