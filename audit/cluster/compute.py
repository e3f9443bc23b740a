"""Computes the rows of the result tables from the attempts of a cluster."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl
import polars.selectors as cs

from audit.cluster import charges, ranking
from audit.cluster.delivered import Agreed, delivered, holds_in
from audit.cluster.fairshare import FairshareInputs, histories
from audit.cluster.identity import Identity
from audit.cluster.passed import OfLog
from audit.cluster.predicted import predicted
from audit.cluster.rules import recorded_rules, rules_of, waiting_by_rule, with_waiting
from audit.cluster.setting import ClusterSettings, covered
from audit.cluster.windows import WHOLE, ComputedWindow, of_days
from audit.config import Config
from audit.metrics import dominant_share
from audit.metrics.attempts import (
    account,
    base,
    passed_over,
    performance,
    population,
    similar,
    users,
)
from audit.metrics.attempts.account import Account
from audit.metrics.attempts.fidelity import edges, of_account
from audit.metrics.attempts.parts import SummaryRow
from audit.metrics.attempts.recorded import RECORDED, SITE_PRIORITY
from audit.metrics.attempts.resource_equality import resource_equality
from audit.metrics.attempts.summary import (
    KINDS,
    EarlierResults,
    SummaryOptions,
    conservation_of,
    summarise,
)
from audit.metrics.fairshare.requested import beyond_request
from audit.metrics.preemption import interrupted
from audit.model import OBSERVED, Period, Pool, Standing
from audit.on_disk import on_disk, release
from audit.progress import OnProgress, silent
from audit.scenario import ownership
from audit.scenario.advice.advise import advise
from audit.scenario.driver import ALL, Effort
from audit.scenario.engine import model_fidelity
from audit.scenario.fair_start import fair_start_times
from audit.scenario.plateaus.sweeping import unstartable
from audit.scenario.scenario import Scenario
from audit.scenario.workload import KEYS
from audit.words import OF_TYPE

_UNUSED: Final = (
    *("job_number", "array_task", "array_tasks", "het_offset", "kind", "eligible_time", "waited_s"),
    *("line", "byte_offset", "penalty", "beyond_penalty", "req_for_memory"),
)
"""Columns of ``model.DESCRIBED`` that ``job_result`` lacks."""

_OF_JOBS_ALONE: Final = (
    *("group", "re_deserved", "overtook", "fst_rule", "fst_delivered_status"),
    *("byte_offset", "waited_s"),
)
"""Columns of ``job_result`` that figures of periods do not use."""

_WAITS: Final = "causes of waits"
_FIGURES: Final = "figures of users, and advice"
_STARTS: Final = "predicted starts"
_DELIVERED: Final = "delays by later arrivals"

HISTORY: Final = "fairshare_history"
"""Rows that the store keeps in two tables (``store.appending.Histories``)."""

HOLDS: Final = pl.Schema(
    {
        **dict.fromkeys(("kind", "entity_kind", "entity"), pl.String),
        "jobs": pl.Int64,
        "evidence": pl.String,
    }
)


@dataclass(frozen=True)
class Task:
    """The input of a computation of a cluster's figures."""

    attempts: pl.DataFrame  # those that the window needs, or all; columns of ``model.ATTEMPTS``
    setting: ClusterSettings
    fairshare: FairshareInputs
    due: Sequence[Identity]  # the runs, one for each period
    kept: Mapping[Period, str] = field(default_factory=dict)
    """Other current periods and their runs, whose figures stay; all others are removed."""
    window: ComputedWindow = WHOLE  # the attempts and days of the due periods; those of others stay
    history_s: int | None = None
    """Seconds before the end of a period that are its log; None: all attempts are."""
    settings: Mapping[Period, ClusterSettings] = field(default_factory=dict)
    """Those of due periods, which differ in evidence alone; others: ``setting``."""
    newest: ClusterSettings | None = None
    """The setting that describes the cluster; None: ``setting``."""
    pages: bool = True
    """Whether pages of users or accounts may be made, which compare them with all others."""
    predict: bool = True  # whether to predict starts also in pools without pending jobs

    def of(self, period: Period) -> ClusterSettings:
        """Return the setting of a period."""
        return self.settings.get(period, self.setting)


class TableRows(NamedTuple):
    """Rows of a result table, without ``run_id``."""

    table: str
    period: Period | None  # None: rows of no single period
    rows: pl.DataFrame


class _Work(NamedTuple):
    """Data that figures of all pools and periods use."""

    task: Task
    seeds: Mapping[Period, int]
    config: Config
    ranked: ownership.Fairshare
    compared: ownership.Fairshare  # for orders that may be the site's
    folder: Path | None
    effort: Effort
    progress: OnProgress

    def begin(self, stage: str, of: int = 1) -> None:
        """Report that a stage begins, which needs none of the memory that the last one freed."""
        release()
        self.progress(stage, 0, of)

    def kept(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a table that is needed for long, in little memory."""
        return on_disk(population.compact(frame), self.folder)


def compute(
    task: Task,
    seeds: Mapping[Period, int],
    config: Config,
    folder: Path | None = None,
    effort: Effort = ALL,
    on_progress: OnProgress = silent,
) -> Iterator[TableRows]:
    """Yield all results of a cluster as they are made, which keeps memory low.

    Args:
        seeds: those of the bootstraps, by due period.
        folder: for temporary files of long tables; None: they stay in memory.
        effort: executor of fair start times.
        on_progress: called with the current stage, its progress and its total.

    Yields:
        Rows that include ``cluster`` and ``period``. Rows about jobs have no period: their run is
        that of the period in which the job ended.
    """
    setting, fairshare = task.setting, task.fairshare
    ranked = ranking.of(fairshare, setting, (pool.policy for pool in setting.pools))
    compared = ranking.of_candidates(fairshare, setting, ranked)
    work = _Work(task, seeds, config, ranked, compared, folder, effort, on_progress)
    cluster = pl.lit(setting.cluster).alias("cluster")
    for table, period, rows in _tables(work):
        named = [] if period is None else [pl.lit(period.name).alias("period")]
        yield TableRows(table, period, rows.with_columns(cluster, *named))
        del rows  # before more is made


def _tables(work: _Work) -> Iterator[TableRows]:
    """Yield as ``compute``, without the names of cluster and period."""
    task, seeds, metrics = work.task, work.seeds, work.config.metrics
    setting, fairshare, window = task.setting, task.fairshare, task.window
    described = population.describe(
        task.attempts, setting.pools, setting.partition_pool, tau_s=metrics.tau_s
    )
    described = work.kept(described)
    yield TableRows("coverage_result", None, of_days(described, setting.zone, window))
    charged = charges.charged(described, setting, fairshare)
    charged = work.kept(charges.beyond_requests(charged, setting, fairshare))
    del described
    for period in seeds:
        parts = histories(charged, setting, period, fairshare)
        yield from (TableRows(HISTORY, period, part) for part in parts)
    for period, compared in charges.compare(charged, setting, fairshare, seeds):
        yield TableRows("penalty_result", period, compared.penalties)
        yield TableRows("charge_result", period, compared.charges)
    attempts_of_all = charged.height
    for pool in setting.pools:
        of_pool = population.only(charged, pl.col("pool") == pool.name)
        budget_s = work.config.simulation.budget_s * of_pool.height / max(attempts_of_all, 1)
        if pool == setting.pools[-1]:
            del charged
        log = Scenario(of_pool, pool, setting.now, work.ranked)
        of_pool = window.needed(of_pool, pool)
        scenario = log if of_pool is log.attempts else log.but(attempts=of_pool)
        holds = holds_in(scenario, setting.shown_of(pool.name).holding)
        jobs, booked = _completed(work, scenario, holds, budget_s)
        jobs, agreed = _with_delivered(work, jobs, log, holds if scenario is log else None)
        del log
        yield from _fidelities(work, scenario.but(attempts=jobs), booked, agreed)
        if task.predict or (scenario.attempts["standing"] == Standing.PENDING).any():
            work.begin(_STARTS)
            nightly = task.history_s is not None
            starts = predicted(scenario, setting.zone, window, nightly=nightly)
            yield TableRows("prediction_result", None, starts.with_columns(pool=pl.lit(pool.name)))
            work.progress(_STARTS, 1, 1)
        del scenario, of_pool
        work.begin(_FIGURES, len(seeds))
        jobs = work.kept(similar.similar_waits(jobs, [*seeds, *task.kept]))
        stuck = similar.stuck(jobs, pool, setting.now, metrics.tolerance_s)
        own = population.only(window.own(jobs), pl.col("tasks") > 0)
        stuck = stuck.join(own, on=["job_id", "attempt"], how="semi", maintain_order="left")
        yield TableRows("stuck_result", None, stuck.with_columns(pool=pl.lit(pool.name)))
        unstored = (*_UNUSED, *account.UNSTORED, *similar.HELPERS)
        yield TableRows("job_result", None, own.drop(unstored, cs.starts_with(OF_TYPE)))
        del own
        jobs = jobs.drop(_OF_JOBS_ALONE)
        yield from _of_periods(work, jobs, booked, pool, agreed)


def _completed(
    work: _Work, scenario: Scenario, holds: pl.DataFrame, budget_s: float
) -> tuple[pl.DataFrame, Account]:
    """Return the attempts with all their own figures but delays, and the account of their waits.

    Args:
        holds: the inferred ones.
        budget_s: estimated CPU seconds for the fair start times of the papers.
    """
    metrics, pool, setting = work.config.metrics, scenario.pool, work.task.setting
    window, effort = work.task.window, work.effort
    work.begin(_WAITS)
    shares = resource_equality(
        beyond_request(interrupted(scenario.attempts), pool),
        setting.now,
        metrics.resource_equality_weights,
        metrics.count_never_started,
    )
    passed = work.kept(performance.overtakes(shares))
    del shares
    shown = setting.shown_of(pool.name)
    booked = account.account(
        *(passed, pool, setting.now),
        log_begin=setting.log_begin,
        holds=holds,
        passes=shown.passes,
    )
    every = booked.attempts.drop(RECORDED, SITE_PRIORITY, strict=False)
    booked = booked._replace(attempts=every.clear())
    every = work.kept(every)
    release()
    marked = unstartable(passed, pool, setting.now, setting.log.from_time, shown.holding.own)
    booked = booked._replace(attempts=work.kept(every.with_columns(marked)))
    del every, marked, passed  # before more is made
    release()
    work.progress(_WAITS, 1, 1)
    fair = fair_start_times(
        scenario.but(attempts=booked.attempts),
        effort=effort._replace(
            on_progress=partial(work.progress, "fair start times"),
            budget_s=budget_s,
            wanted=None if window.whole else window.holds(),
        ),
        tau_s=metrics.tau_s,
    )
    fair = work.kept(fair)
    return fair, booked._replace(attempts=fair.clear())


def _with_delivered(
    work: _Work, jobs: pl.DataFrame, log: Scenario, holds: pl.DataFrame | None
) -> tuple[pl.DataFrame, Mapping[Period, Agreed]]:
    """Add the delays of attempts by later arrivals; return also which rules agree with the log.

    Args:
        holds: the inferred ones of all attempts of the log; None: they were not needed yet.
    """
    task, window = work.task, work.task.window
    holding = task.setting.shown_of(log.pool.name).holding

    def holds_of(part: Scenario) -> pl.DataFrame:
        whole = part.attempts is log.attempts
        return holds if whole and holds is not None else holds_in(part, holding)

    if work.compared != work.ranked:
        log = log.but(fairshare=work.compared)
    work.begin(_DELIVERED)
    found, agreed = delivered(
        log,
        holds_of,
        [*work.seeds, *(period for period in task.kept if window.overlaps(period))],
        task.history_s,
        None if window.whole else window.holds(),
        work.config.metrics.tau_s,
        {period: task.of(period).shown_of(log.pool.name).compared for period in work.seeds},
        work.kept,
    )
    work.progress(_DELIVERED, 1, 1)
    jobs = jobs.drop("fair_slowdown")  # of the strict fair start
    return work.kept(population.beside(jobs, found, KEYS)), agreed


def _fidelities(
    work: _Work, scenario: Scenario, booked: Account, agreed: Mapping[Period, Agreed]
) -> Iterator[TableRows]:
    """Yield how well rules agree with the starts of each period, how well the policy of a pool
    reproduces it, and what the account assumes.
    """
    pool, setting = scenario.pool, work.task.setting
    model = {
        "pool": pl.lit(pool.name),
        "order": pl.lit(pool.policy.order.value),
        "backfill": pl.lit(pool.policy.backfill.value),
        "fair_order": pl.lit(pool.fair_order.value),
    }
    for period in work.seeds:
        passes = work.task.of(period).shown_of(pool.name).passes
        starts = booked.starts if passes is None or passes.plan is None else passes.starts
        assumed = of_account(booked.plan, starts, booked.interval_s)
        of_model = model_fidelity(scenario, period)
        of_log = edges(scenario.attempts, setting.log, period, by_end=setting.by_end)
        of_policy = pl.concat([of_model, of_log, assumed]).with_columns(**model)
        of_rules = (
            agreed[period]
            .rows(pool)
            .with_columns(**{name: model[name] for name in ("pool", "fair_order")})
        )
        yield TableRows("fidelity_result", period, pl.concat([of_policy, of_rules], how="diagonal"))


def _of_periods(
    work: _Work, jobs: pl.DataFrame, booked: Account, pool: Pool, agreed: Mapping[Period, Agreed]
) -> Iterator[TableRows]:
    """Yield a pool's figures in each period; what periods share is computed once."""
    setting, metrics, shares = work.task.setting, work.config.metrics, work.task.fairshare.of_all
    options = SummaryOptions(
        keep_single=metrics.keep_single_job_users,
        count_never_started=metrics.count_never_started,
        resamples=work.config.uncertainty.resamples,
        tolerance_s=metrics.tolerance_s,
    )
    conserved = conservation_of(jobs, setting.now, options)
    budget_s = work.config.simulation.advice_budget_s / len(setting.pools)
    scenario = Scenario(jobs, pool, setting.now, work.ranked)
    of_pool = pl.lit(pool.name).alias("pool")
    holding = setting.shown_of(pool.name).holding
    recorded = recorded_rules(pool, jobs)
    evidence = OfLog.of(jobs, pool, setting.now, holding, booked.barred.filter("held"))
    release()
    for number, (period, seed) in enumerate(work.seeds.items()):
        work.progress(_FIGURES, number, len(work.seeds))
        own = work.task.of(period).shown_of(pool.name)
        rules = rules_of(pool, own.evidence, setting.declared)
        rules = pl.concat([rules, recorded])
        holds = pl.DataFrame(own.holds, HOLDS)
        around = population.around(jobs, period)
        of_period = options._replace(covered=covered(period, setting.log))
        passed = evidence.passed_over(jobs, period, setting.zone, shares)
        judged_by = base.base_of(period, setting.log, setting.zone)
        of_base = passed
        if judged_by != period:
            of_base = evidence.passed_over(jobs, judged_by, setting.zone, shares)
        for table, rows in _base(work, jobs, judged_by, of_base, seed):
            yield TableRows(table, period, rows.with_columns(of_pool))
        whole = (conserved, passed, booked)
        yield from _summaries(work, around, pool, period, of_period, whole)
        del around
        ended = population.in_period(jobs, period)
        by_rule = waiting_by_rule(ended, pool)
        advised = advise(
            *(scenario, period, budget_s, seed, by_rule, work.effort.executor),
            agreement=agreed[period].replayed,
        )
        for table, rows in (
            ("rule_result", with_waiting(rules, ended)),
            ("hold_result", holds),
            ("outage_result", outages_in(booked.outages, period)),
            ("advice_result", advised.changes),
            ("advice_part", advised.parts),
        ):
            yield TableRows(table, period, rows.with_columns(of_pool))
    work.progress(_FIGURES, len(work.seeds), len(work.seeds))


def _base(
    work: _Work, jobs: pl.DataFrame, judged_by: Period, passed: pl.DataFrame, seed: int
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield what the verdict on a period is decided by."""
    config, task = work.config, work.task
    of = (config.verdict, task.setting.zone, seed, config.uncertainty.resamples)
    yield "base_result", base.of_base(jobs, judged_by, passed, *of)
    lower = task.fairshare.lower_priority
    yield "overtaken_result", base.overtaken(jobs, judged_by, passed, lower)


def _summaries(
    work: _Work,
    around: pl.DataFrame,
    pool: Pool,
    period: Period,
    options: SummaryOptions,
    whole: tuple[SummaryRow, pl.DataFrame, Account],
) -> Iterator[TableRows]:
    """Yield the rows about a pool's entities, and its summary.

    Args:
        whole: the conservation of resource equality, the tests for being passed over, and the
            account of all waits.
    """
    setting, shares = work.task.setting, work.task.fairshare.of_all
    seed, (conserved, passed, booked) = work.seeds[period], whole
    observed = {"pool": pl.lit(pool.name), "schedule": pl.lit(OBSERVED)}
    ended = performance.array_spans(population.in_period(around, period))
    entities = users.by_entities(ended, KINDS, options.tolerance_s)
    del ended
    span = options.covered or (period.from_time, period.to_time)
    held = booked.barred.filter("held")
    for kind in KINDS:
        place = (kind, around, pool, span, setting.now, shares.get(kind), held)
        entities[kind], curves = dominant_share.beside(entities[kind], *place)
        if kind == "account":
            rows = curves.rename({"entity": "account"}).with_columns(pool=observed["pool"])
            yield TableRows("share_result", period, rows)
    for of_kind in entities.values():
        rows = passed_over.beside(of_kind, passed)
        yield TableRows("entity_result", period, rows.with_columns(**observed))
    known = EarlierResults(entities, conserved, passed, booked.guessed)
    of_period = (pool, period, setting.now, setting.zone)
    summary = summarise(around, *of_period, seed, options, known=known)
    yield TableRows("summary_result", period, summary.with_columns(**observed))


def outages_in(outages: pl.DataFrame, period: Period) -> pl.DataFrame:
    """Return the outages that overlap a period."""
    if period.whole_log:
        return outages
    return outages.filter(
        pl.col("from_time") < period.to_time, pl.col("to_time") > period.from_time
    )
