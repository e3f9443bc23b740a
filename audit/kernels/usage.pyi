import numpy as np
from numpy.typing import NDArray

def number(
    hashes: NDArray[np.int64],
    codes: NDArray[np.uint32],
    firsts: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> int: ...
def group_by_owner(
    codes: NDArray[np.uint32],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    penalty: NDArray[np.float64],
    places: NDArray[np.int64],
    start_out: NDArray[np.int64],
    end_out: NDArray[np.int64],
    penalty_out: NDArray[np.float64],
) -> None: ...
def window_usage(
    offsets: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    penalty: NDArray[np.float64],
    edges: NDArray[np.int64],
    bounds: NDArray[np.int64],
    weights: NDArray[np.float64],
    usage: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None: ...
def half_life_usage(
    offsets: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    penalty: NDArray[np.float64],
    instants: NDArray[np.int64],
    half_life: float,
    usage: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None: ...
