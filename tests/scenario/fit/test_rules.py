"""Rules of made sites: each planted kind is found, and none where there is none."""

import os
from pathlib import Path

import pytest

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
@pytest.mark.parametrize("seed", [2, 3])
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
