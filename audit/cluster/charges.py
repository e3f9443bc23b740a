"""Charges per second of attempts: the configured penalty, and others for comparison.

Relative penalties need the amount of each resource in a pool. If the configuration gives only that
of the counted resource, the peaks in use are taken for the others, and marked as inferred.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

import polars as pl

from audit.cluster.fairshare import FairshareInputs
from audit.cluster.setting import ClusterSettings
from audit.errors import ConfigError
from audit.metrics.attempts import performance
from audit.metrics.attempts.summary import KINDS
from audit.metrics.fairshare import penalty
from audit.metrics.fairshare.usage import Windows
from audit.metrics.slurm.usage import COUNTED, charge, stored
from audit.model import Period, Pool
from audit.words import AMOUNTS, kind_of

COMPARED: Final = ("cpu", "max", "sum", "root")
"""Penalties that are compared with the configured one."""

_INFERRED: Final = ("cpus", "mem_bytes", "gpus")
"""Resources whose amounts can be inferred; nodes would count them a second time."""

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
"""Columns of ``penalty_result``, without its key."""

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
"""Columns of ``charge_result``, without its key."""

_READ: Final = (
    *("pool", "standing", "arrival_time", "start_time", "end_time", "user", "account", "size"),
    *("cpus", "nodes", "gpus", "mem_bytes", "penalty"),
)

Amounts = Mapping[str, float]


class PenaltyComparison(NamedTuple):
    """Usage within a period under several penalties."""

    penalties: pl.DataFrame
    """Columns of ``PENALTIES``; empty if amounts of only one resource are known."""
    charges: pl.DataFrame  # columns of ``CHARGES``


def charged(
    described: pl.DataFrame, setting: ClusterSettings, fairshare: FairshareInputs
) -> pl.DataFrame:
    """Return the attempts of all pools with ``penalty``, their charge per second; same order.

    Raises ConfigError if the configuration lacks an amount that the penalty needs.
    """
    if fairshare.chosen.penalty == "billing":
        return _billed(described, fairshare)
    amounts = {pool.name: _configured(pool) for pool in setting.pools}
    return _relative(described, setting, amounts, fairshare.chosen.penalty, fairshare)


def beyond_requests(
    with_penalty: pl.DataFrame, setting: ClusterSettings, fairshare: FairshareInputs
) -> pl.DataFrame:
    """Add ``beyond_penalty``: what an attempt would save with its requested CPUs and memory.

    Null where the requested CPUs are unknown, and throughout if no attempt has more CPUs than it
    requested. Other amounts, and unknown requests of memory, count as allocated.
    """
    if not with_penalty.select((pl.col("cpus") > pl.col("req_cpus")).any()).item():
        return with_penalty.with_columns(beyond_penalty=pl.lit(None, pl.Float64))
    asked = with_penalty.drop("penalty").with_columns(
        pl.min_horizontal(name, f"req_{name}").alias(name) for name in ("cpus", "mem_bytes")
    )
    less = charged(asked, setting, fairshare)["penalty"]
    known = pl.col("req_cpus").is_not_null() & pl.col("cpus").is_not_null()
    beyond = (pl.col("penalty") - pl.lit(less)).clip(0)
    return with_penalty.with_columns(beyond_penalty=pl.when(known).then(beyond))


def compare(
    with_penalty: pl.DataFrame,
    setting: ClusterSettings,
    fairshare: FairshareInputs,
    periods: Collection[Period],
) -> Iterator[tuple[Period, PenaltyComparison]]:
    """Yield the usage of entities in each period under the configured and the other penalties.

    Usage is not decayed: it is the charge of the seconds within the period. Raises ConfigError as
    ``charged`` does.
    """
    configured: str = fairshare.chosen.penalty
    with_penalty = with_penalty.select(_READ).filter(pl.col("start_time").is_not_null())
    started = with_penalty.drop("penalty")
    known = {
        pool.name: _amounts(pool, started.filter(pl.col("pool") == pool.name), setting.now)
        for pool in setting.pools
    }
    amounts = {pool: by_resource for pool, (by_resource, _) in known.items()}
    frames = {configured: with_penalty}
    if any(len(by_resource) > 1 for by_resource in amounts.values()):
        has_cpus = all("cpus" in by_resource for by_resource in amounts.values())
        frames |= {
            name: _relative(started, setting, amounts, name, fairshare)
            for name in COMPARED
            if name != configured and (name != "cpu" or has_cpus)
        }
    for period in periods:
        whole = Windows(interval_s=max(period.to_time - period.from_time, 1), depth=1, decay=1.0)
        penalties = [pl.DataFrame(schema=PENALTIES)]
        if len(frames) > 1:
            penalties += [
                penalty.compare(frames, kind, whole, period.to_time, setting.now)
                .with_columns(configured=pl.col("penalty") == configured, entity_kind=pl.lit(kind))
                .select(PENALTIES.names())
                for kind in KINDS
            ]
        charges = (
            _charges(started, pool, *known[pool.name], period, setting.now, fairshare)
            for pool in setting.pools
        )
        yield period, PenaltyComparison(pl.concat(penalties), pl.concat(charges))


def _configured(pool: Pool) -> dict[str, float]:
    """Return a pool's amounts; types of GPUs would count GPUs a second time."""
    return {name: float(amount) for name, amount in pool.amounts if name in AMOUNTS}


def _amounts(pool: Pool, started: pl.DataFrame, now: int) -> tuple[Amounts, frozenset[str]]:
    """Return a pool's amount of each resource, and the names of those that are inferred."""
    given = _configured(pool)
    first = started.select(pl.coalesce("arrival_time", "start_time").min()).item()
    if len(given) > 1 or first is None or first >= now:
        return given, frozenset()
    peaks = {}
    for name in _INFERRED:
        if name not in given and started.select((pl.col(name) > 0).any()).item():
            in_use = started.with_columns(size=pl.col(name))
            if peak := performance.activity(in_use, 1, [first, now], now).peak:
                peaks[name] = float(peak)
    return given | peaks, frozenset(peaks)


def _relative(
    described: pl.DataFrame,
    setting: ClusterSettings,
    amounts: Mapping[str, Amounts],
    name: str,
    fairshare: FairshareInputs,
) -> pl.DataFrame:
    chosen = fairshare.chosen
    rows = described.with_row_index("row")
    parts = []
    for pool in setting.pools:
        available = amounts[pool.name]
        # exemptions from the configured penalty may cover all resources of another pool
        all_exempt = name != chosen.penalty and set(available) <= set(chosen.exempt)
        try:
            penalties = penalty.relative_penalty(
                rows.filter(pl.col("pool") == pool.name),
                name,
                _hardware(available, chosen.basis),
                weights=chosen.weights.given if name in penalty.WEIGHTED else None,
                exempt=chosen.exempt if name in penalty.EXEMPTING and not all_exempt else (),
            )
        except ValueError as error:
            raise ConfigError(
                f"clusters.usage.penalty of cluster {setting.cluster!r}, pool {pool.name!r}: "
                f"{error} (clusters.pools.capacity)"
            ) from error
        parts.append(penalties.charged)
    merged = pl.concat(parts).sort("row") if len(parts) > 1 else parts[0]
    return merged.drop("row")


def _hardware(amounts: Amounts, basis: str) -> penalty.Hardware:
    """Return what requests are compared with; raises ValueError if nodes are not counted."""
    if basis == "pool":
        return penalty.Hardware(available=amounts)
    if "nodes" not in amounts:
        raise ValueError("basis 'node' needs the number of nodes")
    nodes = amounts["nodes"]
    of_node = {name: amount / nodes for name, amount in amounts.items() if name != "nodes"}
    return penalty.Hardware(available=of_node, basis="node", pool_nodes=round(nodes))


def _billed(described: pl.DataFrame, fairshare: FairshareInputs) -> pl.DataFrame:
    """Charge by Slurm's billing; method ``slurm`` multiplies it by the QOS's usage factor."""
    chosen, flags = fairshare.chosen, fairshare.flags
    factors = fairshare.factors if chosen.method == "slurm" else {}
    partitions, otherwise = fairshare.partitions, None
    if given := chosen.billing_weights.given:
        base = {column: (name, part) for name, (column, part) in COUNTED.items()}
        otherwise = {base[x][0]: weight / base[x][1] for x, weight in given.items()}
        partitions, flags = {}, flags & {"MAX_TRES"}
    billed = charge(described, stored(described), partitions, factors, flags, otherwise)
    return billed.attempts.select(*described.columns, "penalty")


def _charges(
    started: pl.DataFrame,
    pool: Pool,
    amounts: Amounts,
    inferred: frozenset[str],
    period: Period,
    now: int,
    fairshare: FairshareInputs,
) -> pl.DataFrame:
    """Return a pool's amounts, and how many requests of a period are unknown or exceed them."""
    of_pool = started.filter(pl.col("pool") == pool.name)
    running = of_pool.filter(
        pl.col("start_time") < period.to_time, pl.col("end_time").fill_null(now) > period.from_time
    )
    chosen = fairshare.chosen
    compared = penalty.relative_penalty(running, "max", _hardware(amounts, chosen.basis))
    counted = set(_configured(pool))
    if chosen.penalty == "cpu":
        counted = {"cpus"}
    elif chosen.penalty == "billing":
        counted = {name for name, weight in chosen.billing_weights.given.items() if weight}
        for weights in fairshare.partitions.values():
            kinds = {kind_of(name) for name in weights}
            counted |= {column for name, (column, _) in COUNTED.items() if name in kinds}
    return pl.DataFrame(
        [
            {
                "pool": pool.name,
                "resource": name,
                "available": amount,
                "inferred": name in inferred,
                "charged": name in counted,
                "attempts": running.height,
                "unknown": compared.unknown.get(name, 0),
                "clipped": compared.clipped.get(name, 0),
                "first_start": of_pool["start_time"].min(),
            }
            for name, amount in amounts.items()
        ],
        schema=CHARGES,
    )
