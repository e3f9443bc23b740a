"""Workers of Dask: processes on this machine, of a running scheduler, or in jobs of Slurm.

Only names of files, settings and small arrays go through Dask; large data is in a shared folder
(``parcels``).

Dask repeats a part whose worker ends. A worker that cannot do a part is left out from then on, and
others repeat the part. So is each worker that differs from this process or cannot use the shared
folder. Dask's ``workers=`` restricts parts to the other workers.
"""

import logging
import shutil
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from audit.config import Compute
from audit.errors import AuditError, WorkersError
from audit.files import folders
from audit.words import plural
from audit.workers import clusters, remote
from audit.workers.executors import Made, Part, Shared, Stopped
from audit.workers.parcels import Opener, Packer
from audit.workers.remote import Failure, identity

AHEAD: Final = 2
"""Parts that each thread of a worker has at a time: the current one and the next."""
OF_EACH: Final = 8
"""Parts for each thread of a worker: durations differ, and a part may be lost."""
LOOK_S: Final = 1.0
"""Seconds between two looks at the workers."""
RESULT_S: Final = 2
"""Maximum seconds until a worker returns a result, which consists of file names."""
EXAMINED_S: Final = 30
"""Maximum seconds until a new worker has loaded fairaudit and answers."""
TRIES: Final = 3
"""Workers that fail at a part before the work is given up."""
LOSSES: Final = 20
"""Workers that a part may lose while no part is done: a partition may preempt them all."""


class _DaskSession(NamedTuple):
    """A connection to workers, and a folder for this run alone, which is removed in the end."""

    client: Any
    folder: Path


@dataclass
class _Task:
    """A part of the work, and what has become of it."""

    number: int
    parcel: bytes
    key: str
    workers: frozenset[str] = frozenset()  # those that may do it
    failures: int = 0
    losses: int = 0
    progress: int = 0  # number of parts that were done at the latest loss

    def lose(self, workers: int, done: int) -> None:
        """Record the number of its workers that ended; raise WorkersError without progress."""
        self.losses = workers + (self.losses if self.progress == done else 0)
        self.progress = done
        if self.losses > LOSSES:
            raise WorkersError(
                f"a part of the work lost {self.losses} workers, and meanwhile no other part was "
                "done: give workers more memory, or use machines that do not end them"
            )


@dataclass
class Dask:
    """An executor whose workers are Dask's; it connects to them when they are first needed."""

    options: Compute
    say: Callable[[str], None] = lambda text: None
    left_out: dict[str, str] = field(default_factory=dict)
    """Workers that get no more parts, by address, and why."""
    used: set[str] = field(default_factory=set)
    """Addresses of the workers that got parts."""

    def __post_init__(self) -> None:
        """Set up the fields that need no closing."""
        self._open = ExitStack()
        self._numbers = count(1)
        self._fit: dict[str, int] = {}
        self._look_again = 0.0
        self.where = clusters.named(self.options)

    @property
    def width(self) -> int:
        """See ``Executor``."""
        return sum(self._workers().values())

    @property
    def parts(self) -> int:
        """See ``Executor``."""
        return OF_EACH * self.width

    def close(self) -> None:
        """Release the workers, and remove the content of the shared folder."""
        self._open.close()
        self._fit.clear()
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
        self, folder: Path, parts: Iterator[_Task], stopped: Stopped
    ) -> Iterator[tuple[int, Any]]:
        """Yield results as they arrive; only parts that will soon begin are submitted."""
        client = self._session.client
        working: dict[Any, _Task] = {}
        again: deque[_Task] = deque()
        opener, done = Opener(folder), 0
        try:
            while True:
                workers = self._workers()
                for future in [key for key, of in working.items() if not of.workers & set(workers)]:
                    again.append(working.pop(future))
                    again[-1].lose(1, done)
                    future.cancel(force=True)
                free = 0 if stopped() else max(AHEAD * sum(workers.values()) - len(working), 0)
                first = [again.popleft() for _ in range(min(free, len(again)))]
                for task in chain(first, islice(parts, free - len(first))):
                    working[self._submitted(folder, task, workers)] = task
                if not working:
                    return
                for future in self._some(working):
                    try:
                        parcel = self._result(future, working[future], done)
                    except TimeoutError:  # its worker was lost, and another one repeats it
                        continue
                    task = working.pop(future)
                    if parcel is None:
                        again.append(task)
                        continue
                    with _usable(folder):
                        made = opener.opened(parcel)
                        opener.empty()
                    done += 1
                    yield task.number, made
        finally:
            with suppress(Exception):  # the connection itself may have failed
                client.cancel(list(working), force=True)

    def _submitted(self, folder: Path, task: _Task, workers: Mapping[str, int]) -> Any:
        task.workers = frozenset(workers)
        what = (remote.run, str(folder), identity(), task.parcel)
        key = f"{task.key}-{next(self._numbers)}"
        return self._session.client.submit(*what, pure=False, key=key, workers=list(workers))

    def _some(self, working: Iterable[Any]) -> list[Any]:
        """Return the futures that are done, after at most about a second.

        Raises WorkersError if the scheduler was lost.
        """
        _, distributed = self._libraries()
        try:
            with self._session.client.as_current():
                found = distributed.wait(list(working), timeout=1, return_when="FIRST_COMPLETED")
            return list(found.done)
        except TimeoutError:
            return []
        except distributed.CancelledError as error:
            raise self._lost() from error

    def _lost(self) -> WorkersError:
        return WorkersError(f"{self.where}: the workers were lost while they computed")

    def _result(self, future: Any, task: _Task, done: int) -> bytes | None:
        """Return the result of a part; None if it is to be done again.

        Raises TimeoutError if the worker that has the result was lost.
        """
        _, distributed = self._libraries()
        from distributed.scheduler import KilledWorker

        try:
            result = future.result(timeout=RESULT_S)
        except (TimeoutError, AuditError):
            raise
        except KilledWorker as error:
            task.lose(error.allowed_failures + 1, done)
            return None
        except distributed.CancelledError as error:
            raise self._lost() from error
        except Exception as error:
            if _ends(error):
                task.lose(1, done)
            else:
                self._fail(task, _first(error))
            return None
        if isinstance(result, bytes):
            return result
        assert isinstance(result, Failure)
        had = self._session.client.who_has([future])
        for address in set(next(iter(had.values()), ())) - set(self.left_out):
            self._leave_out(address, result.why)
            self._fail(task, f"{result.why} (on {result.machine})")
        return None

    def _fail(self, task: _Task, why: str) -> None:
        """Record that a worker could not do a part; raise WorkersError after ``TRIES``."""
        task.failures += 1
        if task.failures >= TRIES:
            raise WorkersError(f"{self.where}: a part failed on {TRIES} workers: {why}")

    def _leave_out(self, address: str, why: str) -> None:
        self._fit.pop(address, None)
        self.left_out[address] = why
        self.say(f"warning: worker {address} is left out: {why}")

    # --- the workers -----------------------------------------------------------------------------

    def _workers(self) -> Mapping[str, int]:
        """Return the number of threads of each worker that may get parts, at least one.

        Waits for one, and looks for others about once a second. Raises WorkersError.
        """
        _, distributed = self._libraries()
        client, since = self._session.client, time.monotonic()
        while not self._fit or time.monotonic() > self._look_again:
            clusters.restore(distributed, client.cluster)
            threads = self._threads()
            new = threads.keys() - self._fit.keys() - self.left_out.keys()
            fit = (self._fit.keys() & threads.keys()) | self._examined(client, sorted(new))
            self._fit = {address: threads[address] for address in sorted(fit)}
            self._look_again = time.monotonic() + LOOK_S
            if not self._fit:
                self._wait(time.monotonic() - since)
        self.used |= self._fit.keys()
        return self._fit

    def _wait(self, waited_s: float) -> None:
        """Wait a moment for a worker; raise WorkersError if that is of no use."""
        options, last = self.options, list(self.left_out.items())[-1:]
        requested = options.slurm.jobs if options.slurm is not None else options.workers or 1
        for address, why in last if len(self.left_out) >= requested else ():
            which = "the only worker" if len(self.left_out) == 1 else "all workers"
            raise WorkersError(f"{self.where}: {which} had to be left out: {address}: {why}")
        if waited_s > options.patience_s:
            why = f"no worker for {options.patience_s} s (compute.patience_s)"
            raise WorkersError(f"{self.where}: {why}; {clusters.remedy(options)}")
        time.sleep(0.1)

    def _examined(self, client: Any, new: Sequence[str]) -> set[str]:
        """Return those of the new workers that may get parts; the others are left out."""
        what = (remote.unfit, str(self._session.folder), identity())
        answers = {
            address: client.submit(*what, pure=False, workers=[address], priority=1)
            for address in new
        }
        found = set()
        until = time.monotonic() + EXAMINED_S
        while answers:
            late = time.monotonic() > until
            self._some(answers.values())
            alive = self._threads().keys()
            for address in [at for at, answer in answers.items() if late or answer.done()]:
                try:
                    why = self._answer(answers[address])
                except TimeoutError:  # a busy network or worker: ask for the answer again
                    if not late:
                        continue
                    why = f"no answer within {EXAMINED_S} s"
                del answers[address]
                if why:
                    self._leave_out(address, why)
                elif why is not None:
                    found.add(address)
            answers = {at: answer for at, answer in answers.items() if at in alive}
        return found

    def _answer(self, answer: Any) -> str | None:
        """Return why a worker may get no parts: "" if it may, None if it is about to exit.

        Raises TimeoutError if the answer does not arrive in time; WorkersError if the scheduler was
        lost.
        """
        _, distributed = self._libraries()
        try:
            why: str = answer.result(timeout=RESULT_S)
        except TimeoutError:
            raise
        except distributed.CancelledError as error:
            raise self._lost() from error
        except Exception as error:
            if _ends(error):
                return None
            ours = identity()["fairaudit"]
            return f"cannot load fairaudit ({_first(error)}); install fairaudit {ours} there"
        return why

    def _threads(self) -> Mapping[str, int]:
        client = self._session.client
        try:
            if client.status != "running":
                raise OSError(f"the connection is {client.status}")
            threads: Mapping[str, int] = client.nthreads()
        except (OSError, TimeoutError) as error:
            raise WorkersError(f"{self.where}: the scheduler was lost ({_first(error)})") from error
        return threads

    # --- the connection --------------------------------------------------------------------------

    @cached_property
    def _session(self) -> _DaskSession:
        """The connection, made when it is first needed."""
        dask, distributed = self._libraries()
        # errors that matter are raised here; the client's logger has a level of its own
        for name in ("distributed", "distributed.client", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        warnings.filterwarnings("ignore", module="distributed")
        try:
            self._open.enter_context(dask.config.set(clusters.SETTINGS))
            folder = self._folder()
            if self.options.scheduler is not None:
                how = clusters.running(distributed, self.options)
            else:
                cluster = clusters.started(distributed, self.options, folder)
                how = {"address": self._open.enter_context(cluster)}
            client = self._open.enter_context(distributed.Client(**how, set_as_default=False))
            session = _DaskSession(client, folder)
            self.__dict__["_session"] = session
            workers = self._workers()
        except (OSError, RuntimeError, ValueError) as error:
            self.close()
            remedy = "check that it runs, and that this machine may connect to it"
            why = f"cannot be reached ({_first(error)})"
            raise WorkersError(f"{self.where}: {why}; {remedy}") from error
        except BaseException:
            self.close()
            raise
        threads = plural(sum(workers.values()), "thread")
        self.say(f"computing on {plural(len(workers), 'worker')} with {threads}: {self.where}")
        return session

    def _libraries(self) -> tuple[Any, Any]:
        try:
            import dask
            import distributed
        except ImportError as error:
            raise WorkersError(
                'compute.engine = "dask" needs libraries that are not installed '
                f"({error.name}): pip install 'fairaudit[dask]', or choose \"local\""
            ) from error
        return dask, distributed

    def _folder(self) -> Path:
        below = Path(self.options.folder or tempfile.gettempdir())
        with _usable(below):
            folder = Path(tempfile.mkdtemp(prefix="fairaudit-", dir=below))
            self._open.callback(shutil.rmtree, folder, ignore_errors=True)
            folders.require(folder)
        return folder


def _packed(folder: Path, work: object, parts: Iterable[object]) -> Iterator[_Task]:
    """Put work into a new folder; yield its parts."""
    packer = Packer(folder)
    with _usable(folder):
        folder.mkdir()
        (folder / remote.WORK).write_bytes(packer.packed(work))
    for number, part in enumerate(parts):
        with _usable(folder):
            parcel = packer.packed(part)
        yield _Task(number, parcel, f"{folder.parent.name}-{folder.name}-{number}")


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """Raise errors of the system in the shared folder as WorkersError."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        raise WorkersError(
            f"compute.folder: {folder} cannot be used ({_first(error)}); name a folder "
            "that this machine and all workers may write"
        ) from error


def _ends(error: BaseException) -> bool:
    """Return whether a worker raised an error only because it is about to exit."""
    return isinstance(error, RuntimeError) and "shutdown" in str(error)


def _first(error: BaseException) -> str:
    lines = str(getattr(error, "strerror", None) or error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
