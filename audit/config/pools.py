"""What a pool has, and the policy that its fair start times assume."""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, Field, create_model, model_validator

from audit.config.sections import Fault, Section, one_of, refusal
from audit.policies import BY_OWNER, BY_USAGE, SETTINGS, Backfill, Order, Policy, refused
from audit.rules import Limit, Window
from audit.words import Resource

_Order = Annotated[Order, Field(strict=False)]


class Amounts(Section):
    """Amounts of what a pool has."""

    cpus: int | None = Field(default=None, ge=1)
    nodes: int | None = Field(default=None, ge=1)
    gpus: int | None = Field(default=None, ge=1)
    mem_bytes: int | None = Field(default=None, ge=1)


class Step(Amounts):
    """Amounts that hold from the start of a day on."""

    since: date
    planned: bool = False


if TYPE_CHECKING:

    class _Decides(Section):
        """Has a field for each setting of a policy, too."""

        order: Order = Order.fcfs
        backfill: Backfill = Backfill.easy
else:
    _Decides = create_model(
        "_Decides",
        __base__=Section,
        order=(_Order, Order.fcfs),
        backfill=(Annotated[Backfill, Field(strict=False)], Backfill.easy),
        **{
            key: (int | None, Field(default=None, ge=1, le=setting.most))
            for key, setting in SETTINGS.items()
        },
    )


class Pool(_Decides):
    """A set of partitions that share hardware."""

    name: str = Field(min_length=1)
    partitions: tuple[str, ...] = ()
    resource: Annotated[Resource, Field(strict=False)] = Resource.cpus
    capacity: Amounts = Amounts()
    steps: tuple[Step, ...] = ()
    exclusive_nodes: bool = False
    fair_order: Annotated[_Order, BeforeValidator(one_of((Order.fcfs, *BY_OWNER)))] = Order.fcfs
    limits: tuple[Limit, ...] = ()
    windows: tuple[Window, ...] = ()

    @property
    def policy(self) -> Policy:
        """The policy that fair start times assume."""
        return Policy(*(getattr(self, key) for key in Policy._fields))

    @model_validator(mode="after")
    def _settings_are_taken(self) -> Pool:
        faults = [Fault((key,), refused(key), getattr(self, key)) for key in self.policy.not_taken]
        if faults:
            raise refusal("Pool", faults)
        return self

    @model_validator(mode="after")
    def _in_order(self) -> Pool:
        days = [step.since for step in self.steps]
        if any(later <= earlier for earlier, later in pairwise(days)):
            raise ValueError("steps must be in the order of their days, each day once")
        return self

    @model_validator(mode="after")
    def _orders_together(self) -> Pool:
        by_usage = self.fair_order in BY_OWNER and self.order in BY_USAGE
        if by_usage and self.fair_order is not self.order:
            raise ValueError(
                f'order = "{self.order}" with fair_order = "{self.fair_order}": take the same, or '
                'one of them "fcfs"'
            )
        return self
