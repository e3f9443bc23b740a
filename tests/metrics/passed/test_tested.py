import numpy as np
import polars as pl

from audit.metrics.passed.tested import PairsOfKind


def test_where_only_the_entity_lost_pairs_none_are_expected() -> None:
    """Its pairs are taken from all pairs, which must not leave rounding below 0."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        entity = rng.choice(["a", "b", "c"], 40)
        pairs = 1 / rng.integers(1, 9, 40)
        rows = pl.DataFrame(
            {
                "entity": entity,
                "class": rng.choice(["x", "y"], 40),
                "pairs": pairs,
                "lost": np.where(entity == "a", pairs * rng.random(40), 0.0),
                "passed_s": 0,
                "day": 0,
            }
        )
        of = dict.fromkeys("abc", 0)
        first, *_ = PairsOfKind(of, of, 0.0).judged(rows)
        assert str(first.expected) == "0.0"
