"""Page one of more logs is accepted, and says what independent programs gave for them.

KTH-SP2 with closed hours as three independent programs have them, and in one month; a log of one
user; two captures of Slurm with GPUs; and made sites: fair, with a limit, and with a victim.
"""

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import pypdfium2  # type: ignore[import-untyped]
import pytest

from audit.cluster import declared
from audit.config import Config
from audit.formats import swf
from audit.oneoff.audit import AuditOptions, AuditResult, audit
from audit.pipeline.opening import LogRequest, Session
from audit.report.first_page.page import FirstPage
from bench.logs.sites.kinds import SiteKind
from bench.logs.sites.planted import PLANTED, QUEUE, WITHOUT
from bench.logs.sites.site import made
from tests.audited import BRIEF, audited, page_of, public
from tests.places import DATA
from tests.report.first_page.test_compose import accepted
from tests.report.first_page.test_reading import rows

CLOSED: Final = (
    {"hours": "Mon-Fri 04-17", "walltime_above_s": 14_400},
    {"hours": "Mon-Fri 14-17", "walltime_above_s": 10_800},
    {"hours": ("Mon-Thu", "Fri 00-17", "Sun 18-24"), "walltime_above_s": 52_800},
)
"""Of KTH-SP2, at UTC+1 all year."""
KTH: Final = "swf/KTH-SP2-1996-2.1-cln.swf.gz"


def totals(page: FirstPage) -> list[str]:
    return [group.total.plain for group in page.groups]


def causes(page: FirstPage) -> dict[str, str]:
    return {row.cause: row.share.plain for group in page.groups for row in group.rows}


def fills_one_sheet(outcome: AuditResult) -> bool:
    """Whether all of page one is on the first sheet of paper."""
    assert outcome.pdf is not None
    text = pypdfium2.PdfDocument(outcome.pdf)[0].get_textpage().get_text_range()
    words = " ".join(text.replace("\u00a0", " ").split())
    ends = ("Was the machine shared fairly?", "at least as large and long, started first.")
    return all(end in words for end in ends)


@pytest.mark.thorough
def test_kth_sp2_with_its_closed_hours(real_logs: Path, tmp_path: Path) -> None:
    """Its answers, but for one job of unknown size, and windows that are configured."""
    pool = {"name": "all", "capacity": {"cpus": 100}, "windows": CLOSED}
    cluster = {"name": "KTH-SP2", "zone": "Etc/GMT-1", "pools": (pool,)}
    config = Config.model_validate({**BRIEF, "clusters": (cluster,)})
    request = LogRequest(logs=[real_logs / KTH], cluster="KTH-SP2")
    page = page_of(
        audit(Session(request, config, fit=False), AuditOptions(out=tmp_path, pdf=False))
    )
    accepted(page)
    assert page.verdict == (
        "Fair: Those overtaken more often lost little; closed hours and a full machine cost most."
    )
    assert totals(page) == ["39 %", "38 %", "2 %", "21 %"]
    shown = causes(page)
    assert (shown["rule"], shown["down"]) == ("36 %", "3 %")
    assert (shown["earlier"], shown["later"], shown["kept"]) == ("27 %", "8 %", "3 %")
    assert [note.plain for note in page.notes] == [
        "Limit or rule: mainly the weekday closure for jobs over 15 h (configured), three quarters "
        "of the time while enough was free."
    ]
    assert page.size_note.plain == (
        "Of the waiting of jobs over 64 CPUs, 32 % was behind later jobs: 3.9 times the usual "
        "share."
    )
    assert [(label, reason) for label, *_, reason in rows(page, 0)] == [
        ("User 3", "Large jobs: the machine was full, partly of later jobs"),
        ("User 14", "Weekday closure for jobs over 15 h: two thirds of its waiting"),
        ("User 6", "Daytime closure for jobs over 4 h: 38 % of its waiting"),
    ]
    assert [sentence.plain for sentence in page.to_try[:2]] == [
        "To decide: should the weekday closure for jobs over 15 h hold jobs while enough is free?",
        "To ask: what held jobs while CPUs were free?",
    ]
    assert dict(page.mail)["Why:"] == (
        "36 % of all waiting came from rules. For 21 % the log gives no reason."
    )
    assert page.because == "Closed hours and a full machine cost most"


@pytest.mark.thorough
def test_kth_sp2_in_february_1997(real_logs: Path, tmp_path: Path) -> None:
    """Those programs test the order over the log up to March, with its chains; here 91 days are."""
    log = LogRequest(logs=[real_logs / KTH])
    outcome, page = audited(log, tmp_path, pdf=True, from_day="1997-02-01", to_day="1997-03-01")
    accepted(page)
    assert fills_one_sheet(outcome)
    assert page.verdict == (
        "Fair: Those overtaken more often lost little; a full machine caused the most waiting."
    )
    assert page.kicker.plain == "2,924 jobs of 77 users · Verdict over 91 days"
    assert [" · ".join(of.plain for of in cell) for cell in page.strip] == [
        "5 min · typical wait (median) · typical run: 5.9 min",
        "14 h · or more for one job in ten · one run in ten: 4 h",
        "32 % · of jobs waited over an hour · over a minute: 59 %",
        "75 % · of 100 CPUs were busy · fullest day: 97 %",
    ]
    assert totals(page) == ["1 %", "53 %", "3 %", "43 %"]
    assert page.size_note.plain == "One user has 87 % of the waiting of jobs over 64 CPUs."
    assert page.who[0].title.plain == (
        "Overtaken more often than others in the last 91 days: 2 of 31 users tested"
    )
    assert page.who[0].heads[1:3] == ("Lost, of all waiting", "Typically lost")
    unknown = "Not known: later jobs, at least as large, started first"
    assert rows(page, 0) == [
        ("User 12", "31 of 90", "1.7 %", "7.3 h", "–", unknown),
        ("User 9", "16 of 86", "1.6 %", "24 h", "–", unknown),
    ]
    assert rows(page, 1)[1] == (
        *("User 91", "458", "8.6 %", "29 min", "1 min", "Not known: mostly with enough free"),
    )
    assert "Order: 31 of 109 users could be tested, with 73 % of all waiting." in [
        one.plain for one in page.trust_lines
    ]
    who = dict(page.mail)["Who:"]
    assert who.startswith("8 users have half of all waiting; ")
    assert who == f"{dict(outcome.lines)['Who']}."


@pytest.mark.thorough
def test_a_log_of_one_user_repeats_nothing(
    real_logs: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = real_logs / "slurm" / "xdmod-phillips.log.gz"
    outcome, page = public(tmp_path_factory, log, fit=True)
    accepted(page)
    assert page.verdict == "Cannot tell: All jobs in pool black are those of one user."
    assert page.sizes == ()  # of one class
    assert [group.title.plain for group in page.who] == ["Most waiting"]
    assert (page.who_sub.plain, page.size_note.plain, page.who_foot.plain) == ("", "", "")
    assert [one.plain for one in page.to_try] == ["No change was tested: no advice was computed."]
    assert "Who" not in dict(outcome.lines)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [pytest.param("north", marks=pytest.mark.ci), "south"])
def test_a_capture_of_slurm_with_gpus(name: str, tmp_path: Path) -> None:
    for file in ("sacct.txt", "nodes.txt"):
        content = gzip.decompress((DATA / "modern" / name / f"{file}.gz").read_bytes())
        (tmp_path / file).write_bytes(content)
    files = declared.NodeFiles(nodes=tmp_path / "nodes.txt")
    request = LogRequest(logs=[tmp_path / "sacct.txt"], zone="UTC", files=files)
    outcome, page = audited(request, tmp_path / "out", fit=True, pdf=True)
    accepted(page)
    assert fills_one_sheet(outcome)
    assert page.title == "Cannot tell"
    assert page.sentence.plain.startswith("Later jobs started before those of some users")
    assert page.size_title == "Requested"
    assert [mark.mark for mark in page.trust] == ["full", "half", "half"]
    assert page.to_try[0].plain.startswith("To ask: does the scheduler pack small jobs")
    assert dict(outcome.lines)["Waits"].endswith(" users)")


def _accused(page: FirstPage) -> None:
    assert page.verdict.startswith("Mixed: One user was overtaken clearly more often than others")
    assert page.to_try[0].plain == (
        "To ask: why did later jobs, at least as large, start before those of User 2?"
    )
    assert page.who[0].title.plain.startswith("Overtaken more often than others: 1 of ")
    assert [row.label for row in page.who[0].rows] == ["User 2"]


def _limited(page: FirstPage) -> None:
    assert page.title == "Fair"
    assert page.sentence.plain.endswith("; a limit caused most of the waiting.")
    assert page.groups[0].total.plain == "88 %"
    assert page.notes[0].plain.startswith("Limit or rule: mainly the limit of 6 running jobs")


def _fair(page: FirstPage) -> None:
    assert page.title == "Fair"
    assert page.sentence.plain.endswith("; most waiting was for a full machine.")
    assert "rule" not in causes(page)


SITES: Final[dict[str, tuple[SiteKind, Callable[[FirstPage], None]]]] = {
    "fair": (WITHOUT["EASY"], _fair),
    "a limit": (PLANTED["jobs of a user"], _limited),
    "a victim": (replace(QUEUE, last=("user", "u01")), _accused),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SITES)
def test_a_made_site(name: str, tmp_path: Path) -> None:
    kind, expect = SITES[name]
    site = made(kind, 1)
    frame, comments = swf.numbered(site.jobs)
    begin = int(site.jobs["submit_time"].to_numpy().min())
    header = {"UnixStartTime": str(begin), "MaxProcs": str(site.pool.capacity)}
    log = tmp_path / "site.swf"
    log.write_bytes(swf.write(frame, {**header, "TimeZoneString": "UTC"}, comments))
    outcome: AuditResult
    outcome, page = audited(LogRequest(logs=[log]), tmp_path / "out", fit=True)
    accepted(page)
    assert outcome.verdict == page.word.value
    expect(page)
