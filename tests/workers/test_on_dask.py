"""Real workers of Dask: results are the same even if one is killed."""

import errno
import os
import re
import signal
import socket
import ssl
import stat
import threading
import time
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np
import pytest
from dask import distributed as library

from audit.config import Compute
from audit.errors import UsageError, WorkersError
from audit.model import Policy
from audit.scenario.driver import Effort
from audit.scenario.fair_start import fair_starts
from audit.workers import on_dask, remote
from audit.workers.chosen import executor, tried
from audit.workers.on_dask import Dask
from audit.workers.remote import identity
from tests.workers.crowded import crowded


def tripled(by: np.ndarray[Any, Any]) -> Callable[[int], Any]:
    return Tripled(by)


class Tripled:
    """The number of the process, and three elements."""

    def __init__(self, by: np.ndarray[Any, Any]) -> None:
        self.by = by

    def __call__(self, part: int) -> tuple[int, np.ndarray[Any, Any]]:
        if part < 0:
            raise UsageError("a part below zero")
        return os.getpid(), 3 * self.by[part : part + 3]


BY = np.arange(5_000)
distributed: Any = library


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def two(said: list[str]) -> Iterator[Dask]:
    """Two processes of this machine."""
    dask = Dask(Compute(engine="dask", workers=2), said.append)
    assert dask.width == 2
    folder = dask._session.folder
    yield dask
    dask.close()
    assert not folder.exists()


def test_workers_do_each_part_and_it_is_reported(two: Dask, said: list[str]) -> None:
    made = dict(two.each(tripled, BY, list(range(9))))
    assert {part: values.tolist() for part, (_, values) in made.items()} == {
        part: [3 * part, 3 * part + 3, 3 * part + 6] for part in range(9)
    }
    assert os.getpid() not in {process for process, _ in made.values()}
    assert said == ["computing on 2 workers with 2 threads: Dask on this machine (compute.workers)"]


@pytest.mark.thorough
def test_a_worker_that_is_killed_changes_nothing(two: Dask) -> None:
    work = crowded(400)
    here = fair_starts(work, Policy())
    victims = sorted(two._session.client.run(os.getpid).values())[:1]

    def kill(done: int, of: int) -> None:
        while victims:
            os.kill(victims.pop(), signal.SIGKILL)

    there = fair_starts(work, Policy(), effort=Effort(two, kill))
    assert not victims
    assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))


def test_an_interrupt_is_not_for_workers(two: Dask) -> None:
    """A terminal sends it to all processes, but started cells are finished."""
    for number in (signal.SIGINT, signal.SIGTERM):
        found = two._session.client.run(signal.getsignal, number)
        assert set(found.values()) == {signal.SIG_IGN}


def test_nothing_is_left_in_the_folder_after_an_error(two: Dask) -> None:
    with pytest.raises(UsageError, match="a part below zero"):
        list(two.each(tripled, BY, [1, 2, -1, 3]))
    left = [path for path in two._session.folder.iterdir() if path.name.isdigit()]
    assert left == []
    assert len(list(two.each(tripled, BY, [1]))) == 1


def test_what_goes_through_is_its_users_alone_and_encrypted(two: Dask) -> None:
    folder = two._session.folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "key.pem").stat().st_mode) == 0o600
    address = urlsplit(two._session.client.scheduler.address)
    assert address.scheme == "tls"
    context = ssl.create_default_context(cafile=str(folder / "cert.pem"))
    context.check_hostname = False
    place = (str(address.hostname), int(address.port or 0))
    with (
        socket.create_connection(place, timeout=10) as plain,
        context.wrap_socket(plain) as without_certificate,
        pytest.raises(ssl.SSLError, match="certificate required"),
    ):
        without_certificate.recv(1)


def test_no_page_is_served(two: Dask) -> None:
    """The port that Dask opens for them is on this machine, and nothing is behind it."""
    scheduler = two._session.client.cluster.scheduler
    [listening] = scheduler.http_server._sockets.values()
    host, port = listening.getsockname()
    assert host == "127.0.0.1"
    for page in ("", "status", "health", "info/main/workers.html", "json/counts.json", "metrics"):
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"http://{host}:{port}/{page}", timeout=10)


# --- a scheduler that runs already ---------------------------------------------------------------


def at(scheduler: str, folder: Path, **more: object) -> Compute:
    how = {"engine": "dask", "alone_s": 0, "patience_s": 1, **more}
    return Compute.model_validate({**how, "scheduler": scheduler, "folder": str(folder)})


AWAY = "tcp://127.0.0.1:9"


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Compute]]:
    """A scheduler with one worker, both threads of this process."""
    monkeypatch.setattr(on_dask, "RESULT_S", 0.1)
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        host="127.0.0.1",
        protocol="tcp://",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        yield cluster, at(cluster.scheduler_address, tmp_path)


Running = tuple[Any, Compute]


def test_it_works_by_address_and_leaves_the_shared_folder_empty(
    running: Running, tmp_path: Path
) -> None:
    said: list[str] = []
    with executor(running[1], say=said.append) as one:
        assert len(dict(one.each(tripled, BY, [1, 2, 3]))) == 3
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []
    where = f"Dask at {running[1].scheduler} (compute.scheduler)"
    assert said == [
        f"computing on 1 worker with 1 thread: {where}",
        f"1 worker did 3 of 3 parts (100 %): {where}",
    ]


def test_a_late_answer_of_a_new_worker_is_requested_again(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, late = distributed.Future.result, [True]

    def first_late(future: Any, timeout: float | None = None) -> Any:
        if late:
            late.pop()
            raise TimeoutError
        return result(future, timeout)

    monkeypatch.setattr(distributed.Future, "result", first_late)
    said: list[str] = []
    with executor(running[1], say=said.append) as one:
        assert len(dict(one.each(tripled, BY, [1, 2, 3]))) == 3
    assert not [text for text in said if "left out" in text]


def lose(
    running: Running, how: Callable[[Any], object], options: Compute
) -> tuple[dict[int, Any], list[str]]:
    """The results, and the messages, when the workers are lost after the first part."""
    said: list[str] = []
    made: dict[int, Any] = {}
    with executor(options, 1, said.append) as one:
        for number, (_, values) in one.each(tripled, BY, list(range(9))):
            if not made:
                how(running[0])
            made[number] = values.tolist()
    return made, said


LOST: list[tuple[Callable[[Any], object], str]] = [
    (lambda cluster: cluster.scale(0), r"no worker for 1 s \(compute\.patience_s\); start workers"),
    (lambda cluster: cluster.close(), "the scheduler was lost|were lost while they computed"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("how", "what"), LOST, ids=["workers", "scheduler"])
def test_if_all_are_lost_it_ends_with_a_plain_error(
    running: Running, how: Callable[[Any], object], what: str, tmp_path: Path
) -> None:
    with pytest.raises(WorkersError, match=what):
        lose(running, how, running[1])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
@pytest.mark.parametrize("how", [how for how, _ in LOST], ids=["workers", "scheduler"])
def test_or_this_process_goes_on_alone(running: Running, how: Callable[[Any], object]) -> None:
    made, said = lose(running, how, running[1].model_copy(update={"fallback": True}))
    assert made == {k: [3 * k, 3 * k + 3, 3 * k + 6] for k in range(9)}
    assert said[-2].endswith("; this process continues without workers (compute.fallback)")
    assert re.match(r"1 worker did \d of 9 parts", said[-1])


@pytest.mark.parametrize("name", ["distributed.wait", "distributed.Future.result"])
def test_a_scheduler_that_is_lost_while_a_worker_is_examined_is_a_plain_error(
    name: str, running: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def cancelled(*_: object, **__: object) -> None:
        raise distributed.CancelledError

    monkeypatch.setattr(name, cancelled)
    said: list[str] = []
    with (
        executor(running[1], say=said.append) as one,
        pytest.raises(WorkersError, match=r"compute\.scheduler\): the workers were lost"),
    ):
        list(one.each(tripled, BY, [1]))
    assert said == []
    assert list(tmp_path.iterdir()) == []


def test_an_unreachable_scheduler_is_named_by_its_key(tmp_path: Path) -> None:
    said = (
        r"Dask at tcp://127.0.0.1:9 \(compute.scheduler\): cannot be reached .*check that it runs"
    )
    with executor(at(AWAY, tmp_path)) as one, pytest.raises(WorkersError, match=said):
        list(one.each(tripled, BY, [1]))
    assert list(tmp_path.iterdir()) == []


def test_an_unusable_folder_is_named_by_its_key(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = r"compute.folder: .*/file cannot be used \(Not a direct"
    with executor(at(AWAY, tmp_path / "file")) as one, pytest.raises(WorkersError, match=said):
        list(one.each(tripled, BY, [1]))


# --- workers that fail -----------------------------------------------------------------------


class Faulty:
    """Fails on some workers."""

    def __init__(self, error: Exception, names: Container[object]) -> None:
        self.error, self.names = error, names

    def __call__(self, part: int) -> int:
        with suppress(ValueError):  # in no worker
            if distributed.get_worker().name in self.names:
                raise self.error
        return 3 * part


def faulty(fault: tuple[Exception, Container[object]]) -> Callable[[int], int]:
    return Faulty(*fault)


FAULTS = [
    (MemoryError(), "it has too little memory"),
    (
        OSError(errno.ENOSPC, "No space left on device"),
        r"it cannot use .* \(No space left on device",
    ),
    (RuntimeError("a defect"), "RuntimeError: a defect"),
]


@pytest.mark.parametrize(("error", "why"), FAULTS, ids=["memory", "disk", "defect"])
def test_a_worker_that_fails_is_left_out_and_named(
    running: Running, error: Exception, why: str
) -> None:
    running[0].scale(2)
    running[0].wait_for_workers(2)
    said: list[str] = []
    warned: list[str] = []
    with executor(running[1], 1, said.append, warned.append) as one:
        made = dict(one.each(faulty, (error, {0}), list(range(30))))
    assert made == {k: 3 * k for k in range(30)}
    [left_out] = [text for text in said if "left out" in text]
    assert re.fullmatch(rf"warning: worker \S+ is left out: {why}.*", left_out)
    [warning] = warned
    assert re.search(rf"worker \S+ was left out: {why}", warning)
    assert said[-1].startswith("2 workers did 30 of 30 parts (100 %): Dask at tcp://")


@pytest.mark.parametrize(("error", "why"), FAULTS[:2], ids=["memory", "disk"])
def test_if_every_worker_fails_it_falls_back_or_ends_with_a_plain_error(
    running: Running, error: Exception, why: str, tmp_path: Path
) -> None:
    said = rf"\(compute\.scheduler\): the only worker had to be left out: \S+: {why}"
    with executor(running[1]) as one, pytest.raises(WorkersError, match=said):
        list(one.each(faulty, (error, {0}), [1, 2, 3]))
    assert list(tmp_path.iterdir()) == []
    warned: list[str] = []
    options = running[1].model_copy(update={"fallback": True})
    with executor(options, 1, warned=warned.append) as one:
        assert dict(one.each(faulty, (error, {0}), [1, 2, 3])) == {0: 3, 1: 6, 2: 9}
    assert warned[-1].endswith("; this process continued without workers (compute.fallback)")


def test_a_part_that_fails_everywhere_is_given_up(running: Running) -> None:
    running[0].scale(4)
    running[0].wait_for_workers(4)
    with (
        executor(running[1]) as one,
        pytest.raises(WorkersError, match="failed on 3 workers: it has"),
    ):
        list(one.each(faulty, (MemoryError(), range(4)), [1]))


def only_the_first(folder: str, ours: Mapping[str, str]) -> str:
    """Stands in for ``remote.unfit``: later workers are of another version."""
    return "" if distributed.get_worker().name == 0 else remote.difference(ours, {}) or ""


@pytest.mark.thorough
def test_a_late_worker_of_another_version_is_left_out_and_named(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "unfit", only_the_first)
    monkeypatch.setattr(on_dask, "LOOK_S", 0.1)
    said: list[str] = []
    with executor(running[1], 1, said.append) as one:
        parts = one.each(napping, None, list(range(12)))
        made = dict(islice(parts, 3))
        running[0].scale(2)
        running[0].wait_for_workers(2)
        made |= dict(parts)
    assert made == {k: 3 * k for k in range(12)}
    assert len([text for text in said if "is left out: fairaudit unknown, here" in text]) == 1
    assert said[-1].startswith("1 worker did 12 of 12 parts")


def test_workers_of_another_version_are_left_out_and_named(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_dask, "identity", lambda: {**identity(), "fairaudit": "9.9"})
    said = r"left out: tcp\S+: it has fairaudit \S+, here 9\.9; .*install the same there"
    with executor(running[1]) as one, pytest.raises(WorkersError, match=said):
        list(one.each(tripled, BY, [1]))


def test_workers_can_be_tried(running: Running, tmp_path: Path) -> None:
    assert tried(running[1]) == (
        f"Dask at {running[1].scheduler} (compute.scheduler): 1 worker with 1 thread and this "
        f"version, which can use {tmp_path}"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_trial_names_each_worker_that_would_be_left_out(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    running[0].scale(2)
    running[0].wait_for_workers(2)
    monkeypatch.setattr(remote, "unfit", only_the_first)
    with pytest.raises(WorkersError, match=r"\(compute\.scheduler\): worker tcp\S+: fairaudit unk"):
        tried(running[1])


def napping(_: None) -> Callable[[int], int]:
    return _nap


def _nap(part: int) -> int:
    time.sleep(0.2)
    return 3 * part


@pytest.mark.slow
@pytest.mark.thorough
def test_many_kills_end_nothing(two: Dask) -> None:
    """As a partition that is preempted again and again: each worker ends as soon as it begins."""
    kills = 0

    def kill() -> None:
        nonlocal kills
        while kills < 12:
            for nanny in two._session.client.cluster.workers.values():
                if nanny.pid is not None:
                    with suppress(ProcessLookupError):
                        os.kill(nanny.pid, signal.SIGKILL)
                        kills += 1
            time.sleep(0.5)

    killer = threading.Thread(target=kill)
    killer.start()
    made = dict(two.each(napping, None, list(range(20))))
    killer.join()
    assert kills >= 12
    assert made == {k: 3 * k for k in range(20)}
    assert two.left_out == {}


def ending(_: None) -> Callable[[int], int]:
    return _end


def _end(part: int) -> int:
    if part == 1:
        os._exit(1)
    return 3 * part


@pytest.mark.slow
@pytest.mark.thorough
def test_a_part_that_ends_its_workers_does_not_go_on_for_ever(
    two: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_dask, "LOSSES", 5)
    said = r"lost \d+ workers, and meanwhile no other part was done"
    with pytest.raises(WorkersError, match=said):
        list(two.each(ending, None, [0, 1, 2, 3]))
