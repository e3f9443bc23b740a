"""Whole audits, as a user starts them, warm: CPU and peak memory. Needs real logs, or the demo log.

Beside each a process that only reads the log, splits its numbers and sorts them once. Goals are for
audits without inference and advice.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from bench.logs.real import GAIA, KTH, LANL, demo, real_log
from bench.measure.figures import Figure
from bench.measure.pairs import beside, fairaudit, process

ROUNDS = 2
BARE = "--no-fit --no-advice"
SAID = {
    "": "with PDF",
    "--no-pdf": "without PDF",
    "--no-pdf --predict": "without PDF, starts predicted",
    BARE: "with PDF, nothing inferred or advised",
    f"--no-pdf {BARE}": "without PDF, nothing inferred or advised",
}
GOALS = {(KTH, f"--no-pdf {BARE}"): 4.5, (KTH, BARE): 8.0}
"""User CPU, s."""
READ_AND_SORT = """
import gzip, sys
import numpy as np
raw = open(sys.argv[1], "rb").read()
raw = gzip.decompress(raw) if sys.argv[1].endswith(".gz") else raw
lines = [line.split() for line in raw.decode(errors="replace").split("\\n") if line[:1] != ";"]
np.sort(np.array([line[1] for line in lines if line], float), kind="stable")
"""


def measure(sizes: Sequence[int]) -> Iterator[Figure]:
    """All real logs without PDF, and the first in every way."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        logs = {log: path for log in (KTH, LANL, GAIA) if (path := real_log(log))}
        if not logs:
            print("  no real logs: FAIRAUDIT_REAL_LOGS names none", file=sys.stderr, flush=True)
            logs = {"demo log": demo(folder)}
        first = next(iter(logs))
        asked = [*((first, option) for option in SAID), *((log, "--no-pdf") for log in logs)]
        asked = list(dict.fromkeys(asked))
        for log, option in asked:
            command = ("audit", logs[log], *option.split(), "--out", folder / f"{log}{len(option)}")
            bare = (sys.executable, "-c", READ_AND_SORT, logs[log])
            fairaudit(command)
            rounds = [(fairaudit(command), process(bare)) for _ in range(ROUNDS)]
            ours = [audit.user_s for audit, _ in rounds]
            least = [one.user_s for _, one in rounds]
            yield Figure(
                "Whole audits",
                f"{log}, {SAID[option]}",
                None,
                median(ours),
                limit=beside("read, split and sorted once", ours, least),
                peak_mib=median(audit.peak_mib for audit, _ in rounds),
                goal=GOALS.get((log, option)),
            )
