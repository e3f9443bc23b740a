"""Membership by time, and that no name gets past the filter."""

import hashlib
import hmac
import re
import string
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import config, periods
from audit.config.clusters import is_pseudonym
from audit.config.places import Site
from audit.errors import ConfigError, DialectError, LogError
from audit.formats.lines import Block
from audit.ingest import people
from audit.ingest.ingest import Named, take_in_by_name
from audit.ingest.logs import Unread, open_logs
from audit.ingest.people import AS_THEY_ARE, PeopleFilter
from audit.model import RECORDS, REFUSALS
from audit.nightly.run import run
from audit.store import database, snapshots
from audit.store.database import Connection
from tests.ingest.test_quarantine import odd, of_2026, ordinary
from tests.logs import line, log, write
from tests.nightly.test_run import FIGURES, NOW, month, site

BERLIN = ZoneInfo("Europe/Berlin")
KEY = b"k" * 32


def records(*rows: Mapping[str, object]) -> pl.DataFrame:
    blank = dict.fromkeys(RECORDS)
    return pl.DataFrame([{**blank, **row} for row in rows], schema=RECORDS)


def mapping(tmp_path: Path, text: str) -> pl.DataFrame:
    return people._frame(people.read(write(tmp_path / "people.csv", text), BERLIN))


def at(day: str) -> int:
    return periods.day_start(date.fromisoformat(day), BERLIN)


def test_a_record_gets_what_held_when_it_was_submitted(tmp_path: Path) -> None:
    told = mapping(
        tmp_path,
        "group,user,account,from,to\n"
        ",anna,physics,,2026-04-01\n"
        "staff,anna,chemistry,2026-04-01,\n"
        "students,ben,,,\n",
    )
    april = at("2026-04-01")
    assert april == 1_774_994_400  # 2026-03-31T22:00Z, in summer time
    asked = records(
        {"user": "anna", "submit_time": april - 1, "end_time": april + 9},
        {"user": "anna", "submit_time": april, "account": "mine"},
        {"user": "anna", "end_time": april + 5},
        {"user": "anna"},
        {"user": "ben", "group": "own"},
        {"user": "cleo", "account": "x"},
        {"account": "y"},
    )
    kept = PeopleFilter(told).records(asked)
    assert kept.schema == RECORDS
    assert kept.select("user", "account", "group").rows() == [
        ("anna", "physics", None),
        ("anna", "mine", "staff"),
        ("anna", "chemistry", "staff"),
        ("anna", None, None),  # nobody knows when
        ("ben", None, "own"),
        ("cleo", "x", None),
        (None, "y", None),
    ]
    instead = PeopleFilter(told, replace=True).records(asked)
    assert instead.select("account", "group").rows()[1] == ("chemistry", "staff")
    assert instead.select("account", "group").rows()[4:6] == [(None, "students"), ("x", None)]


@given(st.lists(st.integers(0, 40), min_size=2, max_size=9, unique=True), st.integers(-3, 45))
def test_at_each_instant_a_user_belongs_to_at_most_one_place(edges: list[int], day: int) -> None:
    edges.sort()
    spans = list(pairwise(edges))
    rows = [people.MappingRow(begin, "u", str(begin), None, begin, end) for begin, end in spans]
    assert not list(people._overlaps(rows[::-1]))
    asked = records({"user": "u", "submit_time": day})
    found = PeopleFilter(people._frame(rows)).records(asked)["account"].item()
    assert found == next((str(begin) for begin, end in spans if begin <= day < end), None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "people.csv:1: must name the columns user"),
        ("u" * 200_000, "people.csv:1: field larger than field limit"),
        ("user,account,age\n", "people.csv:1: must name the columns"),
        ("user,user,account\n", "people.csv:1: must name the columns"),
        ("user,from\n", "people.csv:1: has neither a column account"),
        ("user,account\na,b,c\n", "people.csv:2: has 3 fields, the header 2"),
        ("user,account\n\n,b\n", "people.csv:3: has no user"),
        ("user,account\na,\n", "people.csv:2: names neither account nor group"),
        ("user,account,to\na,b,1.4.2026\n", "people.csv:2: to must be a day such as 2026-04-01"),
        (
            "user,account,from,to\na,b,2026-04-01,2026-04-01\n",
            "people.csv:2: ends (to) before it begins (from)",
        ),
        ("user,account\na,b\nx,y\na,c\n", "people.csv:4: its user belongs elsewhere in this"),
        (
            "user,account,from,to\na,b,2026-01-01,\na,c,,2026-01-02\n",
            "people.csv:3: its user belongs elsewhere in this time by line 2",
        ),
    ],
)
def test_what_is_wrong_is_reported_by_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        people.read(write(tmp_path / "people.csv", text), BERLIN)


def test_all_wrong_lines_are_reported_at_once_and_not_too_many(tmp_path: Path) -> None:
    begin = date(2026, 1, 1)
    lines = [f"u{k},a,{begin + timedelta(k)},{begin}" for k in range(30)]
    path = write(tmp_path / "people.csv", "\n".join(["user,account,from,to", *lines]))
    with pytest.raises(ConfigError, match="30 faults") as caught:
        people.read(path, BERLIN)
    assert str(caught.value).count("ends (to)") == 20
    assert str(caught.value).endswith("and 10 more")
    (tmp_path / "latin.csv").write_bytes(b"user,account\nJos\xe9,a\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        people.read(tmp_path / "latin.csv", BERLIN)
    (tmp_path / "marked.csv").write_bytes(b"\xef\xbb\xbfUser,Account\r\nanna,a\r\n")
    assert people.read(tmp_path / "marked.csv", BERLIN)[0].user == "anna"


def test_a_pseudonym_is_the_keyed_hash_and_the_same_everywhere() -> None:
    people_filter = PeopleFilter(None, ("user", "account"), KEY)
    digest = hmac.new(KEY, b"user\0anna", hashlib.sha256).hexdigest()
    assert people_filter.pseudonym("user", "anna") == f"u-{digest[:12]}"
    assert PeopleFilter(None, ("user",), KEY).pseudonym("user", "anna") == people_filter.pseudonym(
        "user", "anna"
    )
    assert PeopleFilter(None, ("user",), b"j" * 32).pseudonym("user", "anna") != f"u-{digest[:12]}"
    assert people_filter.pseudonym("account", "anna")[2:] != digest[:12]
    assert people_filter.pseudonym("group", "anna") == "anna"
    assert people_filter.fingerprint not in (None, PeopleFilter(None, ("user",), KEY).fingerprint)
    assert AS_THEY_ARE.fingerprint is None


NAMES = st.none() | st.text(string.printable + "\ud800\u202eé", max_size=8)


@given(st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=6), st.integers(0, 6))
def test_no_name_passes_and_cutting_changes_nothing(
    names: list[tuple[str | None, str | None, str | None]], cut: int
) -> None:
    clean = [
        tuple(name and name.encode(errors="replace").decode() for name in row) for row in names
    ]
    rows = [dict(zip(("user", "account", "group"), row, strict=True)) for row in clean]
    people_filter = PeopleFilter(None, ("account", "group", "user"), KEY)
    kept = people_filter.records(records(*rows))
    for row, stored in zip(rows, kept.iter_rows(named=True), strict=True):
        for column, name in row.items():
            told = stored[column]
            if name:
                assert re.fullmatch(rf"{column[0]}-[0-9a-f]{{12}}", told)
            else:
                assert told == name
    parts = [part for part in (rows[:cut], rows[cut:]) if part]
    assert pl.concat(
        PeopleFilter(None, ("account", "group", "user"), KEY).records(records(*part))
        for part in parts
    ).equals(kept)


def test_refused_lines_and_unknown_logs_show_nothing(tmp_path: Path) -> None:
    people_filter = PeopleFilter(None, ("user",), KEY)
    refused = {
        "line": 3,
        "byte_offset": 9,
        "code": "value",
        "reason": "User 'anna'?",
        "text": "anna|1",
    }
    refusals = pl.DataFrame([refused], schema=REFUSALS)
    (row,) = people_filter.refusals(refusals).rows(named=True)
    assert row == {
        **refused,
        "reason": "damaged (value); withheld: it may hold names (clusters.people)",
        "text": "",
    }
    assert AS_THEY_ARE.refusals(refusals).equals(refusals)
    odd = Unread(tmp_path, DialectError("x: not a log", ". It begins with: 'anna|1'", ""))
    assert odd.reason == "x: not a log. It begins with: 'anna|1'"
    assert odd.withheld().reason == "x: not a log"
    other = Unread(tmp_path, LogError("x: is empty"))
    assert other.withheld() == other


def test_a_header_is_stored_without_what_its_writer_added(tmp_path: Path) -> None:
    """Comments go; records are read as before."""
    swf = log([line(1, partition=2)], UnixStartTime="7 by anna", Partition="2 short", Note="anna")
    sacct = "JobID|User|Start|anna\n1|u|2026-01-01T00:00:00|x\n"
    for text, kept in [
        (swf, {"UnixStartTime": "7", "Partition 2": "short"}),
        (sacct, {"columns": "JobID,User,Start,_"}),
    ]:
        (opened,) = open_logs([write(tmp_path / "log", text)])
        assert AS_THEY_ARE.header(opened) is opened.header
        header = PeopleFilter(None, ("user",), KEY).header(opened)
        assert header.problems == ()
        assert "anna" not in str(header)
        assert kept.items() <= header.entries.items()
        block = Block(text.encode(), 0, 1)
        assert opened.dialect.parse(block, header).records.equals(
            opened.dialect.parse(block, opened.header).records
        )


def test_keys_are_private_and_long_enough(tmp_path: Path) -> None:
    path = tmp_path / "people.key"
    cluster = config.Cluster(name="c", people=config.PeopleConfig(key_file="people.key"))
    for content, mode, said in [
        (b"short", 0o600, "must hold 16 to 10,000 bytes"),
        (KEY, 0o644, "others can read the key"),
    ]:
        path.write_bytes(content)
        path.chmod(mode)
        with pytest.raises(ConfigError, match=said) as caught:
            people.filter_of(cluster, tmp_path)
        assert content.decode() not in str(caught.value)
    path.chmod(0o600)
    made = people.filter_of(cluster, tmp_path)
    path.write_bytes(KEY + b"\r\n")  # as an editor leaves it
    again = people.filter_of(cluster, tmp_path)
    assert made.fingerprint == again.fingerprint
    assert not people.filter_of(config.Cluster(name="c"), tmp_path).hides
    path.unlink()
    with pytest.raises(ConfigError, match=r"people\.key: cannot be read: No such file"):
        people.filter_of(cluster, tmp_path)


@pytest.mark.thorough
def test_a_night_stores_no_name_and_refuses_another_key(tmp_path: Path) -> None:
    """Names that stand nowhere else: none of them is in any file that the night leaves."""
    hidden = {"key_file": "people.key", "file": "people.csv"}
    settings = site(tmp_path, people=hidden)
    (tmp_path / "people.key").write_bytes(KEY)
    (tmp_path / "people.key").chmod(0o600)
    write(tmp_path / "people.csv", "user,account\n1,zoology-department\n2,zoology-department\n")
    write(tmp_path / "logs" / "1.swf", month(0) + "hedwig-the-owl is no record\n")
    done = run(Site(settings, tmp_path), NOW)
    assert done.failures == []
    places = (tmp_path / "fairaudit-state", tmp_path / "fairaudit-reports")
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    for path in (*files, tmp_path / "fairaudit.duckdb"):
        content = path.read_bytes()
        for name in (b"zoology-department", b"hedwig", KEY):
            assert name not in content, path
    con = snapshots.open_snapshot(tmp_path / "fairaudit.duckdb")
    users = database.rows(con, 'SELECT DISTINCT "user" FROM job_fairness ORDER BY ALL')
    (reason,) = database.rows(con, "SELECT reason, text FROM refused_records")
    con.close()
    people_filter = PeopleFilter(None, ("account", "group", "user"), hashlib.sha256(KEY).digest())
    assert users == sorted((people_filter.pseudonym("user", name),) for name in ("1", "2", "3"))
    assert reason[1] == ""
    page = (tmp_path / "fairaudit-reports" / "c" / "2026-01" / "report.html").read_text()
    assert "pseudonyms of each account, group, user" in page

    write(tmp_path / "logs" / "2.swf", month(1, jobs=3))
    (tmp_path / "people.key").write_bytes(b"j" * 32)
    for changed, said in (
        (settings, "with another key or other columns"),
        (site(tmp_path), "as they were, and with pseudonyms"),
    ):
        (failure,) = run(Site(changed, tmp_path), NOW, stages=FIGURES).failures
        assert failure.exit_code == 2
        assert said in str(failure)
    (tmp_path / "people.key").write_bytes(KEY)
    assert run(Site(settings, tmp_path), NOW, stages=FIGURES).read == [
        "2.swf: 3 records, 0 refused"
    ]


def called(named: Named, _names: Sequence[str]) -> Named:
    return named


def test_a_doubtful_record_waits_without_its_text(con: Connection, tmp_path: Path) -> None:
    path = write(tmp_path / "a.swf", of_2026([*ordinary(40), odd(98, 2059)]))
    for name, people_filter in (
        ("plain", AS_THEY_ARE),
        ("hidden", PeopleFilter(None, ("user",), KEY)),
    ):
        take_in_by_name(
            con, open_logs([path]), partial(called, Named(name, "me", None, people_filter))
        )
        ((text, user),) = database.rows(
            con, f'SELECT text, "user" FROM doubtful WHERE cluster = {database.quote_text(name)}'
        )
        assert (text is None) == (people_filter.hides)
        assert is_pseudonym("user", user) == (people_filter.hides)
