from typing import final

import numpy as np
from numpy.typing import NDArray

from audit.kernels.waiting import Log, Nodes, Rules, Times

Ints = NDArray[np.int64]

@final
class Spans:
    def taken(self) -> Ints: ...

@final
class Bookings:
    def __init__(
        self, seconds: NDArray[np.float64], forbidden: Ints, lacking: Ints, spans: Spans
    ) -> None: ...

def book_waits(
    log: Log, nodes: Nodes, times: Times, rules: Rules, capacity: Ints, most: int, made: Bookings
) -> None: ...
def find_idle(
    log: Log, nodes: Nodes, times: Times, rules: Rules, capacity: Ints, most: int
) -> Ints: ...
