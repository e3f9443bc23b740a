"""Resource equality against its plain-SQL twin in DuckDB: CPU of both, in one run, in turns.

Goal (issue 2): the Python function, from the described frame to the result's columns, takes at most
a tenth of the SQL's CPU. CPU is user + system of the whole process, all threads. Both must give the
same figures.
"""

import statistics
import time

import duckdb
import numpy as np
import polars as pl

from audit.metrics.attempts.population import describe
from audit.metrics.attempts.resource_equality import resource_equality
from audit.model import ATTEMPTS, Pool, Resource

ATTEMPTS_MEASURED = 1_000_000
GOAL = 0.1
ROUNDS = 5

SQL = """
CREATE OR REPLACE TABLE result AS
WITH events AS (
    SELECT arrival_time AS t, size AS active, 0 AS used FROM described
    UNION ALL SELECT start_time, 0, size FROM described
    UNION ALL SELECT end_time, -size, -size FROM described
),
instants AS (
    SELECT t, sum(active)::BIGINT AS active, sum(used)::BIGINT AS used FROM events GROUP BY t
),
states AS (
    SELECT
        t,
        sum(active) OVER (ORDER BY t) AS active,
        sum(used) OVER (ORDER BY t) AS used,
        lead(t) OVER (ORDER BY t) - t AS lasts
    FROM instants
),
shares AS (
    SELECT
        t,
        coalesce(sum(CASE WHEN active > 0 THEN used / active * lasts ELSE 0 END) OVER (
            ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) AS p
    FROM states
)
SELECT
    line,
    size * (at_end.p - at_arrival.p) AS re_deserved,
    ((end_time - start_time) * size)::DOUBLE AS re_consumed,
    re_deserved - re_consumed AS re_unfairness
FROM described
JOIN shares AS at_arrival ON at_arrival.t = arrival_time
JOIN shares AS at_end ON at_end.t = end_time
"""


def workload(attempts: int = ATTEMPTS_MEASURED) -> pl.DataFrame:
    """A year of attempts, described: two thirds wait, runtimes are heavy-tailed."""
    random = np.random.Generator(np.random.PCG64(1))
    arrival = 1_700_000_000 + np.sort(random.integers(0, 31_536_000, attempts))
    wait = random.exponential(3_600, attempts) * (random.random(attempts) < 2 / 3)
    start = arrival + wait.astype(np.int64)
    end = start + random.lognormal(7, 2, attempts).astype(np.int64)
    number = np.arange(1, attempts + 1)
    frame = pl.DataFrame(
        {
            "job_id": pl.Series(number).cast(pl.String),
            "job_number": number,
            "submit_time": arrival,
            "start_time": start,
            "end_time": end,
            "cpus": 1 << random.integers(0, 9, attempts),
            "attempt": np.ones(attempts, np.int64),
            "line": number,
        }
    )
    missing = [
        pl.lit(None, dtype).alias(name)
        for name, dtype in ATTEMPTS.items()
        if name not in frame.columns
    ]
    pool = Pool("all", Resource.cpus, 10_000)
    return describe(frame.with_columns(missing).select(ATTEMPTS.names()), [pool]).rechunk()


def ratio(attempts: int = ATTEMPTS_MEASURED) -> dict[str, float]:
    """Median CPU seconds of both, and their ratio.

    Raises:
        AssertionError: the two disagree.
    """
    described = workload(attempts)
    now = int(described["end_time"].to_numpy().max())
    con = duckdb.connect()
    columns = ("line", "arrival_time", "start_time", "end_time", "size")
    arrays = {name: described[name].to_numpy() for name in columns}
    con.register("arrays", arrays)
    con.execute("CREATE TABLE described AS FROM arrays")
    fast = resource_equality(described, now)  # compiles, or loads what is compiled
    kernel, sql = [], []
    for _ in range(ROUNDS):
        begin = time.process_time()
        fast = resource_equality(described, now)
        kernel.append(time.process_time() - begin)
        begin = time.process_time()
        con.execute(SQL)
        sql.append(time.process_time() - begin)
    slow = con.sql("SELECT re_deserved FROM result ORDER BY line").fetchnumpy()["re_deserved"]
    con.close()
    np.testing.assert_allclose(
        fast.sort("line")["re_deserved"].to_numpy(), slow, rtol=1e-6, atol=1e-3
    )
    cpu_kernel, cpu_sql = statistics.median(kernel), statistics.median(sql)
    return {"cpu_kernel": cpu_kernel, "cpu_sql": cpu_sql, "ratio": cpu_kernel / cpu_sql}


def main() -> bool:
    """Prints one line; whether the goal is met."""
    got = ratio()
    print(
        f"resource equality, {ATTEMPTS_MEASURED:,} attempts: {got['cpu_kernel']:.3f} s CPU, "
        f"SQL {got['cpu_sql']:.2f} s, ratio {got['ratio']:.3f} (goal ≤ {GOAL})"
    )
    return got["ratio"] <= GOAL


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
