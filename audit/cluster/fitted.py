"""How pools are taken to decide where nobody says it but their log."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl
from pydantic import TypeAdapter

from audit import config
from audit.cluster.inference import Fact
from audit.cluster.setting import Setting
from audit.model import Limit, Policy, Pool, Window

STATED = {*Policy._fields, "limits", "windows"}
"""Keys of a configured pool, any of which says how it decides."""


class Fitted(NamedTuple):
    """A pool, as its log tells how it decides."""

    pool: Pool
    facts: tuple[Fact, ...]
    """What is assumed of it, rule by rule, and how much better that is than what was before."""
    told: Mapping[str, Any]
    """The same for programs: ``unexplained`` of 1 ``before`` and ``after``, ``says`` in words,
    ``evidence`` as rows of the view ``rules``, ``days`` that were looked at (None: all),
    ``budget_s`` and whether it ``ended`` the search."""


Fit = Callable[[pl.DataFrame, Pool, int, int], Fitted]
"""Of columns of ``model.DESCRIBED``, a pool, the instant of the log and the seed of resamples."""


class Rules(NamedTuple):
    """What of a pool is fitted, as a run keeps it."""

    policy: Policy
    limits: tuple[Limit, ...]
    windows: tuple[Window, ...]
    zone: str


_ADAPTER: TypeAdapter[Rules] = TypeAdapter(Rules)


def silent(setting: Setting, site: config.Cluster | None) -> list[Pool]:
    """The pools of which nobody says how they decide; without a configuration, all of them."""
    stated = set()
    if site is not None:
        stated = {pool.name for pool in site.pools if pool.model_fields_set & STATED}
    return [pool for pool in setting.pools if pool.name not in stated]


def assuming(setting: Setting, found: Sequence[Fitted]) -> Setting:
    """The setting with what was found out of its pools."""
    facts = [fact for fact in setting.facts if fact.what != "policy"] if found else setting.facts
    for one in found:
        of = f" of pool {one.pool.name!r}" if len(setting.pools) > 1 else ""
        facts = [*facts, *(replace(fact, what=fact.what + of) for fact in one.facts)]
    return replace(
        setting,
        pools=_with(setting.pools, [one.pool for one in found]),
        facts=tuple(facts),
        evidence={one.pool.name: one.told.get("evidence", []) for one in found},
    )


def in_force(found: Sequence[Fitted]) -> dict[str, Any]:
    """What was found out, by pool, as a run keeps it (JSON)."""
    return {
        one.pool.name: {
            "rules": _ADAPTER.dump_python(_rules(one.pool), mode="json"),
            **one.told,
        }
        for one in found
    }


def again(setting: Setting, kept: Mapping[str, Any]) -> Setting:
    """The setting with what a run has kept by ``in_force``.

    Raises:
        ValueError: it is not of this version.
    """
    changed = [
        pool._replace(**_ADAPTER.validate_json(json.dumps(kept[pool.name]["rules"]))._asdict())
        for pool in setting.pools
        if pool.name in kept
    ]
    evidence = {name: of.get("evidence", []) for name, of in kept.items()}
    return replace(setting, pools=_with(setting.pools, changed), evidence=evidence)


def _rules(pool: Pool) -> Rules:
    return Rules(pool.policy, pool.limits, pool.windows, pool.zone)


def _with(pools: Sequence[Pool], changed: Sequence[Pool]) -> tuple[Pool, ...]:
    by_name = {pool.name: pool for pool in changed}
    return tuple(by_name.get(pool.name, pool) for pool in pools)
