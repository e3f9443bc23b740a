from audit.array_types import Floats, Ints
from audit.kernels.scheduling.multifactor import Books, SlurmPriority

class Owners:
    def __init__(
        self, *, target: Floats, operator: int, weights: Floats, interval: int, origin: int,
        recalculation: int, first: Ints, time: Ints, value: Floats, rate: Floats,
        slurm: SlurmPriority
    ) -> None: ...  # fmt: skip

class Ledger:
    def __init__(
        self, owners: Owners, path: Ints, siblings: Ints, changes: int, half_life: float,
        books: Books
    ) -> None: ...  # fmt: skip

def sum_up(first: Ints, time: Ints, value: Floats, rate: Floats, half_life: float) -> None: ...
