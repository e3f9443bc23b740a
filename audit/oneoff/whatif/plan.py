"""``fairaudit whatif``: gains and losses under a change."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl

from audit.cluster import charges, fairshare, ranking
from audit.cluster.delivered import replayed_agreement
from audit.cluster.fairshare import DAY_S, FairshareInputs
from audit.cluster.setting import ClusterSettings
from audit.config import Config
from audit.errors import UsageError
from audit.metrics.attempts.fidelity import KNOWN
from audit.metrics.draws import Draws
from audit.metrics.fairshare.usage import Windows
from audit.model import BY_USAGE, Order, Pool
from audit.oneoff.study import Made, StudyPlan
from audit.oneoff.whatif import page
from audit.oneoff.whatif.page import PoolChange
from audit.pipeline.inferring import in_force
from audit.pipeline.opening import ClusterLog, pools
from audit.report import wording
from audit.report.study.cells import StudyCell, studied
from audit.scenario.ownership import EQUAL_SHARES
from audit.scenario.scenario import Scenario, ScenarioChange, all_changed, require_known
from audit.scenario.whatif import comparison, options
from audit.scenario.whatif.comparison import MOST_MISSED, NOT_AGREEING, NOT_REPRODUCED


def plan(
    change: ScenarioChange, only: str | None, config: Config, folder: Path, *, fit: bool = True
) -> Callable[[ClusterLog, Draws], StudyPlan]:
    """Return what to do with a log.

    Args:
        only: the name of the pool to change; None: all are.
        fit: whether the rules that the log shows are in force, today and after the change.
    """
    if change == ScenarioChange():
        raise UsageError("whatif: pass a change, such as --order sjf or --capacity +10")

    def of(log: ClusterLog, draws: Draws) -> StudyPlan:
        configured = fairshare.of_site(log.cluster, folder)
        stated = log.setting.facts
        log = in_force(log, folder=folder, only=None if only is None else (only,), fit=fit)
        todays = [
            scenario(log.described, log.setting, pool, change, configured)
            for pool in pools(log, only)
        ]
        afters = all_changed(todays, change)
        agreements = [
            replayed_agreement(today, log.setting.shown_of(today.pool.name).holding)
            for today in todays
        ]
        cells = [
            StudyCell(
                f"{today.pool.name}: {name}",
                partial(comparison.played, replayed, config.metrics.tau_s),
            )
            for today, after in zip(todays, afters, strict=True)
            for name, replayed in (("today", today), ("after", after))
        ]

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            compared = []
            pairs = zip(frames[::2], frames[1::2], strict=True)
            each = zip(todays, afters, agreements, pairs, strict=True)
            for today, after, agreement, played in each:
                one = _compared(today, after, agreement, played, draws, config)
                if change.half_life_s is not None:
                    one = one._replace(decay_today=decay_today(configured, today))
                compared.append(one)
            title = options.title(change, *(today.pool for today in todays))
            asked = options.written(change)
            return Made(
                page.study(log.setting.cluster, title, asked, compared, draws),
                studied([row for one in compared for row in _rows(one, title)]),
            )

        of_log = (only, fit, configured.chosen, configured.in_force)
        settings = " ".join(map(str, (options.written(change), *of_log)))
        facts = [fact for fact in log.setting.facts if fact not in stated]
        return StudyPlan(settings, cells, finish, facts)

    return of


def scenario(
    described: pl.DataFrame,
    setting: ClusterSettings,
    pool: Pool,
    change: ScenarioChange,
    configured: FairshareInputs,
) -> Scenario:
    """Return a pool as it is today, with usage where it or the change needs it.

    Raises:
        UsageError: a limit of the change is for a user, account, partition or QOS that is unknown.
    """
    require_known(change.limits, described)
    orders = {pool.policy.order, change.policy.get("order"), pool.fair_order}
    ranked = EQUAL_SHARES
    if by_usage := sorted({*BY_USAGE} & orders):
        policies = [pool.policy._replace(order=order) for order in by_usage]
        other_decay = change.half_life_s is not None
        ranked = ranking.of(configured, setting, policies, nearest_decay=other_decay)
        described = charges.charged(described, setting, configured)
    return Scenario(described.filter(pl.col("pool") == pool.name), pool, setting.now, ranked)


def _compared(
    today: Scenario,
    after: Scenario,
    agreement: float | None,
    played: tuple[pl.DataFrame, pl.DataFrame],
    draws: Draws,
    config: Config,
) -> PoolChange:
    """Return what a change does to a pool; ``played`` are both replays."""
    before, then = played
    parts = comparison.compared(before, then, draws, config.metrics.tolerance_s)
    missed = comparison.missed_share(parts)
    if agreement is None or agreement < KNOWN:
        parts = comparison.untested(parts, NOT_AGREEING)
    elif missed >= MOST_MISSED:
        parts = comparison.untested(parts, NOT_REPRODUCED)
    first, last = today.attempts.select(
        first=pl.col("arrival_time").min().fill_null(0),
        last=pl.col("arrival_time").max().fill_null(0),
    ).row(0)
    return PoolChange(
        today.pool.name,
        today.pool.policy.name,
        after.pool.policy.name,
        comparison.whole(before, today.pool, (first, last), then),
        comparison.whole(then, after.pool, (first, last), before),
        parts,
        comparison.replay_error(today.attempts, before),
        agreement,
        missed,
        comparison.only_after(before, then),
        comparison.cut(today, after),
    )


def _rows(compared: PoolChange, change: str) -> Iterator[tuple[object, ...]]:
    """Yield rows of ``cells.STUDIED``: every figure today, after the change, and the difference."""
    none = (None, None)
    for row in compared.parts.iter_rows(named=True):
        part = (row["dimension"], row["part"])
        counted = (row["unit"], row["attempts"])
        figures = [
            ("today", row["today"], *none),
            (change, row["changed"], *none),
            (f"{change} − today", row["difference"], row["lower"], row["upper"]),
        ]
        if row["measure"] == "wait_mean":
            figures.append(("observed", row["observed"], *none))
            never = row["never_start"]
            starts = ("never_start", *part, float(never), *none, "attempts", never)
            yield (compared.pool, change, *starts)
        for setting, *figure in figures:
            yield (compared.pool, setting, row["measure"], *part, *figure, *counted)
    for metric in ("agreement", "missed_share"):
        value = (getattr(compared, metric), *none, "1", compared.today.attempts)
        yield (compared.pool, "today", metric, "all", None, *value)
    schedules = {"today": compared.today}
    if compared.is_stated:
        schedules[change] = compared.after
    for setting, whole in schedules.items():
        for metric, unit in _WHOLE.items():
            value = getattr(whole, metric)
            single = (None if value is None else float(value), *none, unit, whole.attempts)
            yield (compared.pool, setting, metric, "all", None, *single)


_WHOLE: Final = {
    "utilization": "1",
    "loss_of_capacity": "1",
    "span_s": "s",
    "uwt": "s/resource·s",
    "nuwt_median": "s/resource·s",
    "nuwt_deviation": "s/resource·s",
}


def decay_today(configured: FairshareInputs, today: Scenario) -> str:
    """Describe how usage decays before a change of the half-life, and how that is replayed."""
    chosen = configured.chosen
    if chosen.method == "windows":
        window = wording.duration(chosen.interval_days * DAY_S)
        if chosen.depth == 1:
            return f"usage is that of the last {window}"
        return (
            f"usage is that of the last {chosen.depth} windows of {window}, each weighing "
            f"{chosen.decay:g} times the next younger one"
        )
    half_life_s = chosen.half_life_days * DAY_S
    if chosen.method == "slurm":
        half_life_s = configured.half_life_s
    if half_life_s > 0:
        return f"usage is halved in {wording.duration(half_life_s)}"
    forgotten = f"usage does not decay, and is forgotten {configured.reset}"
    if Order.fairshare not in (today.pool.policy.order, today.pool.fair_order):
        return forgotten
    assert isinstance(today.fairshare.method, Windows)
    window = wording.duration(today.fairshare.method.interval_s)
    return f"{forgotten}; today's replay takes that of the last {window} instead"
