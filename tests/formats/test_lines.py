"""Cutting bytes into lines."""

import re

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from audit.formats.lines import cut, look_like_numbers, select, texts, whole_numbers


@given(st.lists(st.sampled_from([b"", b"a", b"bc", b" "]), max_size=8), st.booleans())
def test_as_bytes_split(parts: list[bytes], ends: bool) -> None:
    data = b"\n".join(parts) + (b"\n" if ends and parts else b"")
    array = np.frombuffer(data, dtype=np.uint8)
    lines = cut(array)
    expected = data.split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    found = [data[a:b] for a, b in zip(lines.starts, lines.ends, strict=True)]
    assert found == expected
    odd = np.arange(len(found)) % 2 == 1
    chosen = select(array, lines, odd).split(b"\n")
    assert [text for text in chosen if text] == [text for text in expected[1::2] if text]


_fields = st.lists(
    st.text("0123456789-+.e x", max_size=21) | st.integers(-(10**19), 10**19).map(str), max_size=12
)


@example(["9" * 18, "-" + "9" * 18, "9" * 19])
@given(_fields)
def test_fields_are_read_as_python_would(fields: list[str]) -> None:
    data = ",".join(fields).encode()
    ends = np.cumsum([len(field) + 1 for field in fields], dtype=np.int64) - 1
    starts = ends - np.array([len(field) for field in fields], dtype=np.int64)
    bytes_ = np.frombuffer(data, dtype=np.uint8)
    values, good = whole_numbers(bytes_, starts, ends)
    whole = [re.fullmatch(r"-?[0-9]{1,18}", field) is not None for field in fields]
    assert good.tolist() == whole
    assert values.tolist() == [
        int(text) if ok else 0 for text, ok in zip(fields, whole, strict=True)
    ]
    alike = [re.fullmatch(r"[-+.0-9eE]+", field) is not None for field in fields]
    assert look_like_numbers(bytes_, starts, ends).tolist() == alike
    assert texts(data, starts, ends) == [field or None for field in fields]


def test_several_columns_at_once_and_none_at_all() -> None:
    data = np.frombuffer(b"12 -3 x", dtype=np.uint8)
    starts, ends = np.array([[0, 3], [6, 7]]), np.array([[2, 5], [7, 7]])
    values, good = whole_numbers(data, starts, ends)
    assert values.tolist() == [[12, -3], [0, 0]]
    assert good.tolist() == [[True, True], [False, False]]
    nothing = np.array([], dtype=np.int64)
    assert whole_numbers(data, nothing, nothing).values.shape == (0,)
    assert texts(b"", nothing, nothing) == []


def test_bytes_that_are_no_utf8_are_kept() -> None:
    assert texts(b"a\xff", np.array([0]), np.array([2])) == ["a\\xff"]


def test_only_digits_are_digits() -> None:
    fields = [bytes([*b"1234567890"[:at], byte, *b"12"]) for at in range(8) for byte in range(256)]
    ends = np.cumsum([len(field) for field in fields])
    starts = ends - [len(field) for field in fields]
    values, good = whole_numbers(np.frombuffer(b"".join(fields), dtype=np.uint8), starts, ends)
    whole = [re.fullmatch(rb"-?[0-9]+", field) is not None for field in fields]
    assert good.tolist() == whole
    assert values[good].tolist() == [int(field) for field in np.array(fields)[good]]
