from typing import Final

import numpy as np
from numpy.typing import NDArray

DIGITS: Final[int]

def add_ints(
    groups: NDArray[np.int64], values: NDArray[np.int64], out: NDArray[np.int64]
) -> None: ...
def add_to_digits(
    groups: NDArray[np.int64], bits: NDArray[np.int64], digits: NDArray[np.int64]
) -> bool: ...
def count_draws(bits: NDArray[np.uint32], done: int, by_unit: NDArray[np.uint8]) -> int: ...
def weighted_sums(
    by_unit: NDArray[np.uint8], units: NDArray[np.int64], values: NDArray[np.float64],
    out: NDArray[np.float64]
) -> None: ...  # fmt: skip
def weighted_quantiles(
    weights: NDArray[np.int64], blocks: NDArray[np.int64], block_length: int,
    units: NDArray[np.int64], values: NDArray[np.float64], thousandths: NDArray[np.int64],
    out: NDArray[np.float64]
) -> None: ...  # fmt: skip
