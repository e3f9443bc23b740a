from audit.array_types import Floats

def add_tails(table: Floats, bounded: bool) -> None: ...
def best_stretch(
    base: Floats, hours: Floats, which: int,
    chance: Floats, least: float, raw: float
) -> tuple[int, int, float, float]: ...  # fmt: skip
