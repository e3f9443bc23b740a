import numpy as np
from numpy.typing import NDArray

def time_order(
    times: NDArray[np.int64], order: NDArray[np.int64], spare: NDArray[np.int64]
) -> None: ...
def waiting_shares(
    arrival: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    size: NDArray[np.int64],
    by_arrival: NDArray[np.int64],
    by_start: NDArray[np.int64],
    by_end: NDArray[np.int64],
    share: NDArray[np.float64],
    share_low: NDArray[np.float64],
) -> None: ...
def capped_job_shares(
    arrival: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    size: NDArray[np.int64],
    by_arrival: NDArray[np.int64],
    by_start: NDArray[np.int64],
    by_end: NDArray[np.int64],
    cap: int,
    share: NDArray[np.float64],
    share_low: NDArray[np.float64],
) -> None: ...
def integrals(
    arrival: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    size: NDArray[np.int64],
    by_arrival: NDArray[np.int64],
    by_start: NDArray[np.int64],
    by_end: NDArray[np.int64],
    capacity: NDArray[np.int64],
    edges: NDArray[np.int64],
    out: NDArray[np.int64],
) -> int: ...
def overtakes(
    arrival: NDArray[np.int64],
    start_rank: NDArray[np.int64],
    by_arrival: NDArray[np.int64],
    overtaken_by: NDArray[np.int64],
    overtook: NDArray[np.int64],
) -> None: ...
