"""When runs are due, and a scheduler that begins them. The only module that uses APScheduler.

APScheduler's jobs live in memory and are made from the configuration at each start. The history of
runs decides what was missed.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import Final

from apscheduler.events import EVENT_SCHEDULER_STARTED
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.blocking import BlockingScheduler
from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.cron import CronTrigger

from audit import periods
from audit.config import Cluster, Config
from audit.errors import ConfigError

_REACH: Final = timedelta(hours=3)  # no clock change is longer, except across the date line


def next_after(times: str, zone: str, after: int) -> int:
    """Return the first instant after ``after`` at which a clock in ``zone`` shows one of ``times``.

    Each local time counts once: a skipped time is shifted by the length of the skip, and the first
    instance of a repeated time counts.

    Args:
        times: minute, hour, day, month and day of the week; as in crontab, one of day and day of
            the week must match if neither begins with an asterisk.
        after: epoch s.

    Raises ConfigError if ``times`` cannot be read, or never occur.
    """
    minute, hour, day, month, weekday = times.split()
    if not day.startswith("*") and not weekday.startswith("*"):
        either = (f"{minute} {hour} {day} {month} *", f"{minute} {hour} * {month} {weekday}")
        return min(next_after(one, zone, after) for one in either)
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


def next_run(config: Config, cluster: Cluster, after: int) -> int:
    """Return when a cluster's first run after an instant is due, epoch s."""
    return next_after(times_of(config, cluster), cluster.zone, after)


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


class Timetable:
    """Begins runs at their times, one at a time, in a separate thread, until it is stopped."""

    def __init__(self, config: Config, do: Callable[[str], None]) -> None:
        """Prepare the timetable; ``do`` runs a cluster, by name."""
        self.ended = Event()
        self.error: BaseException | None = None
        """The error that ended it, if any."""
        self._begun = Event()
        self._config, self._do = config, do
        self._scheduler = BlockingScheduler(
            executors={"default": ThreadPoolExecutor(1)},
            # after an outage, one run replaces all that were missed, however late
            job_defaults={"coalesce": True, "misfire_grace_time": None, "max_instances": 1},
            timezone=UTC,
        )
        self._scheduler.add_listener(lambda _: self._begun.set(), EVENT_SCHEDULER_STARTED)
        self._thread = Thread(target=self._run, name="fairaudit-timetable")

    def start(self, coming: Mapping[str, int]) -> None:
        """Start it; ``coming`` has the instant of each cluster's next run, epoch s.

        Raises ConfigError if a time cannot be read.
        """
        for cluster in self._config.clusters:
            self._scheduler.add_job(
                self._do,
                Times(times_of(self._config, cluster), cluster.zone),
                args=(cluster.name,),
                id=cluster.name,
                name=cluster.name,
                next_run_time=datetime.fromtimestamp(coming[cluster.name], UTC),
            )
        self._thread.start()
        self._begun.wait()  # a scheduler cannot be stopped before

    def plan(self, coming: Mapping[str, int]) -> None:
        """Set the instants of the next runs anew."""
        for cluster, instant in coming.items():
            at = datetime.fromtimestamp(instant, UTC)
            self._scheduler.modify_job(cluster, next_run_time=at)

    def stop(self) -> None:
        """Begin no more runs, and wait for the current one."""
        if self._thread.is_alive() and not self.ended.is_set():
            self._scheduler.shutdown(wait=True)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._scheduler.start()
        except BaseException as error:
            self.error = error
        finally:
            self.ended.set()
            self._begun.set()
