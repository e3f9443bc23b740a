from audit.array_types import Bools, Ints
from audit.kernels.scheduling.model import Model, Observed
from audit.kernels.scheduling.pool import Pool

class StartsInOrder:
    def __init__(self, job: Ints, held_until: Ints, held: Ints) -> None: ...

def agree(
    model: Model, observed: Observed, starts: StartsInOrder, capacity: Ints, waited: Bools,
    until: int, pool: Pool, out: Ints
) -> None: ...  # fmt: skip
