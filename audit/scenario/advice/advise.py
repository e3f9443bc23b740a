"""Advice: small changes of a pool, each replayed, and judged against a replay of today.

Changes are compared with a replay of today's policy, never with the observed schedule. Both begin
with what ran and waited when the period began, and have its arrivals. Classes whose observed mean
wait today's replay misses by more than a quarter get neither advice nor a figure; where it misses
half of the waiting, nothing is advised. Nothing is replayed where the policy agrees with less than
``KNOWN`` of the observed starts (SPEC §11).

A budget of estimated CPU seconds (``scenario.budget``) bounds the changes tried, so that the same
log gives the same advice on every machine. Changes beyond it are listed. Each change is one that a
site could configure tomorrow and ``fairaudit whatif`` takes:

- *reservations* for more of the jobs that cannot start, or for any at all.
- *limits* and *windows* in force at the end of the log, lifted or relaxed to twice their bound, one
  by one: those that cause at least ``CAUSES`` of the waiting.
- *walltimes*: the users who request most unused time, or all, request at most twice the run time.
  The replay knows run times, which users do not: this is an upper bound of the gain.
- *a limit per user* on what runs at one time: half or a quarter of the pool for each user, or a
  quarter for the user with the largest burst. Wider attempts are exempt.
- *targets* by what accounts used, or all equal, under the order fairshare.
- *passes*: more of the queue examined, or more often.
- *placement*: jobs on the nodes with least or most free capacity, or on whole nodes, where at least
  ``CAUSES`` of the waiting passes while enough is free, but on no node.
- *sizes*: half the request per node with most waiting, where one resource causes ``CAUSES`` so. Run
  times stay, so it is an upper bound.

At most one change of each of these families is advised.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Floats, Ints
from audit.metrics.attempts import population, similar
from audit.metrics.attempts.fidelity import KNOWN
from audit.metrics.uncertainty import RESAMPLES
from audit.model import BY_USAGE, Period, Pool
from audit.scenario.advice import judging
from audit.scenario.advice.candidates import Candidate, candidates
from audit.scenario.advice.judging import ChangeVerdict, Comparable, Judgement, WaitDifference
from audit.scenario.budget import depths, replay_cost
from audit.scenario.engine import replayed_starts
from audit.scenario.scenario import Scenario
from audit.scenario.workload import NEVER
from audit.workers.executors import ONE_THREAD, Executor

MOST: Final = 3  # largest number of changes that are advised, each of another family
NAMED: Final = 3  # largest number of users whose gain is listed, and of those whose loss is
_DRAW: Final = 2.5e-8  # CPU seconds for each unit of each resample, all sums included

ADVICE: Final = pl.Schema(
    {
        **dict.fromkeys(("change", "title"), pl.String),
        "place": pl.Int64,
        **dict.fromkeys(("outcome", "dimension", "dimension_value"), pl.String),
        **dict.fromkeys(("observed_s", "today_s", "changed_s"), pl.Int64),
        **dict.fromkeys(("gain_s", "gain_lower_s", "gain_upper_s", "saved_s"), pl.Int64),
        **dict.fromkeys(("attempts", "users", "gaining_users", "losing_users"), pl.Int64),
        "never_start": pl.Int64,
    }
)  # one row for each change, in the order of ``candidates``

PARTS: Final = pl.Schema(
    {
        **dict.fromkeys(("change", "dimension", "dimension_value"), pl.String),
        **dict.fromkeys(("attempts", "users", "today_s", "changed_s"), pl.Int64),
        **dict.fromkeys(("difference_s", "lower_s", "upper_s"), pl.Int64),
        "outcome": pl.String,
    }
)  # one row for all attempts, each width and each walltime class, of each change tried; of advised
# ones also for the users who gain and lose most


class TriedChanges(NamedTuple):
    """The result of all changes tried."""

    changes: pl.DataFrame  # ``ADVICE``
    parts: pl.DataFrame  # ``PARTS``


NOTHING: Final = TriedChanges(pl.DataFrame(schema=ADVICE), pl.DataFrame(schema=PARTS))


class _Result(NamedTuple):
    """A change, and its effect."""

    candidate: Candidate
    judgement: Judgement
    verdict: ChangeVerdict | None = None
    """None: not tried, some jobs would never start, or today's replay misses the waits."""
    place: int | None = None
    swayed: tuple[WaitDifference, ...] | None = None
    """Users who gain or lose, of changes that are advised."""
    users: tuple[str | None, ...] = ()  # names of users, by their number
    never_start: int | None = None
    """Attempts that today's replay starts and the change never does; None: not tried."""


def advise(
    scenario: Scenario,
    period: Period,
    budget_s: float,
    seed: int,
    shares: Mapping[str, float] | None = None,
    executor: Executor = ONE_THREAD,
    *,
    agreement: float | None,
) -> TriedChanges:
    """Return which small changes of a pool help, by replays of a period.

    Args:
        scenario: all attempts of the pool as it is.
        period: its attempts are those that ended in it.
        budget_s: estimated CPU seconds; 0: nothing is tried.
        shares: share of all waiting that each rule causes; see ``candidates``.
        executor: replays the changes; the result does not depend on it.
        agreement: of the pool's policy, 0 to 1; None: not known. Below ``KNOWN``, none is replayed.

    Returns:
        A row for each change; without a budget, none.
    """
    if budget_s <= 0:
        return NOTHING
    today = scenario.but(attempts=_of_interest(scenario, period))
    found = candidates(today, shares)
    why = _unfit(scenario.attempts, period)
    if agreement is None or agreement < KNOWN:
        why = Judgement.not_agreeing
    if why is not None:
        results = [_Result(one, why) for one in found]
    else:
        tried, left_out = affordable(today, found, period, budget_s)
        results = _tried(today, tried, period, seed, executor) if tried else []
        results += [_Result(one, Judgement.not_tried) for one in left_out]
    return TriedChanges(
        pl.DataFrame([_row(one) for one in results], schema=ADVICE, orient="row"),
        pl.DataFrame([row for one in results for row in _parts(one)], schema=PARTS, orient="row"),
    )


_READ: Final = (
    *("standing", "user", "walltime_s", "width_class", "wait_s"),
    *("submit_time", "arrival_time", "start_time", "end_time"),
)
"""The columns of subjects: all others would be copied."""


def _unfit(attempts: pl.DataFrame, period: Period) -> Judgement | None:
    """Return why no change can be judged from the jobs of a period; None: one can be."""
    subjects = population.ended(population.in_period(attempts.select(_READ), period))
    stretch, _ = judging.stretches(subjects["arrival_time"].to_numpy())
    why = judging.too_few(_users(subjects), stretch)
    short = subjects["wait_s"].sum() < judging.WORTH_S * subjects.height
    return Judgement.short_waits if why is None and short else why


def _users(subjects: pl.DataFrame) -> Ints:
    """Return the number of each attempt's user, ≥ 0."""
    return subjects["user"].rank("dense").fill_null(0).to_numpy().astype(np.int64)


def _of_interest(scenario: Scenario, period: Period) -> pl.DataFrame:
    """Return the attempts that a replay of the period needs: all where earlier usage counts."""
    described = scenario.attempts
    if period.whole_log or scenario.pool.policy.order in BY_USAGE:
        return described
    over = (pl.col("end_time") <= period.from_time).fill_null(value=False)
    later = (pl.col("arrival_time") >= period.to_time).fill_null(value=False)
    return described.filter(~over & ~later)


def affordable(
    today: Scenario, found: Sequence[Candidate], period: Period, budget_s: float
) -> tuple[list[Candidate], list[Candidate]]:
    """Return the changes that the budget affords beside a replay of today, and the others."""
    work = today.indexed.work
    inside = work.arrival >= (work.arrival.min(initial=0) if period.whole_log else period.from_time)
    depth = depths(work)[inside]
    units = today.attempts["user"].n_unique() + len(np.unique(work.arrival // judging.DAY_S))

    def cost_of(pool: Pool) -> float:
        return replay_cost(depth, pool.policy, limited=bool(pool.limits or pool.preemption))

    left = budget_s - cost_of(today.pool)
    left -= _DRAW * units * judging.CHUNKS * RESAMPLES
    lists: tuple[list[Candidate], list[Candidate]] = ([], [])
    for one in found:
        cost = cost_of(one.after.pool)
        lists[cost > left].append(one)
        left -= cost * (cost <= left)
    return lists


def _tried(
    today: Scenario, tried: Sequence[Candidate], period: Period, seed: int, executor: Executor
) -> list[_Result]:
    """Replay and judge changes."""
    compared, users, after, never = _replayed(today, tried, period, executor)
    verdicts: dict[str, ChangeVerdict] = {}
    left = judging.too_few(compared.user, compared.stretch) or Judgement.unsupported
    if not judging.reproduces(compared):
        left = Judgement.not_reproduced
    elif after and left is Judgement.unsupported:
        differences = np.array([wait - compared.wait for wait in after.values()])
        verdicts = dict(zip(after, judging.judge(compared, differences, seed), strict=True))
    results = []
    for one in tried:
        verdict, none = verdicts.get(one.change), never[one.change]
        judgement = verdict.judgement if verdict else left
        judgement = Judgement.never_starts if none else judgement
        results.append(_Result(one, judgement, verdict, never_start=none))
    best = _best(results)
    return [
        one._replace(
            place=best.index(one.candidate.change) + 1,
            swayed=judging.swayed(compared, after[one.candidate.change] - compared.wait, seed),
            users=users,
        )
        if one.candidate.change in best
        else one
        for one in results
    ]


def _best(results: Sequence[_Result]) -> list[str]:
    """Return the advised changes: of each family the one that saves most, in that order."""
    supported = [
        (-one.verdict.saved, one.candidate)
        for one in results
        if one.verdict is not None and one.judgement is Judgement.supported
    ]
    best: dict[str, str] = {}
    for _, candidate in sorted(supported, key=lambda pair: pair[0]):
        best.setdefault(candidate.family, candidate.change)
    return list(best.values())[:MOST]


def _replayed(
    today: Scenario, tried: Sequence[Candidate], period: Period, executor: Executor
) -> tuple[Comparable, tuple[str | None, ...], dict[str, Floats], dict[str, int]]:
    """Return the attempts that today's replay starts, their users by number, and new waits.

    Changes under which some of them never start have no waits, but the number of those attempts.
    """
    begun = replayed_starts(today, period)
    numbered = today.attempts.select(_READ).with_row_index("_row")
    numbered = numbered.filter(pl.Series(begun != NEVER))
    subjects = population.ended(population.in_period(numbered, period))
    rows = subjects["_row"].to_numpy()
    arrival = subjects["arrival_time"].to_numpy()
    stretch, day = judging.stretches(arrival)
    classes = {name: k for k, name in enumerate(population.width_classes())}
    width = subjects["width_class"].replace_strict(classes, default=-1, return_dtype=pl.Int64)
    compared = Comparable(
        _users(subjects),
        *(stretch, day, width.to_numpy()),
        similar.walltime_class(subjects["walltime_s"]),
        (begun[rows] - arrival).astype(np.float64),
        subjects["wait_s"].to_numpy().astype(np.float64),
    )
    after: dict[str, Floats] = {}
    never: dict[str, int] = {}
    replays = [one.after for one in tried]
    starts = dict(executor.each(_starts, (period, rows), replays))
    for number, one in enumerate(tried):
        again = starts.pop(number)
        never[one.change] = int(np.count_nonzero(again == NEVER))
        if not never[one.change]:
            after[one.change] = (again - arrival).astype(np.float64)
    users = (None, *subjects["user"].drop_nulls().unique().sort())
    return compared, users, after, never


def _starts(asked: tuple[Period, Ints]) -> Callable[[Scenario], Ints]:
    """Return what replays a scenario, and returns the starts of some rows in a period."""
    period, rows = asked
    # a copy: what is derived from its attempts goes with it
    return lambda scenario: replayed_starts(scenario.but(), period)[rows]


def _row(of: _Result) -> tuple[object, ...]:
    """Return a row of ``ADVICE``."""
    known = (of.candidate.change, of.candidate.title, of.place, of.judgement.value)
    if of.verdict is None:
        return (*known, *(None,) * (len(ADVICE) - len(known) - 1), of.never_start)
    by, whole = of.verdict.by, of.verdict.parts[0]
    return (
        *known,
        *_named(by, of.users),
        *(round(one) for one in (by.observed, by.today, by.today + by.value)),
        -round(by.value),
        *(None if end is None else -round(end) for end in (by.upper, by.lower)),
        round(of.verdict.saved),
        *(whole.attempts, whole.users),
        *((None, None) if of.swayed is None else map(len, _sides(of.swayed))),
        of.never_start,
    )


def _sides(users: Sequence[WaitDifference]) -> tuple[list[WaitDifference], list[WaitDifference]]:
    """Return the users who gain or lose, the largest change first."""
    gain = [one for one in users if one.value < 0]
    return gain, [one for one in reversed(users) if one.value > 0]


def _parts(of: _Result) -> Iterator[tuple[object, ...]]:
    """Yield rows of ``PARTS``."""
    known = [one for one in of.swayed or () if one.number]
    named = (one for side in _sides(known) for one in side[:NAMED])
    for part in (*(() if of.verdict is None else of.verdict.parts), *named):
        yield (
            of.candidate.change,
            *_named(part, of.users),
            *(part.attempts, part.users),
            *(round(part.today), round(part.today + part.value), round(part.value)),
            *(None if end is None else round(end) for end in (part.lower, part.upper)),
            part.outcome.value,
        )


def _named(part: WaitDifference, users: Sequence[str | None]) -> tuple[str, str | None]:
    """Return dimension and value of a part."""
    if part.number is None:
        return part.dimension, None
    if part.dimension == "user":
        return part.dimension, users[part.number]
    names = population.width_classes() if part.dimension == "width_class" else similar.WALLTIMES
    return part.dimension, names[part.number]
