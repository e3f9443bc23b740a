"""An executor that does everything as workers elsewhere do, in this process: for tests."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from audit.workers import remote
from audit.workers.executors import Stopped
from audit.workers.parcels import Opener, Packer
from audit.workers.remote import identity
from tests.logs import line, log


class Scattered:
    """Each part is packed, done from the parcel, and packed again; the last one first."""

    def __init__(self, width: int = 3, parts: int = 3) -> None:
        self.width = width
        self.parts = parts

    def each(
        self, prepare: Any, shared: Any, parts: Sequence[Any], stopped: Stopped = lambda: False
    ) -> Iterator[tuple[int, Any]]:
        with TemporaryDirectory() as name:
            folder = Path(name)
            packer = Packer(folder)
            (folder / remote.WORK).write_bytes(packer.packed((prepare, shared)))
            for number in reversed(range(len(parts))):
                made = remote.run(name, identity(), packer.packed(parts[number]))
                assert isinstance(made, bytes), made
                yield number, Opener(folder).opened(made)


def small_log() -> str:
    """Sixty jobs of five users."""
    of = {"walltime": 4000}
    lines = [
        line(k, submit=400 * k, wait=50 * (k % 7), run=600 + 370 * k % 2000, **of, **more)
        for k in range(1, 61)
        for more in ({"allocated": 1 + k % 4, "user": k % 5},)
    ]
    return log(lines, MaxProcs=8)
