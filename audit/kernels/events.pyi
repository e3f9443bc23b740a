from enum import IntEnum
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

UNKNOWN: Final[int]

_Bools = NDArray[np.bool_]
_Ints = NDArray[np.int64]

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
        self, life: _Ints, kind: _Ints, way: _Ints, at: _Ints, start: _Ints, end: _Ints,
        over: _Bools
    ) -> None: ...  # fmt: skip

@final
class Settled:
    def __init__(
        self, stands: _Bools, source: _Ints, ends: _Bools, arrival: _Ints, suspended: _Ints
    ) -> None: ...

def settle(events: Events, out: Settled) -> None: ...
