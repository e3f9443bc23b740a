import numpy as np
from numpy.typing import NDArray

def ranks(keys: NDArray[np.float64], ranked: NDArray[np.bool_], out: NDArray[np.int64]) -> None: ...
def keep_present(
    present: NDArray[np.bool_],
    instants: NDArray[np.int64],
    usage: NDArray[np.float64],
    fraction: NDArray[np.float64],
    rank: NDArray[np.int64],
    as_of: NDArray[np.int64],
    column: NDArray[np.uint32],
    usage_out: NDArray[np.float64],
    fraction_out: NDArray[np.float64],
    rank_out: NDArray[np.int64],
) -> None: ...
