"""A pool at one instant after another: what ran and waited, and when the model starts the queue.

Source: SPEC §13, *At submission*.
"""

import math
from collections import deque
from datetime import datetime
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from audit.array_types import Bools, Floats, Ints
from audit.kernels.scheduling import simulation as kernels
from audit.kernels.scheduling.model import Model
from audit.scenario import engine
from audit.scenario.predict.baselines import Baselines, median
from audit.scenario.predict.known import QueuedAttempts
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
    queue: Ints  # in the order of arrival


class Sweep:
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
        ended = np.flatnonzero(work.has_started & (known.gone != NEVER))
        self._ends = ended[np.argsort(known.gone[ended], kind="stable")]
        begun = np.flatnonzero(work.has_started & known.subject)
        self._starts = begun[np.argsort(work.start[begun], kind="stable")]
        self._ended = self._started = 0
        self._accuracies = [deque[float](maxlen=RECENT) for _ in range(known.users)]
        self._lengths = [deque[float](maxlen=RECENT) for _ in range(known.users)]
        self._accuracy: Floats = np.ones(known.users)
        self._heard: Bools = np.zeros(known.users, np.bool_)
        self._totals = [0.0, 0, 0.0, 0]  # sums and numbers of accuracies and of lengths
        self.last_wait: Floats = np.zeros(known.users)
        self.baselines = Baselines(known)
        self._walltime = known.walltime.copy()
        self._request: Ints = work.request.reshape(len(work.arrival), len(work.capacity))

    def to(self, now: int, arrived: int) -> QueueState:
        """Return the pool at ``now``, when the first ``arrived`` attempts had arrived."""
        known, work = self.known, self.known.work
        self._learn(now)
        new = np.arange(self._arrived, arrived)
        self._suppose(new)
        active = np.concatenate((self._active, new))
        self._arrived = max(self._arrived, arrived)
        self._active = active = active[known.gone[active] >= now]
        start = work.start[active]
        waits = (start >= now) & known.queues[active] & (known.leaves[active] >= now)
        return QueueState(now, active[start < now], active[waits])

    def joined(self, scene: QueueState, jobs: Ints) -> QueueState:
        """Return a scene with attempts that arrive next, as if they waited already."""
        self._suppose(jobs)
        return scene._replace(queue=np.concatenate((scene.queue, jobs)))

    def _suppose(self, jobs: Ints) -> None:
        """Give attempts without a walltime the usual length of their user's."""
        for job in jobs[self._walltime[jobs] == NEVER].tolist():
            usual = self._usual_length(int(self.known.user[job]))
            self._walltime[job] = max(1, round(usual))

    def _learn(self, now: int) -> None:
        """Take in what started and ended before ``now``."""
        known, work = self.known, self.known.work
        self.baselines.to(now)
        while self._started < len(self._starts):
            job = self._starts[self._started]
            if work.start[job] >= now:
                break
            self.last_wait[known.user[job]] = work.start[job] - work.arrival[job]
            self._started += 1
        while self._ended < len(self._ends):
            job = self._ends[self._ended]
            if known.gone[job] >= now:
                break
            self._hear(int(known.user[job]), int(known.gone[job] - work.start[job]), job)
            self._ended += 1

    def _hear(self, user: int, lasted: int, job: int) -> None:
        """Take in how long an attempt of a user ran."""
        totals = self._totals
        self._lengths[user].append(lasted)
        totals[2] += lasted
        totals[3] += 1
        walltime = self.known.walltime[job]
        if walltime == NEVER or walltime <= 0:
            return
        accuracy = min(1.0, lasted / int(walltime))
        recent = self._accuracies[user]
        recent.append(accuracy)
        totals[0] += accuracy
        totals[1] += 1
        self._accuracy[user] = sum(recent) / len(recent)
        self._heard[user] = True

    def _usual_length(self, user: int) -> float:
        """Return the expected duration of an attempt without a walltime, s."""
        recent = self._lengths[user]
        if recent:
            return sum(recent) / len(recent)
        return self._totals[2] / self._totals[3] if self._totals[3] else UNKNOWN_S

    def expected(self, jobs: Ints) -> Ints:
        """Return the durations expected of attempts, from 1 s to their walltimes."""
        users = self.known.user[jobs]
        general = self._totals[0] / self._totals[1] if self._totals[1] else 1.0
        accuracy = np.where(self._heard[users], self._accuracy[users], general)
        accuracy = np.where(self.known.walltime[jobs] == NEVER, 1.0, accuracy)
        walltime = self._walltime[jobs]
        return np.clip((walltime * accuracy).astype(np.int64), 1, np.maximum(walltime, 1))

    def model_waits(self, scene: QueueState, target: int = ALL) -> tuple[Ints, Ints]:
        """Return the modelled waits from now on of the queue, or of its attempt ``target``.

        Returns:
            The waits with the expected durations, and with the requested walltimes, s; NEVER: it
            does not start.
        """
        now, running, queue = scene
        elapsed = now - self.known.work.start[running]
        limits = (self._walltime[running], self._walltime[queue])
        expected = (self.expected(running), self.expected(queue))
        late = np.minimum(limits[0], (PATIENCE * elapsed).astype(np.int64) + SLACK_S)
        over = elapsed + SLACK_S
        planned = np.where(elapsed < limits[0], limits[0], over)
        within = np.where(elapsed < expected[0], expected[0], late)
        lasts = np.where(elapsed < limits[0], within, over)
        plan = (planned, limits[1])
        return (
            self._simulate(scene, plan, (lasts, expected[1]), target),
            self._simulate(scene, plan, plan, target),
        )

    def _simulate(
        self, scene: QueueState, planned: tuple[Ints, Ints], lasts: tuple[Ints, Ints], target: int
    ) -> Ints:
        """Return waits; durations are those of running and of queued attempts."""
        now, running, queue = scene
        work = self.known.work
        for jobs, plan, real in zip((running, queue), planned, lasts, strict=True):
            work.estimate[jobs], work.occupancy[jobs] = np.maximum(plan, 1), real
        start = work.start[running]
        capacity = self._at(now)
        ends = (start + planned[0], start + lasts[0])
        kernels.start_queue(
            *(self._model, capacity, now, running, *ends, queue, target, self._pool)
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
        count = len(jobs)
        alike = [median(self.baselines.alike(job)) or 0 for job in jobs.tolist()]
        in_use, capacity = self._in_use(scene), self._at(now)
        columns = [
            *(np.log(wait + SLACK_S) for wait in waits),
            np.log(np.maximum(self._walltime[jobs], 1)),
            np.log(np.maximum(known.size[jobs], 1)),
            np.full(count, math.log(len(scene.queue))),
            np.log1p(own),
            np.log(self.last_wait[user] + SLACK_S),
            np.log(np.array(alike, np.float64) + SLACK_S),
            2 * np.log1p(self._alike_ahead(scene, jobs)),
            np.full(count, 8 * in_use[0] / max(capacity[0], 1)),
            np.full(count, math.cos(angle)),
            np.full(count, math.sin(angle)),
            np.full(count, float(local.weekday() >= 5)),
        ]
        if ages:
            columns.append(np.log(now - known.work.arrival[jobs] + SLACK_S))
        fits = self._fits(capacity - in_use, jobs)
        labels = np.stack((fits, user, known.partition[jobs]), 1)
        return WEIGHT * np.stack(columns, 1), labels

    def _in_use(self, scene: QueueState) -> Ints:
        """Return how much of each resource is in use."""
        found: Ints = self._request[scene.running].sum(0)
        return found

    def _alike_ahead(self, scene: QueueState, jobs: Ints) -> Ints:
        """Return how many others of the queue have the partition, and at most the size, of each."""
        known, queue = self.known, scene.queue
        others: Ints = np.full(len(jobs), -1)
        for partition in np.unique(known.partition[jobs]).tolist():
            sizes = np.sort(known.size[queue[known.partition[queue] == partition]])
            mine = known.partition[jobs] == partition
            others[mine] += np.searchsorted(sizes, known.size[jobs[mine]], side="right")
        return others

    def _fits(self, free: Ints, jobs: Ints) -> Ints:
        """Return 1 where an attempt fits in the free capacity, else 0."""
        wanted = self._request[jobs]
        fits: Bools = ((wanted <= free) | (wanted == 0)).all(1)
        return fits.astype(np.int64)


def _most_in_a_second(arrival: Ints, gone: Ints) -> int:
    """Return the largest number of attempts that arrive, and of those that leave, in one second."""
    most = 0
    for times in (arrival, gone[gone != NEVER]):
        most += int(np.unique(times, return_counts=True)[1].max(initial=0))
    return most
