"""What ``fairaudit audit`` assumes of a pool: what a search finds, as far as it is supported."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from audit.cluster.fitted import Fitted
from audit.cluster.inference import Fact
from audit.metrics.draws import Draws
from audit.model import Pool
from audit.oneoff.fit_policy import wording as words
from audit.report.text import wording
from audit.scenario.fit import outcome
from audit.scenario.fit.outcome import Supported
from audit.scenario.fit.search import Searched

DAY_S: Final = 86_400
_INSTEAD: Final = "--order and --backfill change it, --no-fit leaves fitting out"


def assumed(
    described: pl.DataFrame, pool: Pool, now: int, seed: int, *, seconds: float, resamples: int
) -> Fitted:
    """A pool with the rules that its log supports, and what is to be said of them.

    Used are order, backfilling and what else a policy has, limits and windows; each where the
    lower bound of its gain over the last 40 % of the log, with those before it, is above 0. What
    else a search may find is no rule of the pool, or would change figures that need no model:
    chains, whole nodes, the capacity in force.

    Args:
        pool: as it is known, and what is assumed at first.
        seconds: what the search may take of one processor, s; estimated, not measured.
    """
    draws = Draws(seed, resamples)
    since = outcome.affordable(described, pool, seconds)
    found = outcome.find(described, pool, now, seconds, draws, since)
    told: dict[str, Any] = {"budget_s": seconds}
    if found is None:
        why = "the default; the log is too short, or too few of its jobs waited, to fit it"
        return Fitted(pool, (Fact("policy", pool.policy.name, f"{why}; {_INSTEAD}"),), told)
    used = outcome.supported(described, pool, now, found.tried, draws, since)
    days = None if since is None else (used.behind - since) // DAY_S
    shares = {"before": used.before.unexplained, "after": used.after.unexplained}
    told |= {"unexplained": shares, "says": _says(pool, used), "days": days, "ended": found.ended}
    return Fitted(used.pool, _facts(pool, used, found, days, seconds), told)


def _says(pool: Pool, used: Supported) -> list[str]:
    return [words.says(one, pool.resource.value) for one in used.elements]


def _facts(
    pool: Pool, used: Supported, found: Searched, days: int | None, seconds: float
) -> tuple[Fact, ...]:
    before, after = (wording.percent(one.unexplained) for one in (used.before, used.after))
    looked_at = (
        "the log" if days is None else f"the latest {wording.plural(days, 'day')} of the log"
    )
    tried = f"{wording.plural(len(found.tried), 'rule')} tried on {looked_at}, within {seconds:g}"
    source = f"{tried} CPU s{', which ended the search' if found.ended else ''}; {_INSTEAD}"
    if not used.elements:
        left = f"{pool.policy.name}, which leaves {before} of the waiting unexplained"
        return (Fact("policy", f"{left}; the log speaks for no other", source),)
    rules = wording.plural(len(used.elements), "rule")
    value = (
        f"{pool.policy.name}, and {rules} fitted from the log; this leaves {after} of the waiting "
        f"unexplained instead of {before}"
    )
    each = [
        Fact(f"rule {number} of {len(used.elements)}", says, "fitted from the log")
        for number, says in enumerate(_says(pool, used), 1)
    ]
    return (Fact("policy", value, source), *each)
