"""Schedulers of Dask: one that runs already, or one that is started here with its workers.

Anyone who can connect to a scheduler can run code as its user, so connections to a scheduler that
is started here are always encrypted, with a certificate for this run unless the site names one.
"""

import logging
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from audit.config import Compute
from audit.errors import WorkersError
from audit.workers import remote
from audit.workers.pilots import pilots

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
    """Return the configured files; raise WorkersError, with the key, if one cannot be read."""
    files = Files(tls.ca_file, tls.cert, tls.key)
    for key, file in files._asdict().items():
        try:
            Path(file).read_bytes()
        except OSError as error:
            why = f"{file} cannot be read ({error.strerror})"
            raise WorkersError(f"compute.tls.{key}: {why}; name a PEM file") from error
    return files


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
