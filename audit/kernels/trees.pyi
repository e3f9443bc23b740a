import numpy as np
from numpy.typing import NDArray

def climb(
    parents: NDArray[np.int64],
    groups: NDArray[np.int64],
    shared: NDArray[np.bool_],
    usage: NDArray[np.float64],
    states: NDArray[np.float64],
) -> None: ...
def priorities(
    operator: int,
    targets: NDArray[np.float64],
    states: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None: ...
def apply(
    operator: int,
    targets: NDArray[np.float64],
    states: NDArray[np.float64],
    priorities: NDArray[np.float64],
) -> None: ...
def rank(
    offsets: NDArray[np.int64],
    members: NDArray[np.int64],
    depths: NDArray[np.int64],
    kinds: NDArray[np.int64],
    priorities: NDArray[np.float64],
    ranks: NDArray[np.int64],
) -> None: ...
