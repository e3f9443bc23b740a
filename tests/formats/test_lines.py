"""Cutting bytes into lines."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.lines import cut, select


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
