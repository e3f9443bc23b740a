from typing import final

import numpy as np
from numpy.typing import NDArray

@final
class Log:
    def __init__(
        self,
        arrival: NDArray[np.int64],
        leave: NDArray[np.int64],
        start: NDArray[np.int64],
        end: NDArray[np.int64],
        user: NDArray[np.int64],
        request: NDArray[np.int64],
        ready: NDArray[np.int64],
        by_arrival: NDArray[np.int64],
        by_leave: NDArray[np.int64],
        by_start: NDArray[np.int64],
        by_end: NDArray[np.int64],
    ) -> None: ...

@final
class Steps:
    def __init__(self, time: NDArray[np.int64], change: NDArray[np.int64]) -> None: ...

@final
class Parts:
    def __init__(
        self,
        room: NDArray[np.int64],
        kept: NDArray[np.int64],
        shared: NDArray[np.int64],
        down: NDArray[np.int64],
        own: NDArray[np.float64],
        earlier: NDArray[np.float64],
        later: NDArray[np.float64],
    ) -> None: ...

def take_waits_apart(
    log: Log, steps: Steps, capacity: NDArray[np.int64], most: int, parts: Parts
) -> None: ...
