import numpy as np
from numpy.typing import NDArray

def mean_peer_waits(
    kind: NDArray[np.int64],
    arrival: NDArray[np.int64],
    wait: NDArray[np.int64],
    user: NDArray[np.int64],
    is_peer: NDArray[np.bool_],
    reach: int,
    least_peers: int,
    least_users: int,
    out: NDArray[np.float64],
) -> None: ...
def last_gone(
    owner: NDArray[np.int64],
    gone: NDArray[np.int64],
    latest: NDArray[np.int64],
    before: NDArray[np.int64],
) -> None: ...
