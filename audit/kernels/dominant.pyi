from audit.array_types import Floats, Ints

def deficits(
    time: Ints, attempt: Ints, demands: Ints, uses: Ints, entity: Ints, request: Ints,
    step_time: Ints, step: Ints, had: Ints, weight: Floats, begin: int, end: int, out: Floats,
    edges: Ints, curves: Floats
) -> None: ...  # fmt: skip
