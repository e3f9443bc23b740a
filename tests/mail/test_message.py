"""What mails say: the state first, an account's own figures, and names that stay text."""

import email
from dataclasses import replace
from email import policy
from email.message import EmailMessage

import pytest

from audit.mail import message as mail
from audit.report.contents import Contents
from audit.report.judgement.page_one import page_one
from audit.report.text.standing import Standing, State
from audit.report.trend import Change, Estimate, Trend
from tests.report import sample

TEMPLATE = "Fairness of {cluster}, {period}"
WHOLE = mail.Wish()


def letter(
    page: Contents, wish: mail.Wish = WHOLE, state: State = State.COMPLETE, **more: object
) -> mail.Letter:
    return mail.compose(page, Standing(state, "Why."), TEMPLATE, wish, **more)  # type: ignore[arg-type]


def sent(made: mail.Letter) -> EmailMessage:
    """The mail as its recipient's program reads it."""
    message = mail.message(
        made, sender="audit@e.org", recipient="anna@e.org", message_id="<1@e.org>", now=1793500000
    )
    read = email.message_from_bytes(message.as_bytes(), policy=policy.default)
    assert isinstance(read, EmailMessage)
    return read


def body(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    assert isinstance(part, EmailMessage)
    text: str = part.get_content()
    return text


def test_a_mail_of_the_whole_report() -> None:
    page = sample.contents()
    files = (mail.File("report.pdf", "application/pdf", b"%PDF"), *mail.csv_files(page))
    pictures = mail.pictures(page)
    message = sent(letter(page, pictures=pictures, files=files))
    assert message["Subject"] == "Fairness of demo, 2026-10"
    assert message["Date"] == "Sun, 01 Nov 2026 02:26:40 +0000"
    assert message["Auto-Submitted"] == "auto-generated"
    names = [part.get_filename() for part in message.iter_attachments()]
    assert names == ["report.pdf", "users.csv", "accounts.csv", "model-fidelity.csv"]
    plain, html = body(message, "plain"), body(message, "html")
    made = letter(page)
    for told in (made.verdict, *(question.text for question in made.questions), *made.advice):
        assert told in plain
        assert told in html
    read = plain[: plain.index("Attached")].strip().splitlines()
    assert len([line for line in read if line]) <= 10
    inside = {
        part["Content-ID"]: part.get_payload(decode=True)
        for part in message.walk()
        if part.get_content_type() == "image/png"
    }
    assert len(inside) == len(pictures) == 2
    for picture in pictures:
        assert inside[f"<{picture.cid}>"] == picture.png
        assert f'src="cid:{picture.cid}" alt="Bar' in html or f'src="cid:{picture.cid}"' in html
    assert "http" not in html.replace("<!DOCTYPE html>", "")
    assert max(map(len, message.as_bytes().split(b"\n"))) < 998


def test_pictures_are_of_the_pool_that_page_one_is_about() -> None:
    large, many = (
        replace(made, figures=(*made.figures, sample.figure("consumed", consumed)))
        for made, consumed in ((sample.pool("large"), 9e6), (sample.pool("many"), 9e5))
    )
    page = sample.contents(large, many)
    one = page_one(page)
    assert one is not None
    assert one.place.pool.name == "large"
    titles = [picture.title for picture in mail.pictures(page)]
    assert titles
    assert all(title.endswith("(pool large)") for title in titles)


@pytest.mark.parametrize("state", [State.PARTIAL, State.EMPTY, State.STALE])
def test_what_is_not_complete_never_looks_so(state: State) -> None:
    page = sample.empty() if state is State.EMPTY else sample.contents()
    made = letter(page, state=state, pictures=mail.pictures(page))
    shouted = state.value.upper()
    assert made.subject == f"[{shouted}] Fairness of demo, 2026-10"
    message = sent(made)
    plain, html = body(message, "plain"), body(message, "html")
    assert f"{shouted}: Why." in plain.splitlines()[1:3]
    assert f"{shouted}.</strong>" in html
    placed = mail.headline(page, state, "{cluster} {state}", WHOLE, None, corrected=True)
    assert placed == f"Corrected: demo [{shouted}]"


def test_a_mail_of_an_account_speaks_of_that_account_alone() -> None:
    page = sample.contents()
    wish = mail.Wish(False, ("physics", "nobody"), frozenset({"csv"}))
    files = mail.csv_files(page, wish.accounts)
    message = sent(letter(page, wish, files=files))
    assert message["Subject"] == "Fairness of demo, 2026-10: physics, nobody"
    plain, html = body(message, "plain"), body(message, "html")
    for text in (plain, html):
        assert "Attempts that ended" in text
        assert "Started later than fair (strict)" in text
        assert "EASY backfilling" in text  # how far to trust the model
        assert "No job of this account ended in the period." in text
        assert "maths" not in text
        assert "anna" not in text
    assert "  Started later than fair (strict): 25 (25.0 %) (all of the pool: 30.0 %)" in plain
    (table,) = message.iter_attachments()
    assert [row.split(",")[0] for row in table.get_content().splitlines()] == ["account", "physics"]
    both = letter(page, replace(wish, whole=True))
    assert both.verdict.startswith("Mixed.")
    assert [part.account for part in both.parts] == ["physics", "nobody"]


@pytest.mark.parametrize("name", sample.HOSTILE)
def test_names_stay_text(name: str) -> None:
    evil = f"{name}\r\nBcc: x@evil.org\n\nbody"
    pool = sample.pool(evil, users=(evil, "ben"))
    accounts = sample.entities("account", (sample.entity(evil, 3_600.0),))
    page = sample.contents(replace(pool, accounts=accounts), cluster=evil)
    page = replace(page, warnings=(evil,))
    for wish in (WHOLE, mail.Wish(False, (evil,))):
        message = sent(letter(page, wish, files=mail.csv_files(page, wish.accounts)))
        assert message.keys() == [
            *("Subject", "From", "To", "Date", "Message-ID", "Auto-Submitted"),
            *("MIME-Version", "Content-Type"),
        ]
        assert message["To"] == "anna@e.org"
        assert message["Subject"].isprintable()
        plain, html = body(message, "plain"), body(message, "html")
        assert "\nBcc" not in plain
        assert "\u202e" not in plain + html
        for tag in ("<script", "<img", "<b>"):
            assert tag not in html
        for part in message.iter_attachments():
            assert (part.get_filename() or "").isascii()


def test_attachments_that_are_too_large_are_left_out_and_it_is_said() -> None:
    files = [mail.File("report.pdf", "application/pdf", bytes(2_000_000))]
    assert mail.too_large(files, 2.0) is None
    why = mail.too_large(files, 1.5)
    assert why is not None
    assert "(2.0 MB) are larger than mail takes here (1.5 MB" in why
    assert why in body(sent(letter(sample.contents(), remarks=[why])), "plain")


def test_a_note_to_an_operator_cannot_be_more_than_that() -> None:
    made = mail.note(
        "fails\r\nBcc: x@evil.org",
        "one\n\x1b[31mtwo",
        sender="a@e.org",
        recipient="b@e.org",
        message_id="<1@e.org>",
        now=0,
    )
    assert "Bcc" not in made
    assert made["Subject"] == "fails\\u000d\\u000aBcc: x@evil.org"
    assert made.get_content() == "one\n\\u001b[31mtwo\n"


def test_the_subject_carries_the_verdict_and_whether_it_got_better() -> None:
    change = Change("overtaken_time_mean", 900.0, Estimate(-450.0, -600.0, -60.0))
    page = sample.contents(replace(sample.pool(), trend=Trend("month", (), (change,), "2026-09")))
    one = page_one(page)
    said = mail.headline(page, State.COMPLETE, "{cluster}, {period}: {verdict}", WHOLE, one)
    assert one is not None
    assert said == f"demo, 2026-10: {one.verdict.short}; better than 2026-09"
    accounts = mail.Wish(False, ("physics",))
    said = mail.headline(page, State.COMPLETE, "{cluster}: {verdict}", accounts, one)
    assert said == "demo: physics"
    nothing = sample.empty()
    said = mail.headline(nothing, State.EMPTY, "{cluster}: {verdict}", WHOLE, None)
    assert said == "[EMPTY] demo: no data"
