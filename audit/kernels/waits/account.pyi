from typing import final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

@final
class Nodes:
    def __init__(
        self, *, capacity: Ints, first_member: Ints, member: Ints, first_set: Ints, set: Ints,
        first: Ints, node: Ints, amount: Ints, part: Ints, parts: Ints, most: Ints,
        shape: Ints, kind: Ints, ties: Ints, change_time: Ints, change_node: Ints, change: Ints
    ) -> None: ...  # fmt: skip

@final
class Log:
    def __init__(
        self, *, arrival: Ints, leave: Ints, start: Ints, end: Ints, user: Ints, request: Ints,
        use: Ints, set: Ints, block: Ints, ready: Ints, cycle: Ints, flags: Ints, first_hold: Ints,
        last_hold: Ints, by_arrival: Ints, by_leave: Ints, by_start: Ints, by_end: Ints
    ) -> None: ...  # fmt: skip

@final
class Times:
    def __init__(
        self, *, step: Ints, change: Ints, cut: Ints, hold_from: Ints, hold_to: Ints,
        outage_from: Ints, outage_to: Ints
    ) -> None: ...  # fmt: skip

@final
class Rules:
    def __init__(
        self, *, counter: Ints, amount: Ints, binding: Ints, most: Ints, valid_from: Ints,
        valid_to: Ints, reach: Ints, first_span: Ints, span_from: Ints, span_to: Ints, counters: int
    ) -> None: ...  # fmt: skip

@final
class Table:
    def __init__(self, width: int, most: int = ...) -> None: ...
    def taken(self) -> Ints: ...

@final
class Bookings:
    def __init__(
        self, seconds: NDArray[np.float64], forbidden: Ints, lacking: Ints, spans: Table
    ) -> None: ...

CROWD: int

def book_waits(
    log: Log, nodes: Nodes, times: Times, rules: Rules, capacity: Ints, most: int, made: Bookings
) -> None: ...
def find_idle(
    log: Log, nodes: Nodes, times: Times, rules: Rules, capacity: Ints, most: int
) -> Ints: ...
