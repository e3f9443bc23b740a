"""From the attempts of a cluster to the rows of the result tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import Final, NamedTuple

import polars as pl

from audit import config, periods
from audit.cluster import charges, ranking, rules_in_force
from audit.cluster.fairshare import Fairshare, histories
from audit.cluster.setting import Setting, covered, whole_log
from audit.cluster.windows import WHOLE, Window
from audit.metrics.attempts import (
    account,
    anatomy,
    passed_over,
    peers,
    performance,
    population,
    users,
)
from audit.metrics.attempts.account import Account
from audit.metrics.attempts.parts import Row
from audit.metrics.attempts.resource_equality import resource_equality
from audit.metrics.attempts.summary import KINDS, Known, Options, conservation_of, summarise
from audit.metrics.pairs import EARLIER_S, Held
from audit.metrics.usage_order import Shares
from audit.model import OBSERVED, Period, Pool
from audit.scenario import ownership
from audit.scenario.advice.advise import advise
from audit.scenario.decisions import decision_times
from audit.scenario.driver import ALL, Effort
from audit.scenario.engine import model_fidelity
from audit.scenario.fair_start import fair_start_times
from audit.scenario.forward import forward_start_times
from audit.scenario.scenario import Scenario

_UNUSED: Final = (
    *("job_number", "array_task", "het_offset", "kind", "eligible_time", "waited_s"),
    *("suspended_s", "line", "byte_offset", "penalty"),
)
"""Columns of ``DESCRIBED`` that the result of a job does not repeat."""


_WRITTEN: Final = ("group", "re_deserved", "overtook", "fst_basis", "forward_basis")
"""Columns of that result on which no figure of a period rests."""

HISTORY: Final = "fairshare_history"
"""Rows that the store keeps in two tables (``store.histories``)."""


class Wanted(NamedTuple):
    """What is to be computed."""

    seeds: Mapping[Period, int]
    """The periods to report, each with the seed of its bootstrap."""
    kept: Collection[Period] = ()
    """The other current periods, whose figures stay."""
    window: Window = WHOLE
    """Of which attempts and days rows are made; those of others stay as they are."""


class Rows(NamedTuple):
    """Rows of one of the result tables, without ``run_id``."""

    table: str
    period: Period | None
    """Whose rows these are; None: of all."""
    rows: pl.DataFrame


def compute(
    attempts: pl.DataFrame,
    setting: Setting,
    wanted: Wanted,
    chosen: config.Config,
    fairshare: Fairshare,
    known: pl.DataFrame | None = None,
    effort: Effort = ALL,
) -> Iterator[Rows]:
    """Every figure of one cluster, as it is made: what was taken need not be held.

    Args:
        attempts: its attempts, columns of ``model.ATTEMPTS``: all, or as many as the window needs.
        wanted: the periods to report, and of which attempts rows are made.
        known: fair start times that were computed before, by pool, with what they rest on.
        effort: who computes the fair start times, and who is told of their progress.

    Yields:
        Rows of the result tables; ``period`` and ``cluster`` are among their columns. A job's row
        is of no period: its run is that of the period in which it ended.
    """
    cluster = pl.lit(setting.cluster).alias("cluster")
    tables = _tables(attempts, setting, wanted, chosen, fairshare, known, effort)
    del attempts
    for table, period, rows in tables:
        named = [] if period is None else [pl.lit(period.name).alias("period")]
        yield Rows(table, period, rows.with_columns(cluster, *named))
        del rows  # before more is made


def _tables(
    attempts: pl.DataFrame,
    setting: Setting,
    wanted: Wanted,
    chosen: config.Config,
    fairshare: Fairshare,
    known: pl.DataFrame | None,
    effort: Effort,
) -> Iterator[Rows]:
    """As ``compute``, without the names of cluster and period."""
    seeds, kept, window = wanted
    described = population.compact(
        population.describe(
            attempts, setting.pools, setting.partition_pool, tau_s=chosen.metrics.tau_s
        )
    )
    yield Rows("coverage_result", None, of_days(described, setting, window))
    charged = charges.charged(described, setting, fairshare)
    log = window.log or whole_log(attempts, setting.now)
    del attempts, described
    for period in seeds:
        for part in histories(charged, setting, period, fairshare):
            yield Rows(HISTORY, period, part)
    for period, compared in charges.compare(charged, setting, fairshare, seeds):
        yield Rows("penalty_result", period, compared.penalties)
        yield Rows("charge_result", period, compared.charges)
    ranked = ranking.of(fairshare, setting, (pool.policy for pool in setting.pools))
    shared = Shared(ranked, fairshare.of_all, log)
    for pool in setting.pools:
        of_pool = population.only(charged, pl.col("pool") == pool.name)
        if pool == setting.pools[-1]:
            del charged
        of_pool = window.needed(of_pool, pool)
        scenario = Scenario(of_pool, pool, setting.now, ranked)
        jobs, booked = _completed(scenario, chosen, known, effort, window)
        yield from _fidelities(scenario.described_by(jobs), chosen, seeds)
        del scenario
        jobs = peers.peer_waits(jobs, [*seeds, *kept], (*pool.limits, *pool.windows))
        beyond = peers.stuck(jobs, pool, setting.now, [*seeds, *kept], chosen.metrics.tolerance_s)
        del of_pool
        own = window.own(jobs)
        beyond = beyond.join(own, on=["job_id", "attempt"], how="semi", maintain_order="left")
        yield Rows("stuck_result", None, beyond.with_columns(pool=pl.lit(pool.name)))
        yield Rows("job_result", None, own.drop(_UNUSED))
        del own
        jobs = jobs.drop(_WRITTEN)
        yield from _of_periods(jobs, booked, pool, setting, seeds, chosen, shared)


class Shared(NamedTuple):
    """Facts that the figures of all pools and periods rest on."""

    ranked: ownership.Fairshare
    shares: Shares
    log: Period


def _of_periods(
    jobs: pl.DataFrame,
    booked: Account,
    pool: Pool,
    setting: Setting,
    seeds: Mapping[Period, int],
    chosen: config.Config,
    shared: Shared,
) -> Iterator[Rows]:
    """Figures of a pool in each period; what periods share is worked out once."""
    options = Options(
        keep_single=chosen.metrics.keep_single_job_users,
        count_never_started=chosen.metrics.count_never_started,
        resamples=chosen.uncertainty.resamples,
        tolerance_s=chosen.metrics.tolerance_s,
    )
    conserved = conservation_of(jobs, setting.now, options)
    budget_s = chosen.simulation.advice_budget_s / len(setting.pools)
    scenario = Scenario(jobs, pool, setting.now, shared.ranked)
    for period, seed in seeds.items():
        around = population.around(jobs, period)
        of_period = options._replace(covered=covered(period, shared.log))
        passed = _passed(jobs, booked, pool, period, setting, shared)
        yield from _summed_up(around, pool, period, setting, seed, of_period, conserved, passed)
        del around
        held_by_rules = rules_in_force.shares(population.in_period(jobs, period), pool)
        advised = advise(scenario, period, budget_s, seed, held_by_rules)
        of_pool = {"pool": pl.lit(pool.name)}
        known = rules_in_force.rules_of(pool, setting.evidence.get(pool.name, ()))
        yield Rows("rule_result", period, known.with_columns(**of_pool))
        outages = rules_in_force.outages_in(booked.outages, period)
        yield Rows("outage_result", period, outages.with_columns(**of_pool))
        yield Rows("advice_result", period, advised.changes.with_columns(**of_pool))
        yield Rows("advice_part", period, advised.parts.with_columns(**of_pool))


def _passed(
    jobs: pl.DataFrame,
    booked: Account,
    pool: Pool,
    period: Period,
    setting: Setting,
    shared: Shared,
) -> pl.DataFrame:
    """Return who was passed over in a period."""
    around = population.around(jobs, period, EARLIER_S)
    held = _rows_of(around, booked.barred)
    return passed_over.of_period(around, pool, period, setting.zone, shared.shares, held)


def _rows_of(around: pl.DataFrame, barred: pl.DataFrame) -> Held:
    """Return by row of ``around`` when attempts were held or under a rule."""
    places = around.select(*account.KEY, row=pl.int_range(pl.len()))
    held = barred.join(places, on=account.KEY).sort("row", "begin")
    return Held(*(held[name].to_numpy() for name in ("row", "begin", "end")))


def _summed_up(
    around: pl.DataFrame,
    pool: Pool,
    period: Period,
    setting: Setting,
    seed: int,
    options: Options,
    conserved: Row,
    passed: pl.DataFrame,
) -> Iterator[Rows]:
    """What the attempts around a period tell of a pool, its groups, users and accounts."""
    observed = {"pool": pl.lit(pool.name), "schedule": pl.lit(OBSERVED)}
    held = population.in_period(around, period)
    entities = users.by_entities(held, KINDS, options.tolerance_s)
    del held
    for of_kind in entities.values():
        rows = passed_over.beside(of_kind, passed)
        yield Rows("entity_result", period, rows.with_columns(**observed))
    summary = summarise(
        around,
        pool,
        period,
        setting.now,
        setting.zone,
        seed,
        options,
        known=Known(entities, conserved, passed),
    )
    yield Rows("summary_result", period, summary.with_columns(**observed))


def _fidelities(
    scenario: Scenario, chosen: config.Config, periods: Iterable[Period]
) -> Iterator[Rows]:
    """How well the policy of a pool explains each period."""
    pool = scenario.pool
    of_pool = {
        "pool": pl.lit(pool.name),
        "order": pl.lit(pool.policy.order.value),
        "backfill": pl.lit(pool.policy.backfill.value),
        "fair_order": pl.lit(pool.fair_order.value),
    }
    for period in periods:
        fidelity = model_fidelity(scenario, period, chosen.metrics.tolerance_s)
        yield Rows("fidelity_result", period, fidelity.with_columns(**of_pool))


def _completed(
    scenario: Scenario,
    chosen: config.Config,
    known: pl.DataFrame | None,
    effort: Effort,
    window: Window,
) -> tuple[pl.DataFrame, Account]:
    """Return the attempts with all figures of their own, and the account of their waits."""
    metrics, pool, now = chosen.metrics, scenario.pool, scenario.now
    wanted = None if window.whole else window.holds()
    shares = resource_equality(
        scenario.attempts, now, metrics.resource_equality_weights, metrics.count_never_started
    )
    known = None if known is None else known.filter(pl.col("pool") == pool.name)
    decided = decision_times(
        scenario.described_by(performance.overtakes(shares)), tolerance_s=metrics.tolerance_s
    )
    cycle_s = account.cycle_of(pool, metrics.tolerance_s)
    booked = account.account(anatomy.anatomy(decided, pool, now), pool, now, cycle_s=cycle_s)
    fair = fair_start_times(
        scenario.described_by(population.compact(booked.attempts)),
        known=known,
        effort=effort._replace(budget_s=chosen.simulation.budget_s, wanted=wanted),
        tau_s=metrics.tau_s,
    )
    forward = forward_start_times(
        scenario.described_by(population.compact(fair)), known=known, effort=effort
    )
    return forward, booked._replace(attempts=forward.clear())


def of_days(described: pl.DataFrame, setting: Setting, window: Window) -> pl.DataFrame:
    """Records by the day on which they ended, the days without any in between included.

    Args:
        described: columns of ``model.DESCRIBED``.
        window: whose days are told of: none before it begins, and none from its end on.
    """
    instant = pl.coalesce("end_time", "arrival_time", "start_time")
    day = (
        pl.from_epoch(instant, time_unit="s")
        .dt.replace_time_zone("UTC")
        .dt.convert_time_zone(setting.zone.key)
        .dt.date()
    )
    counts = described.group_by(day.alias("day")).agg(records=pl.len().cast(pl.Int64))
    begin, end = edges_of(window, setting)
    first, last = counts.select(first=pl.col("day").min(), last=pl.col("day").max()).row(0)
    first = first if begin is None else begin
    last = last if end is None else end - timedelta(days=1)
    if first is None or last is None:
        days = pl.DataFrame(schema={"day": pl.Date})
    else:
        days = pl.select(day=pl.date_range(first, last))
    return (
        days.join(counts, on="day", how="left")
        .sort("day")
        .with_columns(
            records=pl.col("records").fill_null(0),
            refused=pl.lit(0, pl.Int64),
            state=pl.when(pl.col("records").is_null())
            .then(pl.lit("empty"))
            .otherwise(pl.lit("full")),
        )
    )


def edges_of(window: Window, setting: Setting) -> tuple[date | None, date | None]:
    """The first day of a window, and the first after it; None where it has no bound."""
    begin, end = (
        None if edge is None else periods.day_of(edge, setting.zone)
        for edge in (window.from_time, window.to_time)
    )
    return begin, end
