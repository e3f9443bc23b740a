from typing import final

from audit.array_types import Bools, Ints

@final
class LimitedAttempts:
    def __init__(
        self, amount: Ints, adds: Ints, until: Ints, binding: Bools, queue: Ints, least: Ints,
        first_queue: Ints
    ) -> None: ...  # fmt: skip

@final
class LimitEvents:
    def __init__(
        self, counter: Ints, time: Ints, kind: Ints, attempt: Ints, looks: Ints
    ) -> None: ...

@final
class LimitInForce:
    def __init__(self, most: int, remaining: bool, from_time: int, to_time: int) -> None: ...

@final
class LimitQueues:
    def __init__(
        self, first: Ints, last: Ints, waiting: Ints, count: Ints, allowed: Ints, before: Ints,
        after: Ints, since: Ints, running: Ints, place: Ints
    ) -> None: ...  # fmt: skip

def forbidden_spans(
    attempts: LimitedAttempts, events: LimitEvents, limit: LimitInForce, queues: LimitQueues
) -> Ints: ...
