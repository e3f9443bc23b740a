from audit.array_types import Floats, Ints

def add_tails(table: Floats, bounded: bool) -> None: ...
def stretches_of_overlap(
    tail: Floats, row: Ints, circle: Ints, base: Floats, hours: Floats
) -> None: ...
def best_stretch(
    base: Floats, hours: Floats, which: int,
    chance: Floats, least: float, raw: float
) -> tuple[int, int, float, float]: ...  # fmt: skip
