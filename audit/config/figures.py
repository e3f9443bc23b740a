"""How figures are computed, and which of them must not be exceeded."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from audit.config.sections import Section


class Metrics(Section):
    """How figures are computed."""

    tau_s: int = Field(default=10, ge=1)
    resource_equality_weights: Literal["size", "jobs"] = "size"
    count_never_started: bool = False
    keep_single_job_users: bool = False
    tolerance_s: int = Field(default=60, ge=0)


class Simulation(Section):
    """How fair start times are computed."""

    threads: int = Field(default=0, ge=0)
    budget_s: int = Field(default=300, ge=1)
    advice_budget_s: int = Field(default=60, ge=0)


class Uncertainty(Section):
    """Bootstrap intervals (SPEC §5)."""

    resamples: int = Field(default=1000, ge=100, le=100_000)


class Threshold(Section):
    """A figure that must not be exceeded; where it is, ``run`` ends with exit code 1."""

    metric: str
    above: float
    dimension: str = "all"


class Bound(Section):
    """From where on a share warns, and from where on it fails."""

    warn: float = Field(ge=0, le=1)
    fail: float = Field(ge=0, le=1)

    @model_validator(mode="after")
    def _in_order(self) -> Bound:
        if self.fail < self.warn:
            raise ValueError(f"fail ({self.fail:g}) must not be below warn ({self.warn:g})")
        return self


class Verdict(Section):
    """When a report says that a scheduler is fair, and when that it is not."""

    overtaken: Bound = Bound(warn=0.1, fail=0.25)
