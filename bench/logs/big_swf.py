"""A big SWF log, fast.

For measuring how fast logs are read, not for auditing: what arrives is drawn from a workload model
(workload.toml), but the waits are drawn too, not simulated, so the pool may be over-full. 1 M
records take about two seconds.
"""

import numpy as np
import polars as pl

from bench.logs.big_workload import big_workload

RECORDS = 1_000_000


def big_swf(records: int = RECORDS, seed: int = 0) -> bytes:
    """SWF text of ``records`` jobs, one in 12 s: all kinds of lines that a real log has.

    One in fifty never started; one in a thousand is of a job whose wait is unknown.
    """
    drawn = big_workload(records, seed)
    start = int(drawn["arrival_time"][0])
    rng = np.random.Generator(np.random.PCG64(seed))
    waits = rng.random(records) < 0.6
    wait = np.where(waits, rng.lognormal(7.5, 1.8, records), 0).astype(np.int64)
    wait[rng.random(records) < 0.001] = -1
    run = drawn["occupancy_s"].to_numpy().copy()
    cpus = drawn["size"].to_numpy()
    state = rng.choice([1, 0, 5], records, p=[0.85, 0.1, 0.05])
    never = rng.random(records) < 0.02
    run[never] = -1
    state[never] = 5
    unknown = np.full(records, -1, np.int64)
    columns = {
        "job": np.arange(1, records + 1),
        "submit": drawn["arrival_time"].to_numpy() - start,
        "wait": wait,
        "run": run,
        "allocated": np.where(never, -1, cpus),
        "cpu": np.where(never, -1, run * 9 // 10),
        "used_memory": unknown,
        "requested": cpus,
        "walltime": drawn["walltime_s"].fill_null(-1).to_numpy(),
        "memory": rng.choice([-1, 1_048_576, 2_097_152, 4_194_304], records),
        "status": state,
        "user": drawn["user"].to_numpy(),
        "group": drawn["label"].cast(pl.Int64).to_numpy(),
        "executable": unknown,
        "queue": rng.integers(1, 5, records),
        "partition": np.ones(records, np.int64),
        "preceding": unknown,
        "think": unknown,
    }
    header = (
        "; Version: 2.2\n; Computer: made up, for benchmarks\n"
        f"; MaxJobs: {records}\n; MaxRecords: {records}\n; UnixStartTime: {start}\n"
        "; TimeZoneString: Europe/Berlin\n; MaxProcs: 8192\n"
    )
    lines = pl.DataFrame(columns).write_csv(separator=" ", include_header=False)
    return header.encode() + lines.encode()
