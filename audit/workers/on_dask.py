"""Workers of Dask: processes of this machine, of a cluster that runs, or in jobs of Slurm.

Nothing but the names of files, settings and small arrays goes through Dask; what is large lies in a
folder that all share (``parcels``). Where the scheduler is started here its connections are always
encrypted, with a certificate for this run alone where the site gives none: whoever can speak to a
scheduler can run code as its user.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from audit.config import Compute
from audit.errors import AuditError, WorkersError
from audit.files import folders
from audit.workers import on_slurm, remote
from audit.workers.executors import Made, Part, Shared, Stopped
from audit.workers.parcels import Opener, Packer
from audit.workers.remote import difference, identity

Said = Callable[[str], None]

AHEAD: Final = 2
"""Parts that each worker has been given: one at work, the next at hand."""
OF_EACH: Final = 8
"""Parts for each thread of a worker: they do not take equally long, and one may be lost."""
LOOK_S: Final = 1.0
"""Seconds after which it is looked again how many workers there are."""
RESULT_S: Final = 2
"""Seconds in which a worker tells what it made: the names of some files."""
_SETTINGS: Final[Mapping[str, object]] = {
    "distributed.admin.tick.limit": "1h",  # nobody looks at its complaints
    "distributed.comm.timeouts.connect": "30s",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
_NO_PAGES: Final = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
"""Dask opens a port for its web pages whatever it is told: then on this machine, without a page."""


_LOST: Final = "the workers were lost while they computed"


class _Session(NamedTuple):
    """A connection to workers."""

    client: Any
    folder: Path
    """Of this run alone, removed in the end."""


@dataclass
class Dask:
    """An executor whose workers are Dask's. They are looked for when they are first needed."""

    asked: Compute
    said: Said = lambda text: None

    def __post_init__(self) -> None:
        """Begins without anything that would have to be closed."""
        self._open = ExitStack()
        self._numbers = count(1)
        self._refused: list[str] = []

    @property
    def width(self) -> int:
        """See ``Executor``."""
        return max(sum(self._threads().values()), 1)

    @property
    def parts(self) -> int:
        """See ``Executor``."""
        return OF_EACH * self.width

    def close(self) -> None:
        """Lets the workers go, and removes what was in the shared folder."""
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
        """The parts as they are done; no more are given out than the workers can soon begin."""
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
                    given = client.submit(
                        remote.run, str(folder), ours, part, pure=False, key=_key(folder, number)
                    )
                    working[given] = number
                if not working:
                    return
                for future in self._some(working):
                    parcel = _result(future)
                    if parcel is None:
                        self._awaited()
                        continue
                    number = working.pop(future)
                    made = opener.opened(parcel)
                    opener.empty()
                    yield number, made
        finally:
            with suppress(Exception):  # the connection may be what failed
                client.cancel(list(working), force=True)

    def _some(self, working: Mapping[Any, int]) -> list[Any]:
        """Those that are done, after about a second at the most."""
        _, distributed = self._libraries()
        try:
            with self._session.client.as_current():
                found = distributed.wait(list(working), timeout=1, return_when="FIRST_COMPLETED")
            return list(found.done)
        except TimeoutError:
            pass
        except distributed.CancelledError as error:
            raise WorkersError(_LOST) from error
        self._awaited()
        return []

    def _awaited(self) -> None:
        """Waits until there is a worker."""
        since = time.monotonic()
        while not self._threads():
            if self._refused:
                raise WorkersError(f"{self._where}: sbatch refuses its jobs: {self._refused[0]}")
            if time.monotonic() - since > self.asked.patience_s:
                raise WorkersError(
                    f"{self._where}: no worker for {self.asked.patience_s} s (compute.patience_s)"
                    f"{self._remedy}"
                )
            time.sleep(0.1)

    def _threads(self) -> Mapping[str, int]:
        """The workers there are, each with its number of threads."""
        client = self._session.client
        try:
            if client.status != "running":
                raise OSError(f"the connection is {client.status}")
            threads: Mapping[str, int] = client.nthreads()
        except (OSError, TimeoutError) as error:
            raise WorkersError(f"{self._where}: the scheduler is gone ({_told(error)})") from error
        return threads

    @property
    def _where(self) -> str:
        if self.asked.slurm is not None:
            return "Dask on Slurm (compute.slurm)"
        if self.asked.scheduler is not None:
            return f"Dask at {self.asked.scheduler} (compute.scheduler)"
        return "Dask on this machine (compute.workers)"

    @property
    def _remedy(self) -> str:
        if self.asked.slurm is not None:
            return "; see with squeue why its jobs do not start, or ask for less"
        if self.asked.scheduler is not None:
            return '; start some there, with "dask worker"'
        return "; they end as soon as they begin: is there memory for them?"

    @cached_property
    def _session(self) -> _Session:
        """The connection, made when it is first needed."""
        dask, distributed = self._libraries()
        for name in ("distributed", "asyncio"):  # what matters is raised here
            logging.getLogger(name).setLevel(logging.CRITICAL)
        warnings.filterwarnings("ignore", module=r"distributed|dask_jobqueue")
        try:
            self._open.enter_context(dask.config.set(_SETTINGS))
            folder = self._folder()
            address = self._scheduler(distributed, folder)
            client = self._open.enter_context(
                distributed.Client(
                    address,
                    timeout=min(self.asked.patience_s, 30),
                    security=self._security(distributed, self.asked.tls),
                    set_as_default=False,
                )
                if isinstance(address, str)
                else distributed.Client(address, set_as_default=False)
            )
            session = _Session(client, folder)
            self.__dict__["_session"] = session
            self._awaited()
            self._check(client)
        except (OSError, RuntimeError, ValueError) as error:
            self.close()
            raise WorkersError(
                f"{self._where}: cannot be reached ({_told(error)}); is it running, and may this "
                "machine connect to it?"
            ) from error
        except BaseException:
            self.close()
            raise
        workers = self._threads()
        self.said(
            f"computing on {_counted(len(workers), 'worker')} with "
            f"{_counted(sum(workers.values()), 'thread')}: {self._where}"
        )
        return session

    def _libraries(self) -> tuple[Any, Any]:
        """Dask, and what distributes it."""
        try:
            import dask
            import distributed

            if self.asked.slurm is not None:
                import dask_jobqueue  # noqa: F401
        except ImportError as error:
            raise WorkersError(
                'compute.engine = "dask" needs libraries that are not installed '
                f"({error.name}): pip install 'fairaudit[dask]', or choose \"local\""
            ) from error
        return dask, distributed

    def _folder(self) -> Path:
        """A new folder that is this run's alone."""
        below = None if self.asked.folder is None else Path(self.asked.folder)
        try:
            made = Path(tempfile.mkdtemp(prefix="fairaudit-", dir=below))
            self._open.callback(shutil.rmtree, made, ignore_errors=True)
            folders.require(made)
        except OSError as error:
            raise _unusable(below or Path(tempfile.gettempdir()), error) from error
        return made

    def _scheduler(self, distributed: Any, folder: Path) -> Any:
        """The address of the scheduler, or the cluster that was started here."""
        asked = self.asked
        if asked.scheduler is not None:
            return asked.scheduler
        files = asked.tls or made(folder)
        security = self._security(distributed, files)
        if asked.slurm is not None:
            cluster = on_slurm.cluster(asked, security, folder, _NO_PAGES, self._refused)
        else:
            assert asked.workers is not None
            cluster = distributed.LocalCluster(
                n_workers=asked.workers,
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

    def _security(self, distributed: Any, files: Any) -> Any:
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

    def _check(self, client: Any) -> None:
        """That workers compute with what this process does."""
        ours = identity()
        try:
            found: Mapping[str, Any] = client.run(remote.computes_with, on_error="return")
        except Exception as error:
            raise WorkersError(f"{self._where}: {_told(error)}") from error
        for worker, theirs in sorted(found.items()):
            if isinstance(theirs, BaseException):
                raise WorkersError(
                    f"{self._where}: worker {worker} cannot load fairaudit ({_told(theirs)}): "
                    f"install fairaudit {ours['fairaudit']} there"
                )
            if differs := difference(ours, theirs):
                raise WorkersError(
                    f"{self._where}: worker {worker} has {differs}: figures might differ; install "
                    "the same there"
                )


def _packed(folder: Path, work: object, parts: Iterable[object]) -> Iterator[tuple[int, bytes]]:
    """Puts work into a new folder; gives the parcel of each part, and its number."""
    packer = Packer(folder)
    try:
        folder.mkdir()
        (folder / remote.WORK).write_bytes(packer.packed(work))
        for number, part in enumerate(parts):
            yield number, packer.packed(part)
    except OSError as error:
        raise _unusable(folder, error) from error


def _result(future: Any) -> bytes | None:
    """What a part came to; None where the worker that had it is gone, and another one does it."""
    from distributed import CancelledError
    from distributed.scheduler import KilledWorker

    try:
        parcel: bytes = future.result(timeout=RESULT_S)
    except TimeoutError:
        return None
    except KilledWorker as error:
        raise WorkersError(
            "a part of the work ended one worker after the other: give them more memory"
        ) from error
    except CancelledError as error:
        raise WorkersError(_LOST) from error
    except (ImportError, AttributeError) as error:
        raise WorkersError(f"a worker cannot load fairaudit ({_told(error)})") from error
    return parcel


def _unusable(folder: Path, error: OSError) -> AuditError:
    return WorkersError(
        f"compute.folder: {folder} cannot be used ({error.strerror or error}); name a folder that "
        "this machine and all workers may write"
    )


def _key(folder: Path, number: int) -> str:
    return f"{folder.parent.name}-{folder.name}-{number}"


def _told(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


class Files(NamedTuple):
    """PEM files of TLS."""

    ca_file: str
    cert: str
    key: str


def made(folder: Path) -> Files:
    """A certificate for this run alone, which is its own authority.

    Raises:
        WorkersError: there is no openssl to make it.
    """
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    command = ["openssl", "req", "-x509", "-nodes", "-days", "3650", "-subj", "/CN=fairaudit"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    try:
        subprocess.run(  # noqa: S603, no word of it comes from outside
            [*command, *curve, "-keyout", key, "-out", cert],
            check=True,
            capture_output=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise WorkersError(
            f"openssl, which encrypts what workers are told, cannot be run ({error}): "
            "install it, or give compute.tls"
        ) from error
    return Files(cert, cert, key)
