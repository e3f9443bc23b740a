import numpy as np
from numpy.typing import NDArray

from audit.kernels.scheduling.model import Model, Observed, Steps
from audit.kernels.scheduling.pool import Pool

_Bools = NDArray[np.bool_]
_Ints = NDArray[np.int64]

class Trials:
    def __init__(
        self, snapshot: Pool, trial: Pool, spare: Pool, steps: Steps, *, crowd: int
    ) -> None: ...

def fair_starts(
    model: Model, observed: Observed, capacity: _Ints, at_once: bool, subject: _Bools, low: int,
    high: int, trials: Trials, strict: _Ints, relaxed: _Ints, over: _Bools
) -> None: ...  # fmt: skip
