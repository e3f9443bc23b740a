from enum import IntEnum
from typing import final

import numpy as np
from numpy.typing import NDArray

@final
class Table:
    def __init__(self, width: int, most: int = ...) -> None: ...
    def taken(self) -> NDArray[np.int64]: ...

@final
class PossibleStarts:
    def __init__(
        self, claims: NDArray[np.void], others: NDArray[np.void], started: NDArray[np.int64],
        start: NDArray[np.int64], reach: NDArray[np.int64],
        since: NDArray[np.int64], ahead: NDArray[np.int64]
    ) -> None: ...  # fmt: skip

@final
class ClosedHours:
    def __init__(
        self, to_next: NDArray[np.int64], overlap: bool, side: NDArray[np.uint8]
    ) -> None: ...

class Side(IntEnum):
    NEITHER = ...
    INSIDE = ...
    OUTSIDE = ...

def forbidden_starts(
    at: PossibleStarts, window: ClosedHours, by_hour: bool, inside: Table, outside: Table
) -> None: ...
def forbidden_seconds(
    at: PossibleStarts, window: ClosedHours, first: int, out: NDArray[np.int64]
) -> None: ...
def add_to_table(
    at: PossibleStarts, bins: NDArray[np.int64], row: NDArray[np.int64], since: int, until: int,
    out: NDArray[np.float64]
) -> None: ...  # fmt: skip
