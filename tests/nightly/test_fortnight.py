"""Nights in simulated time, disturbed and not: both end with the same database and mails."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from email import message_from_bytes
from pathlib import Path

import pytest

from audit import config
from audit.config.places import Site
from audit.nightly import status
from audit.nightly.run import run
from audit.nightly.timetable import next_after
from audit.store import database, snapshots
from tests.logs import line, log, write
from tests.nightly import test_run
from tests.nightly.test_run import DAY, STAGES
from tests.nightly.test_timetable import epoch

ZONE = "Europe/Berlin"
TIMES = "30 2 * * *"  # an hour that one of these nights does not have
RECIPIENTS = ("anna@example.org", "ben@example.org")

Faults = Mapping[int, str]
KILLED = (
    "import os, signal, sys\nfrom pathlib import Path\nfrom pkgutil import resolve_name\n"
    "from audit.config.places import Site\nfrom audit.nightly.run import run\n"
    "from tests.nightly.test_fortnight import site\n"
    "folder, now, name = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]\n"
    "module, _, attribute = name.rpartition('.')\n"
    "setattr(resolve_name(module), attribute, lambda *_, **__: os.kill(os.getpid(), 9))\n"
    "run(Site(site(folder), folder), now)\n"
)
FULL = (
    "import resource, sys\nfrom pathlib import Path\n"
    "from audit.config.places import Site\nfrom audit.nightly.run import run\n"
    "from tests.nightly.test_fortnight import site\n"
    "folder, now = Path(sys.argv[1]), int(sys.argv[2])\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
    "sys.exit(run(Site(site(folder), folder), now).exit_code)\n"
)


def site(folder: Path) -> config.Config:
    """A cluster with a report and two mails for each day."""
    base = test_run.site(folder, zone=ZONE, period="day").model_dump()
    return config.Config.model_validate(
        {
            **base,
            "service": {"times": TIMES},
            "mail": {"via": "outbox", "sender": "audit@example.org", "attempts": 1, "backlog": 7},
            "recipients": ({"addresses": RECIPIENTS, "attach": (), "charts": False},),
        }
    )


def day(begin: int, number: int) -> str:
    """A day's log. It goes beyond the day's end in the zone, so that day is whole."""
    lines = [
        line(
            number * 37 + job,  # without gaps: a log with gaps may be a part of the workload
            submit=3600 + job * 900,
            wait=job % 4 * 60,
            run=800,
            user=1 + job % 3,
        )
        for job in range(36)  # enough for a complete report
    ]
    lines.append(line(number * 37 + 36, submit=23 * 3600, wait=0, run=1800))
    return log(lines, UnixStartTime=begin + number * DAY, MaxProcs=8)


def spend(folder: Path, nights: int, faults: Faults) -> None:
    """Lets the nights pass; after a fault the machine is up again a few hours later."""
    begin = epoch("2026-03-20T00:00+00:00")
    settings = site(folder)
    (cluster,) = settings.clusters
    now = begin
    for number in range(nights):
        text = day(begin, number)
        path = write(folder / "logs" / f"{number:02}.swf", text)
        now = next_after(TIMES, ZONE, begin + (number + 1) * DAY - 3600)
        fault = faults.get(number)
        os.utime(path, (now - 7200, now - 7200))
        if fault is None:
            assert run(Site(settings, folder), now).failures == []
            continue
        disturb(folder, settings, now, fault, path)
        again = now + 5 * 3600
        runs = status.look(Site(settings, folder), again).runs
        due = status.due(settings, cluster, runs, {"c": now}, now)
        assert due is not None
        if due <= again:  # the service's catch-up
            assert run(Site(settings, folder), again).failures == []


# what changed since a night that could not read its log is another thing
CHANGED = re.compile(rb'<section aria-label="Changes">.*?</section>\n?', re.DOTALL)


def disturb(folder: Path, settings: config.Config, now: int, fault: str, path: Path) -> None:
    """One night in which something goes wrong."""
    words = [str(folder), str(now)]
    if fault == "down":
        return
    if fault == "full disk":
        code = script(FULL, *words)
        assert code not in {0, -signal.SIGKILL}
    elif fault == "half a log":
        whole = path.read_bytes()
        path.write_bytes(whole[: -len(whole) // 3])
        os.utime(path, (now - 5, now - 5))
        done = run(Site(settings, folder), now)
        assert any("still being written" in said for said in done.warnings)
        path.write_bytes(whole)
        os.utime(path, (now + 60, now + 60))
    elif fault in {"fairaudit-reports/c", "fairaudit-outbox"}:  # cannot be written: it is a file
        place = folder / fault
        aside = place.with_name("aside")
        place.rename(aside)
        place.write_bytes(b"")
        assert run(Site(settings, folder), now).failures != []
        place.unlink()
        aside.rename(place)
    else:
        assert script(KILLED, *words, STAGES[fault]) == -signal.SIGKILL


def script(text: str, *words: str) -> int:
    done = subprocess.run([sys.executable, "-c", text, *words], check=False)
    return done.returncode


def left(folder: Path) -> dict[str, object]:
    """All that people are given, but for when it was made, and what was said before."""
    found = {
        name: CHANGED.sub(b"", text) if isinstance(text, bytes) else text
        for name, text in test_run.content(folder).items()
    }
    con = snapshots.open_snapshot(folder / "fairaudit.duckdb")
    # re_conservation is of all that was known when it was computed, not of the period alone
    summary = "FROM summary WHERE metric <> 're_conservation' ORDER BY ALL"
    found["summary"] = database.fetch(con, summary).rows()
    made = "SELECT * EXCLUDE (ended_at) FROM runs WHERE config_hash IS NOT NULL ORDER BY ALL"
    found["runs"] = database.fetch(con, made).rows()
    sent = "SELECT DISTINCT report, recipient, state FROM deliveries ORDER BY ALL"
    found["deliveries"] = database.fetch(con, sent).rows()
    con.close()
    letters = [mail for mail in mails(folder) if "Corrected" not in mail[1]]
    found["mails"] = Counter((to, DAY_OF.findall(subject)[0]) for to, subject in letters)
    return found


# a subject says how many jobs ended, which a night that could not read its log does not know
DAY_OF = re.compile(r"\d{1,2} [A-Z][a-z]{2} \d{4}")


def mails(folder: Path) -> Counter[tuple[str, str]]:
    letters = [message_from_bytes(path.read_bytes()) for path in folder.glob("*outbox/*.eml")]
    return Counter((str(letter["To"]), str(letter["Subject"])) for letter in letters)


def compare(tmp_path: Path, nights: int, faults: Faults) -> None:
    folders = {name: tmp_path / name for name in ("calm", "disturbed")}
    for folder in folders.values():
        folder.mkdir()
    spend(folders["calm"], nights, {})
    spend(folders["disturbed"], nights, faults)
    # what the last night left undone, the next one does
    last = epoch("2026-03-20T00:00+00:00") + nights * DAY + DAY // 2
    for folder in folders.values():
        assert run(Site(site(folder), folder), last).failures == []
    calm, disturbed = left(folders["calm"]), left(folders["disturbed"])
    assert list(calm) == list(disturbed)
    for name, found in calm.items():
        assert disturbed[name] == found, name
    sent = mails(folders["disturbed"])
    assert set(sent.values()) == {1}
    # what was mailed as partial, because the night could not read its log, is corrected
    corrected = {DAY_OF.findall(subject)[0] for _, subject in sent if "Corrected" in subject}
    other = set(sent) - set(mails(folders["calm"]))
    assert {DAY_OF.findall(subject)[0] for _, subject in other} == corrected
    unread = [fault for fault in faults.values() if fault in {"half a log", "full disk"}]
    assert len(corrected) <= len(unread)
    assert len(sent) == (nights + len(corrected)) * len(RECIPIENTS)
    assert not list(folders["disturbed"].glob(".fairaudit.duckdb.*"))
    shutil.rmtree(tmp_path)


@pytest.mark.faults
@pytest.mark.slow
def test_a_fortnight_with_faults(tmp_path: Path) -> None:
    faults = {
        1: "reading a log",
        2: "half a log",
        3: "storing results",
        4: "full disk",
        5: "down",
        6: "noting the run",
        7: "drawing",
        8: "writing a page",  # the night on which clocks leap
        9: "noting the report",
        10: "fairaudit-reports/c",
        11: "publishing",
        12: "fairaudit-outbox",
        13: "down",
    }
    compare(tmp_path, 14, faults)
