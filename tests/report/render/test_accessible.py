"""Whether everybody can read the page: axe-core's rules, WCAG AA and its best practices."""

from importlib import resources
from pathlib import Path

import pytest

from audit.report.render import page as render
from tests.report import chromium
from tests.report.sample import contents, pool

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(
        not chromium.PROGRAM.exists(),
        reason=f"NOBODY LOOKED AT THE PAGE: no {chromium.PROGRAM}; apt-get install chromium",
    ),
]

_FOUND = (
    "axe.run(document, {resultTypes: ['violations']}).then(result => result.violations.map("
    "one => [one.id, one.nodes.slice(0, 3).map(node => node.html + ' ' + node.failureSummary)]))"
)


def test_no_rule_is_broken_in_either_theme_wide_or_narrow(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(render.render_html(contents(pool(), pool("other"))), encoding="utf-8")
    axe = (resources.files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
    with chromium.Page() as browser:
        for theme, width in (("light", 375), ("dark", 1440)):
            browser.theme(theme)
            browser.show(file, width)
            browser.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
            browser.evaluate(f"{axe};0")
            answer = browser.call(
                "Runtime.evaluate", expression=_FOUND, awaitPromise=True, returnByValue=True
            )
            assert answer["result"]["value"] == [], (theme, width)
