from typing import final

import numpy as np
from numpy.typing import NDArray

from audit.array_types import Bools, Ints
from audit.kernels.growing import Table

@final
class Log:
    def __init__(
        self, arrival: Ints, start: Ints, end: Ints,
        request: Ints, waits: Bools, by_start: Ints,
        by_end: Ints, step_time: Ints, step_change: Ints,
        capacity: Ints
    ) -> None: ...  # fmt: skip

@final
class Rules:
    def __init__(
        self, first: Ints, counter: Ints, amount: Ints,
        binding: Bools, most: Ints, edge_time: Ints,
        edge_counter: Ints, edge_change: Ints, outage: Ints
    ) -> None: ...  # fmt: skip

@final
class Trial:
    def __init__(
        self, inside: Bools, reach: Ints,
        closes: Ints, opens: Ints
    ) -> None: ...  # fmt: skip

@final
class WithoutTrial:
    def __init__(
        self, claims: NDArray[np.void], by_since: NDArray[np.int32], stretches: Ints
    ) -> None: ...

def fitting_spans(
    log: Log, rules: Rules, claims: Table, fitting: Table, stretches: Table
) -> None: ...
def trial_spans(
    log: Log, rules: Rules, trial: Trial, base: WithoutTrial, out: Table
) -> None: ...  # fmt: skip
