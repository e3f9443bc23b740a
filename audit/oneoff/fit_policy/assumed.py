"""What ``fairaudit audit`` assumes of a pool: what a search finds, as far as it is supported."""

from __future__ import annotations

import math
from datetime import date, timedelta
from typing import Any, Final, TypeVar

import polars as pl

from audit import periods
from audit.cluster.fitted import Fitted
from audit.cluster.inference import Fact
from audit.metrics.draws import Draws
from audit.model import Limit, Pool, Window
from audit.oneoff.fit_policy import wording as words
from audit.report.text import wording
from audit.rule_text import rule_text
from audit.scenario.fit import outcome
from audit.scenario.fit.outcome import Supported
from audit.scenario.fit.search import Searched
from audit.scenario.fit.site import Element

DAY_S: Final = 86_400
_Rule = TypeVar("_Rule", Limit, Window)
_INSTEAD: Final = "--order and --backfill change it, --no-fit leaves fitting out"


def assumed(
    described: pl.DataFrame, pool: Pool, now: int, seed: int, *, seconds: float, resamples: int
) -> Fitted:
    """A pool with the rules that its log supports, and what is to be said of them.

    Used are limits and windows that pass the conditions of SPEC §11; and order, backfilling and
    what else a policy has, where the lower bound of the gain over the last 40 % of the log, with
    those before it, is above 0. What else a search may find is no rule of the pool, or would change
    figures that need no model: chains, whole nodes, the capacity in force.

    Args:
        pool: as it is known, and what is assumed at first.
        seconds: what the search may take of one processor, s; estimated, not measured.
    """
    draws = Draws(seed, resamples)
    since, whole = outcome.affordable(described, pool, seconds)
    found = outcome.find(described, pool, now, seconds, draws, since)
    told: dict[str, Any] = {"budget_s": seconds}
    if found is None:
        why = "the default; the log is too short, or too few of its jobs waited, to fit it"
        return Fitted(pool, (Fact("policy", pool.policy.name, f"{why}; {_INSTEAD}"),), told)
    used = outcome.supported(described, pool, now, found.tried, draws, since)
    if since is not None:
        used = _from(used, periods.day_of(since, periods.zone(used.pool.zone)))
    days = None if since is None else (used.behind - since) // DAY_S
    shares = {"before": used.before.unexplained, "after": used.after.unexplained}
    told["evidence"] = [_row(element, pool.resource.value) for element in used.elements]
    told |= {"unexplained": shares, "says": _says(pool, used), "days": days, "ended": found.ended}
    return Fitted(used.pool, _facts(pool, used, found, days, seconds, whole), told)


def _from(used: Supported, searched: date) -> Supported:
    """Let inferred rules be in force from the first whole day that was searched, not before."""
    first = searched + timedelta(days=1)

    def later(rule: _Rule) -> _Rule:
        return rule.but(valid_from=max(rule.valid_from or first, first))

    elements = []
    pool = used.pool
    for one in used.elements:
        limit = None if one.limit is None else later(one.limit)
        window = None if one.window is None else later(one.window)
        elements.append(one._replace(limit=limit, window=window))
        pool = pool._replace(
            limits=tuple(limit if limit and each == one.limit else each for each in pool.limits),
            windows=tuple(
                window if window and each == one.window else each for each in pool.windows
            ),
        )
    return used._replace(pool=pool, elements=tuple(elements))


def _row(element: Element, resource: str) -> dict[str, Any]:
    """An inferred rule as a row of the view ``rules``."""
    rule, of = element.limit or element.window, element.evidence
    return {
        "rule": words.says(element, resource) if rule is None else rule_text(rule, resource),
        "kind": element.kind.value,
        "source": "inferred",
        "valid_from": None if rule is None or rule.valid_from is None else str(rule.valid_from),
        "valid_to": None if rule is None or rule.valid_to is None else str(rule.valid_to),
        "starts": of.starts if rule is not None else None,
        "breaks": of.served if rule is not None else None,
        "breaks_by_chance": of.by_chance,
        "gain": of.gain,
    }


def _says(pool: Pool, used: Supported) -> list[str]:
    return [words.says(one, pool.resource.value) for one in used.elements]


def _facts(
    pool: Pool, used: Supported, found: Searched, days: int | None, seconds: float, whole: float
) -> tuple[Fact, ...]:
    before, after = (wording.percent(one.unexplained) for one in (used.before, used.after))
    looked_at = (
        "the log" if days is None else f"the latest {wording.plural(days, 'day')} of the log"
    )
    tried = f"{wording.plural(len(found.tried), 'rule')} tried on {looked_at}, within {seconds:g}"
    source = f"{tried} CPU s"
    if found.ended or days is not None:
        ended = ", which ended the search" if found.ended else ""
        more = math.ceil(max(whole, 2 * seconds) if found.ended else whole)
        all_of_it = "searches all of it" if days is not None else "searches further"
        source += f"{ended}; `fairaudit fit-policy --budget {more}` {all_of_it}"
    source += f"; {_INSTEAD}"
    if not used.elements:
        left = f"{pool.policy.name}, which leaves {before} of the waiting unexplained"
        return (Fact("policy", f"{left}; the log speaks for no other", source),)
    rules = wording.plural(len(used.elements), "rule")
    value = (
        f"{pool.policy.name}, and {rules} fitted from the log; this leaves {after} of the waiting "
        f"unexplained instead of {before}"
    )
    each = [
        Fact(f"rule {number} of {len(used.elements)}", says, _evidence(element))
        for number, (element, says) in enumerate(
            zip(used.elements, _says(pool, used), strict=True), 1
        )
    ]
    return (Fact("policy", value, source), *each)


def _evidence(element: Element) -> str:
    """What speaks for an element."""
    of = element.evidence
    if of.by_chance is None:
        return "the log"
    breaks = "break it" if of.served != 1 else "breaks it"
    return (
        f"the log: {of.served:,} of {wording.plural(of.starts, 'start')} {breaks}, and "
        f"it alone withheld {wording.plural(of.failed, 'other')}"
    )
