import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int64]

def mean_peer_waits(
    kind: _Ints, arrival: _Ints, wait: _Ints, user: _Ints, is_peer: NDArray[np.bool_], reach: int,
    least_peers: int, least_users: int, out: NDArray[np.float64]
) -> None: ...  # fmt: skip
def last_gone(owner: _Ints, gone: _Ints, latest: _Ints, before: _Ints) -> None: ...
