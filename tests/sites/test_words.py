"""The words that months of made sites get, fair ones and those with a victim.

Short sites run by default; `make test-sites` judges half a year of each kind, and writes
docs/report/sites-words.md.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product
from multiprocessing import get_context
from typing import Final, Literal, NamedTuple

import pytest

from audit.metrics.verdict import Word
from bench.logs.sites.kinds import SiteKind
from bench.logs.sites.planted import ORDERED, PLANTED, QUEUE, WITHOUT
from bench.logs.sites.site import TrueSite, made
from tests.places import ROOT
from tests.sites.words import Words, lost, with_reasons, words
from tests.tables import write_row

PAGE: Final = ROOT / "docs" / "report" / "sites-words.md"
DAYS: Final = 182
SEEDS: Final = 1
OF_VICTIMS: Final = 4
FAIR: Final[Mapping[str, SiteKind]] = {
    **PLANTED,
    **{f"no rule: {name}": kind for name, kind in WITHOUT.items()},
    **{f"ordered: {name}": kind for name, kind in ORDERED.items() if kind.last is None},
}
Entity = tuple[Literal["user", "account"], str]
VICTIMS: Final[tuple[Entity, ...]] = (
    ("user", "u00"),
    ("user", "u01"),
    ("user", "u02"),
    ("account", "a0"),
    ("account", "a1"),
)
MUCH: Final = 0.05
"""Share of all waiting from which a loss is one that a site should know."""
MOST_ACCUSED: Final = 0.01
MOST_CHANGES: Final = 0.02
LEAST_NAMED: Final = 0.8
WHAT: Final = ("times and sizes", "reasons")


class Judged(NamedTuple):
    """The words of one site: with times and sizes only, and with reasons."""

    both: tuple[Words, Words]
    lost: float = 0.0
    named: tuple[bool, bool] = (False, False)


def _both(site: TrueSite) -> tuple[Words, Words]:
    return words(site), words(with_reasons(site))


def fair(name: str, seed: int) -> Judged:
    """Judge half a year of a fair site."""
    return Judged(_both(made(FAIR[name].shorter(DAYS), seed, *name.encode())))


def victim(entity: Entity, seed: int) -> Judged:
    """Judge half a year of a site that starts the jobs of one entity last."""
    kind = QUEUE.shorter(DAYS)
    site = made(replace(kind, last=entity), seed)
    both = _both(site)
    loss = lost(site, made(kind, seed), entity)
    return Judged(both, loss, (both[0].names(entity), both[1].names(entity)))


def test_a_fair_site_is_not_accused() -> None:
    site = made(WITHOUT["EASY"].shorter(31), 0)
    for of in _both(site):
        assert of.months == (Word.FAIR,)
        assert of.whole.word is Word.FAIR
        assert (of.accused, of.changes) == (0, 0)


@pytest.mark.thorough
@pytest.mark.ci
def test_a_victim_is_named_and_only_records_of_holds_make_it_unfair() -> None:
    entity: Entity = ("user", "u00")
    times, reasons = _both(made(replace(QUEUE, last=entity).shorter(31), 0))
    assert times.months == (Word.MIXED,)
    assert reasons.months == (Word.UNFAIR,)
    assert times.names(entity)
    assert reasons.names(entity)
    assert not times.names(("user", "u01"))


def _share(part: int, of: int) -> str:
    return f"{part} of {of}"


def _row(found: list[Judged]) -> Iterator[str]:
    for k in range(len(WHAT)):
        mine = [one.both[k] for one in found]
        months = sum(len(of.months) for of in mine)
        yield _share(sum(of.accused for of in mine), months)
        yield _share(sum(of.changes for of in mine), months - len(mine))


@pytest.mark.sites
def test_half_a_year_of_each_kind() -> None:
    """Fair sites are hardly ever accused and keep their word; victims are named."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        pairs = [*product(FAIR, range(SEEDS))]
        hurt = [*product(VICTIMS, range(OF_VICTIMS))]
        victims = [*pool.map(victim, *zip(*hurt, strict=True))]
        every = [*pool.map(fair, *zip(*pairs, strict=True))]
    for name in FAIR:
        found = [one for (kind, _), one in zip(pairs, every, strict=True) if kind == name]
        write_row(PAGE, name, *_row(found))
    write_row(PAGE, "all fair sites", *_row(every))
    much = [one for one in victims if one.lost >= MUCH]
    named = [sum(one.named[k] for one in much) for k in range(len(WHAT))]
    for what, number in zip(WHAT, named, strict=True):
        write_row(PAGE, f"victims named, {what}", _share(number, len(much)))
    for k in range(len(WHAT)):
        mine = [one.both[k] for one in every]
        months = sum(len(of.months) for of in mine)
        assert sum(of.accused for of in mine) <= MOST_ACCUSED * months
        assert sum(of.changes for of in mine) <= MOST_CHANGES * (months - len(mine))
        assert named[k] >= LEAST_NAMED * len(much)
    assert len(much) >= 10
