"""When runs are due. The only module that uses APScheduler."""

from datetime import UTC, datetime, timedelta
from typing import Final

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
    times = config.service.by_cluster.get(cluster.name, config.service.times)
    return next_after(times, cluster.zone, after)
