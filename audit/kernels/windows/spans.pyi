from typing import final

import numpy as np
from numpy.typing import NDArray

@final
class Log:
    def __init__(
        self, arrival: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64],
        request: NDArray[np.int64], waits: NDArray[np.bool_], by_start: NDArray[np.int64],
        by_end: NDArray[np.int64], step_time: NDArray[np.int64], step_change: NDArray[np.int64],
        capacity: NDArray[np.int64]
    ) -> None: ...  # fmt: skip

@final
class Rules:
    def __init__(
        self, first: NDArray[np.int64], counter: NDArray[np.int64], amount: NDArray[np.int64],
        binding: NDArray[np.bool_], most: NDArray[np.int64], edge_time: NDArray[np.int64],
        edge_counter: NDArray[np.int64], edge_change: NDArray[np.int64], outage: NDArray[np.int64]
    ) -> None: ...  # fmt: skip

@final
class Trial:
    def __init__(
        self, inside: NDArray[np.bool_], reach: NDArray[np.int64],
        closes: NDArray[np.int64], opens: NDArray[np.int64]
    ) -> None: ...  # fmt: skip

@final
class Table:
    def __init__(self, width: int, most: int = ...) -> None: ...
    def taken(self) -> NDArray[np.int64]: ...

@final
class WithoutTrial:
    def __init__(
        self, claims: NDArray[np.void], by_since: NDArray[np.int64], stretches: NDArray[np.int64]
    ) -> None: ...

def fitting_spans(
    log: Log, rules: Rules, claims: Table, others: Table, stretches: Table
) -> None: ...
def trial_spans(
    log: Log, rules: Rules, trial: Trial, base: WithoutTrial, out: Table
) -> None: ...  # fmt: skip
