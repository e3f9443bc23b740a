"""The page of a user or account as HTML: its small parts to the letter, on screen and on paper."""

import re
from dataclasses import replace

from audit.report.contents import Who
from audit.report.owner.page import _page, render_html
from tests.report.owner.sample import ANN, LONG, owner, part
from tests.report.sample import present


def piece(html: str, begin: str, tag: str) -> str:
    """Return the page from a text to the end of its element."""
    found = present(re.search(rf"{re.escape(begin)}.*?</{tag}>", html, flags=re.DOTALL))
    return found[0].replace("\u00a0", " ")


def test_waiting_taken_apart_to_the_letter() -> None:
    assert piece(render_html(owner()), '<h2 id="pool-1-why">', "table") == (
        '<h2 id="pool-1-why">Causes of waiting</h2>\n'
        '<p class="sub">Every second of every wait has one cause. Shares are of jobs that ended in '
        "closed weeks. All your jobs together waited 20 d 20 h.</p>\n"
        '<table aria-labelledby="pool-1-why">\n'
        '<thead><tr><th scope="col">Share</th>'
        '<th scope="col" class="num">All users, average week</th>'
        '<th scope="col" class="what">Waiting time passed</th></tr></thead>\n'
        "<tbody>\n"
        '<tr><th scope="row" data-label="Share">40 %</th>'
        '<td class="num" data-label="All users, average week">13 %</td>'
        '<td class="what" data-label="Waiting time passed">behind running jobs of others that had '
        "arrived earlier</td></tr>\n"
        '<tr><th scope="row" data-label="Share">60 %</th>'
        '<td class="num" data-label="All users, average week">20 %</td>'
        '<td class="what" data-label="Waiting time passed">while enough was free, '
        "without a reason in the log</td></tr>\n"
        "</tbody>\n"
        "</table>"
    )


def test_a_figure_to_the_letter() -> None:
    assert piece(render_html(owner()), '<div class="question">', "div") == (
        '<div class="question">\n'
        "<h2>How long?</h2>\n"
        '<p class="big">5 h</p>\n'
        '<p class="of">per job, mean (4–6 h); all jobs waited 2 h in the average week.</p>\n'
        "</div>"
    )


def test_a_long_wait_to_the_letter() -> None:
    html = render_html(owner(ANN, replace(part(), longest=(LONG,))))
    assert piece(html, "<article>", "article") == (
        "<article>\n"
        "<h3>5 h: job 17, 8 CPUs for up to 4 h, from 2026-10-02 02:13</h3>\n"
        "<p>Other jobs of this user used 6.4 CPUs meanwhile. Jobs of this size and time limit "
        "waited 2 h on average in the same weeks.</p>\n"
        "</article>"
    )


def test_only_a_page_beside_a_report_leads_anywhere() -> None:
    assert "href" not in render_html(owner())
    linked = set(re.findall(r'href="([^"]*)"', render_html(owner(), linked=True)))
    assert linked == {"report.html", "report.html#definitions"}


def test_on_paper_there_is_no_script() -> None:
    html = _page(owner(Who("account", "<b>")), "paper")
    assert "<script" not in html
    assert "Content-Security-Policy" not in html
    assert '<meta name="dcterms.created" content="2026-10-31T23:00:00Z">' in html
    assert html.count("<img src=") == 1
    assert "fairaudit-report:" in html
    assert "<b>" not in html
