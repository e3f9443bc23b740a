"""When runs are due, and a scheduler that begins them. The only module that uses APScheduler.

APScheduler's jobs are described by text alone (a function's path, a cluster's name), and are made
anew from the configuration at each start. From the job store of an earlier process, only the time
at which each cluster's run was due is read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Final

from apscheduler.events import EVENT_SCHEDULER_STARTED
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.blocking import BlockingScheduler
from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.cron import CronTrigger
from sqlalchemy import URL

from audit import periods
from audit.config import Cluster, Config
from audit.errors import ConfigError
from audit.nightly import history

_REACH: Final = timedelta(hours=3)  # no clock change is longer, except across the date line


def next_after(times: str, zone: str, after: int) -> int:
    """Return the first instant after ``after`` at which a clock in ``zone`` shows one of ``times``.

    Each local time counts once: a skipped time is shifted by the length of the skip, and the first
    instance of a repeated time counts.

    Args:
        times: minute, hour, day, month and day of the week.
        after: epoch s.

    Raises ConfigError if ``times`` cannot be read, or never occur.
    """
    place = periods.zone(zone)
    best: int | None = None
    try:
        # local times as if the zone were UTC, where clocks never change
        face = CronTrigger.from_crontab(times, timezone=UTC)
        begin = datetime.fromtimestamp(after, place).replace(tzinfo=UTC, fold=0) - _REACH
        shown = face.get_next_fire_time(None, begin)
        while shown is not None:
            instant = int(shown.replace(tzinfo=place).timestamp())
            if instant > after and (best is None or instant < best):
                best = instant
            # later local times than that of ``best`` are also later instants
            if best and shown >= datetime.fromtimestamp(best, place).replace(tzinfo=UTC):
                return best
            shown = face.get_next_fire_time(None, shown + timedelta(seconds=1))
    except ValueError as error:
        raise ConfigError(f"service.times: {times!r}: {error}") from error
    if best is None:
        raise ConfigError(f"service.times: {times!r} never occurs")
    return best


def times_of(config: Config, cluster: Cluster) -> str:
    """Return when a cluster's runs are due, as five fields of cron."""
    return config.service.by_cluster.get(cluster.name, config.service.times)


class Times(BaseTrigger):  # type: ignore[misc]
    """``next_after`` as a trigger of APScheduler."""

    __slots__ = ("times", "zone")

    def __init__(self, times: str, zone: str) -> None:
        self.times, self.zone = times, zone

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """Return the next time after the previous one; without one, from ``now`` on."""
        after = now - timedelta(seconds=1) if previous_fire_time is None else previous_fire_time
        instant = next_after(self.times, self.zone, int(after.timestamp()))
        return datetime.fromtimestamp(instant, UTC)

    def __getstate__(self) -> tuple[str, str]:
        return self.times, self.zone

    def __setstate__(self, state: tuple[str, str]) -> None:
        self.times, self.zone = state


_at_work: dict[str, Callable[[str], None]] = {}
"""The functions that the jobs of each job store call; a job can only name a module's members."""


def begin(store: str, cluster: str) -> None:
    """Begin the run of a cluster; called by APScheduler."""
    _at_work[store](cluster)


def stored(path: Path) -> dict[str, int]:
    """Return when each cluster's run was due next (epoch s), by the job store at ``path``."""
    if not path.exists():
        return {}
    try:
        with closing(sqlite3.connect(path, timeout=10)) as con:
            rows = con.execute("SELECT id, next_run_time FROM apscheduler_jobs").fetchall()
    except sqlite3.Error:  # damaged, or of another version: the history is enough
        return {}
    return {name: int(instant) for name, instant in rows if instant is not None}


class Timetable:
    """Begins runs at their times, one at a time, in a separate thread, until it is stopped."""

    def __init__(self, path: Path, config: Config, do: Callable[[str], None]) -> None:
        """Prepare the timetable; ``do`` runs a cluster, by name."""
        self.ended = Event()
        self.error: BaseException | None = None
        """The error that ended it, if any."""
        self._begun = Event()
        self._path = path
        self._config = config
        self._scheduler = BlockingScheduler(
            jobstores={"default": SQLAlchemyJobStore(url=URL.create("sqlite", database=str(path)))},
            executors={"default": ThreadPoolExecutor(1)},
            # after an outage, one run replaces all that were missed, however late
            job_defaults={"coalesce": True, "misfire_grace_time": None, "max_instances": 1},
            timezone=UTC,
        )
        self._scheduler.add_listener(lambda _: self._begun.set(), EVENT_SCHEDULER_STARTED)
        self._thread = Thread(target=self._run, name="fairaudit-timetable")
        _at_work[str(path)] = do

    def start(self, due: Mapping[str, int | None], now: int) -> dict[str, int]:
        """Start it; return the time of each cluster's next run.

        ``due`` has instants for clusters that may have missed a run; others wait for their next.

        Raises ConfigError if a time cannot be read; StoreError if the job store cannot be written.
        """
        coming = {}
        try:
            with closing(sqlite3.connect(self._path, timeout=10)) as con:
                con.execute("DROP TABLE IF EXISTS apscheduler_jobs")
                con.commit()
        except sqlite3.Error as error:
            raise history.failed(self._path, error, "the timetable") from error
        for cluster in self._config.clusters:
            times, name = times_of(self._config, cluster), cluster.name
            coming[name] = due.get(name) or next_after(times, cluster.zone, now)
            self._scheduler.add_job(
                "audit.nightly.timetable:begin",
                Times(times, cluster.zone),
                args=(str(self._path), name),
                id=name,
                name=name,
                next_run_time=datetime.fromtimestamp(coming[name], UTC),
            )
        self._thread.start()
        self._begun.wait()  # a scheduler cannot be stopped before
        return coming

    def stop(self) -> None:
        """Begin no more runs, and wait for the current one."""
        if self._thread.is_alive() and not self.ended.is_set():
            self._scheduler.shutdown(wait=True)
        self._thread.join()
        _at_work.pop(str(self._path), None)

    def _run(self) -> None:
        try:
            self._scheduler.start()
        except BaseException as error:
            self.error = error
        finally:
            self.ended.set()
            self._begun.set()
