"""The entities of a pool whose plateaus are sought, and its jobs in groups of equal ones.

Source: SPEC §11, *Plateaus*.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs

from audit.array_types import Bools, Ints
from audit.kernels.plateaus.model import EqualJobs, NodeSets, QueuedJobs
from audit.metrics.attempts.contention import counted_resources, ints, requested, time_order
from audit.metrics.attempts.population import only
from audit.metrics.attempts.reasons import hold_kind, names_throttles
from audit.metrics.nodes import Placed, placed, sums_of
from audit.metrics.waits.queue import Queued, coded, queued
from audit.model import Pool

NOBODY: Final = -1
Column = Literal["user", "account", "partition", "qos"]
COLUMNS: Final[tuple[Column, ...]] = ("user", "account", "partition", "qos")
SMALL: Final = 0.05
"""Greatest share of the usage of a partition that a class of all other jobs leaves out."""
BEYOND: Final = 0.05
"""Least share of the usage beyond walltimes with which remaining times mean nothing."""


class Family(NamedTuple):
    """Entities of one kind."""

    of: Column | None  # the column that tells them apart; None: all jobs together
    within: Literal["partition", "qos"] | None = None  # the column of whose values each is a part
    without: str | None = None  # the partition whose jobs are left out

    @property
    def pooled(self) -> bool:
        """Whether its entities may be judged together."""
        return self.of in ("user", "account")

    @property
    def single(self) -> bool:
        """Whether its entities may be judged one by one."""
        return self.within is None and self.without is None


FAMILIES: Final = (
    *(Family("user"), Family("account"), Family("partition"), Family(None)),
    *(Family("user", "partition"), Family("account", "partition")),
    *(Family("qos"), Family("user", "qos")),
)
"""In the order in which equal candidates are chosen."""


class LimitedQuantity(NamedTuple):
    """The limited quantity: the running jobs, an amount, or the remaining amount × time."""

    resource: str | None = None
    remaining: bool = False


class Member(NamedTuple):
    """An entity: its family, the value of the family's column, and that of ``within``."""

    family: Family
    name: str | None
    place: str | None


@dataclass(frozen=True)
class Plateaued:
    """The jobs of a pool, n, in G groups; K families have entities."""

    queue: Queued
    resources: tuple[str, ...]
    rows: pl.DataFrame  # the first job of each group: what ``scenario.limits.limits_of`` reads
    group: Ints  # [n]
    walltime: Ints  # [n], s; where it is unknown, the occupancy
    request: Ints  # [R, G]
    places: Placed
    families: tuple[Family, ...]
    entity: Ints  # [G, K]: numbers that ascend by family, place and name; NOBODY: none
    first: Ints  # [K + 1]: the first entity of each family
    members: tuple[Member, ...]  # of each entity

    @cached_property
    def measures(self) -> tuple[LimitedQuantity, ...]:
        """The measures of levels, in the order of the kernel."""
        amounts = (LimitedQuantity(name) for name in self.resources)
        return (LimitedQuantity(), *amounts, LimitedQuantity(self.resources[0], remaining=True))

    def measured(self, family: Family) -> list[int]:
        """Return the measures in which a family may be limited."""
        every = range(len(self.measures))
        if family.pooled:
            return list(every)[: None if self.keeps_walltimes else -1]
        return list(every)[family.of is None : -1]

    def of_first(self, number: int) -> "Plateaued":
        """Return the same with the first families; classes are the last, 0: without entities."""
        first = self.first[: number + 1]
        return replace(
            self,
            families=self.families[:number],
            entity=np.ascontiguousarray(self.entity[:, :number]),
            first=first,
            members=self.members[: first[-1]],
        )

    @cached_property
    def keeps_walltimes(self) -> bool:
        """Whether less than ``BEYOND`` of the usage lies beyond the walltimes."""
        ran = self.ran
        occupancy = (self.queue.column("end") - self.queue.column("start_time"))[ran]
        size = self.request[0, self.group[ran]].astype(np.float64)
        beyond = (size * np.maximum(occupancy - self.walltime[ran], 0)).sum()
        return bool(beyond < BEYOND * (size * occupancy).sum())

    @cached_property
    def started(self) -> Bools:
        """The jobs that started, [n]."""
        return self.queue.rows["start_time"].is_not_null().to_numpy()

    @cached_property
    def ran(self) -> Ints:
        """The jobs that ran for some time."""
        longer = self.queue.column("end") > self.queue.column("start_time")
        return np.flatnonzero(self.started & longer)

    @cached_property
    def adds(self) -> Ints:
        """Increments by a job of each group, [measures, G]."""
        first = self.walltime[self.rows["place"].to_numpy()]
        ones = np.ones_like(first)
        return np.vstack((ones, self.request, self.request[0] * first))

    @cached_property
    def jobs(self) -> QueuedJobs:
        """The jobs as the kernel takes them."""
        arrival, leave = self.queue.column("arrival_time"), self.queue.column("leave")
        start, end = self.queue.column("start_time"), self.queue.column("end")
        waits = self.queue.rows["waits"].to_numpy() & (leave > arrival)
        waiting, started = np.flatnonzero(waits), np.flatnonzero(self.started)
        planned = start + self.walltime
        late = self.ran[planned[self.ran] < end[self.ran]]
        return QueuedJobs(
            arrival=arrival,
            leave=leave,
            start=start,
            end=end,
            walltime=self.walltime,
            group=self.group,
            by_arrival=waiting,
            by_leave=waiting[time_order(leave[waiting])],
            by_start=started[time_order(start[started])],
            by_end=self.ran[time_order(end[self.ran])],
            by_planned=late[time_order(planned[late])],
        )

    @cached_property
    def pair(self) -> Ints:
        """The number of each group's request, amounts and walltime, [G]."""
        pairs = np.vstack((self.request, self.adds[-1]))
        _, number = np.unique(pairs, axis=1, return_inverse=True)
        return number.reshape(-1).astype(np.int64)

    @cached_property
    def cells(self) -> tuple[Ints, Ints]:
        """An entity and a group for each cell, and the cell of each group and family, [G, K]."""
        pairs, cell = combined(self.entity, self.pair[:, None])
        _, of_pair = np.unique(self.pair, return_index=True)
        return np.stack((pairs[:, 0], of_pair[pairs[:, 1]]), 1), cell

    @cached_property
    def alike(self) -> EqualJobs:
        """The groups as the kernel takes them."""
        sizes, rank = np.unique(self.request[0], return_inverse=True)
        user = coded(self.rows["user"])
        cells, cell = self.cells
        several = np.array([one.single and one.of != "user" for one in self.families], bool)
        parts, part = combined(
            np.where(several[None, :] & (user[:, None] > 0), cell, NOBODY), user[:, None]
        )
        return EqualJobs(
            request=self.request,
            rank=rank.reshape(-1).astype(np.int64),
            sizes=sizes,
            entity=self.entity,
            cell=cell,
            part=np.where(part == NOBODY, NOBODY, part + len(cells)),
            entity_of=np.concatenate((cells[:, 0], cells[parts[:, 0], 0])),
            cell_of=np.concatenate((np.arange(len(cells)), parts[:, 0])),
            user_of=np.concatenate((np.full(len(cells), NOBODY), parts[:, 1])),
            entities=len(self.members),
        )

    @cached_property
    def set_of(self) -> Ints:
        """The set of eligible nodes of each group, [G]; 0 without nodes."""
        found: Ints = self.places.set_of[self.rows["place"].to_numpy()]
        return found

    @cached_property
    def nodes(self) -> NodeSets:
        """The nodes of the pool as the kernel takes them."""
        nodes, groups = self.places.nodes, self.rows["place"].to_numpy()
        which = np.diff(nodes.first_member)
        inside = np.ones((1, 1), np.int64)
        if self.with_nodes:
            inside = np.zeros((len(which), nodes.capacity.shape[1]), np.int64)
            inside[np.repeat(np.arange(len(which)), which), nodes.member] = 1
        common = inside @ inside.T
        return NodeSets(
            **{name: getattr(nodes, name) for name in _OF_NODES},
            meets=(common > 0).astype(np.uint8),
            holds=(common == inside.sum(1)).astype(np.uint8),
            set_of=self.set_of,
            part=np.ascontiguousarray(nodes.part[:, groups]) if self.with_nodes else nodes.part,
            parts=nodes.parts[groups] if self.with_nodes else nodes.parts,
            most=nodes.most[groups] if self.with_nodes else nodes.most,
        )

    @property
    def with_nodes(self) -> bool:
        """Whether the nodes of the pool are known."""
        return len(self.places.nodes.parts) > 0


_OF_NODES: Final = (
    *("capacity", "first_member", "member", "first_set", "set", "first", "node", "amount"),
    *("change_time", "change_node", "change"),
)


_UNREAD: Final = (
    *("cluster", "job_id", "kind", "schedule", "byte_offset", "priority", "eligible_time"),
    *("waited_s", "wait_s", "runtime_s", "bounded_slowdown", "width_class"),
)
"""Columns of ``model.DESCRIBED`` that would be copied for nothing."""


_HELD: Final = cs.by_name(
    *("attempt_row", "waits", "user", "arrival_time", "leave", "start_time", "end"),
    require_all=False,
)
"""Columns of the queue that are read after it was divided."""


def plateaued(described: pl.DataFrame, pool: Pool, now: int) -> Plateaued:
    """Return the jobs of a pool in groups, with their entities.

    A job whose record names a hold does not queue. A record that stands for many tasks becomes as
    many jobs. Where nodes are known, the jobs of a group may use the same ones, in equal parts.

    Args:
        described: columns of ``model.DESCRIBED``; attempts of other pools are ignored.
    """
    own = only(described.drop(_UNREAD, strict=False), pl.col("pool") == pool.name)
    if not own.select((pl.col("tasks") == 1).all(ignore_nulls=True)).item():
        own = own[np.repeat(np.arange(own.height), own["tasks"].fill_null(1).to_numpy())]
    held = hold_kind(own).is_not_null().alias("held")
    queue = queued(
        own.with_columns(held).with_row_index("row"), now, (pl.col("size") > 0) & ~pl.col("held")
    )
    resources = tuple(counted_resources(pool))
    occupancy = pl.max_horizontal(pl.col("end") - pl.col("start_time"), pl.lit(1)).fill_null(1)
    walltime = pl.max_horizontal(pl.col("walltime_s").fill_null(occupancy), pl.lit(1))
    rows = queue.rows.with_row_index("place").with_columns(
        pl.col("place").cast(pl.Int64),
        *(requested(name).fill_null(0).alias(f"request {name}") for name in resources),
        walltime_s=walltime,
        occupancy=walltime,
    )
    places = sums_of(rows)
    if pool.nodes:
        places = placed(rows, queue.reserved, pool)
        rows = rows.with_columns(shape=places.nodes.shape)
    requests = (f"request {name}" for name in resources)
    shape = ("shape",) if pool.nodes else ()
    array = ("job_number",) if names_throttles(rows) else ()  # throttled ones stay apart
    equal = (*COLUMNS, *requests, "walltime_s", *shape, *array)
    place = rows.select(pl.col("place").first().over(equal)).to_series().to_numpy()
    begins, group = np.unique(place, return_inverse=True)
    first = rows[begins]
    families = _families(first, rows)
    entity, edges, members = _numbered(first, families)
    return Plateaued(
        queue=queue.of(_HELD),
        resources=resources,
        rows=first,
        group=group.astype(np.int64),
        walltime=rows["walltime_s"].to_numpy().astype(np.int64),
        request=np.stack([ints(first[f"request {name}"]) for name in resources]),
        places=places,
        families=families,
        entity=entity,
        first=edges,
        members=members,
    )


def _families(first: pl.DataFrame, rows: pl.DataFrame) -> tuple[Family, ...]:
    """Return the families that can differ: not accounts or partitions where there is one."""
    several = {name: first[name].drop_nulls().n_unique() > 1 for name in COLUMNS}
    found = [
        one
        for one in FAMILIES
        if one.of in (None, "user") or several[one.of]
        if one.within is None or several[one.within]
    ]
    if not several["partition"]:
        return tuple(found)
    ran = rows.select("partition", usage=pl.col("size") * (pl.col("end") - pl.col("start_time")))
    usage = ran.group_by("partition").agg(pl.col("usage").sum()).drop_nulls().sort("partition")
    most = SMALL * float(usage["usage"].sum())
    small = usage.filter(pl.col("usage") < most)["partition"]
    return (*found, *(Family(None, None, name) for name in small))


def _numbered(
    first: pl.DataFrame, families: tuple[Family, ...]
) -> tuple[Ints, Ints, tuple[Member, ...]]:
    """Return the entities of each group, the first one of each family, and who they are."""
    entity = np.full((first.height, len(families)), NOBODY)
    same = _partitions_of_qos(first)
    begins, members = [0], list[Member]()
    for k, family in enumerate(families):
        inside = np.ones(first.height, np.bool_)
        names, places = pl.Series([None], dtype=pl.String), pl.Series([None], dtype=pl.String)
        key = np.zeros(first.height, np.int64)
        if family.without is not None:
            inside = (first["partition"] != family.without).fill_null(value=True).to_numpy()
        if family.of is not None:
            names = first[family.of].unique().drop_nulls().sort()
            key = coded(first[family.of]) - 1
            inside &= key >= 0
        if family.within is not None:
            places = first[family.within].unique().drop_nulls().sort()
            place = coded(first[family.within]) - 1
            inside &= place >= 0
            key += place * len(names)
        if "qos" in (family.of, family.within):
            inside &= ~first["qos"].is_in(same).fill_null(value=False).to_numpy()
        found, number = np.unique(key[inside], return_inverse=True)
        entity[inside, k] = begins[-1] + number
        begins.append(begins[-1] + len(found))
        members += (
            Member(family, names[one % len(names)], places[one // len(names)])
            for one in found.tolist()
        )
    return entity, np.array(begins), tuple(members)


def _partitions_of_qos(first: pl.DataFrame) -> list[str]:
    """Return the QOS that have all jobs of one partition, and no others."""
    pairs = first.select("qos", "partition").unique()
    lone = [
        pairs.filter(pl.len().over(column) == 1).select("qos", "partition")
        for column in ("qos", "partition")
    ]
    both = lone[0].join(lone[1], on=["qos", "partition"], nulls_equal=True)
    return both["qos"].drop_nulls().sort().to_list()


def combined(number: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Return the different combinations, [k, 2], and which one each element is; NOBODY stays."""
    span = int(other.max(initial=0)) + 1
    key = np.where(number == NOBODY, NOBODY, number * span + other)
    found, place = np.unique(key, return_inverse=True)
    none = int(len(found) > 0 and found[0] == NOBODY)
    pairs = np.stack(np.divmod(found[none:], span), 1)
    return pairs, np.ascontiguousarray(place.reshape(key.shape) - none, np.int64)
