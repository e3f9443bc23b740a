import polars as pl
import pytest

from audit.metrics.attempts.width import order, width_class
from tests.naive import attempts as naive


def classes(sizes: list[int | None], top: int = 128) -> list[str | None]:
    frame = pl.DataFrame({"size": pl.Series(sizes, dtype=pl.Int64)})
    return frame.select(width_class(pl.col("size"), top)).to_series().to_list()


def test_classes_of_the_paper() -> None:
    assert order() == ["0", "1", "2", "3-4", "5-8", "9-16", "17-32", "33-64", "65-128", ">128"]
    sizes: list[int | None] = [None, *range(300), 10**9]
    assert classes(sizes) == [naive.width_class(size) for size in sizes]


def test_more_classes_where_asked() -> None:
    assert order(256)[-3:] == ["65-128", "129-256", ">256"]
    assert order(1) == ["0", "1", ">1"]
    assert classes([128, 129, 256, 257], 256) == ["65-128", "129-256", "129-256", ">256"]


@pytest.mark.parametrize("top", [0, -2, 3, 100])
def test_refuses_what_is_no_power_of_two(top: int) -> None:
    with pytest.raises(ValueError, match="power of two"):
        order(top)
