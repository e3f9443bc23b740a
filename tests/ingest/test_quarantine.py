"""Doubtful records wait aside, with their text, and come back; limits hold by source."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import RefusedError
from audit.ingest.ingest import Named, take_in, take_in_by_name
from audit.ingest.logs import open_each, open_logs
from audit.ingest.quarantine import APART_DAYS, SourceStretch, doubts, parts
from audit.store import queries
from audit.store.database import Connection, fetch
from tests import stores
from tests.logs import line, log, write

DAY = 86_400
BEGIN = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())


def ordinary(jobs: int = 40, first: int = 1, begin: int = 0) -> list[str]:
    return [line(first + job, submit=BEGIN + begin + job * 3000, run=100) for job in range(jobs)]


def odd(job: int, year: int) -> str:
    submit = int(datetime(year, 6, 1, tzinfo=UTC).timestamp())
    return line(job, submit=submit, run=100)


def of_2026(lines: list[str]) -> str:
    return log(lines, UnixStartTime=0)


def held(con: Connection) -> list[int]:
    return sorted(fetch(con, "SELECT job_number FROM records")["job_number"].to_list())


def aside(con: Connection) -> list[tuple[Any, ...]]:
    wanted = "SELECT file, line, code, reason, text FROM refused_records ORDER BY line"
    return fetch(con, wanted).rows()


def test_wrong_clocks_are_set_aside_with_their_text_and_reason(
    con: Connection, tmp_path: Path
) -> None:
    lines = ordinary()
    lines[20:20] = [odd(91, 2059)]
    (taken,) = take_in(con, "c", open_logs([write(tmp_path / "a.swf", of_2026(lines))]), now=7)
    assert (taken.records, taken.refused) == (41, 0)  # it was read well
    assert held(con) == list(range(1, 41))
    ((file, at, code, reason, text),) = aside(con)
    assert (file, at, code, text) == ("a.swf", 22, "doubtful", lines[20])
    assert reason.startswith(
        "its submit is of 2059, but the rest of its source of 2026-01-01 to 2026-01-02"
    )
    assert queries.failed_checks(con) == {}


def test_one_wrong_time_of_a_record_is_enough(con: Connection, tmp_path: Path) -> None:
    lines = [*ordinary(), line(91, submit=BEGIN + 50, run=33 * 365 * DAY)]
    take_in(con, "c", open_logs([write(tmp_path / "a.swf", of_2026(lines))]))
    ((_, _, _, reason, _),) = aside(con)
    assert reason.startswith("its end is of 2058")


def test_a_doubt_ends_when_more_come_or_somebody_says_so(con: Connection, tmp_path: Path) -> None:
    first = open_logs([write(tmp_path / "a.swf", of_2026([*ordinary(), odd(91, 2028)]))])
    take_in(con, "c", [one._replace(origin="logs/*") for one in first])
    assert 91 not in held(con)
    more = of_2026([odd(92, 2028), odd(93, 2028), odd(94, 2028)])
    second = open_logs([write(tmp_path / "b.swf", more)])
    take_in(con, "c", [one._replace(origin="logs/*") for one in second])
    assert held(con) == [*range(1, 41), 91, 92, 93, 94]
    assert aside(con) == []
    assert queries.failed_checks(con) == {}


def test_sources_are_judged_by_themselves(con: Connection, tmp_path: Path) -> None:
    logs = [
        write(tmp_path / "now.swf", of_2026(ordinary(900))),
        write(tmp_path / "then.swf", of_2026([odd(5_001, 2001), odd(5_002, 2001)])),
    ]
    take_in(con, "c", open_logs(logs))
    assert aside(con) == []


def test_the_order_of_logs_changes_nothing(tmp_path: Path) -> None:
    logs = open_logs(
        [
            write(tmp_path / "a.swf", of_2026([odd(91, 1975), *ordinary(9)])),
            write(tmp_path / "b.swf", of_2026([*ordinary(40, 20, 9 * DAY), odd(92, 2040)])),
        ]
    )
    logs = [one._replace(origin="logs/*") for one in logs]
    contents = []
    for name, order in (("ab", logs), ("ba", logs[::-1])):
        con = stores.new(tmp_path / name)
        for one in order:
            take_in(con, "c", [one])
        wanted = ["SELECT * FROM records", "SELECT * EXCLUDE (text, doubt) FROM doubtful"]
        contents.append([fetch(con, sql).sort(pl.all()).rows() for sql in wanted])
        assert queries.failed_checks(con) == {}
        con.close()
    assert contents[0] == contents[1]
    assert len(contents[0][1]) == 2


def test_attempts_of_a_job_are_numbered_without_its_doubtful_record(
    con: Connection, tmp_path: Path
) -> None:
    lines = [*ordinary(), odd(7, 1999)]
    take_in(con, "c", open_logs([write(tmp_path / "a.swf", of_2026(lines))]))
    wanted = "SELECT attempt FROM records WHERE job_number = 7"
    assert fetch(con, wanted)["attempt"].to_list() == [1]


def test_the_limit_holds_by_source_and_keeps_its_new_part_out_alone(
    con: Connection, tmp_path: Path
) -> None:
    good = write(tmp_path / "good.swf", of_2026(ordinary(90)))
    mixed = write(tmp_path / "mixed.swf", of_2026(ordinary(9, 200)) + "1 2 3\n" * 5)
    other = write(tmp_path / "other.swf", of_2026(ordinary(9, 300)))
    named = Named("c", "", None)

    def take(*sources: tuple[str, list[Path]]) -> list[str]:
        logs = [log for origin, paths in sources for log in open_each(paths, origin=origin)[0]]
        intake = take_in_by_name(con, logs, lambda _: named, limit=0.05)
        return [path.name for path, _ in intake.kept_out]

    assert take(("a", [mixed]), ("b", [other])) == ["mixed.swf"]
    assert held(con) == list(range(300, 309))
    assert fetch(con, "SELECT count(*) FROM refused").item() == 0
    with pytest.raises(RefusedError, match="a: 5 of 23 records"):
        take(("a", [mixed, write(tmp_path / "more.swf", of_2026(ordinary(9, 400)))]))
    assert take(("a", [good, mixed])) == []  # 5 of 104
    assert fetch(con, "SELECT count(*) FROM refused").item() == 5
    assert queries.failed_checks(con) == {}


def test_a_memory_of_text_is_kept_though_its_log_is_gone(con: Connection, tmp_path: Path) -> None:
    alone = write(tmp_path / "a.swf", of_2026([odd(91, 2028)]))
    first = open_logs([alone])
    take_in(con, "c", [one._replace(origin="logs/*") for one in first])
    assert held(con) == [91]  # nothing to compare it with
    alone.unlink()
    second = open_logs([write(tmp_path / "b.swf", of_2026(ordinary()))])
    take_in(con, "c", [one._replace(origin="logs/*") for one in second])
    ((_, _, _, _, text),) = aside(con)
    assert text is None
    assert 91 not in held(con)


MONTH = [(20_000 + day, 10) for day in range(31)]  # 310 records
LAST = MONTH[-1][0]


def doubted(days: list[tuple[int, int]]) -> list[int]:
    """The first days of the parts that are doubtful."""
    return [doubt.part.first for doubt in doubts(sorted(days))]


@pytest.mark.parametrize("day", [1_900, LAST + 400, 32_800])
def test_a_clock_of_another_year_is_doubtful(day: int) -> None:
    assert doubted([*MONTH, (day, 1)]) == [day]
    assert doubted([*MONTH, (day, 3)]) == [day]


def test_what_is_near_or_many_is_believed() -> None:
    assert doubted([*MONTH, (LAST + APART_DAYS, 1)]) == []  # no gap at all
    assert doubted([*MONTH, (LAST + 400, 4)]) == []
    assert doubted([(20_000, 9), (1_900, 1)]) == []  # too few records to decide
    assert doubted([(20_000, 31), (1_900, 3)]) == [1_900]
    assert doubted([(20_000, 1), (25_000, 1)]) == []


def test_of_a_long_log_one_percent_is_few() -> None:
    years = [(10_000 + day, 10) for day in range(1_000)]
    assert doubted([*years, (20_000, 100)]) == [20_000]
    assert doubted([*years, (20_000, 101)]) == []


def test_a_long_log_may_pause_three_times_as_long() -> None:
    years = [(10_000 + day, 10) for day in range(1_000)]
    assert doubted([*years, (10_999 + 3_000, 1)]) == []
    assert doubted([*years, (10_999 + 3_001, 1)]) == [14_000]
    decades = [(1_000 + day, 10) for day in range(8_000)]
    assert doubted([*decades, (8_999 + 3_654, 1)]) == [12_653]  # ten years are always far


def test_a_few_beside_a_part_that_is_believed_are_not_doubted_for_the_others() -> None:
    old = [(5_000 + day, 1) for day in range(200)]
    assert doubted([*old, (5_600, 1), *MONTH]) == []  # 401 days behind 200
    assert doubted([*old, (5_800, 1), *MONTH]) == [5_800]


def test_parts_end_where_a_year_has_no_record() -> None:
    assert parts([(0, 1), (366, 2), (733, 4)]) == [
        SourceStretch(0, 366, 3),
        SourceStretch(733, 733, 4),
    ]
    assert doubts([]) == []


@given(st.dictionaries(st.integers(0, 40_000), st.integers(1, 500), max_size=20), st.integers(0, 9))
def test_what_is_doubted_is_little_and_never_all(days: dict[int, int], shift: int) -> None:
    laid = sorted(days.items())
    found = doubts(laid)
    records = sum(doubt.part.records for doubt in found)
    assert records == 0 or records < sum(days.values())
    largest = max(parts(laid), key=lambda part: part.records, default=None)
    assert largest not in [doubt.part for doubt in found]
    moved = doubts([(day + shift, count) for day, count in laid])
    assert [doubt.part.first - shift for doubt in moved] == [doubt.part.first for doubt in found]
