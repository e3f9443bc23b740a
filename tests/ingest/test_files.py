"""Logs on disk, whole and broken."""

import gzip
import hashlib
from pathlib import Path

import pytest

from audit.errors import AuditError, LogError
from audit.formats.dialects import HEAD_BYTES
from audit.ingest import files
from audit.ingest.files import Part
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
        (gzip.compress(b"", mtime=0), 3, "empty"),
        (gzip.compress(b"1 2 3\n" * 10_000, mtime=0)[:-30], 3, "truncated"),
        (b"\x1f\x8b" + b"?" * 50, 3, "damaged .gz"),
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


def test_the_head_can_end_the_reading(tmp_path: Path) -> None:
    class UnwantedError(Exception):
        pass

    heads: list[bytes] = []

    def refuse(head: bytes) -> None:
        heads.append(head)
        raise UnwantedError

    path = tmp_path / "log"
    for data in (b"short\n", b"x" * (1 << 24)):
        path.write_bytes(data)
        with pytest.raises(UnwantedError):
            files.inspect(path, refuse)
    assert heads == [b"short\n", b"x" * HEAD_BYTES]


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"1 2 3\n\0", "binary: byte 6 is NUL"),
        (b"\1\2\3abc", "binary: much of it are control characters"),
        (b"log".ljust(257, b"\0") + b"ustar\x0000", "a tar archive"),
        (b"a\x1fb\tc\r\n", None),
    ],
)
def test_what_is_binary(head: bytes, said: str | None) -> None:
    found = files.binary(head)
    assert found is None if said is None else found is not None and found.startswith(said)


def test_a_line_without_end_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST", 100)
    path = write(tmp_path / "log", "one\n" + "x" * 200 + "\n")
    with pytest.raises(LogError, match=":2: a line of more than"):
        list(files.blocks(path, 8))


def test_a_log_continues_the_longest_whole_one_that_it_begins_with(tmp_path: Path) -> None:
    def part(data: bytes) -> Part:
        return Part(len(data), hashlib.sha256(data).hexdigest())

    path = tmp_path / "log"
    text = b"one\ntwo\nthree\nfour\n"
    path.write_bytes(text)

    def known(*earlier: bytes) -> Part | None:
        return files.inspect(path, earlier=[part(data) for data in earlier]).known

    assert known() is None
    assert known(b"one\n", b"one\ntwo\n", b"two\n", b"other\nlog\nxx") == part(b"one\ntwo\n")
    assert known(b"one\ntwo\nthr") is None  # it ended within a line
    assert known(text) is None  # it has not grown
    assert known(text + b"more\n") is None
    first = list(files.blocks(path, 1 << 20, cut=8))
    assert [(block.data, block.byte_offset, block.first_line) for block in first] == [
        (b"one\ntwo\n", 0, 1),
        (b"three\nfour\n", 8, 3),
    ]
    assert len(list(files.blocks(path, 1 << 20, cut=9))) == 1
    path.write_bytes(b"x\n" * (1 << 21) + b"y\n")  # known: a whole piece of what is read
    assert known(b"x\n" * (1 << 21)) == part(b"x\n" * (1 << 21))
