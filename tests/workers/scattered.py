"""An executor that does everything as workers elsewhere do, in this process: for tests."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from audit.workers import remote
from audit.workers.executors import Made, Part, Shared, Stopped
from audit.workers.parcels import Opener, Packer
from audit.workers.remote import identity


class Scattered:
    """Each part is packed, done from the parcel, and packed again; the last one first."""

    def __init__(self, width: int = 3, parts: int = 3) -> None:
        self.width = width
        self.parts = parts

    def each(
        self,
        prepare: Callable[[Shared], Callable[[Part], Made]],
        shared: Shared,
        parts: Sequence[Part],
        stopped: Stopped = lambda: False,
    ) -> Iterator[tuple[int, Made]]:
        with TemporaryDirectory() as name:
            folder = Path(name)
            packer = Packer(folder)
            (folder / remote.WORK).write_bytes(packer.packed((prepare, shared)))
            for number in reversed(range(len(parts))):
                made = remote.run(name, identity(), packer.packed(parts[number]))
                yield number, Opener(folder).opened(made)
