"""Text in other encodings comes out as UTF-8, however it is cut into pieces."""

import codecs
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.ingest.encodings import as_utf8

TEXT = "; UnixStartTime: 0\n1 2 3 m\u00fcller\n4 5 6 \U0001d51e \u4e2d\n" * 3
MARKED = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}

encoded = pytest.mark.parametrize("encoding", MARKED)


class Drops(io.BytesIO):
    """A stream that never gives more than some bytes at once."""

    def __init__(self, data: bytes, most: int) -> None:
        super().__init__(data)
        self.most = most

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self.most if size is None or size < 0 else min(size, self.most))


def text(data: bytes, most: int = 1 << 20) -> bytes:
    stream = as_utf8(Drops(data, most))
    return b"".join(iter(lambda: stream.read(7), b""))


@encoded
@pytest.mark.parametrize("most", [1, 3, 1 << 20])
def test_utf_16_with_a_mark_and_without(encoding: str, most: int) -> None:
    data = TEXT.encode(encoding)
    assert text(data, most) == text(MARKED[encoding] + data, most) == TEXT.encode()


@encoded
def test_lone_surrogates_and_half_characters_are_escaped(encoding: str) -> None:
    data = "one \ud800 two \udfff\nthree\n".encode(encoding, errors="surrogatepass")
    assert text(data) == b"one \\ud800 two \\udfff\nthree\n"
    assert text(data, 1) == text(data)
    whole = "one\ntwo\n".encode(encoding)
    assert text(whole + b"x") == b"one\ntwo\n\\x78"


def test_a_mark_of_utf_8_is_left_out() -> None:
    assert text(codecs.BOM_UTF8 + TEXT.encode()) == TEXT.encode()
    assert text(codecs.BOM_UTF8) == b""


def test_lines_of_old_macs() -> None:
    assert text(b"one\rtwo\r") == b"one\ntwo\n"
    assert text(b"one\r\ntwo\r\n") == b"one\r\ntwo\r\n"
    assert text(b"a\rb\nc\n") == b"a\rb\nc\n"  # a CR within a line
    assert text("one\rtwo\r".encode("utf-16-le")) == b"one\ntwo\n"
    far = b"x\r" * (1 << 18) + b"y\n"
    assert text(far) == far.replace(b"\r", b"\n")


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"1 2\0 3\n4 5 6\n", bytes(64) + b"1 2 3\n", b"\xff\xfe"[:1], b"\0\0\0\0"]
)
def test_nuls_alone_make_no_utf_16(data: bytes) -> None:
    assert text(data) == data


@given(st.binary(max_size=40), st.integers(1, 9))
def test_nothing_is_too_odd_to_be_read(data: bytes, most: int) -> None:
    found = text(data, most)
    assert found == text(data)
    if b"\0" not in data and b"\r" not in data and data[:1] not in (b"\xef", b"\xfe", b"\xff"):
        assert found == data
