import numpy as np
from numpy.typing import NDArray

class Slurm:
    def __init__(
        self,
        *,
        fixed: NDArray[np.float64],
        tier: NDArray[np.int64],
        age_weight: float,
        max_age: float,
        fairshare_weight: float,
        classic: bool,
        dampening: float,
        parent: NDArray[np.int64],
        over: NDArray[np.int64],
        norm: NDArray[np.float64],
        part: NDArray[np.float64],
        is_user: NDArray[np.int64],
        first: NDArray[np.int64],
        member: NDArray[np.int64],
        entry: NDArray[np.int64],
        time: NDArray[np.int64],
    ) -> None: ...

class Books:
    def __init__(
        self, nodes: int, period: int, phase: int, rate: float, resets: NDArray[np.int64]
    ) -> None: ...

def observe(
    slurm: Slurm,
    books: Books,
    node: NDArray[np.int64],
    charge: NDArray[np.float64],
    start: NDArray[np.int64],
    time: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> None: ...
def priorities(
    slurm: Slurm, books: Books, now: int, node: NDArray[np.int64], arrival: NDArray[np.int64]
) -> tuple[list[float], list[float]]: ...
