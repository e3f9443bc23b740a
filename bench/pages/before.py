"""How good predictions before a submission are: those of its user, and those of an unknown user.

    python -m bench.pages.before LOG    # figures of docs/when.md

Over the last 40 % of the log's time. A job of the same user gets the prediction that it gets at its
submission; see ``test_predictions``. That of an unknown user has the same request, and the bounds
that were learned from jobs of known users.
"""

import sys
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from audit.config import Config
from audit.model import Pool
from audit.oneoff.explain.explain import charged
from audit.pipeline.opening import ClusterLog, LogRequest, open_log
from audit.scenario.predict import predictions
from audit.scenario.predict.calibration import CONTESTED_S, Levels
from audit.scenario.predict.known import known_of
from audit.scenario.predict.predictions import SUBMISSIONS
from audit.scenario.scenario import Scenario
from audit.scenario.workload import NEVER

FROM: Final = 0.6
_UNKNOWN: Final = 0  # the number of users without a name


def rows(log: ClusterLog, pool: Pool, every: int) -> list[dict[str, Any]]:
    """Return predictions of every n-th submission: user (own or unknown), wait, p10, p50, p90."""
    described, ranked = charged(log, pool, Path())
    scenario = Scenario(
        described.filter(pl.col("pool") == pool.name), pool, log.setting.now, ranked
    )
    known, zone = known_of(scenario), log.setting.zone.key
    known = known._replace(user=known.user.copy())
    run = predictions._Run(known, zone, SUBMISSIONS, every)
    levels = Levels()
    subjects = np.flatnonzero(known.subject)
    arrival = known.work.arrival[subjects]
    begin = arrival[0] + FROM * (arrival[-1] - arrival[0])
    made = []
    for place in range(0, len(subjects), every):
        job, now = int(subjects[place]), int(arrival[place])
        scene = run.sweep.to(now, job + 1)
        start = int(known.work.start[job])
        if now >= begin:
            user, number, count = known.user[job], run.table.number, len(run.rows)
            known.user[job] = _UNKNOWN
            records = {kind: one.verdict(now) for kind, one in run._records.items()}
            bounds, contested = _unlearned(run, scene, job, levels)
            known.user[job] = user
            run.table.drop(number)
            assert len(run.rows) == count
            if bounds is not None and records[contested] is None and start != NEVER:
                of = {"user": "unknown", "contested": contested, "start": start, "made_at": now}
                made.append(of | dict(zip(("p10", "p50", "p90"), bounds, strict=True)))
        predictions._predict(run, scene, job, levels)
        if place + every <= len(subjects):
            predictions._add(run, scene, subjects[place + 1 : place + every])
    starts = scenario.attempts["start_time"]
    for one in run.frame().filter(pl.col("made_at") >= begin).iter_rows(named=True):
        start = starts[one["row"]]
        if one["p10"] is not None and start is not None:
            names = ("contested", "made_at", "p10", "p50", "p90")
            made.append({name: one[name] for name in names} | {"user": "own", "start": start})
    return made


def _unlearned(
    run: predictions._Run, scene: Any, job: int, levels: Levels
) -> tuple[tuple[int, int, int] | None, bool]:
    """Return a prediction from which nothing is learned, and whether it is contested."""
    now, jobs = scene.now, np.array([job])
    waits = run.sweep.model_waits(scene, job)
    if NEVER in (waits[0][0], waits[1][0]):
        return None, False
    features = run.sweep.features(scene, jobs, waits, ages=False)
    (row,) = run.table.add(now, jobs, run.hours_of(jobs), waits[0], *features)
    found, wait = run.estimate(row, row), int(waits[0][0])
    if found is None:
        return None, False
    middle = round(found.wait(0.5))
    contested = middle > CONTESTED_S
    low, high = levels.at(now, wait, contested)
    return predictions._bounds(now, found.wait(low), middle, found.wait(high)), contested


def main() -> None:
    log = open_log(LogRequest(logs=[Path(name) for name in sys.argv[1:]]), Config())
    for pool in log.setting.pools:
        found = pl.DataFrame(rows(log, pool, 3))
        inside = pl.col("start").is_between("p10", "p90")
        near = pl.col("start").is_between(pl.col("p10") - 60, pl.col("p90") + 60)
        table = found.group_by("user", "contested").agg(
            pl.len().alias("predictions"),
            inside.mean().round(3).alias("coverage"),
            near.mean().round(3).alias("within a minute"),
            (pl.col("start") - pl.col("p50")).abs().median().alias("median error, s"),
        )
        print(pool.name, table.sort("user", "contested"), sep="\n")


if __name__ == "__main__":
    main()
