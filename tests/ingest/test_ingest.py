"""Logs into the store: once, whole, in any order."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from audit.errors import DialectError, RefusedError, SeveralClustersError
from audit.ingest.ingest import Named, called_by, take_in, take_in_by_name
from audit.ingest.logs import open_logs
from audit.ingest.quarantine import count_refused
from audit.ingest.rereading import identify
from audit.store import queries
from audit.store.database import Connection, fetch
from tests import stores
from tests.logs import busy, line, log, write


def content(con: Connection) -> list[tuple[object, ...]]:
    """Everything that logs left in the store."""
    attempts = fetch(con, "SELECT * FROM records").sort(pl.all())
    inputs = fetch(con, "SELECT * FROM inputs").sort(pl.all())
    return [*attempts.rows(), *inputs.rows()]


def test_the_same_log_twice_is_once(con: Connection, tmp_path: Path) -> None:
    logs = open_logs([write(tmp_path / "a.swf", busy())])
    first = take_in(con, "c", logs)
    before = content(con)
    again = take_in(con, "c", logs)
    assert [taken.known for taken in first + again] == [False, True]
    assert content(con) == before


def test_the_order_of_logs_and_how_they_are_split_change_nothing(tmp_path: Path) -> None:
    whole = busy(30)
    header = [text for text in whole.splitlines() if text.startswith(";")]
    records = [text for text in whole.splitlines() if not text.startswith(";")]
    # an overlap of ten records between the halves
    halves = ["\n".join([*header, *part, ""]) for part in (records[:20], records[10:])]
    paths = [write(tmp_path / f"{n}.swf", half) for n, half in enumerate(halves)]
    attempts = []
    contents = []
    for name, order in (("ab", paths), ("ba", paths[::-1]), ("w", [tmp_path / "w.swf"])):
        write(tmp_path / "w.swf", whole)
        con = stores.new(tmp_path / name)
        take_in(con, "c", open_logs(order))
        assert queries.failed_checks(con) == {}
        attempts.append(
            queries.run(con, "attempts", cluster="c", since=None, until=None)
            .drop("line", "byte_offset")
            .sort("job_id", "attempt")
            .rows()
        )
        contents.append(content(con))
        con.close()
    assert attempts[0] == attempts[1] == attempts[2]
    assert contents[0] == contents[1]


def test_refused_lines_are_kept_and_counted(con: Connection, tmp_path: Path) -> None:
    path = write(tmp_path / "a.swf", busy() + "1 2 3\n")
    logs = open_logs([path])
    (taken,) = take_in(con, "c", logs, now=77)
    assert (taken.records, taken.refused) == (41, 1)
    (row,) = fetch(con, "SELECT * FROM refused").rows(named=True)
    assert (row["file"], row["line"], row["text"]) == ("a.swf", 44, "1 2 3")
    assert row["refused_at"] == 77
    assert queries.failed_checks(con) == {}


def test_beyond_the_limit_nothing_of_a_log_goes_in(con: Connection, tmp_path: Path) -> None:
    logs = open_logs([write(tmp_path / "a.swf", busy() + "1 2 3\n")])
    with pytest.raises(RefusedError, match=r"1 of 41 records were refused") as caught:
        take_in(con, "c", logs, limit=0.01)
    assert "a.swf:44: 3 fields, SWF has 18" in str(caught.value)
    assert content(con) == []
    assert fetch(con, "SELECT * FROM refused").is_empty()
    take_in(con, "c", logs, limit=1 / 41)
    assert len(content(con)) == 41


def test_a_log_of_bad_lines_is_not_read_to_its_end(
    con: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.ingest.ingest.BATCH_ROWS", 1)
    monkeypatch.setattr("audit.ingest.ingest.WORTH_STOPPING", 1)
    bad, good = (write(tmp_path / name, text) for name, text in BAD_AND_GOOD.items())
    opened = open_logs([bad, good])
    logs = [log._replace(dialect=replace(log.dialect, block_bytes=500)) for log in opened]
    read: list[int] = []

    def progress(what: str, done: int, of: int) -> None:
        if what == "reading bad.psv":
            read.append(done)

    named = Named("c", "the caller", None)
    intake = take_in_by_name(con, logs, lambda names: named, limit=0.05, on_progress=progress)
    assert max(read) < bad.stat().st_size / 2
    assert [log.name for log in intake.kept_out] == ["bad.psv"]
    assert "of the first " in intake.kept_out[0].reason
    assert fetch(con, "SELECT count(*) FROM records").item() == 40


JOBS = "JobID|User|State|Submit|Start|End|AllocCPUS\n" + "".join(
    f"{job}|ana|COMPLETED|2026-01-01T10:00:00|2026-01-01T11:00:00|2026-01-01T12:00:00|4\n"
    for job in range(1, 41)
)
BAD_AND_GOOD = {"bad.psv": JOBS + ("1|2|" + "x" * 200 + "\n") * 5_000, "good.swf": busy()}


@pytest.mark.thorough
def test_only_some_of_many_refused_lines_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.ingest.ingest.BATCH_ROWS", 1)
    for limit, value, kept in (("KEPT_REFUSALS", 7, 7), ("KEPT_TEXT", 23, 4)):
        with monkeypatch.context() as patched:
            patched.setattr(f"audit.ingest.ingest.{limit}", value)
            con = stores.new(tmp_path / limit)
            (log,) = open_logs([write(tmp_path / "a.psv", JOBS + "1|2|3\n" * 100)])
            log = log._replace(dialect=replace(log.dialect, block_bytes=200))
            (taken,) = take_in(con, "c", [log])
            assert (taken.records, taken.refused) == (140, 100)
            assert fetch(con, "SELECT line FROM refused").height == kept
            count_refused(con, [identify("c", log)])
            assert fetch(con, "SELECT refused FROM inputs").item() == 100
            assert queries.failed_checks(con) == {}
            con.close()


def test_a_log_goes_in_whole_or_not_at_all(
    con: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = open_logs([write(tmp_path / "a.swf", busy())])
    with monkeypatch.context() as broken:
        broken.setattr("audit.ingest.attempts.resolve", None)
        twice = open_logs([write(tmp_path / "b.swf", log([line(1), line(1)]))])
        with pytest.raises(TypeError):
            take_in(con, "c", twice)
    assert content(con) == []
    take_in(con, "c", logs)
    assert len(content(con)) == 41


def test_progress_counts_bytes_to_the_end(con: Connection, tmp_path: Path) -> None:
    logs = open_logs([write(tmp_path / f"{n}.swf", busy(n)) for n in (5, 9)])
    told: list[tuple[str, int, int]] = []
    take_in(con, "c", logs, on_progress=lambda *said: told.append(said))
    total = sum(opened.source.size for opened in logs)
    assert told[-1] == ("reading 9.swf", total, total)
    done = [step for _, step, _ in told]
    assert done == sorted(done)


def test_a_dialect_may_be_named_but_must_be_right(tmp_path: Path) -> None:
    path = write(tmp_path / "a", busy())
    assert open_logs([path], "swf")[0].dialect.name == "swf"
    with pytest.raises(DialectError, match=r"looks like Standard Workload Format"):
        open_logs([path], "sacct")


HEADER = "JobID|Cluster|User|State|Submit|Start|End|AllocCPUS"


def of_cluster(job: int, cluster: str) -> str:
    times = "|".join(f"2026-01-01T0{hour}:00:00" for hour in (1, 2, 3))
    return f"{job}|{cluster}|ana|COMPLETED|{times}|1"


def naming(names: Sequence[str]) -> Named:
    called = called_by(None, names, "--cluster")
    return Named(called or "unnamed", "", called)


@pytest.mark.parametrize(("place", "batch"), [(0, 1), (39, 1), (7, 1000)])
def test_a_flipped_bit_makes_no_second_cluster(
    con: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int, batch: int
) -> None:
    monkeypatch.setattr("audit.ingest.ingest.BATCH_ROWS", batch)
    rows = [of_cluster(job, "blues" if job == place else "bluer") for job in range(40)]
    log = write(tmp_path / "a.psv", "\n".join([HEADER, *rows, ""]))
    named, (taken,), _ = take_in_by_name(con, open_logs([log]), naming)
    assert named.cluster == "bluer"
    assert (taken.records, taken.refused, taken.elsewhere) == (40, 1, 0)
    (refused,) = fetch(con, "SELECT * FROM refused_records").rows(named=True)
    assert (refused["line"], refused["text"], refused["code"]) == (
        place + 2,
        rows[place],
        "cluster",
    )
    assert "names the cluster 'blues', nearly all others 'bluer'" in refused["reason"]
    assert fetch(con, "SELECT count(*) FROM records").item() == 39
    assert queries.failed_checks(con) == {}


def test_more_than_a_few_are_another_cluster(tmp_path: Path) -> None:
    for few, of in ((3, 40), (1, 9)):
        rows = [of_cluster(job, "two" if job < few else "one") for job in range(of)]
        log = write(tmp_path / "a.psv", "\n".join([HEADER, *rows, ""]))
        con = stores.new(tmp_path / f"db{of}")
        with pytest.raises(SeveralClustersError, match="one, two"):
            take_in_by_name(con, open_logs([log]), naming)
        con.close()
