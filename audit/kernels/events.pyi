from enum import IntEnum
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

UNKNOWN: Final[int]

class Kind(IntEnum):
    RUN = ...
    QUEUED = ...
    LEFT = ...
    PAUSED = ...
    RESUMED = ...

class Way(IntEnum):
    ORDINARY = ...
    REQUEUED = ...
    MOVED = ...

@final
class Events:
    def __init__(
        self,
        life: NDArray[np.int64],
        kind: NDArray[np.int64],
        way: NDArray[np.int64],
        at: NDArray[np.int64],
        start: NDArray[np.int64],
        end: NDArray[np.int64],
        over: NDArray[np.bool_],
    ) -> None: ...

@final
class Settled:
    def __init__(
        self,
        stands: NDArray[np.bool_],
        source: NDArray[np.int64],
        ends: NDArray[np.bool_],
        arrival: NDArray[np.int64],
        suspended: NDArray[np.int64],
    ) -> None: ...

def settle(events: Events, out: Settled) -> None: ...
