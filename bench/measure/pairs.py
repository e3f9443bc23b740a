"""User CPU of works that take turns, so that whatever else the machine does touches all of them.

Works are done once to warm up, then in rounds. A work that takes little is done several times in a
turn. The ratio of two works within a round matters: it is stable even if absolute times are not.
"""

import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.measure.figures import Beside, Figure

Work = Callable[[], object]

LEAST_S = 0.15
"""User CPU of a turn at least: the kernel's clock ticks in hundredths of a second."""
ROUNDS = 5
ENOUGH_S = 6.0
"""User CPU after which no further round begins, once there were ``FEWEST``."""
FEWEST = 3
LONG_S = 10.0
"""Works that take longer together are done once: what warms up is little of it."""
UNKNOWN = 0.1
"""The noise of a ratio that was measured once."""


def user_s() -> float:
    """User CPU of this process, all its threads, and of its children that have ended, s."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(resource.getrusage(kind).ru_utime for kind in kinds)


def spent(work: Work, times: int = 1) -> float:
    """User CPU of doing it once, s."""
    before = user_s()
    for _ in range(times):
        work()
    return (user_s() - before) / times


def in_turns(works: Mapping[str, Work]) -> dict[str, list[float]]:
    """User CPU of each work in each round, s; works that take very long have one round."""
    warm, times = {}, {}
    for name, work in works.items():
        warm[name] = spent(work)
        # Once more if quick: first calls import and fill caches.
        again = spent(work) if warm[name] < LEAST_S else warm[name]
        times[name] = max(1, math.ceil(LEAST_S / max(again, 1e-5)))
    if sum(warm.values()) > LONG_S:
        return {name: [seconds] for name, seconds in warm.items()}
    rounds: dict[str, list[float]] = {name: [] for name in works}
    begin = user_s()
    for number in range(ROUNDS):
        if number >= FEWEST and user_s() - begin > ENOUGH_S:
            break
        for name, work in works.items():
            rounds[name].append(spent(work, times[name]))
    return rounds


def beside(what: str, ours: Sequence[float], theirs: Sequence[float]) -> Beside:
    """The comparison of our rounds with those of another work.

    The ratio is the median over the rounds, the noise by how much of it a round typically differs:
    the median distance from it.
    """
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    ratio = statistics.median(ratios)
    apart = statistics.median(abs(one - ratio) for one in ratios) / ratio
    noise = apart if len(ratios) > 1 else UNKNOWN
    return Beside(what, statistics.median(theirs), ratio, noise)


def measured(
    stage: str,
    what: str,
    size: int | None,
    ours: Work,
    *,
    twin: tuple[str, Work] | None = None,
    limit: tuple[str, Work] | None = None,
    goal: float | None = None,
) -> Figure:
    """A figure from works that take turns.

    Args:
        stage: under which heading it stands.
        what: what ours does.
        size: records or attempts; None: it is about no number of them.
        ours: the work.
        twin: another way to the same result, and what it is called.
        limit: the least that has to be done for it, and what that is called.
        goal: what the ratio to the twin should be at most.
    """
    works = {"ours": ours}
    works |= {name: side[1] for name, side in (("twin", twin), ("limit", limit)) if side}
    rounds = in_turns(works)
    return Figure(
        stage,
        what,
        size,
        statistics.median(rounds["ours"]),
        twin=beside(twin[0], rounds["ours"], rounds["twin"]) if twin else None,
        limit=beside(limit[0], rounds["ours"], rounds["limit"]) if limit else None,
        goal=goal,
    )


class Ended(NamedTuple):
    """A process that has ended."""

    user_s: float
    wall_s: float
    peak_mib: float
    said: str


def process(
    command: Sequence[object], code: int = 0, environment: Mapping[str, str] | None = None
) -> Ended:
    """Runs a program to its end.

    Raises:
        RuntimeError: it ends with another code, with what it said.
    """
    words = list(map(str, command))
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            words, stdout=said, stderr=said, env={**os.environ, **(environment or {})}
        )
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        told = said.read().decode(errors="replace")
    if child.returncode != code:
        raise RuntimeError(f"{' '.join(words)} ended with {child.returncode}:\n{told}")
    return Ended(usage.ru_utime, wall, usage.ru_maxrss / 1024, told)


def fairaudit(arguments: Sequence[object], code: int = 0) -> Ended:
    """Runs the command as a user does; raises as ``process``."""
    return process([Path(sys.executable).with_name("fairaudit"), *arguments], code)
