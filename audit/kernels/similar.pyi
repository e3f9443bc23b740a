from audit.array_types import Floats, Ints

def distances(
    measured: Floats, labels: Ints, made_at: Ints, low: int, high: int, subject: int,
    out: Floats
) -> None: ...  # fmt: skip
