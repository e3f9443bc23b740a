"""PBS's daily files into the store: in any order, arrays, and what a night touches."""

from itertools import permutations
from pathlib import Path

import polars as pl
import pytest

from audit.ingest.attempts import attempts_of
from audit.ingest.ingest import take_in
from audit.ingest.logs import open_logs
from audit.ingest.replay import Replayed, replay
from audit.store import queries
from audit.store.database import Connection, fetch
from tests import stores
from tests.ingest.test_events import ended, event, parsed, queued, started


def of(job: str, *lines: str) -> list[str]:
    """The same of another job."""
    return [line.replace(";7.srv;", f";{job};") for line in lines]


DAYS = {
    "20231114": [
        *of("7.srv", queued(100), started(150)),
        *of("8.srv", queued(100), started(150), ended(150, 190)),
        *of("8.other", queued(110), event("D", 120)),
        *of("9[].srv", queued(100)),
        event("L", 130, floating="1"),
    ],
    "20231115": [
        *of("7.srv", event("R", 86_500), started(86_600)),
        *of("9[1].srv", started(86_400), ended(86_400, 86_500)),
        *of("9[2].srv", started(86_400)),
        *of("10[].srv", queued(86_400)),
    ],
    "20231116": [
        *of("7.srv", ended(86_600, 172_900)),
        *of("9[2].srv", ended(86_400, 172_900)),
        *of("9[].srv", ended(86_400, 172_900)),
        *of("10[].srv", event("D", 172_800)),
    ],
}
ATTEMPTS = [
    ("7.srv", 1, "REQUEUED", 150, 86_500),
    ("7.srv", 2, "COMPLETED", 86_600, 172_900),
    ("8.other", 1, "CANCELLED", None, 120),
    ("8.srv", 1, "COMPLETED", 150, 190),
    ("9[1].srv", 1, "COMPLETED", 86_400, 86_500),
    ("9[2].srv", 1, "COMPLETED", 86_400, 172_900),
    ("10[].srv", 1, "CANCELLED", None, 172_800),
]


def files(folder: Path) -> list[Path]:
    paths = []
    for name, lines in DAYS.items():
        path = folder / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        paths.append(path)
    return paths


def attempts(con: Connection) -> list[tuple[object, ...]]:
    found = queries.run(con, "attempts", cluster="c", since=None, until=None).sort(
        "job_number", "job_id", "attempt"
    )
    return found.select("job_id", "attempt", "state", "start_time", "end_time").rows()


@pytest.mark.thorough
def test_the_order_of_daily_files_changes_nothing(tmp_path: Path) -> None:
    whole: set[tuple[object, ...]] = set()
    for number, order in enumerate(permutations(files(tmp_path))):
        con = stores.new(tmp_path / f"db{number}")
        for path in order:
            (taken,) = take_in(con, "c", open_logs([path]))
            assert taken.refused == 0
        assert attempts(con) == ATTEMPTS
        assert queries.failed_checks(con) == {}
        held = fetch(con, "SELECT * FROM records")
        content = set(held.rows())
        assert content == whole or not whole
        whole = content
        con.close()


def test_a_night_changes_only_the_jobs_that_it_tells_of(con: Connection, tmp_path: Path) -> None:
    first, second, _ = files(tmp_path)
    take_in(con, "c", open_logs([first]))
    before = fetch(con, "SELECT * FROM records WHERE job_number = 8 ORDER BY ALL")
    take_in(con, "c", open_logs([second]))
    assert fetch(con, "SELECT * FROM records WHERE job_number = 8 ORDER BY ALL").equals(before)


def test_a_file_that_has_grown_counts_once(con: Connection, tmp_path: Path) -> None:
    path = tmp_path / "20231114"
    lines = [f"{line}\n" for line in DAYS["20231114"]]
    for much in (3, len(lines)):
        path.write_text("".join(lines[:much]), encoding="utf-8")
        take_in(con, "c", open_logs([path]))
    found = queries.run(con, "attempts", cluster="c", since=None, until=None)
    assert found.filter(pl.col("job_id") == "8.srv").height == 1
    assert queries.failed_checks(con) == {}


def test_a_line_that_was_cut_is_not_whole_when_it_is_read_again(
    con: Connection, tmp_path: Path
) -> None:
    path = tmp_path / "20231114"
    whole = ended(150, 200)
    path.write_text(f"{started(150)}\n{whole[:-1]}", encoding="utf-8")
    take_in(con, "c", open_logs([path]))
    assert fetch(con, "SELECT code FROM refused").rows() == [("cut",)]
    assert replay(con, "c", 9) == Replayed(0, 1)
    ((input_id, offset),) = fetch(con, "SELECT input_id, byte_offset FROM refused").rows()
    assert replay(con, "c", 9, mended={(input_id, offset): whole}) == Replayed(1, 0)
    assert attempts(con) == [("7.srv", 1, "COMPLETED", 150, 200)]
    assert queries.failed_checks(con) == {}


@pytest.mark.thorough
def test_tasks_without_a_record_wait_from_day_to_day(tmp_path: Path) -> None:
    days = [
        of("7[].srv", queued(100, array_indices="1-5")),
        of("7[2].srv", started(150)),
        [*of("7[2].srv", ended(150, 86_500)), *of("7[1].srv", started(86_500))],
        of("7[].srv", event("D", 90_000)),
    ]
    expected = [
        ("PENDING", 5, "1-5"),
        ("PENDING", 4, "1,3-5"),
        ("PENDING", 3, "3-5"),
        ("CANCELLED", 3, "3-5"),
    ]
    query = (
        "SELECT state, tasks, array_tasks FROM records WHERE job_id = '7[].srv' AND NOT superseded"
    )
    for number, order in enumerate(("0123", "3120")):
        con = stores.new(tmp_path / f"db{number}")
        for day in map(int, order):
            file = tmp_path / f"{number}-{day}"
            file.write_text("".join(f"{line}\n" for line in days[day]), encoding="utf-8")
            take_in(con, "c", open_logs([file]))
            if number == 0:
                assert fetch(con, query).rows() == [expected[day]]
        assert fetch(con, query).rows() == expected[-1:]
        con.close()


def test_a_task_deleted_before_its_start_has_the_user_and_the_request_of_its_array(
    con: Connection, tmp_path: Path
) -> None:
    request = {"user": "ana", "project": "p", "ctime": 100, "etime": 100, "array_indices": "1-3"}
    amounts = {"Resource_List.ncpus": 4, "Resource_List.walltime": "01:00:00"}
    lines = [
        *of("9[].srv", queued(100, **request, **amounts)),
        *of("9[1].srv", started(150)),
        *of("9[2].srv", event("D", 200)),
    ]
    other = of("9[].srv", queued(50_000, **{**request, "user": "eva", "ctime": 50_000}))
    for name, text in (("20231115", other), ("20231114", lines)):
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
        take_in(con, "c", open_logs([path]))
    expected = {"user": "ana", "account": "p", "partition": "batch", "submit_time": 100}
    expected |= {"eligible_time": 100, "start_time": None, "end_time": 200, "tasks": 1}
    expected |= {"cpus": 4, "walltime_s": 3_600, "state": "CANCELLED", "array_tasks": None}
    stored = queries.run(con, "attempts", cluster="c", since=None, until=None)
    without_store = attempts_of(parsed(*lines).with_columns(input_id=pl.lit("a")))
    for found in (stored, without_store):
        task = found.filter(pl.col("job_id") == "9[2].srv").row(0, named=True)
        assert {name: task[name] for name in expected} == expected
    assert queries.failed_checks(con) == {}
