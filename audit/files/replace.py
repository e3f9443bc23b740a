"""Files replaced in one step: a reader finds the old one or the new one, whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from audit.files import folders


@contextmanager
def drafting(target: Path, *, alone: bool = False, also: tuple[str, ...] = ()) -> Iterator[Path]:
    """Where to write what takes the place of ``target`` when the block ends without an error.

    The draft lies beside ``target``, on the same file system. Where the block raises, it goes, and
    ``target`` is as it was.

    Args:
        alone: no other process writes ``target`` now, as who holds its lock knows. The draft then
            has one name, so that one which a killed process left is overwritten by the next; else
            its name ends with the number of this process.
        also: endings of files that the draft's writer makes beside it, to be removed with it.

    Raises:
        OSError: the draft cannot take its place, or another user can change its folder.
    """
    folders.require(target.parent)
    draft = target.with_name(f".{target.name}.{'draft' if alone else os.getpid()}")
    try:
        _remove(draft, also)
        yield draft
        draft.replace(target)
    finally:
        with suppress(OSError):  # what went wrong before says more
            _remove(draft, also)


def write(target: Path, content: bytes, *, alone: bool = False) -> None:
    """Replaces ``target`` by a file with this content; see ``drafting``.

    Raises:
        OSError: it cannot be written.
    """
    with drafting(target, alone=alone) as draft:
        draft.write_bytes(content)


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's names, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(draft: Path, also: tuple[str, ...]) -> None:
    for path in (draft, *(draft.with_name(draft.name + ending) for ending in also)):
        path.unlink(missing_ok=True)
