"""Each of [S]'s claims on logs that are built so that the answer is known."""

from enum import StrEnum
from functools import cache
from typing import Any

import numpy as np
import pytest

from audit.metrics.attempts.population import describe
from audit.metrics.claims import ClaimHolds, Estimate
from audit.metrics.draws import Draws
from audit.metrics.uncertainty import Resamples
from audit.model import Backfill, Order, Pool, Resource
from audit.studies import parts
from audit.studies.grid import claims
from audit.studies.grid import compute as grid
from audit.studies.grid.claims import Decided, decided
from audit.studies.grid.compute import UNFAIRNESS, WAIT, Correlation, Grid, GridPoint
from tests.naive import grid as slow
from tests.strategies import EPOCH, ended, frame

POOL = Pool("all", Resource.cpus, 4, amounts=(("cpus", 4),))
USERS = 6
GAP_S = 10_000
"""From one user's attempts to the next's: they do not meet."""

Scene = list[tuple[int, int, int, int]]
"""Arrival, run time, estimate and size of each attempt."""

STARVING: Scene = [
    # one attempt for the whole pool among a stream of narrow ones, which never leaves it free
    *[(0, 100, 100, 1)] * 3,
    (1, 50, 50, 4),
    *[(25 * k, 100, 100, 1) for k in range(1, 40)],
]
TWINS: Scene = [(10 * k, 60, 60, 4) for k in range(20)]
"""All alike, each for the whole pool: any order is that of arrival, and none can overtake."""
LONG_AND_SHORT: Scene = [
    # for the whole pool each, so that nothing but their order counts
    (0, 20, 20, 4),
    (1, 300, 300, 4),
    *[(15 * k, 20, 20, 4) for k in range(1, 40)],
]
BATCHES: Scene = [
    # by LXF the long one goes before the second batch, by SJF after it, by FCFS before both
    (0, 20, 20, 4),
    (1, 300, 300, 4),
    *[(2, 20, 20, 4)] * 15,
    *[(310, 20, 20, 4)] * 15,
]
SAME_LENGTH: Scene = [(7 * k, 100, 100, 1 + 3 * (k % 7 == 3)) for k in range(40)]
"""Estimates are equal: who waits longest has the largest expansion, as in order of arrival."""
SURPRISE: Scene = [
    # the first leaves after 10 s instead of 100; until then the third was given its place
    (0, 10, 100, 2),
    (1, 50, 50, 4),
    (2, 90, 90, 2),
]
BEHIND_THE_HEAD: Scene = [
    # the last runs beside the second, which has a reservation, and delays the third, which has none
    (0, 100, 100, 3),
    (1, 100, 100, 3),
    (2, 10, 10, 4),
    (3, 300, 300, 1),
]


def grid_of(scene: Scene) -> Grid:
    """The scene of each user, at the load that it has."""
    return _grid_of(tuple(scene))


@cache
def _grid_of(scene: tuple[tuple[int, int, int, int], ...]) -> Grid:
    records: list[dict[str, Any]] = []
    for user in range(USERS):
        begin = EPOCH + GAP_S * user
        records += [
            ended(
                begin + arrival,
                begin + arrival,
                begin + arrival + run,
                size,
                f"user{user}",
                walltime_s=estimate,
            )
            for arrival, run, estimate, size in scene
        ]
    attempts = frame(records)
    part = parts.part(describe(attempts, [POOL]), POOL)
    cut = slow.part(attempts.rows(named=True), {"cpus": 4}, len(records))
    assert cut is not None
    load = slow.offered(cut)
    assert load is not None
    frames = {cell.key: cell.compute() for cell in grid.cells(part, [load])}
    return grid.grid(part, [load], frames, Draws(1, 200))


def held(found: Decided, words: str) -> set[ClaimHolds]:
    """Return the verdicts of the deciding comparisons that contain these words."""
    return {
        one.holds
        for one in found.comparisons
        if one.decides and words in f"{one.metric} {one.what}"
    }


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("conclusion", "scene", "verdict", "because", "parts"),
    [
        # A wide attempt starves without guarantee; without backfilling there is nothing to promise.
        (claims.NO_GUARANTEE, STARVING, ClaimHolds.yes, "6 attempts are wide", {}),
        (claims.NO_GUARANTEE, TWINS, ClaimHolds.no, "", {}),
        (claims.SHORTEST_FIRST, BATCHES, ClaimHolds.yes, "", {"strict": "yes", "re sjf": "yes"}),
        (claims.SHORTEST_FIRST, SAME_LENGTH, ClaimHolds.no, "", {"sjf / fcfs": "yes"}),
        # Expansion of equals is the order of arrival; else it favours the short.
        (claims.EXPANSION_NEAR_ARRIVAL, SAME_LENGTH, ClaimHolds.yes, "1.000 [1.000, 1.000]", {}),
        (claims.EXPANSION_NEAR_ARRIVAL, LONG_AND_SHORT, ClaimHolds.no, "", {}),
        # With one that waits EASY is conservative; it promises nothing behind the head.
        (claims.CONSERVATIVE_NEAR_EASY, SURPRISE, ClaimHolds.yes, "", {}),
        (claims.CONSERVATIVE_NEAR_EASY, BEHIND_THE_HEAD, ClaimHolds.no, "", {"strict": "no"}),
        (claims.INEXACT_ESTIMATES, SURPRISE, ClaimHolds.yes, "18 attempts", {}),
        (  # conservative backfilling was fair before
            claims.INEXACT_ESTIMATES,
            BEHIND_THE_HEAD,
            ClaimHolds.no,
            "",
            {"easy": "no", "conservative": "undecided"},
        ),
    ],
)
def test_each_claim_holds_or_fails_where_it_must(
    conclusion: claims.PaperConclusion,
    scene: Scene,
    verdict: ClaimHolds,
    because: str,
    parts: dict[str, str],
) -> None:
    found = decided(conclusion, grid_of(scene))
    assert found.verdict.holds is verdict
    assert because in found.verdict.because
    for words, holds in parts.items():
        assert {one.value for one in held(found, words)} == {holds}


def test_no_wide_attempt_decides_nothing() -> None:
    narrow = grid_of([(k, 50, 50, 1) for k in range(20)])
    assert held(decided(claims.NO_GUARANTEE, narrow), "wide") == {ClaimHolds.undecided}


Made = dict[StrEnum, float]


def made_up(values: dict[str, Made]) -> Grid:
    """A grid whose unfairness is a product of what backfilling and order contribute."""
    of = grid_of(TWINS)
    share = 1 + np.arange(len(of.units)) % 5
    made: dict[GridPoint, dict[str, np.ndarray]] = {}
    for point in of.values:
        made[point] = {WAIT: share * 1.0}
        for metric in UNFAIRNESS:
            by = values.get(metric, {})
            made[point][metric] = share * by.get(point.backfill, 1.0) * by.get(point.order, 1.0)
    return of._replace(values=made)


CLEAR: Made = {Backfill.no_guarantee: 9.0, Backfill.conservative: 0.2, Order.lxf: 3.0}
FAINT: Made = {Backfill.no_guarantee: 1.5, Backfill.conservative: 0.9, Order.lxf: 1.1}


def test_relaxed_is_clearer_where_it_sets_policies_further_apart() -> None:
    of = made_up({"strict": FAINT, "relaxed": CLEAR})
    assert decided(claims.RELAXED_CLEARER, of).verdict.holds is ClaimHolds.yes
    other = made_up({"strict": CLEAR, "relaxed": FAINT})
    assert decided(claims.RELAXED_CLEARER, other).verdict.holds is ClaimHolds.no
    faster: Made = {Order.lxf: 1 / 3, Backfill.no_guarantee: 1 / 9, Backfill.conservative: 5.0}
    either = made_up({"strict": FAINT, "relaxed": faster})
    assert decided(claims.RELAXED_CLEARER, either).verdict.holds is ClaimHolds.yes


def test_subsets_that_rank_alike() -> None:
    of = made_up(dict.fromkeys(UNFAIRNESS, CLEAR))
    found = claims.subsets_alike(grid.correlations(of))
    assert found.verdict.holds is ClaimHolds.yes
    assert len(found.comparisons) == 4 * 11


def test_subsets_that_rank_against_each_other() -> None:
    of = made_up(dict.fromkeys(UNFAIRNESS, CLEAR))
    turned = np.arange(len(of.units)) % 10 > 0  # nine of ten, but of little weight
    for values in of.values.values():
        for metric in UNFAIRNESS:
            values[metric][turned] = 1e-3 / values[metric][turned]
    found = claims.subsets_alike(grid.correlations(of))
    assert found.verdict.holds is ClaimHolds.no


def test_a_correlation_that_is_not_known_decides_nothing() -> None:
    known = Correlation("strict", None, Estimate(0.9, 0.8, 0.95))
    unknown = Correlation("relaxed", None, None)
    assert claims.subsets_alike([known]).verdict.holds is ClaimHolds.yes
    assert claims.subsets_alike([known, unknown]).verdict.holds is ClaimHolds.undecided


def test_single_loads_and_raqfm_decide_nothing() -> None:
    of = grid_of(STARVING)
    [load] = of.loads
    twice = (load, load + 1)
    values = {
        point._replace(load=at): values for point, values in of.values.items() for at in twice
    }
    decided = claims.decide(of._replace(loads=twice, values=values), grid.correlations(of))
    assert [one.number for one in decided] == list(range(1, 8))
    for found in decided:
        for one in found.comparisons:
            if one.decides:
                assert one.load == "all"
                assert one.metric != "raqfm"
        loads = {one.load for one in found.comparisons}
        assert loads == ({"all"} if found.number == 6 else {"all", *map(grid.load_name, twice)})


def test_of_one_user_nothing_is_decided() -> None:
    of = grid_of(STARVING)
    alone = of._replace(units=np.zeros_like(of.units), resamples=Resamples(1, 1, 50))
    for found in claims.decide(alone, grid.correlations(alone)):
        assert found.verdict.holds is ClaimHolds.undecided


def test_every_claim_says_why() -> None:
    of = grid_of(STARVING)
    for found in claims.decide(of, grid.correlations(of)):
        assert found.verdict.source.startswith("[S §")
        for one in found.comparisons:
            assert (str(one) in found.verdict.because) == one.decides
