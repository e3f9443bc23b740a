"""The rules that made sites have are found, and no others.

Some kinds run by default, two seeds of each with the thorough tests; `make test-sites` runs twenty
and writes docs/report/sites-rules.md.
"""

from collections.abc import Mapping
from typing import Final

import pytest

from bench.logs.sites.planted import PLANTED, WITHOUT
from bench.logs.sites.site import made
from tests.places import ROOT
from tests.sites.judged import judged
from tests.tables import write_row

PAGE: Final = ROOT / "docs" / "report" / "sites-rules.md"
SEEDS: Final = 20
LEAST: Final = 19
LEAST_OF: Final[Mapping[str, int]] = {
    "jobs of a user, among decoys": 15,
    "CPUs × time of a user": 17,
}
"""Least number of the twenty sites of a kind on which each rule is found; ``LEAST`` of others.

Few users reach the level of CPUs × time: it is three times that of the kind after it."""
MOST_BESIDE: Final = 2
"""Greatest number of sites with rules on which another one is found, or one for too many days."""
EVERY: Final = {**PLANTED, **WITHOUT}
OFTEN: Final = {"jobs of an account in one partition", "window, half of the time"}
"""A limit and a window."""


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        pytest.param(kind, seed, marks=() if kind in OFTEN and not seed else pytest.mark.thorough)
        for kind in EVERY
        for seed in range(2)
    ],
)
def test_rules_are_found_and_none_is_invented(kind: str, seed: int) -> None:
    found = judged(made(EVERY[kind], seed, *kind.encode()))
    assert found.found
    assert (found.off, found.invented, found.outside) == ((), (), False)


@pytest.mark.sites
@pytest.mark.parametrize("kind", EVERY)
def test_twenty_seeds(kind: str) -> None:
    sites = [judged(made(EVERY[kind], seed, *kind.encode())) for seed in range(SEEDS)]
    found, *rest = (sum(map(bool, one)) for one in zip(*sites, strict=True))
    if kind in PLANTED:
        write_row(PAGE, kind, f"{found} of {SEEDS}", *rest)
    else:
        write_row(PAGE, f"no rule: {kind}", "–", "–", rest[1], "–")
    assert found >= LEAST_OF.get(kind, LEAST)
    assert max(rest) <= (MOST_BESIDE if kind in PLANTED else 0)
