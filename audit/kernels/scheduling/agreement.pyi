from audit.array_types import Bools, Ints
from audit.kernels.scheduling.model import Model, Observed
from audit.kernels.scheduling.pool import Pool

def agree(
    model: Model, observed: Observed, by_start: Ints, held_until: Ints, by_release: Ints,
    capacity: Ints, waited: Bools, until: int, pool: Pool, out: Ints
) -> None: ...  # fmt: skip
