"""Refused records are read again in their place; accepted dates stay accepted."""

from pathlib import Path

import polars as pl
import pytest

from audit.cluster.identity import Identity
from audit.config.clusters import is_pseudonym
from audit.errors import ConfigError
from audit.ingest.ingest import Named, take_in, take_in_by_name
from audit.ingest.logs import open_logs
from audit.ingest.people import AS_THEY_ARE, PeopleFilter
from audit.ingest.replay import Replayed, accept, replay
from audit.model import Period
from audit.store import queries
from audit.store.database import Connection, fetch
from tests import stores
from tests.ingest.test_ingest import naming
from tests.ingest.test_quarantine import held, odd, of_2026, ordinary
from tests.logs import line, write

GOOD = line(99, submit=1_767_300_000)


@pytest.fixture
def con(tmp_path: Path) -> Connection:
    """A store with 40 records, one line that is none, and one of a wrong clock."""
    con = stores.new(tmp_path / "db")
    text = of_2026([*ordinary(20), "1 2 3", *ordinary(20, 21), odd(98, 2059)])
    take_in(con, "c", open_logs([write(tmp_path / "a.swf", text)]), now=7)
    return con


def refused(con: Connection) -> list[tuple[object, ...]]:
    asked = "SELECT line, code, epoch(replayed_at)::BIGINT FROM refused_records ORDER BY line"
    return fetch(con, asked).rows()


def place(con: Connection) -> tuple[str, int]:
    ((input_id, offset),) = fetch(con, "SELECT input_id, byte_offset FROM refused").rows()
    return input_id, offset


def run_id(con: Connection) -> str:
    return Identity.of(con, "c", Period("all", 0, 1 << 32), "{}").run_id


def test_as_it_stands_it_is_refused_again(con: Connection) -> None:
    before = run_id(con)
    assert replay(con, "c", 9) == Replayed(0, 1)
    assert refused(con) == [(22, "shape", None), (43, "doubtful", None)]
    assert run_id(con) == before
    con.close()


def test_a_mended_text_takes_its_place(con: Connection, tmp_path: Path) -> None:
    before = run_id(con)
    assert replay(con, "c", 9, mended={place(con): GOOD}) == Replayed(1, 0)
    assert refused(con) == [(22, "shape", 9), (43, "doubtful", None)]
    found = fetch(con, "SELECT * FROM records WHERE job_number = 99")
    assert found.select("line", "byte_offset").row(0) == (22, place(con)[1])
    assert run_id(con) != before  # figures are made of other records now
    assert queries.failed_checks(con) == {}
    again = take_in(con, "c", open_logs([tmp_path / "a.swf"]))
    assert again[0].known
    assert replay(con, "c", 10, mended={place(con): GOOD}) == Replayed(0, 0)
    assert fetch(con, "SELECT count(*) FROM records").item() == 41
    con.close()


@pytest.mark.parametrize("text", ["", "; a comment", f"{GOOD}\n{GOOD}", f"{GOOD}\n1 2"])
def test_what_is_not_one_good_record_stays_refused(con: Connection, text: str) -> None:
    assert replay(con, "c", 9, mended={place(con): text}) == Replayed(0, 1)
    assert replay(con, "c", 9, mended={("other", 1): GOOD}) == Replayed(0, 0)
    assert replay(con, "c", 9, code="value") == Replayed(0, 0)
    assert replay(con, "c", 9, file="b.swf") == Replayed(0, 0)
    assert replay(con, "elsewhere", 9) == Replayed(0, 0)
    con.close()


def test_another_clusters_record_is_not_taken_in(tmp_path: Path) -> None:
    con = stores.new(tmp_path / "db")
    rows = ["JobID|Cluster|State|Submit|Start|End"]
    for job in range(40):
        rows.append(
            f"{job}|{'twi' if job == 9 else 'two'}|COMPLETED|" + "|".join(["2026-01-01"] * 3)
        )
    log = write(tmp_path / "a.psv", "\n".join(rows).replace("2026-01-01", "2026-01-01T01:00:00"))
    take_in_by_name(con, open_logs([log]), naming)
    assert replay(con, "two", 9) == Replayed(0, 1)
    (text,) = fetch(con, "SELECT text FROM refused")["text"]
    assert replay(con, "two", 9, mended={place(con): text.replace("twi", "two")}) == Replayed(1, 0)
    assert queries.failed_checks(con) == {}
    con.close()


def test_an_accepted_date_stays_accepted(con: Connection, tmp_path: Path) -> None:
    before = run_id(con)
    assert accept(con, "c", 9, file="b.swf") == 0
    assert accept(con, "c", 9) == 1
    assert 98 in held(con)
    assert refused(con) == [(22, "shape", None)]
    assert run_id(con) != before
    more = open_logs([write(tmp_path / "b.swf", of_2026(ordinary(9, 300)))])
    take_in(con, "c", more)
    assert 98 in held(con)
    assert fetch(con, "SELECT * FROM doubtful").is_empty()
    assert queries.failed_checks(con) == {}
    assert accept(con, "c", 9) == 0
    con.close()


def test_a_replayed_record_may_be_doubtful(con: Connection) -> None:
    assert replay(con, "c", 9, mended={place(con): odd(99, 1988)}) == Replayed(1, 0)
    assert 99 not in held(con)
    assert fetch(con, "SELECT job_number FROM doubtful").sort(pl.all())["job_number"].to_list() == [
        98,
        99,
    ]
    assert queries.failed_checks(con) == {}
    con.close()


def test_a_mended_text_passes_the_door_that_its_log_came_through(tmp_path: Path) -> None:
    con = stores.new(tmp_path / "hidden")
    people_filter = PeopleFilter(None, ("user",), b"k" * 32)
    log = write(tmp_path / "a.swf", of_2026([*ordinary(20), "1 2 3"]))
    named = Named("c", "the test", None, people_filter)
    take_in_by_name(con, open_logs([log]), lambda names: named)
    for other in (AS_THEY_ARE, PeopleFilter(None, ("user",), b"j" * 32)):
        with pytest.raises(ConfigError, match="each person would have two names"):
            replay(con, "c", 9, mended={place(con): GOOD}, people_filter=other)
    assert replay(con, "c", 9, mended={place(con): GOOD}, people_filter=people_filter) == Replayed(
        1, 0
    )
    users = fetch(con, 'SELECT DISTINCT "user" FROM records')["user"].to_list()
    assert users
    assert all(is_pseudonym("user", user) for user in users)
    con.close()


def test_a_row_of_waiting_tasks_that_is_mended_gives_way_to_their_records(tmp_path: Path) -> None:
    con = stores.new(tmp_path / "db")
    at = "2026-01-01T01:00:00"
    rows = ["JobID|User|State|Submit|Start|End", f"7_1|ana|COMPLETED|{at}|{at}|{at}", "damaged"]
    log = write(tmp_path / "a.psv", "\n".join([*rows, ""]))
    take_in(con, "c", open_logs([log]))
    waiting = f"7_[1-3]|ana|PENDING|{at}|Unknown|Unknown"
    assert replay(con, "c", 9, mended={place(con): waiting}) == Replayed(1, 0)
    found = fetch(con, "SELECT job_id, tasks, array_tasks FROM records ORDER BY job_id")
    assert found.rows() == [("7_1", 1, None), ("7_[1-3]", 2, "2-3")]
    con.close()
