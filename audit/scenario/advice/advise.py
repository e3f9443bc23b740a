"""What to change: small changes of a pool, each replayed, and judged against a replay of today.

A replay of today's policy is what changes are compared with, never the observed schedule: both
begin with what ran and waited when the period began, and see its arrivals. How far that is from
what was observed is the model's fidelity (SPEC §5, §10), and stands beside.

What is tried is bounded by a budget of CPU seconds, as estimated beforehand (``scenario.budget``):
the same log gives the same advice on every machine. What there was no budget for is named.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.attempts import population, width
from audit.metrics.attempts.peers import waits
from audit.metrics.uncertainty import RESAMPLES
from audit.model import BY_USAGE, Period, Pool
from audit.scenario.advice import judging
from audit.scenario.advice.candidates import Candidate, candidates
from audit.scenario.advice.judging import Compared, Difference, Judgement, Swayed, Verdict
from audit.scenario.budget import depths, replay_cost
from audit.scenario.engine import replayed_starts
from audit.scenario.ownership import EQUAL_SHARES, Fairshare
from audit.scenario.scenario import Scenario
from audit.scenario.workload import NEVER, Ints, workload, workload_of_rows

Floats = NDArray[np.float64]

MOST: Final = 3
"""So many changes are advised at most, each of another family."""
_DRAW: Final = 2.5e-8
"""CPU seconds for each unit of each resample, the sums of all changes included."""

ADVICE: Final = pl.Schema(
    {
        "change": pl.String,
        "title": pl.String,
        "place": pl.Int64,
        "outcome": pl.String,
        "dimension": pl.String,
        "dimension_value": pl.String,
        "today_s": pl.Int64,
        "changed_s": pl.Int64,
        "gain_s": pl.Int64,
        "gain_lower_s": pl.Int64,
        "gain_upper_s": pl.Int64,
        "saved_s": pl.Int64,
        "attempts": pl.Int64,
        "users": pl.Int64,
        "gaining_users": pl.Int64,
        "losing_users": pl.Int64,
    }
)
"""One row for each change, in the order in which they were thought of."""

PARTS: Final = pl.Schema(
    {
        "change": pl.String,
        "dimension": pl.String,
        "dimension_value": pl.String,
        "attempts": pl.Int64,
        "users": pl.Int64,
        "today_s": pl.Int64,
        "changed_s": pl.Int64,
        "difference_s": pl.Int64,
        "lower_s": pl.Int64,
        "upper_s": pl.Int64,
        "outcome": pl.String,
    }
)
"""One row for all attempts, each width and each walltime class, of each change tried."""


class Advice(NamedTuple):
    """What came of all that was tried."""

    changes: pl.DataFrame
    """Columns of ``ADVICE``."""
    parts: pl.DataFrame
    """Columns of ``PARTS``."""


NOTHING: Final = Advice(pl.DataFrame(schema=ADVICE), pl.DataFrame(schema=PARTS))


def advise(
    described: pl.DataFrame,
    pool: Pool,
    period: Period,
    now: int,
    budget_s: float,
    seed: int,
    fairshare: Fairshare = EQUAL_SHARES,
) -> Advice:
    """Which small changes of a pool help, by replays of a period.

    Args:
        described: all attempts of ``pool``, columns of ``model.DESCRIBED`` (and ``penalty`` where
            usage is charged by one).
        pool: as it is, with its policy, limits and windows.
        period: what is replayed; its attempts are those that ended in it.
        budget_s: CPU seconds, as estimated; 0: nothing is tried.

    Returns:
        No rows where there are too few users or days, where hardly anybody waited, or where the
        budget is too small for a replay of today and one more.
    """
    subjects = population.ended(population.in_period(described, period))
    waited = subjects["wait_s"].sum()
    if budget_s <= 0 or waited < judging.WORTH_S * subjects.height or subjects.is_empty():
        return NOTHING
    _, day = judging.stretches(subjects["arrival_time"].to_numpy())
    if len(np.unique(day)) < judging.LEAST_STRETCHES:
        return NOTHING
    if subjects["user"].n_unique() < judging.LEAST_USERS:
        return NOTHING
    today = Scenario(_of_interest(described, pool, period), pool, fairshare)
    tried, left_out = affordable(today, candidates(today), period, now, budget_s)
    told = _tried(today, tried, period, now, seed) if tried else []
    told += [_Told(one, Judgement.not_tried) for one in left_out]
    return Advice(
        pl.DataFrame([_row(one) for one in told], schema=ADVICE, orient="row"),
        pl.DataFrame([row for one in told for row in _parts(one)], schema=PARTS, orient="row"),
    )


def _of_interest(described: pl.DataFrame, pool: Pool, period: Period) -> pl.DataFrame:
    """The attempts that a replay of the period is made of; all where usage before it counts."""
    if period.whole_log or pool.policy.order in BY_USAGE:
        return described
    over = (pl.col("end_time") <= period.from_time).fill_null(value=False)
    later = (pl.col("arrival_time") >= period.to_time).fill_null(value=False)
    return described.filter(~over & ~later)


def affordable(
    today: Scenario, found: Sequence[Candidate], period: Period, now: int, budget_s: float
) -> tuple[list[Candidate], list[Candidate]]:
    """What a budget allows to try, in order, beside a replay of today; and the others."""
    work, _ = workload(today.attempts, today.pool, now, today.fairshare)
    inside = work.arrival >= (work.arrival.min(initial=0) if period.whole_log else period.from_time)
    depth = depths(work)[inside]
    units = today.attempts["user"].n_unique() + len(np.unique(work.arrival // judging.DAY_S))
    left = budget_s - replay_cost(depth, today.pool.policy)
    left -= _DRAW * units * judging.CHUNKS * RESAMPLES
    tried: list[Candidate] = []
    others: list[Candidate] = []
    for one in found:
        cost = replay_cost(depth, one.after.pool.policy)
        if cost <= left:
            left -= cost
            tried.append(one)
        else:
            others.append(one)
    return tried, others


class _Told(NamedTuple):
    """A change, and what is said of it."""

    candidate: Candidate
    judgement: Judgement
    verdict: Verdict | None = None
    """None: it was not tried, or some who start today would never."""
    place: int | None = None
    swayed: Swayed | None = None
    """Of what is advised."""


def _tried(
    today: Scenario, tried: Sequence[Candidate], period: Period, now: int, seed: int
) -> list[_Told]:
    """Replays what is tried, and judges it."""
    compared, after = _replayed(today, tried, period, now)
    if not after or not judging.enough(compared):
        return [_Told(one, Judgement.unsupported) for one in tried]
    differences = np.array([wait - compared.wait for wait in after.values()])
    verdicts = dict(zip(after, judging.judge(compared, differences, seed), strict=True))
    told = [
        _Told(one, verdict.judgement, verdict)
        if (verdict := verdicts.get(one.change))
        else _Told(one, Judgement.unsupported)
        for one in tried
    ]
    best = _best(told)
    return [
        one._replace(
            place=best.index(one.candidate.change) + 1,
            swayed=judging.swayed(compared, after[one.candidate.change] - compared.wait, seed),
        )
        if one.candidate.change in best
        else one
        for one in told
    ]


def _best(told: Sequence[_Told]) -> list[str]:
    """What is advised: of each family what saves most in sum, in that order."""
    supported = [
        (one.verdict.saved, one.candidate)
        for one in told
        if one.verdict is not None and one.judgement is Judgement.supported
    ]
    best: dict[str, str] = {}
    for _, candidate in sorted(supported, key=lambda pair: -pair[0]):
        best.setdefault(candidate.family, candidate.change)
    return list(best.values())[:MOST]


def _replayed(
    today: Scenario, tried: Sequence[Candidate], period: Period, now: int
) -> tuple[Compared, dict[str, Floats]]:
    """The attempts that today's replay starts, and their waits after each change that does, too."""

    def starts(scenario: Scenario) -> Ints:
        attempts, pool, fairshare = scenario
        met = workload_of_rows(attempts, pool, now, fairshare)
        return replayed_starts(attempts, pool, period, now, met=met)

    begun = starts(today)
    numbered = today.attempts.with_row_index("_row").filter(pl.Series(begun != NEVER))
    held = population.ended(population.in_period(numbered, period))
    rows = held["_row"].to_numpy()
    arrival = held["arrival_time"].to_numpy()
    stretch, day = judging.stretches(arrival)
    classes = pl.DataFrame({"width_class": width.order(), "_class": range(len(width.order()))})
    compared = Compared(
        (held["user"].rank("dense").fill_null(0)).to_numpy().astype(np.int64),
        stretch,
        day,
        held.join(classes, on="width_class", how="left", maintain_order="left")["_class"]
        .fill_null(-1)
        .to_numpy()
        .astype(np.int64),
        waits.walltime_class(held["walltime_s"]),
        (begun[rows] - arrival).astype(np.float64),
    )
    after: dict[str, Floats] = {}
    for one in tried:
        again = starts(one.after)[rows]
        if (again != NEVER).all():
            after[one.change] = (again - arrival).astype(np.float64)
    return compared, after


def _row(told: _Told) -> tuple[object, ...]:
    """A row of ``ADVICE``."""
    known = (told.candidate.change, told.candidate.title, told.place, told.judgement.value)
    if told.verdict is None:
        return (*known, *(None,) * (len(ADVICE) - len(known)))
    by, whole = told.verdict.by, told.verdict.parts[0]
    return (
        *known,
        *_named(by),
        *(round(by.today), round(by.today + by.value), -round(by.value)),
        *(None if end is None else -round(end) for end in (by.upper, by.lower)),
        round(told.verdict.saved),
        *(whole.attempts, whole.users),
        *((None, None) if told.swayed is None else told.swayed),
    )


def _parts(told: _Told) -> Iterator[tuple[object, ...]]:
    """Rows of ``PARTS``."""
    for part in () if told.verdict is None else told.verdict.parts:
        yield (
            told.candidate.change,
            *_named(part),
            *(part.attempts, part.users),
            *(round(part.today), round(part.today + part.value), round(part.value)),
            *(None if end is None else round(end) for end in (part.lower, part.upper)),
            part.outcome.value,
        )


def _named(part: Difference) -> tuple[str, str | None]:
    """Dimension and value of a part."""
    if part.number is None:
        return part.dimension, None
    names = width.order() if part.dimension == "width_class" else waits.WALLTIMES
    return part.dimension, names[part.number]
