"""SPEC §11, *Unstartable*, in slow, plain Python; nothing is shared with the package."""

from collections.abc import Hashable, Sequence

from tests.naive.plateaus import Forbids, Job, forbids

LASTS = 3_600


def marked(  # noqa: PLR0912  # one instant after the other, as in the text
    jobs: Sequence[Job], capacity: int, since: int = 0, rules: Sequence[Forbids] = ()
) -> list[int | None]:
    """When each job was marked."""
    times = {t for job in jobs for t in (job.arrival, job.leave, job.start, job.end) if t}
    times.add(since)
    found: list[int | None] = [None] * len(jobs)
    hungry_s: dict[Hashable, int] = {}
    lapsed: set[Hashable] = set()
    watched_s: dict[int, int] = {}  # of each job, as the first of its group
    unstartable: set[Hashable] = set()
    now = min(times)
    while True:
        queue = [k for k, job in enumerate(jobs) if job.arrival <= now < job.leave]
        groups: dict[Hashable, list[int]] = {}
        for k in queue:
            groups.setdefault(jobs[k].group, []).append(k)
        for job in jobs:
            if job.start == now:
                hungry_s[job.group] = 0
                unstartable.discard(job.group)
        for group in {*hungry_s, *lapsed, *unstartable} - {*groups}:
            hungry_s.pop(group, None)
            lapsed.discard(group)
            unstartable.discard(group)
        for group, theirs in groups.items():
            if watched_s.get(theirs[0], 0) >= LASTS:
                unstartable.add(group)
            if group in unstartable:
                for k in theirs:
                    found[k] = now if found[k] is None else found[k]
        running = [job for job in jobs if job.runs_at(now)]
        free = capacity - sum(job.size for job in running)
        left, hungry, watched, later = free, [], [], [t for t in times if t > now]
        for group, theirs in groups.items():
            first = jobs[theirs[0]]
            if first.size > left or any(forbids(r, first, running, now) for r in rules):
                continue
            hungry.append(group)
            if hungry_s.get(group, 0) >= 3_600:
                lapsed.add(group)
            if group not in lapsed:
                left -= min(len(theirs), left // first.size) * first.size
                later.append(now + 3_600 - hungry_s.get(group, 0))
            others = sum(
                jobs[k].size
                for k in queue
                if jobs[k].group not in unstartable
                and k != theirs[0]
                and (first.user is None or jobs[k].user != first.user)
            )
            if group not in unstartable and others + first.size <= free:
                watched.append(theirs[0])
                later.append(now + LASTS - watched_s.get(theirs[0], 0))
        if now < since:
            hungry, watched, later = [], [], [t for t in times if t > now]
            lapsed.clear()
        if not later:
            return found
        for group in hungry:
            hungry_s[group] = hungry_s.get(group, 0) + min(later) - now
        for k in watched:
            watched_s[k] = watched_s.get(k, 0) + min(later) - now
        now = min(later)
