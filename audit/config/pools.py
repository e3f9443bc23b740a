"""What a pool has, and the policy that its fair start times assume."""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from audit.config.limits import Limit, Window
from audit.config.sections import Section, one_of
from audit.words import BY_OWNER, BY_USAGE, Backfill, Order, Resource

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


class Pool(Section):
    """A set of partitions that share hardware."""

    name: str = Field(min_length=1)
    partitions: tuple[str, ...] = ()
    resource: Annotated[Resource, Field(strict=False)] = Resource.cpus
    capacity: Amounts = Amounts()
    steps: tuple[Step, ...] = ()
    exclusive_nodes: bool = False
    order: _Order = Order.fcfs
    fair_order: Annotated[_Order, BeforeValidator(one_of((Order.fcfs, *BY_OWNER)))] = Order.fcfs
    backfill: Annotated[Backfill, Field(strict=False)] = Backfill.easy
    depth: int | None = Field(default=None, ge=1)
    window_s: int | None = Field(default=None, ge=1)
    interval_s: int | None = Field(default=None, ge=1, le=3_600)
    limits: tuple[Limit, ...] = ()
    windows: tuple[Window, ...] = ()

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
