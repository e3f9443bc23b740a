"""Decayed usage of a cluster as its configuration asks for it."""

from __future__ import annotations

import polars as pl

from audit import config
from audit.errors import ConfigError
from audit.metrics import fairshare, penalty
from audit.metrics.summary import KINDS
from audit.metrics.usage import HalfLife, Method, Windows
from audit.model import Period
from audit.service.setting import Setting

DAY_S = 86_400


def charged(attempts: pl.DataFrame, setting: Setting, usage: config.Usage) -> pl.DataFrame:
    """The attempts with their penalty, each relative to the hardware of its pool.

    Raises:
        ConfigError: the penalty needs what the configuration does not give.
    """
    if usage.penalty == "billing":
        try:
            billing = penalty.Billing(weights=usage.billing_weights)
        except ValueError as error:
            raise ConfigError(f"clusters.usage.billing_weights: {error}") from error
        return penalty.billing_penalty(attempts, billing).charged
    parts = []
    for pool in setting.pools:
        own = [name for name, of in setting.partition_pool.items() if of == pool.name]
        held = attempts.filter(pl.col("partition").is_in(own, nulls_equal=True))
        available = {name: float(amount) for name, amount in pool.amounts}
        try:
            relative = penalty.relative_penalty(
                held, usage.penalty, penalty.Hardware(available=available)
            )
        except ValueError as error:
            raise ConfigError(
                f"clusters.usage.penalty of cluster {setting.cluster!r}, pool {pool.name!r}: "
                f"{error} (clusters.pools.capacity)"
            ) from error
        parts.append(relative.charged)
    return pl.concat(parts)


def method(usage: config.Usage, setting: Setting) -> Method:
    """How usage decays.

    Raises:
        ConfigError: the configured values do not go together.
    """
    try:
        if usage.method == "half_life":
            return HalfLife(half_life_s=usage.half_life_days * DAY_S)
        return Windows(
            interval_s=usage.interval_days * DAY_S,
            depth=usage.depth,
            decay=usage.decay,
            alignment=usage.alignment,
            zone=setting.zone,
        )
    except ValueError as error:
        raise ConfigError(f"clusters.usage of cluster {setting.cluster!r}: {error}") from error


def targets(given: dict[str, float]) -> dict[str, float] | None:
    """Target shares of everything, from shares relative to one another."""
    total = sum(given.values())
    return {name: share / total for name, share in given.items()} if total > 0 else None


def histories(
    with_penalty: pl.DataFrame, setting: Setting, period: Period, usage: config.Usage
) -> pl.DataFrame:
    """Usage against targets of users and accounts at the end of each day of a period.

    Args:
        with_penalty: what ``charged`` gave.
        setting: of the cluster.
        period: whose days.
        usage: how it decays, and the targets.
    """
    instants = fairshare.day_ends(period, setting.zone, setting.now)
    decay = method(usage, setting)
    label = f"{usage.method}:{usage.penalty}"
    given = {"user": targets(usage.users), "account": targets(usage.accounts)}
    return pl.concat(
        fairshare.history(
            with_penalty,
            kind,
            decay,
            instants,
            setting.now,
            targets=given[kind],
            label=label,
        )
        for kind in KINDS
    )
