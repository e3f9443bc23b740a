"""``fairaudit whatif``: who would win and who would lose under a change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from audit import config
from audit.cluster import charges, fairshare, ranking
from audit.cluster.fairshare import DAY_S, Fairshare
from audit.errors import UsageError
from audit.metrics.draws import Draws
from audit.metrics.fairshare.usage import Windows
from audit.model import BY_USAGE, Order, Pool
from audit.oneoff.study import Made, Plan
from audit.oneoff.whatif import page
from audit.oneoff.whatif.page import Compared
from audit.pipeline.opening import Log, pools
from audit.policies import SETTINGS
from audit.report.study.cells import Cell, studied
from audit.report.text import wording
from audit.scenario.ownership import EQUAL_SHARES
from audit.scenario.scenario import Amount, Bound, Change, Scenario, changed
from audit.scenario.whatif import comparison
from audit.scenario.whatif.comparison import Played, played, replay_error

KEY: Final = "whatif"


class _Pair(NamedTuple):
    """A pool that is replayed twice."""

    today: Scenario
    after: Scenario


def plan(
    change: Change, only: str | None, chosen: config.Config, folder: Path
) -> Callable[[Log, Draws], Plan]:
    """What to do with a log.

    Args:
        only: the pool that it concerns; None: every one.
    """
    if change == Change():
        raise UsageError("whatif: say what to change, such as --order sjf or --capacity +10")

    def of(log: Log, draws: Draws) -> Plan:
        configured = _configured(log, folder)
        pairs = [_pair(log, pool, change, configured) for pool in pools(log, only)]
        cells = [
            Cell(
                f"{pair.today.pool.name}: {name}",
                partial(_played, scenario, log.setting.now, chosen.metrics.tau_s),
            )
            for pair in pairs
            for name, scenario in (("today", pair.today), ("after", pair.after))
        ]

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            compared = [
                _compared(pair, frames[2 * at : 2 * at + 2], draws, chosen)
                for at, pair in enumerate(pairs)
            ]
            if change.half_life_s is not None:
                compared = [
                    one._replace(decay_today=decay_today(configured, pair.today))
                    for one, pair in zip(compared, pairs, strict=True)
                ]
            in_words = describe(change, pairs[0].today.pool)
            return Made(
                page.study(log.setting.cluster, in_words, compared, draws),
                pl.concat(_rows(one, in_words) for one in compared),
            )

        asked = change._replace(
            policy=dict(change.policy),
            targets=dict(change.targets),
            weights=dict(change.weights),
            walltime_limits=dict(change.walltime_limits),
        )
        settings = f"{asked} {only} {configured.chosen} {configured.in_force}"
        return Plan(settings, cells, finish)

    return of


def _configured(log: Log, folder: Path) -> Fairshare:
    """How usage is charged and compared today; the defaults where nothing is configured."""
    if log.cluster is None:
        return Fairshare(config.Usage())
    return fairshare.read(log.cluster.usage, folder, log.cluster.name)


def _pair(log: Log, pool: Pool, change: Change, configured: Fairshare) -> _Pair:
    """A pool today and after the change."""
    described = log.described
    by_usage = {*BY_USAGE} & {
        pool.policy.order,
        change.policy.get("order"),
        pool.fair_order,
    }
    ranked = EQUAL_SHARES
    if by_usage:
        policies = [pool.policy._replace(order=order) for order in sorted(by_usage)]
        other_decay = change.half_life_s is not None
        ranked = ranking.of(configured, log.setting, policies, nearest_decay=other_decay)
        described = charges.charged(described, log.setting, configured)
    today = Scenario(described.filter(pl.col("pool") == pool.name), pool, ranked)
    return _Pair(today, changed(today, change))


def _played(scenario: Scenario, now: int, tau_s: int) -> pl.DataFrame:
    """The schedule of a scenario, with whether each attempt was replayed, and its start."""
    schedule, starts = played(scenario, now, tau_s)
    return schedule.join(
        starts.with_columns(_replayed=pl.lit(value=True)),
        on=starts.columns[:3],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )


def _unpacked(frame: pl.DataFrame) -> Played:
    starts = frame.filter(pl.col("_replayed").is_not_null())
    return Played(
        frame.drop("_replayed", "replayed_start_time"),
        starts.select("cluster", "job_id", "attempt", "replayed_start_time"),
    )


def _compared(
    pair: _Pair, frames: Sequence[pl.DataFrame], draws: Draws, chosen: config.Config
) -> Compared:
    before, then = map(_unpacked, frames)
    arrivals = pair.today.attempts["arrival_time"].drop_nulls()
    first, last = arrivals.min(), arrivals.max()
    span = (first if isinstance(first, int) else 0, last if isinstance(last, int) else 0)
    pool = pair.today.pool
    return Compared(
        pool.name,
        pool.policy.name,
        pair.after.pool.policy.name,
        comparison.whole(before, pool, span),
        comparison.whole(then, pair.after.pool, span),
        comparison.compared(before, then, draws, chosen.metrics.tolerance_s),
        replay_error(pair.today.attempts, before),
        comparison.cut(pair.today, pair.after),
    )


def _rows(compared: Compared, change: str) -> pl.DataFrame:
    """Rows of ``cells.STUDIED``: every figure today, after the change, and their difference."""
    rows: list[tuple[object, ...]] = []
    for row in compared.parts.iter_rows(named=True):
        where = (row["dimension"], row["part"])
        counted = (row["unit"], row["attempts"])
        for setting, name in (("today", "today"), (change, "changed")):
            figure = (row[name], None, None)
            rows.append((compared.pool, setting, row["measure"], *where, *figure, *counted))
        apart = (row["difference"], row["lower"], row["upper"])
        rows.append((compared.pool, f"{change} − today", row["measure"], *where, *apart, *counted))
    for setting, whole in (("today", compared.today), (change, compared.after)):
        for metric, unit in _WHOLE.items():
            value = getattr(whole, metric)
            single = (None if value is None else float(value), None, None, unit, whole.attempts)
            rows.append((compared.pool, setting, metric, "all", None, *single))
    return studied(rows)


_WHOLE: Final = {
    "utilization": "1",
    "loss_of_capacity": "1",
    "span_s": "s",
    "uwt": "s/resource·s",
    "nuwt_median": "s/resource·s",
    "nuwt_deviation": "s/resource·s",
}


def describe(change: Change, pool: Pool) -> str:
    """A change in words."""
    kind = wording.resources(pool.resource.value)
    targets = [f"{wording.name(name)} {share:g}" for name, share in change.targets.items()]
    weights = [f"{name} {weight:g}" for name, weight in change.weights.items()]
    limits = [
        *((_whom(bound), _most(bound, kind)) for bound in change.limits),
        *(
            (wording.name(name), wording.duration(limit))
            for name, limit in change.walltime_limits.items()
        ),
    ]
    parts = (
        *(_setting(key, value) for key, value in change.policy.items()),
        targets and f"targets {', '.join(targets)}",
        weights and f"weights {', '.join(weights)}",
        change.half_life_s is not None and f"half-life {wording.duration(change.half_life_s)}",
        change.walltimes is not None and _walltimes(float(change.walltimes)),
        change.capacity and _amount(change.capacity, kind),
        change.nodes and _amount(change.nodes, "nodes"),
        change.lift and f"without limits: {', '.join(change.lift)}",
        *(f"{whom} limited to {limit}" for whom, limit in limits),
        change.without and f"without {', '.join(map(wording.name, change.without))}",
    )
    return ", ".join(part for part in parts if part)


def _setting(key: str, value: Any) -> str:
    if key not in SETTINGS:
        return f"{'backfilling' if key == 'backfill' else key} {value}"
    setting = SETTINGS[key]
    shown = wording.duration(value) if setting.unit == "duration" else value
    return setting.change.format(shown)


def _whom(bound: Bound) -> str:
    if bound.name is None:
        return f"each {bound.kind}"
    name = wording.name(bound.name)
    return name if bound.kind == "partition" else f"{bound.kind} {name}"


def _most(bound: Bound, counted: str) -> str:
    unit = {None: counted, "jobs": "jobs"}.get(bound.unit) or wording.resources(bound.unit or "")
    return f"{wording.count(bound.most)} {unit}"


def _walltimes(factor: float) -> str:
    return "exact walltimes" if factor == 1 else f"walltimes at most {factor:g} times the run time"


def _amount(wanted: Amount, what: str) -> str:
    size = wording.count(abs(wanted.amount))
    if not wanted.relative:
        return f"{size} {what}"
    return f"{size} {'more' if wanted.amount >= 0 else 'fewer'} {what}"


def decay_today(configured: Fairshare, today: Scenario) -> str:
    """How usage decays before a change of the half-life, in words, and how that is replayed."""
    usage = configured.chosen
    if usage.method == "windows":
        window = wording.duration(usage.interval_days * DAY_S)
        if usage.depth == 1:
            return f"usage is that of the last {window}"
        return (
            f"usage is that of the last {usage.depth} windows of {window}, each weighing "
            f"{usage.decay:g} times the next younger one"
        )
    half_life_s = usage.half_life_days * DAY_S
    if usage.method == "slurm":
        half_life_s = configured.half_life_s
    if half_life_s > 0:
        return f"usage is halved in {wording.duration(half_life_s)}"
    forgotten = f"usage does not decay, and is forgotten {configured.reset}"
    if Order.fairshare not in (today.pool.policy.order, today.pool.fair_order):
        return forgotten
    assert isinstance(today.fairshare.method, Windows)
    window = wording.duration(today.fairshare.method.interval_s)
    return f"{forgotten}; today's replay takes that of the last {window} instead"
