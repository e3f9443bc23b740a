"""One cluster: its pools, its logs, its periods, and the checks across its parts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from audit import periods
from audit.config.people import People, faults
from audit.config.pools import Pool
from audit.config.sections import Fault, Section, refusal
from audit.config.usage import Usage
from audit.errors import UsageError
from audit.policies import Order

PLACEHOLDERS = ("{from}", "{to}", "{from_epoch}", "{to_epoch}")
"""Placeholders in a source's command for the edges of the requested window of time."""


def _faults_of_pools(usage: Usage, pools: tuple[Pool, ...]) -> Iterator[Fault]:
    """Yield what usage needs of pools and the pools lack."""
    if usage.basis == "node" and not pools:
        yield Fault(("usage", "basis"), "'node' needs pools with a number of nodes", usage.basis)
    for k, pool in enumerate(pools):
        given = pool.capacity.model_dump(exclude_none=True)
        known = given.keys() | {pool.resource}
        capacity = ("pools", k, "capacity")
        if usage.basis == "node" and pool.capacity.nodes is None:
            yield Fault(capacity, "usage.basis 'node' needs the number of nodes", given)
        if usage.penalty in ("cpu", "pe") and "cpus" not in known:
            yield Fault(capacity, f"usage.penalty {usage.penalty!r} needs the cpus", given)
        charged = known - ({"nodes"} if usage.basis == "node" else set())
        if usage.exempt and charged <= set(usage.exempt):
            what = f"every resource of pool {pool.name!r} is exempt: leave out at least one"
            yield Fault(("usage", "exempt"), what, usage.exempt)


def _faults_of_orders(usage: Usage, pools: tuple[Pool, ...]) -> Iterator[Fault]:
    """Yield the settings of usage that define no order by fairshare."""
    targets = usage.users or usage.accounts or usage.has_tree
    orders = [
        ("pools", k, key)
        for k, pool in enumerate(pools)
        for key in ("order", "fair_order")
        if getattr(pool, key) == Order.fairshare
    ]
    for where in orders:
        if usage.operator == "classic":
            what = 'needs another usage.operator than "classic", such as "slurm"'
            yield Fault(where, what, "classic")
        if usage.alignment == "calendar" and usage.method == "windows":
            yield Fault(where, 'needs usage.alignment "trailing"', usage.alignment)
        if usage.method == "slurm" and usage.half_life_days == 0:
            yield Fault(where, "needs a half-life; a reset alone defines no order", 0)
        if usage.operator != "absolute" and not targets:
            what = (
                f"needs shares for usage.operator {usage.operator!r} (usage.shares, "
                'associations, users or accounts); only "absolute" works without them'
            )
            yield Fault(where, what, usage.operator)


class Source(Section):
    """Where logs of a cluster come from."""

    files: str | None = None
    command: tuple[str, ...] | None = None
    timeout_s: int = Field(default=600, ge=1)
    since: date | None = None
    window_days: int = Field(default=1, ge=1)
    overlap_days: int = Field(default=7, ge=0)
    environment: tuple[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], ...] = ()
    silent_days: float | None = Field(default=None, gt=0)
    dialect: str | None = None
    columns: tuple[str, ...] | None = None
    separator: str | None = Field(default=None, min_length=1)

    @property
    def in_windows(self) -> bool:
        """Whether its command is run for one window of time after another."""
        return bool(self._edges)

    @property
    def _edges(self) -> set[str]:
        used = {name for name in PLACEHOLDERS if any(name in word for word in self.command or ())}
        return {name.strip("{}").split("_")[0] for name in used}

    @model_validator(mode="after")
    def _one_kind(self) -> Source:
        if (self.files is None) == (self.command is None):
            raise ValueError("a source has either files or a command")
        if self.command is not None and not self.command:
            raise ValueError("a command needs at least a program")
        faults = []
        if len(self._edges) == 1:
            (edge,) = self._edges
            other = "to" if edge == "from" else "from"
            faults.append(f"a command with {{{edge}}} needs {{{other}}}")
        if self._edges and self.since is None:
            faults.append("since is missing: the first day for {from} and {to}")
        if self.since is not None and not self._edges:
            faults.append("since is for a command with {from} and {to}")
        if faults:
            raise ValueError("; ".join(faults))
        return self


class Cluster(Section):
    """A cluster."""

    name: str = Field(min_length=1)
    zone: str = "UTC"
    period: Literal["day", "week", "month"] = "month"
    pools: tuple[Pool, ...] = ()
    sources: tuple[Source, ...] = ()
    usage: Usage = Usage()
    people: People = People()

    @field_validator("zone")
    @classmethod
    def _known(cls, value: str) -> str:
        try:
            periods.zone(value)
        except UsageError as error:
            raise ValueError(str(error)) from error
        return value

    @model_validator(mode="after")
    def _distinct_pools(self) -> Cluster:
        named = [partition for pool in self.pools for partition in pool.partitions]
        if twice := sorted({name for name in named if named.count(name) > 1}):
            raise ValueError(f"partitions in two pools: {', '.join(twice)}")
        if sum(not pool.partitions for pool in self.pools) > 1:
            raise ValueError("only one pool may have no partitions: it gets all others")
        if len({pool.name for pool in self.pools}) < len(self.pools):
            raise ValueError("two pools have the same name")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Cluster:
        found = [
            *_faults_of_pools(self.usage, self.pools),
            *_faults_of_orders(self.usage, self.pools),
            *faults(self.people, self.usage, self.pools),
        ]
        if found:
            raise refusal("Cluster", found)
        return self
