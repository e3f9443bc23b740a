"""How fair start times grow with the log and with the queue: a table and a picture in docs/.

    python -m bench.scale.growth        # writes docs/scale.md and docs/scale.svg; some minutes

Logs of 1,000 to 1,000,000 attempts at a load of 0.85, and queues of 10 to 10,000 in which attempts
of every place are asked for. CPU of one thread, kernels warm, on the machine that it names.
"""

import time
from pathlib import Path

import numpy as np
import polars as pl

from audit.model import Policy
from audit.report.charts import drawing
from audit.report.charts.marks import lines, scales
from audit.report.charts.style import SERIES, Chart
from audit.scenario.fair_start import fair_starts
from audit.scenario.workload import Workload
from bench.logs.workloads import CAPACITY, CONSERVATIVE, EASY, LOAD, scheduled, steady, waiting
from bench.measure.growth import exponent
from bench.measure.machine import machine

DOCS = Path(__file__).resolve().parents[2] / "docs"
JOBS = {EASY: (1_000, 10_000, 100_000, 1_000_000), CONSERVATIVE: (1_000, 10_000, 100_000)}
QUEUES = {EASY: (10, 100, 1_000, 10_000), CONSERVATIVE: (10, 100, 1_000)}
ASKED = 20


def spent(work: Workload, policy: Policy, subjects: np.ndarray | None) -> float:
    """CPU seconds."""
    begin = time.process_time()
    fair_starts(work, policy, subjects)
    return time.process_time() - begin


def rows() -> pl.DataFrame:
    """kind (jobs, queue), policy, size, and microseconds for each attempt asked for."""
    made = []
    for policy, sizes in JOBS.items():
        spent(scheduled(steady(100), policy), policy, None)  # loads the kernels
        for size in sizes:
            each = spent(scheduled(steady(size), policy), policy, None) / size
            made.append(("log", policy.backfill.value, size, each * 1e6))
            print(made[-1], flush=True)
    for policy, sizes in QUEUES.items():
        for size in sizes:
            places = np.linspace(0, size - 1, min(ASKED, size)).astype(np.int64)
            each = spent(scheduled(waiting(size), EASY), policy, places) / len(places)
            made.append(("queue", policy.backfill.value, size, each * 1e6))
            print(made[-1], flush=True)
    return pl.DataFrame(made, schema=["of", "policy", "size", "microseconds"], orient="row")


def exponents(figures: pl.DataFrame) -> str:
    """Return, for each line, the power with which the cost grew between the last two sizes."""
    said = []
    for (of, policy), line in figures.group_by("of", "policy", maintain_order=True):
        power = exponent(line.select("size", "microseconds").tail(2).rows())
        said.append(f"- {of}, {policy}: {power:.1f}")
    return "\n".join(said)


def main() -> None:
    figures = rows()
    table = "\n".join(
        f"| {of} | {policy} | {size:,} | {each:,.1f} |" for of, policy, size, each in figures.rows()
    )
    text = f"""# How it scales

CPU time of both fair start times of a job, in microseconds ({machine()}), measured by
`python -m bench.scale.growth`. The logs have a load of {LOAD:g} on {CAPACITY:,} processors, and
walltimes of 1 to 10 times the runtime. In queues, the figure is the mean over jobs at all
positions.

| size of | backfilling | jobs | µs per job |
|---|---|---:|---:|
{table}

![CPU time per job, on logarithmic scales](scale.svg)

Between the last two sizes, the time per job grows with this power of the size:

{exponents(figures)}

Under `conservative`, each job that ends early can move many plans, which makes long queues
expensive. `easy` skips blocks of the queue in which no job can start.
"""
    page = DOCS / "scale.md"
    _, title, rest = page.read_text(encoding="utf-8").partition("\n## Deep queues")
    page.write_text(text + title + rest, encoding="utf-8")
    chart = Chart("scale", "How it scales", "Lines.", *drawn(figures))
    (DOCS / "scale.svg").write_text(drawing.still(chart) + "\n", encoding="utf-8")


def drawn(figures: pl.DataFrame) -> tuple[str, int]:
    """The same as lines on logarithmic scales: the marks, and how high they are."""
    made = []
    of_policy = dict(zip(JOBS, SERIES, strict=False))
    for (of, policy), line in figures.group_by("of", "policy", maintain_order=True):
        colour = next(shade for one, shade in of_policy.items() if one.backfill.value == policy)
        dash = "" if of == "log" else "6 3"
        points = [(float(x), y) for x, y in line.select("size", "microseconds").iter_rows()]
        made.append(lines.Line(f"{of}, {policy}", points, colour, dash, dotted=True))
    x, y = (
        scales.by_factors(figures[name].to_list(), scales.plain, title=title, steps=(1,))
        for name, title in (("size", "jobs"), ("microseconds", "µs per job"))
    )
    return lines.drawn([lines.Panel(x, y, made)], height=260)


if __name__ == "__main__":
    main()
