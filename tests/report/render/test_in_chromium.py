"""The page as a person's browser shows it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.report.charts.style import SHADES
from audit.report.render import page as render
from audit.report.sections.resources import Resources
from tests.report import chromium
from tests.report.sample import HOSTILE, contents, having, pool, resources, usage

pytestmark = [pytest.mark.chromium, chromium.needed]


UNFOLDED = "document.querySelectorAll('details').forEach(e => { e.open = true; })"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    hostile = having(pool(HOSTILE[0], users=HOSTILE), Resources(resources(*HOSTILE)))
    said = contents(pool(), hostile, cluster=HOSTILE[1])
    said = replace(said, usages=(usage(HOSTILE), usage(targets=False)))
    file.write_text(render.render_html(said), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def browser() -> Iterator[chromium.Page]:
    """One for all: it takes long to start."""
    with chromium.Page() as browser:
        yield browser


@pytest.fixture
def seen(browser: chromium.Page) -> Iterator[chromium.Page]:
    """The browser as it was when it started."""
    browser.requests.clear()
    browser.complaints.clear()
    yield browser
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    browser.theme("light")
    browser.call("Page.navigate", url="about:blank")


def charts(seen: chromium.Page, expression: str) -> Any:
    """Return the value of an expression over ``e`` for the SVG of each chart."""
    return seen.evaluate(f"[...document.querySelectorAll('.chart svg')].map(e => {expression})")


@pytest.mark.parametrize(("width", "theme"), [(375, "light"), (1440, "dark")])
def test_charts_are_drawn_in_silence_and_nothing_is_fetched(
    seen: chromium.Page, page: Path, width: int, theme: str
) -> None:
    seen.theme(theme)
    seen.show(page, width)
    assert seen.complaints == []
    outside = [url for url in seen.requests if not url.startswith("data:")]
    assert outside == [page.as_uri()]
    drawn = charts(seen, "e.getBoundingClientRect().width")
    assert len(drawn) == page.read_text(encoding="utf-8").count("<figure")
    assert min(drawn) > 300
    # Wide tables scroll in boxes of their own; the page itself never does.
    assert seen.evaluate("document.documentElement.scrollWidth") == width
    # Text stays within its chart, and no smaller than can be read.
    assert all(charts(seen, "e.scrollWidth <= e.clientWidth + 1"))
    sizes = charts(
        seen,
        "Math.min(...[...e.querySelectorAll('text')].map(SIZE))".replace(
            "SIZE", "t => parseFloat(getComputedStyle(t).fontSize) * e.clientWidth / 524"
        ),
    )
    assert min(sizes) > 7


@pytest.mark.parametrize(("theme", "ground"), [("light", 255), ("dark", 17)])
def test_marks_have_the_colours_of_the_theme(
    seen: chromium.Page, page: Path, theme: str, ground: int
) -> None:
    seen.theme(theme)
    seen.show(page, 1200)
    body = seen.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert body.startswith(f"rgb({ground},")
    shade = SHADES["later"].light if theme == "light" else SHADES["later"].dark
    marks = seen.evaluate(
        "getComputedStyle(document.querySelector('.chart [fill=\"var(--later)\"]')).fill"
    )
    assert marks == f"rgb({', '.join(str(int(shade[at : at + 2], 16)) for at in (1, 3, 5))})"


def test_pointing_at_a_mark_shows_its_value(seen: chromium.Page, page: Path) -> None:
    seen.show(page, 1200)
    seen.evaluate(UNFOLDED)
    seen.evaluate("document.querySelector('.chart svg').scrollIntoView({block: 'center'})")
    at = seen.evaluate(
        "(() => { const box = document.querySelector('.chart [data-tip]').getBoundingClientRect();"
        " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    assert seen.evaluate("getComputedStyle(document.querySelector('.tip')).visibility") == "hidden"
    for kind in ("mouseMoved", "mouseMoved"):
        seen.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1])
    said = seen.evaluate("document.querySelector('.tip.shown').textContent")
    assert said == seen.evaluate("document.querySelector('.chart [data-tip]').dataset.tip")
    seen.call("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    assert seen.evaluate("document.querySelector('.tip.shown')") is None


def test_keys_go_from_mark_to_mark(seen: chromium.Page, page: Path) -> None:
    seen.show(page, 375)
    seen.evaluate(UNFOLDED)
    tips = seen.evaluate(
        "[...document.querySelector('.chart svg').querySelectorAll('[data-tip]')]"
        ".map(e => e.dataset.tip)"
    )
    seen.evaluate("document.querySelector('.chart svg').focus()")
    for key, place in (("ArrowRight", 0), ("ArrowRight", 1), ("ArrowLeft", 0), ("ArrowUp", -1)):
        seen.call("Input.dispatchKeyEvent", type="keyDown", key=key)
        assert seen.evaluate("document.querySelector('.tip.shown').textContent") == tips[place]
        box = "document.querySelector('.tip').getBoundingClientRect()"
        assert seen.evaluate(f"{box}.left") >= 0
        assert seen.evaluate(f"{box}.right") <= 375
    seen.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert seen.evaluate("document.querySelector('.tip.shown')") is None


def test_without_scripts_the_charts_are_there_and_on_a_printer_they_are_light(
    seen: chromium.Page, page: Path
) -> None:
    seen.call("Emulation.setScriptExecutionDisabled", value=True)
    seen.show(page, 1200)
    assert all(charts(seen, "e.getBoundingClientRect().height > 60"))
    seen.call(
        "Emulation.setEmulatedMedia",
        media="print",
        features=[{"name": "prefers-color-scheme", "value": "dark"}],
    )
    ink = seen.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ink')")
    assert ink == SHADES["ink"].light


def test_each_chart_says_what_it_shows(seen: chromium.Page, page: Path) -> None:
    seen.show(page, 1200)
    assert set(charts(seen, "e.getAttribute('role')")) == {"img"}
    assert all(label.endswith(".") for label in charts(seen, "e.getAttribute('aria-label')"))


def test_a_link_into_a_folded_part_unfolds_it(seen: chromium.Page, page: Path) -> None:
    seen.show(page, 1200)
    folded = "document.getElementById('pool-1-waits').open"
    assert seen.evaluate(folded) is False
    seen.evaluate("location.hash = '#pool-1-waits'")
    assert any(seen.evaluate(folded) for _ in range(100))  # it hears of it a moment later


def test_tables_are_sorted_by_their_numbers(seen: chromium.Page, page: Path) -> None:
    seen.show(page, 1200)
    table = "[...document.querySelectorAll('#pool-1-waits table')][0]"
    column = f"[...{table}.tBodies[0].rows].map(row => Number(row.cells[1].dataset.sort))"
    given = seen.evaluate(column)
    for order in (True, False):
        seen.evaluate(f"{table}.tHead.rows[0].cells[1].querySelector('button').click()")
        assert seen.evaluate(column) == sorted(given, reverse=order)
        said = seen.evaluate(f"{table}.tHead.rows[0].cells[1].getAttribute('aria-sort')")
        assert said == ("descending" if order else "ascending")


@pytest.mark.thorough
def test_a_user_is_found_in_every_table(seen: chromium.Page, page: Path) -> None:
    seen.show(page, 1200)
    shown = "[...document.querySelectorAll('table.owners tbody tr')].filter(r => !r.hidden).length"
    everybody = seen.evaluate(shown)
    seen.evaluate(
        "(() => { const find = document.getElementById('find'); find.value = 'ANNA'; "
        "find.dispatchEvent(new Event('input')); })()"
    )
    found = seen.evaluate(shown)
    assert 0 < found < everybody
    said = seen.evaluate("document.getElementById('found').textContent")
    assert said == (f"in {found} rows" if found > 1 else "in 1 row")
