"""Penalties P_j: the cost of a second of an attempt (SPEC §7).

With q_x = request_x / available_x, the part of resource x that the attempt held, clipped to 1; r
the number of resources that are available; weights w_x > 0, 1 unless given; W = Σ w_x:

    cpu               q_cpus                              (2)   only processors count
    max               max q_x                             (3)   the dominant resource
    max_capped        min(1, max w_x q_x)                 (4)
    max_scaled        max w_x q_x / max w_x               (5)
    product           Π q_x                               (7)
    product_weighted  (Π q_x^w_x)^(1/W)                   (8)
    sum               Σ q_x / r                           (9)
    sum_weighted      Σ w_x q_x / W                       (10)
    root              1 − (Π (1 − q_x))^(1/r)             (11)
    root_weighted     1 − (Π (1 − q_x)^w_x)^(1/W)         (12)
    pe                max q_x · available cpus            Maui's processor equivalent, processors
    billing           Σ weight_x · request_x, or max over x of the same with Slurm's priority flag
                      MAX_TRES: TRESBillingWeights, billing units (``metrics.slurm.usage.charge``)

All are from 0 to 1, except ``pe``, 0 to the available cpus, and ``billing``, ≥ 0. Which
fairness rules each keeps: ``studies.penalties.rules``.

Basis ``pool``: available_x is the pool's total. Basis ``node``: it is that of the attempt's nodes,
nodes_j · node_x, and P is multiplied by nodes_j / nodes of the pool; the available cpus of ``pe``
are those of all nodes. ``billing`` has no basis: its requests are amounts.

*Exempt* resources, in ``root`` and ``root_weighted``: an attempt that takes all of one does not pay
for everything ([M] §5: a node without free GPUs can still be used). The factor (1 − q_x)^(w_x/W)
becomes its tangent at 0, 1 − q_x w_x/W: little use costs as before, all of it w_x/W when nothing
else is used.

Conventions: an unknown amount counts as 0 and is counted. A request beyond what is available (a log
that exceeds its pool) counts as all of it and is counted. An attempt whose number of nodes is
unknown or 0 has penalty 0 under basis ``node``. A weight, or an exemption, of a resource that is
not available changes nothing, so a cluster's pools can share them.

*What the choice of a penalty changes*: of each user or account o under penalty k,

    usage_fraction_k,o = usage_k,o / Σ over all of usage_k  0 to 1; 0 where nothing was used
    shift_k,o          = usage_fraction_k,o − usage_fraction_first,o    −1 to 1; Σ_o shift = 0
    moved_k            = ½ Σ_o |shift_k,o|  0 to 1; part of everything charged to others

The other penalties are compared with the first. Attempts without a name are those of a null entity.

Source: [M] D. Klusáček, H. Rudová, M. Jaroš, Multi Resource Fairness: Problems and Challenges, §1
to §3, §5, whose formula numbers these are. In their formula (1) the penalty is multiplied by the
elapsed time, which is occupancy here.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from audit.array_types import Bools, Floats
from audit.kernels.elementary import expm1, log1p
from audit.metrics.fairshare.usage import Kind, Method, usage
from audit.words import AMOUNTS

Basis = Literal["pool", "node"]

RESOURCES: Final = AMOUNTS  # columns of ``model.ATTEMPTS`` with the request vector

LEAST_WEIGHT: Final = 1e-100
GREATEST_WEIGHT: Final = 1e100


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """The amounts that requests are compared with.

    Args:
        available: amount > 0 of each resource that counts, of the pool or, for basis ``node``, of
            one node; keys of ``RESOURCES`` (no ``nodes`` on a node).
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

    @property
    def cpus(self) -> float:
        """Return the processors of the pool."""
        return self.available["cpus"] * (self.nodes if self.basis == "node" else 1)

    @property
    def nodes(self) -> int:
        """Return the nodes of the pool; for basis ``node``."""
        assert self.pool_nodes is not None  # seen to above
        return self.pool_nodes


class Penalties(NamedTuple):
    """A frame with penalties, and the assumptions made for them."""

    charged: pl.DataFrame  # the given frame with ``penalty``, float64, ≥ 0, never null
    unknown: dict[str, int]  # started attempts with an unknown amount, by resource that counts
    clipped: dict[str, int]
    """Started attempts that requested more than is available, by resource that counts."""


class _Terms(NamedTuple):
    """The operands of a penalty, a row per resource."""

    q: Floats  # fractions, 0 to 1
    w: Floats  # weights > 0, shaped to be multiplied with q
    exempt: Bools  # whether full use of a resource is not full penalty, shaped likewise


def _mean(of: _Terms) -> Floats:
    total: Floats = (of.w * of.q).sum(0) / of.w.sum(0)
    return np.minimum(1.0, total)


def _root(of: _Terms) -> Floats:
    # By logarithms, so that 1 − … loses no digit of small requests.
    powers = of.w / of.w.sum(0)
    # log 0 = −∞: all is taken
    left = np.where(of.exempt, log1p(-of.q * powers), powers * log1p(-of.q))
    penalty: Floats = -expm1(left.sum(0))
    return penalty


RELATIVE: Final[dict[str, Callable[[_Terms], Floats]]] = {
    "cpu": lambda of: of.q[0],  # the only row
    "max": lambda of: of.q.max(0),
    "max_capped": lambda of: np.minimum(1.0, (of.w * of.q).max(0)),
    "max_scaled": lambda of: np.minimum(1.0, (of.w * of.q).max(0) / of.w.max(0)),
    "product": lambda of: of.q.prod(0),
    "product_weighted": lambda of: (of.q ** (of.w / of.w.sum(0))).prod(0),
    "sum": _mean,
    "sum_weighted": _mean,
    "root": _root,
    "root_weighted": _root,
    "pe": lambda of: of.q.max(0),
}
"""Penalties of the fractions q_x, by SPEC's name; ``pe`` as a part of all processors."""

WEIGHTED: Final = ("max_capped", "max_scaled", "product_weighted", "sum_weighted", "root_weighted")
"""Penalties that take weights."""

EXEMPTING: Final = ("root", "root_weighted")  # penalties that take exemptions

_OF_CPUS: Final = ("cpu", "pe")


def of_fractions(
    name: str,
    fractions: Mapping[str, ArrayLike],
    *,
    weights: Mapping[str, float] | None = None,
    exempt: Collection[str] = (),
) -> Floats:
    """Return the penalty ``name`` of ``RELATIVE`` at these fractions, 0 to 1.

    Args:
        fractions: q_x from 0 to 1 of each available resource: scalars, or arrays of one shape.
        weights: w_x from 1e-100 to 1e100; 1 for those left out. For ``WEIGHTED``.
        exempt: resources whose full use is not full penalty; not all. For ``EXEMPTING``.

    Raises:
        ValueError: there is no such penalty, it takes no weights or exemptions, one of these is out
            of range, or it needs the cpus.
    """
    given = dict(weights or {})
    _check(name, fractions, given, exempt)
    names = ["cpus"] if name == "cpu" else list(fractions)
    q = np.stack([np.asarray(fractions[x], np.float64) for x in names])
    shape = (len(names), *[1] * (q.ndim - 1))
    w = np.array([given.get(x, 1.0) for x in names]).reshape(shape)
    return RELATIVE[name](_Terms(q, w, np.array([x in exempt for x in names]).reshape(shape)))


def _check(
    name: str,
    available: Mapping[str, object],
    weights: Mapping[str, float],
    exempt: Collection[str],
) -> None:
    if name not in RELATIVE:
        raise ValueError(f"penalty {name!r}: one of {', '.join([*RELATIVE, 'billing'])}")
    _known_resources(available)
    if name in _OF_CPUS and "cpus" not in available:
        raise ValueError(f"penalty {name!r}: the available cpus are not given")
    if weights:
        _known_resources(weights)
        if name not in WEIGHTED:
            raise ValueError(
                f"penalty {name!r} has no weights: omit them, or use one of {', '.join(WEIGHTED)}"
            )
        for x, weight in weights.items():
            if not LEAST_WEIGHT <= weight <= GREATEST_WEIGHT:
                raise ValueError(f"weight of {x} = {weight}: must be above 0 (1e-100 to 1e100)")
    if exempt:
        _known_resources(exempt)
        if name not in EXEMPTING:
            raise ValueError(
                f"penalty {name!r} exempts nothing: omit the exemptions, or use "
                f"one of {', '.join(EXEMPTING)}"
            )
        if set(available) <= set(exempt):
            raise ValueError(
                f"exempt = {', '.join(sorted(exempt))}: no resource remains "
                "that is charged in full; exempt fewer"
            )


def relative_penalty(
    attempts: pl.DataFrame,
    name: str,
    hardware: Hardware,
    *,
    weights: Mapping[str, float] | None = None,
    exempt: Collection[str] = (),
) -> Penalties:
    """Add the penalty ``name`` of ``RELATIVE`` to the attempts of one pool; see ``of_fractions``.

    ``attempts`` have ``RESOURCES`` and start_time. Penalties are from 0 to 1; those of ``pe`` in
    processors.
    """
    _check(name, hardware.available, weights or {}, exempt)
    read = ["cpus"] if name == "cpu" else list(hardware.available)
    requests = _amounts(read)
    by_node = hardware.basis == "node"
    nodes = _amounts(["nodes"])["nodes"]
    counts = nodes > 0 if by_node else pl.lit(True)
    available = {x: hardware.available[x] * (nodes if by_node else pl.lit(1.0)) for x in read}
    exceeds = {x: (requests[x] > available[x]) & counts for x in read}
    held = attempts.select(
        pl.when(counts).then((requests[x] / available[x]).clip(0.0, 1.0)).otherwise(0.0).alias(x)
        for x in read
    )
    fractions = {x: held[x].to_numpy() for x in read}
    penalty = pl.Series("penalty", of_fractions(name, fractions, weights=weights, exempt=exempt))
    if by_node:
        exceeds["nodes"] = nodes > float(hardware.nodes)
        share = (nodes / float(hardware.nodes)).clip(0.0, 1.0)
        penalty = penalty * attempts.select(share).to_series()
    if name == "pe":
        penalty = penalty * hardware.cpus
    started = pl.col("start_time").is_not_null()
    unknown = attempts.select((pl.col(x).is_null() & started).sum() for x in exceeds)
    clipped = attempts.select((over & started).sum().alias(x) for x, over in exceeds.items())
    return Penalties(
        attempts.with_columns(penalty=penalty),
        unknown.row(0, named=True),
        clipped.row(0, named=True),
    )


def _amounts(resources: Iterable[str]) -> dict[str, pl.Expr]:
    return {x: pl.col(x).fill_null(0).cast(pl.Float64) for x in resources}


def _known_resources(names: Collection[str]) -> None:
    if not names:
        raise ValueError(f"no resource is given: at least one of {', '.join(RESOURCES)}")
    for name in names:
        if name not in RESOURCES:
            raise ValueError(f"resource {name!r}: one of {', '.join(RESOURCES)}")


COMPARED = pl.Schema(
    {
        "penalty": pl.String,
        "entity": pl.String,
        "usage": pl.Float64,
        "usage_fraction": pl.Float64,
        "shift": pl.Float64,
    }
)
"""Columns of ``compare``."""


def compare(
    charged_by: Mapping[str, pl.DataFrame], kind: Kind, method: Method, instant: int, now: int
) -> pl.DataFrame:
    """Return each entity's part of all usage under each penalty; see ``usage``.

    Args:
        charged_by: by penalty, the same attempts with its charges.

    Returns:
        Columns of ``COMPARED``, in the order of the penalties, then by entity, null first. An
        entity with usage under any penalty has a row under each.
    """
    frames = [
        pl.DataFrame(
            {
                "penalty": name,
                "entity": used.entities,
                "usage": used.usage[0],
                "usage_fraction": used.fraction[0],
            },
            schema_overrides={"penalty": pl.String, "entity": pl.String},
        )
        for name, charged in charged_by.items()
        for used in [usage(charged, kind, method, [instant], now)]
    ]
    if not frames:
        return pl.DataFrame(schema=COMPARED)
    parts = pl.concat(frames)
    first = frames[0].select("entity", first="usage_fraction")
    used = pl.col("usage").max().over("entity") > 0
    return (
        parts.filter(used)
        .join(first, on="entity", nulls_equal=True, how="left", maintain_order="left")
        .with_columns(shift=pl.col("usage_fraction") - pl.col("first"))
        .select(pl.col(name).cast(dtype) for name, dtype in COMPARED.items())
    )


def moved(compared: pl.DataFrame) -> dict[str, float]:
    """Return ``moved`` by penalty: the part of all usage that it charges to other entities."""
    return {
        str(name): math.fsum(abs(shift) for shift in rows["shift"].to_list()) / 2.0
        for (name,), rows in compared.group_by("penalty", maintain_order=True)
    }


def movers(compared: pl.DataFrame) -> pl.DataFrame:
    """Return each entity's row with its greatest |shift| (of several the first), greatest first.

    Ties by entity, null first; entities without a shift have no row.
    """
    far = pl.col("shift").abs()
    return (
        compared.filter(far > 0)
        .filter(far == far.max().over("entity"))
        .unique("entity", keep="first", maintain_order=True)
        .sort(far, "entity", descending=[True, False], nulls_last=False, maintain_order=True)
    )
