"""Workers in jobs of the site's own Slurm: one array, each task of which is a worker of Dask.

A task that is preempted, or nears its time limit, returns to the queue and begins again, until the
array is cancelled. If this process is killed, the workers end by themselves.
"""

import math
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from audit.config import Compute, Slurm
from audit.config.sections import in_bytes
from audit.errors import WorkersError

BEFORE_LIMIT_S: Final = 60
"""Seconds before its time limit at which a task returns to the queue; Slurm is up to 60 s early."""
_ANSWERS_S: Final = 60
"""Maximum seconds until sbatch or scancel has answered."""


@contextmanager
def pilots(options: Compute, address: str, tls: Sequence[str], folder: Path) -> Iterator[None]:
    """Submit the workers of ``compute.slurm``, and cancel them in the end.

    Args:
        options: with ``slurm``.
        address: of the scheduler.
        tls: options of ``dask worker`` that name its certificates.
        folder: for this run alone, shared with the nodes.

    Raises:
        WorkersError: sbatch is not there or refuses the array.
    """
    assert options.slurm is not None
    logs = folder / "jobs"
    logs.mkdir()
    path = folder / "worker.sh"
    path.write_text(script(options.slurm, _worker(options, address, tls, folder), logs))
    try:
        array = _output("sbatch", "--parsable", str(path)).split(";")[0].strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise WorkersError(
            f"Dask on Slurm (compute.slurm): sbatch refused the jobs: {_reason(error)}"
        ) from error
    try:
        yield
    finally:
        try:
            _output("scancel", array)
        except (OSError, subprocess.SubprocessError) as error:
            raise WorkersError(
                f"the workers cannot be cancelled ({_reason(error)}): scancel {array}"
            ) from error


def script(slurm: Slurm, worker: Sequence[str], logs: Path) -> str:
    """Return the script of the array's tasks.

    Args:
        slurm: what to request.
        worker: the command of a worker.
        logs: a folder for the output.
    """
    request = {
        "job-name": "fairaudit",
        "array": f"1-{slurm.jobs}",
        "requeue": None,
        "signal": f"B:USR1@{BEFORE_LIMIT_S}",
        "ntasks": 1,
        "cpus-per-task": slurm.cores,
        "mem": f"{math.ceil(in_bytes(slurm.memory) / 2**20)}M",
        "time": slurm.walltime,
        "partition": slurm.partition,
        "account": slurm.account,
        "output": f"{logs}/%A_%a",
    }
    given = {key: value for key, value in request.items() if key == "requeue" or value is not None}
    options = [f"--{key}" if value is None else f"--{key}={value}" for key, value in given.items()]
    return "\n".join(
        [
            "#!/bin/bash",
            *(f"#SBATCH {option}" for option in (*options, *slurm.directives)),
            *slurm.prologue,
            "export DASK_DISTRIBUTED__WORKER__HTTP__ROUTES='[]'",
            f"export POLARS_MAX_THREADS={slurm.cores}",
            'task="${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"',
            # one that begins again may meet its own name, which the scheduler has not yet dropped
            f'{shlex.join(worker)} --name "$task.${{SLURM_RESTART_COUNT:-0}}" &',
            "worker=$!",
            "trap 'scontrol requeue \"$task\"' USR1",
            "while kill -0 $worker 2> /dev/null; do wait $worker; done",
            "",
        ]
    )


def _worker(options: Compute, address: str, tls: Sequence[str], folder: Path) -> list[str]:
    slurm: Any = options.slurm
    interface = [] if slurm.interface is None else ["--interface", slurm.interface]
    return [
        *(sys.executable, "-m", "distributed.cli.dask_worker", address, *tls, *interface),
        *("--nworkers", "1", "--nthreads", str(slurm.cores), "--memory-limit", slurm.memory),
        *("--death-timeout", str(options.patience_s), "--local-directory", str(folder)),
        *("--no-dashboard", "--dashboard-address", "127.0.0.1:0"),
    ]


def _output(*command: str) -> str:
    done = subprocess.run(  # noqa: S603 - a command of the site, and words that were checked
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=_ANSWERS_S,
    )
    return done.stdout


def _reason(error: Exception) -> str:
    said = error.stderr if isinstance(error, subprocess.CalledProcessError) else None
    lines = [line for line in (said or str(error)).splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else type(error).__name__
