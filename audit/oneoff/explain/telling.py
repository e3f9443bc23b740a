"""The attempts of a pool to the story of one wait."""

from __future__ import annotations

import polars as pl

from audit.model import Pool
from audit.oneoff.explain import facts, modelled
from audit.oneoff.explain.story import Cost, Story
from audit.scenario.ownership import EQUAL_SHARES, Fairshare


def story(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    zone: str,
    row: int,
    fairshare: Fairshare = EQUAL_SHARES,
) -> Story:
    """All that is known of the wait of the attempt in row ``row``; args as ``facts.scene``."""
    found = facts.scene(described, pool, now, zone, row, fairshare)
    unmodelled = facts.not_modelled(found)
    starts, costs, trust = None, tuple[Cost, ...](), None
    if not unmodelled:
        decided = modelled.decided(found)
        starts = modelled.starts(found, decided)
        costs = modelled.costs(found, starts.modelled if starts else None)
        trust = modelled.trust(found, decided)
    passers, passed_by = facts.passers(found)
    parts, peer_wait_s = facts.without_model(found, now)
    return Story(
        subject=found.subject,
        running=facts.running(found),
        queued=facts.queued(found),
        parts=parts,
        peer_wait_s=peer_wait_s,
        passers=passers,
        passed_by=passed_by,
        starts=starts,
        unmodelled=unmodelled,
        costs=costs,
        trust=trust,
        uses=facts.uses(found),
    )
