"""Accessibility of the page: axe-core's rules for WCAG AA and best practices."""

from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from audit.report.record.owner import Ground
from audit.report.render import page as render
from audit.report.render.owner import render_html as render_owner
from tests.report import chromium
from tests.report.owner.sample import ANN, LONG, owner, part
from tests.report.sample import contents, pool

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(
        not chromium.PROGRAM.exists(),
        reason=f"PAGE NOT TESTED: no {chromium.PROGRAM}; apt-get install chromium",
    ),
]

_FOUND = (
    "axe.run(document, {resultTypes: ['violations']}).then(result => result.violations.map("
    "one => [one.id, one.nodes.slice(0, 3).map(node => node.html + ' ' + node.failureSummary)]))"
)


def _report() -> str:
    return render.render_html(contents(pool(), pool("other")))


def _owner() -> str:
    other = replace(part(), pool=Ground("gpu", "gpus"))
    several = (replace(part(), longest=(LONG,)), other)
    return render_owner(owner(ANN, *several), linked=True)


@pytest.mark.parametrize("page", [_report, _owner])
def test_no_rule_is_broken_in_either_theme_wide_or_narrow(
    page: Callable[[], str], tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(), encoding="utf-8")
    axe = (resources.files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
    with chromium.Page() as browser:
        for theme, width in (("light", 375), ("dark", 1440)):
            browser.theme(theme)
            browser.show(file, width)
            browser.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
            assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
            browser.evaluate(f"{axe};0")
            answer = browser.call(
                "Runtime.evaluate", expression=_FOUND, awaitPromise=True, returnByValue=True
            )
            assert answer["result"]["value"] == [], (theme, width)
