"""Decayed usage of a cluster as its configuration asks for it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import polars as pl

from audit.cluster.fairshare import Fairshare
from audit.cluster.setting import Setting
from audit.errors import ConfigError
from audit.metrics.attempts.summary import KINDS
from audit.metrics.fairshare.history import day_ends, history_parts
from audit.metrics.fairshare.tree_history import tree_history
from audit.metrics.fairshare.usage import HalfLife, Method, Windows
from audit.metrics.slurm.usage import SlurmUsage
from audit.model import Period

DAY_S: Final = 86_400


def method(fairshare: Fairshare, setting: Setting) -> Method:
    """How usage decays.

    Raises:
        ConfigError: the configured values do not go together.
    """
    usage = fairshare.chosen
    try:
        if usage.method == "half_life":
            return HalfLife(half_life_s=usage.half_life_days * DAY_S)
        if usage.method == "slurm":
            return SlurmUsage(
                half_life_s=fairshare.half_life_s,
                period_s=fairshare.period_s,
                phase_s=usage.phase_s,
                reset=fairshare.reset,
                zone=setting.zone,
            )
        return Windows(
            interval_s=usage.interval_days * DAY_S,
            depth=usage.depth,
            decay=usage.decay,
            alignment=usage.alignment,
            zone=setting.zone,
        )
    except ValueError as error:
        raise ConfigError(f"clusters.usage of cluster {setting.cluster!r}: {error}") from error


_FORGOTTEN: Final = 30
"""After so many half-lives a second of use counts a thousand-millionth of what it did."""

_LONGEST_RESET_S: Final = 366 * DAY_S


def lead_s(fairshare: Fairshare, setting: Setting) -> int:
    """For how long use is remembered, s: what ended longer before an instant does not matter to it.

    Of a half-life, ``_FORGOTTEN`` of them, which leaves less than 1e-9 of the use out.
    """
    decay = method(fairshare, setting)
    if isinstance(decay, Windows):
        return (decay.depth + 1) * decay.interval_s
    if isinstance(decay, HalfLife | SlurmUsage) and decay.half_life_s:
        return math.ceil(_FORGOTTEN * decay.half_life_s)
    return _LONGEST_RESET_S


def label(fairshare: Fairshare) -> str:
    """What histories call it: method and penalty, and the operator where there are targets."""
    usage = fairshare.chosen
    parts: list[str] = [usage.method, usage.penalty]
    if usage.users or usage.accounts or usage.has_tree:
        parts.append(usage.operator)
    return ":".join(parts)


def histories(
    with_penalty: pl.DataFrame, setting: Setting, period: Period, fairshare: Fairshare
) -> Iterator[pl.DataFrame]:
    """Usage against targets of users and accounts at the end of each day of a period, in parts.

    Args:
        with_penalty: what ``charges.charged`` gave.
        setting: of the cluster.
        period: whose days.
        fairshare: how usage decays, and the targets.
    """
    usage = fairshare.chosen
    instants = day_ends(period, setting.zone, setting.now)
    decay = method(fairshare, setting)
    if fairshare.tree is not None:
        yield tree_history(
            with_penalty,
            fairshare.tree,
            decay,
            instants,
            setting.now,
            operator=usage.operator,
            dampening=fairshare.dampening,
            label=label(fairshare),
        )
        return
    targets = {"user": usage.users, "account": usage.accounts}
    for kind in KINDS:
        yield from history_parts(
            with_penalty,
            kind,
            decay,
            instants,
            setting.now,
            targets=targets[kind],
            operator=usage.operator,
            label=label(fairshare),
        )
