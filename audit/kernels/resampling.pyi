import numpy as np
from numpy.typing import NDArray

def count_draws(bits: NDArray[np.uint32], done: int, by_unit: NDArray[np.uint8]) -> int: ...
def weighted_sums(
    by_unit: NDArray[np.uint8],
    units: NDArray[np.int64],
    values: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None: ...
def weighted_quantiles(
    weights: NDArray[np.int64],
    blocks: NDArray[np.int64],
    block_length: int,
    units: NDArray[np.int64],
    values: NDArray[np.float64],
    thousandths: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None: ...
