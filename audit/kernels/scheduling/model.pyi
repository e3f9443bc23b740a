from enum import IntEnum

from audit.array_types import Bools, Floats, Ints
from audit.kernels.scheduling.owners import Owners

class Order(IntEnum):
    RANK = 0
    EXPANSION = 1
    FAIRSHARE = 2
    NUWT = 3
    MULTIFACTOR = 4

class Backfill(IntEnum):
    NONE = 0
    NO_GUARANTEE = 1
    EASY = 2
    CONSERVATIVE = 3
    REPLAN = 4

class Edges:
    def __init__(
        self, *, time: Ints, counter: Ints, change: Ints, cycle: int, period: int
    ) -> None: ...

class Limits:
    def __init__(
        self, *, first: Ints, counter: Ints, amount: Ints, binding: Bools, most: Ints,
        late: Bools, remaining: Bools, hours_alone: bool, edges: Edges
    ) -> None: ...  # fmt: skip

class PreemptionBits:
    def __init__(self, *, gives_way: Ints, takes: Ints, delay: Ints) -> None: ...

class Jobs:
    def __init__(
        self, *, arrival: Ints, occupancy: Ints, estimate: Ints, rank: Ints, request: Ints,
        owner: Ints, charge: Floats, limits: Limits, preemption: PreemptionBits
    ) -> None: ...  # fmt: skip

class Steps:
    number: int
    def __init__(
        self, *, time: Ints, change: Ints, planned: Bools, job: Ints, holder: Ints,
        ends: Bools, number: int
    ) -> None: ...  # fmt: skip

class NodeFacts:
    def __init__(
        self, *, capacity: Ints, first_member: Ints, member: Ints, set: Ints, wide: Ints,
        part: Ints, parts: Ints, most: Ints, bound: Bools, shape: Ints, first: Ints,
        held: Ints, node: Ints, amount: Ints, consecutive: bool, least_loaded: bool
    ) -> None: ...  # fmt: skip

class Rules:
    def __init__(
        self, *, order: Order, fair: Order, latest_last: bool, backfill: Backfill, depth: int,
        window: int, every: int, origin: int, between: bool, reservations: int,
        resolution: int, pause: int
    ) -> None: ...  # fmt: skip

class Model:
    def __init__(self, jobs: Jobs, steps: Steps, rules: Rules, owners: Owners) -> None: ...

class Observed:
    def __init__(
        self, *, start: Ints, end: Ints, blocked: Bools, present: Bools, queues: Bools
    ) -> None: ...
