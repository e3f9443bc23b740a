"""A ``sacct`` that misbehaves by plan: its folder, and the window's edges (epoch s), are arguments.

The first line of the file ``plan`` says how, and is removed; without a line it works.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

FAULTS = (
    *("hangs", "fails", "fails halfway", "is killed", "is cut off", "prints garbage"),
    *("prints nothing", "answers too much", "repeats itself", "warns"),
)


def main(folder: Path, begin: int, end: int) -> int:
    """Print the rows of jobs that ended in the window, in any way but the right one."""
    plan = folder / "plan"
    fault, *rest = [*plan.read_text().splitlines(), ""]
    plan.write_text("".join(f"{line}\n" for line in rest if line))
    header, *rows = (folder / "rows").read_text().splitlines(keepends=True)
    if fault != "answers too much":
        rows = [row for row in rows if begin <= int(row.split("|")[0]) // 1000 * 3600 < end]
    text = header + "".join(rows)
    match fault:
        case "hangs":
            time.sleep(60)
        case "fails halfway" | "is cut off":
            text = text[: len(text) // 2]
        case "prints garbage":
            text = random.Random(begin).randbytes(3_000).decode("latin-1")
        case "prints nothing":
            text = ""
        case "repeats itself":
            text += "".join(rows)
        case "warns":
            print("sacct: error: slurm_persist_conn_open: retrying", file=sys.stderr)
    sys.stdout.write(text)
    sys.stdout.flush()
    if fault == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)
    return 1 if fault.startswith("fails") else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
