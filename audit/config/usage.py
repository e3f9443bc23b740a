"""Decayed usage, the targets it is compared with, and what does not go together in them."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    field_validator,
    model_validator,
)

from audit.config.sections import Fault, Section, faults_of, one_of, refusal
from audit.words import AMOUNTS


class ByResource(Section):
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


class PriorityWeights(Section):
    """How much each factor of Slurm's multifactor priority counts."""

    age: float | None = Field(default=None, ge=0.0)
    fairshare: float | None = Field(default=None, ge=0.0)
    jobsize: float | None = Field(default=None, ge=0.0)
    partition: float | None = Field(default=None, ge=0.0)
    qos: float | None = Field(default=None, ge=0.0)

    @property
    def given(self) -> dict[str, float]:
        """Those that are given, by factor."""
        return {name: weight for name, weight in self if weight is not None}


class Share(Section):
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


Penalty = Literal[
    "cpu", "max", "max_capped", "max_scaled", "product", "product_weighted", "sum", "sum_weighted",
    "root", "root_weighted", "billing", "pe",
]  # fmt: skip
Operator = Literal[
    "absolute", "relative", "relative_n", "sigmoid", "sigmoid_n", "combined", "slurm", "fair_tree",
    "classic",
]  # fmt: skip
_OF_TREES = ("fair_tree", "classic")
"""Operators that need a share tree: Slurm's own algorithms."""
_WEIGHTED = ("max_capped", "max_scaled", "product_weighted", "sum_weighted", "root_weighted")
_EXEMPTING = ("root", "root_weighted")
_SUM_TOLERANCE = 1e-6


class Usage(Section):
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
    associations: str | None = Field(default=None, min_length=1)
    qos: str | None = Field(default=None, min_length=1)
    partitions: str | None = Field(default=None, min_length=1)
    slurm_conf: str | None = Field(default=None, min_length=1)
    priority_weights: PriorityWeights = PriorityWeights()

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
            together = [fault for fault in _faults(sound) if not fault.judged & wrong]
            raise refusal("Usage", [*faults_of(error), *together]) from None
        if faults := list(_faults(usage)):
            raise refusal("Usage", faults)
        return usage


def _faults(usage: Usage) -> Iterator[Fault]:
    """What does not go together in good settings of usage."""
    yield from _faults_of_penalty(usage)
    yield from _faults_of_decay(usage)
    yield from _faults_of_targets(usage)
    yield from (
        Fault(("shares", *at), what, given, frozenset({"shares"}))
        for at, what, given in _faults_of_shares(usage.shares)
    )


def _faults_of_penalty(usage: Usage) -> Iterator[Fault]:
    name = usage.penalty
    if usage.weights.given and name not in _WEIGHTED:
        yield Fault(
            ("weights",),
            f"penalty {name!r} has no weights, so they would not count; "
            f"those that have are {', '.join(_WEIGHTED)}",
            usage.weights.given,
            frozenset({"weights", "penalty"}),
        )
    if usage.exempt and name not in _EXEMPTING:
        yield Fault(
            ("exempt",),
            f"penalty {name!r} knows no exempt resources; {' and '.join(_EXEMPTING)} do",
            usage.exempt,
            frozenset({"exempt", "penalty"}),
        )
    if len(set(usage.exempt)) == len(AMOUNTS):
        yield Fault(
            ("exempt",),
            "every resource is exempt: leave one whose full use costs everything",
            usage.exempt,
            frozenset({"exempt"}),
        )
    billed = frozenset({"billing_weights", "penalty"})
    weights = usage.billing_weights.given
    if weights and not any(weights.values()):
        yield Fault(("billing_weights",), "none is above 0: nothing would be usage", weights)
    elif weights and name != "billing":
        yield Fault(("billing_weights",), f"penalty {name!r} does not read them", weights, billed)
    elif name == "billing" and not weights and not (usage.partitions or usage.slurm_conf):
        yield Fault(
            ("billing_weights",),
            "penalty 'billing' needs weights: here, or those of a file of partitions "
            "(clusters.usage.partitions)",
            weights,
            billed | {"partitions", "slurm_conf"},
        )
    if name == "billing" and usage.basis == "node":
        yield Fault(
            ("basis",),
            "penalty 'billing' is made of amounts and knows no basis",
            usage.basis,
            frozenset({"basis", "penalty"}),
        )
    if usage.max_tres and name != "billing":
        yield Fault(
            ("max_tres",),
            f"is of penalty 'billing', not of {name!r}",
            True,
            frozenset({"max_tres", "penalty"}),
        )


def _faults_of_decay(usage: Usage) -> Iterator[Fault]:
    if usage.method == "slurm":
        if usage.penalty != "billing":
            yield Fault(
                ("penalty",),
                "method 'slurm' charges what Slurm bills: 'billing'",
                usage.penalty,
                frozenset({"method", "penalty"}),
            )
        if usage.half_life_days == 0 and usage.reset == "none" and usage.slurm_conf is None:
            yield Fault(
                ("half_life_days",),
                "is 0 and usage is never reset: nothing would ever be forgotten; give a "
                "half-life, or say when usage begins anew (clusters.usage.reset)",
                usage.half_life_days,
                frozenset({"half_life_days", "reset", "method"}),
            )
        return
    if usage.half_life_days == 0:
        yield Fault(
            ("half_life_days",),
            "must be above 0: 0 does not switch decay off (without decay: method 'windows', one "
            "window as long as the log); only method 'slurm' with a reset knows 0",
            usage.half_life_days,
            frozenset({"half_life_days", "method"}),
        )
    if usage.reset != "none":
        yield Fault(
            ("reset",),
            f"is of method 'slurm', not of {usage.method!r}",
            usage.reset,
            frozenset({"reset", "method"}),
        )


def _faults_of_targets(usage: Usage) -> Iterator[Fault]:
    for key in ("users", "accounts"):
        given: dict[str, float] = getattr(usage, key)
        outside = {name: part for name, part in given.items() if not 0 <= part <= 1}
        total = sum(given.values())
        if given and (outside or abs(total - 1) > _SUM_TOLERANCE):
            yield Fault(
                (key,),
                f"targets are parts of everything, 0 to 1, and must sum to 1, not {total:g} "
                "(numbers relative to one another are clusters.usage.shares)",
                given,
                frozenset({key}),
            )
        if given and usage.has_tree:
            yield Fault(
                (key,),
                "targets are given twice: either here or as a tree (shares, associations)",
                given,
                frozenset({key, "shares", "associations"}),
            )
    if usage.shares and usage.associations is not None:
        yield Fault(
            ("associations",),
            "the tree is given twice: either shares or associations",
            usage.associations,
            frozenset({"shares", "associations"}),
        )
    if usage.operator in _OF_TREES and not usage.has_tree:
        yield Fault(
            ("operator",),
            f"{usage.operator!r} needs a share tree: clusters.usage.shares or .associations",
            usage.operator,
            frozenset({"operator", "shares", "associations"}),
        )


_Misplaced = tuple[tuple[str | int, ...], str, object]
"""Where among shares, what is wrong, and what was given."""


def _faults_of_shares(shares: tuple[Share, ...]) -> Iterator[_Misplaced]:
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
        siblings = [share.share for share in shares if share.above == above]
        if not any(siblings):
            whose = "no account" if above is None else f"nothing below account {above!r}"
            yield (), f"{whose} has a share above 0, so none has a target", siblings


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
