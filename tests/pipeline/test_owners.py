"""Pages of users and accounts beside a report: whose, where links lead, and when they go."""

import base64
import re
from html import unescape
from pathlib import Path

import pytest

from audit import config
from audit.config.places import Site
from audit.errors import UsageError
from audit.nightly.run import run
from audit.oneoff.audit import AuditOptions, audit
from audit.oneoff.owners import from_published
from audit.oneoff.verify import verify
from audit.pipeline.drawing import EntityNames, found
from audit.pipeline.opening import LogRequest, Session
from audit.report.contents import Who
from audit.store import database
from tests import stores
from tests.logs import write
from tests.nightly.test_run import NOW, site
from tests.report.owner.conftest import OTHERS, jobs

ANN, BEATRIX = Who("user", "annabella"), Who("user", "beatrix")


def asking(folder: Path, *, owner_pages: str = "named", **recipient: object) -> config.Config:
    """A site, with one recipient if ``recipient`` is given."""
    recipients = [{"addresses": ("pi@example.org",), **recipient}] if recipient else []
    changed = {
        "report": {"pdf": False, "owner_pages": owner_pages},
        "recipients": tuple(recipients),
    }
    return config.Config.model_validate({**site(folder).model_dump(), **changed})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site after its night: annabella waits longer than six others with similar jobs."""
    folder = tmp_path_factory.mktemp("site")
    settings = asking(folder)
    write(folder / "logs" / "1.swf", jobs("annabella", days=24))
    assert run(Site(settings, folder), NOW).failures == []
    return folder


def reports(place: Path) -> Path:
    return place / "fairaudit-reports" / "c" / "2026-01"


def links(page: Path) -> list[str]:
    """Where a page leads to, but for places in itself."""
    text = page.read_text(encoding="utf-8")
    return [
        unescape(link)
        for link in re.findall(r'href="([^"#]*)(?:#[^"]*)?"', text)
        if link and not link.startswith("data:")
    ]


def itself(page: Path) -> str:
    """The invisible identity of a page."""
    (word,) = re.findall(r"fairaudit-report:([\w=-]+)", page.read_text())
    return base64.urlsafe_b64decode(word).decode()


@pytest.mark.thorough
def test_who_is_named_has_a_page_to_which_the_report_and_the_index_lead(place: Path) -> None:
    folder = reports(place)
    assert found(folder) == {folder / "user-annabella.html": ANN}
    assert "user-annabella.html" in links(folder / "report.html")
    assert {*links(folder / "user-annabella.html")} == {"report.html"}
    index = place / "fairaudit-reports" / "index.html"
    assert "c/2026-01/user-annabella.html" in links(index)
    assert "user <bdi>annabella</bdi></a>." in index.read_text()
    for page in (folder / "report.html", folder / "user-annabella.html", index):
        for link in links(page):
            assert (page.parent / link).is_file(), link


@pytest.mark.thorough
def test_whom_recipients_name_has_a_page_too(tmp_path: Path) -> None:
    settings = asking(
        tmp_path, owner_pages="asked", users=("beatrix", "nobody"), accounts=("team-erasmus",)
    )
    write(tmp_path / "logs" / "1.swf", jobs("annabella", days=24))
    run(Site(settings, tmp_path), NOW)
    pages = [path.name for path in found(reports(tmp_path))]
    assert pages == ["account-team-erasmus.html", "user-beatrix.html"]
    assert "user-annabella.html" not in links(reports(tmp_path) / "report.html")


@pytest.mark.thorough
def test_pages_are_recreated_byte_for_byte_and_edits_are_found(place: Path) -> None:
    settings = asking(place)
    page = reports(place) / "user-annabella.html"
    for file in (page, reports(place) / "report.html"):
        verdict = verify(file, None, settings, place)
        assert verdict.same, verdict.text
    assert verify(page, None, settings, place).text.startswith("page of user annabella on c, ")
    (alone,) = from_published(settings, place, [BEATRIX])
    assert verify(alone, None, settings, place).same
    page.write_text(page.read_text().replace("waits", "dances", 1))
    assert "the file was edited" in verify(page, None, settings, place).text


@pytest.mark.thorough
def test_a_job_of_months_before_makes_the_page_again(place: Path) -> None:
    """It changes the trend on the page, and what January infers from the 400 days before."""
    settings, page = asking(place), reports(place) / "user-annabella.html"
    before = page.read_bytes()
    head, row = jobs("annabella", OTHERS[:1], days=1).splitlines()[:2]
    early = row.replace("0|annabella", "99999|annabella").replace("2026-01", "2025-09")
    write(place / "logs" / "0.swf", f"{head}\n{early}\n")
    assert "c 2026-01" in run(Site(settings, place), NOW).computed
    assert page.read_bytes() != before
    assert verify(page, None, settings, place).same


@pytest.mark.thorough
def test_no_old_page_stays_beside_a_newer_report(place: Path) -> None:
    settings, folder = asking(place), reports(place)
    (asked,) = from_published(settings, place, [BEATRIX])
    assert asked == folder / "user-beatrix.html"
    own = write(folder / "user-guide.html", "<p>not ours</p>")
    before = (folder / "user-annabella.html").read_bytes()
    head, *rows = jobs("annabella", days=26).splitlines()
    late = next(row for row in rows if row.startswith("25|"))
    write(place / "logs" / "late.swf", f"{head}\n{late}\n")
    assert run(Site(settings, place), NOW).computed == ["c 2026-01"]
    assert {*found(folder)} == {folder / "user-annabella.html"}
    assert (folder / "user-annabella.html").read_bytes() != before
    assert own.is_file()
    assert verify(folder / "user-annabella.html", None, settings, place).same


def published(path: Path) -> int:
    """How many figures there are for pages of users and accounts."""
    with stores.published(path) as con:
        tables = ("published_block", "published_wait")
        blocks, waits = (
            int(database.rows(con, f"SELECT count(*) FROM {table}")[0][0]) for table in tables
        )
    assert bool(blocks) == bool(waits)
    return blocks


@pytest.mark.thorough
def test_an_audit_lays_pages_beside_its_report_which_name_nobody_else(tmp_path: Path) -> None:
    log = write(tmp_path / "jobs.txt", jobs("annabella"))
    request = LogRequest(logs=[log], cluster="c", pool_size=56)
    options = AuditOptions(out=tmp_path / "out", pdf=False, owners=(BEATRIX,))
    quick = {"uncertainty": {"resamples": 100}}
    made = audit(Session(request, config.Config.model_validate(quick), fit=False), options)
    assert [page.name for page in made.owners] == ["user-beatrix.html", "user-annabella.html"]
    assert published(made.database)
    own = write(tmp_path / "out" / "account-list.html", "mine")
    for page, who in zip(made.owners, (BEATRIX, ANN), strict=True):
        assert verify(page, None, config.Config(), tmp_path).same
        said = itself(page)
        assert who.name in said
        assert not any(name in said for name in {"annabella", *OTHERS, "team-"} - {who.name})
    none = config.Config.model_validate({**quick, "report": {"owner_pages": "asked"}})
    made = audit(Session(request, none, fit=False), AuditOptions(out=tmp_path / "out", pdf=False))
    assert made.owners == ()
    assert not published(made.database)
    left = sorted(path.name for path in (tmp_path / "out").glob("*.html"))
    assert left == [own.name, "report.html"]


def test_who_is_in_no_log_is_refused() -> None:
    names = EntityNames([("ann", "a"), ("ben", None), ("ann", "b")])
    assert Who("user", "ben") in names
    assert Who("account", "ben") not in names
    names.require([Who("user", "ann"), Who("account", "b")])
    with pytest.raises(UsageError, match="--account x: the log names 2 accounts, but not this one"):
        names.require([Who("account", "x")])
    assert Who("user", "ann") not in EntityNames([])
