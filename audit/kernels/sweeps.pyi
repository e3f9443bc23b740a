from audit.array_types import Floats, Ints

def time_order(times: Ints, order: Ints, spare: Ints) -> None: ...
def shares(
    arrival: Ints, start: Ints, end: Ints, size: Ints, by_arrival: Ints, by_start: Ints,
    by_end: Ints, cap: int, share: Floats, share_low: Floats
) -> None: ...  # fmt: skip
def integrals(
    arrival: Ints, start: Ints, end: Ints, size: Ints, by_arrival: Ints, by_start: Ints,
    by_end: Ints, capacity: Ints, edges: Ints, out: Ints
) -> int: ...  # fmt: skip
def overtakes(
    arrival: Ints, start_rank: Ints, by_arrival: Ints, overtaken_by: Ints, overtook: Ints
) -> None: ...
