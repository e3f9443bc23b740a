"""Mails about users and accounts, through a server: sent once, whatever happens, to no others."""

import re
from email.message import EmailMessage
from pathlib import Path

import pytest

from audit import config
from audit.config.places import Site
from audit.mail import delivery
from audit.mail.delivery import Delivered
from audit.nightly.run import run
from audit.oneoff.verify import verify
from audit.setup.doctor import CheckResult, examine
from tests.logs import write
from tests.mail.test_delivery import NOW, mailing, store
from tests.mailserver import Server
from tests.nightly.test_run import site
from tests.report.owner.conftest import OTHERS, jobs
from tests.shared import once

HEAD: dict[str, object] = {"addresses": ("head@example.org",), "accounts": ("team-erasmus",)}
ANN: dict[str, object] = {"addresses": ("ann@example.org",), "users": ("annabella",)}
BOTH: dict[str, object] = {"addresses": ("boss@example.org",), "charts": False}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site after its night: annabella waits longer than six others with similar jobs."""

    def make(folder: Path) -> None:
        write(folder / "logs.swf", "")
        settings = site(folder)
        write(folder / "logs" / "1.swf", jobs("annabella", days=24))
        run(Site(settings, folder), NOW)

    return once(tmp_path_factory, "pages-to-mail", make)


def deliver(place: Path, settings: config.Config) -> Delivered:
    with store(place) as con:
        return delivery.deliver(con, Site(settings, place), NOW)


def whole(mail: EmailMessage) -> str:
    """All text of a mail: headers, bodies, attachments, file names."""
    parts = [str(mail)]
    for part in mail.walk():
        content = b"" if part.is_multipart() else part.get_payload(decode=True)
        assert isinstance(content, bytes)
        parts += [part.get_filename() or "", content.decode("utf-8", errors="replace")]
    return "\n".join(parts)


def got(server: Server) -> dict[str, EmailMessage]:
    return {to.split("@")[0]: mail for to, mail in server.got}


@pytest.mark.thorough
def test_each_gets_what_is_about_them_and_of_nobody_else(
    place: Path, server: Server, cert: Path
) -> None:
    done = deliver(place, mailing(place, HEAD, ANN, server=server, cert=cert))
    assert len(done.sent) == 2
    mails = got(server)
    subject = str(mails["ann"]["Subject"])
    assert subject.endswith("user annabella was overtaken more often")
    assert "account team-erasmus" in mails["head"]["Subject"]
    for name, own, others in (
        ("ann", "annabella", (*OTHERS, "team-", "mine")),
        ("head", "team-erasmus", ("annabella", *{*OTHERS} - {"erasmus"})),
    ):
        text = whole(mails[name])
        assert own in text
        assert not [other for other in others if other in text.replace("team-erasmus", "")]
        (page,) = mails[name].iter_attachments()
        assert page.get_content_type() == "text/html"
        assert str(page.get_filename()).endswith(f"-{own}.html")
        assert "<a href" not in page.get_content()
    html = mails["ann"].get_body(("html",))
    assert html is not None
    assert "of waiting. annabella: " in html.get_content()  # what its picture says
    plain = mails["ann"].get_body(("plain",))
    assert plain is not None
    said = plain.get_content()
    lines = [line for line in said.replace("\r", "").split("\n-- ")[0].split("\n") if line.strip()]
    assert len(lines) <= 11  # ten, and what is attached
    assert any(line.startswith("User annabella typically waited ") for line in lines[1:3])


@pytest.mark.thorough
def test_an_attached_page_can_be_verified(place: Path, server: Server, cert: Path) -> None:
    settings = mailing(place, ANN, server=server, cert=cert)
    deliver(place, settings)
    (page,) = got(server)["ann"].iter_attachments()
    content = page.get_payload(decode=True)
    assert isinstance(content, bytes)
    file = place / "attached.html"
    file.write_bytes(content)
    verdict = verify(file, None, settings, place)
    assert verdict.same, verdict.text


def test_the_head_of_a_group_who_gets_the_report_too_gets_one_mail(
    place: Path, server: Server, cert: Path
) -> None:
    both: dict[str, object] = {**ANN, "addresses": ("BOSS@example.org",)}
    settings = mailing(place, BOTH, both, server=server, cert=cert)
    assert len(deliver(place, settings).sent) == 1
    ((_, mail),) = server.got
    names = [str(part.get_filename()) for part in mail.iter_attachments()]
    assert names[0] == "c_2026-01-user-annabella.html"
    assert {"users.csv", "accounts.csv"} < {*names}
    body = mail.get_body(("plain",))
    assert body is not None
    assert body.get_content().index("User annabella") < body.get_content().index("Cannot tell")


def test_as_pdf_and_where_there_was_no_job(
    place: Path, server: Server, cert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.report.render.sandbox.lay_out", lambda *_: b"%PDF-")
    wish: dict[str, object] = {
        "addresses": ("x@example.org",),
        "users": ("ü<b>",),
        "attach": ("page", "page_pdf", "csv"),
    }
    settings = mailing(place, wish, server=server, cert=cert)
    assert len(deliver(place, settings).sent) == 1
    ((_, mail),) = server.got
    names = [str(part.get_filename()) for part in mail.iter_attachments()]
    assert len(names) == 2
    for name, end in zip(names, (".html", ".pdf"), strict=True):
        assert re.fullmatch(r"c_2026-01-user-_{1,4}[\w-]*" + re.escape(end), name)
    assert mail["Subject"].endswith("user ü<b>: no job ended")
    assert "<b>" not in str(mail.get_body(("html",)))


@pytest.mark.usefixtures("sound_installation")
def test_doctor_names_whom_no_log_names(place: Path) -> None:
    def doctor(users: str) -> CheckResult:
        cluster = '[[clusters]]\nname = "c"\nzone = "Europe/Berlin"\n'
        mail = '[mail]\nvia = "outbox"\nsender = "a@example.org"\n'
        to = f'[[recipients]]\naddresses = ["a@example.org"]\nusers = [{users}]\n'
        write(place / "my.toml", cluster + mail + to)
        (found,) = (of for of in examine(place / "my.toml", None) if "recipients" in of.what)
        return found

    assert doctor('"annabella"').found == "the logs contain all of them"
    slip = doctor('"annabella", "anabela"')
    assert slip.found == "no log names recipients[0].users: anabela; did you mean annabella?"
    (place / "fairaudit.duckdb").unlink()
    assert "nothing is published yet" in doctor('"anabela"').found
