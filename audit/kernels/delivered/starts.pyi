from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]
_Bools = NDArray[np.bool_]

class PassOrder(IntEnum):
    RANK = 0
    EXPANSION = 1
    PRIORITY = 2

class PassBackfill(IntEnum):
    NONE = 0
    NO_GUARANTEE = 1
    EASY = 2
    REPLAN = 3

class ObservedPool:
    def __init__(
        self, arrival: _Ints, start: _Ints, end: _Ints, occupancy: _Ints, estimate: _Ints,
        request: _Ints, by_start: _Ints, by_end: _Ints, instants: _Ints, capacity: _Ints,
        used: _Ints
    ) -> None: ...  # fmt: skip

class PassLimits:
    def __init__(
        self, first: _Ints, counter: _Ints, amount: _Ints, binding: _Bools, most: _Ints,
        edge: _Ints, window: _Ints, change: _Ints
    ) -> None: ...  # fmt: skip

class TickedPriorities:
    def __init__(
        self, tier: _Ints, fixed: _Floats, owner: _Ints, tick: _Ints, level: _Floats,
        weight: float, longest: float, phase: int, period: int
    ) -> None: ...  # fmt: skip

class PassRule:
    def __init__(
        self, order: int, backfill: int, depth: int, reservations: int, window: int, rank: _Ints,
        limits: PassLimits, priorities: TickedPriorities, held: _Ints, released: _Ints
    ) -> None: ...  # fmt: skip

class DeliveredCapacity:
    def __init__(
        self, most: _Ints, blocks: _Ints, bits: int, kept: bool, free: bool, bounded: bool,
        always: _Bools
    ) -> None: ...  # fmt: skip

class AgreementGoal:
    def __init__(
        self, least: float, seen: _Ints, seen_in_all: int, others: _Ints
    ) -> None: ...  # fmt: skip

def capacities(log: ObservedPool, rule: PassRule, wanted: _Bools, out: _Ints) -> None: ...
def agreement(
    log: ObservedPool, rule: PassRule, most: _Ints, judged: _Bools, waited: _Bools, settings: _Ints,
    out: _Ints, goal: AgreementGoal
) -> bool: ...  # fmt: skip
def held_from(log: ObservedPool, user: _Ints, users: int, out: _Ints) -> None: ...
def fair_starts(
    log: ObservedPool, rule: PassRule, delivered: DeliveredCapacity, subject: _Bools,
    marks: NDArray[np.uint8], out: _Ints, context: NDArray[np.uint8]
) -> None: ...  # fmt: skip
def fair_start_without(
    log: ObservedPool, rule: PassRule, delivered: DeliveredCapacity, j: int, removed: _Bools
) -> int: ...
