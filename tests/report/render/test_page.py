import base64
import hashlib
import inspect
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pypdfium2  # type: ignore[import-untyped]
import pytest

from audit.errors import ReportError
from audit.registry.causes import CAUSES
from audit.report.contents import Contents
from audit.report.render import page as render
from audit.report.render.paper import nothing_from_outside
from audit.report.sections import registry
from audit.report.sections.records.record import Refusal, RefusedLine
from audit.report.sections.resources import Resources
from audit.report.sections.waits.record import Queue, Waits
from tests import processes
from tests.report.sample import (
    HOSTILE,
    contents,
    empty,
    figure,
    having,
    pool,
    present,
    resources,
    usage,
    waiting,
    without_fair_starts,
)


class _Reader(HTMLParser):
    """Collects what a browser would see of a page: elements, attributes, text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data + " "

    def tags(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]


def _paper(made: bytes) -> str:
    document = pypdfium2.PdfDocument(made)
    return " ".join(" ".join(page.get_textpage().get_text_range() for page in document).split())


@pytest.fixture(scope="module")
def page() -> str:
    return render.render_html(contents())


@pytest.fixture(scope="module")
def paper() -> bytes:
    return render.render_pdf(contents())


def test_elements_are_closed_and_headings_in_order(page: str) -> None:
    read = _Reader(page)
    assert read.open == []
    levels = [int(tag[1]) for tag, _ in read.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert read.tags("html")[0]["lang"] == "en"


def test_tables_and_pictures_are_named(page: str) -> None:
    read = _Reader(page)
    headed = [table for table in read.tags("table") if table.get("aria-labelledby")]
    assert len(read.tags("caption")) + len(headed) == len(read.tags("table")) > 10
    assert all(cell.get("scope") for cell in read.tags("th"))
    assert all(picture["alt"] for picture in read.tags("img"))
    ids = [value for _, attributes in read.elements if (value := attributes.get("id"))]
    assert len(ids) == len(set(ids))
    named = [label for _, a in read.elements if (label := a.get("aria-labelledby"))]
    assert set(named) <= set(ids)


def test_nothing_comes_from_outside(page: str) -> None:
    read = _Reader(page)
    for _, attributes in read.elements:
        for name in ("src", "href", "srcset", "data", "action", "poster"):
            assert (attributes.get(name) or "data:").startswith(("data:", "#"))
    style = present(re.search("<style>(.*?)</style>", page, re.DOTALL))
    assert not re.search(r"url\(|@import|http", style[1])
    assert not read.tags("link")


def test_the_policy_lets_only_our_scripts_run(page: str) -> None:
    read = _Reader(page)
    (policy,) = (
        meta["content"] or ""
        for meta in read.tags("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    scripts = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    (script,) = scripts
    assert len(script) < 9_000
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "script-src 'unsafe-inline'" not in policy


def test_links_lead_somewhere(page: str) -> None:
    read = _Reader(page)
    ids = {attributes.get("id") for _, attributes in read.elements}
    links = [link["href"] or "" for link in read.tags("a")]
    inside = {link[1:] for link in links if link.startswith("#")}
    assert len(inside) > 10
    assert inside <= ids


def test_uwt_has_its_companions_beside_it(page: str) -> None:
    text = _Reader(page).text
    at = text.index("Mean NUWT (UWT)")
    for companion in (
        "Median NUWT",
        "Lower quartile of NUWT",
        "Upper quartile of NUWT",
        "NUWT of all together",
        "deviation",
    ):
        assert companion in text[at : at + 400]
    assert "more computing than waiting" not in text


@pytest.mark.thorough
def test_page_and_paper_say_what_was_read(page: str, paper: bytes) -> None:
    read = _Reader(page).text
    for text in (read, _paper(paper)):
        for said in (
            "1 October 2026 to 31 October 2026",
            "1,010 records read, 2 refused",
            "(the header's MaxProcs)",
            "run-1",
        ):
            assert said in text
    for said in ("17 fields instead of 18", "Attempts that never started", "sacct", "XDMoD"):
        assert said in read
    assert "ab" * 32 in page


@pytest.mark.parametrize("where", ["html", "pdf"])
def test_a_period_without_data_says_so_first(where: str) -> None:
    if where == "html":
        text = _Reader(render.render_html(empty())).text
    else:
        document = pypdfium2.PdfDocument(render.render_pdf(empty()))
        text = document[0].get_textpage().get_text_range()
    assert "Cannot tell: No job ended in this period." in text
    assert "Possible changes" not in text


def test_one_attempt_of_nobody_is_a_report() -> None:
    part = replace(
        pool(users=(None,)),
        figures=(figure("attempts", 1.0), figure("wait_median", 5.0, unit="s")),
        widths=pool().widths[2:],
        hours=pool().hours[:1],
        days=pool().days[:1],
    )
    assert "1 job of 40 users" in _paper(render.render_pdf(contents(part)))
    assert "The log names no users" in _Reader(render.render_html(contents(part))).text


def test_usage_stands_beside_its_targets(page: str) -> None:
    text = " ".join(_Reader(page).text.split())
    for said in (
        "last 7 windows of 7 days, up to the instant itself; each window counts 0.7 times",
        "Mean − target (points)",
        "physics 20.0 % 50.0 % 60.0 % +40.0 1",
        "maths 20.0 % 25.0 % 30.0 % +10.0 2",
        "This table leaves out 3 more accounts",
        "No targets are configured for users.",
        "Bui et al., §2.1, equation 1",
    ):
        assert said in text
    assert "shows usage alone" not in text


def test_usage_without_targets_says_so_and_shows_usage_alone() -> None:
    said = replace(contents(), usages=(usage(targets=False),))
    text = " ".join(_Reader(render.render_html(said)).text.split())
    assert "No targets are configured, so the table shows usage alone." in text
    assert "physics 50.0 % 60.0 %" in text
    assert "Mean − target" not in text
    assert "Rank now" not in text
    assert "configured for users" not in text


def test_a_section_without_data_says_so() -> None:
    idle = replace(pool("idle"), figures=(figure("attempts", 0.0, unit="attempts"),))
    read = _Reader(render.render_html(replace(contents(idle, pool()), usages=())))
    text = " ".join(read.text.split())
    assert "no usage over time" in text
    assert "Pool idle : 128 CPUs No job ended in this pool" in text
    without = replace(pool(), days=(), widths=())
    assert "waits 1.0 h" not in render.render_html(contents(without))
    assert "means are over the" not in text


def test_resources_are_shown_where_there_are_several(page: str) -> None:
    part = having(pool(), Resources(resources("anna", "ben")))
    made = render.render_html(contents(part))
    text = " ".join(_Reader(made).text.split())
    for said in (
        "CPUs 70.0 %",
        "GPUs 25.0 %",
        "Memory –",
        "GPUs: 10 pool-hours ben 7 9 90.0 % 1.0 %",
        "Memory: 0 pool-hours The log records no usage.",
        "and 4 more users",
    ):
        assert said in text
    assert 'style="width: 25.0%"' in made
    assert "pool-hours" not in _Reader(page).text.lower()


def test_days_without_records_are_listed(page: str) -> None:
    text = " ".join(_Reader(page).text.split())
    assert "From the log's first record to its last 31" in text
    assert "Without records: 2026-10-03 to 2026-10-04 (2 days)." in text
    assert "The day of 2 refused lines is unknown" in text


def _hostile() -> Contents:
    part = having(pool(name=HOSTILE[0], users=HOSTILE), Resources(resources(*HOSTILE)))
    said = contents(part, pool(HOSTILE[1]), cluster=HOSTILE[3])
    refusals = tuple(
        Refusal(text, 1, (RefusedLine(text, number, text),)) for number, text in enumerate(HOSTILE)
    )
    logs = tuple(replace(said.inputs[0], file=text) for text in HOSTILE)
    used = replace(usage(HOSTILE), method=HOSTILE[0], settings={"method": HOSTILE[1]})
    return replace(
        said, notes=HOSTILE, warnings=HOSTILE, refusals=refusals, inputs=logs, usages=(used,)
    )


def _plain() -> Contents:
    part = having(pool(), Resources(resources("anna", "ben")))
    return replace(contents(part, pool("other")), warnings=("plain",))


def test_hostile_names_stay_text_on_the_page() -> None:
    made = render.render_html(_hostile())
    read, plain = _Reader(made), _Reader(render.render_html(_plain()))
    assert read.open == []
    assert {tag for tag, _ in read.elements} == {tag for tag, _ in plain.elements}
    assert len(read.tags("script")) == len(plain.tags("script"))
    assert not any(name.startswith("on") for _, a in read.elements for name in a)
    assert "\u202e" not in made
    assert "{{ contents.cluster }}{% raw %}" in read.text


def test_paper_refuses_whatever_is_outside() -> None:
    fetcher = nothing_from_outside()
    for address in ("file:///etc/passwd", "http://127.0.0.1/", "FILE:///etc/passwd", "//host/x"):
        with pytest.raises(ValueError, match="must not load other files"):
            fetcher.fetch(address)


@pytest.mark.thorough
def test_the_full_tables_are_attached_to_the_paper(paper: bytes) -> None:
    document = pypdfium2.PdfDocument(paper)
    attached = [document.get_attachment(n) for n in range(document.count_attachments())]
    assert [file.get_name() for file in attached] == [
        "users.csv",
        "accounts.csv",
        "model-fidelity.csv",
    ]
    assert bytes(attached[0].get_data()).startswith(b"user,attempts,")


def test_paper_has_numbered_pages_and_bookmarks(paper: bytes) -> None:
    document = pypdfium2.PdfDocument(paper)
    assert f"2 / {len(document)}" in document[1].get_textpage().get_text_range()
    assert "demo" in document[1].get_textpage().get_text_range()
    titles = [entry.get_title() for entry in document.get_toc()]
    assert titles[0].replace("\u00a0", " ") == (
        "Fair No user was overtaken clearly more often than others; half of the waiting has no "
        "known reason."
    )
    assert "Annex" in titles
    assert document.is_tagged()


@pytest.mark.thorough
def test_a_report_of_many_rows_stays_short_on_paper() -> None:
    many = pool(users=tuple(f"u{number}" for number in range(2_000)))
    said = replace(contents(many), options=replace(contents().options, rows=5_000))
    made = render.render_pdf(said)
    assert len(pypdfium2.PdfDocument(made)) <= 6


_SCRIPT = """
import hashlib
import inspect
from audit.report.render import page as render
from tests.report.sample import contents
said = contents()
print(hashlib.sha256(render.render_html(said).encode()).hexdigest())
print(hashlib.sha256(render.render_pdf(said)).hexdigest())
"""


@pytest.mark.thorough
def test_the_same_bytes_in_any_process(page: str, paper: bytes) -> None:
    """In one that did nothing before, and in this one, which may have made many."""
    alone = processes.python(
        *("-c", _SCRIPT),
        env={**os.environ, "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "2", "SOURCE_DATE_EPOCH": "2"},
        check=True,
    )
    here = [hashlib.sha256(made).hexdigest() for made in (page.encode(), paper)]
    assert alone.stdout.split() == here


def test_without_fair_starts_the_report_says_so() -> None:
    said = contents(without_fair_starts(pool()))
    told = "No fair start times were computed"
    assert any(told in notice.text for notice in registry.notices(said))
    page = render.render_html(said)
    assert "No fair start times were computed for this period" in page
    assert "under the rule that this log shows" not in page


def test_how_far_the_model_can_be_believed_stands_once_above_its_figures() -> None:
    page = render.render_html(contents())
    section = page[page.index('id="pool-1-fair"') : page.index('id="pool-1-sharing"')]
    assert section.count("That is the rule by which fair starts are found.") == 1
    for said in (
        "first come, first served with EASY backfilling",
        "debug",
        "with the largest delay",
        "than 1\u00a0min",
    ):
        assert said in section


def test_waits_by_partition_qos_and_gpu_type() -> None:
    def queue(number: int, gpu_type: str = "-") -> Queue:
        waits = [figure("wait_median", 60.0), figure("wait_p90", 7_200.0)]
        mean = figure("wait_mean", 600.0, attempts=100)
        figures = (mean, *waits, figure("cause_later_share", 0.6))
        return Queue(HOSTILE[number % len(HOSTILE)], "-", gpu_type, 0.05, figures)

    queues = (queue(1, "h100"), *(queue(number) for number in range(13)))
    made = render.render_html(contents(having(pool(), Waits(queues))))
    text = " ".join(_Reader(made).text.split())
    for shown in (
        "Waits by partition, GPU type Partition GPU type Jobs Median wait 90th percentile "
        "Share of waiting Main cause <img src=x onerror=alert(1)> h100 100 1 min 2 h 5.0 % "
        "machine full: later jobs (60 %)",
        "2 more combinations with 10.0 % of all waiting are in the database",
    ):
        assert shown in text
    assert "<img src=x" not in made
    assert "Main cause" not in render.render_html(contents())


def test_shares_below_accounts_show_where_they_stand() -> None:
    of = usage()
    rows = tuple(
        replace(row, parent="<b>science", partition="gpu", priority=-0.5)
        for row in of.accounts.rows
    )
    told = replace(
        of,
        settings={**of.settings, "operator": "sigmoid"},
        accounts=replace(of.accounts, rows=rows, tree=True),
    )
    page = render.render_html(replace(contents(), usages=(told,)))
    assert '<span class="muted">of <bdi>&lt;b&gt;science</bdi></span>' in page
    assert '<span class="muted">in <bdi>gpu</bdi></span>' in page
    assert "Priority now" in page
    assert "−0.500" in page
    assert "In the share tree, each account divides" in page


def test_templates_are_compiled_once_and_again_where_what_is_kept_is_damaged(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache key includes everything that compilation depends on."""
    monkeypatch.setattr("audit.files.caches.folder", lambda installed, name: tmp_path)
    inner = inspect.unwrap(render._environment)

    def made(*, compiling: bool) -> str:
        environment = inner()
        if not compiling:
            monkeypatch.setattr(environment, "compile", None)
        monkeypatch.setattr(render, "_environment", lambda: environment)
        return render.render_html(contents())

    assert made(compiling=True) == page
    kept = sorted(tmp_path.iterdir())
    assert made(compiling=False) == page
    kept[0].write_bytes(kept[0].read_bytes()[:-1])
    with pytest.raises(ReportError, match="TypeError"):
        made(compiling=False)
    assert made(compiling=True) == page
    assert made(compiling=False) == page


@pytest.mark.thorough
def test_no_table_of_the_paper_is_wider_than_the_page() -> None:
    """The table with most columns is that of causes; with intervals, it would be too wide.

    Its widest figure is "under 0.1 %".
    """
    shares = tuple(figure(cause.share, 0.0004, 0.0003, 0.154) for cause in CAUSES)
    part = waiting(pool())
    widths = tuple(replace(of, figures=(*shares, *of.figures)) for of in part.widths)
    names = ("a-partition-of-many-nodes", "a-quality-of-service", "nvidia_h100_80gb_hbm3")
    queue = Queue(*names, 0.5, (*shares, *part.figures))
    wide = having(part, Waits((queue,)), figures=(*shares, *part.figures), widths=widths)
    for page in pypdfium2.PdfDocument(render.render_pdf(contents(wide))):
        text = page.get_textpage()
        right = max(text.get_charbox(n)[2] for n in range(text.count_chars()))
        assert right <= page.get_width() - 20


def test_no_line_breaks_between_a_number_and_its_unit() -> None:
    page = render.render_html(contents())
    texts = re.sub(r"(?s)<(script|style|pre|code)\b.*?</\1>|<[^>]*>", "", page)
    assert re.search("\\d\u00a0%", texts)
    assert re.search("\\d\u00a0h\\b", texts)
    assert not re.search(r"\d (?:%|min|h|s|d)(?![\w&])", texts)
