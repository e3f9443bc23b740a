"""Fair starts on what a pool's machine delivered, by the rule that its log shows (SPEC §10).

The log of an audit is all that it read. That of a period of ``run`` is what was known at its end,
so nothing that came later changes it.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Bools, Ints
from audit.cluster.setting import Agreement
from audit.metrics.attempts.fidelity import KEPT_ORDER, FidelityRule, of_rules
from audit.metrics.attempts.population import TAU_S, as_of, belongs_at, compact, only
from audit.metrics.attempts.reasons import covered, throttled
from audit.metrics.attempts.recorded import recorded
from audit.model import Period, Policy, Pool
from audit.registry.reasons import PLANNED
from audit.scenario.delivered.agreement import (
    AGREEMENT_SCHEMA,
    KnownRule,
    agreement,
    agreement_on_nodes,
    rule_of,
)
from audit.scenario.delivered.candidates import BY_PRIORITY, candidates
from audit.scenario.delivered.fair_starts import ADDED, delivered_starts
from audit.scenario.releases.holds import Holding, inferred_holds
from audit.scenario.scenario import Scenario
from audit.scenario.workload import KEYS

Known = Mapping[tuple[Policy, bool], Agreement]
"""Of ``Setting.compared``, of one pool."""
NOTHING: Final[Known] = {}


class Agreed(NamedTuple):
    """How far rules agree with the observed starts of a pool."""

    compared: pl.DataFrame  # of ``agreement``, for each candidate
    known: KnownRule  # the rule of fair starts
    on_nodes: float | None  # A of the pool's policy by the free nodes; None: not known

    @property
    def replayed(self) -> float | None:
        """The agreement of the pool's policy, by sums or by free nodes; None: not known."""
        return _larger(self.compared, self.on_nodes)

    def rows(self, pool: Pool) -> pl.DataFrame:
        """Return the rows of the view ``fidelity``, without their place."""
        rule = self.known.rule
        order = KEPT_ORDER if rule.kept else rule.policy.order.value
        used = FidelityRule(order, rule.policy.backfill.value, rule.own_peak)
        policy = FidelityRule(pool.policy.order.value, pool.policy.backfill.value)
        return of_rules(self.compared, used, policy, self.on_nodes)


def agreed(log: Scenario, until: Ints | None = None, known: Known = NOTHING) -> Agreed:
    """Return which rules agree with the observed starts of a log.

    Args:
        until: of ``held_until``.
        known: what was compared before in this log. Orders by priorities are compared again, as
            usage may have been charged since.
    """
    rules = candidates(log)
    rows = {
        rule: known[rule[:2]]
        for rule in rules
        if rule[:2] in known and rule.policy.order not in BY_PRIORITY
    }
    if missing := [rule for rule in rules if rule not in rows]:
        found = agreement(log, missing, held_until=until)
        rows |= zip(missing, found.rows(), strict=True)
    compared = pl.DataFrame([rows[rule] for rule in rules], AGREEMENT_SCHEMA, orient="row")
    on_nodes = agreement_on_nodes(log, log.pool.policy, held_until=until)
    return Agreed(compared, rule_of(log, compared), on_nodes)


def replayed_agreement(log: Scenario, holding: Holding) -> float | None:
    """Return ``Agreed.replayed`` without the other candidates."""
    until = held_until(log.attempts, log.pool, holds_in(log, holding))
    policy = agreement(log, candidates(log)[:1], held_until=until)
    return _larger(policy, agreement_on_nodes(log, log.pool.policy, held_until=until))


def _larger(compared: pl.DataFrame, on_nodes: float | None) -> float | None:
    """Return the larger agreement of the pool's policy, which is the first candidate."""
    both = (compared["agreement"][0], on_nodes)
    return max((one for one in both if one is not None), default=None)


def holds_in(log: Scenario, holding: Holding) -> pl.DataFrame:
    """Return when attempts of a log were held, as far as that is inferred."""
    return inferred_holds(log.attempts, log.pool, log.now, holding)


def held_until(attempts: pl.DataFrame, pool: Pool, holds: pl.DataFrame) -> Ints | None:
    """Return until when each attempt was last held; None: none was.

    Inferred holds, throttles, and recorded holds and rules count, except limits of the pool: each
    pass applies them, and slurmctld also plans starts for jobs that they hold.

    Args:
        attempts: columns of ``model.DESCRIBED``; all of one pool.
        holds: inferred ones, columns of ``reasons.NO_HOLDS``.

    Returns:
        [rows], epoch s; the arrival where it was not held.
    """
    said = _beyond_limits(recorded(attempts).filter(pl.col("kind") != PLANNED), attempts, pool)
    held = pl.concat([holds, throttled(attempts), said])
    if held.is_empty():
        return None
    last = held.group_by("row").agg(pl.col("end").max())
    until = attempts["arrival_time"].fill_null(0).to_numpy().copy()
    until[last["row"].to_numpy()] = last["end"].to_numpy()
    return until


def _beyond_limits(said: pl.DataFrame, attempts: pl.DataFrame, pool: Pool) -> pl.DataFrame:
    """Return the recorded stretches except those whose reason names a limit of the pool."""
    of_attempts = attempts[said["row"]].select(
        *("user", "account", "qos", "partition", "walltime_s", "size"),
        occupancy="occupancy_s",
        reason=said["kind"],
    )
    return said.filter(~covered(of_attempts, pool.limits))


def delivered(
    log: Scenario,
    holds_of: Callable[[Scenario], pl.DataFrame],
    periods: Collection[Period],
    history_s: int | None = None,
    wanted: pl.Expr | None = None,
    tau_s: int = TAU_S,
    known: Mapping[Period, Known] | None = None,
    kept: Callable[[pl.DataFrame], pl.DataFrame] = compact,
) -> tuple[pl.DataFrame, Mapping[Period, Agreed]]:
    """Return the delivered fair starts of attempts, by the rule that the log of each period shows.

    Args:
        log: of the pool; all attempts at hand.
        holds_of: returns ``holds_in`` a log, or in what was known of it at the end of a period.
        periods: to which attempts belong; one of none of them belongs to the period before, if
            there is any, else to the first.
        history_s: seconds before the end of a period that are its log; None: all attempts are.
        wanted: selects the attempts to compute, by columns of ``model.DESCRIBED``; None: all.
        tau_s: τ of the fair slowdown, s.
        known: what was compared before in the log of each period.
        kept: returns a table that is needed for long, in little memory.

    Returns:
        ``workload.KEYS`` and the columns of ``delivered_starts``, of the wanted attempts in the log
        of their period; and what that log shows.
    """
    attempts = log.attempts
    chosen = attempts.select(holds=pl.lit(value=True) if wanted is None else wanted)["holds"]
    mine = np.ones(attempts.height, np.bool_) & chosen.fill_null(value=False).to_numpy()
    every = sorted(periods, key=lambda period: period.from_time)
    before = known or {}
    if history_s is None:
        found, made = _of_log(log, holds_of, mine, tau_s, before.get(every[0], NOTHING))
        return made, dict.fromkeys(every, found)
    at = attempts.select(belongs_at().fill_null(0)).to_series().to_numpy()
    begins = [period.from_time for period in every]
    place = np.maximum(np.searchsorted(begins, at, side="right") - 1, 0)
    parts, shown = [], {}
    for number, period in enumerate(every):
        seen = attempts.with_columns(own=pl.Series(mine & (place == number)))
        seen = as_of(seen, period.to_time - history_s, period.to_time)
        own = seen["own"].to_numpy()
        part = log.but(attempts=kept(seen.drop("own")), now=min(log.now, period.to_time))
        del seen  # before more is made
        shown[period], made = _of_log(part, holds_of, own, tau_s, before.get(period, NOTHING))
        parts.append(made)
    return pl.concat(parts), shown


def _of_log(
    log: Scenario,
    holds_of: Callable[[Scenario], pl.DataFrame],
    mine: Bools,
    tau_s: int,
    known: Known,
) -> tuple[Agreed, pl.DataFrame]:
    """Return which rules agree with a log, and the fair starts of some of its attempts."""
    log = log.to_compare()
    until = held_until(log.attempts, log.pool, holds_of(log))
    found = agreed(log, until, known)
    made = delivered_starts(log, found.known, held_until=until, chosen=mine, tau_s=tau_s)
    return found, only(made.select(*KEYS, *ADDED), pl.Series(mine))
