"""Simulation and fair start times against a yardstick in C++.

FAIRAUDIT_YARDSTICK names its folder, FAIRAUDIT_REAL_LOGS that of the logs; it is built where g++
is. On KTH-SP2 and LANL-CM5; on the first attempts only of KTH-SP2 compressed to a load of 0.85, and
of LANL-CM5 under ``conservative``, for all of which the yardstick takes minutes. Both sides run
with one thread. It has each schedule from its own simulation, which ours must equal; of the fair
start times it takes short cuts that ours may not (attempts that started on arrival, SPEC §5).

Without it, and for how costs grow, made-up logs at a load of 0.85 on 1,000 processors, beside one
sort of as many numbers.

Goals: fair start times at most 2 times the CPU of the yardstick, simulation under ``easy`` 4 times;
simulation by fairshare and by NUWT at most 5 times that by arrival.
"""

import gzip
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import polars as pl

from audit.model import BY_OWNER, Backfill, Order, Policy
from audit.scenario import engine
from audit.scenario.fair_start import fair_starts
from audit.scenario.ownership import EQUAL_SHARES, owners_of
from audit.scenario.workload import Workload
from bench.logs.real import KTH, LANL, real_log
from bench.logs.workloads import CONSERVATIVE, EASY, load, scheduled, steady
from bench.measure.figures import Figure
from bench.measure.pairs import LONG_S, beside, measured, spent

STAGE = "Simulation"
GOAL_FST = 2.0
GOAL_SIMULATION = 4.0
GOAL_ORDER = 5.0
PART = 10_000
FEWER = {"easy": 1, "conservative": 30}
"""Of how many times fewer attempts what is dear is measured, of made-up logs."""


class Trace(NamedTuple):
    """A real log as the yardstick reads it."""

    what: str
    log: str
    processors: int
    scale: str = "1.0"
    """By how much arrivals are drawn together."""
    first: int | None = None
    """How many attempts; None: all."""
    policies: tuple[str, ...] = ("easy", "conservative")
    rounds: int = 2


TRACES = (
    Trace("KTH-SP2", KTH, 100, rounds=5),
    Trace(f"KTH-SP2, load 0.85, first {PART:,}", KTH, 100, "0.82", PART, rounds=1),
    Trace("LANL-CM5", LANL, 1024, policies=("easy",)),
    Trace(
        f"LANL-CM5, first {PART:,}", LANL, 1024, first=PART, policies=("conservative",), rounds=1
    ),
)
SAID = {"easy": "EASY", "conservative": "CONS"}
PARTS = {"simulation": "sim", "fair start times": "fst reconstructed 1 thr"}
"""The yardstick's names of policies and parts."""


def yardstick() -> Path | None:
    """The folder of the yardstick, where it and the logs are."""
    folder = os.environ.get("FAIRAUDIT_YARDSTICK")
    path = Path(folder or ".") / "yardstick.cpp"
    return path.parent if folder and path.is_file() and real_log(KTH) and real_log(LANL) else None


def built(source: Path, folder: Path) -> Path:
    """The yardstick's program."""
    program = folder / "yardstick"
    build = ("g++", "-O3", "-march=native", "-pthread", "-o", program, source / "yardstick.cpp")
    subprocess.run(build, check=True)
    return program


def tidied(trace: Trace, source: Path, folder: Path) -> Path:
    """The trace as the yardstick reads it."""
    log = real_log(trace.log)
    assert log is not None
    raw, made = folder / "raw", folder / "trace.swf"
    raw.write_bytes(gzip.decompress(log.read_bytes()))
    normalise(source, raw, made, trace.processors, trace.scale)
    if trace.first is not None:
        lines = made.read_text().splitlines(keepends=True)
        header = [line for line in lines if line.startswith(";")]
        made.write_text("".join(lines[: len(header) + trace.first]))
    return made


def normalise(source: Path, raw: Path, made: Path, processors: int, scale: str = "1.0") -> None:
    """Writes an SWF log as the yardstick reads it."""
    tidy = (sys.executable, source / "normalise.py", raw, made, str(processors), scale)
    subprocess.run(tidy, check=True, capture_output=True)


def timed_by_yardstick(
    program: Path, path: Path, processors: int, until: str | None
) -> dict[str, float]:
    """CPU seconds by what the yardstick calls its parts; it is stopped at a line like ``until``."""
    command = ("stdbuf", "-oL", program, path, str(processors), path.with_suffix(""))
    found = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if until and line.startswith(until):
                running.kill()
                break
            if said := re.match(r"(.+?)\s+cpu ([0-9.]+) s", line):
                found[said[1]] = float(said[2])
    return found


def works(made: Workload, policy: Policy) -> dict[str, Callable[[], object]]:
    """The measurements of a workload that the policy scheduled."""
    return {
        "simulation": partial(engine.replay, made, policy),
        "fair start times": partial(fair_starts, made, policy),
    }


def against_the_yardstick(trace: Trace, program: Path, source: Path) -> Iterator[Figure]:
    """The figures of one trace; all take turns with the yardstick."""
    with tempfile.TemporaryDirectory() as name:
        path = tidied(trace, source, Path(name))
        work = load(path, trace.processors)
        policies = {"easy": EASY, "conservative": CONSERVATIVE}
        made = {kind: scheduled(work, policies[kind]) for kind in trace.policies}
        ours: dict[tuple[str, str], list[float]] = {}
        theirs: list[dict[str, float]] = []
        until = None if "conservative" in trace.policies else "CONS"
        for _ in range(trace.rounds):
            for kind, of in made.items():
                for what, do in works(of, policies[kind]).items():
                    ours.setdefault((kind, what), []).append(spent(do))
            theirs.append(timed_by_yardstick(program, path, trace.processors, until))
        for kind, of in made.items():
            suffix = {"easy": ".easy", "conservative": ".cons"}[kind]
            starts = np.loadtxt(path.with_suffix(suffix), dtype=np.int64)[:, 1]
            assert (starts == of.start).all(), f"{trace.what}: schedules differ under {kind}"
    for (kind, what), seconds in ours.items():
        goals = {"simulation": GOAL_SIMULATION, "fair start times": GOAL_FST}
        side = beside(
            f"C++ {what}", seconds, [one[f"{SAID[kind]} {PARTS[what]}"] for one in theirs]
        )
        yield Figure(
            STAGE,
            f"{what}, {kind}, {trace.what}",
            None,
            median(seconds),
            twin=side,
            limit=side,
            goal=goals[what],
        )


def by_owner() -> Iterator[Figure]:
    """The cost of orders by usage or waits; schedules, and queues, differ."""
    work = steady(PART)
    random = np.random.Generator(np.random.PCG64(4))
    users = [
        f"user{number}" for number in np.minimum(random.pareto(1.0, PART) * 10, 200).astype(int)
    ]
    held = pl.DataFrame({"user": users, "size": work.request, "occupancy": work.occupancy})
    unknown = pl.lit(None, pl.String)
    held = held.with_columns(account=unknown, partition=unknown, suspended_s=pl.lit(None, pl.Int64))
    work = work._replace(owners=owners_of(held, EQUAL_SHARES))
    for backfill in (Backfill.easy, Backfill.no_guarantee, Backfill.conservative):
        plain = partial(engine.replay, work, Policy(Order.fcfs, backfill))
        for order in BY_OWNER:
            policy = Policy(order, backfill)
            yield measured(
                STAGE,
                f"simulation, {policy.name}, made up",
                PART,
                partial(engine.replay, work, policy),
                twin=("by arrival", plain),
                goal=GOAL_ORDER,
            )


def growing(sizes: Sequence[int]) -> Iterator[Figure]:
    """All of it on made-up logs, beside one sort."""
    for kind, policy in (("easy", EASY), ("conservative", CONSERVATIVE)):
        took: dict[str, float] = {}
        for size in sorted(size // FEWER[kind] for size in sizes):
            made = scheduled(steady(size), policy)
            mixed = np.random.Generator(np.random.PCG64(3)).permutation(made.arrival)
            for what, do in works(made, policy).items():
                if took.get(what, 0.0) > LONG_S:
                    continue
                figure = measured(
                    STAGE,
                    f"{what}, {kind}, made up",
                    size,
                    do,
                    limit=("one sort", partial(np.sort, mixed, kind="stable")),
                )
                took[what] = figure.seconds
                yield figure


def measure(sizes: Sequence[int]) -> Iterator[Figure]:
    """Beside the yardstick, where it is, and as logs grow."""
    source = yardstick()
    if source is None:
        said = "no yardstick: FAIRAUDIT_YARDSTICK and FAIRAUDIT_REAL_LOGS name it and the logs"
        print(f"  {said}", file=sys.stderr, flush=True)
    else:
        with tempfile.TemporaryDirectory() as folder:
            program = built(source, Path(folder))
            for trace in TRACES:
                yield from against_the_yardstick(trace, program, source)
    yield from by_owner()
    yield from growing(sizes)
