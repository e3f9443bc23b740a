"""What the seconds of a cluster's attempts cost: by the penalty that is configured, and by others.

The others tell what the choice of a penalty changes. They need to know of several resources: where
the configuration says only how much a pool has of the one that it counts, the most that was ever in
use of the others stands for what there is, and is noted as such.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

import polars as pl

from audit.cluster.fairshare import Fairshare
from audit.cluster.setting import Setting
from audit.errors import ConfigError
from audit.metrics.attempts import performance
from audit.metrics.attempts.summary import KINDS
from audit.metrics.fairshare import penalty
from audit.metrics.fairshare.usage import Kind, Windows
from audit.metrics.slurm.usage import COUNTED, charge, stored
from audit.model import Period, Pool

COMPARED: Final = ("cpu", "max", "sum", "root")
"""Penalties whose results stand side by side, beside that of the configuration."""

WHERE: Final = "clusters.usage"

_OF_LOGS: Final = ("cpus", "mem_bytes", "gpus")
"""What is inferred where a pool's amounts are not configured. Nodes hold these: they would count
all of them once more."""

PENALTIES: Final = pl.Schema(
    {
        "penalty": pl.String,
        "configured": pl.Boolean,
        "entity_kind": pl.String,
        "entity": pl.String,
        "usage": pl.Float64,
        "usage_fraction": pl.Float64,
    }
)
"""Columns of ``penalty_result`` that are of the comparison itself."""

CHARGES: Final = pl.Schema(
    {
        "pool": pl.String,
        "resource": pl.String,
        "available": pl.Float64,
        "inferred": pl.Boolean,
        "charged": pl.Boolean,
        "attempts": pl.Int64,
        "unknown": pl.Int64,
        "clipped": pl.Int64,
        "first_start": pl.Int64,
    }
)
"""Columns of ``charge_result`` that are of the comparison itself."""

_READ: Final = (
    *("pool", "standing", "arrival_time", "start_time", "end_time", "user", "account", "size"),
    *("cpus", "nodes", "gpus", "mem_bytes", "penalty"),
)
"""Columns that a comparison is made of."""

Amounts = Mapping[str, float]


class Compared(NamedTuple):
    """What a period used under several penalties."""

    penalties: pl.DataFrame
    """``PENALTIES``; no row where one resource alone is known."""
    charges: pl.DataFrame
    """``CHARGES``."""


def charged(described: pl.DataFrame, setting: Setting, fairshare: Fairshare) -> pl.DataFrame:
    """The attempts, in their order, with ``penalty``: what each of their seconds costs.

    Args:
        described: columns of ``model.DESCRIBED``; of all pools.

    Raises:
        ConfigError: the penalty needs what the configuration does not give.
    """
    if fairshare.chosen.penalty == "billing":
        return _billed(described, fairshare)
    amounts = {
        pool.name: {name: float(amount) for name, amount in pool.amounts} for pool in setting.pools
    }
    return _relative(described, setting, amounts, fairshare.chosen.penalty, fairshare)


def compare(
    with_penalty: pl.DataFrame,
    setting: Setting,
    fairshare: Fairshare,
    periods: Collection[Period],
) -> Iterator[tuple[Period, Compared]]:
    """What users and accounts used in each period under ``COMPARED`` and the configured penalty.

    Usage is not decayed: it is what the seconds within the period cost.

    Raises:
        ConfigError: as ``charged``.
    """
    configured: str = fairshare.chosen.penalty
    with_penalty = with_penalty.select(_READ).filter(pl.col("start_time").is_not_null())
    started = with_penalty.drop("penalty")
    known = {
        pool.name: amounts_of(pool, started.filter(pl.col("pool") == pool.name), setting.now)
        for pool in setting.pools
    }
    amounts = {pool: by_resource for pool, (by_resource, _) in known.items()}
    frames = {configured: with_penalty}
    if any(len(by_resource) > 1 for by_resource in amounts.values()):
        others = [name for name in COMPARED if name != configured]
        if not all("cpus" in by_resource for by_resource in amounts.values()):
            others.remove("cpu")
        frames |= {name: _relative(started, setting, amounts, name, fairshare) for name in others}
    for period in periods:
        penalties = [pl.DataFrame(schema=PENALTIES)]
        if len(frames) > 1:
            penalties += [
                _parts(frames, kind, period, setting.now)
                .with_columns(configured=pl.col("penalty") == configured, entity_kind=pl.lit(kind))
                .select(PENALTIES.names())
                for kind in KINDS
            ]
        yield (
            period,
            Compared(
                pl.concat(penalties),
                pl.concat(
                    _charges(started, pool, *known[pool.name], period, setting.now, fairshare)
                    for pool in setting.pools
                ),
            ),
        )


def amounts_of(pool: Pool, held: pl.DataFrame, now: int) -> tuple[Amounts, frozenset[str]]:
    """What there is of each resource, and which of these amounts is inferred.

    Args:
        pool: whose; what is configured is taken as it is.
        held: its attempts that started, columns of ``model.DESCRIBED``.
    """
    given = {name: float(amount) for name, amount in pool.amounts}
    if len(given) > 1 or held.is_empty():
        return given, frozenset()
    first = held.select(pl.coalesce("arrival_time", "start_time").min()).item()
    span = [first, now]
    if span[0] >= now:
        return given, frozenset()
    peaks = {}
    for name in _OF_LOGS:
        if name not in given and held.select((pl.col(name) > 0).any()).item():
            in_use = held.with_columns(size=pl.col(name))
            peaks[name] = float(performance.activity(in_use, 1, span, now).peak)
    return {**given, **peaks}, frozenset(peaks)


def _relative(
    described: pl.DataFrame,
    setting: Setting,
    amounts: Mapping[str, Amounts],
    name: str,
    fairshare: Fairshare,
) -> pl.DataFrame:
    """The attempts, in their order, with the penalty ``name`` of what they had of their pool."""
    chosen = fairshare.chosen
    rows = described.with_row_index("row")
    parts = []
    for pool in setting.pools:
        available = amounts[pool.name]
        # what is exempt of the configured penalty may be all that another pool knows of
        all_exempt = name != chosen.penalty and set(available) <= {*chosen.exempt}
        exempt = () if all_exempt else chosen.exempt
        try:
            penalties = penalty.relative_penalty(
                rows.filter(pl.col("pool") == pool.name),
                name,
                hardware(available, chosen.basis),
                weights=chosen.weights.given if name in penalty.WEIGHTED else None,
                exempt=exempt if name in penalty.EXEMPTING else (),
            )
        except ValueError as error:
            raise ConfigError(
                f"clusters.usage.penalty of cluster {setting.cluster!r}, pool {pool.name!r}: "
                f"{error} (clusters.pools.capacity)"
            ) from error
        parts.append(penalties.charged)
    if len(parts) > 1:
        return pl.concat(parts).sort("row").drop("row")
    return parts[0].drop("row")


def hardware(amounts: Amounts, basis: str) -> penalty.Hardware:
    """What requests are compared with.

    Raises:
        ValueError: parts of nodes are asked for, and their number is not given.
    """
    if basis == "pool":
        return penalty.Hardware(available=amounts)
    if "nodes" not in amounts:
        raise ValueError("basis 'node' needs the number of nodes")
    nodes = amounts["nodes"]
    of_node = {name: amount / nodes for name, amount in amounts.items() if name != "nodes"}
    return penalty.Hardware(available=of_node, basis="node", pool_nodes=round(nodes))


def _billed(described: pl.DataFrame, fairshare: Fairshare) -> pl.DataFrame:
    """Slurm's billing; its method also heeds the usage factor of each attempt's QOS."""
    chosen = fairshare.chosen
    factors = fairshare.factors if chosen.method == "slurm" else {}
    if not chosen.billing_weights.given:
        amounts = stored(described)
        billed = charge(described, amounts, fairshare.partitions, factors, fairshare.flags)
        return billed.attempts.select(*described.columns, "penalty")
    billing = penalty.Billing(
        weights=chosen.billing_weights.given, max_tres="MAX_TRES" in fairshare.flags
    )
    with_penalty = penalty.billing_penalty(described, billing).charged
    if not factors:
        return with_penalty
    factor = pl.col("qos").replace_strict(dict(factors), default=1.0, return_dtype=pl.Float64)
    return with_penalty.with_columns(penalty=pl.col("penalty") * factor.fill_null(1.0))


def _parts(
    frames: Mapping[str, pl.DataFrame], kind: Kind, period: Period, now: int
) -> pl.DataFrame:
    """Everybody's part of what was used within a period, under each penalty."""
    whole = Windows(interval_s=max(period.to_time - period.from_time, 1), depth=1, decay=1.0)
    return penalty.compare(frames, kind, whole, period.to_time, now).drop("shift")


def _charges(
    started: pl.DataFrame,
    pool: Pool,
    amounts: Amounts,
    inferred: frozenset[str],
    period: Period,
    now: int,
    fairshare: Fairshare,
) -> pl.DataFrame:
    """What requests of a period were compared with, and what had to be assumed of them."""
    mine = pl.col("pool") == pool.name
    first_start = started.filter(mine).select(pl.col("start_time").min()).item()
    held = started.filter(
        mine,
        pl.col("start_time") < period.to_time,
        pl.col("end_time").fill_null(now) > period.from_time,
    )
    chosen = fairshare.chosen
    compared = penalty.relative_penalty(held, "max", hardware(amounts, chosen.basis))
    heeded = {name for name, _ in pool.amounts}
    if chosen.penalty == "cpu":
        heeded = {"cpus"}
    elif chosen.penalty == "billing":
        heeded = {name for name, weight in chosen.billing_weights.given.items() if weight}
        for weights in fairshare.partitions.values():
            heeded |= {COUNTED[name][0] for name in weights if name in COUNTED}
    return pl.DataFrame(
        [
            {
                "pool": pool.name,
                "resource": name,
                "available": amount,
                "inferred": name in inferred,
                "charged": name in heeded,
                "attempts": held.height,
                "unknown": compared.unknown.get(name, 0),
                "clipped": compared.clipped.get(name, 0),
                "first_start": first_start,
            }
            for name, amount in amounts.items()
        ],
        schema=CHARGES,
    )
