"""Small pieces of pages, charts and mails, compared with stored ones.

To change them, run these tests with ``FAIRAUDIT_RENEW=1`` and check the diff.
"""

import os
import re
from pathlib import Path

import pytest

from audit.mail import message as mail
from audit.report.contents import Contents
from audit.report.figures import Figure
from audit.report.render import page as render
from audit.report.sections.advice.record import Advice, AdvicePart, Advised
from audit.report.sections.causes import section as waiting
from audit.report.sections.changes.record import Trend
from audit.report.sections.definitions.record import Elsewhere
from audit.report.standing import ReportStanding, State
from tests.report import sample
from tests.report.sample import having, present
from tests.report.sections.measured import measured, width

GOLDEN = Path(__file__).parent / "golden"


def contents() -> Contents:
    """A month in which wide jobs were overtaken and anna was passed over."""
    part = sample.waiting(measured(0.15, "anna"))
    wide, narrow = width("65-128", 0.36), width("1", 0.1)
    loss = Figure("wait_change", 240.0, 60.0, 600.0, "s")
    advice = Advice(
        change="{}",
        title="Reserve for the first four in the queue instead of one",
        resource="cpus",
        width="65-128",
        gain=Figure("wait_change", 47_000.0, 14_500.0, 58_000.0, "s"),
        losers=(AdvicePart("width_class", "1", loss, certain=True),),
        sql="SELECT 1",
    )
    change = Figure("cause_unexplained_share", -0.1, -0.15, -0.05)
    trend = Trend("month", (), (change,), "2026-09", passed_before={"user": frozenset({"anna"})})
    part = having(
        part,
        Advised((advice,), (advice.title,)),
        trend,
        Elsewhere(660.0, 640.0, 20, 3_600_000.0, 3_240_000.0),
        widths=(narrow, wide),
    )
    return sample.contents(part)


@pytest.fixture(scope="module")
def page() -> str:
    return render.render_html(contents())


def golden(name: str, made: str) -> None:
    """Compares with the file of that name."""
    kept = GOLDEN / name
    if os.environ.get("FAIRAUDIT_RENEW"):
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(made)
    assert made == kept.read_text(), "if this is meant: FAIRAUDIT_RENEW=1, and look at the diff"


@pytest.mark.parametrize("piece", ["why-waited", "by-size", "who-waits", "trust"])
def test_the_pieces_of_page_one(page: str, piece: str) -> None:
    section = present(re.search(rf'<section class="{piece}".*?</section>', page, re.DOTALL))
    golden(f"{piece}.html", section[0] + "\n")


def test_what_other_tools_count(page: str) -> None:
    table = present(re.search(r'<table class="elsewhere">.*?</table>', page, re.DOTALL))
    golden("elsewhere.html", table[0] + "\n")


def test_a_picture() -> None:
    made = present(waiting.why(sample.waiting(sample.pool())))
    golden("why.svg", made.body.replace("><", ">\n<") + "\n")


def test_the_text_of_a_mail() -> None:
    standing = ReportStanding(State.COMPLETE, "It is complete.")
    about = (contents(), standing, "{cluster}, {period}: {verdict}", mail.Subscription())
    letter = mail.compose(*about, enclosed=mail.Enclosed())
    told = render.fill("email/report.txt", {"letter": letter, "state": "complete"})
    golden("mail.txt", f"{letter.subject}\n\n{told}")
