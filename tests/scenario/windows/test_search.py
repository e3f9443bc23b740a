"""The searches find each kind of rule planted in a simulated site, and no other rule.

One seed of each kind runs by default; `make test-sites` runs twenty and writes
docs/report/sites-rules.md.
"""

import pytest

from tests.places import ROOT
from tests.scenario.windows.sites import SITES, verdict
from tests.tables import write_row

PAGE = ROOT / "docs" / "report" / "sites-rules.md"
SEEDS = 20
LEAST_FOUND = 18
LEAST_DAYS = 21
MOST_OFF = 1
"""Number of the twenty sites on which a wrong rule may be accepted."""


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("kind", SITES)
def test_a_rule_is_found_and_nothing_else(kind: str, seed: int) -> None:
    found = verdict(SITES[kind], seed)
    # six days are too few to find a limit
    assert found.found == (SITES[kind].rule is not None) or SITES[kind].days < LEAST_DAYS
    assert (found.off, found.others, found.outside) == ([], [], False)


@pytest.mark.sites
@pytest.mark.parametrize("kind", SITES)
def test_twenty_seeds(kind: str) -> None:
    verdicts = [verdict(SITES[kind], seed) for seed in range(SEEDS)]
    found = sum(one.found for one in verdicts)
    off, others = (
        sum(map(bool, some)) for some in zip(*((v.off, v.others) for v in verdicts), strict=True)
    )
    outside = sum(one.outside for one in verdicts)
    planted = SITES[kind].rule is not None
    write_row(
        PAGE,
        kind,
        f"{found} of {SEEDS}" if planted else "–",
        off if planted else "–",
        others,
        outside if planted else "–",
    )
    assert found >= LEAST_FOUND * planted or SITES[kind].days < LEAST_DAYS
    assert max(off, others) <= MOST_OFF
    assert outside == 0
