"""Simulation against a public simulator: AccaSim, from the Python Package Index.

`fairaudit simulate` and AccaSim each read the same log and write their schedule, in a process of
their own, under EASY in the order of arrival. AccaSim is installed into a separate environment,
``var/public-simulator``, with pinned versions. If that fails, the stage says so and measures
nothing. OCST, pyss, CQSim, Alea and Batsim are not in that index.

AccaSim gives processors of nodes, one to a node here, and guards only the first that waits, as
EASY does; its schedules are not compared with ours.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from bench.logs.workloads import steady, to_trace
from bench.measure.figures import Figure
from bench.measure.pairs import beside, fairaudit, process

PACKAGES = ("accasim==1.1.3", "numpy==2.4.6", "scipy==1.17.1", "matplotlib==3.11.2")
PLACE = Path(__file__).resolve().parents[2] / "var" / "public-simulator"
ATTEMPTS = 3_000
CAPACITY = 1_000
ROUNDS = 2
# It asks ``collections`` for what has been in ``collections.abc`` since Python 3.3.
DRIVER = """
import collections, collections.abc, sys
collections.Mapping = collections.abc.Mapping
from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import EASYBackfilling
from accasim.base.simulator_class import Simulator
log, system, results = sys.argv[1:]
Simulator(
    log, system, EASYBackfilling(FirstFit()), statistics_output=False, show_statistics=False,
    RESULTS_FOLDER_PATH=results,
).start_simulation()
"""
SYSTEM = """{
  "groups": {"all": {"core": 1, "mem": 1}}, "resources": {"all": %d},
  "equivalence": {"processor": {"core": 1}}, "start_time": 0
}"""


def installed() -> Path | None:
    """The interpreter of the environment that has it, made where it is missing; None: it cannot."""
    python = PLACE / "bin" / "python"
    stamp = PLACE / "complete"
    wanted = "\n".join(PACKAGES)
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", PLACE], check=True)
        install = (python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *PACKAGES)
        subprocess.run(install, check=True, capture_output=True)
    except (subprocess.CalledProcessError, OSError):
        return None
    stamp.write_text(wanted)
    return python


def measure(sizes: Sequence[int]) -> Iterator[Figure]:
    """Both, in turns, on a made-up log."""
    python = installed()
    if python is None:
        said = f"no public simulator: {PACKAGES[0]} cannot be installed here"
        print(f"  {said}", file=sys.stderr, flush=True)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log, driver, system = (folder / name for name in ("log.swf", "driver.py", "system.json"))
        to_trace(steady(ATTEMPTS), log)
        driver.write_text(DRIVER)
        system.write_text(SYSTEM % CAPACITY)
        results = folder / "results"
        results.mkdir()
        policy = ("--order", "fcfs", "--backfill", "easy", "--pool-size", CAPACITY)
        ours = ("simulate", log, *policy, "--out", folder / "ours.swf")
        theirs = (python, driver, log, system, results)
        fairaudit(ours)
        rounds = [(fairaudit(ours).user_s, process(theirs).user_s) for _ in range(ROUNDS)]
        (schedule,) = results.iterdir()
        assert len(schedule.read_text().splitlines()) == ATTEMPTS
    mine, other = zip(*rounds, strict=True)
    yield Figure(
        "Public simulator",
        "simulate, easy, from log to schedule",
        ATTEMPTS,
        median(mine),
        twin=beside(PACKAGES[0].replace("==", " "), mine, other),
        goal=1.0,
    )
