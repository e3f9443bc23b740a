"""Sections [[clusters]], [[clusters.pools]] and [clusters.people], and the checks across them."""

import re
from collections.abc import Iterator
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, create_model, field_validator, model_validator

from audit import periods
from audit.config import usage as of_nodes
from audit.config.sections import ConfigFault, ConfigSection, one_of, refusal
from audit.config.table import TableOption
from audit.config.usage import HardwareConfig, Nodes, UsageConfig
from audit.errors import UsageError
from audit.policies import BY_OWNER, BY_USAGE, SETTINGS, Backfill, Order, Policy, refused
from audit.rules import Limit, PreemptionRule, Window
from audit.words import EvidenceKind, Placement, Population, Resource, is_amount

_Order = Annotated[Order, Field(strict=False)]
_Count = Annotated[int | None, Field(ge=1)]


class AmountsConfig(ConfigSection, extra="allow"):
    """Amounts of resources, also of types of GPUs such as ``gpus:a100``."""

    __pydantic_extra__: dict[str, int]
    cpus: _Count = None
    nodes: _Count = None
    gpus: _Count = None
    mem_bytes: _Count = None

    @model_validator(mode="after")
    def _of_types(self) -> "AmountsConfig":
        faults = []
        for name, amount in self.__pydantic_extra__.items():
            if not is_amount(name):
                faults.append(ConfigFault((name,), "", amount, kind="extra_forbidden"))
            elif amount < 1:
                least = "Input should be greater than or equal to 1"
                faults.append(ConfigFault((name,), least, amount))
        if faults:
            raise refusal("Amounts", faults)
        return self


class StepConfig(AmountsConfig):
    """Amounts from the start of a day on."""

    since: date
    planned: bool = False


if TYPE_CHECKING:

    class _Decides(ConfigSection):
        """Also has a field for each setting of a policy."""

        order: Order = Order.fcfs
        backfill: Backfill | None = None
else:
    _Decides = create_model(
        "_Decides",
        __base__=ConfigSection,
        order=(_Order, Order.fcfs),
        backfill=(Annotated[Backfill | None, Field(strict=False)], None),
        **{
            key: (int | None, Field(default=None, ge=1, le=setting.most))
            for key, setting in SETTINGS.items()
        },
    )


class PoolConfig(_Decides):
    """A set of partitions that share hardware."""

    name: str = Field(min_length=1)
    partitions: tuple[str, ...] = ()
    resource: Annotated[Resource, Field(strict=False)] = Resource.cpus
    capacity: AmountsConfig = AmountsConfig()
    steps: tuple[StepConfig, ...] = ()
    exclusive_nodes: bool = False
    by_nodes: bool | None = None
    placement: Annotated[Placement, Field(strict=False)] = Placement.packed
    fair_order: Annotated[_Order, BeforeValidator(one_of((Order.fcfs, *BY_OWNER)))] = Order.fcfs
    limits: tuple[Limit, ...] = ()
    windows: tuple[Window, ...] = ()
    preemption: tuple[PreemptionRule, ...] = Field(default=(), max_length=60)  # bits of a number
    nodes: tuple[Nodes, ...] = ()

    @property
    def policy(self) -> Policy:
        """The policy that fair start times assume."""
        chosen = {key: getattr(self, key) for key in Policy._fields}
        return Policy(**{key: value for key, value in chosen.items() if value is not None})

    @model_validator(mode="after")
    def _consistent(self) -> "PoolConfig":
        faults = [
            ConfigFault((key,), refused(key), getattr(self, key)) for key in self.policy.not_taken
        ]
        if faults:
            raise refusal("Pool", faults)
        if any(later.since <= earlier.since for earlier, later in pairwise(self.steps)):
            raise ValueError("steps must be in the order of their days, one per day")
        if self.by_nodes and self.steps:
            raise ValueError("by_nodes = true: steps do not say which nodes come or go; remove one")
        both = self.fair_order in BY_OWNER and self.order in BY_USAGE
        if both and self.fair_order is not self.order:
            raise ValueError(
                f'order = "{self.order}" with fair_order = "{self.fair_order}": set both to the '
                'same order, or one of them to "fcfs"'
            )
        return self


PREFIXES: Final = {"user": "u", "account": "a", "group": "g", "reservation": "r"}
"""Columns that can have pseudonyms, and the letter that these begin with."""
DIGITS: Final = 12

Column = Literal["user", "account", "group", "reservation"]


class PeopleConfig(ConfigSection):
    """Groups and accounts of users, and pseudonyms."""

    file: str | None = Field(default=None, min_length=1)
    replace: bool = False
    key_file: str | None = Field(default=None, min_length=1)
    pseudonyms: tuple[Column, ...] = Field(default=("user", "account", "group"), min_length=1)

    @property
    def hidden(self) -> tuple[Column, ...]:
        """The columns with pseudonyms, sorted."""
        return () if self.key_file is None else tuple(sorted(set(self.pseudonyms)))


def faults(
    people: PeopleConfig, usage: UsageConfig, pools: tuple[PoolConfig, ...]
) -> Iterator[ConfigFault]:
    """Yield the names in a cluster's configuration where records have pseudonyms."""
    if usage.associations is not None and {"user", "account"} & set(people.hidden):
        yield ConfigFault(
            ("usage", "associations"),
            "contains names, but records have pseudonyms (people.key_file): use usage.shares",
            usage.associations,
        )
    for where, column, name in _named(usage, pools):
        if column in people.hidden and not is_pseudonym(column, name):
            yield ConfigFault(
                where,
                "is a name, but records have pseudonyms (people.key_file): 'fairaudit pseudonym "
                f"--{column} NAME' prints it",
                name,
            )


def is_pseudonym(column: str, name: str) -> bool:
    """Return whether a name has the form of a pseudonym of its column."""
    return re.fullmatch(rf"{PREFIXES[column]}-[0-9a-f]{{{DIGITS}}}", name) is not None


def _named(
    usage: UsageConfig, pools: tuple[PoolConfig, ...]
) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Yield the key path, the column and the name of each user and account."""
    for key, column in (("users", "user"), ("accounts", "account")):
        for name in getattr(usage, key):
            yield ("usage", key, name), column, name
    for number, share in enumerate(usage.shares):
        for key, column in (("account", "account"), ("parent", "account"), ("user", "user")):
            name = getattr(share, key)
            if name is not None and (name != "root" or column == "user"):
                yield ("usage", "shares", number, key), column, name
    for k, pool in enumerate(pools):
        for key, scopes in (("limits", pool.limits), ("windows", pool.windows)):
            for number, scope in enumerate(scopes):
                for column in ("user", "account"):
                    for name in getattr(scope, column) or ():
                        yield ("pools", k, key, number, column), column, name


PLACEHOLDERS = ("{from}", "{to}", "{from_epoch}", "{to_epoch}")
"""Placeholders in a source's command for the edges of the requested window of time."""


def _faults_of_pools(usage: UsageConfig, pools: tuple[PoolConfig, ...]) -> Iterator[ConfigFault]:
    """Yield resources of pools that usage requires but that are missing."""
    if usage.basis == "node" and not pools:
        yield ConfigFault(
            ("usage", "basis"), "'node' needs pools with a number of nodes", usage.basis
        )
    for k, pool in enumerate(pools):
        given = pool.capacity.model_dump(exclude_none=True)
        known = given.keys() | {pool.resource}
        capacity = ("pools", k, "capacity")
        if usage.basis == "node" and pool.capacity.nodes is None:
            yield ConfigFault(capacity, "usage.basis 'node' needs the number of nodes", given)
        # of a pool without any capacity, all amounts are inferred
        if usage.penalty in ("cpu", "pe") and given and "cpus" not in known:
            yield ConfigFault(capacity, f"usage.penalty {usage.penalty!r} needs the cpus", given)
        charged = known - ({"nodes"} if usage.basis == "node" else set())
        if usage.exempt and charged <= set(usage.exempt):
            what = f"every resource of pool {pool.name!r} is exempt: leave out at least one"
            yield ConfigFault(("usage", "exempt"), what, usage.exempt)


def _faults_of_orders(usage: UsageConfig, pools: tuple[PoolConfig, ...]) -> Iterator[ConfigFault]:
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
            yield ConfigFault(where, what, "classic")
        if usage.alignment == "calendar" and usage.method == "windows":
            yield ConfigFault(where, 'needs usage.alignment "trailing"', usage.alignment)
        if usage.method == "slurm" and usage.half_life_days == 0:
            yield ConfigFault(where, "needs a half-life; a reset alone defines no order", 0)
        if usage.operator != "absolute" and not targets:
            what = (
                f"needs shares for usage.operator {usage.operator!r} (usage.shares, "
                'associations, users or accounts); only "absolute" works without them'
            )
            yield ConfigFault(where, what, usage.operator)


class OriginConfig(ConfigSection):
    """Files, or a command, that a run reads."""

    section: ClassVar[str]
    what: ClassVar[str] = "a source"
    """Its section, and its name in messages."""
    files: str | None = None
    command: tuple[str, ...] | None = None
    timeout_s: int = Field(default=600, ge=1)
    environment: tuple[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], ...] = ()

    @model_validator(mode="after")
    def _either(self) -> "OriginConfig":
        if (self.files is None) == (self.command is None):
            raise ValueError(f"{self.what} needs either files or a command, and not both")
        if self.command is not None and not self.command:
            raise ValueError("a command needs at least a program")
        return self


class EvidenceConfig(OriginConfig):
    """Where samples and logs of the scheduler come from."""

    section: ClassVar[str] = "clusters.evidence"
    what: ClassVar[str] = "evidence"
    kind: Annotated[EvidenceKind, Field(strict=False)]


class SourceConfig(OriginConfig):
    """Where logs of a cluster come from."""

    section: ClassVar[str] = "clusters.sources"
    since: date | None = None
    window_days: int = Field(default=1, ge=1)
    overlap_days: int = Field(default=7, ge=0)
    silent_days: float | None = Field(default=None, gt=0)
    dialect: str | None = None
    columns: tuple[str, ...] | None = None
    separator: str | None = Field(default=None, min_length=1)
    table: TableOption = None
    population: Annotated[Population, Field(strict=False)] | None = None

    @property
    def in_windows(self) -> bool:
        """Whether its command is run for one window of time after another."""
        return bool(self._edges)

    @property
    def _edges(self) -> set[str]:
        used = {name for name in PLACEHOLDERS if any(name in word for word in self.command or ())}
        return {name.strip("{}").split("_")[0] for name in used}

    @model_validator(mode="after")
    def _in_windows(self) -> "SourceConfig":
        faults = []
        if len(self._edges) == 1:
            (edge,) = self._edges
            other = "to" if edge == "from" else "from"
            faults.append(f"a command with {{{edge}}} needs {{{other}}}")
        if self._edges and self.since is None:
            faults.append("since is missing: the first day for {from} and {to}")
        if faults:
            raise ValueError("; ".join(faults))
        return self


class Cluster(ConfigSection):
    """A cluster."""

    name: str = Field(min_length=1)
    zone: str = "UTC"
    period: Literal["day", "week", "month"] = "month"
    pools: tuple[PoolConfig, ...] = ()
    sources: tuple[SourceConfig, ...] = ()
    evidence: tuple[EvidenceConfig, ...] = ()
    hardware: HardwareConfig = HardwareConfig()
    usage: UsageConfig = UsageConfig()
    people: PeopleConfig = PeopleConfig()

    @property
    def populations(self) -> list[Population | None]:
        """The population of each source."""
        return [source.population for source in self.sources]

    @property
    def in_force(self) -> dict[str, Any]:
        """The part of the configuration that the cluster's figures and reports depend on."""
        stated = {"populations": self.populations} if any(self.populations) else {}
        return {"cluster": self.model_dump(mode="json", exclude={"sources", "evidence"}), **stated}

    @field_validator("zone")
    @classmethod
    def _known(cls, value: str) -> str:
        try:
            periods.zone(value)
        except UsageError as error:
            raise ValueError(str(error)) from error
        return value

    @model_validator(mode="after")
    def _distinct_pools(self) -> "Cluster":
        named = [partition for pool in self.pools for partition in pool.partitions]
        if twice := sorted({name for name in named if named.count(name) > 1}):
            raise ValueError(f"partitions in two pools: {', '.join(twice)}")
        if sum(not pool.partitions for pool in self.pools) > 1:
            raise ValueError(
                "only one pool may have no partitions: it gets all that are not listed"
            )
        if len({pool.name for pool in self.pools}) < len(self.pools):
            raise ValueError("two pools have the same name")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> "Cluster":
        found = [
            *_faults_of_pools(self.usage, self.pools),
            *_faults_of_orders(self.usage, self.pools),
            *of_nodes.faults([pool.nodes for pool in self.pools]),
            *faults(self.people, self.usage, self.pools),
        ]
        if found:
            raise refusal("Cluster", found)
        return self
