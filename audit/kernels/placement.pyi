import numpy as np
from numpy.typing import NDArray

from audit.array_types import Ints

def split(
    start: Ints,
    end: Ints,
    by_start: Ints,
    by_end: Ints,
    request: Ints,
    capacity: Ints,
    first: Ints,
    node: Ints,
    stated: NDArray[np.uint8],
    kind: Ints,
    in_order: NDArray[np.uint8],
    amount: Ints,
    guessed: NDArray[np.uint8],
) -> None: ...
