from audit.array_types import Floats, Ints
from audit.kernels.scheduling.model import Order
from audit.kernels.scheduling.owners import Ledger, Owners

class OutsideUse:
    def __init__(
        self, owner: Ints, charge: Floats, arrival: Ints, start: Ints, end: Ints
    ) -> None: ...  # fmt: skip

class UsageOrder:
    def __init__(
        self, order: Order, owners: Owners, ledger: Ledger, place: Ints, owner: Ints,
        charge: Floats, outside: OutsideUse
    ) -> None: ...  # fmt: skip
