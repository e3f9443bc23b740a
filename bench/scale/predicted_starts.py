"""How good predicted starts are on a long made log with a deep queue, and what they cost.

    python -m bench.scale.predicted_starts --jobs 230000    # about a minute

The jobs are those of the made sites of bench/logs/sites, scheduled first come, first served, with
EASY backfilling. The figures are of contested predictions in the last 40 % of the log's time. They
stand beside those of the last 200 waits, and of the last 20 waits of similar jobs.
"""

import argparse
import time
from collections import defaultdict, deque

import numpy as np
import polars as pl

from audit.metrics.attempts.population import describe
from audit.model import ATTEMPTS, Pool, Resource
from audit.scenario.predict import latest
from audit.scenario.predict.known import QueuedAttempts, known_of
from audit.scenario.predict.predictions import at_submission, step_of
from audit.scenario.scenario import Scenario
from bench.logs.sites.kinds import SiteKind, Traffic
from bench.logs.sites.limits import named
from bench.logs.sites.workload import demand
from bench.logs.workloads import EASY, plain, scheduled

CAPACITY = 512
JOBS_A_DAY = 383
LEVELS = (0.1, 0.5, 0.9)


def made(jobs: int, seed: int = 1) -> Scenario:
    """A log with this number of jobs."""
    traffic = Traffic(days=jobs // JOBS_A_DAY, jobs=jobs, users=200, load=(0.93, 0.97), gives_up=0)
    kind = SiteKind(traffic=traffic, capacity=CAPACITY)
    found = demand(kind, np.random.Generator(np.random.PCG64(seed)))
    order = np.argsort(found.submit, kind="stable")
    submit, run, walltime, size = (
        np.asarray(of)[order] for of in (found.submit, found.runtime, found.walltime, found.size)
    )
    start = scheduled(plain(submit, run, walltime, size, CAPACITY), EASY).start
    count = len(order)
    names = {name: np.array(of)[order] for name, of in named(kind, found).items()}
    columns = {
        "cluster": ["made"] * count,
        "job_id": [str(number) for number in range(1, count + 1)],
        "job_number": np.arange(1, count + 1),
        **{name: names[name] for name in ("user", "account", "partition", "qos")},
        "state": ["COMPLETED"] * count,
        "submit_time": submit,
        "start_time": start,
        "end_time": start + run,
        "walltime_s": walltime,
        "cpus": size,
        "line": np.arange(1, count + 1),
        "attempt": np.ones(count, np.int64),
    }
    unknown = {name: pl.repeat(None, count, dtype=of, eager=True) for name, of in ATTEMPTS.items()}
    pool = Pool("main", Resource.cpus, CAPACITY, amounts=(("cpus", CAPACITY),), policy=EASY)
    attempts = describe(pl.DataFrame({**unknown, **columns}, ATTEMPTS), [pool])
    return Scenario(attempts, pool, int((start + run).max()))


def pinball(seen: np.ndarray, told: np.ndarray) -> float:
    """Mean pinball loss of ln(wait + 60 s), of waits [n] and quantiles [n, 3], s."""
    errors = np.log(seen + 60.0)[:, None] - np.log(told + 60.0)
    return float(np.maximum(np.array(LEVELS) * errors, (np.array(LEVELS) - 1) * errors).mean())


def waits_before(known: QueuedAttempts, jobs: np.ndarray) -> np.ndarray:
    """Quantiles of the last waits of all, and of those like each job's, [n, 2, 3], s."""
    work = known.work
    width = np.ceil(np.log2(np.maximum(known.size, 1))).astype(int)
    walltime = np.searchsorted(latest.WALLTIMES_S, known.walltime)
    of = [*zip(known.user.tolist(), width.tolist(), walltime.tolist(), strict=True)]
    begun = np.flatnonzero(work.has_started & known.subject)
    begun = begun[np.argsort(work.start[begun], kind="stable")]
    recent = deque[int](maxlen=latest.ALL)
    alike = defaultdict[tuple[int, ...], deque[int]](lambda: deque(maxlen=latest.ALIKE))
    found, taken = list[list[list[float]]](), 0
    for job in jobs.tolist():
        while taken < len(begun) and work.start[begun[taken]] < work.arrival[job]:
            other = int(begun[taken])
            wait = int(work.start[other] - work.arrival[other])
            for last in (recent, alike[of[other]], alike[of[other][1:]]):
                last.append(wait)
            taken += 1
        kinds = (alike[of[job]], alike[of[job][1:]])
        mine = next((last for last in kinds if len(last) >= latest.FEWEST_ALIKE), recent)
        found.append([quantiles(sorted(recent)), quantiles(sorted(mine))])
    return np.array(found)


def quantiles(ascending: list[int]) -> list[float]:
    """The least waits that a share of all is no longer than."""
    last = len(ascending) - 1
    places = (int(np.ceil(level * len(ascending))) - 1 for level in LEVELS)
    return [float(ascending[min(last, max(0, place))]) for place in places]


def figures(scenario: Scenario) -> dict[str, float]:
    """The figures that docs/when.md states."""
    known = known_of(scenario)
    begin = time.process_time()
    told = at_submission(scenario, "UTC")
    spent = time.process_time() - begin
    job = np.searchsorted(known.rows, told["row"].to_numpy())
    made_at = told["made_at"].to_numpy()
    late = made_at >= made_at[0] + 0.6 * (made_at[-1] - made_at[0])
    shown = told.select(pl.col("p50").is_not_null() & pl.col("contested")).to_series()
    chosen = np.flatnonzero(late & shown.fill_null(value=False).to_numpy())
    recent, alike = waits_before(known, job[chosen]).transpose(1, 0, 2)
    at = made_at[chosen]
    seen = known.work.start[job[chosen]] - at
    own = told.select("p10", "p50", "p90")[chosen].to_numpy() - at[:, None]
    errors = [float(np.median(np.abs(of[:, 1] - seen))) for of in (own, recent, alike)]
    submitted, started = np.sort(known.work.arrival), np.sort(known.work.start)
    queue = np.arange(1, len(submitted) + 1) - np.searchsorted(started, submitted, side="right")
    return {
        "mean queue": float(queue.mean()),
        "longest queue": float(queue.max()),
        "every n-th": float(step_of(known)),
        "CPU s": spent,
        "contested": float(len(chosen)),
        "coverage": float(((seen >= own[:, 0]) & (seen <= own[:, 2])).mean()),
        "pinball, to similar jobs": pinball(seen, own) / pinball(seen, alike),
        "median error, s": errors[0],
        "to the last 200 waits": errors[0] / errors[1],
        "to similar jobs": errors[0] / errors[2],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="predicted starts on a long made log")
    parser.add_argument("--jobs", type=int, default=230_000)
    for name, value in figures(made(parser.parse_args().jobs)).items():
        print(f"{name}: {value:,.2f}")


if __name__ == "__main__":
    main()
