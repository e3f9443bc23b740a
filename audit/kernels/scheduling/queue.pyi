import numpy as np
from numpy.typing import NDArray

from audit.kernels.scheduling.model import Order
from audit.kernels.scheduling.owners import Ledger, Owners

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

def observed_levels(
    order: Order, owners: Owners, ledger: Ledger, times: _Ints, who: _Ints, out: _Floats
) -> None: ...
