"""Policies and rules of pools that were inferred from their log, where none are configured."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl
from pydantic import TypeAdapter

from audit import config
from audit.cluster.inference import Fact
from audit.cluster.setting import Setting
from audit.model import Limit, Policy, Pool, Window
from audit.scenario.releases.holds import NOT_HOLDING, Holding

STATED = {*Policy._fields, "limits", "windows"}
"""Keys of a configured pool; with any of them its policy counts as configured."""


class Fitted(NamedTuple):
    """A pool with its inferred policy and rules."""

    pool: Pool
    facts: tuple[Fact, ...]
    """The assumptions, rule by rule, and how much each improves the fit."""
    details: Mapping[str, Any]
    """The fit for programs: ``unexplained`` (0 to 1) ``before`` and ``after``, ``says`` in words,
    ``evidence`` as rows of the view ``rules``, ``holds`` of the table ``hold_result``, ``days``
    used (None: all), ``budget_s``, and
    whether it ``ended`` the search."""
    holding: Holding = NOT_HOLDING

    def then(self, more: Fitted) -> Fitted:
        """Return what was inferred here and, from its pool, in ``more``."""
        both = {
            name: [*self.details.get(name, []), *more.details.get(name, [])]
            for name in ("evidence", "says")
        }
        details = {**self.details, **more.details, **both}
        return Fitted(more.pool, (*more.facts, *self.facts), details, self.holding)


Fit = Callable[[pl.DataFrame, Pool, int, int], Fitted]
"""Takes columns of ``model.DESCRIBED``, a pool, ``now`` and the seed of resamples."""


class Rules(NamedTuple):
    """The inferred part of a pool, as stored with a run."""

    policy: Policy
    limits: tuple[Limit, ...]
    windows: tuple[Window, ...]
    zone: str
    states_backfill: bool = False
    capacity: int = 0
    amounts: tuple[tuple[str, int], ...] = ()
    holding: Holding = NOT_HOLDING


_ADAPTER: TypeAdapter[Rules] = TypeAdapter(Rules)


def silent(setting: Setting, site: config.Cluster | None) -> list[Pool]:
    """Return the pools whose policy is not configured."""
    pools = () if site is None else site.pools
    stated = {pool.name for pool in pools if pool.model_fields_set & STATED}
    return [pool for pool in setting.pools if pool.name not in stated]


def assuming(setting: Setting, found: Sequence[Fitted]) -> Setting:
    """Return the setting with inferred policies and rules."""
    facts = [*setting.facts]
    if any(fact.what == "policy" for one in found for fact in one.facts):
        facts = [fact for fact in facts if fact.what != "policy"]
    for one in found:
        of = f" of pool {one.pool.name!r}" if len(setting.pools) > 1 else ""
        facts = [*facts, *(replace(fact, what=fact.what + of) for fact in one.facts)]
    evidence = {one.pool.name: one.details.get("evidence", []) for one in found}
    pools = _with(setting.pools, (one.pool for one in found))
    return replace(
        setting,
        pools=pools,
        facts=tuple(facts),
        evidence=evidence,
        holding={one.pool.name: one.holding for one in found},
        holds={one.pool.name: one.details.get("holds", []) for one in found},
    )


def in_force(found: Sequence[Fitted]) -> dict[str, Any]:
    """Return what was inferred, by pool, as stored with a run (JSON)."""
    return {
        pool.name: {"rules": _ADAPTER.dump_python(_rules(pool, holding), mode="json"), **details}
        for pool, _, details, holding in found
    }


def again(setting: Setting, kept: Mapping[str, Any]) -> Setting:
    """Return the setting with what ``in_force`` stored.

    Raises ValueError if another version stored it.
    """
    rules = {
        pool.name: _ADAPTER.validate_json(json.dumps(kept[pool.name]["rules"]))
        for pool in setting.pools
        if pool.name in kept
    }
    pools = [
        pool._replace(**{name: getattr(of, name) for name in Rules._fields if name != "holding"})
        for pool in setting.pools
        if (of := rules.get(pool.name)) is not None
    ]
    return replace(
        setting,
        pools=_with(setting.pools, pools),
        evidence={name: of.get("evidence", []) for name, of in kept.items()},
        holds={name: of.get("holds", []) for name, of in kept.items()},
        holding={name: of.holding for name, of in rules.items()},
    )


def _rules(pool: Pool, holding: Holding) -> Rules:
    of_pool = {name: getattr(pool, name) for name in Rules._fields if name != "holding"}
    return Rules(**of_pool, holding=holding)


def _with(pools: Sequence[Pool], changed: Iterable[Pool]) -> tuple[Pool, ...]:
    by_name = {pool.name: pool for pool in changed}
    return tuple(by_name.get(pool.name, pool) for pool in pools)
