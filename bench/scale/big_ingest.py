"""The memory that the ingest of a big log holds: `python -m bench.scale.big_ingest [--records N]`.

One process makes the log (`big_sacct`), another ingests it into a new store. With `--again`, a
second log has the same jobs with another text, so that all of them are resolved.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from audit.files import caches
from audit.timings import Timings
from bench.logs import big_sacct


def ingest(logs: list[Path], store: Path) -> str:
    """Takes logs into a new store, in this process; what that took."""
    caches.give_back()
    from audit.ingest.ingest import take_in
    from audit.ingest.logs import open_logs
    from audit.store import migrations

    watch = Timings()
    with migrations.migrated(store) as con:
        take_in(con, "bench", open_logs(logs))
    watch.end()
    (stage,) = watch.stages
    return f"peak {stage.peak_mib or 0:,.0f} MiB, {stage.cpu_s:,.1f} CPU s"


def main() -> None:
    parser = argparse.ArgumentParser(description="peak memory of the ingest of a big log")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--again", action="store_true", help="add a second log of the same jobs")
    parser.add_argument("--child", nargs="+", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(ingest(arguments.child[1:], arguments.child[0]))
        return
    with tempfile.TemporaryDirectory() as name:
        logs = [Path(name, "log.psv")]
        with logs[0].open("wb") as out:
            out.writelines(big_sacct.parts(arguments.records))
        if arguments.again:
            logs.append(Path(name, "again.psv"))
            with logs[0].open("rb") as log, logs[1].open("wb") as out:
                out.write(log.readline())
                out.writelines(line[:-1] + b" again\n" for line in log)
        child = [sys.executable, "-m", __spec__.name, "--child", f"{name}/store.duckdb"]
        print(f"{arguments.records:,} records{', twice' * arguments.again}:", end=" ", flush=True)
        subprocess.run([*child, *map(str, logs)], check=True)


if __name__ == "__main__":
    main()
