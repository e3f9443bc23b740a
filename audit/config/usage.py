"""Sections [clusters.usage], decayed usage and its targets, and [clusters.hardware], with the
tables of nodes [[clusters.pools.nodes]].
"""

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    field_validator,
    model_validator,
)

from audit.config.sections import ConfigFault, ConfigSection, checked, in_bytes, one_of, refusal
from audit.hostlists import expand
from audit.words import AMOUNTS, first_of

_Count = Annotated[int | None, Field(ge=0)]
_Text = Annotated[str | None, Field(min_length=1)]


class Nodes(ConfigSection):
    """Some equal nodes of a pool."""

    names: Annotated[
        str, checked(expand, 'must be names of nodes, such as "n[001-100]", at most 65,536')
    ]
    cpus: _Count = None
    mem: Annotated[str, checked(in_bytes, "must be an amount of memory")] | None = None
    gpus: _Count = None
    gpu_type: Annotated[str | None, Field(pattern=r"^[^\s,:=]+$")] = None
    features: tuple[str, ...] | None = None
    partitions: tuple[str, ...] = ()

    @property
    def each(self) -> list[str]:
        """The names, one by one."""
        return expand(self.names) or []


class HardwareConfig(ConfigSection):
    """Files that describe a cluster's nodes, when they were out of service, and its limits."""

    nodes: _Text = None
    events: _Text = None
    reservations: _Text = None
    qmgr: _Text = None


def faults(pools: Sequence[Sequence[Nodes]]) -> Iterator[ConfigFault]:
    """Yield the names of nodes that occur several times in the tables of a cluster's pools."""
    counts = Counter(name for tables in pools for table in tables for name in table.each)
    twice = sorted(name for name, number in counts.items() if number > 1)
    if twice:
        yield ConfigFault(("pools",), f"nodes that occur twice: {first_of(twice)}", twice[0])


_NotNegative = Annotated[float | None, Field(ge=0.0)]
_Positive = Annotated[float | None, Field(gt=0.0)]


class _Numbers(ConfigSection):
    @property
    def given(self) -> dict[str, float]:
        """The numbers that are set, by key."""
        return {name: number for name, number in self if number is not None}


class ByResource(_Numbers):
    """A number for each resource of a request."""

    cpus: _NotNegative = None
    mem_bytes: _NotNegative = None
    gpus: _NotNegative = None
    nodes: _NotNegative = None


class Weights(ByResource):
    """Weights of resources in a penalty; to exclude a resource, exempt it."""

    cpus: _Positive = None
    mem_bytes: _Positive = None
    gpus: _Positive = None
    nodes: _Positive = None


class PriorityWeights(_Numbers):
    """Weights of the factors of Slurm's multifactor priority."""

    age: _NotNegative = None
    fairshare: _NotNegative = None
    jobsize: _NotNegative = None
    partition: _NotNegative = None
    qos: _NotNegative = None


class Share(ConfigSection):
    """The share of an account, or of a user in an account, relative to its siblings."""

    account: str = Field(min_length=1)
    user: _Text = None
    parent: _Text = None
    partition: _Text = None
    share: float | str

    @field_validator("share", mode="plain")
    @classmethod
    def _number_or_parent(cls, value: Any) -> float | str:
        if value == "parent":
            return "parent"
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e300:
            raise ValueError('must be a number of at least 0, or "parent"')
        return float(value)

    @property
    def of(self) -> tuple[str, str | None, str | None]:
        """Account, user and partition of the share."""
        return (self.account, self.user, self.partition)

    @property
    def above(self) -> str | None:
        """The parent account, or None at the top."""
        return self.parent if self.user is None else self.account


Penalty = Literal[
    "cpu", "max", "max_capped", "max_scaled", "product", "product_weighted", "sum", "sum_weighted",
    "root", "root_weighted", "billing", "pe",
]  # fmt: skip
Operator = Literal[
    "absolute", "relative", "relative_n", "sigmoid", "sigmoid_n", "combined", "slurm", "fair_tree",
    "classic",
]  # fmt: skip
_OF_TREES: Final = ("fair_tree", "classic")
_WEIGHTED: Final = ("max_capped", "max_scaled", "product_weighted", "sum_weighted", "root_weighted")
_EXEMPTING: Final = ("root", "root_weighted")
_SUM_TOLERANCE: Final = 1e-6


class UsageConfig(ConfigSection):
    """Decayed usage, and the targets it is compared with."""

    method: Literal["windows", "half_life", "slurm"] = "windows"
    penalty: Penalty = "cpu"
    basis: Literal["pool", "node"] = "pool"
    weights: Weights = Weights()
    exempt: tuple[Annotated[str, BeforeValidator(one_of(AMOUNTS))], ...] = ()
    billing_weights: ByResource = ByResource()
    max_tres: bool = False
    interval_days: int = Field(default=7, ge=1)
    depth: int = Field(default=7, ge=1, le=1000)
    decay: float = Field(default=0.7, ge=0.0)
    alignment: Literal["trailing", "calendar"] = "trailing"
    half_life_days: float = Field(default=7.0, ge=0.0)
    reset: Literal["none", "daily", "weekly", "monthly", "quarterly", "yearly"] = "none"
    recalculation_s: int = Field(default=300, ge=1)
    phase_s: int = Field(default=0, ge=0)
    operator: Operator = "absolute"
    users: dict[str, float] = Field(default={})
    accounts: dict[str, float] = Field(default={})
    shares: tuple[Share, ...] = ()
    associations: _Text = None
    qos: _Text = None
    partitions: _Text = None
    slurm_conf: _Text = None
    priority_weights: PriorityWeights = PriorityWeights()

    @property
    def has_tree(self) -> bool:
        """Whether the targets form a tree."""
        return bool(self.shares) or self.associations is not None

    @model_validator(mode="wrap")
    @classmethod
    def _all_at_once(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Report conflicts between keys together with the faults of single keys."""
        try:
            usage = handler(value)
        except ValidationError as error:
            wrong = {str(item["loc"][0]) for item in error.errors() if item["loc"]}
            if not isinstance(value, dict) or not wrong:
                raise
            sound = handler({key: given for key, given in value.items() if key not in wrong})
            found = [
                ConfigFault(item["loc"], item["msg"], item["input"], kind=item["type"])
                for item in error.errors()
            ]
            found += [fault for fault in _faults(sound) if not fault.judged & wrong]
            raise refusal("Usage", found) from None
        if faults := list(_faults(usage)):
            raise refusal("Usage", faults)
        return usage


def _faults(usage: UsageConfig) -> Iterator[ConfigFault]:
    """Yield the conflicts between the keys of valid settings."""
    yield from _of_penalty(usage)
    yield from _of_decay(usage)
    yield from _of_targets(usage)
    for at, what, given in _of_shares(usage.shares):
        yield ConfigFault(("shares", *at), what, given, frozenset({"shares"}))


def _conflict(usage: UsageConfig, key: str, what: str, *others: str) -> ConfigFault:
    """Return a fault of ``key`` that also depends on ``others``."""
    value = getattr(usage, key)
    given = value.given if isinstance(value, _Numbers) else value
    return ConfigFault((key,), what, given, frozenset({key, *others}))


def _of_penalty(usage: UsageConfig) -> Iterator[ConfigFault]:
    name, billing = usage.penalty, usage.penalty == "billing"
    if usage.weights.given and name not in _WEIGHTED:
        what = f"penalty {name!r} does not use weights; these do: {', '.join(_WEIGHTED)}"
        yield _conflict(usage, "weights", what, "penalty")
    if usage.exempt and name not in _EXEMPTING:
        what = f"penalty {name!r} has no exempt resources; {' and '.join(_EXEMPTING)} have"
        yield _conflict(usage, "exempt", what, "penalty")
    if len(set(usage.exempt)) == len(AMOUNTS):
        yield _conflict(usage, "exempt", "every resource is exempt: leave out at least one")
    weights = usage.billing_weights.given
    if weights and not any(weights.values()):
        yield _conflict(usage, "billing_weights", "no weight is above 0: there would be no usage")
    elif weights and not billing:
        yield _conflict(usage, "billing_weights", f"penalty {name!r} does not use them", "penalty")
    elif billing and not weights and not (usage.partitions or usage.slurm_conf):
        what = "penalty 'billing' needs weights, here or in clusters.usage.partitions"
        yield _conflict(usage, "billing_weights", what, "penalty", "partitions", "slurm_conf")
    if billing and usage.basis == "node":
        yield _conflict(usage, "basis", "penalty 'billing' has no basis", "penalty")
    if usage.max_tres and not billing:
        yield _conflict(usage, "max_tres", f"needs penalty 'billing', not {name!r}", "penalty")


def _of_decay(usage: UsageConfig) -> Iterator[ConfigFault]:
    slurm, no_decay = usage.method == "slurm", usage.half_life_days == 0
    if slurm and usage.penalty != "billing":
        what = "method 'slurm' charges what Slurm bills: 'billing'"
        yield _conflict(usage, "penalty", what, "method")
    if slurm and no_decay and usage.reset == "none" and usage.slurm_conf is None:
        what = (
            "is 0 and usage is never reset, so usage would never decay; set a half-life, or a "
            "reset (clusters.usage.reset)"
        )
        yield _conflict(usage, "half_life_days", what, "reset", "method")
    if no_decay and not slurm:
        what = (
            "must be above 0; only method 'slurm' with a reset accepts 0 (for no decay, use method "
            "'windows' with one window as long as the log)"
        )
        yield _conflict(usage, "half_life_days", what, "method")
    if usage.reset != "none" and not slurm:
        yield _conflict(usage, "reset", f"needs method 'slurm', not {usage.method!r}", "method")


def _of_targets(usage: UsageConfig) -> Iterator[ConfigFault]:
    for key in ("users", "accounts"):
        given: dict[str, float] = getattr(usage, key)
        total = sum(given.values())
        outside = any(not 0 <= part <= 1 for part in given.values())
        if given and (outside or abs(total - 1) > _SUM_TOLERANCE):
            what = (
                f"targets are parts of the whole, 0 to 1, and must sum to 1, not {total:g} "
                "(for numbers relative to one another, use clusters.usage.shares)"
            )
            yield _conflict(usage, key, what)
        if given and usage.has_tree:
            what = "targets are set twice: here and as a tree (shares, associations)"
            yield _conflict(usage, key, what, "shares", "associations")
    if usage.shares and usage.associations is not None:
        what = "the tree is set twice: in shares and in associations"
        yield _conflict(usage, "associations", what, "shares")
    if usage.operator in _OF_TREES and not usage.has_tree:
        what = f"{usage.operator!r} needs a share tree: clusters.usage.shares or .associations"
        yield _conflict(usage, "operator", what, "shares", "associations")


_Misplaced = tuple[tuple[str | int, ...], str, object]
"""Key path among the shares, the message, and the value."""


def _of_shares(shares: tuple[Share, ...]) -> Iterator[_Misplaced]:
    """Yield why shares do not form one tree."""
    accounts = {share.account: share.parent for share in shares if share.user is None}
    counts = Counter(share.of for share in shares)
    for k, share in enumerate(shares):
        is_account = share.user is None
        what = "account" if is_account else f"user {share.user!r} of account"
        if counts[share.of] > 1:
            yield (k,), f"{what} {share.account!r} occurs {counts[share.of]} times", share.of
        if is_account and share.partition is not None:
            yield (k, "partition"), "only users have shares by partition", share.partition
        if is_account and share.share == "parent":
            yield (k, "share"), 'only users can have the share "parent"', share.share
        if not is_account and share.parent is not None:
            yield (k, "parent"), "a user has no parent: it belongs to its account", share.parent
        if share.account == "root":
            yield (k, "account"), "is the whole tree: leave it out", share.account
        if share.above is not None and share.above not in accounts:
            near = difflib.get_close_matches(share.above, accounts, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else "each needs an entry without user"
            key = "parent" if is_account else "account"
            yield (k, key), f"no such account among the shares; {hint}", share.above
        elif is_account and (circle := _circle(share.account, accounts)):
            chain = " below ".join(map(repr, [*circle, circle[0]]))
            yield (k, "parent"), f"is circular: {chain}", share.parent
    for above in dict.fromkeys(share.above for share in shares):
        siblings = [share.share for share in shares if share.above == above]
        if not any(siblings):
            whose = "no account" if above is None else f"nothing below account {above!r}"
            yield (), f"{whose} has a share above 0", siblings


def _circle(account: str, parents: Mapping[str, str | None]) -> list[str]:
    """Return the chain of parents from ``account`` if it leads back to it, else an empty list."""
    above = [account]
    while (parent := parents.get(above[-1])) not in (None, account):
        if parent in above:
            return []
        above.append(str(parent))
    return above if parent else []
