"""Accessibility of the page: axe-core's rules for WCAG AA and best practices."""

import json
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from audit.metrics.verdict import Word
from audit.report.index import IndexVerdict, render_index
from audit.report.owner.page import render_html as render_owner
from audit.report.owner.record import WaitPool
from audit.report.render import page as render
from audit.report.sections.changes.record import Trend
from audit.report.sections.resources import Resources
from audit.report.study.page import Section, Table
from audit.report.study.page import render_html as render_study
from tests.report import chromium, firefox
from tests.report.owner.sample import ANN, LONG, owner, part
from tests.report.sample import contents, having, pool, resources
from tests.report.study.test_page import small

pytestmark = pytest.mark.chromium

_FOUND = (
    "axe.run(document, {resultTypes: ['violations']}).then(result => JSON.stringify("
    "result.violations.map(one => [one.id, one.nodes.slice(0, 3).map("
    "node => node.html + ' ' + node.failureSummary)])))"
)


def _report() -> str:
    several = having(pool(), Resources(2 * resources("anna", "ben", None)))
    return render.render_html(contents(several, pool("other")))


def _owner() -> str:
    other = replace(part(), pool=WaitPool("gpu", "gpus"))
    several = (replace(part(), longest=(LONG,)), other)
    return render_owner(owner(ANN, *several), linked=True)


def _index() -> str:
    """Return an index with each word."""
    months = [
        IndexVerdict("demo", "batch", f"2026-{n:02}", n, n + 1, word.value, f"{word}.",
                     "Two users", 900, 60.0, 0.3, 0.7, 0.2)
        for n, word in enumerate(Word, 1)
    ]  # fmt: skip
    trends = {"demo": trend} if (trend := pool()[Trend]) else {}
    link = (ANN, "user-ann.html")
    return render_index(months, trends, lambda *of: "/".join(of), lambda _: (link,))


def _study() -> str:
    """Return a page with a section that is named like its only table."""
    study = small()
    (section,) = study.sections
    (table,) = (part for part in section.parts if isinstance(part, Table))
    return render_study(replace(study, sections=(Section(table.caption, section.parts),)))


def _missing(program: Path) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        not program.exists(),
        reason=f"PAGE NOT TESTED: no {program}; apt-get install {program.name}",
    )


def _violations(browser: chromium.Page | firefox.Page) -> object:
    """The findings of axe on the page that is shown, with all parts unfolded."""
    browser.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
    browser.evaluate(f"{(files('axe_core_python') / 'axe.min.js').read_text(encoding='utf-8')};0")
    return json.loads(browser.evaluate(_FOUND))


@_missing(chromium.PROGRAM)
@pytest.mark.parametrize(
    "page",
    [
        *(pytest.param(page, marks=pytest.mark.thorough) for page in (_report, _study)),
        *(_owner, _index),
    ],
)
def test_no_rule_is_broken_in_either_theme_wide_or_narrow(
    page: Callable[[], str], tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(), encoding="utf-8")
    with chromium.Page() as browser:
        for theme, width in (("light", 375), ("dark", 1440)):
            browser.theme(theme)
            browser.show(file, width)
            assert _violations(browser) == [], (theme, width)


@pytest.mark.thorough
@_missing(firefox.PROGRAM)
@pytest.mark.parametrize("page", [_report, _owner, _index, _study])
def test_no_rule_is_broken_in_firefox(page: Callable[[], str], tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(), encoding="utf-8")
    with firefox.Page() as browser:
        for width in (375, 1440):
            browser.show(file, width)
            assert _violations(browser) == [], width
