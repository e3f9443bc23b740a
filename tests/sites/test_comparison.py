"""The account of waits against the truth of made sites.

`make test-sites` compares eight seeds of each kind and writes docs/report/sites-waiting.md.
"""

from functools import cache

import polars as pl
import pytest

from bench.logs.sites.kinds import WAITING, SiteKind
from bench.logs.sites.reasons import STRETCHES
from bench.logs.sites.site import TrueSite, made
from tests.places import ROOT
from tests.sites.by_hand import HandJob, by_hand
from tests.sites.comparison import by_second, told_stretches, wrong_side
from tests.tables import write_row

PAGE = ROOT / "docs" / "report" / "sites-waiting.md"
SEEDS = 8
MOST = 0.06
"""Greatest share on the wrong side, as the mean of a kind."""
MERGED = 0.07
"""The same of sites whose log does not show that the machine is two: 6.4 % was reached."""
MOST_IN_ALL = 0.02
DAYS = 6

TOLD = {"row": pl.Int64, "begin": pl.Int64, "end": pl.Int64, "cause": pl.String}


@pytest.mark.parametrize(
    ("told", "competition", "unexplained"),
    [
        ([(0, 0, 60, "earlier"), (0, 60, 80, "held"), (0, 80, 100, "cycle")], 0.0, 0.0),
        ([(0, 0, 100, "kept")], 0.4, 0.2),
        ([(0, 0, 100, "unexplained")], 0.6, 0.6),
        ([(0, 0, 30, "own"), (0, 30, 60, "claimed"), (0, 60, 100, "unexplained")], 0.0, 0.0),
        ([(0, 0, 60, "later"), (0, 60, 100, "rule")], 0.0, 0.2),
        ([(0, 0, 50, "later"), (0, 50, 80, "held"), (0, 80, 100, "cycle")], 0.1, 0.0),
        ([(0, 40, 80, "earlier")], 0.6, 0.2),
        ([(1, 0, 100, "earlier")], 0.6, 0.2),
    ],
)
def test_seconds_on_the_wrong_side(
    told: list[tuple[int, int, int, str]], competition: float, unexplained: float
) -> None:
    true = pl.DataFrame(
        [(0, 0, 60, "full", None), (0, 60, 80, "held", None), (0, 80, 100, "cycle", None)],
        STRETCHES,
        orient="row",
    )
    found = by_second(pl.DataFrame(told, TOLD, orient="row"), true)
    assert tuple(found) == pytest.approx((competition, unexplained, 100))


HELD = by_hand(
    SiteKind(capacity=10),
    HandJob(0, 1, 10_000),
    HandJob(0, 5, 1_000),
    HandJob(100, 8, 10, release=4_000),
)
"""The third waits for the end of the second, and is then held for 3,000 s."""


def test_a_site_by_hand_is_described_truly() -> None:
    """The account leaves unexplained why the job was held."""
    assert wrong_side(HELD) == (0.0, 0.0, 3_900)
    assert by_second(told_stretches(HELD, 2), HELD.reasons) == (0.0, 0.0, 3_900)


def test_competition_that_is_left_unexplained_is_wrong_on_both_counts() -> None:
    full = HELD._replace(reasons=HELD.reasons.with_columns(reason=pl.lit("full")))
    expected = pytest.approx((3_000 / 3_900, 3_000 / 3_900, 3_900))
    assert tuple(wrong_side(full)) == expected
    assert tuple(by_second(told_stretches(HELD, 2), full.reasons)) == expected


@cache
def _short(name: str, seed: int) -> TrueSite:
    return made(WAITING[name].shorter(DAYS), seed, *name.encode())


@pytest.mark.parametrize(
    "name",
    ["EASY", "a pass each 60 s", "latency", "conservative", "fairshare", "no guarantee"],
)
def test_where_nothing_is_hidden_nearly_all_is_described_truly(name: str) -> None:
    assert max(wrong_side(_short(name, 0))[:2]) <= MOST


def test_sums_of_jobs_hide_no_more_than_seconds_show() -> None:
    site = _short("mixed", 0)
    lasts = site.reasons.group_by("row").agg((pl.col("end") - pl.col("begin")).sum().alias("s"))
    for row in lasts.sort("s", "row", descending=[True, False])["row"].head(5):
        mine = site._replace(reasons=site.reasons.filter(row=row))
        exact = by_second(told_stretches(site, row), mine.reasons)
        sums = wrong_side(mine)
        assert sums.waiting_s == exact.waiting_s
        assert sums.competition <= exact.competition + 1e-9


@pytest.mark.sites
def test_eight_seeds() -> None:
    """The mean of all kinds and the worst kind are within the goals."""
    means = {}
    for name, kind in WAITING.items():
        sites = [made(kind, seed, *name.encode()) for seed in range(SEEDS)]
        wrong = [wrong_side(site) for site in sites]
        at_once = sum(map(_at_once, sites)) / SEEDS
        means[name] = sum(one.competition for one in wrong) / SEEDS
        unexplained = sum(one.unexplained for one in wrong) / SEEDS
        worst = max(one.competition for one in wrong)
        write_row(
            PAGE, name, *(f"{100 * x:.1f}" for x in (means[name], worst, unexplained, at_once))
        )
    mean = sum(means.values()) / len(means)
    write_row(PAGE, "mean", f"{100 * mean:.1f}", "", "", "")
    assert means.pop("two partitions merged") <= MERGED
    assert max(means.values()) <= MOST
    assert mean <= MOST_IN_ALL


def _at_once(site: TrueSite) -> float:
    """Return the share of the waiting in which the machine is full for a job that is also held."""
    lasts = pl.col("end") - pl.col("begin")
    also = lasts.filter(pl.col("besides").is_not_null()).sum()
    return float(site.reasons.select(also / lasts.sum()).item())
