"""Logs on disk: whole and damaged, in any encoding, and files that are no logs."""

import bz2
import codecs
import gzip
import hashlib
import tarfile
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from audit.errors import AuditError, DialectError, LogError
from audit.formats.dialects import HEAD_BYTES, Reading
from audit.ingest import logs
from audit.ingest.ingest import take_in
from audit.ingest.logs import LogHead, open_each, open_log, open_logs
from audit.store import queries
from audit.store.database import Connection, fetch
from tests.logs import busy, write

SACCT = "JobID|User|Account|Partition|State|Submit|Start|End|AllocCPUS\n" + "".join(
    f"{job}|ana|phys|batch|COMPLETED|2026-03-0{job}T10:00:00|2026-03-0{job}T11:00:00|"
    f"2026-03-0{job}T12:00:00|4\n"
    for job in range(1, 7)
)


def test_one_log_in_any_form_is_one_log(con: Connection, tmp_path: Path) -> None:
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
    opened = open_logs([tmp_path / name for name in forms])
    taken = take_in(con, "c", opened)
    assert [one.known for one in taken] == [False, *[True] * (len(forms) - 1)]
    assert {log.source.size for log in opened} == {len(text)}


def test_offsets_and_lines_count_in_the_text(con: Connection, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(f"{busy()}damag\u00e9\n".encode("utf-16")))
    take_in(con, "c", open_logs([path]))
    place = fetch(con, "SELECT line, byte_offset, text FROM refused").row(0)
    assert place == (busy().count("\n") + 1, len(busy()), "damag\u00e9")


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
    con: Connection, tmp_path: Path, text: str, place: int, records: int, refused: int
) -> None:
    path = tmp_path / "log"
    path.write_bytes(f"{text[:place]}\0{text[place + 1 :]}".encode())
    (taken,) = take_in(con, "c", open_logs([path]))
    assert (taken.records, taken.refused) == (records, refused)
    held = fetch(con, 'SELECT "user", account FROM records ORDER BY line')
    assert held.height == records - refused
    if not refused:
        assert held["user"][2] == "a\0a"
    else:
        assert "\0" in fetch(con, "SELECT text FROM refused").item()
    assert queries.failed_checks(con) == {}


def test_nuls_at_the_end_of_a_log_cost_no_record(con: Connection, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(busy(9).encode() + bytes(4096))  # as a file system leaves it after a crash
    (taken,) = take_in(con, "c", open_logs([path]))
    assert (taken.records, taken.refused) == (10, 1)


def test_what_no_dialect_recognises_may_be_no_text(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\0\1\2")
    with pytest.raises(LogError, match="binary: byte 0 is NUL") as caught:
        open_log(path)
    assert caught.value.exit_code == 3
    path.write_text("no log\n")
    with pytest.raises(DialectError, match="not a log that fairaudit reads"):
        open_log(path)


def test_an_archive_of_logs_is_no_log(tmp_path: Path) -> None:
    """The header of each member would cost the first record behind it."""
    member, path = tmp_path / "20260302", tmp_path / "days.tar.gz"
    stamp = "03/02/2026 00:00:00"
    member.write_text(f"{stamp};Q;7.srv;queue=batch ctime=1772409600\n" * 60, encoding="utf-8")
    with tarfile.open(path, "w:gz") as archive:
        archive.add(member, "20260302")
    with pytest.raises(LogError, match="a tar archive: unpack it") as caught:
        open_log(path)
    assert caught.value.exit_code == 3
    open_log(member)


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


def test_names_of_known_columns_are_not_used(tmp_path: Path) -> None:
    names, _, rows = SACCT.partition("\n")
    reading = Reading(columns=tuple(names.split("|")), separator="|")
    table, swf = (tmp_path / name for name in ("table", "swf"))
    used, unused = open_logs([write(table, rows), write(swf, busy())], reading=reading)
    assert used.header.problems == ()
    title = "Standard Workload Format (SWF)"
    said = f"--columns and --separator: not used, for the columns of {title} are known"
    assert said in unused.header.problems


@pytest.mark.parametrize("size", [1, 7, 100, 1 << 20])
@pytest.mark.parametrize("last", ["", "\n"])
def test_blocks_are_whole_lines_and_know_where_they_begin(
    tmp_path: Path, size: int, last: str
) -> None:
    text = "one\n\nthree and more\n" * 5 + f"end{last}"
    path = write(tmp_path / "log", text)
    blocks = list(logs.blocks(path, size))
    assert b"".join(block.data for block in blocks).decode() == text
    for block in blocks:
        before = text.encode()[: block.byte_offset]
        assert block.first_line == before.count(b"\n") + 1
        assert not before or before.endswith(b"\n")


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"", 3, "empty"),
        (b"  \n\n", 3, "empty"),
        (gzip.compress(b"", mtime=0), 3, "empty"),
        (gzip.compress(b"1 2 3\n" * 10_000, mtime=0)[:-30], 3, "truncated"),
        (b"\x1f\x8b" + b"?" * 50, 3, "damaged .gz"),
        (b"PK\x03\x04...", 3, "compressed with zip"),
    ],
)
def test_what_is_no_log(tmp_path: Path, content: bytes, code: int, said: str) -> None:
    path = tmp_path / "broken"
    path.write_bytes(content)
    with pytest.raises(AuditError) as caught:
        logs.inspect(path)
    assert caught.value.exit_code == code
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_the_head_can_end_the_reading(tmp_path: Path) -> None:
    class UnwantedError(Exception):
        pass

    heads: list[bytes] = []

    def refuse(head: bytes) -> None:
        heads.append(head)
        raise UnwantedError

    path = tmp_path / "log"
    for data in (b"short\n", b"x" * (1 << 24)):
        path.write_bytes(data)
        with pytest.raises(UnwantedError):
            logs.inspect(path, refuse)
    assert heads == [b"short\n", b"x" * HEAD_BYTES]


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"1 2 3\n\0", "binary: byte 6 is NUL"),
        (b"\1\2\3abc", "binary: much of it are control characters"),
        (b"a\x1fb\tc\r\n", None),
    ],
)
def test_what_is_binary(head: bytes, said: str | None) -> None:
    found = logs.binary(head)
    assert found is None if said is None else found is not None and found.startswith(said)


def test_a_line_that_is_too_long_is_refused_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "LONGEST", 1_000)
    good = busy(3).splitlines(keepends=True)
    for where in (len(good), len(good) - 1):  # at the end, and between records
        text = "".join([*good[:where], "x" * 50_000 + "\n", *good[where:]])
        (opened,) = logs.open_logs([write(tmp_path / "a.swf", text)])
        opened = opened._replace(dialect=replace(opened.dialect, block_bytes=100))
        parsed = [part for _, part in logs.parsed_blocks(opened)]
        records = pl.concat(part.records for part in parsed)
        assert records["job_id"].to_list() == ["1", "2", "3"]
        lines = text.splitlines(keepends=True)
        assert records["byte_offset"].to_list() == [
            len("".join(lines[:at])) for at, line in enumerate(lines) if line[0] in "123"
        ]
        ((at, offset, reason, kept),) = (
            pl.concat(part.refusals for part in parsed)
            .select("line", "byte_offset", "reason", "text")
            .rows()
        )
        assert (at, offset) == (where + 1, len("".join(good[:where])))
        assert reason.startswith("a line of more than")
        assert kept == "x" * 1_000


def test_a_block_has_a_limited_number_of_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MOST_LINES", 3)
    path = write(tmp_path / "log", "x\n" * 10)
    found = [(block.data.count(b"\n"), block.first_line) for block in logs.blocks(path)]
    assert found == [(4, 1), (4, 5), (2, 9)]


def test_a_log_continues_the_longest_whole_one_that_it_begins_with(tmp_path: Path) -> None:
    def part(data: bytes) -> LogHead:
        return LogHead(len(data), hashlib.sha256(data).hexdigest())

    path = tmp_path / "log"
    text = b"one\ntwo\nthree\nfour\n"
    path.write_bytes(text)

    def known(*earlier: bytes) -> LogHead | None:
        return logs.inspect(path, earlier=[part(data) for data in earlier]).known

    assert known() is None
    assert known(b"one\n", b"one\ntwo\n", b"two\n", b"other\nlog\nxx") == part(b"one\ntwo\n")
    assert known(b"one\ntwo\nthr") is None  # it ended within a line
    assert known(text) is None  # it has not grown
    assert known(text + b"more\n") is None
    first = list(logs.blocks(path, 1 << 20, cut=8))
    assert [(block.data, block.byte_offset, block.first_line) for block in first] == [
        (b"one\ntwo\n", 0, 1),
        (b"three\nfour\n", 8, 3),
    ]
    assert len(list(logs.blocks(path, 1 << 20, cut=9))) == 1
    path.write_bytes(b"x\n" * (1 << 21) + b"y\n")  # known: a whole piece of what is read
    assert known(b"x\n" * (1 << 21)) == part(b"x\n" * (1 << 21))
