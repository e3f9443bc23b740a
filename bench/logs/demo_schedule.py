"""A made-up accounting log with real waits: a synthetic workload, scheduled by EASY.

The jobs of ``demo_jobs`` are scheduled, and some are cancelled while they wait.

**Those who gave up waiting** do not bend the schedule. They are put beside the finished schedule
of all others, and each is cancelled before the first instant at which it could have been the head
of the queue or could have fitted into what was free. Until then a queued attempt has no effect on
EASY whatsoever. So the log is at once what EASY does with them in the queue, and what it does
without them, which is how SPEC §1 and §4 replay a log: a replay of the attempts that started
(fcfs + easy, pool of ``capacity``) gives the starts of this log to the second.

Deterministic: one PCG64 generator seeded by the argument, no clock. Sources: SPEC §4, §8
(offered load).
"""

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Ints
from audit.errors import UsageError
from audit.model import JobState
from audit.scenario.check import check_schedule, require_sound
from audit.studies.workload.compute.synthetic import easy
from bench.logs.demo_jobs import ACCOUNTS, HOUR, MINUTE, QUEUES, USERS, Jobs, draw

FULL_JOBS: Final = 22_000
FULL_DAYS: Final = 91
GAVE_UP: Final = 0.03
"""Share of the jobs that are cancelled while they wait."""
CANDIDATES: Final = 8
"""So many jobs are drawn for each that is to give up; those that could have started are dropped."""

LOG: Final = pl.Schema(
    {
        "job_number": pl.Int64,  # 1, 2, … in the order of submission
        "submit_time": pl.Int64,
        "start_time": pl.Int64,  # null: gave up waiting
        "end_time": pl.Int64,  # or when it gave up
        "cpus": pl.Int64,
        "walltime_s": pl.Int64,
        "user": pl.String,  # decimal numbers, as in SWF
        "account": pl.String,
        "state": pl.String,  # COMPLETED, FAILED, CANCELLED
        "partition": pl.String,  # key of QUEUES
    }
)


def demo_log(
    seed: int = 1, jobs: int = FULL_JOBS, capacity: int = 512, load: float = 0.85
) -> pl.DataFrame:
    """The demo log: one row per job, in the order of submission.

    Args:
        seed: of PCG64, ≥ 0; the same arguments give the same frame.
        jobs: how many jobs, ≥ 100. The log lasts 13 weeks for 22,000 and in proportion
            otherwise, two weeks at least.
        capacity: processors of the pool, ≥ 32.
        load: offered load of what starts (SPEC §8), about, in (0, 1).

    Returns:
        Columns of ``LOG``; times in epoch seconds from ``start_of_log()`` on, walltimes in s. Where
        the queue was too short for enough jobs to give up, there are up to 3 % fewer.

    Raises:
        UsageError: an argument is out of range.
        SimulationError: the schedule fails its check, which would be a defect of ``easy``.
    """
    if seed < 0 or jobs < 100 or capacity < 32 or not 0 < load < 1:
        raise UsageError(
            f"demo log: seed {seed}, jobs {jobs}, capacity {capacity}, load {load}: they must be "
            "≥ 0, ≥ 100, ≥ 32 and between 0 and 1"
        )
    rng = np.random.Generator(np.random.PCG64(seed))
    giving_up = round(jobs * GAVE_UP)
    to_start, candidates = jobs - giving_up, CANDIDATES * giving_up
    days = max(14, round(FULL_DAYS * jobs / FULL_JOBS))
    drawn = draw(rng, to_start + candidates, to_start, days, capacity, load)
    candidate = np.zeros(len(drawn), np.bool_)
    candidate[rng.choice(len(drawn), candidates, replace=False)] = True

    stays = drawn.where(~candidate)
    start = easy(stays.submit, stays.cpus, stays.occupancy, stays.walltime, capacity)
    left = _leave(rng, drawn, candidate, start, capacity)
    leaves = np.flatnonzero(left >= 0)
    if len(leaves) > giving_up:
        # Rather those who had to wait for long: whoever leaves at once had no reason to.
        chance = np.sqrt(left[leaves] - drawn.submit[leaves])
        leaves = rng.choice(leaves, giving_up, replace=False, p=chance / chance.sum())
    dropped = candidate.copy()
    dropped[leaves] = False

    begin = np.full(len(drawn), -1, np.int64)
    begin[~candidate] = start
    end = np.where(candidate, left, begin + drawn.occupancy)
    user_number = rng.permutation(USERS) + 1
    log = _frame(drawn.where(~dropped), begin[~dropped], end[~dropped], user_number)
    schedule = as_schedule(log.filter(pl.col("start_time").is_not_null()))
    asked = schedule.with_columns(occupancy_s=pl.Series(stays.occupancy))
    require_sound(check_schedule(schedule, asked, capacity), "the demo log's schedule")
    return log


def as_schedule(log: pl.DataFrame) -> pl.DataFrame:
    """Rows of a demo log in the columns that the schedule check takes."""
    return log.select(
        pl.lit("demo").alias("cluster"),
        pl.col("job_number").cast(pl.String).alias("job_id"),
        pl.lit(1, pl.Int64).alias("attempt"),
        pl.col("submit_time").alias("arrival_time"),
        pl.col("cpus").alias("size"),
        "start_time",
        "end_time",
    )


def _leave(
    rng: np.random.Generator, drawn: Jobs, candidate: NDArray[np.bool_], start: Ints, capacity: int
) -> Ints:
    """When each candidate gives up without having had any effect; −1 where it cannot.

    ``start`` holds the starts of all others. As long as one that was queued before it still waits,
    an attempt is not the head; as long as it does not fit into what is free before the passes, no
    pass starts it. Passes happen at arrivals and ends; its own arrival brings one more, in which
    EASY finds nothing to start, as nothing has changed since the last.
    """
    size, end = drawn.cpus[~candidate], start + drawn.occupancy[~candidate]
    arrival = drawn.submit[~candidate]
    lasting = end > start
    by_start, by_end = np.sort(start[lasting]), np.sort(end[lasting])
    held = np.concatenate(([0], np.cumsum(size[lasting][np.argsort(start[lasting])])))
    freed = np.concatenate(([0], np.cumsum(size[lasting][np.argsort(end[lasting])])))
    passes = np.unique(np.concatenate((arrival, end)))

    def free_before_pass(at: Ints) -> Ints:
        started = held[np.searchsorted(by_start, at, side="left")]
        ended = freed[np.searchsorted(by_end, at, side="right")]
        free: Ints = capacity - started + ended
        return free

    free = free_before_pass(passes)
    last_start = np.concatenate(([0], np.maximum.accumulate(start)))
    queued_before = np.cumsum(~candidate)  # those before a candidate in the order of the queue
    left = np.full(len(drawn), -1, np.int64)
    for k in np.flatnonzero(candidate):
        arrives, asks = int(drawn.submit[k]), int(drawn.cpus[k])
        patience = float(np.exp(np.log(3 * HOUR) + rng.standard_normal()))
        share = float(rng.random()) ** 0.5
        becomes_head = int(last_start[queued_before[k]])
        if int(free_before_pass(np.array([arrives]))[0]) >= asks:
            continue
        first, last = np.searchsorted(passes, [arrives, becomes_head])
        fits = np.flatnonzero(free[first:last] >= asks)
        could = int(passes[first + fits[0]]) if len(fits) else becomes_head
        waits = int(min(patience, (could - arrives) * share))
        if waits >= MINUTE:
            left[k] = arrives + waits
    return left


def _frame(jobs: Jobs, start: Ints, end: Ints, user_number: Ints) -> pl.DataFrame:
    """Columns of ``LOG``; a start of −1 is null, and cancelled."""
    limits = np.array([longest for _, longest in QUEUES.values()])
    queue = np.array(list(QUEUES))[np.searchsorted(limits, jobs.walltime)]
    account = np.array(ACCOUNTS)[jobs.user % len(ACCOUNTS)]
    started = pl.col("start_time") >= 0
    return (
        pl.DataFrame(
            {
                "job_number": np.arange(1, len(jobs) + 1),
                "submit_time": jobs.submit,
                "start_time": start,
                "end_time": end,
                "cpus": jobs.cpus,
                "walltime_s": jobs.walltime,
                "user": user_number[jobs.user],
                "account": account,
                "state": jobs.state.tolist(),
                "partition": queue.tolist(),
            }
        )
        .with_columns(
            start_time=pl.when(started).then("start_time"),
            state=pl.when(started).then("state").otherwise(pl.lit(str(JobState.CANCELLED))),
        )
        .cast(LOG)
    )
