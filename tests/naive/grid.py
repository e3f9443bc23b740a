"""The part of a log, its loads and the policy grid (SPEC §8), straight from the definitions."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from tests.naive import attempts as naive
from tests.naive import simulation as slow
from tests.naive.simulation import Job, Log, Rule


class Cut(NamedTuple):
    """A part: keys, users and jobs, in the order (arrival, submit, sequence)."""

    keys: list[tuple[str, int]]
    users: list[str | None]
    walltimes: list[int | None]
    log: Log


def part(
    records: Sequence[Mapping[str, Any]], amounts: Mapping[str, int], attempts: int
) -> Cut | None:
    """The first attempts that ran and that the pool is large enough for; None: there are none."""
    rows = []
    described = naive.described(records, next(iter(amounts)))
    for record, one in zip(records, described, strict=True):
        occupancy = record["occupancy_s"]
        if one.start is not None and one.end is not None:
            occupancy = one.end - one.start
        if one.standing not in ("ended", "start_unknown") or record["reservation"]:
            continue
        if one.arrival is None or occupancy is None:
            continue
        request = tuple(record[name] or 0 for name in amounts)
        if any(asked > had for asked, had in zip(request, amounts.values(), strict=True) if asked):
            continue
        submit = -1 if record["submit_time"] is None else record["submit_time"]
        job = Job(one.arrival, occupancy, 0, request)
        place = (one.arrival, submit, record["job_number"], record["attempt"])
        rows.append((place, one.key, record["user"], record["walltime_s"], job))
    if not rows:
        return None
    rows = sorted(rows, key=lambda row: row[0])[:attempts]
    return Cut(
        [row[1] for row in rows],
        [row[2] for row in rows],
        [row[3] for row in rows],
        Log(tuple(row[4] for row in rows), tuple(amounts.values())),
    )


def offered(cut: Cut) -> Fraction | None:
    """Σ occupancy · size / (capacity · (last − first arrival)); None where nothing can be offered.

    None too where it is 0: no factor brings that to another load.
    """
    jobs = cut.log.jobs
    span = jobs[-1].arrival - jobs[0].arrival
    area = sum(job.occupancy * job.request[0] for job in jobs)
    return Fraction(area, cut.log.capacity[0] * span) if span and area else None


def half_up(time: int, factor: Fraction) -> int:
    """At least 1 where it was more than 0."""
    exact = time * factor
    whole = int(exact)
    rounded = whole + (exact - whole >= Fraction(1, 2))
    return max(rounded, 1) if time > 0 else rounded


def at_load(cut: Cut, load: Fraction, *, exact: bool) -> Log:
    """The part with run times and walltimes multiplied; estimates exact or the log's own."""
    now = offered(cut)
    assert now is not None
    jobs = []
    for job, walltime in zip(cut.log.jobs, cut.walltimes, strict=True):
        occupancy = half_up(job.occupancy, load / now)
        asked = None if walltime is None else half_up(walltime, load / now)
        estimate = slow.estimate_of(occupancy, occupancy if exact else asked)
        jobs.append(job._replace(occupancy=occupancy, estimate=estimate))
    return cut.log._replace(jobs=tuple(jobs))


class Unfair(NamedTuple):
    strict: int
    relaxed: int
    re: Fraction
    raqfm: Fraction
    wait: int


def measure(log: Log, order: str, backfill: str) -> list[Unfair]:
    """How unfair the schedule that a policy makes is to each attempt, by its own standards."""
    rule = Rule(order, backfill)
    starts = slow.replay(log, rule).start
    jobs = [
        job._replace(start=starts[k], end=starts[k] + job.occupancy)
        for k, job in enumerate(log.jobs)
    ]
    done = log._replace(jobs=tuple(jobs))
    lives = [
        naive.Life(job.arrival, starts[k], starts[k] + job.occupancy, job.request[0])
        for k, job in enumerate(jobs)
    ]
    made = []
    for k, job in enumerate(jobs):
        fair = (slow.strict(done, rule, k), slow.relaxed(done, rule, k))
        late = [max(starts[k] - fst, 0) for fst in fair if fst is not None]
        shares = [
            max(naive.equality(lives[k], lives, weights).unfairness, Fraction())
            for weights in ("size", "jobs")
        ]
        made.append(Unfair(late[0], late[1], shares[0], shares[1], starts[k] - job.arrival))
    return made


def spearman(one: Sequence[Fraction], other: Sequence[Fraction]) -> float | None:
    """Spearman's correlation with average ranks for ties."""
    squared = naive.signed_square_of_spearman(
        [sorted(set(one)).index(value) for value in one],
        [sorted(set(other)).index(value) for value in other],
    )
    if squared is None:
        return None
    return math.sqrt(abs(squared)) * (1 if squared >= 0 else -1)
