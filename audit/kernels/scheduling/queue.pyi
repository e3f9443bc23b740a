from audit.array_types import Floats, Ints
from audit.kernels.scheduling.model import Order
from audit.kernels.scheduling.owners import Ledger, Owners

def observed_levels(
    order: Order, owners: Owners, ledger: Ledger, times: Ints, who: Ints, out: Floats
) -> None: ...
