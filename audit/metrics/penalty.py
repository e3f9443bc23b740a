"""What a second of an attempt costs: the penalty P_j (SPEC §7).

With q_x = request_x / available_x, the part of resource x that the attempt held, clipped to 1,

    cpu      P = q_cpus                        [M] formula (2); 0 to 1
    max      P = max over x of q_x             [M] formula (3), the dominant resource; 0 to 1
    billing  P = Σ weight_x · request_x        Slurm's TRESBillingWeights; ≥ 0, billing units
             or max over x of the same         with Slurm's priority flag MAX_TRES

Basis ``pool``: available_x is the pool's total. Basis ``node``: it is what the attempt's nodes
have, nodes_j · node_x, and P is multiplied by nodes_j / nodes of the pool. ``billing`` knows no
basis: its requests are amounts.

Conventions: an amount that the log does not know counts as 0 and is counted. A request beyond what
is available (a log that exceeds its pool) counts as all of it and is counted. An attempt whose
number of nodes is unknown or 0 has penalty 0 under basis ``node``.

Source: [M] D. Klusáček, H. Rudová, M. Jaroš, Multi Resource Fairness: Problems and Challenges, §2,
§3.1. In their formula (1) the penalty is multiplied by the elapsed time, which is occupancy here.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import polars as pl

Basis = Literal["pool", "node"]

RESOURCES: Final = ("cpus", "mem_bytes", "gpus", "nodes")
"""The columns of ``model.ATTEMPTS`` that hold a request vector."""


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """What requests are compared with.

    Args:
        available: amount of each resource, > 0: of the pool, or, for basis ``node``, of one node;
            keys of ``RESOURCES`` (no ``nodes`` on a node). Resources that it leaves out do not
            count in the penalty.
        pool_nodes: number of nodes of the pool, ≥ 1; for basis ``node``.

    Raises:
        ValueError: an unknown resource or basis, an amount ≤ 0, or ``pool_nodes`` is missing.
    """

    available: Mapping[str, float]
    basis: Basis = "pool"
    pool_nodes: int | None = None

    def __post_init__(self) -> None:
        _known_resources(self.available)
        for name, amount in self.available.items():
            if not (amount > 0 and math.isfinite(amount)):
                raise ValueError(f"available {name} = {amount}: must be above 0")
        if self.basis not in ("pool", "node"):
            raise ValueError(f"basis = {self.basis!r}: either 'pool' or 'node'")
        if self.basis == "node":
            if "nodes" in self.available:
                raise ValueError("basis 'node': a node has no nodes; give `pool_nodes` instead")
            if self.pool_nodes is None or self.pool_nodes < 1:
                raise ValueError(f"basis 'node': pool_nodes = {self.pool_nodes}: must be ≥ 1")


@dataclass(frozen=True, kw_only=True)
class Billing:
    """Slurm's TRESBillingWeights.

    Args:
        weights: weight per unit of each resource, ≥ 0, at least one above 0; keys of
            ``RESOURCES``. The unit of memory is the byte (Slurm's ``Mem=0.25G`` is 0.25 / 2³⁰).
        max_tres: the greatest term counts instead of the sum of all (MAX_TRES). All resources here
            are of a node, so Slurm's second sum, over licences and the like, is empty.

    Raises:
        ValueError: an unknown resource, a weight below 0, or none above it.
    """

    weights: Mapping[str, float]
    max_tres: bool = False

    def __post_init__(self) -> None:
        _known_resources(self.weights)
        for name, weight in self.weights.items():
            if not (weight >= 0 and math.isfinite(weight)):
                raise ValueError(f"weight of {name} = {weight}: must not be below 0")
        if not any(self.weights.values()):
            raise ValueError("billing weights: none is above 0, so nothing would be usage")


class Penalties(NamedTuple):
    """A frame with penalties, and what had to be assumed for them."""

    charged: pl.DataFrame
    """The given frame with ``penalty``, float64, ≥ 0, never null."""
    unknown: dict[str, int]
    """By resource that counts: attempts that started and whose amount is null."""
    clipped: dict[str, int]
    """By resource that counts: attempts that started and asked for more than is available."""


Terms = Mapping[str, pl.Expr]
"""One expression per resource, never null."""


def cpu(fractions: Terms) -> pl.Expr:
    """The fraction q_cpus: only processors count. [M] (2)

    Raises:
        ValueError: no ``cpus`` among what is available.
    """
    if "cpus" not in fractions:
        raise ValueError("penalty 'cpu': the available cpus are not given")
    return fractions["cpus"]


def dominant(fractions: Terms) -> pl.Expr:
    """The greatest q_x: the resource of which the attempt held the greatest part counts. [M] (3)"""
    return pl.max_horizontal(*fractions.values())


RELATIVE: Final[dict[str, Callable[[Terms], pl.Expr]]] = {"cpu": cpu, "max": dominant}
"""Penalties of the fractions q_x, by SPEC's name. Those of amounts are ``billing``."""


def relative_penalty(attempts: pl.DataFrame, name: str, hardware: Hardware) -> Penalties:
    """Adds the penalty ``name`` of ``RELATIVE`` to the attempts of one pool.

    Args:
        attempts: columns ``RESOURCES`` and start_time, as in ``model.ATTEMPTS``; of one pool.
        name: ``"cpu"`` or ``"max"``.
        hardware: what requests are compared with.

    Raises:
        ValueError: there is no such penalty, or what it compares with is missing.
    """
    if name not in RELATIVE:
        raise ValueError(f"penalty {name!r}: one of {', '.join([*RELATIVE, 'billing'])}")
    requests = _amounts(hardware.available)
    available: Terms = {x: pl.lit(float(a)) for x, a in hardware.available.items()}
    nodes = pl.col("nodes").fill_null(0).cast(pl.Float64)
    if hardware.basis == "node":
        available = {x: nodes * amount for x, amount in available.items()}
    fractions = {x: (requests[x] / available[x]).clip(0.0, 1.0) for x in requests}
    penalty = RELATIVE[name](fractions)
    read = ["cpus"] if name == "cpu" else list(requests)
    exceeds = {x: requests[x] > available[x] for x in read}
    if hardware.basis == "node":
        assert hardware.pool_nodes is not None  # seen to by Hardware
        share = (nodes / float(hardware.pool_nodes)).clip(0.0, 1.0)
        penalty = pl.when(nodes > 0).then(penalty * share).otherwise(0.0)
        exceeds = {x: over & (nodes > 0) for x, over in exceeds.items()}
        exceeds["nodes"] = nodes > float(hardware.pool_nodes)
    return _penalties(attempts, penalty, exceeds)


def billing_penalty(attempts: pl.DataFrame, billing: Billing) -> Penalties:
    """Adds Slurm's billing, in billing units, ≥ 0: usage then is in billing-seconds.

    Args:
        attempts: columns ``RESOURCES`` and start_time, as in ``model.ATTEMPTS``.
        billing: the weights. Nothing is clipped, since nothing says what is available.
    """
    requests = _amounts(billing.weights)
    terms = [requests[x] * weight for x, weight in billing.weights.items()]
    penalty = pl.max_horizontal(*terms) if billing.max_tres else pl.sum_horizontal(*terms)
    return _penalties(attempts, penalty, dict.fromkeys(requests, pl.lit(False)))


def _amounts(resources: Iterable[str]) -> dict[str, pl.Expr]:
    """The requests, as floats, unknown ones 0."""
    return {x: pl.col(x).fill_null(0).cast(pl.Float64) for x in resources}


def _penalties(
    attempts: pl.DataFrame, penalty: pl.Expr, exceeds: Mapping[str, pl.Expr]
) -> Penalties:
    """The frame with its penalty, and the counts over attempts that started."""
    started = pl.col("start_time").is_not_null()
    counts = attempts.select(
        *((pl.col(x).is_null() & started).sum().alias(f"unknown {x}") for x in exceeds),
        *((over & started).sum().alias(f"clipped {x}") for x, over in exceeds.items()),
    ).row(0, named=True)
    return Penalties(
        attempts.with_columns(penalty=penalty),
        {x: counts[f"unknown {x}"] for x in exceeds},
        {x: counts[f"clipped {x}"] for x in exceeds},
    )


def _known_resources(names: Mapping[str, float]) -> None:
    if not names:
        raise ValueError(f"no resource is given: at least one of {', '.join(RESOURCES)}")
    for name in names:
        if name not in RESOURCES:
            raise ValueError(f"resource {name!r}: one of {', '.join(RESOURCES)}")
