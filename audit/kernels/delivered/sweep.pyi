from audit.array_types import Bools, Ints
from audit.kernels.delivered.model import ObservedPool, PassRule

class AgreementGoal:
    def __init__(
        self, least: float, seen: Ints, seen_in_all: int, known: Ints
    ) -> None: ...  # fmt: skip

def capacities(log: ObservedPool, rule: PassRule, wanted: Bools, out: Ints) -> None: ...
def agreement(
    log: ObservedPool, rule: PassRule, most: Ints, judged: Ints, wanted: Bools, waited: Bools,
    settings: Ints, out: Ints, goal: AgreementGoal
) -> Ints | None: ...  # fmt: skip
def held_from(log: ObservedPool, user: Ints, users: int, out: Ints) -> None: ...
