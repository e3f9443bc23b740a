"""Gains that advice promises, against the true scheduler of made sites.

A few sites run by default; `make test-sites` runs twenty of each kind and writes
docs/report/sites-advice.md.
"""

from dataclasses import replace
from typing import Any, Final

import pytest

from audit.metrics.attempts.fidelity import KNOWN as LEAST_AGREEMENT
from audit.model import Backfill, Limit
from bench.logs.sites.kinds import SiteKind, TrueRule
from bench.logs.sites.site import made
from tests.places import ROOT
from tests.sites.advice import KNOWN, UNKNOWN, Advised, Promise, advised, known_pool, true_kind
from tests.tables import write_row

PAGE: Final = ROOT / "docs" / "report" / "sites-advice.md"
SEEDS: Final = 20
EVERY: Final[dict[str, SiteKind]] = {**KNOWN, **UNKNOWN}


def test_a_gain_has_a_sign_and_an_interval() -> None:
    gain = Promise("--lift 1", 100, 20, 200, 50.0)
    assert gain.same_sign
    assert gain.inside
    assert not gain._replace(true_s=-1.0).same_sign
    assert not gain._replace(true_s=19.9).inside
    assert not gain._replace(true_s=200.1).inside


LIMITED: Final = SiteKind(rules=(TrueRule(6),)).shorter(2)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"limits": ()}, {"rules": ()}),
        ({"limits": (Limit(most=12, per="user"),)}, {"rules": (TrueRule(12),)}),
        ({"limits": (Limit(most=9, resource="cpus", per="account"),)},
         {"rules": (TrueRule(9, "cpus", "account"),)}),
        ({"limits": (Limit(most=6, per="user", size_up_to=64),)}, None),
        ({"capacity": 300}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_the_true_scheduler_is_changed_as_the_pool_is(
    change: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    today = known_pool(made(LIMITED, 0))
    after = today._replace(**change)
    assert true_kind(LIMITED, today, after) == (expected and replace(LIMITED, **expected))


@pytest.mark.parametrize(
    ("backfill", "reservations", "expected"),
    [
        (Backfill.none, None, {"strict": True}),
        (Backfill.no_guarantee, None, {"reservations": 0}),
        (Backfill.conservative_replan, 4, {"reservations": 4}),
        (Backfill.conservative_replan, None, {"reservations": None}),
    ],
)
def test_the_true_scheduler_backfills_as_the_pool_does(
    backfill: Backfill, reservations: int | None, expected: dict[str, Any]
) -> None:
    today = known_pool(made(LIMITED, 0))
    policy = today.policy._replace(backfill=backfill, reservations=reservations)
    after = today._replace(policy=policy)
    changed = replace(LIMITED, **expected)
    assert true_kind(LIMITED, today, after) == changed
    if reservations is None:
        assert known_pool(made(changed, 0)).policy == policy


@pytest.mark.thorough
def test_on_a_site_as_configured_advice_promises_what_happens() -> None:
    found = _advised("strict", 0)
    assert {one.change for one in found.compared} >= {"--backfill easy"}
    assert all(one.same_sign and one.inside for one in found.compared)
    assert found.agreement == 1.0


@pytest.mark.thorough
@pytest.mark.parametrize("kind", UNKNOWN)
def test_on_a_site_that_decides_otherwise_advice_states_no_figure(kind: str) -> None:
    found = _advised(kind, 0)
    assert found.agreement is not None
    assert found.agreement < LEAST_AGREEMENT
    assert (found.figures, found.compared) == (0, ())


@pytest.mark.sites
@pytest.mark.parametrize("kind", EVERY)
def test_twenty_sites(kind: str) -> None:
    sites = [_advised(kind, seed) for seed in range(SEEDS)]
    told = [one for site in sites for one in site.compared]
    usable = [site for site in sites if (site.agreement or 0.0) >= LEAST_AGREEMENT]
    same, inside = sum(one.same_sign for one in told), sum(one.inside for one in told)
    errors = sorted(abs(one.promised_s / one.true_s - 1) for one in told)
    error = f"{100 * errors[len(errors) // 2]:.1f}" if errors else "–"
    write_row(PAGE, kind, len(usable), len(told), same, inside, error)
    assert all(not site.figures for site in sites if site not in usable)
    assert 20 * same >= 19 * len(told)
    assert 20 * inside >= 17 * len(told)
    assert (len(told) > 0) == (kind in KNOWN)


def _advised(kind: str, seed: int) -> Advised:
    return advised(EVERY[kind], seed, *kind.encode())
