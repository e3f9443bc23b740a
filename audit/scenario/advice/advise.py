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
from fractions import Fraction
from itertools import islice, zip_longest
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit import periods
from audit.metrics.attempts import population, similar
from audit.metrics.attempts.contention import counted_resources
from audit.metrics.attempts.fidelity import KNOWN
from audit.metrics.attempts.population import ended
from audit.metrics.bursts import bursts
from audit.metrics.uncertainty import RESAMPLES
from audit.model import BY_USAGE, Backfill, Limit, Order, Period, Pool, Window
from audit.registry.causes import LACKS
from audit.scenario.advice import judging
from audit.scenario.advice.judging import ChangeVerdict, Comparable, Judgement, WaitDifference
from audit.scenario.budget import depths, replay_cost
from audit.scenario.engine import replayed_starts
from audit.scenario.scenario import (
    PLACEMENTS,
    Bound,
    Scenario,
    ScenarioChange,
    bound_of,
    changed,
    per_node,
    rules_of,
)
from audit.scenario.whatif.options import title, written
from audit.scenario.workload import NEVER, Ints
from audit.words import kind_of
from audit.workers.executors import IN_TURN, Executor

Floats = NDArray[np.float64]

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


class Candidate(NamedTuple):
    """A change that is tried; ``change`` holds options of ``fairaudit whatif``."""

    family: str
    change: str
    title: str
    after: Scenario


class _Result(NamedTuple):
    """A change, and its effect."""

    candidate: Candidate
    judgement: Judgement
    verdict: ChangeVerdict | None = None
    """None: not tried, some jobs would never start, or today's replay misses the waits."""
    place: int | None = None
    swayed: tuple[WaitDifference, ...] | None = None
    """Users who gain or lose, of changes that are advised."""
    users: tuple[str | None, ...] = ()
    """Names of users, by their number."""
    never_start: int | None = None
    """Attempts that today's replay starts and the change never does; None: not tried."""


def advise(
    scenario: Scenario,
    period: Period,
    budget_s: float,
    seed: int,
    shares: Mapping[str, float] | None = None,
    executor: Executor = IN_TURN,
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
        No rows where there are too few users or days, or where hardly any job waited.
    """
    subjects = population.ended(population.in_period(scenario.attempts, period))
    waited, users = subjects["wait_s"].sum(), subjects["user"].n_unique()
    if budget_s <= 0 or waited < judging.WORTH_S * subjects.height or subjects.is_empty():
        return NOTHING
    _, day = judging.stretches(subjects["arrival_time"].to_numpy())
    if len(np.unique(day)) < judging.LEAST_STRETCHES or users < judging.LEAST_USERS:
        return NOTHING
    today = scenario.but(attempts=_of_interest(scenario, period))
    found = candidates(today, shares)
    if agreement is None or agreement < KNOWN:
        results = [_Result(one, Judgement.not_agreeing) for one in found]
    else:
        tried, left_out = affordable(today, found, period, budget_s)
        results = _tried(today, tried, period, seed, executor) if tried else []
        results += [_Result(one, Judgement.not_tried) for one in left_out]
    return TriedChanges(
        pl.DataFrame([_row(one) for one in results], schema=ADVICE, orient="row"),
        pl.DataFrame([row for one in results for row in _parts(one)], schema=PARTS, orient="row"),
    )


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
    left = Judgement.unsupported
    if not judging.reproduces(compared):
        left = Judgement.not_reproduced
    elif after and judging.enough(compared):
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
    numbered = today.attempts.with_row_index("_row").filter(pl.Series(begun != NEVER))
    subjects = population.ended(population.in_period(numbered, period))
    rows = subjects["_row"].to_numpy()
    arrival = subjects["arrival_time"].to_numpy()
    stretch, day = judging.stretches(arrival)
    classes = {name: k for k, name in enumerate(population.width_classes())}
    width = subjects["width_class"].replace_strict(classes, default=-1, return_dtype=pl.Int64)
    compared = Comparable(
        subjects["user"].rank("dense").fill_null(0).to_numpy().astype(np.int64),
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
    return lambda scenario: replayed_starts(scenario, period)[rows]


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
    """Return who gains and who loses, the largest change first."""
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


# --- the changes tried ---------------------------------------------------------------------------

DEPTHS: Final = (2, 4, 8)  # numbers of reservations that are tried
EACH: Final = 8  # largest number of limits, and of windows, that are tried
CAUSES: Final = 0.05  # share of all waiting from which on a rule is tried
OVERASKING: Final = 10  # number of users whose walltimes are shortened
TWICE: Final = Fraction(2)
BURST: Final = 0.25
"""Work of a burst from which on its user is limited, as a part of what the pool can do in a day."""
RARE_S: Final = 60  # passes are made more often only where they are at least this far apart, s

_WORK: Final = pl.col("occupancy_s") * pl.col("size")


def candidates(today: Scenario, shares: Mapping[str, float] | None = None) -> tuple[Candidate, ...]:
    """Return the changes to try on a pool; ``today`` has the attempts of the period, or more.

    Families take turns: a budget that ends leaves out the last of each, and no whole family.

    Args:
        shares: share of all waiting that each rule (``scenario.scenario.rules_of``) and the
            ``nodes`` cause, in [0, 1], by name; None: unknown, and all are tried.
    """
    families = {
        "reservations": _reservations(today),
        "limits": _ruled(today, Limit, shares),
        "windows": _ruled(today, Window, shares),
        "walltimes": _walltimes(today),
        "per_user": _per_user(today),
        "targets": _targets(today),
        "passes": _passes(today),
        "placement": _placement(today.pool, shares),
        "sizes": _sizes(today),
    }
    found = []
    for turn in zip_longest(*families.values()):
        for family, fields in zip(families, turn, strict=True):
            if fields is not None:
                change = ScenarioChange(**fields)
                words = (written(change), title(change, today.pool))
                found.append(Candidate(family, *words, changed(today, change)))
    return tuple(found)


def _reservations(today: Scenario) -> Iterator[dict[str, Any]]:
    policy = today.pool.policy
    had = policy.reservations or policy.backfill.traits.reservations
    if had is None:  # all queued jobs have one
        depths = [] if policy.backfill.traits.keeps_plans else [1, 4]
    else:
        depths = [depth for depth in (1, *DEPTHS) if depth > had and (had or depth in (1, 4))]
    for depth in depths:
        if depth == 1 and policy.depth is None:
            yield {"policy": {"backfill": Backfill.easy}}
        else:
            yield {"policy": {"backfill": Backfill.conservative_replan, "reservations": depth}}


def _ruled(
    today: Scenario, kind: type[Limit | Window], shares: Mapping[str, float] | None
) -> Iterator[dict[str, Any]]:
    zone = periods.zone(today.pool.zone)
    rules = {
        name: rule
        for name, rule in rules_of(today.pool).items()
        if isinstance(rule, kind)
        and (rule.valid_to is None or periods.day_start(rule.valid_to, zone) > today.now)
    }
    if shares is not None:
        rules = {name: rule for name, rule in rules.items() if shares.get(name, 0.0) >= CAUSES}
        rules = dict(sorted(rules.items(), key=lambda one: -shares.get(one[0], 0.0)))
    for name, rule in islice(rules.items(), EACH):
        yield {"lift": (name,)}
        if (bound := bound_of(rule)) is not None:
            yield {"relax": {name: 2 * max(getattr(rule, bound), 1)}}


def _walltimes(today: Scenario) -> Iterator[dict[str, Any]]:
    policy = today.pool.policy
    if policy.backfill.traits.reservations == 0 and not policy.order.traits.by_estimates:
        return  # walltimes decide nothing
    unused = (pl.col("walltime_s") - pl.col("occupancy_s")) * pl.col("size")
    overasking = ended(today.attempts).filter(unused > 0)
    worst = tuple(
        overasking.drop_nulls("user")
        .group_by("user")
        .agg(unused.sum().alias("unused"))
        .sort("unused", "user", descending=[True, False])["user"]
        .head(OVERASKING)
    )
    if worst:
        yield {"walltimes": TWICE, "walltimes_of": worst}
        if overasking["user"].n_unique() > len(worst):
            yield {"walltimes": TWICE}


def _per_user(today: Scenario) -> Iterator[dict[str, Any]]:
    half, quarter = today.pool.capacity // 2, today.pool.capacity // 4
    largest = (
        ended(today.attempts.with_columns(burst=bursts(today.attempts)))
        .drop_nulls("burst")
        .group_by("user", "burst")
        .agg(_WORK.sum().alias("work"), attempts=pl.len())
        .filter(
            pl.col("attempts") > 1,  # one attempt is not a queue
            pl.col("work") >= BURST * today.pool.capacity * judging.DAY_S,
        )
        .sort("work", "user", descending=[True, False])
    )
    if quarter and not largest.is_empty():
        yield {"limits": (Bound("user", largest["user"][0], quarter, narrow=True),)}
    for most in filter(None, dict.fromkeys((half, quarter))):
        yield {"limits": (Bound("user", None, most, narrow=True),)}


def _targets(today: Scenario) -> Iterator[dict[str, Any]]:
    if today.pool.policy.order is not Order.fairshare:
        return
    used = (
        today.attempts.drop_nulls("account")
        .group_by("account")
        .agg(_WORK.sum().cast(pl.Float64).alias("used"))
        .sort("account")
    )
    tree = today.fairshare.tree
    if tree is not None:
        used = used.filter(pl.col("account").is_in(tree.names[1:]))
    if used.height > 1 and used["used"].sum() > 0:
        percent = (100 * pl.col("used") / pl.col("used").sum()).round(3)
        yield {"targets": dict(used.select("account", percent).iter_rows())}
        yield {"targets": dict.fromkeys(used["account"], 1.0)}


def _passes(today: Scenario) -> Iterator[dict[str, Any]]:
    policy = today.pool.policy
    if policy.depth is not None:
        yield {"policy": {"depth": 4 * policy.depth}}
    if policy.interval_s is not None and policy.interval_s >= RARE_S:
        yield {"policy": {"interval_s": policy.interval_s // 4}}


def _placement(pool: Pool, shares: Mapping[str, float] | None) -> Iterator[dict[str, Any]]:
    if not pool.by_nodes or pool.exclusive_nodes:
        return
    if shares is None or shares.get("nodes", 0.0) >= CAUSES:
        yield from (
            {"placement": name}
            for name, fields in PLACEMENTS.items()
            if any(getattr(pool, key) != value for key, value in fields.items())
        )


def _sizes(today: Scenario) -> Iterator[dict[str, Any]]:
    attempts, counted = today.attempts, counted_resources(today.pool)
    if not today.pool.by_nodes or "cause_nodes_s" not in attempts.columns:
        return
    least = CAUSES * float(attempts["wait_s"].sum() or 0)
    found: dict[tuple[str, int], None] = {}
    for lack in LACKS:
        lacking = lack.resource or kind_of(counted[0])  # several: jobs are halved as a whole
        resource = next((name for name in counted if kind_of(name) == lacking), None)
        if resource is None:
            continue
        waits = (
            attempts.filter(pl.col(lack.column) > 0)
            .group_by(per_node=per_node(resource))
            .agg(pl.col(lack.column).sum().alias("waited"))
            .drop_nulls()
            .sort("waited", "per_node", descending=[True, False])
        )
        if waits.is_empty() or waits["waited"].sum() < least:
            continue
        asked = waits["per_node"][0]
        if asked > 1:
            found[resource, -(-asked // 2)] = None
    yield from ({"per_node": {resource: most}} for resource, most in found)
