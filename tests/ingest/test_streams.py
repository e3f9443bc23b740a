"""Compressed logs, and what is no file."""

import bz2
import gzip
import lzma
import os
import socket
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from audit.errors import AuditError, LogError, TruncatedLogError, UsageError
from audit.ingest import files, streams

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
def test_a_truncated_log_is_told_from_a_damaged_one(tmp_path: Path, pack: Pack) -> None:
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
                files.inspect(path)
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
