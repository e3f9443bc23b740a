"""The rules that ``fairaudit audit`` assumes of a pool: those that its log supports."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any, Final

import polars as pl

from audit import periods
from audit.cluster.fitted import Fitted
from audit.cluster.inference import Fact
from audit.metrics.draws import Draws
from audit.model import Pool
from audit.oneoff.fit_policy import elements
from audit.report.text import wording
from audit.rule_text import rule_text
from audit.scenario.fit import outcome
from audit.scenario.fit.outcome import Supported
from audit.scenario.fit.search import Searched
from audit.scenario.fit.site import Element

DAY_S: Final = 86_400
_INSTEAD: Final = "--order and --backfill change it, --no-fit leaves fitting out"


def assumed(
    described: pl.DataFrame, pool: Pool, now: int, seed: int, *, seconds: float, resamples: int
) -> Fitted:
    """Return a pool with the windows and the policy that its log supports, with facts about them.

    These are windows that pass the conditions of SPEC §11; and order, backfilling and other
    settings of a policy if the lower bound of their gain over the last 40 % of the log is above 0,
    given those before. The search also finds whole nodes and the capacity in force on some days,
    which are not used: they are not rules of a pool, or would change figures that need no model.

    Args:
        pool: with the initial assumptions, and the limits in force.
        seconds: estimated CPU seconds that the search may take.
    """
    draws = Draws(seed, resamples)
    since, whole, nothing = outcome.affordable(described, pool, seconds)
    record: dict[str, Any] = {"budget_s": seconds}
    if nothing:
        more = f"`fairaudit fit-policy --budget {math.ceil(whole)}` searches all of it"
        why = f"the queue is too deep to search for rules within {seconds:g} CPU s; {more}"
        return Fitted(pool, (_default(pool, why),), record)
    found = outcome.find(described, pool, now, seconds, draws, since)
    if found is None:
        why = "the log is too short, or too few of its jobs waited, to fit it"
        return Fitted(pool, (_default(pool, why),), record)
    used = outcome.supported(described, pool, now, found.tried, draws, since)
    days = None
    if since is not None:
        days = (used.behind - since) // DAY_S
        used = _from(used, since)
    shares = {"before": used.before.unexplained, "after": used.after.unexplained}
    record["evidence"] = [_row(element, used.pool) for element in used.elements]
    says = [elements.described(one, pool.resource.value, used.pool.zone) for one in used.elements]
    record |= {"unexplained": shares, "says": says, "days": days, "ended": found.ended}
    return Fitted(used.pool, _facts(pool, used, says, found, days, seconds, whole), record)


def _default(pool: Pool, why: str) -> Fact:
    return Fact("policy", pool.policy.name, f"the default; {why}; {_INSTEAD}")


def _from(used: Supported, since: int) -> Supported:
    """Let inferred rules come into force not before the first whole day that was searched."""
    first = periods.day_of(since, periods.zone(used.pool.zone)) + timedelta(days=1)
    found, windows = [], used.pool.windows
    for one in used.elements:
        window = one.window
        if window is not None:
            later = window.but(valid_from=max(window.valid_from or first, first))
            windows = tuple(later if each == window else each for each in windows)
            one = one._replace(window=later)  # noqa: PLW2901
        found.append(one)
    return used._replace(pool=used.pool._replace(windows=windows), elements=tuple(found))


def _row(element: Element, pool: Pool) -> dict[str, Any]:
    """Return the evidence for an element, which the view ``rules`` shows of windows."""
    of, unit = element.evidence, (pool.resource.value, pool.zone)
    window = element.window
    return {
        "rule": elements.described(element, *unit) if window is None else rule_text(window, *unit),
        "starts": of.starts if window is not None else None,
        "breaks": of.served if window is not None else None,
        "stops": of.failed if window is not None else None,
    }


def _facts(
    pool: Pool,
    used: Supported,
    says: list[str],
    found: Searched,
    days: int | None,
    seconds: float,
    whole: float,
) -> tuple[Fact, ...]:
    before, after = (wording.percent(one.unexplained) for one in (used.before, used.after))
    extent = "the log" if days is None else f"the latest {wording.plural(days, 'day')} of the log"
    tried = f"{wording.plural(len(found.tried), 'rule')} tried on {extent}"
    source = f"{tried}, within {seconds:g} CPU s"
    if found.ended or days is not None:
        ended = ", which ended the search" if found.ended else ""
        more = math.ceil(max(whole, 2 * seconds) if found.ended else whole)
        all_of_it = "searches all of it" if days is not None else "searches further"
        source += f"{ended}; `fairaudit fit-policy --budget {more}` {all_of_it}"
    source += f"; {_INSTEAD}"
    if not says:
        value = (
            f"{pool.policy.name}, which leaves {before} of the waiting unexplained; the log "
            "supports no other"
        )
    else:
        value = (
            f"{pool.policy.name}, and {wording.plural(len(says), 'rule')} fitted from the log; "
            f"this leaves {after} of the waiting unexplained instead of {before}"
        )
    each = (
        Fact(f"rule {number} of {len(says)}", text, _evidence(element))
        for number, (element, text) in enumerate(zip(used.elements, says, strict=True), 1)
    )
    return (Fact("policy", value, source), *each)


def _evidence(element: Element) -> str:
    of = element.evidence
    if of.by_chance is None:
        return "the log"
    breaks = "break it" if of.served != 1 else "breaks it"
    return (
        f"the log: {of.served:,} of {wording.plural(of.starts, 'start')} {breaks}, and "
        f"it alone withheld {wording.plural(of.failed, 'other')}"
    )
