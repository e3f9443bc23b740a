"""Dask's workers in jobs of the site's own Slurm."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from audit.config import Compute

_NO_JOB: Final = "0"  # the number of a job that sbatch refused


def cluster(
    options: Compute,
    security: Any,
    folder: Path,
    no_pages: Mapping[str, object],
    refused: list[str],
) -> Any:
    """Start a scheduler here, and jobs with a worker in each.

    Args:
        folder: for this run alone, shared with the nodes.
        refused: gets the messages of sbatch when it refuses a job.
    """
    import dask_jobqueue as jobqueue
    from dask_jobqueue.slurm import SLURMJob

    slurm = options.slurm
    assert slurm is not None
    logs = folder / "jobs"
    logs.mkdir()
    library: Any = jobqueue
    made = library.SLURMCluster(
        job_cls=_job(SLURMJob, refused),
        queue=slurm.partition,
        account=slurm.account,
        cores=slurm.cores,
        processes=1,
        memory=slurm.memory,
        walltime=slurm.walltime,
        job_extra_directives=list(slurm.directives),
        job_script_prologue=[
            *slurm.prologue,
            "export DASK_DISTRIBUTED__WORKER__HTTP__ROUTES='[]'",
            f"export POLARS_MAX_THREADS={slurm.cores}",
        ],
        worker_extra_args=["--no-dashboard"],
        interface=slurm.interface,
        python=sys.executable,
        job_name="fairaudit",
        protocol="tls://",
        security=security,
        log_directory=str(logs),
        local_directory=str(folder),
        shared_temp_directory=str(folder),
        death_timeout=options.patience_s,
        scheduler_options=dict(no_pages),
        silence_logs=logging.CRITICAL,
    )
    made.scale(jobs=slurm.jobs)
    return made


def _job(of_slurm: Any, refused: list[str]) -> Any:
    """Jobs of Slurm that record the messages of sbatch, which Dask only logs."""

    class Job(of_slurm):  # type: ignore[misc]
        async def _submit_job(self, script_filename: str) -> Any:
            try:
                return await super()._submit_job(script_filename)
            except (OSError, RuntimeError) as error:
                lines = [line for line in str(error).splitlines() if line.strip()]
                refused.append(lines[-1] if lines else type(error).__name__)
                return _NO_JOB  # Dask could not close a job that never began

        @classmethod
        async def _close_job(cls, job_id: str, cancel_command: str) -> None:
            if job_id != _NO_JOB:
                await super()._close_job(job_id, cancel_command)

    return Job
