from enum import IntEnum
from typing import final

import numpy as np
from numpy.typing import NDArray

from audit.array_types import Floats, Ints
from audit.kernels.growing import GrowingTable

@final
class PossibleStarts:
    def __init__(
        self, possible: Ints, free: Ints, started: Ints, start: Ints, reach: Ints,
        since: Ints, ahead: Ints
    ) -> None: ...  # fmt: skip

@final
class ClosedHours:
    def __init__(self, to_next: Ints, overlap: bool, side: NDArray[np.uint8]) -> None: ...

class Side(IntEnum):
    NEITHER = ...
    INSIDE = ...
    OUTSIDE = ...

@final
class EventNumbers:
    def __init__(self, user: Ints, users: int, bits: int) -> None: ...

def forbidden_starts(
    at: PossibleStarts, window: ClosedHours, inside: GrowingTable, outside: GrowingTable
) -> None: ...
def forbidden_events(
    at: PossibleStarts, window: ClosedHours, numbers: EventNumbers, out: GrowingTable
) -> None: ...
def forbidden_seconds(at: PossibleStarts, window: ClosedHours, first: int, out: Ints) -> None: ...
def add_to_table(
    at: PossibleStarts, bins: Ints, row: Ints, since: int, until: int,
    out: Floats
) -> None: ...  # fmt: skip
