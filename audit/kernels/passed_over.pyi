from typing import final

from audit.array_types import Bools, Floats, Ints, ShortInts

@final
class OwnerUsage:
    def __init__(
        self, first: Ints, time: Ints, rate: Floats, used: Floats, share: Floats, decay: float
    ) -> None: ...

@final
class PairedAttempts:
    def __init__(
        self, begin: Ints, stratum: Ints, user: ShortInts, entity: ShortInts, owner: ShortInts,
        arrival: Ints, need: Ints, run: Ints, start: Ints, subject: Bools, weight: Floats,
        midnight: Ints, used: Floats, marked_from: Ints
    ) -> None: ...  # fmt: skip

@final
class BarredSpans:
    def __init__(self, first: Ints, from_time: Ints, to_time: Ints) -> None: ...

@final
class PairSums:
    def __init__(self, pairs: Floats, lost: Floats, since: Ints, between: Floats) -> None: ...

@final
class PairChoice:
    def __init__(self, usage: OwnerUsage, much: float, lead: int, most: int, own: bool) -> None: ...

def compare(
    attempts: PairedAttempts, held: BarredSpans, forbidden: BarredSpans, choice: PairChoice,
    block: Ints, behind: Ints, found: PairSums
) -> None: ...  # fmt: skip
def accumulate(usage: OwnerUsage) -> None: ...
def used_at(usage: OwnerUsage, owner: ShortInts, instant: Ints, used: Floats) -> None: ...
