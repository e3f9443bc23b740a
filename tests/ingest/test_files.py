"""Logs on disk, whole and broken."""

import gzip
import hashlib
from pathlib import Path

import pytest

from audit.errors import AuditError
from audit.ingest import files
from tests.logs import busy, write


def test_a_packed_log_is_the_same_log(tmp_path: Path) -> None:
    text = busy().encode()
    plain, packed = tmp_path / "a.swf", tmp_path / "named-as-it-likes"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    for path in (plain, packed):
        source = files.inspect(path)
        assert source.size == len(text)
        assert source.sha256 == hashlib.sha256(text).hexdigest()
        assert source.head == text
        assert b"".join(block.data for block in files.blocks(path)) == text


@pytest.mark.parametrize("size", [1, 7, 100, 1 << 20])
@pytest.mark.parametrize("last", ["", "\n"])
def test_blocks_are_whole_lines_and_know_where_they_begin(
    tmp_path: Path, size: int, last: str
) -> None:
    text = "one\n\nthree and more\n" * 5 + f"end{last}"
    path = write(tmp_path / "log", text)
    blocks = list(files.blocks(path, size))
    assert b"".join(block.data for block in blocks).decode() == text
    for block in blocks:
        before = text.encode()[: block.byte_offset]
        assert block.first_line == before.count(b"\n") + 1
        assert not before or before.endswith(b"\n")


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"", 3, "empty"),
        (b"  \n\n", 3, "empty"),
        (b"\x00\x01\x02", 3, "binary: byte 0 is NUL"),
        (gzip.compress(b"", mtime=0), 3, "empty"),
        (gzip.compress(b"1 2 3\n" * 10_000, mtime=0)[:-30], 3, "truncated"),
        (b"\x1f\x8b" + b"?" * 50, 3, "damaged .gz"),
        (b"\xfd7zXZ\x00...", 3, "compressed with xz"),
        (b"PK\x03\x04...", 3, "compressed with zip"),
    ],
)
def test_what_is_no_log(tmp_path: Path, content: bytes, code: int, said: str) -> None:
    path = tmp_path / "broken"
    path.write_bytes(content)
    with pytest.raises(AuditError) as caught:
        files.inspect(path)
    assert caught.value.exit_code == code
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_what_is_not_there(tmp_path: Path) -> None:
    for path, said in ((tmp_path / "none", "no such file"), (tmp_path, "is a directory")):
        with pytest.raises(AuditError, match=said) as caught:
            files.inspect(path)
        assert caught.value.exit_code == 2
    below_a_file = write(tmp_path / "file", "x") / "log"
    with pytest.raises(AuditError, match="cannot be read") as caught:
        files.inspect(below_a_file)
    assert caught.value.exit_code == 2
