from audit.array_types import Bools, Ints
from audit.kernels.scheduling.model import Model, Observed, Steps
from audit.kernels.scheduling.pool import Pool

class Trials:
    def __init__(
        self, snapshot: Pool, trial: Pool, spare: Pool, steps: Steps, *, crowd: int
    ) -> None: ...

def fair_starts(
    model: Model, observed: Observed, capacity: Ints, at_once: bool, subject: Bools, low: int,
    high: int, trials: Trials, strict: Ints, relaxed: Ints, over: Bools
) -> None: ...  # fmt: skip
