"""Workers of Dask: processes on this machine, of a running scheduler, or in jobs of Slurm.

Only names of files, settings and small arrays go through Dask; large data is in a shared folder
(``parcels``). Anyone who can connect to a scheduler can run code as its user, so connections to a
scheduler that is started here are always encrypted, with a certificate for this run unless the site
names one.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from audit.config import Compute
from audit.errors import WorkersError
from audit.files import folders
from audit.workers import remote
from audit.workers.executors import Made, Part, Shared, Stopped
from audit.workers.parcels import Opener, Packer
from audit.workers.remote import difference, identity

AHEAD: Final = 2
"""Parts that each worker has at a time: the current one and the next."""
OF_EACH: Final = 8
"""Parts for each thread of a worker: durations differ, and a part may be lost."""
LOOK_S: Final = 1.0
"""Seconds between two counts of the workers."""
RESULT_S: Final = 2
"""Maximum seconds until a worker returns a result, which consists of file names."""
_SETTINGS: Final[Mapping[str, object]] = {
    "distributed.admin.tick.limit": "1h",  # nobody reads its warnings
    "distributed.comm.timeouts.connect": "30s",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
_NO_PAGES: Final = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
"""Dask always opens a port for its web pages: here, only on this machine, and without a page."""
_LOST: Final = "the workers were lost while they computed"


class _Session(NamedTuple):
    """A connection to workers, and a folder for this run alone, which is removed in the end."""

    client: Any
    folder: Path


@dataclass
class Dask:
    """An executor whose workers are Dask's; it connects to them when they are first needed."""

    options: Compute
    say: Callable[[str], None] = lambda text: None

    def __post_init__(self) -> None:
        """Set up the fields that need no closing."""
        self._open = ExitStack()
        self._numbers = count(1)
        self._refused: list[str] = []
        if self.options.slurm is not None:
            where = "Dask on Slurm (compute.slurm)"
            remedy = "; check with squeue why the jobs do not start, or request less"
        elif self.options.scheduler is not None:
            where = f"Dask at {self.options.scheduler} (compute.scheduler)"
            remedy = '; start workers there with "dask worker"'
        else:
            where = "Dask on this machine (compute.workers)"
            remedy = "; they exit at once: check whether there is enough memory"
        self._where, self._remedy = where, remedy

    @property
    def width(self) -> int:
        """See ``Executor``."""
        return max(sum(self._threads().values()), 1)

    @property
    def parts(self) -> int:
        """See ``Executor``."""
        return OF_EACH * self.width

    def close(self) -> None:
        """Release the workers, and remove the content of the shared folder."""
        self._open.close()
        self.__dict__.pop("_session", None)

    def each(
        self,
        prepare: Callable[[Shared], Callable[[Part], Made]],
        shared: Shared,
        parts: Sequence[Part],
        stopped: Stopped = lambda: False,
    ) -> Iterator[tuple[int, Made]]:
        """See ``Executor``."""
        if not parts:
            return
        folder = self._session.folder / f"{next(self._numbers)}"
        try:
            yield from self._done(folder, _packed(folder, (prepare, shared), parts), stopped)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _done(
        self, folder: Path, parts: Iterator[tuple[int, bytes]], stopped: Stopped
    ) -> Iterator[tuple[int, Any]]:
        """Yield results as they arrive; only parts that will soon begin are submitted."""
        client, ours = self._session.client, identity()
        working: dict[Any, int] = {}
        opener = Opener(folder)
        most, look_again = 0, 0.0
        try:
            while True:
                if time.monotonic() > look_again:
                    most, look_again = AHEAD * self.width, time.monotonic() + LOOK_S
                free = 0 if stopped() else max(most - len(working), 0)
                for number, part in islice(parts, free):
                    key = f"{folder.parent.name}-{folder.name}-{number}"
                    what = (remote.run, str(folder), ours, part)
                    working[client.submit(*what, pure=False, key=key)] = number
                if not working:
                    return
                for future in self._some(working):
                    parcel = _result(future)
                    if parcel is None:
                        self._await_workers()
                        continue
                    number = working.pop(future)
                    made = opener.opened(parcel)
                    opener.empty()
                    yield number, made
        finally:
            with suppress(Exception):  # the connection itself may have failed
                client.cancel(list(working), force=True)

    def _some(self, working: Mapping[Any, int]) -> list[Any]:
        """Return the futures that are done, after at most about a second."""
        _, distributed = self._libraries()
        try:
            with self._session.client.as_current():
                found = distributed.wait(list(working), timeout=1, return_when="FIRST_COMPLETED")
            return list(found.done)
        except TimeoutError:
            pass
        except distributed.CancelledError as error:
            raise WorkersError(_LOST) from error
        self._await_workers()
        return []

    def _await_workers(self) -> None:
        """Wait until there is a worker."""
        since = time.monotonic()
        while not self._threads():
            if self._refused:
                raise WorkersError(f"{self._where}: sbatch refused the jobs: {self._refused[0]}")
            if time.monotonic() - since > self.options.patience_s:
                why = f"no worker for {self.options.patience_s} s (compute.patience_s)"
                raise WorkersError(f"{self._where}: {why}{self._remedy}")
            time.sleep(0.1)

    def _threads(self) -> Mapping[str, int]:
        """Return the number of threads of each worker."""
        client = self._session.client
        try:
            if client.status != "running":
                raise OSError(f"the connection is {client.status}")
            threads: Mapping[str, int] = client.nthreads()
        except (OSError, TimeoutError) as error:
            raise WorkersError(
                f"{self._where}: the scheduler was lost ({_first(error)})"
            ) from error
        return threads

    @cached_property
    def _session(self) -> _Session:
        """The connection, made when it is first needed."""
        dask, distributed = self._libraries()
        for name in ("distributed", "asyncio"):  # errors that matter are raised here
            logging.getLogger(name).setLevel(logging.CRITICAL)
        warnings.filterwarnings("ignore", module=r"distributed|dask_jobqueue")
        try:
            self._open.enter_context(dask.config.set(_SETTINGS))
            folder = self._folder()
            address = self._scheduler(distributed, folder)
            how: dict[str, Any] = {"set_as_default": False}
            if isinstance(address, str):
                how["timeout"] = min(self.options.patience_s, 30)
                how["security"] = _security(distributed, self.options.tls)
            client = self._open.enter_context(distributed.Client(address, **how))
            session = _Session(client, folder)
            self.__dict__["_session"] = session
            self._await_workers()
            self._check(client)
        except (OSError, RuntimeError, ValueError) as error:
            self.close()
            remedy = "is it running, and may this machine connect to it?"
            why = f"cannot be reached ({_first(error)})"
            raise WorkersError(f"{self._where}: {why}; {remedy}") from error
        except BaseException:
            self.close()
            raise
        workers = self._threads()
        threads = _counted(sum(workers.values()), "thread")
        self.say(f"computing on {_counted(len(workers), 'worker')} with {threads}: {self._where}")
        return session

    def _libraries(self) -> tuple[Any, Any]:
        """Dask, and its distributed scheduler."""
        try:
            import dask
            import distributed

            if self.options.slurm is not None:
                import dask_jobqueue  # noqa: F401
        except ImportError as error:
            raise WorkersError(
                'compute.engine = "dask" needs libraries that are not installed '
                f"({error.name}): pip install 'fairaudit[dask]', or choose \"local\""
            ) from error
        return dask, distributed

    def _folder(self) -> Path:
        """Return a new folder for this run alone."""
        below = Path(self.options.folder or tempfile.gettempdir())
        with _usable(below):
            folder = Path(tempfile.mkdtemp(prefix="fairaudit-", dir=below))
            self._open.callback(shutil.rmtree, folder, ignore_errors=True)
            folders.require(folder)
        return folder

    def _scheduler(self, distributed: Any, folder: Path) -> Any:
        """Return the address of the scheduler, or the cluster that was started here."""
        options = self.options
        if options.scheduler is not None:
            return options.scheduler
        security = _security(distributed, options.tls or made(folder))
        if options.slurm is not None:
            cluster = _in_slurm(options, security, folder, self._refused)
        else:
            assert options.workers is not None
            cluster = distributed.LocalCluster(
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
        return self._open.enter_context(cluster)

    def _check(self, client: Any) -> None:
        """Check that workers have the software of this process."""
        ours = identity()
        try:
            found: Mapping[str, Any] = client.run(remote.identity, on_error="return")
        except Exception as error:
            raise WorkersError(f"{self._where}: {_first(error)}") from error
        for worker, theirs in sorted(found.items()):
            which = f"{self._where}: worker {worker}"
            if isinstance(theirs, BaseException):
                remedy = f"install fairaudit {ours['fairaudit']} there"
                raise WorkersError(f"{which} cannot load fairaudit ({_first(theirs)}): {remedy}")
            if differs := difference(ours, theirs):
                remedy = "figures might differ; install the same there"
                raise WorkersError(f"{which} has {differs}: {remedy}")


def _packed(folder: Path, work: object, parts: Iterable[object]) -> Iterator[tuple[int, bytes]]:
    """Put work into a new folder; yield the number and the parcel of each part."""
    packer = Packer(folder)
    with _usable(folder):
        folder.mkdir()
        (folder / remote.WORK).write_bytes(packer.packed(work))
    for number, part in enumerate(parts):
        with _usable(folder):
            parcel = packer.packed(part)
        yield number, parcel


def _result(future: Any) -> bytes | None:
    """Return the result of a part; None if its worker was lost and another one repeats it."""
    from distributed import CancelledError
    from distributed.scheduler import KilledWorker

    try:
        parcel: bytes = future.result(timeout=RESULT_S)
    except TimeoutError:
        return None
    except KilledWorker as error:
        why = "one part of the work ended several workers: give them more memory"
        raise WorkersError(why) from error
    except CancelledError as error:
        raise WorkersError(_LOST) from error
    except (ImportError, AttributeError) as error:
        raise WorkersError(f"a worker cannot load fairaudit ({_first(error)})") from error
    return parcel


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """Raise errors of the system in the shared folder as WorkersError."""
    try:
        yield
    except OSError as error:
        raise WorkersError(
            f"compute.folder: {folder} cannot be used ({error.strerror or error}); name a folder "
            "that this machine and all workers may write"
        ) from error


def _first(error: BaseException) -> str:
    """Return the first line of a message."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


_NO_JOB: Final = "0"  # the number of a job that sbatch refused


def _in_slurm(options: Compute, security: Any, folder: Path, refused: list[str]) -> Any:
    """Start a scheduler here, and jobs of the site's own Slurm with a worker in each.

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
    cluster = library.SLURMCluster(
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
        scheduler_options=dict(_NO_PAGES),
        silence_logs=logging.CRITICAL,
    )
    cluster.scale(jobs=slurm.jobs)
    return cluster


def _job(of_slurm: Any, refused: list[str]) -> Any:
    """Jobs of Slurm that record the messages of sbatch, which Dask only logs."""

    class Job(of_slurm):  # type: ignore[misc]
        async def _submit_job(self, script_filename: str) -> Any:
            try:
                return await super()._submit_job(script_filename)
            except (OSError, RuntimeError) as error:
                lines = [line for line in str(error).splitlines() if line.strip()]
                refused.append(lines[-1] if lines else type(error).__name__)
                return _NO_JOB  # Dask cannot close a job that never began

        @classmethod
        async def _close_job(cls, job_id: str, cancel_command: str) -> None:
            if job_id != _NO_JOB:
                await super()._close_job(job_id, cancel_command)

    return Job


class Files(NamedTuple):
    """PEM files of TLS."""

    ca_file: str
    cert: str
    key: str


def _security(distributed: Any, files: Any) -> Any:
    """Dask's settings for connections with these ``Files``; None without."""
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
