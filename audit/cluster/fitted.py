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

STATED = {*Policy._fields, "limits", "windows"}
"""Keys of a configured pool; with any of them its policy counts as configured."""


class Fitted(NamedTuple):
    """A pool with its inferred policy and rules."""

    pool: Pool
    facts: tuple[Fact, ...]
    """The assumptions, rule by rule, and how much each improves the fit."""
    details: Mapping[str, Any]
    """The fit for programs: ``unexplained`` (0 to 1) ``before`` and ``after``, ``says`` in words,
    ``evidence`` as rows of the view ``rules``, ``days`` used (None: all), ``budget_s``, and
    whether it ``ended`` the search."""


Fit = Callable[[pl.DataFrame, Pool, int, int], Fitted]
"""Takes columns of ``model.DESCRIBED``, a pool, ``now`` and the seed of resamples."""


class Rules(NamedTuple):
    """The inferred part of a pool, as stored with a run."""

    policy: Policy
    limits: tuple[Limit, ...]
    windows: tuple[Window, ...]
    zone: str
    states_backfill: bool = False


_ADAPTER: TypeAdapter[Rules] = TypeAdapter(Rules)


def silent(setting: Setting, site: config.Cluster | None) -> list[Pool]:
    """Return the pools whose policy is not configured."""
    pools = () if site is None else site.pools
    stated = {pool.name for pool in pools if pool.model_fields_set & STATED}
    return [pool for pool in setting.pools if pool.name not in stated]


def assuming(setting: Setting, found: Sequence[Fitted]) -> Setting:
    """Return the setting with inferred policies and rules."""
    facts = [fact for fact in setting.facts if fact.what != "policy"] if found else setting.facts
    for one in found:
        of = f" of pool {one.pool.name!r}" if len(setting.pools) > 1 else ""
        facts = [*facts, *(replace(fact, what=fact.what + of) for fact in one.facts)]
    evidence = {one.pool.name: one.details.get("evidence", []) for one in found}
    pools = _with(setting.pools, (one.pool for one in found))
    return replace(setting, pools=pools, facts=tuple(facts), evidence=evidence)


def in_force(found: Sequence[Fitted]) -> dict[str, Any]:
    """Return what was inferred, by pool, as stored with a run (JSON)."""
    return {
        pool.name: {
            "rules": _ADAPTER.dump_python(
                Rules(*(getattr(pool, name) for name in Rules._fields)), mode="json"
            ),
            **details,
        }
        for pool, _, details in found
    }


def again(setting: Setting, kept: Mapping[str, Any]) -> Setting:
    """Return the setting with what ``in_force`` stored.

    Raises ValueError if another version stored it.
    """
    changed = (
        pool._replace(**_ADAPTER.validate_json(json.dumps(kept[pool.name]["rules"]))._asdict())
        for pool in setting.pools
        if pool.name in kept
    )
    evidence = {name: of.get("evidence", []) for name, of in kept.items()}
    return replace(setting, pools=_with(setting.pools, changed), evidence=evidence)


def _with(pools: Sequence[Pool], changed: Iterable[Pool]) -> tuple[Pool, ...]:
    by_name = {pool.name: pool for pool in changed}
    return tuple(by_name.get(pool.name, pool) for pool in pools)
