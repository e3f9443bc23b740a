"""Parcels: opening returns what was packed, bit for bit; frames and arrays are in files."""

import pickle
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from audit.model import Order, Policy
from audit.workers.parcels import KEPT, SMALL, Opener, Packer


def back(folder: Path, thing: Any) -> Any:
    return Opener(folder).opened(Packer(folder).packed(thing))


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    arrays.arrays(
        st.sampled_from([np.int64, np.float64, np.bool_, np.uint16, np.int8]),
        arrays.array_shapes(max_dims=3, max_side=12),
        fill=st.nothing(),
    ),
    st.booleans(),
    st.integers(1, 300),
)
def test_arrays_keep_their_bits_shape_and_order(
    tmp_path: Path, array: np.ndarray[Any, Any], turned: bool, times: int
) -> None:
    given = np.concatenate([array] * times)
    given = np.asfortranarray(given) if turned else given
    got = back(tmp_path, given)
    assert (got.dtype, got.shape) == (given.dtype, given.shape)
    assert got.tobytes() == given.tobytes()
    assert got.flags.f_contiguous == given.flags.f_contiguous
    assert got.flags.writeable


FRAME = pl.DataFrame(
    {
        "text": ["", None, "a|b\n\x1b[31m\U0001f600"],
        "number": [2**63 - 1, None, -(2**63)],
        "float": [-0.0, float("nan"), None],
        "day": [date(2026, 1, 1), None, date(1, 1, 1)],
        "kind": pl.Series(["b", "a", None], dtype=pl.Enum(["b", "a"])),
        "list": [[1, None], [], None],
        "nothing": pl.Series([None] * 3, dtype=pl.Null),
    }
)


@pytest.mark.parametrize("frame", [FRAME, FRAME.clear(), pl.DataFrame()])
def test_frames_and_columns_keep_types_values_and_names(
    tmp_path: Path, frame: pl.DataFrame
) -> None:
    got, *columns = back(tmp_path, (frame, *frame))
    assert got.schema == frame.schema
    assert got.equals(frame)
    for column, was in zip(columns, frame, strict=True):
        assert column.name == was.name
        assert column.equals(was, check_dtypes=True)


def test_repeated_objects_are_one_file_and_one_object(tmp_path: Path) -> None:
    shared = np.arange(SMALL)
    packer, opener = Packer(tmp_path), Opener(tmp_path)
    one, two = (opener.opened(packer.packed((shared, k))) for k in (1, 2))
    assert one[0] is two[0]
    assert len(files(tmp_path)) == 1


def test_no_frame_or_large_array_is_in_the_parcel_itself(tmp_path: Path) -> None:
    many = np.arange(100_000)
    parcel = Packer(tmp_path).packed((FRAME, many, {"deep": [many.copy()]}))
    assert len(parcel) < SMALL
    assert len(files(tmp_path)) == 3


def test_small_arrays_and_functions_need_no_file(tmp_path: Path) -> None:
    policy = Policy(Order.sjf)
    made, held, small = back(tmp_path, (partial(max, 3), policy, np.arange(3)))
    assert (made(2), held, small.tolist()) == (3, policy, [0, 1, 2])
    assert files(tmp_path) == []


def test_objects_that_were_read_can_be_removed(tmp_path: Path) -> None:
    opener = Opener(tmp_path)
    parcel = Packer(tmp_path).packed(FRAME)
    opener.opened(parcel)
    opener.empty()
    assert files(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        opener.opened(parcel)


def test_objects_that_few_parcels_contain_are_forgotten(tmp_path: Path) -> None:
    packer, opener = Packer(tmp_path), Opener(tmp_path)
    first, frequent = np.arange(SMALL), np.arange(SMALL) + 1
    kept = opener.opened(packer.packed(first))
    again = opener.opened(packer.packed(frequent))
    for k in range(2 * KEPT):
        assert opener.opened(packer.packed((frequent, np.arange(SMALL) + k)))[0] is again
    assert opener.opened(packer.packed(first)) is kept
    assert len(opener._read) <= KEPT + 2


def test_objects_that_are_gone_are_not_mistaken_for_others(tmp_path: Path) -> None:
    packer = Packer(tmp_path)
    for k in range(20):  # ids are reused
        assert Opener(tmp_path).opened(packer.packed(np.arange(SMALL) + k))[0] == k


def test_objects_that_cannot_be_packed_are_a_defect(tmp_path: Path) -> None:
    with pytest.raises((pickle.PicklingError, AttributeError)):
        Packer(tmp_path).packed(lambda: None)
