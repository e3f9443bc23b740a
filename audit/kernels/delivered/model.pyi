from enum import IntEnum

from audit.array_types import Bools, Ints
from audit.kernels.delivered.usage import UsageOrder

class PassOrder(IntEnum):
    RANK = 0
    EXPANSION = 1
    USAGE = 2

class PassBackfill(IntEnum):
    NONE = 0
    NO_GUARANTEE = 1
    EASY = 2
    REPLAN = 3

class ObservedPool:
    def __init__(
        self, arrival: Ints, start: Ints, end: Ints, occupancy: Ints, estimate: Ints,
        request: Ints, by_start: Ints, by_end: Ints, instants: Ints, capacity: Ints,
        used: Ints
    ) -> None: ...  # fmt: skip

class PassLimits:
    def __init__(
        self, first: Ints, counter: Ints, amount: Ints, binding: Bools, most: Ints,
        edge: Ints, window: Ints, change: Ints
    ) -> None: ...  # fmt: skip

class PassRule:
    def __init__(
        self, order: int, backfill: int, depth: int, reservations: int, window: int, rank: Ints,
        limits: PassLimits, usage: UsageOrder | None, held: Ints, released: Ints
    ) -> None: ...  # fmt: skip

class DeliveredCapacity:
    def __init__(
        self, most: Ints, blocks: Ints, bits: int, kept: bool, free: bool, bounded: bool,
        always: Bools
    ) -> None: ...  # fmt: skip
