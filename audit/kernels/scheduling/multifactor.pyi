from audit.array_types import Floats, Ints

class SlurmPriority:
    def __init__(
        self, *, fixed: Floats, tier: Ints, age_weight: float, max_age: float,
        fairshare_weight: float, classic: bool, dampening: float, parent: Ints, over: Ints,
        norm: Floats, part: Floats, is_user: Ints, first: Ints, member: Ints, entry: Ints,
        time: Ints
    ) -> None: ...  # fmt: skip

class Books:
    def __init__(self, nodes: int, period: int, phase: int, rate: float, resets: Ints) -> None: ...

def observe(
    slurm: SlurmPriority,
    books: Books,
    node: Ints,
    charge: Floats,
    start: Ints,
    time: Ints,
    ends: Ints,
) -> None: ...
def priorities(
    slurm: SlurmPriority, books: Books, now: int, node: Ints, arrival: Ints
) -> tuple[list[float], list[float]]: ...
