"""Differences between pages, or between nights, do not reveal the waits of a user."""

import base64
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from html import unescape
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from audit import config
from audit.config.places import Site
from audit.mail import message as mails
from audit.mail.message import Subscription
from audit.model import Period
from audit.nightly.run import run
from audit.oneoff.audit import AuditOptions, audit
from audit.oneoff.verify import verify
from audit.pipeline import drawing
from audit.pipeline.opening import LogRequest, Session
from audit.report import standing
from audit.report.contents import Who
from audit.report.owner.build import build
from audit.store import queries, snapshots
from tests.logs import write
from tests.nightly.test_run import NOW, site
from tests.report.owner.conftest import HEADER

pytestmark = pytest.mark.thorough

HOUR, DAY = 3_600, 86_400
WEEK = 7 * DAY
FIRST = 1_767_571_200  # 2026-01-05, a Monday, in UTC
ACCOUNTS = {"one": 1, "two": 2, "five": 5, "seven": 7}
USERS = {f"{account}-{k}": account for account, size in ACCOUNTS.items() for k in range(size)}
OWNERS = (*(Who("user", name) for name in USERS), *(Who("account", name) for name in ACCOUNTS))
READERS = tuple(who for who in OWNERS if who.name[-2:] not in {"-2", "-3", "-5", "-6"})
"""Those with a page and a mail: all accounts, and users like those who have none."""
VICTIM = "two-1"
FEW = ("five-0", "five-1", "seven-0")


class Job(NamedTuple):
    user: str
    submit: int  # s since FIRST
    wait: int
    size: int

    @property
    def end(self) -> int:
        return self.submit + self.wait + HOUR


def days(numbers: range, users: Mapping[str, str] | tuple[str, ...] = USERS) -> Iterator[Job]:
    """Yield a narrow job of each user on each day, and a wide one of some users."""
    for day in numbers:
        for k, user in enumerate(users):
            yield Job(user, day * DAY + k * 60, 600 + 97 * k, 1)
            if USERS[user] == "seven" or (user == "one-0" and day < 7):
                yield Job(user, day * DAY + 6 * HOUR + k * 60, 2 * HOUR + 500 * k, 8)


def alone(user: str, at: int) -> list[Job]:
    """Return five jobs with long waits."""
    return [Job(user, at + k * 60, 7 * HOUR, 1) for k in range(5)]


NIGHTS = (
    ("two weeks and a day", [*days(range(15))]),
    ("five jobs of one user in an open week", alone(VICTIM, 15 * DAY)),
    ("the week is closed", [*days(range(15, 21)), *days(range(21, 22), FEW)]),
    ("late records of one user in closed weeks", alone(VICTIM, 3 * DAY)),
    ("a week of three users is closed", [*days(range(22, 26), FEW), *alone(FEW[0], 28 * DAY)]),
)
ATTACKS = (1, 3)
"""Nights with jobs of the victim only."""


def log(jobs: list[Job], first: int) -> str:
    def clock(instant: int) -> str:
        return datetime.fromtimestamp(FIRST + instant, UTC).strftime("%Y-%m-%dT%H:%M:%S")

    rows = [
        f"{first + number}|{job.user}|{USERS[job.user]}|batch|COMPLETED|{clock(job.submit)}"
        f"|{clock(job.submit + job.wait)}|{clock(job.end)}|04:00:00|cpu={job.size},node=1"
        for number, job in enumerate(jobs)
    ]
    return "\n".join([HEADER, *rows, ""])


class Night(NamedTuple):
    """The results of a night."""

    folder: Path
    pages: dict[Who, str]  # as a reader sees them, without digests
    letters: dict[Who, str]


def settings_of(folder: Path) -> config.Config:
    whole = {
        "addresses": ("pi@example.org",),
        "users": tuple(who.name for who in READERS if who.kind == "user"),
        "accounts": tuple(ACCOUNTS),
    }
    changed = {"report": {"pdf": False, "owner_pages": "asked"}, "recipients": (whole,)}
    plain = site(folder, zone="UTC").model_dump()
    return config.Config.model_validate({**plain, **changed})


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> list[Night]:
    made: list[Night] = []
    folder = tmp_path_factory.mktemp("night")
    for number, (_, jobs) in enumerate(NIGHTS):
        settings = settings_of(folder)
        write(folder / "logs" / f"{number}.swf", log(list(jobs), 10_000 * number))
        assert run(Site(settings, folder), NOW).failures == []
        reports = folder / "fairaudit-reports" / "c" / "2026-01"
        pages = {who: seen((reports / who.file).read_text()) for who in READERS}
        kept = shutil.copytree(folder, tmp_path_factory.mktemp("kept") / "site")
        made.append(Night(kept, pages, letters(folder, settings)))
    return made


def seen(html: str) -> str:
    """Return a page without the digests of its run and inputs."""
    claim = re.search(r"fairaudit-report:([\w=-]+)", html)
    assert claim is not None
    said = base64.urlsafe_b64decode(claim[1]).decode()
    for digest in (r'"run_id":"\w+"', r'"seen":"\w+"'):
        said = re.sub(digest, "", said)
    text = html.replace(claim[0], said)
    return unescape(re.sub(r"run <code>\w+</code>", "", text)).replace("\u00a0", " ")


def letters(folder: Path, settings: config.Config) -> dict[Who, str]:
    """Return the text of the mail to each, its tables included."""
    with closing(snapshots.open_snapshot(folder / settings.output.database)) as con:
        ((name, from_time, to_time, _), *_) = queries.rows(con, "computed", cluster="c")
        contents = drawing.contents_of(con, settings, "c", Period(name, from_time, to_time))
        stands = standing.standing(contents, NOW)
        made = build(con, contents, READERS)
    found = {}
    for of in made:
        wish = Subscription(whole=False, owners=(of.who,))
        about = (contents, stands, settings.mail.subject, wish, [of])
        letter = mails.compose(*about, enclosed=mails.Enclosed())
        mail = mails.message(
            letter, mails.Envelope("a@example.org", "b@example.org", "<1@example.org>", NOW)
        )
        tables = [file.content.decode() for file in mails.csv_files(contents, [of.who])]
        bodies = [
            part.get_content() for part in mail.walk() if part.get_content_maintype() == "text"
        ]
        whole = "\n".join([str(mail["Subject"]), *bodies, *tables])
        found[of.who] = whole.replace(letter.run_id, "")
    return found


def mine(who: Who) -> bool:
    """Whether the page of this user or account includes the victim's jobs."""
    return who.name in (VICTIM, USERS[VICTIM])


@pytest.mark.parametrize("attack", ATTACKS)
def test_jobs_of_one_user_change_no_page_or_mail_of_others(
    nights: list[Night], attack: int
) -> None:
    before, after = nights[attack - 1 : attack + 1]
    for who in READERS:
        same = not mine(who)
        assert (before.pages[who] == after.pages[who]) is same, who
        assert (before.letters[who] == after.letters[who]) is same, who


class Key(NamedTuple):
    """A published figure."""

    begin: int
    end: int
    width: str | None
    walltime: str | None
    metric: str


def published(night: Night) -> dict[Key, float]:
    """Return the published figures over all users."""
    with closing(snapshots.open_snapshot(night.folder / "fairaudit.duckdb")) as con:
        rows = queries.rows(con, "published_blocks", cluster="c", until=None, definition=None)
    return {Key(*row[1:-1]): row[-1] for row in rows}


def test_published_figures_never_change(nights: list[Night]) -> None:
    versions = [published(night) for night in nights]
    for before, after in pairwise(versions):
        assert before.items() <= after.items()
    blocks = [{key[:2] for key in version} for version in versions]
    assert [len(of) for of in blocks] == [2, 2, 3, 3, 3]  # three users alone make no block
    classes = {(key.begin, key.width) for key in versions[-1] if key.width}
    # of the wide jobs of the first week one user's would remain
    assert classes == {(FIRST + k * WEEK, width) for k in (1, 2) for width in ("1", "5-8")}
    assert blocks[-1] == {(FIRST + k * WEEK, FIRST + (k + 1) * WEEK) for k in range(3)}


def test_no_difference_of_figures_is_of_one_to_four_users(
    nights: list[Night],
) -> None:
    """Compare all nested pairs of sets of jobs behind figures of any night.

    Differences between pages of an account and of its members are left out: its head sees both.
    """
    common, own = sets_of_jobs(nights)
    assert len(common) == 9  # three blocks, two classes in two of them, all of two and of three
    nested = 0
    for one, other in [
        *combinations(common, 2),
        *((one, other) for one in common for other in own),
    ]:
        for within, around in ((one, other), (other, one)):
            if within < around:
                users = {job.user for job in around - within}
                nested += 1
                assert len(users) >= 5, users
    assert nested > 50


def sets_of_jobs(nights: list[Night]) -> tuple[set[frozenset[Job]], set[frozenset[Job]]]:
    """Return the sets of jobs behind figures over all users, and behind exact own figures."""
    known: list[Job] = []
    common, own, before = set(), set(), set[Key]()
    whole: frozenset[Job] = frozenset()
    for (_, jobs), night in zip(NIGHTS, nights, strict=True):
        known += jobs
        for begin, end, width, *_ in published(night).keys() - before:
            held = frozenset(job for job in known if begin <= FIRST + job.end < end)
            label = {"1": 1, "5-8": 8, None: None}[width]
            common.add(frozenset(job for job in held if label in (None, job.size)))
            whole |= held
            for who in OWNERS:
                of = frozenset(job for job in held if who.name in (job.user, USERS[job.user]))
                own |= {of, frozenset(job for job in of if job.size == label)} - {frozenset()}
        common.add(whole)
        before = {*published(night)}
    return common, own


def test_all_pages_of_a_night_have_the_same_figures_over_all_users(nights: list[Night]) -> None:
    for night in nights:
        said = {
            re.search(r"all jobs waited ([\d.]+ \w+) in the average week", page)
            for page in night.pages.values()
        }
        assert len({found and found[0] for found in said}) == 1
        assert None not in said
        assert all("times as long" in page for page in night.pages.values())
        assert not any(re.search(r"\d records|\d refused", page) for page in night.pages.values())


def test_pages_of_each_night_can_be_recreated(nights: list[Night]) -> None:
    for night in (nights[1], nights[-1]):
        settings = settings_of(night.folder)
        reports = night.folder / "fairaudit-reports" / "c" / "2026-01"
        for who in (READERS[0], READERS[-1]):
            assert verify(reports / who.file, None, settings, night.folder).same


@pytest.mark.parametrize("account", ["one", "five"])
def test_a_one_off_audit_reveals_no_more(tmp_path: Path, account: str) -> None:
    """The same before and after five jobs of one user in the week that the log ends in."""
    jobs = [*days(range(15))]
    asked = (Who("user", f"{account}-0"), Who("account", account))
    pages = []
    for number, more in enumerate(([], alone(VICTIM, 15 * DAY))):
        file = write(tmp_path / f"{number}.txt", log([*jobs, *more], 0))
        quick = config.Config.model_validate({"uncertainty": {"resamples": 100}})
        request = LogRequest(logs=[file], cluster="c", pool_size=64)
        options = AuditOptions(out=tmp_path / f"out{number}", pdf=False, owners=asked)
        made = audit(Session(request, quick, fit=False), options)
        pages.append([seen(page.read_text()) for page in made.owners[: len(asked)]])
    assert pages[0] == pages[1]
