"""The page as a person's browser shows it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from audit.report.render import page as render
from tests.report import chromium
from tests.report.sample import HOSTILE, contents, pool, resources, usage

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(
        not chromium.PROGRAM.exists(),
        reason=f"NOBODY LOOKED AT THE PAGE: no {chromium.PROGRAM}; apt-get install chromium",
    ),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    hostile = replace(pool(HOSTILE[0], users=HOSTILE), resources=resources(*HOSTILE))
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
    browser.call("Emulation.setEmulatedMedia", media="")
    browser.call("Page.navigate", url="about:blank")


@pytest.mark.parametrize("width", [360, 1200])
def test_charts_are_drawn_in_silence_and_nothing_is_fetched(
    seen: chromium.Page, page: Path, width: int
) -> None:
    seen.open(page, width)
    assert seen.complaints == []
    outside = [url for url in seen.requests if not url.startswith("data:")]
    assert outside == [page.as_uri()]
    assert seen.evaluate("document.querySelectorAll('.live svg').length") == 22
    # Wide tables scroll in boxes of their own; the page itself never does.
    assert seen.evaluate("document.documentElement.scrollWidth") == width
    assert seen.evaluate("document.querySelectorAll('.still')[0].offsetHeight") == 0


def test_without_scripts_the_pictures_stand_in(seen: chromium.Page, page: Path) -> None:
    seen.call("Emulation.setScriptExecutionDisabled", value=True)
    seen.show(page, 1200)
    assert seen.evaluate(
        "[...document.querySelectorAll('.still')].every(e => e.offsetHeight > 100)"
    )


def test_each_chart_says_what_it_shows_and_on_a_printer_its_picture_stands_in(
    seen: chromium.Page, page: Path
) -> None:
    seen.open(page, 1200)
    labels = seen.evaluate(
        "[...document.querySelectorAll('.live')].map(e => e.getAttribute('aria-label') "
        "|| e.querySelector('[aria-label]').getAttribute('aria-label'))"
    )
    assert labels[0].startswith("Grouped bar chart. Miss of the fair start time")
    assert all(label.endswith(".") for label in labels)
    seen.call("Emulation.setEmulatedMedia", media="print")
    assert seen.evaluate(
        "[...document.querySelectorAll('.still')].every(e => e.offsetHeight > 100)"
    )
    assert seen.evaluate("[...document.querySelectorAll('.live')].every(e => e.offsetHeight === 0)")
