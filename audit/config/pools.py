"""Section [[clusters.pools]]: hardware, policy and rules of a pool."""

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
_Count = Annotated[int | None, Field(ge=1)]


class Amounts(Section):
    """Amounts of resources."""

    cpus: _Count = None
    nodes: _Count = None
    gpus: _Count = None
    mem_bytes: _Count = None


class Step(Amounts):
    """Amounts from the start of a day on."""

    since: date
    planned: bool = False


if TYPE_CHECKING:

    class _Decides(Section):
        """Also has a field for each setting of a policy."""

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
    def _consistent(self) -> Pool:
        faults = [Fault((key,), refused(key), getattr(self, key)) for key in self.policy.not_taken]
        if faults:
            raise refusal("Pool", faults)
        if any(later.since <= earlier.since for earlier, later in pairwise(self.steps)):
            raise ValueError("steps must be in the order of their days, one per day")
        both = self.fair_order in BY_OWNER and self.order in BY_USAGE
        if both and self.fair_order is not self.order:
            raise ValueError(
                f'order = "{self.order}" with fair_order = "{self.fair_order}": set both to the '
                'same order, or one of them to "fcfs"'
            )
        return self
