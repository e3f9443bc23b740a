"""Forward fidelity: whether attempts that would wait longer than others did (SPEC §10).

The rank correlation of forward starts, each simulated from its attempt's own snapshot, with what
was observed: of attempts drawn from a part of a log, once over all and once over those that waited.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from audit.metrics.attempts.miss import TOLERANCE_S
from audit.metrics.draws import Draws
from audit.metrics.quantiles import spearman
from audit.scenario.fit.judging import assumed
from audit.scenario.fit.observed import Observed
from audit.scenario.fit.site import Site
from audit.scenario.forward import forward_starts
from audit.scenario.workload import NEVER, Bools, Ints


class Fidelity(NamedTuple):
    """How forward starts agree with the observed ones; None where nothing can be ranked."""

    over_all: float | None
    waited: float | None
    """Over those that waited longer than the tolerance."""
    attempts: int


def fidelity(observed: Observed, site: Site, chosen: Bools, number: int, draws: Draws) -> Fidelity:
    """That of a site as it is assumed.

    Args:
        observed: the attempts.
        site: what is assumed of the site.
        chosen: [n], from whom to draw.
        number: so many are drawn, without replacement.
        draws: whose seed is taken.
    """
    whose = np.flatnonzero(chosen)
    if len(whose) > number:
        drawn = np.random.Generator(np.random.PCG64(draws.seed))
        whose = np.sort(drawn.choice(whose, number, replace=False))
    modelled = forward_waits(observed, site, whose)
    known = modelled != NEVER
    modelled, waits = modelled[known], observed.wait[whose[known]]
    waited = waits > TOLERANCE_S
    return Fidelity(
        _correlation(modelled, waits), _correlation(modelled[waited], waits[waited]), len(waits)
    )


def forward_waits(observed: Observed, site: Site, subjects: Ints) -> Ints:
    """How long each of ``subjects`` would wait, simulated from its snapshot, s; NEVER: for ever."""
    work, place, _ = assumed(observed, site)
    where = np.zeros(len(place), np.int64)
    where[place] = np.arange(len(place))
    asked = where[subjects]
    start = forward_starts(work, site.pool.policy, np.sort(asked)).start[asked]
    waits: Ints = np.where(start == NEVER, NEVER, start - observed.work.arrival[subjects])
    return waits


def _correlation(modelled: Ints, waits: Ints) -> float | None:
    if len(waits) < 3:
        return None
    columns = (amounts.astype(np.float64)[:, None] for amounts in (modelled, waits))
    found = float(spearman(*columns)[0])
    return None if np.isnan(found) else found
