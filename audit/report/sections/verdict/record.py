"""The verdict on a pool."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit.metrics.verdict import Decision


@dataclass(frozen=True, slots=True)
class PoolVerdict:
    """The verdict on one pool, and the row of ``base_result`` behind it."""

    pool: str
    decision: Decision
    base: Mapping[str, Any]
