from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

_Bools = NDArray[np.bool_]
_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

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

class Slurm:
    def __init__(
        self, *, fixed: _Floats, tier: _Ints, age_weight: float, max_age: float,
        fairshare_weight: float, classic: bool, dampening: float, parent: _Ints, over: _Ints,
        norm: _Floats, part: _Floats, is_user: _Ints, first: _Ints, member: _Ints, entry: _Ints,
        time: _Ints
    ) -> None: ...  # fmt: skip

class Books:
    def __init__(self, nodes: int, period: int, phase: int, rate: float, resets: _Ints) -> None: ...

class Owners:
    def __init__(
        self, *, target: _Floats, operator: int, weights: _Floats, interval: int, origin: int,
        recalculation: int, first: _Ints, time: _Ints, value: _Floats, rate: _Floats, slurm: Slurm
    ) -> None: ...  # fmt: skip

class Ledger:
    def __init__(
        self, owners: Owners, path: _Ints, siblings: _Ints, changes: int, half_life: float,
        books: Books
    ) -> None: ...  # fmt: skip

class Edges:
    def __init__(
        self, *, time: _Ints, counter: _Ints, change: _Ints, cycle: int, period: int
    ) -> None: ...

class Limits:
    def __init__(
        self, *, first: _Ints, counter: _Ints, amount: _Ints, binding: _Bools, most: _Ints,
        late: _Bools, remaining: _Bools, edges: Edges
    ) -> None: ...  # fmt: skip

class Preemption:
    def __init__(self, *, gives_way: _Ints, takes: _Ints, delay: _Ints) -> None: ...

class Jobs:
    def __init__(
        self, *, arrival: _Ints, occupancy: _Ints, estimate: _Ints, rank: _Ints, request: _Ints,
        owner: _Ints, charge: _Floats, limits: Limits, preemption: Preemption
    ) -> None: ...  # fmt: skip

class Steps:
    number: int
    def __init__(
        self, *, time: _Ints, change: _Ints, planned: _Bools, job: _Ints, holder: _Ints,
        ends: _Bools, number: int
    ) -> None: ...  # fmt: skip

class Nodes:
    def __init__(
        self, *, capacity: _Ints, first_member: _Ints, member: _Ints, set: _Ints, wide: _Ints,
        part: _Ints, parts: _Ints, most: _Ints, bound: _Bools, shape: _Ints, first: _Ints,
        held: _Ints, node: _Ints, amount: _Ints, consecutive: bool, least_loaded: bool
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
        self, *, start: _Ints, end: _Ints, blocked: _Bools, present: _Bools, queues: _Bools
    ) -> None: ...

class Pool:
    def __init__(
        self, *, resources: int, attempts: int, steps: int, counters: int, nodes: Nodes,
        ledger: Ledger,
        begun: _Ints, promised: _Ints, first_begun: _Ints, block_bits: int = 6,
        long_queue: int = 192, few_gaps: int = 8
    ) -> None: ...  # fmt: skip

class Trials:
    def __init__(
        self, snapshot: Pool, trial: Pool, spare: Pool, steps: Steps, *, crowd: int
    ) -> None: ...

class Workspace:
    words_used: int
    words_needed: int
    searches: int
    moves: int
    accepted: int
    def __init__(self, pool: Pool, attempts: int, owners: int, tabu: int, stop: _Ints) -> None: ...
    def begin_words(self) -> None: ...

class Pursuit:
    now: int
    def __init__(
        self, pool: Pool, model: Model, space: Workspace, *, capacity: _Ints, origin: int,
        every: int, turns: int, timed: bool
    ) -> None: ...  # fmt: skip
    def go_on(self, words: NDArray[np.uint64]) -> bool: ...

def observe(
    slurm: Slurm, books: Books, node: _Ints, charge: _Floats, start: _Ints, time: _Ints, ends: _Ints
) -> None: ...
def priorities(
    slurm: Slurm, books: Books, now: int, node: _Ints, arrival: _Ints
) -> tuple[list[float], list[float]]: ...
def sum_up(first: _Ints, time: _Ints, value: _Floats, rate: _Floats, half_life: float) -> None: ...
def replay(
    model: Model, observed: Observed, takes_part: _Bools, capacity: _Ints, since: int,
    goes_on: bool, pool: Pool
) -> None: ...  # fmt: skip
def fair_starts(
    model: Model, observed: Observed, capacity: _Ints, at_once: bool, subject: _Bools, low: int,
    high: int, trials: Trials, strict: _Ints, relaxed: _Ints, over: _Bools
) -> None: ...  # fmt: skip
def agree(
    model: Model, observed: Observed, by_start: _Ints, capacity: _Ints, waited: _Bools, until: int,
    pool: Pool, out: _Ints
) -> None: ...  # fmt: skip
def observed_levels(
    order: Order, owners: Owners, ledger: Ledger, times: _Ints, who: _Ints, out: _Floats
) -> None: ...
def start_queue(
    model: Model, capacity: _Ints, now: int, running: _Ints, planned: _Ints, end: _Ints,
    queue: _Ints, target: int, pool: Pool
) -> None: ...  # fmt: skip
