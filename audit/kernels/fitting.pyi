from typing import final

import numpy as np
from numpy.typing import NDArray

@final
class Log:
    def __init__(
        self,
        arrival: NDArray[np.int64],
        start: NDArray[np.int64],
        end: NDArray[np.int64],
        request: NDArray[np.int64],
        waits: NDArray[np.bool_],
        by_start: NDArray[np.int64],
        by_end: NDArray[np.int64],
        step_time: NDArray[np.int64],
        step_change: NDArray[np.int64],
    ) -> None: ...

@final
class Spans:
    def __init__(
        self, job: NDArray[np.int64], since: NDArray[np.int64], until: NDArray[np.int64]
    ) -> None: ...

def fitting_spans(log: Log, capacity: NDArray[np.int64], out: Spans) -> int: ...
