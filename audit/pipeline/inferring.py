"""Rules in force in the pools of a log: configured ones, and those that the log shows (SPEC §11).

Every command takes it from here. A database has what was inferred when its figures were computed.
"""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from audit.cluster import fairshare, fitted
from audit.cluster.fairshare import FairshareInputs
from audit.cluster.fitted import Fitted
from audit.cluster.setting import ClusterSettings
from audit.metrics.attempts import population
from audit.metrics.attempts.account import passes_shown
from audit.model import Pool
from audit.pipeline.deciding import compared_with, decided
from audit.pipeline.opening import ClusterLog
from audit.pipeline.shown import shown
from audit.progress import OnProgress, silent
from audit.scenario.releases.holds import inferred_holds

DAYS: Final = 400
"""The days of the log before the end of a period from which a run infers."""
SPAN_S: Final = DAYS * 86_400
UNCHARGED: Final = fairshare.of_site(None, Path())
"""How usage is charged where nothing is configured."""


def inferred(
    described: pl.DataFrame,
    setting: ClusterSettings,
    usage: FairshareInputs = UNCHARGED,
    silent: Collection[Pool] = (),
    on_progress: OnProgress = silent,
) -> list[Fitted]:
    """Return what the log shows of each pool that has attempts.

    Args:
        described: columns of ``model.DESCRIBED``.
        setting: its ``now`` and its ``log`` bound what is read.
        usage: how usage is charged.
        silent: the pools whose policy is not configured.
    """
    found = []
    for number, pool in enumerate(setting.pools):
        on_progress("inferring rules", number, len(setting.pools))
        if (described["pool"] == pool.name).any():
            one = shown(described, pool, setting.now, setting.log.from_time)
            scenario = compared_with(described, one.pool, setting, usage)
            found.append(one.then(decided(scenario, one.holding, silent=pool in silent)))
    on_progress("inferring rules", len(setting.pools), len(setting.pools))
    return found


def in_force(
    log: ClusterLog,
    on_progress: OnProgress = silent,
    folder: Path = Path(),
    only: Collection[str] | None = None,
    *,
    fit: bool = True,
) -> ClusterLog:
    """Return a log whose setting has what its pools show; without ``fit``, what is configured.

    Args:
        folder: that of the configuration.
        only: names of the pools that are needed; None: all.
    """
    setting = log.setting
    if not fit:
        return replace(log, setting=fitted.assuming(setting, fitted.nothing(setting)))
    named = [pool for pool in setting.pools if only is None or pool.name in only]
    usage = fairshare.of_site(log.cluster, folder)
    silent = fitted.silent(setting, log.cluster)
    of_these = replace(setting, pools=tuple(named))
    found = inferred(log.described, of_these, usage, silent, on_progress)
    return replace(log, setting=fitted.assuming(setting, found))


def of_period(
    attempts: pl.DataFrame,
    setting: ClusterSettings,
    to_time: int,
    usage: FairshareInputs = UNCHARGED,
    silent: Collection[Pool] = (),
) -> list[Fitted]:
    """Return what the log shows up to the end of a period, of each pool that has attempts.

    The log is that of the ``DAYS`` before ``to_time``. Nothing that came later matters: what ended
    later was running or pending. So a closed period keeps what was inferred, whatever follows.

    Args:
        attempts: columns of ``model.ATTEMPTS``; at least those of the span.
        setting: as configured.
        to_time: epoch s.
        usage: how usage is charged.
        silent: the pools whose policy is not configured.
    """
    now = min(setting.now, to_time)
    begin = max(setting.log.from_time, to_time - SPAN_S)
    setting = replace(setting, now=now, log_begin=min(begin, now))
    described = population.describe(
        population.as_of(attempts, to_time - SPAN_S, to_time), setting.pools, setting.partition_pool
    )
    del attempts  # before more is made
    described = population.compact(described)
    found = inferred(described, setting, usage, silent)
    return [_with_passes(one, described, setting) for one in found]


def _with_passes(one: Fitted, described: pl.DataFrame, setting: ClusterSettings) -> Fitted:
    """Return what was inferred of a pool with the passes of its scheduler."""
    pool, now = one.pool, setting.now
    of_pool = population.only(described, pl.col("pool") == pool.name)
    passes = passes_shown(
        *(of_pool, pool, now),
        log_begin=setting.log_begin,
        holds=inferred_holds(of_pool, pool, now, one.holding),
    )
    return one._replace(passes=passes)
