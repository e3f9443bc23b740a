"""The observed attempts of a pool, as the search for windows takes them."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from audit.array_types import Bools, Ints
from audit.metrics.closed_hours import DAY_S
from audit.model import Pool, Standing
from audit.scenario.limits import WEEK_S
from audit.scenario.ownership import unowned
from audit.scenario.scenario import Scenario
from audit.scenario.workload import NEVER, Workload, distinct, limited, of_limits, without_rules

UNKNOWN: Final = -1
MOST_BITS: Final = 64
"""Those of a signed number."""
_MARGIN: Final = 60
"""Most days between a span and the hours that close next."""


@dataclass(frozen=True)
class Observed:
    """The attempts of a pool, in the order of their workload."""

    scenario: Scenario
    rows: Ints  # [n], in the frame of the scenario
    work: Workload
    """Without limits, windows and owners."""
    judged: Bools
    """[n]: the attempt has ended, was queued, and nothing but the queue held it."""
    _numbers: dict[str, Ints] = field(default_factory=dict, init=False, compare=False)

    def under(self, pool: Pool) -> Workload:
        """Return the workload under the limits and windows of a pool."""
        attempts = of_limits(self.scenario.attempts, self.rows)
        return limited(self.work, attempts, pool, self.scenario.now)

    def column(self, name: str) -> pl.Series:
        """Return a column of the frame, a row per attempt."""
        return self.scenario.attempts[name].gather(self.rows)

    def numbered(self, name: str) -> Ints:
        """Return the number of each attempt's user, partition or QOS, [n]; else ``UNKNOWN``."""
        if name not in self._numbers:
            codes = self.column(name).rank("dense").cast(int) - 1
            self._numbers[name] = codes.fill_null(UNKNOWN).to_numpy().astype(np.int64)
        return self._numbers[name]

    @cached_property
    def started(self) -> Ints:
        """The judged attempts."""
        return np.flatnonzero(self.judged)

    @cached_property
    def numbering(self) -> tuple[int, int]:
        """The number of users and unknown ones, and the bits of the number of an attempt."""
        user = self.numbered("user")
        return int(user.max(initial=0)) + 2, len(user).bit_length()

    @property
    def numbers_fit(self) -> bool:
        """Whether a number identifies the day, user and attempt of each start."""
        users, bits = self.numbering
        days = max(abs(self.first), abs(self.last)) // DAY_S + _MARGIN
        return (2 * users * (days + 1)).bit_length() + bits < MOST_BITS

    @cached_property
    def size(self) -> Ints:
        """[n], of the counted resource."""
        requests: Ints = self.work.request.reshape(len(self.judged), -1)[:, 0]
        return requests

    @property
    def wait(self) -> Ints:
        """[n], s; 0 for attempts that are not judged."""
        waits: Ints = np.where(self.judged, self.work.start - self.work.arrival, 0)
        return waits

    @cached_property
    def first(self) -> int:
        """The first arrival, epoch s."""
        return int(self.work.arrival.min(initial=NEVER))

    @cached_property
    def last_arrival(self) -> int:
        """The last arrival, epoch s."""
        return int(self.work.arrival.max(initial=self.first))

    @cached_property
    def last(self) -> int:
        """The last end of judged attempts, epoch s."""
        return int(self.work.end[self.judged].max(initial=self.first))

    @cached_property
    def depth(self) -> int:
        """Σ over the instants of the schedule of the number of attempts that then wait."""
        work, started = self.work, self.work.has_started
        times = (work.arrival, work.start[started], work.end[started], work.step_time)
        instants = distinct(np.concatenate(times))
        waits = work.queued & started
        begin, end = np.searchsorted(instants, (work.arrival[waits], work.start[waits]))
        return int((end - begin).sum())

    @cached_property
    def reach(self) -> Ints:
        """The walltime of each attempt, else its occupancy, [n]; from 1 s to a week."""
        asked = self.column("walltime_s").fill_null(pl.Series(self.work.occupancy))
        reach: Ints = np.clip(asked.to_numpy().astype(np.int64), 1, WEEK_S)
        return reach


def observe(scenario: Scenario) -> Observed:
    """Return the observed attempts of a pool with its rules; its policy does not matter."""
    described, pool = scenario.attempts, scenario.pool
    work, rows = scenario.indexed
    queued = work.queued
    if pool.limits or pool.windows:
        work = without_rules(work, of_limits(described, rows), pool, scenario.now)
    ended = (described["standing"] == Standing.ENDED).gather(rows).to_numpy()
    work = work._replace(owners=unowned(0))
    return Observed(scenario, rows, work, ended & queued & work.has_started)
