"""Each stage of a whole audit beside three works on the same bytes: where the time goes.

KTH-SP2 repeated end to end, and made-up logs into which more arrives than the pool can do, whose
queue grows with their size. The works beside an audit are the C++ yardstick's simulation of the log
under EASY, a bare split of its lines, and DuckDB's copy of them as text. They take turns with the
audit, each in its own process.
"""

import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import numpy as np

from bench.logs.real import real_log
from bench.logs.repeated_log import repeated_logs
from bench.logs.workloads import CAPACITY, to_trace
from bench.measure.figures import Figure
from bench.measure.pairs import beside, fairaudit, process
from bench.stages.delivered import deep
from bench.stages.simulation import built, normalise, timed_by_yardstick, yardstick

STAGE: Final = "Stages of audits"
LEAST: Final = 30_000
DEEP: Final = (30_000, 100_000)
"""The larger of these has a queue of about 1,200 jobs."""
FEW: Final = 50_000
"""Larger logs are audited once: their noise is small, their audits take minutes."""
ROUNDS: Final = 3
WORTH_S: Final = 0.1
"""A stage that takes less in all rounds has no row."""
SPLIT: Final = "import sys\nfor line in open(sys.argv[1]): line.split()"
COPY: Final = """
import sys, duckdb
con = duckdb.connect(sys.argv[2])
con.execute("SET enable_progress_bar = false")
con.execute("CREATE TABLE log AS SELECT * FROM read_csv(?, all_varchar=true, header=false, "
            "delim=' ', comment=';', ignore_errors=true)", [sys.argv[1]])
"""
COPIED: Final = "DuckDB's copy"
"""Takes longest of the three, so ratios to it vary least: a check compares them."""
_ROW: Final = re.compile(r"(?P<stage>\S.*?) {2,}(?P<cpu>[0-9.]+) +[0-9.]+ *(?P<peak>[0-9,]*)")


class Log(NamedTuple):
    """A log, its pool, and how often it is audited."""

    what: str
    path: Path
    attempts: int
    processors: int


def measure(sizes: Sequence[int]) -> Iterator[Figure]:
    """Logs with shallow queues where KTH-SP2 is, and with deep ones."""
    source = yardstick()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = built(source, folder) if source else None
        for log in _logs(sizes, folder):
            normal = None
            if source:
                normal = log.path.with_suffix(".normal.swf")
                normalise(source, log.path, normal, log.processors)
            yield from _figures(log, program, normal)


def _logs(sizes: Sequence[int], folder: Path) -> Iterator[Log]:
    if kth := real_log():
        for size in sorted({max(size, LEAST) for size in sizes}):
            (path,) = repeated_logs(kth, size, folder)
            yield Log("KTH-SP2 repeated", path, size, 100)
    for size in DEEP:
        yield Log("deep queues", _deep_log(size, folder / f"deep{size}.swf"), size, CAPACITY)


def _deep_log(attempts: int, path: Path) -> Path:
    """Writes a made-up log of 50 users."""
    random = np.random.Generator(np.random.PCG64(9))
    to_trace(deep(attempts), path, np.minimum(random.pareto(1.0, attempts) * 5, 50).astype(int))
    jobs = path.read_text()
    path.write_text(f"; MaxProcs: {CAPACITY}\n; UnixStartTime: 946684800\n{jobs}")
    return path


def _figures(log: Log, program: Path | None, normal: Path | None) -> Iterator[Figure]:
    """The stages of the log's audits, the longest first, and their sum."""
    bare: dict[str, tuple[object, ...]] = {}
    bare["a bare split"] = (sys.executable, "-c", SPLIT, log.path)
    bare[COPIED] = (sys.executable, "-c", COPY, log.path, log.path.with_suffix(".copy"))
    ours: list[dict[str, tuple[float, float]]] = []
    theirs: dict[str, list[float]] = {}
    for _ in range(1 if log.attempts > FEW else ROUNDS):
        ours.append(_audited(log.path))
        for what, command in bare.items():
            theirs.setdefault(what, []).append(process(command).user_s)
            log.path.with_suffix(".copy").unlink(missing_ok=True)
        if program and normal:
            found = timed_by_yardstick(program, normal, log.processors, "EASY fst")
            theirs.setdefault("C++ simulation", []).append(found["EASY sim"])
    for stage in ours[0]:
        seconds = [one.get(stage, (0.0, 0.0))[0] for one in ours]
        if max(seconds) >= WORTH_S:
            sides = {what: beside(what, seconds, least) for what, least in theirs.items()}
            yield Figure(
                STAGE,
                f"{log.what}: {stage}",
                log.attempts,
                median(seconds),
                limit=sides.pop(COPIED),
                others=tuple(sides.values()),
                peak_mib=median(one.get(stage, (0.0, 0.0))[1] for one in ours),
            )


def _audited(log: Path) -> dict[str, tuple[float, float]]:
    """CPU seconds and peak memory, MiB, by stage, of a default audit without PDF."""
    ended = fairaudit(("audit", log, "--no-pdf", "--timings", "--out", log.with_suffix("")))
    found = (_ROW.fullmatch(line) for line in ended.said.splitlines())
    return {
        "reading" if row["stage"].startswith("reading ") else row["stage"]: (
            float(row["cpu"]),
            float(row["peak"].replace(",", "")),
        )
        for row in found
        if row
    }
