import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

class Slurm:
    def __init__(
        self, *, fixed: _Floats, tier: _Ints, age_weight: float, max_age: float,
        fairshare_weight: float, classic: bool, dampening: float, parent: _Ints, over: _Ints,
        norm: _Floats, part: _Floats, is_user: _Ints, first: _Ints, member: _Ints, entry: _Ints,
        time: _Ints
    ) -> None: ...  # fmt: skip

class Books:
    def __init__(self, nodes: int, period: int, phase: int, rate: float, resets: _Ints) -> None: ...

def observe(
    slurm: Slurm, books: Books, node: _Ints, charge: _Floats, start: _Ints, time: _Ints, ends: _Ints
) -> None: ...
def priorities(
    slurm: Slurm, books: Books, now: int, node: _Ints, arrival: _Ints
) -> tuple[list[float], list[float]]: ...
