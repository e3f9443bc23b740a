from typing import final

import numpy as np
from numpy.typing import NDArray

from audit.array_types import Bools, Floats, Ints, ShortInts
from audit.kernels.growing import GrowingTable

@final
class WaitLog:
    arrival: Ints
    alike: ShortInts
    starters: ShortInts
    def __init__(
        self,
        *,
        came: ShortInts,
        arrival: Ints,
        leave: Ints,
        start: Ints,
        end: Ints,
        estimate: Ints,
        user: ShortInts,
        request: Ints,
        use: Ints,
        alike: ShortInts,
        block: ShortInts,
        cycle: Ints,
        flags: NDArray[np.uint8],
        first_hold: ShortInts,
        last_hold: ShortInts,
        by_arrival: ShortInts,
        by_leave: ShortInts,
        by_cycle: ShortInts,
        by_start: ShortInts,
        by_end: ShortInts,
        by_planned: ShortInts,
        starters: ShortInts,
        due: ShortInts,
        expected: Ints,
    ) -> None: ...

@final
class LogCourse:
    def __init__(
        self,
        *,
        begin: int,
        step: Ints,
        change: Ints,
        cut: Ints,
        held: Ints,
        hold_from: Ints,
        hold_to: Ints,
        hold_as: Ints,
        by_hold: Ints,
        by_release: Ints,
        first_outage: Ints,
        outage_from: Ints,
        outage_to: Ints,
    ) -> None: ...

@final
class Ruled:
    def __init__(
        self,
        *,
        counter: Ints,
        amount: Ints,
        remaining: NDArray[np.uint8],
        length: Ints,
        binding: Ints,
        most: Ints,
        valid_from: Ints,
        valid_to: Ints,
        reach: Ints,
        first_span: Ints,
        span_from: Ints,
        span_to: Ints,
        counters: int,
        recorded: int,
    ) -> None: ...

@final
class WalkNodes:
    def __init__(
        self,
        *,
        capacity: Ints,
        first_member: Ints,
        member: Ints,
        first_set: Ints,
        set: Ints,
        home: Ints,
        set_of: Ints,
        first: Ints,
        node: Ints,
        amount: Ints,
        part: Ints,
        parts: Ints,
        most: Ints,
        kind: Ints,
        wide: Ints,
        bound: Bools,
        consecutive: bool,
        least_loaded: bool,
        ties: Ints,
        change_time: Ints,
        change_node: Ints,
        change: Ints,
    ) -> None: ...

@final
class Bookings:
    def __init__(
        self,
        seconds: Floats,
        forbidden: Ints,
        lacking: Ints,
        lapsed: NDArray[np.uint8],
        idle: Floats,
        spans: GrowingTable,
        room: GrowingTable | None,
        counts: Ints,
    ) -> None: ...

def book_account(
    log: WaitLog,
    course: LogCourse,
    rules: Ruled,
    nodes: WalkNodes,
    capacity: Ints,
    most: int,
    lapse_s: int,
    depth: int,
    strict: bool,
    made: Bookings,
) -> None: ...
def find_idle(
    log: WaitLog,
    course: LogCourse,
    rules: Ruled,
    nodes: WalkNodes,
    capacity: Ints,
    most: int,
    parts: int,
) -> Ints: ...
