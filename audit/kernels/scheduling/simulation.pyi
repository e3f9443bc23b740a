from audit.array_types import Bools, Ints
from audit.kernels.scheduling.model import Model, Observed
from audit.kernels.scheduling.pool import Pool

def replay(
    model: Model, observed: Observed, takes_part: Bools, capacity: Ints, since: int,
    goes_on: bool, pool: Pool
) -> None: ...  # fmt: skip
def start_queue(
    model: Model, capacity: Ints, now: int, running: Ints, planned: Ints, end: Ints,
    queue: Ints, target: int, pool: Pool
) -> None: ...  # fmt: skip
