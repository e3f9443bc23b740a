"""What changed, in sentences."""

from dataclasses import replace

import pytest

from audit.registry.causes import CAUSES
from audit.report.figures import Figure
from audit.report.render.page import render_html
from audit.report.sections.changes.record import CauseChange, Trend
from audit.report.sections.changes.section import passed_before, wait_changed
from audit.report.sections.rules.record import BoundRule, BoundRules
from tests.report.sample import contents, having
from tests.report.sections.measured import measured, place, waited


def test_a_change_is_distinguished_from_noise() -> None:
    def said(lower: float, upper: float, *, changed: bool = False) -> str:
        change = Figure("cause_unexplained_share", -0.15, lower, upper)
        trend = Trend("month", (), (change,), "2026-09", settings_changed=changed)
        return waited(contents(having(measured(), trend))).partition("Unexplained ")[2]

    assert said(-0.2, -0.1) == "share: 15 points less than in 2026-09 (significant)."
    assert said(-0.2, 0.1) == "share: no significant change from 2026-09."
    under = "share: 15 points less than in 2026-09, under other settings."
    assert said(-0.2, -0.1, changed=True) == under


def test_why_the_mean_wait_changed() -> None:
    minutes = {"own": (10, 25), "rule": (4, 13), "cycle": (9, 7), "later": (18, 18.4)}
    causes = tuple(
        CauseChange(cause, *(60.0 * value for value in minutes.get(cause.key, (0, 0))))
        for cause in CAUSES
    )
    rose = Figure("wait_mean", 1_344.0, 600.0, 1_800.0)
    trend = Trend("month", (), (rose,), "2026-09", causes=causes)
    part = having(
        measured(), BoundRules((BoundRule("limit of 10 running jobs per user", 9e6, 40),))
    )
    assert wait_changed(having(part, trend)) == (
        "Mean wait rose from 41 min in 2026-09 to 63 min: +15 min behind jobs of the same user; "
        "+9 min while a limit or closed hours did not allow the job to start (mostly the limit of "
        "10 running jobs per user)."
    )
    other = replace(trend, settings_changed=True, causes=tuple(reversed(causes)))
    assert "to 63 min, under other settings: +15 min behind" in (wait_changed(having(part, other)))
    noise = Figure("wait_mean", 1_344.0, -600.0, 1_800.0)
    assert wait_changed(having(part, replace(trend, changes=(noise,)))) == ""
    assert wait_changed(having(part, replace(trend, causes=()))) == ""
    page = render_html(contents(having(part, trend)))
    assert "Mean wait rose from 41\u00a0min" in page
    assert "Mean wait per job by cause, compared with 2026-09" in page


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({"cyd", "dot"}, ("anna",), "Passed over in 2026-09: 2"),
        ({"anna", "cyd"}, ("anna", "ben"), "Passed over in 2026-09: 2, 1 of them also now"),
        (set(), ("anna",), "Passed over in 2026-09: none"),
        (None, ("anna",), ""),
    ],
)
def test_who_is_passed_over_stands_beside_who_was_before(
    before: set[str] | None, now: tuple[str, ...], told: str
) -> None:
    known = {} if before is None else {"user": frozenset(before)}
    for changed, more in ((False, "."), (True, ", under other settings.")):
        trend = Trend("month", (), (), "2026-09", settings_changed=changed, passed_before=known)
        made = contents(having(measured(0.1, *now), trend))
        assert passed_before(place(made)) == (told and told + more)
