"""The text of mails: the state first, an account's own figures, and names that stay text."""

import email
import re
from collections.abc import Sequence
from dataclasses import replace
from email import policy
from email.message import EmailMessage

import pytest

from audit.mail import message as mail
from audit.metrics.verdict import Because, Word
from audit.report.contents import Contents, Who
from audit.report.first_page.compose import compose
from audit.report.owner import page as owner_page
from audit.report.owner.record import OwnerContents
from audit.report.sections.waits.record import LongestWait
from audit.report.standing import ReportStanding, State
from tests.report import sample
from tests.report.first_page.sample import decision, ruled, unfair, victim
from tests.report.owner import sample as owners

TEMPLATE = "Fairness of {cluster}, {period}"
WHOLE = mail.Subscription()


def letter(
    page: Contents,
    wish: mail.Subscription = WHOLE,
    state: State = State.COMPLETE,
    owned: Sequence[OwnerContents] = (),
    **enclosed: object,
) -> mail.Letter:
    goes_with = mail.Enclosed(**{key: tuple(of) for key, of in enclosed.items()})  # type: ignore
    standing = ReportStanding(state, "Why.")
    return mail.compose(page, standing, TEMPLATE, wish, owned, enclosed=goes_with)


def sent(made: mail.Letter) -> EmailMessage:
    """The mail as its recipient's program reads it."""
    envelope = mail.Envelope("audit@e.org", "anna@e.org", "<1@e.org>", 1793500000)
    message = mail.message(made, envelope)
    read = email.message_from_bytes(message.as_bytes(), policy=policy.default)
    assert isinstance(read, EmailMessage)
    return read


def body(message: EmailMessage, kind: str) -> str:
    """Return a body, without its no-break spaces."""
    part = message.get_body((kind,))
    assert isinstance(part, EmailMessage)
    text: str = part.get_content()
    assert ("10\u00a0h" in text) is (kind == "html" and "one in ten" in text)
    return text.replace("\u00a0", " ")


def test_a_mail_of_the_whole_report() -> None:
    page = sample.contents()
    files = (mail.Attachment("report.pdf", "application/pdf", b"%PDF"), *mail.csv_files(page))
    pictures = mail.pictures(page)
    message = sent(letter(page, pictures=pictures, files=files))
    assert message["Subject"] == "Fairness of demo, Oct 2026"
    assert message["Date"] == "Sun, 01 Nov 2026 02:26:40 +0000"
    assert message["Auto-Submitted"] == "auto-generated"
    names = [part.get_filename() for part in message.iter_attachments()]
    assert names == ["report.pdf", "users.csv", "accounts.csv", "model-fidelity.csv"]
    plain, html = body(message, "plain"), body(message, "html")
    made = letter(page)
    assert [title for title, _ in made.paragraphs] == [
        *("Fair.", "Waits:", "Why:", "Who:", "To ask:", "Trust:"),
    ]
    for title, told in made.paragraphs:
        assert f"{title} {told}" in plain
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
    assert page.first[0].pool == "large"
    titles = [picture.title for picture in mail.pictures(page)]
    assert titles
    assert all(title.endswith("(pool large)") for title in titles)


def test_without_resvg_a_mail_has_no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert mail.pictures(sample.contents()) == ()


@pytest.mark.parametrize("state", [State.PARTIAL, State.EMPTY, State.STALE])
def test_what_is_not_complete_never_looks_so(state: State) -> None:
    page = sample.empty() if state is State.EMPTY else sample.contents()
    made = letter(page, state=state, pictures=mail.pictures(page))
    shouted = state.value.upper()
    assert made.subject == f"[{shouted}] Fairness of demo, Oct 2026"
    message = sent(made)
    plain, html = body(message, "plain"), body(message, "html")
    assert f"{shouted}: Why." in plain.splitlines()[1:3]
    assert f"{shouted}.</strong>" in html
    placed = mail.headline(page, state, "{cluster} {state}", WHOLE, None, corrected=True)
    assert placed == f"Corrected: demo [{shouted}]"


PHYSICS, BEN = Who("account", "physics"), Who("user", "ben")
LONGER = sample.figure("class_ratio", 1.5, 1.2, 2.0)


def about(*owners: Who, **more: object) -> mail.Subscription:
    return mail.Subscription(False, owners, frozenset({"page", "csv"}), **more)  # type: ignore[arg-type]


def test_a_mail_of_an_account_speaks_of_that_account_alone() -> None:
    page = sample.contents()
    longer = owners.part(LONGER)
    files = mail.csv_files(page, (PHYSICS,))
    made = letter(page, about(PHYSICS), owned=[owners.owner(PHYSICS, longer)], files=files)
    message = sent(made)
    assert message["Subject"] == "Fairness of demo, Oct 2026: account physics"
    plain, html = body(message, "plain"), body(message, "html")
    for text in (plain, html):
        assert "Account physics typically waited 3 h; jobs of this size and time limit" in text
        assert "per job, mean (4–6 h)" in text
        assert "Too few other users had jobs of other sizes" in text  # what they can do
        for other in ("maths", "anna", "ben", "Who goes short"):
            assert other not in text
    lines = [line for line in plain[: plain.index("Attached")].splitlines() if line.strip()]
    assert lines[1].startswith("Account physics typically waited")
    assert len(lines) <= 10
    assert not made.paragraphs
    (table,) = message.iter_attachments()
    assert [row.split(",")[0] for row in table.get_content().splitlines()] == ["account", "physics"]


def test_who_gets_the_whole_too_reads_of_the_account_first() -> None:
    wish = replace(about(PHYSICS), whole=True)
    made = letter(sample.contents(), wish, owned=[owners.owner(PHYSICS)])
    message = sent(made)
    for kind in ("plain", "html"):
        text = body(message, kind)
        verdict, *rest = (said for _, said in made.paragraphs)
        assert text.index("jobs of this size and time limit waited 2 h.") < text.index(verdict)
        assert text.index(verdict) < text.index(rest[0])


def test_of_several_each_has_its_verdict_and_the_first_its_figures() -> None:
    five = [Who("user", f"u{number}") for number in range(5)]
    records = [owners.owner(who, owners.part(LONGER if who == five[3] else None)) for who in five]
    made = letter(sample.contents(), about(*five), owned=records)
    plain, html = (body(sent(made), kind) for kind in ("plain", "html"))
    for number in range(4):
        assert f"User u{number} " in plain
    assert plain.count("per job, mean") == 1
    assert "And 1 more" in plain
    assert len([line for line in plain.split("-- ")[0].splitlines() if line.strip()]) <= 10
    assert "User u4 " in html
    of = (sample.contents(), State.COMPLETE, "{verdict}")
    headline = mail.headline(*of, about(*five), None, records)
    assert headline == "1 of 5 waited significantly longer than others"
    two = mail.headline(*of, about(*five[2:4]), None, records[2:4])
    assert two == "1 of 2 waited significantly longer than others"  # 71 characters with both
    one = mail.headline(*of, about(five[3]), None, records[3:4])
    assert one == "user u3 typically waited 3 h, similar jobs 2 h"


def test_a_mail_without_jobs_says_so() -> None:
    nothing = replace(owners.owner(PHYSICS), parts=())
    made = letter(sample.contents(), about(PHYSICS), owned=[nothing])
    for kind in ("plain", "html"):
        assert "Account physics: no job ended in this period." in body(sent(made), kind)
    assert mail.owner_pictures(nothing) == ()


def test_a_long_subject_loses_the_cause_first_and_then_some_of_the_name() -> None:
    page = sample.contents(cluster="a-cluster-with-a-name")
    one = compose(unfair(), "UTC")
    one = replace(one, mainly="limit of 10 running jobs per user")
    template = "{cluster}, {period}: {verdict}"

    def said(cluster: str) -> str:
        made = replace(page, cluster=cluster)
        return mail.headline(made, State.COMPLETE, template, WHOLE, one)

    assert said("demo") == "demo, Oct 2026: unfair, mainly limit of 10 running jobs per user"
    assert said("a-cluster-with-a-name") == "a-cluster-with-a-name, Oct 2026: unfair"
    for length in range(1, 60):
        assert len(said("n" * length)) <= mail.LONGEST
    assert said("n" * 60).endswith(", Oct 2026: unfair")


@pytest.mark.parametrize("word", list(Word))
def test_a_mail_is_short(word: Word) -> None:
    because = {
        Word.CANNOT_TELL: Because.NOT_JUDGED,
        Word.QUIET: Because.LITTLE_WAITING,
        Word.UNFAIR: Because.TREATED_WORSE,
        Word.MIXED: Because.TREATED_WORSE,
    }.get(word, Because.NONE)
    made = decision(word, because, carried=(victim(),) if "TREATED" in because.name else ())
    waits = (
        LongestWait("anna", 30, 165_600, 1_793_000_000, "full"),
        LongestWait("ben", 1, 15_000, 1_793_100_000, "none"),
    )
    page = sample.contents()
    one = compose(ruled(decision=made, long_waits=waits), "UTC")
    made_letter = letter(replace(page, first=(one,)))
    plain = body(sent(made_letter), "plain").split("-- ")[0]
    assert sum(len(f"{title} {said}".split()) for title, said in one.mail) <= 120
    assert plain.splitlines()[1].startswith(f"{one.title}. ")


def test_tables_are_those_of_whom_it_is_about() -> None:
    page = sample.contents()
    tables = {file.name: file.content.decode() for file in mail.csv_files(page, (BEN, PHYSICS))}
    assert set(tables) == {"users.csv", "accounts.csv"}
    for text in tables.values():
        assert len(text.splitlines()) == 2
        assert not any(other in text for other in ("anna", "maths"))
        # what rests on others' jobs is not among them
        assert not re.search("re_unfairness|fst|miss", text)
    assert mail.csv_files(page, (Who("user", "physics"), Who("account", "ben"))) == ()


@pytest.mark.parametrize("name", sample.HOSTILE)
def test_names_stay_text(name: str) -> None:
    evil = f"{name}\r\nBcc: x@evil.org\n\nbody"
    pool = sample.pool(evil, users=(evil, "ben"))
    accounts = sample.entities("account", (sample.entity(evil, 3_600.0),))
    page = sample.contents(replace(pool, accounts=accounts), cluster=evil)
    page = replace(page, warnings=(evil,))
    for kind in ("", "user", "account"):
        who = Who(kind, evil)
        wish = about(who) if kind else WHOLE
        record = owners.owner(who)
        its_page = owner_page.render_html(record).encode()
        page_ = mail.Attachment(f"demo-{who.file}", "text/html", its_page)
        files = (page_, *mail.csv_files(page, wish.owners))
        owned = [record] if kind else []
        pictures = mail.owner_pictures(record)
        message = sent(letter(page, wish, owned=owned, files=files, pictures=pictures))
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
            assert tag not in html.replace('<img src="cid:', "")
        for part in message.iter_attachments():
            assert (part.get_filename() or "").isascii()


def test_the_mail_states_that_too_large_attachments_are_left_out() -> None:
    files = [mail.Attachment("report.pdf", "application/pdf", bytes(2_000_000))]
    assert mail.too_large(files, 2.0) is None
    why = mail.too_large(files, 1.5)
    assert why is not None
    assert "(2.0 MB) are above the limit (1.5 MB" in why
    assert why in body(sent(letter(sample.contents(), remarks=[why])), "plain")


def test_a_note_to_an_operator_cannot_be_more_than_that() -> None:
    envelope = mail.Envelope("a@e.org", "b@e.org", "<1@e.org>", 0)
    made = mail.note("fails\r\nBcc: x@evil.org", "one\n\x1b[31mtwo", envelope)
    assert "Bcc" not in made
    assert made["Subject"] == "fails\\u000d\\u000aBcc: x@evil.org"
    assert made.get_content() == "one\n\\u001b[31mtwo\n"


def test_the_subject_carries_the_verdict() -> None:
    page = sample.contents()
    one = page.first[0]
    said = mail.headline(page, State.COMPLETE, "{cluster}, {period}: {verdict}", WHOLE, one)
    assert said == "demo, Oct 2026: fair"
    of = [owners.owner(PHYSICS, owners.part(LONGER))]
    wish = about(PHYSICS)
    said = mail.headline(page, State.COMPLETE, "{cluster}: {verdict}", wish, None, of)
    assert said == "demo: account physics typically waited 3 h, similar jobs 2 h"
    said = mail.headline(page, State.COMPLETE, "{accounts}, {users}", wish, None, of)
    assert said == "physics, none"
    assert mail.headline(page, State.COMPLETE, "{users}", WHOLE, one) == "all users"
    nothing = sample.empty()
    said = mail.headline(nothing, State.EMPTY, "{cluster}: {verdict}", WHOLE, None)
    assert said == "[EMPTY] demo: no data"


@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.parametrize("length", [1, 20, 40, 200])
def test_subjects_about_users_are_short(number: int, length: int) -> None:
    """A change is left out first, then each verdict for a count, then a part of the name."""
    whos = [Who("user", f"{n}" * length) for n in range(number)]
    records = [owners.owner(who, replace(owners.part(LONGER), trend=owners.BETTER)) for who in whos]
    page = sample.contents(cluster="c" * length)
    of = (page, State.PARTIAL, "{cluster}, {period}: {verdict}", about(*whos), None, records)
    said = mail.headline(*of, corrected=True)
    assert len(said) <= mail.LONGEST
    assert said.startswith("[PARTIAL] Corrected: c")
    assert "waited" in said.partition(": ")[2]
