"""The attempts of a pool to the story of one wait."""

from __future__ import annotations

import polars as pl

from audit.model import Pool
from audit.oneoff.explain import facts, modelled
from audit.oneoff.explain.story import Story
from audit.simulation.ownership import EQUAL_SHARES, Fairshare


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
    unmodelled = facts.not_modelled(found, None)
    starts = None if unmodelled else modelled.starts(found)
    passers, passed_by = facts.passers(found)
    return Story(
        subject=found.subject,
        running=facts.running(found),
        queued=facts.queued(found),
        parts={},
        peer_wait_s=None,
        passers=passers,
        passed_by=passed_by,
        starts=starts,
        unmodelled=unmodelled,
        costs=(),
        trust=None,
        uses=facts.uses(found),
    )
