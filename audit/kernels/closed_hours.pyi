from enum import IntFlag
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
        self, job: NDArray[np.int64], begin: NDArray[np.int64], seconds: NDArray[np.int64],
        stretch: NDArray[np.int64], hour: NDArray[np.int64],
        started: NDArray[np.int64], start: NDArray[np.int64], start_hour: NDArray[np.int64],
        reach: NDArray[np.int64]
    ) -> None: ...  # fmt: skip

@final
class ClosedHours:
    def __init__(
        self, to_next: NDArray[np.int64], overlap: bool, inside: NDArray[np.bool_],
        outside: NDArray[np.bool_]
    ) -> None: ...  # fmt: skip

class ForbiddenStart(IntFlag):
    BREAKS = ...
    BEGINS_STRETCH = ...
    IN_NEW_HOUR = ...
    OF_CLASS = ...

def forbidden_starts(at: PossibleStarts, window: ClosedHours, wanted: int, out: Table) -> None: ...
def forbidden_seconds(
    at: PossibleStarts, window: ClosedHours, first: int, out: NDArray[np.int64]
) -> None: ...
