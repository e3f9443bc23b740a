"""A pool at one instant after another: what ran and waited, and when the model starts the queue.

Source: SPEC §13, *At submission*.
"""

import math
from datetime import datetime
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from audit.array_types import Bools, Floats, Ints
from audit.kernels.elementary import log, log1p
from audit.kernels.scheduling import simulation as kernels
from audit.kernels.scheduling.model import Model
from audit.scenario import engine
from audit.scenario.predict.known import QueuedAttempts
from audit.scenario.predict.latest import Baselines, Latest, means
from audit.scenario.workload import NEVER, largest_snapshot

RECENT: Final = 20
"""Number of a user's last ended attempts whose accuracies are averaged."""
SLACK_S: Final = 60
"""Shortest expected rest of a running attempt, and what is added to waits in logarithms, s."""
PATIENCE: Final = 1.5  # an attempt past its expected duration runs this many times its age
WEIGHT: Final = 0.4  # of each measured feature in distances
ALL: Final = -1  # simulate until every queued attempt has started
UNKNOWN_S: Final = 3600.0  # expected duration if nothing has ended yet


class QueueState(NamedTuple):
    """The running and queued attempts of a pool at an instant."""

    now: int
    running: Ints
    planned: Ints  # when planners expect each of these to end,
    ends: Ints  # and when it is expected to end
    in_use: Ints  # of each resource
    queue: Ints  # in the order of arrival


class QueueSweep:
    """A pool, from its first attempt on; ``to`` goes on to a later instant."""

    def __init__(self, known: QueuedAttempts, zone: str, together: int = 1) -> None:
        """Prepare the simulations.

        Args:
            zone: of the cluster.
            together: largest number of attempts that ``joined`` adds to a scene.
        """
        self.known, self._zone = known, ZoneInfo(zone)
        work = known.work
        nobody: Bools = np.zeros(len(work.arrival), np.bool_)
        self._setting = engine.setting(work, known.pool.policy, work.queued, taken=nobody)
        everyone: Ints = np.full(len(work.arrival), NEVER)
        crowd = largest_snapshot(work._replace(start=known.leaves, end=known.gone), ~nobody)
        self._begun = everyone
        # attempts of one second are in no snapshot that FSTs need, but are in those of predictions
        space = min(len(everyone), crowd + _most_in_a_second(work.arrival, known.gone) + together)
        (self._pool,) = self._setting.pools((space,), begun=self._begun)
        self._steps = -1
        self._active: Ints = np.zeros(0, np.int64)
        self._arrived = 0
        self._past = _Past(known)
        self.baselines = Baselines(known)
        self._walltime = known.walltime.copy()
        self._request: Ints = work.request.reshape(len(work.arrival), len(work.capacity))
        self._shape, self._first_shape = _shapes(known)

    def to(self, now: int, arrived: int) -> QueueState:
        """Return the pool at ``now``, when the first ``arrived`` attempts had arrived."""
        known, work = self.known, self.known.work
        self.baselines.to(now)
        self._past.to(now)
        new = np.arange(self._arrived, arrived)
        self._suppose(new)
        active = np.concatenate((self._active, new))
        self._arrived = arrived
        self._active = active = active[known.gone[active] >= now]
        start = work.start[active]
        waits = (start >= now) & known.queues[active]
        running = active[start < now]
        in_use: Ints = self._request[running].sum(0)
        return QueueState(now, running, *self._ends(now, running), in_use, active[waits])

    def _ends(self, now: int, running: Ints) -> tuple[Ints, Ints]:
        """Return when planners expect attempts that run to end, and when they are expected to."""
        start, limit, expected = (
            self.known.work.start[running],
            self._walltime[running],
            self.expected(running),
        )
        elapsed = now - start
        late = np.minimum(limit, (PATIENCE * elapsed).astype(np.int64) + SLACK_S)
        within, over = elapsed < limit, elapsed + SLACK_S
        lasts = np.where(within, np.where(elapsed < expected, expected, late), over)
        return start + np.where(within, limit, over), start + lasts

    def joined(self, scene: QueueState, jobs: Ints) -> QueueState:
        """Return a scene with attempts that arrive next, as if they waited already."""
        self._suppose(jobs)
        return scene._replace(queue=np.concatenate((scene.queue, jobs)))

    def _suppose(self, jobs: Ints) -> None:
        """Give attempts without a walltime the usual length of their user's."""
        unknown = jobs[self._walltime[jobs] == NEVER]
        if len(unknown):
            usual = np.rint(self._past.usual_lengths(self.known.user[unknown]))
            self._walltime[unknown] = np.maximum(usual, 1)

    def expected(self, jobs: Ints) -> Ints:
        """Return the durations expected of attempts, from 1 s to their walltimes."""
        accuracy = self._past.accuracies(self.known.user[jobs])
        accuracy = np.where(self.known.walltime[jobs] == NEVER, 1.0, accuracy)
        walltime = self._walltime[jobs]
        return np.clip((walltime * accuracy).astype(np.int64), 1, np.maximum(walltime, 1))

    def model_waits(self, scene: QueueState, target: int = ALL) -> tuple[Ints, Ints]:
        """Return the modelled waits from now on of the queue, or of its attempt ``target``.

        Returns:
            The waits with the expected durations, and with the requested walltimes, s; NEVER: it
            does not start.
        """
        work = self.known.work
        walltime = self._walltime[scene.queue]
        work.estimate[scene.running] = scene.planned - work.start[scene.running]
        work.estimate[scene.queue] = np.maximum(walltime, 1)
        return (
            self._simulate(scene, scene.ends, self.expected(scene.queue), target),
            self._simulate(scene, scene.planned, walltime, target),
        )

    def _simulate(self, scene: QueueState, ends: Ints, lasts: Ints, target: int) -> Ints:
        """Return waits, where running attempts end and queued ones last as given."""
        now, running, queue, work = scene.now, scene.running, scene.queue, self.known.work
        work.occupancy[running], work.occupancy[queue] = ends - work.start[running], lasts
        capacity = self._at(now)
        kernels.start_queue(
            self._model, capacity, now, running, scene.planned, ends, queue, target, self._pool
        )
        begun = self._begun[queue if target == ALL else [target]]
        return np.where(begun == NEVER, NEVER, begun - now)

    def _at(self, now: int) -> Ints:
        """Return the capacity at an instant, and let simulations see the planned steps after it."""
        work = self.known.work
        taken = int(np.searchsorted(work.step_time, now, side="right"))
        if taken != self._steps:
            later = work.step_planned.copy()
            later[:taken] = False
            seen = work._replace(
                step_time=work.step_time[later],
                step_change=work.step_change[later],
                step_planned=work.step_planned[later],
            )
            steps = engine.kernel_steps(seen, np.zeros(len(work.arrival), np.bool_))
            of = self._setting
            self._model = Model(of.jobs, steps, of.rules, of.ranking.owners)
            changes = work.step_change.reshape(len(work.step_time), len(work.capacity))
            self._capacity = np.ascontiguousarray(work.capacity + changes[:taken].sum(0))
            self._steps = taken
        return self._capacity

    def features(
        self, scene: QueueState, jobs: Ints, waits: tuple[Ints, Ints], ages: bool
    ) -> tuple[Floats, Ints]:
        """Return the features of attempts of the queue: measured ones, and labels.

        Args:
            waits: their modelled waits.
            ages: whether the time that they have waited is a feature.
        """
        known, now = self.known, scene.now
        user = known.user[jobs]
        own = np.bincount(known.user[scene.queue], minlength=known.users)[user] - 1
        local = datetime.fromtimestamp(now, self._zone)
        angle = (local.hour + local.minute / 60) * math.pi / 12
        alike = np.maximum(self.baselines.alike(jobs), 0)
        capacity = self._at(now)
        columns = (
            *(log(wait + SLACK_S) for wait in waits),
            log(np.maximum(self._walltime[jobs], 1)),
            log(np.maximum(known.size[jobs], 1)),
            math.log(len(scene.queue)),
            log1p(own),
            log(self._past.last_waits(user) + SLACK_S),
            log(alike + float(SLACK_S)),
            2 * log1p(self._alike_ahead(scene, jobs)),
            8 * scene.in_use[0] / max(capacity[0], 1),
            math.cos(angle),
            math.sin(angle),
            float(local.weekday() >= 5),
            *([log(now - known.work.arrival[jobs] + SLACK_S)] if ages else []),
        )
        measured = np.empty((len(jobs), len(columns)))
        for number, column in enumerate(columns):
            measured[:, number] = column
        fits = self._fits(capacity - scene.in_use, jobs)
        return WEIGHT * measured, np.stack((fits, user, known.partition[jobs]), 1)

    def _alike_ahead(self, scene: QueueState, jobs: Ints) -> Ints:
        """Return how many others of the queue have the partition, and at most the size, of each."""
        queued = np.sort(self._shape[scene.queue])
        beyond = queued.searchsorted(self._shape[jobs], side="right")
        return beyond - queued.searchsorted(self._first_shape[jobs]) - 1

    def _fits(self, free: Ints, jobs: Ints) -> Ints:
        """Return 1 where an attempt fits in the free capacity, else 0."""
        wanted = self._request[jobs]
        fits: Bools = ((wanted <= free) | (wanted == 0)).all(1)
        return fits.astype(np.int64)


class _Past:
    """Facts from users' attempts that started and ended; ``to`` goes on to a later instant."""

    def __init__(self, known: QueuedAttempts) -> None:
        """Begin with nothing."""
        work = known.work
        begun = np.flatnonzero(work.has_started & known.subject)
        begun = begun[np.argsort(work.start[begun], kind="stable")]
        self._starts = work.start[begun]
        wait = (work.start - work.arrival)[begun]
        self._waits = Latest(known.user[begun], wait, known.users, np.int64(0))
        ended = np.flatnonzero(work.has_started & (known.gone != NEVER))
        ended = ended[np.argsort(known.gone[ended], kind="stable")]
        lasted = (known.gone - work.start)[ended]
        self._gone, self._lasted = known.gone[ended], lasted.cumsum()
        self._lengths = _of_users(known, ended, lasted.astype(np.float64))
        limit = known.walltime[ended]
        limited = (limit != NEVER) & (limit > 0)
        accuracy = np.minimum(known.runtime[ended][limited] / limit[limited], 1.0)
        self._limited, self._accurate = limited.cumsum(), accuracy.cumsum()
        self._accuracies = _of_users(known, ended[limited], accuracy)
        self._ended = self._accounted = 0

    def to(self, now: int) -> None:
        """Take in what started and ended before ``now``."""
        self._waits.to(int(self._starts.searchsorted(now)))
        self._ended = int(self._gone.searchsorted(now))
        self._lengths.to(self._ended)
        self._accounted = int(self._limited[self._ended - 1]) if self._ended else 0
        self._accuracies.to(self._accounted)

    def last_waits(self, users: Ints) -> Ints:
        """Return the last known wait of each user, s; 0 if it is not known."""
        return self._waits.value[users]

    def accuracies(self, users: Ints) -> Floats:
        """Return the part of their walltimes that attempts of users run, in [0, 1]."""
        known = self._accuracies.value[users]
        count = self._accounted
        return np.where(np.isnan(known), self._accurate[count - 1] / count if count else 1.0, known)

    def usual_lengths(self, users: Ints) -> Floats:
        """Return the expected duration of attempts of users without a walltime, s."""
        known = self._lengths.value[users]
        count = self._ended
        general = self._lasted[count - 1] / count if count else UNKNOWN_S
        return np.where(np.isnan(known), general, known)


def _of_users(known: QueuedAttempts, ended: Ints, value: Floats) -> Latest[np.float64]:
    """Return the means of users' last values, of attempts in the order of their ends."""
    user = known.user[ended]
    return Latest(user, means(user, value, RECENT), known.users, np.float64(np.nan))


def _shapes(known: QueuedAttempts) -> tuple[Ints, Ints]:
    """Return the rank of each attempt by partition and size, and the first of its partition."""
    order = np.lexsort((known.size, known.partition))
    partition, size = known.partition[order], known.size[order]
    other = np.concatenate(([False], partition[1:] != partition[:-1]))
    changed = other | np.concatenate(([False], size[1:] != size[:-1]))
    rank, first = np.zeros((2, len(order)), np.int64)
    rank[order] = ranks = changed.cumsum()
    first[order] = np.maximum.accumulate(np.where(other, ranks, 0))
    return rank, first


def _most_in_a_second(arrival: Ints, gone: Ints) -> int:
    """Return the largest number of attempts that arrive, and of those that leave, in one second."""
    most = 0
    for times in (arrival, gone[gone != NEVER]):
        most += int(np.unique(times, return_counts=True)[1].max(initial=0))
    return most
