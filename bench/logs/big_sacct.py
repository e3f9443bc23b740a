"""A big sacct log, fast.

For measuring how fast logs are read, not for auditing: what arrives is drawn from a workload model
(workload.toml), and so are the waits, which are not simulated. The columns are those that a site
would ask for, SubmitLine included; 1 M records are 0.3 GB.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from bench.logs.big_workload import big_workload

RECORDS = 1_000_000
EACH_S = 12  # seconds from one job to the next
COLUMNS = (
    "JobID|Cluster|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|ElapsedRaw|Suspended|"
    "Timelimit|NNodes|ReqCPUS|AllocCPUS|ReqMem|ReqTRES|AllocTRES|Priority|Reason|ExitCode|NodeList|"
    "Reservation|JobName|SubmitLine"
)


def _choice(rng: np.random.Generator, values: list[str], n: int, p: list[float]) -> pl.Series:
    return pl.Series(values, dtype=pl.String).gather(rng.choice(len(values), n, p=p))


def big_sacct(records: int = RECORDS, seed: int = 0, first: int = 0) -> bytes:
    """`sacct -X -D -P` of ``records`` jobs, one in 12 s; one in fifty never started.

    With ``first``, they are those behind that many others, without the header row.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    drawn = big_workload(records, seed)
    submit = drawn["arrival_time"].to_numpy() + first * EACH_S
    wait = np.where(rng.random(records) < 0.6, rng.lognormal(7.5, 1.8, records), 0).astype(np.int64)
    run = drawn["occupancy_s"].to_numpy()
    never = rng.random(records) < 0.02
    cpus = drawn["size"].to_numpy()
    gpus = np.where(rng.random(records) < 0.1, rng.integers(1, 9, records), 0)
    limit = drawn["walltime_s"].fill_null(3_600).to_numpy()
    is_array = rng.random(records) < 0.2
    frame = pl.DataFrame(
        {
            "number": np.arange(first + 1, first + records + 1),
            "is_array": is_array,
            "task": rng.integers(0, 500, records),
            "user": drawn["user"],
            "account": drawn["label"].cast(pl.Int64),
            "partition": _choice(
                rng, ["batch", "long", "gpu", "short"], records, [0.6, 0.1, 0.1, 0.2]
            ),
            "state": _choice(rng, ["COMPLETED", "FAILED", "TIMEOUT"], records, [0.88, 0.1, 0.02]),
            "submit": submit,
            "start": submit + wait,
            "end": submit + wait + run,
            "run": run,
            "never": never,
            "limit": limit,
            "cpus": cpus,
            "gpus": gpus,
            "nodes": (cpus + 63) // 64,
            "mem": cpus * rng.choice([1_000, 2_000, 4_000, 7_800], records),
            "priority": rng.integers(1, 1_000_000, records),
        }
    )

    def stamp(name: str) -> pl.Expr:
        return pl.from_epoch(name).dt.strftime("%Y-%m-%dT%H:%M:%S")

    def two(value: pl.Expr) -> pl.Expr:
        return value.cast(pl.String).str.zfill(2)

    clock = pl.format(
        "{}:{}:{}",
        two(pl.col("limit") % 86_400 // 3_600),
        two(pl.col("limit") % 3_600 // 60),
        two(pl.col("limit") % 60),
    )
    gpu = pl.when(pl.col("gpus") > 0).then(
        pl.format("gres/gpu:a100={},gres/gpu={},", "gpus", "gpus")
    )
    tres = pl.format(
        "billing={},cpu={},{}mem={}M,node={}", "cpus", "cpus", gpu.fill_null(""), "mem", "nodes"
    )
    never_ = pl.col("never")
    columns = {
        "id": pl.when("is_array")
        .then(pl.format("{}_{}", "number", "task"))
        .otherwise(pl.col("number").cast(pl.String)),
        "cluster": pl.lit("bench"),
        "user": pl.format("user{}", "user"),
        "account": pl.format("acct{}", "account"),
        "partition": pl.col("partition"),
        "qos": pl.lit("normal"),
        "state": pl.when(never_).then(pl.format("CANCELLED by {}", "user")).otherwise("state"),
        "submit": stamp("submit"),
        "eligible": stamp("submit"),
        "start": pl.when(never_).then(pl.lit("None")).otherwise(stamp("start")),
        "end": pl.when(never_).then(stamp("start")).otherwise(stamp("end")),
        "elapsed": pl.when(never_).then(0).otherwise("run"),
        "suspended": pl.lit("00:00:00"),
        "limit": pl.when(pl.col("limit") >= 86_400)
        .then(pl.format("{}-{}", pl.col("limit") // 86_400, clock))
        .otherwise(clock),
        "nodes": pl.col("nodes"),
        "reqcpus": pl.col("cpus"),
        "alloccpus": pl.col("cpus"),
        "mem": pl.format("{}M", "mem"),
        "reqtres": tres,
        "alloctres": pl.when(~never_).then(tres),
        "priority": pl.col("priority"),
        "reason": pl.lit("None"),
        "exit": pl.lit("0:0"),
        "nodelist": pl.when(~never_).then(pl.format("n[{}-{}]", "account", "user")),
        "reservation": pl.lit(""),
        "name": pl.format("job-{}", "number"),
        "line": pl.format("sbatch -A acct{} -c{} --wrap run-{}.sh", "account", "cpus", "number"),
    }
    text = frame.select(**columns).write_csv(
        separator="|", include_header=False, quote_style="never"
    )
    return (text if first else f"{COLUMNS}\n{text}").encode()


def parts(records: int, seed: int = 0) -> Iterator[bytes]:
    """The text of such a log in parts of at most ``RECORDS``: more at once would fill memory."""
    for first in range(0, records, RECORDS):
        yield big_sacct(min(RECORDS, records - first), seed + first // RECORDS, first)
