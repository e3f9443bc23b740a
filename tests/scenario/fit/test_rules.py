"""Rules of made sites: each planted kind is found, and none where there is none."""

import os
from datetime import date
from pathlib import Path

import pytest

from audit.scenario.fit import rules
from audit.scenario.fit.effort import Budget
from audit.scenario.fit.observed import observe
from audit.scenario.fit.site import Element, Kind, Site
from tests.metrics.attempts.test_real_logs import described
from tests.scenario.fit.sites import SITES, verdict

QUICK = ("jobs of a user", "window by walltime", "jobs of a user, half of the time", "no rule")


def sound(name: str, seed: int) -> None:
    found = verdict(SITES[name], seed)
    assert found.found == (SITES[name].rule is not None)
    assert found.off == []
    assert found.others == []
    assert not found.outside


@pytest.mark.parametrize("name", QUICK)
def test_a_rule_is_found_and_nothing_else(name: str) -> None:
    sound(name, 0)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("name", SITES)
def test_each_kind_is_found(name: str, seed: int) -> None:
    sound(name, seed)


@pytest.mark.sites
def test_twenty_seeds_of_each_kind() -> None:
    """Writes docs/report/sites-rules.md where FAIRAUDIT_SITES names the folder."""
    lines = [
        "# Made sites: rules that are found",
        "",
        "Twenty seeds of each site, by `make test-sites`. *Off*: another level, or other hours, of "
        "the planted kind. *Other*: a rule that was not planted. *Outside*: applied on days on "
        "which the rule was not in force.",
        "",
        "| site | found | off | other | outside |",
        "|---|---|---|---|---|",
    ]
    faults = []
    for name, planted in SITES.items():
        found = [verdict(planted, seed) for seed in range(20)]
        counts = [
            sum(one.found for one in found),
            sum(bool(one.off) for one in found),
            sum(bool(one.others) for one in found),
            sum(one.outside for one in found),
        ]
        lines.append(f"| {name} | {' | '.join(map(str, counts))} |")
        missed = planted.rule is not None and counts[0] < 18
        if missed or counts[1] > 1 or (planted.rule is None and counts[2] > 1) or counts[3]:
            faults.append(lines[-1])
    folder = os.environ.get("FAIRAUDIT_SITES")
    if folder is not None:
        (Path(folder) / "sites-rules.md").write_text("\n".join(lines) + "\n")
    assert faults == []


@pytest.mark.thorough
def test_rules_of_public_logs(real_logs: Path) -> None:
    """KTH-SP2 holds back jobs of over 4 h in working hours until June 1997; UniLu-Gaia nothing."""

    def found(name: str, zone: str) -> list[Element]:
        attempts, pool = described(real_logs, name)
        pool = pool._replace(zone=zone)
        now = int(attempts["end_time"].drop_nulls().to_numpy().max())
        observed = observe(attempts, pool, now)
        site = rules.search(observed, Site(pool), Budget(observed, 1e9))
        return [one for one in site.accepted if one.kind is not Kind.capacity]

    first, *_ = found("KTH-SP2-1996-2.1-cln", "Europe/Stockholm")
    window = first.window
    assert window is not None
    assert (window.walltime_above_s, window.overlap) == (4 * 3_600, True)
    assert {hour // 24 for hour in window.hours} == set(range(5))
    assert window.valid_from is None
    assert window.valid_to is not None
    assert date(1997, 6, 1) < window.valid_to < date(1997, 6, 10)
    assert found("UniLu-Gaia-2014-1", "Europe/Luxembourg") == []
