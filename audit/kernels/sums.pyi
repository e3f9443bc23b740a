from typing import Final

import numpy as np
from numpy.typing import NDArray

from audit.array_types import Floats, Ints

DIGITS: Final[int]

def add_ints(groups: Ints, values: Ints, out: Ints) -> None: ...
def add_to_digits(groups: Ints, bits: Ints, digits: Ints) -> bool: ...
def count_draws(bits: NDArray[np.uint32], done: int, by_unit: NDArray[np.uint8]) -> int: ...
def weighted_sums(
    by_unit: NDArray[np.uint8], units: Ints, values: Floats,
    out: Floats
) -> None: ...  # fmt: skip
def ratio_intervals(
    by_unit: NDArray[np.uint8], units: Ints, begin: Ints, values: Floats, above: Ints, below: Ints,
    fewest: int, lower: int, upper: int, out: Floats
) -> None: ...  # fmt: skip
def quantiles(figures: Floats, lower: int, upper: int, out: Floats) -> None: ...
def weighted_quantiles(
    weights: Ints, blocks: Ints, block_length: int,
    units: Ints, values: Floats, thousandths: Ints,
    out: Floats
) -> None: ...  # fmt: skip
