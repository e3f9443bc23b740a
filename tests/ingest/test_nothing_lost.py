"""A bad line among many, of more than a year: it is refused once, and all others are in."""

from pathlib import Path

import pytest

from audit.ingest.ingest import take_in
from audit.ingest.logs import open_logs
from audit.ingest.replay import Replayed, replay
from audit.store import queries
from audit.store.database import Connection, fetch
from tests.logs import line


@pytest.mark.parametrize("lines", [20_000, pytest.param(1_000_000, marks=pytest.mark.thorough)])
def test_one_bad_line_among_many(con: Connection, tmp_path: Path, lines: int) -> None:
    log = tmp_path / "a.swf"
    ordinary = line(0).split(" ", 2)[2]
    with log.open("w") as out:
        for first in range(0, lines, 1_000):
            out.writelines(f"{job} {40 * job} {ordinary}\n" for job in range(first, first + 1_000))
    at = lines * 2 // 3
    bad = line("x" * len(str(at)), submit=40 * at)
    with log.open("r+") as out:  # the same length, so nothing else moves
        offset = log.read_bytes().index(f"\n{at} ".encode()) + 1
        out.seek(offset)
        out.write(bad)
    (taken,) = take_in(con, "c", open_logs([log]))
    assert (taken.records, taken.refused) == (lines, 1)
    assert fetch(con, "SELECT count(*) FROM records").item() == lines - 1
    (row,) = fetch(con, "SELECT * FROM refused").rows(named=True)
    assert (row["line"], row["byte_offset"], row["text"]) == (at + 1, offset, bad)
    mended = {(row["input_id"], offset): line(at, submit=40 * at)}
    assert replay(con, "c", 9, mended=mended) == Replayed(1, 0)
    assert fetch(con, "SELECT count(*), sum(job_number) FROM records").row(0) == (
        lines,
        lines * (lines - 1) // 2,
    )
    assert queries.failed_checks(con) == {}
