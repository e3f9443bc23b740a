"""Windows that the logs of simulated sites, and public logs, show; see also ``tests/sites``."""

from collections.abc import Iterable
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from audit.metrics.attempts.opportunities import opportunities
from audit.metrics.waits import opportunities as in_waits
from audit.model import Window
from audit.rules import WEEK
from audit.scenario.delivered.candidates import candidates
from audit.scenario.delivered.comparing import compared_starts
from audit.scenario.scenario import Scenario
from audit.scenario.windows import hours, observed, search
from audit.scenario.windows.observed import ObservedJobs
from audit.scenario.windows.search import find_windows
from tests.metrics.attempts.test_real_logs import described
from tests.scenario.windows.sites import LONG, NIGHT, OFFICE, SITES, Planted, half, made


def over_midnight(days: Iterable[int], begin: int, end: int) -> tuple[int, ...]:
    """Return the hours of the week from an evening on these days to the morning after."""
    hours = ((day * 24 + hour) % WEEK for day in days for hour in range(begin, 24 + end))
    return tuple(sorted(hours))


def site_of(planted: Planted, seed: int = 0) -> Scenario:
    log, pool = made(planted, seed)
    return Scenario(log, pool, int(log["end_time"].to_numpy().max()))


BY_WALLTIME = SITES["window by walltime"]


def test_agreement_rises_with_a_true_window_and_falls_with_a_false_one() -> None:
    site = site_of(BY_WALLTIME)
    compared = compared_starts(site, candidates(site))
    true, false = LONG, Window(hours=NIGHT, size_above=8)
    assert compared.best is not None
    assert search._agreeing(compared, site.pool._replace(windows=(true,))) is not None
    assert search._agreeing(compared, site.pool._replace(windows=(false,))) is None
    both = site.pool._replace(windows=(false, true))
    under_false = compared.under(site.pool._replace(windows=(false,)))
    assert search._agreeing(under_false, both) is not None


def test_a_window_that_lowers_the_agreement_is_not_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "_agreeing", lambda compared, pool: None)
    found = find_windows(site_of(BY_WALLTIME))
    assert found.accepted == ()
    [first, *_] = found.failed
    assert (first.window.hours, first.window.walltime_above_s) == (OFFICE, 4 * 3_600)
    assert first.found.fails == "agreement"


def test_the_evidence_of_a_window() -> None:
    found = find_windows(site_of(BY_WALLTIME))
    [one] = found.accepted
    assert found.pool.windows == (one.window,) == (LONG,)
    assert (one.found.breaks, one.found.fails) == (0, "")
    assert one.found.bound < 0.1 * one.found.by_chance
    assert 0 < one.seconds < int(site_of(BY_WALLTIME).attempts["wait_s"].sum())
    assert len(found.failed) <= search.MOST_FAILED


def test_a_window_that_begins_late_is_still_in_force() -> None:
    """The log ends on a Sunday, its last occasion is on a Friday."""
    planted = half(LONG, 21, 56)
    [one] = find_windows(site_of(Planted(planted, days=55))).accepted
    assert one.window == planted.but(valid_to=None)


@pytest.mark.parametrize(
    "rule",
    [
        Window(hours=over_midnight((6, 0, 1, 2, 3), 20, 8), walltime_above_s=4 * 3_600),
        Window(hours=over_midnight((6,), 18, 6), walltime_above_s=2 * 3_600, overlap=True),
        Window(hours=tuple(range(8, 12)), walltime_above_s=3_600, overlap=True),
    ],
)
def test_windows_over_midnight_and_of_single_days(rule: Window) -> None:
    found = find_windows(site_of(Planted(rule, days=84)))
    assert [one.window for one in found.accepted] == [rule]


def test_evenings_do_not_add_days_to_hours_of_the_day() -> None:
    friday = tuple(range(4 * 24 + 8, 4 * 24 + 14))
    rule = Window(hours=(*OFFICE[:-9], *friday), walltime_above_s=4 * 3_600)
    found = find_windows(site_of(Planted(rule), 1))
    assert found.accepted
    assert {hour for one in found.accepted for hour in one.window.hours} <= {*rule.hours}


def test_hours_that_the_table_leaves_out_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    proposed = hours.candidates

    def shorter(seen: observed.Seen, least: float) -> list[hours.WindowCandidate]:
        inner = tuple(hour for hour in OFFICE if 10 <= hour % 24 < 15)
        return [
            one._replace(rule=one.rule.but(hours=inner))
            for one in proposed(seen, least)
            if one.rule.but(hours=OFFICE) == LONG
        ][:1]

    monkeypatch.setattr(hours, "candidates", shorter)
    [one] = find_windows(site_of(BY_WALLTIME)).accepted
    assert one.window == LONG


def seen_of(site: Scenario) -> observed.Seen:
    found, _ = opportunities(site.attempts, site.pool, site.now)
    assert found is not None
    return observed.Seen(ObservedJobs(site.attempts), found, site.pool.zone)


def test_only_windows_that_may_book_more_than_the_least_are_proposed() -> None:
    seen = seen_of(site_of(BY_WALLTIME))
    every = [(one.rule, one.seconds) for one in hours.candidates(seen, 0)]
    least = sorted(seconds for _, seconds in every)[len(every) // 2]
    found = [(one.rule, one.seconds) for one in hours.candidates(seen, least)]
    assert found == [one for one in every if one[1] > least] != []


def test_windows_of_the_same_hours_have_their_own_units() -> None:
    seen = seen_of(site_of(BY_WALLTIME))
    rules = {one.rule.but(hours=OFFICE, overlap=False): one for one in hours.candidates(seen, 0)}
    alike = [one._replace(rule=rule) for rule, one in rules.items()]
    assert len(alike) > 3
    for one, both in zip(alike, hours.units_of_alike(seen, alike), strict=True):
        [alone] = hours.units_of_alike(seen, [one])
        for found_units, expected in zip(both, alone, strict=True):
            assert len(expected.day)
            assert all(map(np.array_equal, found_units, expected))


@pytest.mark.parametrize(
    ("days", "jobs", "why"),
    [
        (20, 130, "the log has less than 21 days"),
        (30, 5, "fewer than 200 jobs waited"),
    ],
)
def test_logs_that_are_not_searched(days: int, jobs: int, why: str) -> None:
    site = site_of(Planted(days=days, a_day=jobs))
    found = find_windows(site)
    assert (found.pool, found.accepted, found.skipped) == (site.pool, (), why)


def test_a_queue_that_is_too_deep_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    site = site_of(BY_WALLTIME)
    monkeypatch.setattr(in_waits, "MOST_ROOM", len(seen_of(site).opportunities.free) - 1)
    assert find_windows(site).skipped == "the queue is too deep to examine each hour"


def test_a_log_whose_starts_have_no_numbers_is_not_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = site_of(BY_WALLTIME)
    monkeypatch.setattr(observed, "MOST_BITS", 20)
    found = find_windows(site)
    assert found.skipped == "it has too many jobs, users and days to number starts"


def test_windows_of_public_logs(real_logs: Path) -> None:
    """KTH-SP2 delays long jobs in working hours until June 1997; UniLu-Gaia has no window."""

    def found(name: str, zone: str) -> list[Window]:
        attempts, pool = described(real_logs, name)
        now = int(attempts["end_time"].drop_nulls().to_numpy().max())
        site = Scenario(attempts, pool._replace(zone=zone), now)
        return [one.window for one in find_windows(site).accepted]

    first, *_ = found("KTH-SP2-1996-2.1-cln", "Europe/Stockholm")
    assert first.walltime_above_s is not None
    assert {hour // 24 for hour in first.hours} == set(range(5))
    assert first.valid_from is None
    assert first.valid_to is not None
    assert date(1997, 6, 1) < first.valid_to < date(1997, 6, 10)
    assert found("UniLu-Gaia-2014-1", "Europe/Luxembourg") == []
