"""The word of a verdict, decided from an SWF log by its definition.

Part of recompute.py, which shares no code with fairaudit. An SWF log records no holds, so nothing
is unfair. Two parts are not recomputed: the waits of jobs that could not start although enough was
free count with what has no reason only, and chains excuse no user. So a log may get a verdict here
where the page cannot tell, or be mixed where the page is fair.
"""

from collections import defaultdict
from statistics import median_low

from pairs import KINDS, Passed
from replay import Job, Log, width

LONG_S, FEW_JOBS, FEW_SHARE, LITTLE = 600, 30, 0.01, 0.05
NOT_JUDGED, TREATED_WORSE, NOT_TESTED, EACH = 0.5, 0.03, 0.05, 0.02


def decided(
    log: Log,
    books: list[tuple[Job, dict[str, float]]],
    passed: dict[tuple[str, str], Passed],
) -> str:
    """Return the word of a whole log."""
    jobs = [job for job in log.jobs if job.start is not None]
    waiting = sum(job.wait - book["outside"] for job, book in books)
    unknown = sum(job.wait for job in jobs if not job.user)
    users = {job.user for job in jobs} - {""}
    if len(jobs) < FEW_JOBS or len(users) == 1 or 0 < waiting <= 2 * unknown:
        return "Cannot tell"
    if little(jobs, waiting):
        return "Quiet"
    if sum(book["unexplained"] for _, book in books) >= NOT_JUDGED * waiting:
        return "Cannot tell"

    worse = max(lost(passed, waiting, kind, named=True) for kind in KINDS)
    if worse >= TREATED_WORSE:
        return "Mixed"
    return "Cannot tell" if lost(passed, waiting, "user", named=False) >= NOT_TESTED else "Fair"


def lost(passed: dict[tuple[str, str], Passed], waiting: float, kind: str, *, named: bool) -> float:
    """Return the share of passed time of those that are named, or that could not be tested."""
    seconds = [
        one.seconds
        for (of, _), one in passed.items()
        if of == kind and (one.named if named else not one.tested)
    ]
    return sum(some for some in seconds if some >= EACH * waiting) / waiting


def little(jobs: list[Job], waiting: float) -> bool:
    """Return whether there is nothing to judge."""
    long = sum(job.wait > LONG_S for job in jobs)
    classes = defaultdict(list)
    for job in jobs:
        classes[width(job.size)].append(job.wait)
    typically = any(len(of) >= FEW_JOBS and median_low(of) > LONG_S for of in classes.values())
    few = long < FEW_JOBS or long < FEW_SHARE * len(jobs)
    return few and not typically and waiting <= LITTLE * sum(job.length for job in jobs)
