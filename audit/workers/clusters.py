"""Schedulers of Dask: one that runs already, or one that is started here with its workers.

Anyone who can connect to a scheduler can run code as its user, so connections to a scheduler that
is started here are always encrypted, with a certificate for this run unless the site names one.

Workers in jobs of the site's own Slurm are one array, each task of which is a worker. A task that
is preempted, or nears its time limit, returns to the queue and begins again, until the array is
cancelled. If this process is killed, the workers end by themselves.
"""

import logging
import math
import shlex
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from audit.config import Compute, Slurm
from audit.config.sections import in_bytes
from audit.errors import WorkersError
from audit.workers import remote

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
            "trap 'scontrol requeue \"$task\"' USR1",
            # one that begins again may meet its own name, which the scheduler has not yet dropped
            f'{shlex.join(worker)} --name "$task.${{SLURM_RESTART_COUNT:-0}}" &',
            "worker=$!",
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


SETTINGS: Final[Mapping[str, object]] = {
    "distributed.admin.tick.limit": "1h",  # its warnings are not read
    "distributed.comm.timeouts.connect": "30s",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
"""Settings of Dask in this process and in the workers that it starts."""
_NO_PAGES: Final = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
"""Dask always opens a port for its web pages: here, only on this machine, and without a page."""


class Files(NamedTuple):
    """PEM files of TLS."""

    ca_file: str
    cert: str
    key: str


def named(options: Compute) -> str:
    """Return where the workers are, with the key that selects them."""
    if options.slurm is not None:
        return "Dask on Slurm (compute.slurm)"
    if options.scheduler is not None:
        return f"Dask at {options.scheduler} (compute.scheduler)"
    return "Dask on this machine (compute.workers)"


def remedy(options: Compute) -> str:
    """Return what to do if there are no workers."""
    if options.slurm is not None:
        return "check with squeue why the jobs do not start, or request less"
    if options.scheduler is not None:
        return 'start workers there with "dask worker"'
    return "they exit at once: check whether there is enough memory"


def running(distributed: Any, options: Compute) -> dict[str, Any]:
    """Return the arguments of a client for the scheduler that runs already."""
    return {
        "address": options.scheduler,
        "timeout": min(options.patience_s, 30),
        "security": _security(distributed, _readable(options.tls) if options.tls else None),
    }


def started(distributed: Any, options: Compute, folder: Path) -> AbstractContextManager[Any]:
    """Start a scheduler here and its workers; the context is Dask's cluster.

    Args:
        folder: for this run alone, shared with the nodes.

    Raises:
        WorkersError: a certificate cannot be read or made.
    """
    files = _readable(options.tls) if options.tls else made(folder)
    security = _security(distributed, files)
    if options.slurm is not None:
        return _in_slurm(distributed, options, security, files, folder)
    local: AbstractContextManager[Any] = distributed.LocalCluster(
        n_workers=options.workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        protocol="tls://",
        security=security,
        dashboard_address=_NO_PAGES["dashboard_address"],
        scheduler_kwargs={"dashboard": False},
        memory_limit=0,
        silence_logs=logging.CRITICAL,
        local_directory=str(folder),
        preload=[remote.__name__],
        env={"POLARS_MAX_THREADS": "1"},
    )
    return local


def restore(distributed: Any, cluster: Any) -> None:
    """Start again what Dask has given up: workers on this machine that ended while they started.

    Dask restarts a worker that ends, but not one that ends before it has registered.
    """
    if not isinstance(cluster, distributed.LocalCluster):
        return
    ended = {distributed.Status.closed, distributed.Status.failed}

    async def drop() -> None:
        for name, nanny in list(cluster.workers.items()):
            if nanny.status in ended:
                del cluster.workers[name]

    cluster.sync(drop)
    if len(cluster.workers) < len(cluster.worker_spec):
        cluster.scale(len(cluster.worker_spec))


@contextmanager
def _in_slurm(
    distributed: Any, options: Compute, security: Any, files: Files, folder: Path
) -> Iterator[Any]:
    """Start a scheduler here, and workers in jobs of the site's own Slurm."""
    assert options.slurm is not None
    how = {
        "protocol": "tls://",
        "security": security,
        "interface": options.slurm.interface,
        **_NO_PAGES,
    }
    with distributed.SpecCluster(
        scheduler={"cls": distributed.Scheduler, "options": how},
        security=security,
        silence_logs=logging.CRITICAL,
    ) as cluster:
        tls = ["--tls-ca-file", files.ca_file, "--tls-cert", files.cert, "--tls-key", files.key]
        with pilots(options, cluster.scheduler_address, tls, folder):
            yield cluster


def _security(distributed: Any, files: Files | None) -> Any:
    """Dask's settings for connections with these files; None without."""
    if files is None:
        return None
    of_all = {
        f"tls_{who}_{what}": getattr(files, what)
        for who in ("client", "scheduler", "worker")
        for what in ("cert", "key")
    }
    return distributed.Security(
        require_encryption=True, tls_ca_file=files.ca_file, tls_min_version=None, **of_all
    )


def _readable(tls: Any) -> Files:
    """Return the configured files.

    Raises WorkersError, with the key, if a file cannot be read, or is not what it should be.
    """
    files = Files(tls.ca_file, tls.cert, tls.key)
    for key, file in files._asdict().items():
        try:
            Path(file).read_bytes()
        except OSError as error:
            why = f"{file} cannot be read ({error.strerror})"
            raise WorkersError(f"compute.tls.{key}: {why}; name a PEM file") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(files.ca_file)
    except ssl.SSLError as error:
        raise WorkersError(
            f"compute.tls.ca_file: {files.ca_file} has no certificate; name a PEM file"
        ) from error
    try:
        context.load_cert_chain(files.cert, files.key, password=str)  # "": nobody is asked for one
    except ssl.SSLError as error:
        raise WorkersError(
            f"compute.tls.key: {files.key} is not the key of {files.cert}, or has a password; name "
            "PEM files that belong together"
        ) from error
    return files


def exposed(options: Compute) -> str | None:
    """Return what to do if other users may read or change the key of the site's certificate."""
    if options.tls is None or not (Path(options.tls.key).stat().st_mode & 0o007):
        return None
    key = options.tls.key
    return (
        f"compute.tls.key: every user of this machine may use {key}, and with it run code as the "
        f"user of the workers: chmod o= {key}"
    )


def made(folder: Path) -> Files:
    """Return a certificate for this run alone, which is its own authority.

    Raises WorkersError if there is no openssl to make it.
    """
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    command = ["openssl", "req", "-x509", "-nodes", "-days", "3650", "-subj", "/CN=fairaudit"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    words = [*command, *curve, "-keyout", key, "-out", cert]
    how: Any = {"capture_output": True, "stdin": subprocess.DEVNULL}
    try:
        subprocess.run(words, check=True, timeout=60, **how)  # noqa: S603 - no word comes from outside
    except (OSError, subprocess.SubprocessError) as error:
        raise WorkersError(
            "openssl, which encrypts the connections to workers, cannot be run "
            f"({error}): install it, or give compute.tls"
        ) from error
    return Files(cert, cert, key)
