import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int64]

def last_gone(owner: _Ints, gone: _Ints, latest: _Ints, before: _Ints) -> None: ...
