from audit.array_types import Floats, Ints

def add_tails(table: Floats, bounded: bool) -> None: ...
def best_stretches(
    tail: Floats, row: Ints, circle: Ints, longest: int, which: Ints,
    chance: Floats, least: float, raw: float, out: Ints
) -> None: ...  # fmt: skip
