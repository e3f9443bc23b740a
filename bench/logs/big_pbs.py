"""A big PBS accounting log, fast.

For measuring how fast logs are read, not for auditing: what arrives is drawn from a workload model
(workload.toml), and so are the waits, which are not simulated. Each job has a `Q`, an `S` and an
`E`, with what PBS Professional writes; 100,000 jobs are 0.15 GB.
"""

import numpy as np
import polars as pl

from bench.logs.big_workload import big_workload

JOBS = 100_000


def big_pbs(jobs: int = JOBS, seed: int = 0) -> bytes:
    """Three records of each of ``jobs`` jobs, one in 12 s, in the order of time."""
    rng = np.random.Generator(np.random.PCG64(seed))
    drawn = big_workload(jobs, seed)
    submit = drawn["arrival_time"].to_numpy()
    wait = np.where(rng.random(jobs) < 0.6, rng.lognormal(7.5, 1.8, jobs), 0).astype(np.int64)
    frame = pl.DataFrame(
        {
            "number": np.arange(1, jobs + 1),
            "user": drawn["user"],
            "account": drawn["label"].cast(pl.Int64),
            "submit": submit,
            "start": submit + wait,
            "end": submit + wait + drawn["occupancy_s"].to_numpy(),
            "nodes": rng.integers(1, 4, jobs),
            "cpus": rng.choice([1, 4, 16, 64], jobs),
            "limit": drawn["walltime_s"].fill_null(3_600),
            "host": rng.integers(0, 400, jobs),
        }
    )
    who = pl.format(
        'user=user{} group=staff account="acct{}" project=_pbs_project_default jobname=job{} '
        "queue=batch ctime={} qtime={} etime={} ",
        *("user", "account", "number", "submit", "submit", "submit"),
    )
    total = pl.col("nodes") * pl.col("cpus")
    asked = pl.format(
        "Resource_List.mem={}gb Resource_List.mpiprocs={} Resource_List.ncpus={} "
        "Resource_List.nodect={} Resource_List.place=free Resource_List.select={}:ncpus={}:mem=8gb "
        "Resource_List.walltime={}",
        *(pl.col("nodes") * 8, "nodes", total, "nodes", "nodes", "cpus", "limit"),
    )
    hosts = [pl.format("n{}/0*{}", pl.col("host") + k, "cpus") for k in range(3)]
    vnodes = [
        pl.format("(n{}:ncpus={}:mem=8388608kb)", pl.col("host") + k, "cpus") for k in range(3)
    ]
    given = pl.format(
        " start={} exec_host={} exec_vnode={} ", "start", _first(hosts), _first(vnodes)
    )
    used = pl.format(
        " session=17927 end={} Exit_status=0 resources_used.cpupercent=99 "
        "resources_used.cput=01:00:00 resources_used.mem=13145236kb resources_used.ncpus={} "
        "resources_used.vmem=1213004kb resources_used.walltime={} run_count=1",
        *("end", total, pl.col("end") - pl.col("start")),
    )
    messages = {
        "Q": ("submit", pl.concat_str(who, asked)),
        "S": ("start", pl.concat_str(who, given.str.strip_chars_start(), asked)),
        "E": ("end", pl.concat_str(who, given.str.strip_chars_start(), asked, used)),
    }
    lines = pl.concat(
        frame.select(
            at=pl.col(at),
            line=pl.format("{};{};{}.pbs;{}", _stamp(at), pl.lit(kind), "number", text),
        )
        for kind, (at, text) in messages.items()
    )
    return ("\n".join(lines.sort("at")["line"]) + "\n").encode()


def _stamp(name: str) -> pl.Expr:
    return pl.from_epoch(name).dt.strftime("%m/%d/%Y %H:%M:%S")


def _first(pieces: list[pl.Expr]) -> pl.Expr:
    """As many as there are nodes, joined."""
    joined = [pl.concat_str(pieces[: k + 1], separator="+") for k in range(len(pieces))]
    return (
        pl.when(pl.col("nodes") == 1)
        .then(joined[0])
        .when(pl.col("nodes") == 2)
        .then(joined[1])
        .otherwise(joined[2])
    )
