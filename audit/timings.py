"""CPU and elapsed seconds, and peak memory, of each stage of long work.

Stages are those of which progress is reported. The time until the next one belongs to a stage.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

_OPENED: Final = time.monotonic() - time.process_time()
"""About when the process began: loading Python and the first modules waits for nothing."""
_OWN: Final = Path("/proc/self")


class Stage(NamedTuple):
    """The cost of a stage."""

    name: str
    cpu_s: float  # of all threads, and of processes that ended
    wall_s: float
    peak_mib: float | None  # of the process; None: the system does not tell


class Timings:
    """Measures the stages of a process; ``update`` is a callback for progress."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._name = "loading"
        self._cpu_s, self._wall_s = 0.0, _OPENED

    def update(self, what: str, done: int, of: int) -> None:
        """Begin the stage ``what``, unless it is the present one."""
        if what != self._name:
            self.end()
            self._name = what

    def end(self) -> None:
        """End the present stage."""
        cpu_s, wall_s = _cpu_s(), time.monotonic()
        stage = Stage(self._name, cpu_s - self._cpu_s, wall_s - self._wall_s, _peak_mib())
        self.stages.append(stage)
        self._cpu_s, self._wall_s = cpu_s, wall_s

    def lines(self) -> Iterator[str]:
        """Yield a table of the stages and their sum."""
        peaks = [stage.peak_mib for stage in self.stages if stage.peak_mib is not None]
        every = Stage(
            "all",
            sum(stage.cpu_s for stage in self.stages),
            sum(stage.wall_s for stage in self.stages),
            max(peaks, default=None),
        )
        width = max(len(stage.name) for stage in self.stages)
        yield f"{'stage':{width}}  {'CPU s':>8}  {'elapsed s':>9}  {'peak MiB':>8}"
        for stage in (*self.stages, every):
            peak = "" if stage.peak_mib is None else f"{stage.peak_mib:,.0f}"
            yield f"{stage.name:{width}}  {stage.cpu_s:8.2f}  {stage.wall_s:9.2f}  {peak:>8}"


def _cpu_s() -> float:
    spent = os.times()
    return sum(spent[:4])


def _peak_mib() -> float | None:
    """Return the peak memory since the last call, if the system counts it."""
    with suppress(OSError, IndexError):
        status = (_OWN / "status").read_text(encoding="utf-8")
        peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
        (_OWN / "clear_refs").write_text("5", encoding="utf-8")  # forgets the peak
        return peak
    return None
