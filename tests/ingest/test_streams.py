"""Compressed logs, and what is no file."""

import bz2
import codecs
import gzip
import io
import lzma
import os
import socket
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import AuditError, LogError, TruncatedLogError, UsageError
from audit.ingest import logs, streams
from audit.ingest.streams import as_utf8

TEXT = b"".join(b"%d one line of a log\n" % number for number in range(4_000))

Pack = Callable[[bytes], bytes]


if sys.version_info >= (3, 14):
    from compression import zstd as zstd_library
else:
    from backports import zstd as zstd_library


def zstd(data: bytes) -> bytes:
    return zstd_library.compress(
        data, options={int(zstd_library.CompressionParameter.checksum_flag): 1}
    )


PACKS: dict[str, Pack] = {
    "gz": lambda data: gzip.compress(data, mtime=0),
    "bz2": bz2.compress,
    "xz": lambda data: lzma.compress(data, preset=0),
    "zst": zstd,
}
packed = pytest.mark.parametrize("pack", PACKS.values(), ids=PACKS)


def content(path: Path, size: int = 1 << 16) -> bytes:
    with streams.opened(path) as stream:
        pieces = iter(lambda: stream.read(size), b"")
        return b"".join(pieces)


@packed
def test_content_tells_how_a_log_is_compressed(tmp_path: Path, pack: Pack) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(pack(TEXT))
    assert content(path) == content(path, 1) == TEXT
    path.write_bytes(pack(b""))
    assert content(path) == b""


@packed
def test_members_follow_each_other(tmp_path: Path, pack: Pack) -> None:
    path = tmp_path / "log"
    path.write_bytes(pack(TEXT) + pack(b"") + pack(b"last\n"))
    assert content(path) == TEXT + b"last\n"


def test_frames_that_are_skipped_and_padding_cost_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log"
    skipped = b"\x50\x2a\x4d\x18\x04\0\0\0size"
    path.write_bytes(skipped + zstd(b"one\n") + skipped + zstd(b"two\n"))
    assert content(path) == b"one\ntwo\n"
    for pack in (PACKS["gz"], PACKS["xz"]):
        path.write_bytes(pack(b"one\n") + bytes(70_000) + pack(b"two\n") + bytes(8))
        assert content(path) == b"one\ntwo\n"


@packed
def test_a_truncated_log_is_distinguished_from_a_damaged_one(tmp_path: Path, pack: Pack) -> None:
    path = tmp_path / "log"
    whole = pack(TEXT)
    for end in (len(whole) - 1, len(whole) // 2, 8):
        path.write_bytes(whole[:end])
        with pytest.raises(TruncatedLogError, match="truncated") as caught:
            content(path)
        assert str(path) in str(caught.value)
    path.write_bytes(whole[:60] + bytes([whole[60] ^ 255]) + whole[61:])
    with pytest.raises(LogError, match=r"damaged|truncated"):
        content(path)
    path.write_bytes(whole + b"something else")
    with pytest.raises(LogError, match="damaged"):
        content(path)


@packed
def test_a_bomb_fills_no_memory(tmp_path: Path, pack: Pack) -> None:
    path = tmp_path / "log"
    size = 1 << (27 if pack is zstd else 24)
    path.write_bytes(pack(bytes(size)))
    tracemalloc.start()
    with streams.opened(path) as stream:
        assert sum(map(len, iter(lambda: stream.read(1 << 20), b""))) == size
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < size // 3


def test_what_is_not_decompressed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for magic, name in ((b"PK\x03\x04...", "zip"), (b"\x04\x22\x4d\x18...", "lz4")):
        path.write_bytes(magic)
        with pytest.raises(LogError, match=f"compressed with {name}"):
            content(path)


def test_what_is_no_file_is_named_and_nothing_waits_for_it(tmp_path: Path) -> None:
    fifo, plug, link = tmp_path / "fifo", tmp_path / "plug", tmp_path / "link"
    os.mkfifo(fifo)
    link.symlink_to(tmp_path / "gone")
    below = tmp_path / "file"
    below.write_text("x")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(plug))
        found = {
            fifo: r"a FIFO \(named pipe\)",
            plug: "a socket",
            link: f"a link to {tmp_path / 'gone'}, where nothing is",
            tmp_path: "is a directory",
            Path("/dev/null"): "a device",
            tmp_path / "none": "no such file",
            below / "log": "cannot be read",
        }
        for path, said in found.items():
            with pytest.raises(UsageError, match=said) as caught:
                logs.inspect(path)
            assert caught.value.exit_code == 2
            assert str(caught.value).startswith(f"{path}: ")


def test_a_fifo_in_the_place_of_a_file_that_was_looked_at_does_not_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    os.mkfifo(path)
    monkeypatch.setattr(streams, "check_is_file", lambda path: None)
    with pytest.raises(UsageError, match=r"a FIFO"):
        content(path)


def test_names_may_hold_any_bytes(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/log\xff\n"))
    path.write_bytes(b"\x1f\x8b")
    with pytest.raises(AuditError) as caught:
        content(path)
    assert "log\\xff" in str(caught.value)
    str(caught.value).encode()


WRITTEN = "; UnixStartTime: 0\n1 2 3 m\u00fcller\n4 5 6 \U0001d51e \u4e2d\n" * 3
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
    data = WRITTEN.encode(encoding)
    assert text(data, most) == text(MARKED[encoding] + data, most) == WRITTEN.encode()


@encoded
def test_lone_surrogates_and_half_characters_are_escaped(encoding: str) -> None:
    data = "one \ud800 two \udfff\nthree\n".encode(encoding, errors="surrogatepass")
    assert text(data) == b"one \\ud800 two \\udfff\nthree\n"
    assert text(data, 1) == text(data)
    whole = "one\ntwo\n".encode(encoding)
    assert text(whole + b"x") == b"one\ntwo\n\\x78"


def test_a_mark_of_utf_8_is_left_out() -> None:
    assert text(codecs.BOM_UTF8 + WRITTEN.encode()) == WRITTEN.encode()
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
