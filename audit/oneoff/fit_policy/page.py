"""The page of ``fairaudit fit-policy``: how a site schedules, inferred from its log.

Its text is ``templates/studies/fit-policy.txt``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import polars as pl

from audit.metrics.attempts.fidelity import KNOWN
from audit.model import Policy, Pool
from audit.pipeline.shown import CERTAIN, ShownByLog, chain_words
from audit.report import wording
from audit.report.study import layout
from audit.report.study.page import Section, Study, by_pool
from audit.rule_text import amount, duration, rule_text
from audit.scenario.plateaus.search import PlateauRule
from audit.scenario.windows.search import FoundWindows, InferredWindow

KEY: Final = "fit-policy"
_FOUND: Final = (
    "Windows are listed in the order in which they were found; each is judged with those above it "
    "in force. “Jobs kept waiting” counts the occasions on which the window alone kept a job "
    "waiting; “starts that break it” counts the starts that it forbids. The share of such starts "
    "has an upper limit (95 %); beside it is the share that is expected without the window."
)


class PoolFit(NamedTuple):
    """The result for a pool."""

    pool: Pool  # as it was assumed at first
    stated: Policy | None  # None: its policy is not configured
    policy: Policy | None  # of the known rule; None: there is none
    compared: pl.DataFrame  # of ``agreement``
    shown: ShownByLog  # the limits and chains of the log
    windows: FoundWindows
    interval_s: int | None  # at whose multiples jobs start; None: there is none


def study(log: str, found: Sequence[PoolFit]) -> Study:
    """Return the page of a log."""
    configured = [
        (f"Configured of pool {wording.name(one.pool.name)}", one.stated.name)
        for one in found
        if one.stated is not None
    ]
    lead = " ".join(_lead(one, several=len(found) > 1) for one in found)
    sections = by_pool([(one.pool.name, _sections(one)) for one in found])
    last = layout.section(KEY, "read", {}, {})
    values = {"log": wording.name(log), "lead": lead}
    return layout.study(KEY, {"configured": configured}, values, (*sections, last))


def candidate(row: Mapping[str, Any]) -> str:
    """Return the name of a candidate, by its row of ``agreement``."""
    return f"{row['policy']}, own peak" if row["own_peak"] else str(row["policy"])


def _lead(found: PoolFit, *, several: bool) -> str:
    begin = f"Pool {wording.name(found.pool.name)}: " if several else ""
    best = found.compared.drop_nulls("agreement").sort(
        "agreement", descending=True, maintain_order=True
    )
    if best.is_empty():
        return f"{begin}No start of the log can be compared with a policy."
    first = best.row(0, named=True)
    agrees = f"agrees with {wording.percent(first['agreement'])} of the starts"
    required = f"{wording.percent(KNOWN)} are required"
    pool = found.windows.pool
    rest = (
        f"In force are {wording.plural(len(pool.limits), 'limit')} and "
        f"{wording.plural(len(pool.windows), 'window')}."
    )
    if found.policy is None:
        return (
            f"{begin}No policy is known: the best candidate, {candidate(first)}, {agrees}, and "
            f"{required}. {rest}"
        )
    return f"{begin}The policy is {candidate(first)}, which {agrees} ({required}). {rest}"


def _sections(found: PoolFit) -> list[Section]:
    plateaus, windows = found.shown.plateaus, found.windows
    ranked = found.compared.sort("agreement", descending=True, nulls_last=True, maintain_order=True)
    parts = {
        "agreement": [row | {"candidate": candidate(row)} for row in ranked.to_dicts()],
        "in_force": _in_force(found),
        **{
            key: [_of_limit(rule, plateaus.pool) for rule in rules]
            for key, rules in (
                ("limits", plateaus.rules),
                ("own-limits", plateaus.own),
                ("failed-limits", plateaus.failed),
            )
        },
        "chains": [
            {"user": chain.user, "held": len(chain.held), "evidence": chain_words(chain)}
            for chain in found.shown.chains
        ],
        "searched": f"Windows were not searched: {windows.skipped}." if windows.skipped else _FOUND,
        "windows": [_of_window(one, windows.pool) for one in windows.accepted],
        "failed-windows": [_of_window(one, windows.pool) for one in windows.failed],
    }
    values = {"known": wording.percent(KNOWN)}
    return [layout.section(KEY, key, parts, values) for key in ("agreement", "limits", "windows")]


def _in_force(found: PoolFit) -> str:
    """Return the interval of the scheduler and the capacity in force, as sentences."""
    says = "The starts show no interval of the scheduler."
    if found.interval_s is not None:
        says = f"Jobs that waited start at multiples of {duration(found.interval_s)}."
    below = found.shown.plateaus.capacity
    if below is None:
        return says
    unit = found.shown.plateaus.pool.resource.value
    which = "All jobs"
    if below.family.without is not None:
        which = f"Jobs outside partition {wording.name(below.family.without)}"
    return (
        f"{says} {which} stop at {amount(below.level, unit)} of {amount(below.declared, unit)}: "
        f"{below.broken:,} starts exceed it."
    )


def _of_limit(rule: PlateauRule, pool: Pool) -> dict[str, Any]:
    """Return a row about a limit; that of a user is without its number where this is unclear."""
    judged = rule.judged
    text = wording.first_upper(rule_text(rule.limit, pool.resource.value, pool.zone))
    unclear = judged.accepted and judged.concentration < CERTAIN
    if unclear and rule.family.of == "user" and rule.entity is not None:
        text = f"A limit of user {wording.name(rule.entity)}"
    return {
        "limit": text,
        "stops": judged.counts.at,
        "starts": judged.counts.starts,
        "exceed": judged.counts.broken,
        "concentration": judged.concentration,
        "fails": judged.fault and judged.fault.value,
    }


def _of_window(one: InferredWindow, pool: Pool) -> dict[str, Any]:
    found = one.found
    return {
        "window": wording.first_upper(rule_text(one.window, pool.resource.value, one.zone)),
        "withheld": found.withheld,
        "starts": one.starts,
        "breaks": found.breaks,
        "bound": found.bound,
        "by_chance": found.by_chance,
        "fails": found.fails,
    }
