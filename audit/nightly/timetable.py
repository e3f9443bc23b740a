"""When runs are due, and a scheduler that begins them. The only home of APScheduler.

Its jobs are named by text alone (a function's path, a cluster's name), and are made anew from the
configuration at each start: a change of either needs no look into what an older version stored. All
that outlives a start is when each was due next.
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

_REACH: Final = timedelta(hours=3)
"""No change of clocks is longer, but for those across the date line."""


def next_after(times: str, zone: str, after: int) -> int:
    """The first instant after ``after`` at which a clock in ``zone`` shows one of ``times``.

    Each time on the clock's face comes once. One that clocks leap over comes later by the leap; of
    one that they show twice the first counts.

    Args:
        times: minute, hour, day, month and day of the week.
        after: epoch s.

    Raises:
        ConfigError: ``times`` cannot be read, or never come.
    """
    place = periods.zone(zone)
    try:
        # The face of a clock that never changes: UTC's, read as if it were the zone's.
        face = CronTrigger.from_crontab(times, timezone=UTC)
        begin = datetime.fromtimestamp(after, place).replace(tzinfo=UTC, fold=0) - _REACH
        best: int | None = None
        shown = face.get_next_fire_time(None, begin)
        while shown is not None:
            instant = int(shown.replace(tzinfo=place).timestamp())
            if instant > after and (best is None or instant < best):
                best = instant
            # the face at ``best``: all that is shown later also comes later
            if best is not None and shown >= datetime.fromtimestamp(best, place).replace(
                tzinfo=UTC
            ):
                return best
            shown = face.get_next_fire_time(None, shown + timedelta(seconds=1))
    except ValueError as error:
        raise ConfigError(f"service.times: {times!r}: {error}") from error
    if best is None:
        raise ConfigError(f"service.times: {times!r} never comes")
    return best


def times_of(config: Config, cluster: Cluster) -> str:
    """When a cluster's runs are due, as five fields."""
    return config.service.by_cluster.get(cluster.name, config.service.times)


class Times(BaseTrigger):  # type: ignore[misc]
    """``next_after`` as APScheduler asks for it."""

    __slots__ = ("times", "zone")

    def __init__(self, times: str, zone: str) -> None:
        self.times = times
        self.zone = zone

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """The next time after the previous one; without one, from ``now`` on."""
        after = (
            now.timestamp() - 1 if previous_fire_time is None else previous_fire_time.timestamp()
        )
        return datetime.fromtimestamp(next_after(self.times, self.zone, int(after)), UTC)

    def __getstate__(self) -> tuple[str, str]:
        return self.times, self.zone

    def __setstate__(self, state: tuple[str, str]) -> None:
        self.times, self.zone = state


_at_work: dict[str, Callable[[str], None]] = {}
"""What the jobs of each job store call; a job can name only what a module holds."""


def begin(store: str, cluster: str) -> None:
    """What APScheduler calls: begins the run of a cluster."""
    _at_work[store](cluster)


def stored(path: Path) -> dict[str, int]:
    """When each cluster's run was due next, as the job store at ``path`` last knew."""
    if not path.exists():
        return {}
    try:
        with closing(sqlite3.connect(path, timeout=10)) as con:
            rows = con.execute("SELECT id, next_run_time FROM apscheduler_jobs").fetchall()
    except sqlite3.Error:  # of another make, or damaged: the history says enough
        return {}
    return {name: int(instant) for name, instant in rows if instant is not None}


class Timetable:
    """Begins runs at their times, one at a time, in a thread of its own, until it is stopped."""

    def __init__(self, path: Path, config: Config, do: Callable[[str], None]) -> None:
        """Draws it up.

        Args:
            config: whose clusters, and when.
            do: does the run of a cluster, by name.

        Raises:
            ConfigError: a time cannot be read.
        """
        self.ended = Event()
        """Set when it is at its end."""
        self.error: BaseException | None = None
        """What it died of."""
        self._begun = Event()
        self._path = path
        self._config = config
        self._scheduler = BlockingScheduler(
            jobstores={"default": SQLAlchemyJobStore(url=URL.create("sqlite", database=str(path)))},
            executors={"default": ThreadPoolExecutor(1)},
            # after an outage one run, however late, for however many were missed
            job_defaults={"coalesce": True, "misfire_grace_time": None, "max_instances": 1},
            timezone=UTC,
        )
        self._scheduler.add_listener(lambda _: self._begun.set(), EVENT_SCHEDULER_STARTED)
        self._thread = Thread(target=self._run, name="fairaudit-timetable")
        _at_work[str(path)] = do

    def start(self, due: Mapping[str, int], now: int) -> dict[str, int]:
        """Starts it; gives when each cluster's run comes next.

        Args:
            due: when, for clusters that may have missed one; the others' are those after ``now``.

        Raises:
            StoreError: the job store cannot be written.
        """
        coming = {}
        try:
            with closing(sqlite3.connect(self._path, timeout=10)) as con:
                con.execute("DROP TABLE IF EXISTS apscheduler_jobs")
                con.commit()
        except sqlite3.Error as error:
            raise history.failed(self._path, "the timetable", error) from error
        for cluster in self._config.clusters:
            times = times_of(self._config, cluster)
            instant = due.get(cluster.name) or next_after(times, cluster.zone, now)
            coming[cluster.name] = instant
            self._scheduler.add_job(
                "audit.nightly.timetable:begin",
                Times(times, cluster.zone),
                args=(str(self._path), cluster.name),
                id=cluster.name,
                name=cluster.name,
                next_run_time=datetime.fromtimestamp(instant, UTC),
            )
        self._thread.start()
        self._begun.wait()  # a scheduler cannot be stopped before
        return coming

    def stop(self) -> None:
        """Begins no more, and waits for the run that is under way."""
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
