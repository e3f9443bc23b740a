"""Logs as they lie there: in any encoding, with a NUL in a line, and what is none."""

import bz2
import codecs
import gzip
from pathlib import Path

import pytest

from audit.errors import DialectError, LogError
from audit.ingest.ingest import take_in
from audit.ingest.logs import open_each, open_log, open_logs
from audit.store import queries
from audit.store.database import fetch
from tests import stores
from tests.logs import busy

SACCT = "JobID|User|Account|Partition|State|Submit|Start|End|AllocCPUS\n" + "".join(
    f"{job}|ana|phys|batch|COMPLETED|2026-03-0{job}T10:00:00|2026-03-0{job}T11:00:00|"
    f"2026-03-0{job}T12:00:00|4\n"
    for job in range(1, 7)
)


def test_one_log_in_any_form_is_one_log(tmp_path: Path) -> None:
    text = busy()
    forms = {
        "plain": text.encode(),
        "marked": codecs.BOM_UTF8 + text.encode(),
        "little": codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
        "big": text.encode("utf-16-be"),
        "mac": text.replace("\n", "\r").encode(),
        "packed": gzip.compress(text.encode("utf-16-le")),
        "packed.otherwise": bz2.compress(text.encode()),
    }
    for name, data in forms.items():
        (tmp_path / name).write_bytes(data)
    logs = open_logs([tmp_path / name for name in forms])
    con = stores.new(tmp_path / "db")
    taken = take_in(con, "c", logs)
    assert [one.known for one in taken] == [False, *[True] * (len(forms) - 1)]
    assert {log.source.size for log in logs} == {len(text)}
    con.close()


def test_offsets_and_lines_count_in_the_text(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(f"{busy()}damag\u00e9\n".encode("utf-16")))
    con = stores.new(tmp_path / "db")
    take_in(con, "c", open_logs([path]))
    place = fetch(con, "SELECT line, byte_offset, text FROM refused").row(0)
    assert place == (busy().count("\n") + 1, len(busy()), "damag\u00e9")
    con.close()


@pytest.mark.parametrize(
    ("text", "place", "records", "refused"),
    [
        (busy(9), busy(9).index(" ", 90), 9, 1),
        (SACCT, SACCT.index("3|ana") + 3, 6, 0),
        (SACCT, SACCT.index("3|ana") - 20, 6, 1),
    ],
    ids=["swf", "sacct: a name", "sacct: a time"],
)
def test_a_nul_makes_no_log_binary(
    tmp_path: Path, text: str, place: int, records: int, refused: int
) -> None:
    path = tmp_path / "log"
    path.write_bytes(f"{text[:place]}\0{text[place + 1 :]}".encode())
    con = stores.new(tmp_path / "db")
    (taken,) = take_in(con, "c", open_logs([path]))
    assert (taken.records, taken.refused) == (records, refused)
    held = fetch(con, 'SELECT "user", account FROM records ORDER BY line')
    assert held.height == records - refused
    if not refused:
        assert held["user"][2] == "a\0a"
    else:
        assert "\0" in fetch(con, "SELECT text FROM refused").item()
    assert queries.failed_checks(con) == {}
    con.close()


def test_nuls_at_the_end_of_a_log_cost_no_record(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(busy(9).encode() + bytes(4096))  # as a file system leaves it after a crash
    con = stores.new(tmp_path / "db")
    (taken,) = take_in(con, "c", open_logs([path]))
    assert (taken.records, taken.refused) == (10, 1)
    con.close()


def test_what_no_dialect_recognises_may_be_no_text(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\0\1\2")
    with pytest.raises(LogError, match="binary: byte 0 is NUL") as caught:
        open_log(path)
    assert caught.value.exit_code == 3
    path.write_text("no log\n")
    with pytest.raises(DialectError, match="not a log that fairaudit reads"):
        open_log(path)


def test_one_that_cannot_be_opened_stops_no_other(tmp_path: Path) -> None:
    good = tmp_path / "good"
    good.write_text(busy())
    odd = tmp_path / "od\udcffd"
    odd.symlink_to("gone")
    ((opened,), (unread,)) = open_each([odd, good])
    assert (opened.name, opened.where) == ("good", str(good))
    assert unread.name == "od\\xffd"
    assert unread.where == f"{tmp_path}/od\\xffd"
    assert unread.reason == "a link to gone, where nothing is"
