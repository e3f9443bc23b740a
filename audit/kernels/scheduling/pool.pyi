from audit.array_types import Ints
from audit.kernels.scheduling.model import NodeFacts
from audit.kernels.scheduling.owners import Ledger

class Pool:
    def __init__(
        self, *, resources: int, attempts: int, steps: int, counters: int, nodes: NodeFacts,
        ledger: Ledger,
        begun: Ints, promised: Ints, first_begun: Ints, block_bits: int = 6,
        long_queue: int = 192, few_gaps: int = 8
    ) -> None: ...  # fmt: skip
