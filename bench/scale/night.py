"""One night, in a separate process: the cost of each stage, as a line of JSON.

python -m bench.scale.night FOLDER NOW [PERIOD] [STAGE ...]
"""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from audit.config.file import load
from audit.config.places import Site
from audit.nightly import run
from audit.nightly.stages import STAGES
from bench.measure.machine import peak_mib
from bench.scale.stopwatch import NIGHT, Stopwatch


def main(folder: Path, now: int, only: str | None = None, stages: Sequence[str] = STAGES) -> None:
    """Does what `fairaudit run` does.

    Args:
        folder: that of config.toml.
        now: epoch s; when it is.
        only: the name of the one period to compute; None: all.
    """
    begun = time.perf_counter()
    watch = Stopwatch(NIGHT)
    site = Site(load(folder / "config.toml"), folder)
    night = run.run(site, now, only, stages=stages)
    watch.count()
    told = {
        "wall_s": round(time.perf_counter() - begun, 1),
        "cpu_s": {stage: round(spent, 2) for stage, spent in watch.cpu_s.items()},
        "peak_mib": round(peak_mib()),
        "computed": len(night.computed),
        "failures": [str(failure)[:300] for failure in night.failures],
    }
    print(json.dumps(told))


if __name__ == "__main__":
    only = sys.argv[3] if len(sys.argv) > 3 else None
    main(Path(sys.argv[1]), int(sys.argv[2]), only, sys.argv[4:] or STAGES)
