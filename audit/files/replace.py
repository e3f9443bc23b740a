"""Files replaced in one step: a reader finds the complete old or the complete new one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from audit.files import folders, privacy


@contextmanager
def drafting(target: Path, *, alone: bool = False, also: tuple[str, ...] = ()) -> Iterator[Path]:
    """Yield where to write the file that replaces ``target`` when the block ends without an error.

    The draft is beside ``target``. If the block raises, it is removed, and ``target`` stays.

    Args:
        alone: no other process writes ``target`` now, as the caller holds a lock. The draft then
            has a fixed name, so that the next process overwrites a draft that was left behind;
            otherwise its name ends with the number of this process.
        also: endings of files that the draft's writer makes beside it, to be removed with it.

    Raises OSError if the file cannot be replaced, or another user can change its folder.
    """
    folders.require(target.parent)
    draft = target.with_name(f".{target.name}.{'draft' if alone else os.getpid()}")
    every = [draft, *(draft.with_name(draft.name + ending) for ending in also)]
    try:
        for path in every:
            path.unlink(missing_ok=True)
        yield draft
        draft.replace(target)
    finally:
        with suppress(OSError):  # the first error says more
            for path in every:
                path.unlink(missing_ok=True)


def write(target: Path, content: bytes, *, alone: bool = False, with_group: bool = False) -> None:
    """Replace ``target`` by a file with this content, shared with the group if so.

    ``alone`` and errors are those of ``drafting``.
    """
    with drafting(target, alone=alone) as draft:
        draft.write_bytes(content)
        privacy.share(draft, with_group=with_group)


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's names, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
