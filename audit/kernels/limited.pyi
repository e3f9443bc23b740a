from typing import final

from audit.array_types import Bools, Ints

@final
class LimitedAttempts:
    def __init__(self, amount: Ints, length: Ints, until: Ints, group: Ints) -> None: ...

@final
class LimitEvents:
    def __init__(self, time: Ints, kind: Ints, attempt: Ints) -> None: ...

@final
class LimitedClasses:
    def __init__(
        self, user: Ints, first_entry: Ints, queue: Ints, binding: Bools, least: Ints,
        first_class: Ints, first_queue: Ints, counter: Ints, looks: Bools
    ) -> None: ...  # fmt: skip

@final
class LimitsInForce:
    def __init__(
        self, limit: Ints, first_user: Ints, users: Ints, most: Ints, resource: Ints,
        remaining: Bools, from_time: Ints, to_time: Ints
    ) -> None: ...  # fmt: skip

@final
class LimitState:
    def __init__(
        self, level: Ints, waiting: Ints, ends: Ints, count: Ints, walk: Ints, beside: Ints,
        since: Ints, active: Ints, waits: Ints, dirty: Ints, is_dirty: Bools
    ) -> None: ...  # fmt: skip

def forbidden_spans(
    attempts: LimitedAttempts, events: LimitEvents, classes: LimitedClasses,
    limits: LimitsInForce, state: LimitState
) -> Ints: ...  # fmt: skip
