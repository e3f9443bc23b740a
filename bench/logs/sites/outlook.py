"""Free capacity from now on, as a scheduler that believes walltimes expects it."""

from collections.abc import Iterable


class Outlook:
    """Free capacity as a step function: ``free[k]`` from ``times[k]`` on."""

    def __init__(self, now: int, free: int, ends: Iterable[tuple[int, int]]) -> None:
        """Take the free capacity now, and what is expected to end: (epoch s, size), ascending."""
        self.times, self.free = [now], [free]
        for time, size in ends:
            if time <= self.times[-1]:
                self.free[-1] += size
            else:
                self.times.append(time)
                self.free.append(self.free[-1] + size)

    def earliest(self, size: int, length: int) -> int | None:
        """Return the first time from which the size is free for the length; None: never."""
        begin = None
        times = self.times
        for k, free in enumerate(self.free):
            if free < size:
                begin = None
                continue
            if begin is None:
                begin = times[k]
            if k + 1 == len(times) or times[k + 1] >= begin + length:
                return begin
        return None

    def is_free(self, size: int, length: int) -> bool:
        """Return whether the size is free now, and for the length."""
        until = self.times[0] + length
        for time, free in zip(self.times, self.free, strict=True):
            if time >= until:
                return True
            if free < size:
                return False
        return True

    def take(self, begin: int, end: int, size: int) -> None:
        """Take the size out of what is free in [begin, end)."""
        first, last = self._place(begin), self._place(end)
        for k in range(first, last):
            self.free[k] -= size

    def _place(self, time: int) -> int:
        """Return the place of a step at a time not before now, which is made if it is missing."""
        times = self.times
        k = len(times)
        while times[k - 1] > time:
            k -= 1
        if times[k - 1] == time:
            return k - 1
        times.insert(k, time)
        self.free.insert(k, self.free[k - 1])
        return k
