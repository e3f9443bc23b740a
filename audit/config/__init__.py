"""config.toml: typed, frozen, and all its mistakes reported at once.

The shipped config.toml shows every key with its default, and is itself read by a test against the
defaults below. Time in seconds, memory as DuckDB writes it (``4GB``).
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from audit import periods
from audit.errors import ConfigError, UsageError

_UNITS: dict[str, int] = {
    **{f"{unit}B": 1000**power for power, unit in enumerate("KMGT", start=1)},
    **{f"{unit}iB": 1024**power for power, unit in enumerate("KMGT", start=1)},
}


def in_bytes(amount: str) -> int:
    """An amount of memory such as ``4GB`` or ``512MiB``, in bytes.

    Raises:
        ValueError: it is none.
    """
    number = amount.rstrip("KMGTiB")
    unit = _UNITS.get(amount.removeprefix(number))
    if unit is None or not (number.isascii() and number.isdigit()) or int(number) == 0:
        raise ValueError('must be an amount with its unit, such as "4GB"')
    return int(number) * unit


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def _amount(value: str) -> str:
    in_bytes(value)
    return value


_Amount = Annotated[str, AfterValidator(_amount)]


class Metrics(_Section):
    """How figures are computed."""

    tau_s: int = Field(default=10, ge=1)
    resource_equality_weights: Literal["size", "jobs"] = "size"
    count_never_started: bool = False
    keep_single_job_users: bool = False
    tolerance_s: int = Field(default=60, ge=0)


class Simulation(_Section):
    """How fair start times are computed."""

    threads: int = Field(default=0, ge=0)


class Uncertainty(_Section):
    """Bootstrap intervals (SPEC §5)."""

    resamples: int = Field(default=1000, ge=100, le=100_000)


class Ingest(_Section):
    """Taking logs in."""

    refused_limit: float = Field(default=0.05, ge=0.0, le=1.0)


class Store(_Section):
    """The database."""

    memory_limit: _Amount = "4GB"


class Sql(_Section):
    """Limits of ``fairaudit sql``."""

    timeout_s: int = Field(default=60, ge=1)
    memory_limit: _Amount = "2GB"
    rows: int = Field(default=1000, ge=1)


class Report(_Section):
    """What the report shows."""

    rows: int = Field(default=10, ge=1, le=100)
    examples: int = Field(default=3, ge=0, le=20)
    pdf: bool = True
    pdf_timeout_s: int = Field(default=120, ge=1)
    pdf_memory_limit: str = "2GB"

    @field_validator("pdf_memory_limit")
    @classmethod
    def _amount(cls, value: str) -> str:
        in_bytes(value)
        return value


class Output(_Section):
    """Where ``fairaudit run`` keeps and puts things; relative to the configuration's folder."""

    state: str = "fairaudit-state"
    reports: str = "fairaudit-reports"
    database: str = "fairaudit.duckdb"
    shared_with_group: bool = False


def _times(value: str) -> str:
    """Five fields as in a crontab; the timetable (audit/nightly/timetable.py) reads them."""
    fields = value.split()
    if len(fields) != 5 or not all(re.fullmatch(r"[A-Za-z0-9*,/-]+", field) for field in fields):
        raise ValueError(
            'must be minute, hour, day, month and day of the week, such as "30 4 * * *"'
        )
    if re.search(r"(?<!/)\d", fields[4]):
        raise ValueError("days of the week are named here: mon, tue, wed, thu, fri, sat, sun")
    return value


class Service(_Section):
    """When ``fairaudit service`` runs."""

    times: str = "30 4 * * *"
    by_cluster: dict[str, str] = {}
    overdue_s: int = Field(default=7200, ge=60)

    @field_validator("times")
    @classmethod
    def _five_fields(cls, value: str) -> str:
        return _times(value)

    @field_validator("by_cluster")
    @classmethod
    def _all_five_fields(cls, value: dict[str, str]) -> dict[str, str]:
        return {name: _times(text) for name, text in value.items()}


class Retention(_Section):
    """What is kept; 0 keeps all."""

    reports: int = Field(default=0, ge=0)
    reports_days: int = Field(default=0, ge=0)
    runs_days: int = Field(default=400, ge=0)
    refused_days: int = Field(default=0, ge=0)
    compact: bool = True


class Threshold(_Section):
    """A figure that must not be exceeded; where it is, ``run`` ends with exit code 1."""

    metric: str
    above: float
    dimension: str = "all"


class Amounts(_Section):
    """Amounts of what a pool has."""

    cpus: int | None = Field(default=None, ge=1)
    nodes: int | None = Field(default=None, ge=1)
    gpus: int | None = Field(default=None, ge=1)
    mem_bytes: int | None = Field(default=None, ge=1)


class Step(Amounts):
    """Amounts that hold from the start of a day on."""

    since: date
    planned: bool = False


class Pool(_Section):
    """A set of partitions that share hardware."""

    name: str = Field(min_length=1)
    partitions: tuple[str, ...] = ()
    resource: Literal["cpus", "nodes", "gpus"] = "cpus"
    capacity: Amounts = Amounts()
    steps: tuple[Step, ...] = ()
    exclusive_nodes: bool = False
    order: Literal["fcfs", "sjf", "lxf", "recorded", "fairshare", "nuwt"] = "fcfs"
    fair_order: Literal["fcfs", "fairshare", "nuwt"] = "fcfs"
    backfill: Literal["none", "no_guarantee", "easy", "conservative", "conservative_replan"] = (
        "easy"
    )
    depth: int | None = Field(default=None, ge=1)
    window_s: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _in_order(self) -> Pool:
        days = [step.since for step in self.steps]
        if any(later <= earlier for earlier, later in pairwise(days)):
            raise ValueError("steps must be in the order of their days, each day once")
        return self

    @model_validator(mode="after")
    def _orders_together(self) -> Pool:
        if {self.order, self.fair_order} == {"fairshare", "nuwt"}:
            raise ValueError(
                f'order = "{self.order}" with fair_order = "{self.fair_order}": take the same, or '
                'one of them "fcfs"'
            )
        return self


PLACEHOLDERS = ("{from}", "{to}", "{from_epoch}", "{to_epoch}")
"""What in a source's command stands for the edges of the window of time that is asked for."""


class Source(_Section):
    """Where a cluster's logs come from."""

    files: str | None = None
    command: tuple[str, ...] | None = None
    timeout_s: int = Field(default=600, ge=1)
    since: date | None = None
    window_days: int = Field(default=1, ge=1)
    overlap_days: int = Field(default=7, ge=0)
    environment: tuple[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], ...] = ()
    dialect: str | None = None
    columns: tuple[str, ...] | None = None
    separator: str | None = Field(default=None, min_length=1)

    @property
    def in_windows(self) -> bool:
        """Whether its command is asked for one window of time after another."""
        return bool(self._placeholders)

    @property
    def _placeholders(self) -> set[str]:
        return {name for name in PLACEHOLDERS if any(name in word for word in self.command or ())}

    @model_validator(mode="after")
    def _one_kind(self) -> Source:
        if (self.files is None) == (self.command is None):
            raise ValueError("a source has either files or a command")
        if self.command is not None and not self.command:
            raise ValueError("a command has at least a program")
        wrong = []
        edges = {name.strip("{}").split("_")[0] for name in self._placeholders}
        if len(edges) == 1:
            (edge,) = edges
            wrong.append(
                f"a command with {{{edge}}} needs {{{'to' if edge == 'from' else 'from'}}}"
            )
        if edges and self.since is None:
            wrong.append("since is missing: the first day that {from} and {to} shall ask for")
        if self.since is not None and not edges:
            wrong.append("since is for a command with {from} and {to} among its words")
        if wrong:
            raise ValueError("; ".join(wrong))
        return self


class _Fault(NamedTuple):
    """Something wrong within a section."""

    at: tuple[str | int, ...]
    """Key path within the section."""
    what: str
    given: object
    reads: frozenset[str] = frozenset()
    """The section's keys that it judges, where it judges several."""
    kind: str = "fault"


def _own(error: ValidationError) -> Iterator[_Fault]:
    """What pydantic found."""
    for item in error.errors():
        yield _Fault(item["loc"], item["msg"], item["input"], kind=item["type"])


def _refusal(section: str, faults: Iterable[_Fault]) -> ValidationError:
    """Faults as pydantic reports those of single values, so that all are listed together."""
    return ValidationError.from_exception_data(
        section,
        [
            InitErrorDetails(
                # the text is no template: names in it may have braces
                type=PydanticCustomError(fault.kind, "{what}", {"what": fault.what}),
                loc=fault.at,
                input=fault.given,
            )
            for fault in faults
        ],
    )


class ByResource(_Section):
    """A number for each resource of a request."""

    cpus: float | None = Field(default=None, ge=0.0)
    mem_bytes: float | None = Field(default=None, ge=0.0)
    gpus: float | None = Field(default=None, ge=0.0)
    nodes: float | None = Field(default=None, ge=0.0)

    @property
    def given(self) -> dict[str, float]:
        """Those that are given, by resource."""
        return {name: number for name, number in self if number is not None}


class Weights(ByResource):
    """How much a resource counts; 0 would not be a weight but a resource that is left out."""

    cpus: float | None = Field(default=None, gt=0.0)
    mem_bytes: float | None = Field(default=None, gt=0.0)
    gpus: float | None = Field(default=None, gt=0.0)
    nodes: float | None = Field(default=None, gt=0.0)


class Share(_Section):
    """The part of an account, or of a user below its account, relative to its siblings."""

    account: str = Field(min_length=1)
    user: str | None = Field(default=None, min_length=1)
    parent: str | None = Field(default=None, min_length=1)
    partition: str | None = Field(default=None, min_length=1)
    share: float | str

    @field_validator("share", mode="plain")
    @classmethod
    def _number_or_parent(cls, value: Any) -> float | str:
        if value == "parent":
            return "parent"
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e300:
            raise ValueError('must be a number from 0 on, or "parent"')
        return float(value)

    @property
    def of(self) -> tuple[str, str | None, str | None]:
        """What it is the share of: account, user, partition."""
        return (self.account, self.user, self.partition)

    @property
    def above(self) -> str | None:
        """The account to which it belongs; None: everything."""
        return self.parent if self.user is None else self.account


Resource = Literal["cpus", "mem_bytes", "gpus", "nodes"]
Penalty = Literal[
    "cpu", "max", "max_capped", "max_scaled", "product", "product_weighted", "sum", "sum_weighted",
    "root", "root_weighted", "billing", "pe",
]  # fmt: skip
Operator = Literal[
    "absolute", "relative", "relative_n", "sigmoid", "sigmoid_n", "combined", "slurm", "fair_tree",
    "classic",
]  # fmt: skip
OF_TREES = ("fair_tree", "classic")
"""Operators that need a share tree: Slurm's own algorithms."""
_WEIGHTED = ("max_capped", "max_scaled", "product_weighted", "sum_weighted", "root_weighted")
_EXEMPTING = ("root", "root_weighted")
_SUM_TOLERANCE = 1e-6


class Usage(_Section):
    """Decayed usage, and the targets it is compared with."""

    method: Literal["windows", "half_life", "slurm"] = "windows"
    penalty: Penalty = "cpu"
    basis: Literal["pool", "node"] = "pool"
    weights: Weights = Weights()
    exempt: tuple[Resource, ...] = ()
    billing_weights: ByResource = ByResource()
    max_tres: bool = False
    interval_days: int = Field(default=7, ge=1)
    depth: int = Field(default=7, ge=1, le=1000)
    decay: float = Field(default=0.7, ge=0.0)
    alignment: Literal["trailing", "calendar"] = "trailing"
    half_life_days: float = Field(default=7.0, ge=0.0)
    reset: Literal["none", "daily", "weekly", "monthly", "quarterly", "yearly"] = "none"
    recalculation_s: int = Field(default=300, ge=1)
    operator: Operator = "absolute"
    users: dict[str, float] = {}
    accounts: dict[str, float] = {}
    shares: tuple[Share, ...] = ()
    associations: str | None = Field(default=None, min_length=1)
    qos: str | None = Field(default=None, min_length=1)
    partitions: str | None = Field(default=None, min_length=1)
    slurm_conf: str | None = Field(default=None, min_length=1)

    @property
    def has_tree(self) -> bool:
        """Whether targets form a tree."""
        return bool(self.shares) or self.associations is not None

    @model_validator(mode="wrap")
    @classmethod
    def _all_at_once(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Says what does not go together beside what is wrong by itself."""
        try:
            usage = handler(value)
        except ValidationError as error:
            wrong = {str(item["loc"][0]) for item in error.errors() if item["loc"]}
            if not isinstance(value, dict) or not wrong:
                raise
            sound = handler({key: given for key, given in value.items() if key not in wrong})
            found = [fault for fault in _faults(sound) if not fault.reads & wrong]
            raise _refusal("Usage", [*_own(error), *found]) from None
        if found := list(_faults(usage)):
            raise _refusal("Usage", found)
        return usage


def _faults(usage: Usage) -> Iterator[_Fault]:
    """What does not go together in good settings of usage."""
    yield from _faults_of_penalty(usage)
    yield from _faults_of_decay(usage)
    yield from _faults_of_targets(usage)
    yield from (
        _Fault(("shares", *at), what, given, frozenset({"shares"}))
        for at, what, given in _faults_of_shares(usage.shares)
    )


def _faults_of_penalty(usage: Usage) -> Iterator[_Fault]:
    name = usage.penalty
    if usage.weights.given and name not in _WEIGHTED:
        yield _Fault(
            ("weights",),
            f"penalty {name!r} has no weights, so they would not count; "
            f"those that have are {', '.join(_WEIGHTED)}",
            usage.weights.given,
            frozenset({"weights", "penalty"}),
        )
    if usage.exempt and name not in _EXEMPTING:
        yield _Fault(
            ("exempt",),
            f"penalty {name!r} knows no exempt resources; {' and '.join(_EXEMPTING)} do",
            usage.exempt,
            frozenset({"exempt", "penalty"}),
        )
    if len(set(usage.exempt)) == len(get_args(Resource)):
        yield _Fault(
            ("exempt",),
            "every resource is exempt: leave one whose full use costs everything",
            usage.exempt,
            frozenset({"exempt"}),
        )
    billed = frozenset({"billing_weights", "penalty"})
    weights = usage.billing_weights.given
    if weights and not any(weights.values()):
        yield _Fault(("billing_weights",), "none is above 0: nothing would be usage", weights)
    elif weights and name != "billing":
        yield _Fault(("billing_weights",), f"penalty {name!r} does not read them", weights, billed)
    elif name == "billing" and not weights and usage.partitions is None:
        yield _Fault(
            ("billing_weights",),
            "penalty 'billing' needs weights: here, or those of a file of partitions "
            "(clusters.usage.partitions)",
            weights,
            billed | {"partitions"},
        )
    if name == "billing" and usage.basis == "node":
        yield _Fault(
            ("basis",),
            "penalty 'billing' is made of amounts and knows no basis",
            usage.basis,
            frozenset({"basis", "penalty"}),
        )
    if usage.max_tres and name != "billing":
        yield _Fault(
            ("max_tres",),
            f"is of penalty 'billing', not of {name!r}",
            True,
            frozenset({"max_tres", "penalty"}),
        )


def _faults_of_decay(usage: Usage) -> Iterator[_Fault]:
    if usage.method == "slurm":
        if usage.penalty != "billing":
            yield _Fault(
                ("penalty",),
                "method 'slurm' charges what Slurm bills: 'billing'",
                usage.penalty,
                frozenset({"method", "penalty"}),
            )
        if usage.half_life_days == 0 and usage.reset == "none" and usage.slurm_conf is None:
            yield _Fault(
                ("half_life_days",),
                "is 0 and usage is never reset: nothing would ever be forgotten; give a "
                "half-life, or say when usage begins anew (clusters.usage.reset)",
                usage.half_life_days,
                frozenset({"half_life_days", "reset", "method"}),
            )
        return
    if usage.half_life_days == 0:
        yield _Fault(
            ("half_life_days",),
            "must be above 0: 0 does not switch decay off (without decay: method 'windows', one "
            "window as long as the log); only method 'slurm' with a reset knows 0",
            usage.half_life_days,
            frozenset({"half_life_days", "method"}),
        )
    if usage.reset != "none":
        yield _Fault(
            ("reset",),
            f"is of method 'slurm', not of {usage.method!r}",
            usage.reset,
            frozenset({"reset", "method"}),
        )


def _faults_of_targets(usage: Usage) -> Iterator[_Fault]:
    for key in ("users", "accounts"):
        given: dict[str, float] = getattr(usage, key)
        outside = {name: part for name, part in given.items() if not 0 <= part <= 1}
        total = sum(given.values())
        if given and (outside or abs(total - 1) > _SUM_TOLERANCE):
            yield _Fault(
                (key,),
                f"targets are parts of everything, 0 to 1, and must sum to 1, not {total:g} "
                "(numbers relative to one another are clusters.usage.shares)",
                given,
                frozenset({key}),
            )
        if given and usage.has_tree:
            yield _Fault(
                (key,),
                "targets are given twice: either here or as a tree (shares, associations)",
                given,
                frozenset({key, "shares", "associations"}),
            )
    if usage.shares and usage.associations is not None:
        yield _Fault(
            ("associations",),
            "the tree is given twice: either shares or associations",
            usage.associations,
            frozenset({"shares", "associations"}),
        )
    if usage.operator in OF_TREES and not usage.has_tree:
        yield _Fault(
            ("operator",),
            f"{usage.operator!r} needs a share tree: clusters.usage.shares or .associations",
            usage.operator,
            frozenset({"operator", "shares", "associations"}),
        )


Misplaced = tuple[tuple[str | int, ...], str, object]
"""Where among shares, what is wrong, and what was given."""


def _faults_of_shares(shares: tuple[Share, ...]) -> Iterator[Misplaced]:
    """What keeps shares from being those of one tree."""
    accounts = {share.account: share.parent for share in shares if share.user is None}
    counts = Counter(share.of for share in shares)
    for k, share in enumerate(shares):
        what = f"user {share.user!r} of account" if share.user is not None else "account"
        if counts[share.of] > 1:
            yield (k,), f"{what} {share.account!r} is given {counts[share.of]} times", share.of
        if share.user is None and share.partition is not None:
            yield (k, "partition"), "only users have shares by partition", share.partition
        if share.user is None and share.share == "parent":
            yield (k, "share"), "only a user competes beside its account", share.share
        if share.user is not None and share.parent is not None:
            yield (k, "parent"), "a user is below its account, and has no parent", share.parent
        if share.account == "root":
            yield (k, "account"), "stands for everything: leave it out", share.account
        key = "parent" if share.user is None else "account"
        if share.above is not None and share.above not in accounts:
            near = difflib.get_close_matches(share.above, accounts, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else "each has an entry without user"
            yield (k, key), f"no such account among the shares; {hint}", share.above
        elif share.user is None and share.account in (circle := _circle(share.account, accounts)):
            chain = " below ".join(map(repr, [*circle, circle[0]]))
            yield (k, "parent"), f"goes round in a circle: {chain}", share.parent
    for above in {share.above: None for share in shares}:
        own = [share.share for share in shares if share.above == above]
        if not any(own):
            whose = "no account" if above is None else f"nothing below account {above!r}"
            yield (), f"{whose} has a share above 0, so none has a target", own


def _circle(account: str, parents: Mapping[str, str | None]) -> list[str]:
    """The accounts above ``account``, itself first, if that leads back to it; else none."""
    above = [account]
    while (parent := parents.get(above[-1])) is not None:
        if parent == account:
            return above
        if parent in above:
            return []
        above.append(parent)
    return []


def _faults_of_pools(usage: Usage, pools: tuple[Pool, ...]) -> Iterator[_Fault]:
    """What usage needs to know of pools and they do not say."""
    if usage.basis == "node" and not pools:
        yield _Fault(("usage", "basis"), "'node' needs pools with a number of nodes", usage.basis)
    for k, pool in enumerate(pools):
        given = pool.capacity.model_dump(exclude_none=True)
        known = given.keys() | {pool.resource}
        capacity = ("pools", k, "capacity")
        if usage.basis == "node" and pool.capacity.nodes is None:
            yield _Fault(capacity, "usage.basis 'node' needs the number of nodes", given)
        if usage.penalty in ("cpu", "pe") and "cpus" not in known:
            yield _Fault(capacity, f"usage.penalty {usage.penalty!r} needs the cpus", given)
        read = known - ({"nodes"} if usage.basis == "node" else set())
        if usage.exempt and read <= set(usage.exempt):
            yield _Fault(
                ("usage", "exempt"),
                f"all that pool {pool.name!r} has is exempt: leave something whose full use costs "
                "everything",
                usage.exempt,
            )


def _faults_of_orders(usage: Usage, pools: tuple[Pool, ...]) -> Iterator[_Fault]:
    """Settings by which a queue, or what is fair, cannot be ordered."""
    for k, pool in enumerate(pools):
        for key in ("order", "fair_order"):
            if getattr(pool, key) != "fairshare":
                continue
            where = ("pools", k, key)
            if usage.operator == "classic":
                yield _Fault(
                    where, 'needs another usage.operator than "classic", such as "slurm"', "classic"
                )
            if usage.alignment == "calendar" and usage.method == "windows":
                yield _Fault(where, 'needs usage.alignment "trailing"', usage.alignment)
            if usage.method == "slurm" and usage.half_life_days == 0:
                yield _Fault(where, "needs a half-life: a reset alone orders nothing", 0)
            targets = usage.users or usage.accounts or usage.has_tree
            if usage.operator != "absolute" and not targets:
                yield _Fault(
                    where,
                    f"needs shares for usage.operator {usage.operator!r} (usage.shares, "
                    'associations, users or accounts); without any, "absolute" goes by usage alone',
                    usage.operator,
                )


class Cluster(_Section):
    """One cluster: its pools, its logs, its periods."""

    name: str = Field(min_length=1)
    zone: str = "UTC"
    period: Literal["day", "week", "month"] = "month"
    pools: tuple[Pool, ...] = ()
    sources: tuple[Source, ...] = ()
    usage: Usage = Usage()

    @field_validator("zone")
    @classmethod
    def _known(cls, value: str) -> str:
        try:
            periods.zone(value)
        except UsageError as error:
            raise ValueError(str(error)) from error
        return value

    @model_validator(mode="after")
    def _no_partition_twice(self) -> Cluster:
        named = [partition for pool in self.pools for partition in pool.partitions]
        if twice := sorted({name for name in named if named.count(name) > 1}):
            raise ValueError(f"partitions in two pools: {', '.join(twice)}")
        if len(self.pools) > 1 and sum(not pool.partitions for pool in self.pools) > 1:
            raise ValueError("only one pool may leave out its partitions: it gets all others")
        names = [pool.name for pool in self.pools]
        if len(set(names)) < len(names):
            raise ValueError("two pools have the same name")
        return self

    @model_validator(mode="after")
    def _pools_have_what_is_charged(self) -> Cluster:
        found = [
            *_faults_of_pools(self.usage, self.pools),
            *_faults_of_orders(self.usage, self.pools),
        ]
        if found:
            raise _refusal("Cluster", found)
        return self


class Mail(_Section):
    """How reports leave."""

    via: Literal["none", "smtp", "outbox"] = "none"
    outbox: str = "fairaudit-outbox"
    host: str = "localhost"
    port: int | None = Field(default=None, ge=1, le=65535)
    security: Literal["starttls", "tls", "none"] = "starttls"
    ca_file: str | None = None
    user: str | None = Field(default=None, pattern=r"^[!-~]+$")
    password_env: str | None = Field(default=None, min_length=1)
    password_file: str | None = Field(default=None, min_length=1)
    timeout_s: int = Field(default=60, ge=1, le=3600)
    attempts: int = Field(default=4, ge=1, le=20)
    backoff_s: int = Field(default=60, ge=0, le=3600)
    sender: str | None = None
    domains: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    subject: str = "Fairness of {cluster}, {period}"
    message_id_domain: str | None = None
    backlog: int = Field(default=7, ge=1)
    corrections: bool = False
    attachments_mb: float = Field(default=10.0, ge=0.0)

    @field_validator("host")
    @classmethod
    def _bare_host(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9._:\-]+", value):
            raise ValueError("must be the name of a host alone: no scheme, user, password or port")
        return value

    @field_validator("sender")
    @classmethod
    def _sender(cls, value: str | None) -> str | None:
        return value if value is None else _address(value)

    @field_validator("message_id_domain")
    @classmethod
    def _domain(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(_DOMAIN, value):
            raise ValueError("must be a domain, such as example.org")
        return value

    @field_validator("domains")
    @classmethod
    def _domains(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [name for name in value if not re.fullmatch(_DOMAIN, name)]:
            raise ValueError(f"not a domain, such as example.org: {', '.join(map(repr, wrong))}")
        return tuple(name.lower() for name in value)

    @field_validator("subject")
    @classmethod
    def _known_names(cls, value: str) -> str:
        if not value.strip() or not value.isprintable():
            raise ValueError("must be one line of printable text")
        if unknown := sorted(set(re.findall(r"\{(.*?)\}", value)) - set(SUBJECT_NAMES)):
            raise ValueError(
                f"{{{unknown[0]}}} is unknown; known are "
                + ", ".join(f"{{{name}}}" for name in SUBJECT_NAMES)
            )
        return value

    @model_validator(mode="after")
    def _whole(self) -> Mail:
        if self.via != "none" and self.sender is None:
            raise ValueError("sender is missing: the address that reports are sent from")
        secrets = (self.password_env is not None) + (self.password_file is not None)
        if secrets > 1:
            raise ValueError("either password_env or password_file, not both")
        if secrets != (self.user is not None):
            raise ValueError("a login is user together with password_env or password_file")
        if self.user is not None and self.security == "none":
            raise ValueError('security = "none" would send the password for everybody to read')
        return self


class Recipient(_Section):
    """Who gets which reports."""

    addresses: tuple[str, ...] = Field(min_length=1)
    clusters: tuple[str, ...] = ()
    periods: tuple[Literal["day", "week", "month"], ...] = ()
    accounts: tuple[str, ...] = ()
    attach: tuple[Literal["pdf", "csv"], ...] | None = None
    charts: bool = True


SUBJECT_NAMES = ("cluster", "period", "from", "to", "state", "accounts")
"""What ``mail.subject`` may name."""

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_DOMAIN = rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*"
_LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"


def _address(text: str) -> str:
    """A bare address, as SMTP takes it without extensions; its domain in small letters."""
    if len(text) > 254 or not re.fullmatch(rf"{_LOCAL}@{_DOMAIN}", text):
        raise ValueError("must be one bare address, such as anna@example.org")
    local, domain = text.rsplit("@", 1)
    return f"{local}@{domain.lower()}"


def allowed(address: str, domains: tuple[str, ...]) -> str:
    """The address as it is written to.

    Args:
        address: a bare one.
        domains: ``mail.domains``; empty allows any.

    Raises:
        ValueError: it is none, or lies in none of ``domains``.
    """
    good = _address(address)
    if domains and good.rsplit("@", 1)[1] not in domains:
        raise ValueError(f"its domain is not among mail.domains ({', '.join(domains)})")
    return good


class Config(_Section):
    """A whole config.toml."""

    metrics: Metrics = Metrics()
    simulation: Simulation = Simulation()
    uncertainty: Uncertainty = Uncertainty()
    ingest: Ingest = Ingest()
    store: Store = Store()
    sql: Sql = Sql()
    report: Report = Report()
    output: Output = Output()
    service: Service = Service()
    retention: Retention = Retention()
    thresholds: tuple[Threshold, ...] = ()
    clusters: tuple[Cluster, ...] = ()
    mail: Mail = Mail()
    recipients: tuple[Recipient, ...] = ()

    @field_validator("clusters")
    @classmethod
    def _each_once(cls, value: tuple[Cluster, ...]) -> tuple[Cluster, ...]:
        names = [cluster.name for cluster in value]
        if len(set(names)) < len(names):
            raise ValueError("two clusters have the same name")
        return value

    @model_validator(mode="after")
    def _known_recipients(self) -> Config:
        """Each address is one, and lies where mail may go; each named cluster exists."""
        clusters = [cluster.name for cluster in self.clusters]
        wrong = []
        named = [
            *((f"mail.operators[{k}]", address) for k, address in enumerate(self.mail.operators)),
            *(
                (f"recipients[{number}].addresses[{k}]", address)
                for number, recipient in enumerate(self.recipients)
                for k, address in enumerate(recipient.addresses)
            ),
        ]
        for path, address in named:
            try:
                allowed(address, self.mail.domains)
            except ValueError as error:
                wrong.append(f"{path}: {error} (it is {address!r})")
        wrong += [
            f"recipients[{number}].clusters[{k}]: no cluster {name!r}; "
            f"known are {', '.join(clusters) or 'none'}"
            for number, recipient in enumerate(self.recipients)
            for k, name in enumerate(recipient.clusters)
            if name not in clusters
        ]
        if wrong:
            raise ValueError("\n  ".join(wrong))
        return self

    @model_validator(mode="after")
    def _known_times(self) -> Config:
        known = [cluster.name for cluster in self.clusters]
        if unknown := sorted(set(self.service.by_cluster) - set(known)):
            raise ValueError(
                f"service.by_cluster.{unknown[0]}: no such cluster; "
                f"known are {', '.join(known) or 'none'}"
            )
        return self


def load(path: Path) -> Config:
    """Reads a config.toml.

    Raises:
        ConfigError: it cannot be read, is no TOML, or has wrong keys or values: all of them are
            listed, each by key path, unknown ones with the nearest key that exists.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    try:
        return Config.model_validate(_tuples(content))
    except ValidationError as error:
        lines = [f"  {_describe(dict(item))}" for item in error.errors()]
        # without its cause, which repeats what was given: a password in the wrong place, say
        raise ConfigError(f"{path}: {len(lines)} wrong:\n" + "\n".join(lines)) from None


def _tuples(value: Any) -> Any:
    """TOML's arrays as tuples, which are what a frozen section holds."""
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    return value


def _describe(error: dict[str, Any]) -> str:
    path = [part for part in error["loc"] if part != "[key]"]
    key = _path(path)
    if error["type"] == "extra_forbidden":
        *parents, last = path
        if path == ["mail", "password"]:
            return (
                f"{key}: a password has no place in this file; name the environment variable "
                "(mail.password_env) or the private file (mail.password_file) that holds it"
            )
        known = _keys(parents)
        near = difflib.get_close_matches(str(last), known, n=1, cutoff=0.5)
        hint = (
            f"did you mean {_path([*parents, near[0]])}?"
            if near
            else f"known here: {', '.join(known)}"
        )
        return f"{key}: no such key; {hint}"
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "missing":
        return f"{key}: is missing"
    if not path:  # of several sections; the message names the keys
        return message
    shown = repr(error["input"])
    # A whole section, or what was put in the place of a host, may hold a password.
    tell = len(shown) < 80 and not isinstance(error["input"], dict) and path != ["mail", "host"]
    return f"{key}: {message}" + (f" (it is {shown})" if tell else "")


def _path(parts: list[Any]) -> str:
    """``clusters[0].zone`` for the parts of a key path; entries of arrays count from 0."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the file"


def _keys(parents: list[Any]) -> list[str]:
    """The keys that a section knows."""
    section: Any = Config
    for parent in parents:
        if not isinstance(parent, int):
            section = section.model_fields[parent].annotation
        inner = [part for part in get_args(section) if part is not Ellipsis]
        section = inner[0] if isinstance(parent, int) and inner else section
    return list(section.model_fields)
