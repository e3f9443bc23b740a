"""Fair starts on what the machine delivered: each attempt's start without later arrivals.

The observed schedule is replayed from the arrival of the first later attempt that started before
it, without any later attempt, in the capacity that the machine delivered under the site's rule (or
in the observed order), with every start as observed at the latest. With the later attempts left in,
the observed schedule results.

Source: SPEC §10, *FST of j*.
"""

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Bools, Ints
from audit.kernels.delivered import fair_start
from audit.kernels.delivered.model import DeliveredCapacity
from audit.metrics.attempts.contention import reserved_rows
from audit.metrics.attempts.miss import fair_slowdown
from audit.metrics.attempts.population import TAU_S
from audit.model import FstStatus, Standing
from audit.scenario import driver
from audit.scenario.delivered.agreement import KnownRule
from audit.scenario.delivered.candidates import pass_rule
from audit.scenario.delivered.comparing import delivered_capacity
from audit.scenario.delivered.observed import ObservedTurns, observed_turns
from audit.scenario.scenario import Scenario
from audit.scenario.workload import NEVER, instants

_BLOCK_BITS: Final = 6
"""Blocks of instants have this power of two."""
_OPEN: Final = 1  # marks of attempts in a snapshot
_PREEMPTED: Final = 2


ADDED: Final = (
    *("fst_delivered", "fst_delivered_status", "fst_rule"),
    *("miss_delivered_s", "miss_cautious_s", "fair_slowdown"),
)
"""Columns of ``delivered_starts``."""


def delivered_starts(
    scenario: Scenario,
    known: KnownRule,
    *,
    held_until: Ints | None = None,
    chosen: Bools | None = None,
    tau_s: int = TAU_S,
) -> pl.DataFrame:
    """Add when each attempt that has ended would have started without later arrivals.

    - fst_delivered: epoch s, ≥ arrival, or null
    - fst_delivered_status: ``model.FstStatus``: reserved or blocked (without a fair start),
      provisional, preempted_context, final; null where it has not ended
    - fst_rule: the rule by which it was found; null without a fair start
    - miss_delivered_s: max(start − FST, 0), s
    - miss_cautious_s: the smaller of it and the miss where attempts that a later one of the same
      user has passed, with a size and estimate at least as large, are taken to be held
    - fair_slowdown: bounded slowdown with FST as the start, ≥ 1

    Args:
        known: by ``agreement.rule_of``.
        held_until: by row of the scenario, epoch s: attempts that a rule holds until then.
        chosen: by row of the scenario, the attempts to compute; None: all.
        tau_s: τ of the fair slowdown, s, ≥ 1.

    Returns:
        The scenario's attempts with these columns, in their order.
    """
    described = scenario.attempts
    readings = _readings(scenario, known, held_until, chosen)
    start, found = pl.col("start_time"), pl.col("fst_delivered")
    return (
        described.with_columns(**readings)
        .with_columns(
            fst_delivered_status=_status(scenario),
            fst_rule=pl.when(found.is_not_null()).then(pl.lit(known.rule.name)),
            miss_delivered_s=(start - found).clip(0),
        )
        .with_columns(
            miss_cautious_s=pl.min_horizontal(
                "miss_delivered_s", (start - pl.col("_cautious")).clip(0)
            ),
            fair_slowdown=fair_slowdown("delivered", tau_s),
        )
        .drop("_cautious", "_provisional", "_preempted")
    )


def _readings(
    scenario: Scenario, known: KnownRule, held_until: Ints | None, chosen: Bools | None
) -> dict[str, pl.Series]:
    """Return the fair start of each row in both readings, and the marks of its snapshot."""
    turns = observed_turns(scenario, held_until)
    ended = (scenario.attempts["standing"] == Standing.ENDED.value).to_numpy()[turns.rows]
    subject: Bools = ended & (turns.start != NEVER)
    if chosen is not None:
        subject = subject & chosen[turns.rows]
    most = delivered_capacity(scenario, turns, known.rule)
    fair, context = _found(scenario, turns, known, subject, most)
    doubtful, most = _doubtful(scenario, turns, known, subject, most, fair)
    cautious = fair
    if doubtful.any():
        differing, _ = _found(scenario, turns, known, doubtful, most, cautious=True)
        cautious = np.where(doubtful, differing, fair)
    place = driver.places(scenario.attempts.height, turns.rows, subject)
    columns = {
        "fst_delivered": instants(fair),
        "_cautious": instants(cautious),
        "_provisional": pl.Series(context & _OPEN > 0),
        "_preempted": pl.Series(context & _PREEMPTED > 0),
    }
    return {name: each.gather(place) for name, each in columns.items()}


def _status(scenario: Scenario) -> pl.Expr:
    """Return the status of each attempt by its fair start and the marks of its snapshot."""
    everyone, rows = scenario.indexed
    blocked = np.zeros(scenario.attempts.height, np.bool_)
    blocked[rows[everyone.blocked]] = True
    ended = pl.col("standing") == Standing.ENDED.value
    found = pl.col("fst_delivered").is_not_null()
    return (
        pl.when(ended & reserved_rows(scenario.attempts))
        .then(pl.lit(FstStatus.RESERVED.value))
        .when(ended & pl.lit(pl.Series(blocked)))
        .then(pl.lit(FstStatus.BLOCKED.value))
        .when(found & pl.col("_provisional"))
        .then(pl.lit(FstStatus.PROVISIONAL.value))
        .when(found & pl.col("_preempted"))
        .then(pl.lit(FstStatus.PREEMPTED_CONTEXT.value))
        .when(found)
        .then(pl.lit(FstStatus.FINAL.value))
    )


def starts_without(
    scenario: Scenario, known: KnownRule, row: int, *, held_until: Ints | None = None
) -> pl.DataFrame:
    """Return when one attempt would have started without the later arrivals of each user.

    Such delays do not add up.

    Args:
        row: of the scenario; an attempt that takes part and has started.

    Returns:
        user; fst: epoch s; delay_s: max(start − fst, 0), for each user of whose later arrivals any
        started before it; the largest delay first, then by user.

    Source: SPEC §10, *Delay by user o*.
    """
    turns = observed_turns(scenario, held_until)
    (place,) = np.flatnonzero(turns.rows == row)
    later = np.arange(len(turns.start)) > place
    before = later & (turns.start < turns.start[place]) & (turns.user >= 0)
    rule = pass_rule(scenario, turns, known.rule, simulated=len(turns.start))
    delivered = _delivered(turns, known, delivered_capacity(scenario, turns, known.rule))
    names = scenario.attempts["user"].gather(turns.rows)
    rows = []
    for user in np.unique(turns.user[before]).tolist():
        removed = later & (turns.user == user)
        fst = fair_start.fair_start_without(turns.in_kernel, rule, delivered, int(place), removed)
        name = names[int(np.flatnonzero(removed)[0])]
        rows.append((name, fst, max(int(turns.start[place]) - fst, 0)))
    schema = {"user": pl.String, "fst": pl.Int64, "delay_s": pl.Int64}
    found = pl.DataFrame(rows, schema, orient="row")
    return found.sort("delay_s", "user", descending=[True, False])


def _doubtful(
    scenario: Scenario,
    turns: ObservedTurns,
    known: KnownRule,
    subject: Bools,
    most: Ints,
    fair: Ints,
) -> tuple[Bools, Ints]:
    """Return where the cautious reading may differ from ``fair``, [n], and its capacity.

    It differs only where an attempt may be passed over, or another capacity was delivered, between
    the arrival and the fair start. Attempts that miss nothing do not under this reading either.
    """
    held = turns.held  # who is pinned starts as observed at the latest
    passed = held < (NEVER if known.free else turns.start)
    missed = subject & (fair < turns.start)
    if not missed.any() or not passed.any():
        return np.zeros(len(fair), np.bool_), most
    most_cautious = delivered_capacity(scenario, turns, known.rule, cautious=True)
    begun = np.sort(held[passed])
    over = np.sort(np.maximum(held, turns.start)[passed])
    doubtful = np.searchsorted(begun, fair, "right") > np.searchsorted(over, turns.work.arrival)
    unlike = np.append(0, np.cumsum(most_cautious != most))
    last = np.searchsorted(turns.instants, fair, "right")
    doubtful |= unlike[last] > unlike[turns.arrived]
    return missed & doubtful, most_cautious


def _found(
    scenario: Scenario,
    turns: ObservedTurns,
    known: KnownRule,
    subject: Bools,
    most: Ints,
    *,
    cautious: bool = False,
) -> tuple[Ints, NDArray[np.uint8]]:
    """Return fair starts, [n] (NEVER: none), and the marks of what their snapshots hold."""
    fair, context = np.full(len(turns.start), NEVER), np.zeros(len(turns.start), np.uint8)
    work = turns.work
    fair_start.fair_starts(
        turns.in_kernel,
        pass_rule(scenario, turns, known.rule, cautious=cautious, simulated=turns.most_present),
        _delivered(turns, known, most, bounded=cautious),
        subject,
        (_OPEN * work.open + _PREEMPTED * work.preempted).astype(np.uint8),
        fair,
        context,
    )
    return fair, context


def _delivered(
    turns: ObservedTurns, known: KnownRule, most: Ints, *, bounded: bool = False
) -> DeliveredCapacity:
    """Return the capacity delivered under a rule, and what is pinned."""
    blocks = (
        np.maximum.reduceat(most, np.arange(0, len(most), 1 << _BLOCK_BITS)) if len(most) else most
    )
    always = ~turns.work.fitting | turns.work.exceeding
    return DeliveredCapacity(
        most, blocks, _BLOCK_BITS, known.rule.kept, known.free, bounded, always
    )
