"""The tasks that records of arrays still represent."""

import polars as pl
import pytest

from audit.ingest import tasks
from audit.ingest.attempts import attempts_of
from audit.ingest.tasks import left_of
from audit.model import RECORDS
from tests.ingest.test_attempts import dump, execution
from tests.ingest.test_events import day, ended, queued, started


def left(*rows: tuple[str, str | None, str], seen: str = "") -> list[tuple[str, str | None, int]]:
    """Rows of arrays (id, tasks, state: waits, ended, event or run), and ids of tasks."""
    frame = pl.DataFrame(
        [
            {
                "job_id": job_id,
                "array_tasks": listed,
                "tasks": 99,
                "event": state in ("event", "run"),
                "started": state == "run",
                "ended": state == "ended",
                "superseded": False,
            }
            for job_id, listed, state in rows
        ],
        schema_overrides={"array_tasks": pl.String},
    ).with_columns(family=pl.col("job_id").str.replace(tasks.FAMILY, "$1"))
    ids = pl.Series("job_id", seen.split(), dtype=pl.String)
    known = pl.select(
        family=pl.lit(ids).str.replace(tasks.FAMILY, "$1"),
        array_task=pl.lit(ids).str.extract(r"[_\[]([0-9]+)").cast(pl.Int64),
    )
    return [(one.job_id, one.array_tasks, one.tasks) for one in left_of(frame, known)]


@pytest.mark.parametrize(
    ("listed", "seen", "expected"),
    [
        ("0-9", "", [("3_[0-9%2]", "0-9", 10)]),
        ("0-9", "3_4 3_5", [("3_[0-9%2]", "0-3,6-9", 8)]),
        ("0-9", "3_11 4_0", [("3_[0-9%2]", "0-9", 10)]),
        ("0-9", " ".join(f"3_{k}" for k in range(10)), [("3_[0-9%2]", "0-9", 0)]),
        ("0-9,+90", "3_4", [("3_[0-9%2]", "0-3,5-9,+90", 99)]),
        ("0-9,+90", "3_4 3_40", [("3_[0-9%2]", "0-3,5-9", 9)]),  # a lower bound
    ],
)
def test_tasks_with_own_records_are_not_among_those_that_wait(
    listed: str, seen: str, expected: list[tuple[str, str, int]]
) -> None:
    changed = expected if expected[0][1:] != (listed, 99) else []
    assert left(("3_[0-9%2]", listed, "waits"), seen=seen) == changed


def test_a_row_that_lists_fewer_tasks_replaces_another() -> None:
    both = [("3_[0-9%2]", "0-9", "waits"), ("3_[5-9%2]", "5-9", "waits")]
    for rows in (both, both[::-1]):
        assert left(*rows) == [("3_[0-9%2]", "0-9", 0), ("3_[5-9%2]", "5-9", 5)]
    cancelled = [("3_[0-9%2]", "0-9", "waits"), ("3_[5-9%2]", "5-9", "ended")]
    assert left(*cancelled) == [("3_[0-9%2]", "0-9", 0)]
    other = [
        ("3_[0-9]", "0-9", "waits"),
        ("4_[5-9]", "5-9", "waits"),
        ("3_[8-12]", "8-12", "waits"),
    ]
    assert [one[2] for one in left(*other)] == [10, 5, 5]


def test_of_rows_with_equal_tasks_one_remains() -> None:
    """The throttle was changed, and so the id."""
    rows = [("3_[0-9%2]", "0-9", "waits"), ("3_[0-9%3]", "0-9", "waits")]
    for order in (rows, rows[::-1]):
        assert left(*order) == [("3_[0-9%2]", "0-9", 0), ("3_[0-9%3]", "0-9", 10)]


def test_cancelled_tasks_of_slurm_stay() -> None:
    assert left(("6_[1-2]", "1-2", "ended"), seen="6_1") == []


def test_events_of_pbs_arrays() -> None:
    assert left(("7[].srv", "1-9", "event"), seen="7[3].srv 7[4].other") == [
        ("7[].srv", "1-2,4-9", 8)
    ]
    unknown, of_run = ("7[].srv", None, "event"), ("7[].srv", "1-9", "run")
    for row in (unknown, of_run):
        assert left(row, seen="7[3].srv") == [(row[0], row[1], 0)]
        assert left(row, seen="8[3].srv") == []


def test_without_a_store_the_same_tasks_wait() -> None:
    rows = [execution("3_[0-9%2]", 0), execution("3_4", 0, 10), execution("9", 0, 20)]
    found = attempts_of(dump(*rows, input_id="a")).sort("job_id")
    assert found.select("job_id", "tasks", "array_tasks").rows() == [
        ("3_4", 1, None),
        ("3_[0-9%2]", 9, "0-3,5-9"),
        ("9", 1, None),
    ]


def test_a_deleted_array_of_pbs_never_started_its_other_tasks() -> None:
    whole = [line.replace(";7.srv;", ";7[].srv;") for line in (queued(100, array_indices="1-9"),)]
    deleted = "01/01/1970 01:00:00;D;7[].srv;requestor=ana@srv"
    ran = started(150).replace(";7.srv;", ";7[3].srv;")
    found = attempts_of(day(*whole, deleted, ran)).sort("job_id")
    shown = found.select("job_id", "tasks", "array_tasks", "state").rows()
    assert shown == [
        ("7[3].srv", 1, None, "RUNNING"),
        ("7[].srv", 8, "1-2,4-9", "CANCELLED"),
    ]


def test_a_begun_array_of_pbs_has_tasks_that_wait() -> None:
    """OpenPBS writes S for the array as a whole when its first task starts, and E at its end."""

    def of(task: str, line: str) -> str:
        return line.replace(";7.srv;", f";7[{task}].srv;")

    begun = [of("", queued(100, array_indices="1-9")), of("", started(150)), of("3", started(150))]
    whole = day(*begun)
    done = day(of("3", ended(150, 190)), of("", ended(150, 200)), input_id="b")
    shown = ("job_id", "tasks", "array_tasks", "state", "end_time")
    assert attempts_of(whole).sort("job_id").select(shown).rows() == [
        ("7[3].srv", 1, None, "RUNNING", None),
        ("7[].srv", 8, "1-2,4-9", "PENDING", None),
    ]
    assert attempts_of(pl.concat([whole, done])).sort("job_id").select(shown).rows() == [
        ("7[3].srv", 1, None, "COMPLETED", 190),
        ("7[].srv", 8, "1-2,4-9", "CANCELLED", 200),
    ]


def test_records_without_arrays_are_unchanged() -> None:
    records = dump(execution("3", 0), execution("4_1", 0, 10), input_id="a")
    assert tasks.of_frame(records).equals(records, null_equal=True)
    assert set(RECORDS) >= {"tasks", "array_tasks"}
