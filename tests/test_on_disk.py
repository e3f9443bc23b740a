"""Tables in files that are mapped into memory."""

import resource
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from audit import on_disk as module
from audit.kernels.mapped import count, forget, mapped
from audit.on_disk import LEAST, on_disk, release
from tests.examples import examples

KINDS = (pl.Int8, pl.UInt16, pl.Int32, pl.Int64, pl.UInt64, pl.Float32, pl.Float64, pl.Boolean)


def long(values: pl.Series) -> pl.DataFrame:
    """A table of ``LEAST`` rows, which repeat these."""
    row = pl.int_range(LEAST, eager=True)
    return pl.DataFrame({"value": values.gather(row % len(values)), "row": row})


@settings(max_examples=examples(60))
@given(st.data())
def test_the_values_are_the_same(data: st.DataObject) -> None:
    """Of all types, with and without nulls, from any row on."""
    kind = data.draw(st.sampled_from(KINDS))
    numbers = st.integers(0, 100) if kind != pl.Boolean else st.booleans()
    text = st.text(max_size=20)  # views of strings hold up to 12 bytes
    values = data.draw(st.lists(st.none() | numbers, min_size=2, max_size=50))
    names = data.draw(st.lists(st.none() | text, min_size=2, max_size=50))
    skipped = data.draw(st.integers(0, 70))
    for column in (pl.Series(values, dtype=kind, strict=False), pl.Series(names, dtype=pl.String)):
        table = pl.concat([long(column), long(column).slice(skipped)])[skipped:]
        got = on_disk(table, Path())
        forget()
        assert_frame_equal(got, table)
        assert_frame_equal(on_disk(got.reverse(), Path()), table.reverse())
        assert got["value"].null_count() == table["value"].null_count()


def test_what_stays_in_memory(tmp_path: Path) -> None:
    held = long(pl.Series(["a", "b"])).select(
        pl.lit("single").alias("single"),
        pl.col("value").cast(pl.Enum(["a", "b"])).alias("category"),
        pl.concat_list("row").alias("list"),
    )
    before = count()
    assert_frame_equal(on_disk(held, tmp_path), held)
    short = long(pl.Series([1, 2])).head(LEAST - 1)
    on_disk(short, tmp_path)
    on_disk(long(pl.Series([1, 2])), None)
    assert count() == before


def test_a_column_is_written_once(tmp_path: Path) -> None:
    before = count()
    first = on_disk(long(pl.Series([1, 2])), tmp_path)
    assert count() == before + 2
    again = on_disk(first.with_columns(more=pl.col("row") * 2), tmp_path)
    assert count() == before + 3
    assert again["more"].sum() == LEAST * (LEAST - 1)
    del first, again
    assert count() == before


def test_columns_outlive_their_folder_and_do_not_change_in_place(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    (row,) = on_disk(long(pl.Series([1, 2])).select("row"), folder)
    assert list(folder.iterdir()) == []
    folder.rmdir()
    kept = row.clone()
    row[0] = 7
    assert (row[0], kept[0]) == (7, 0)
    numbers = kept.to_numpy()
    with pytest.raises(ValueError, match="read-only"):
        numbers[0] = 7


def test_tables_stay_in_memory_where_no_file_can_be_made(tmp_path: Path) -> None:
    held, before = long(pl.Series([1, 2])), count()
    assert on_disk(held, tmp_path / "missing") is held
    assert count() == before


def test_tables_stay_in_memory_where_the_file_cannot_grow(tmp_path: Path) -> None:
    held, before = long(pl.Series([1, 2])), count()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, hard))
    try:
        assert_frame_equal(on_disk(held, tmp_path), held)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert count() == before


def test_pages_are_dropped(tmp_path: Path) -> None:
    held = on_disk(pl.select(row=pl.int_range(1 << 21)), tmp_path)  # 16 MiB
    assert held["row"].sum() == (1 << 20) * ((1 << 21) - 1)
    read = module._of_files()
    release()
    assert read - module._of_files() > 15 << 20
    assert held["row"].sum() == (1 << 20) * ((1 << 21) - 1)


@pytest.mark.parametrize("column", [pl.Series([[1]]), pl.Series(["a"]).cast(pl.Categorical)])
def test_a_column_of_another_type(column: pl.Series, tmp_path: Path) -> None:
    with (tmp_path / "file").open("w+b") as file, pytest.raises(ValueError, match="not one array"):
        mapped(column.__arrow_c_stream__(), file.fileno())
