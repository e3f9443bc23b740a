"""``fairaudit whatif``: who would win and who would lose under a change."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from audit import config
from audit.cluster import charges, fairshare, ranking
from audit.cluster.fairshare import Fairshare
from audit.errors import UsageError
from audit.formats.slurm import slurm_conf
from audit.model import Order, Pool
from audit.pipeline.opening import Log, pools
from audit.report.text import wording
from audit.simulation.ownership import EQUAL_SHARES
from audit.studies.cells import Cell, studied
from audit.studies.run import Made, Plan
from audit.studies.whatif import compute as whatif
from audit.studies.whatif import page as whatif_study
from audit.studies.whatif.compute import Amount, Change, Played, Scenario

KEY: Final = "whatif"

_LARGEST: Final = 1 << 53


def shares(text: str | None) -> Mapping[str, float]:
    """What ``--targets NAME=SHARE,…`` says.

    Raises:
        UsageError: it is not of that form, or a share is below 0.
    """
    found: dict[str, float] = {}
    for name, value in _pairs(text, "--targets", "NAME=SHARE"):
        try:
            share = float(value)
        except ValueError:
            share = math.nan
        if not (share >= 0 and math.isfinite(share)):
            raise UsageError(f"--targets {name}={value}: a share is a number from 0 on")
        found[name] = share
    return found


def limits(texts: Sequence[str]) -> Mapping[str, int]:
    """What each ``--limit PARTITION=N`` says.

    Raises:
        UsageError: it is not of that form.
    """
    found: dict[str, int] = {}
    for text in texts:
        for name, value in _pairs(text, "--limit", "PARTITION=N"):
            found[name] = _whole(value, f"--limit {name}={value}", least=1)
    return found


def walltime_limits(texts: Sequence[str]) -> Mapping[str, int]:
    """What each ``--max-walltime PARTITION=D-HH:MM:SS`` says; a time as Slurm writes it.

    Raises:
        UsageError: it is not of that form, or no time at all.
    """
    found: dict[str, int] = {}
    for text in texts:
        for name, value in _pairs(text, "--max-walltime", "PARTITION=D-HH:MM:SS"):
            limit = slurm_conf.seconds(value)
            if limit is None or not 1 <= limit <= _LARGEST:
                raise UsageError(
                    f"--max-walltime {name}={value}: no time; write minutes, HH:MM:SS or D-HH:MM:SS"
                )
            found[name] = int(limit)
    return found


def _pairs(text: str | None, flag: str, form: str) -> list[tuple[str, str]]:
    if text is None:
        return []
    pairs = [part.rpartition("=") for part in text.split(",")]
    names = [name.strip() for name, _, _ in pairs]
    if not all(names):
        raise UsageError(f"{flag} {text}: write {form}, with commas between several")
    if len(set(names)) < len(names):
        raise UsageError(f"{flag} {text}: a name stands there twice")
    return [(name, value.strip()) for name, (_, _, value) in zip(names, pairs, strict=True)]


def amount(text: str | None, flag: str) -> Amount | None:
    """What ``--capacity N``, ``+N`` or ``-N`` says.

    Raises:
        UsageError: it is not a whole number.
    """
    if text is None:
        return None
    relative = text[:1] in ("+", "-")
    return Amount(_whole(text, f"{flag} {text}", least=None if relative else 1), relative)


def _whole(text: str, said: str, least: int | None) -> int:
    try:
        value = int(text)
    except ValueError:
        raise UsageError(f"{said}: not a whole number") from None
    if (least is not None and value < least) or abs(value) > _LARGEST:
        raise UsageError(f"{said}: a whole number from {least or -_LARGEST} to {_LARGEST}")
    return value


def walltimes(text: str | None) -> Fraction | None:
    """What ``--walltimes exact`` or a factor says.

    Raises:
        UsageError: it is neither, or below 1.
    """
    if text is None:
        return None
    if text == "exact":
        return Fraction(1)
    try:
        factor = Fraction(text).limit_denominator(1_000_000)
    except (ValueError, ZeroDivisionError):
        factor = Fraction(0)
    if not 1 <= factor <= 1_000:
        raise UsageError(
            f"--walltimes {text}: 'exact', or how many times the run time may be asked for, from "
            "1 to 1000"
        )
    return factor


class _Compared(NamedTuple):
    """A pool that is replayed twice."""

    today: Scenario
    after: Scenario


def plan(
    change: Change, only: str | None, chosen: config.Config, folder: Path
) -> Callable[[Log, int], Plan]:
    """What to do with a log.

    Args:
        change: what is changed.
        only: the pool that it concerns; None: every one.
        chosen: the configuration in force.
        folder: that of the configuration, which files that it names are relative to.
    """
    if change == Change():
        raise UsageError("whatif: say what to change, such as --order sjf or --capacity +10")

    def of(log: Log, seed: int) -> Plan:
        pairs = [_pair(log, pool, change, chosen, folder) for pool in pools(log, only)]
        tau_s = chosen.metrics.tau_s
        cells = [
            Cell(
                f"{pair.today.pool.name}: {name}",
                partial(_played, scenario, log.setting.now, tau_s),
            )
            for pair in pairs
            for name, scenario in (("today", pair.today), ("after", pair.after))
        ]

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            found = [
                _compared(pair, frames[2 * at], frames[2 * at + 1], seed, chosen)
                for at, pair in enumerate(pairs)
            ]
            said = describe(change, pairs[0].today.pool)
            return Made(
                whatif_study.study(log.setting.cluster, said, found),
                pl.concat(_rows(one, said) for one in found),
            )

        asked = change._replace(
            targets=dict(change.targets),
            limits=dict(change.limits),
            walltime_limits=dict(change.walltime_limits),
        )
        said = _configured(log, folder)
        return Plan(f"{asked} {only} {said.chosen} {said.in_force}", cells, finish)

    return of


def _configured(log: Log, folder: Path) -> Fairshare:
    """How usage is charged and compared today; the defaults where nothing is configured."""
    if log.cluster is None:
        return Fairshare(config.Usage())
    return fairshare.read(log.cluster.usage, folder, log.cluster.name)


def _pair(log: Log, pool: Pool, change: Change, chosen: config.Config, folder: Path) -> _Compared:
    """A pool today and after the change."""
    described = log.described
    by_owner = {Order.fairshare, Order.nuwt} & {
        pool.policy.order,
        change.order or pool.policy.order,
        pool.fair_order,
    }
    ranked = EQUAL_SHARES
    if by_owner:
        said = _configured(log, folder)
        policy = pool.policy._replace(order=min(by_owner))
        ranked = ranking.of(said, log.setting, [policy])
        described = charges.charged(described, log.setting, said)
    today = Scenario(described.filter(pl.col("pool") == pool.name), pool, ranked)
    return _Compared(today, whatif.changed(today, change))


def _played(scenario: Scenario, now: int, tau_s: int) -> pl.DataFrame:
    """The schedule of a scenario, with whether each attempt was replayed, and its start."""
    made = whatif.played(scenario, now, tau_s)
    starts = made.starts.with_columns(_replayed=pl.lit(value=True))
    keys = made.starts.columns[:3]
    return made.schedule.join(starts, on=keys, how="left", nulls_equal=True, maintain_order="left")


def _unpacked(frame: pl.DataFrame) -> Played:
    starts = frame.filter(pl.col("_replayed").is_not_null())
    return Played(
        frame.drop("_replayed", "replayed_start_time"),
        starts.select("cluster", "job_id", "attempt", "replayed_start_time"),
    )


def _compared(
    pair: _Compared, today: pl.DataFrame, after: pl.DataFrame, seed: int, chosen: config.Config
) -> whatif_study.Compared:
    before, then = _unpacked(today), _unpacked(after)
    arrivals = pair.today.attempts["arrival_time"].drop_nulls()
    first, last = arrivals.min(), arrivals.max()
    span = (first if isinstance(first, int) else 0, last if isinstance(last, int) else 0)
    pool = pair.today.pool
    return whatif_study.Compared(
        pool.name,
        pool.resource.value,
        pool.policy.name,
        pair.after.pool.policy.name,
        whatif.whole(before, pool, span),
        whatif.whole(then, pair.after.pool, span),
        whatif.compared(before, then, seed, chosen.metrics.tolerance_s),
        whatif.replay_error(pair.today.attempts, before),
        whatif.cut(pair.today, pair.after),
    )


def _rows(of: whatif_study.Compared, change: str) -> pl.DataFrame:
    """Rows of ``cells.STUDIED``: every figure today, after the change, and their difference."""
    rows: list[tuple[object, ...]] = []
    for row in of.parts.iter_rows(named=True):
        where = (row["dimension"], row["part"])
        for setting, name in (("today", "today"), (change, "changed")):
            plain = (row[name], None, None, row["unit"], row["attempts"])
            rows.append((of.pool, setting, row["measure"], *where, *plain))
        apart = (row["difference"], row["lower"], row["upper"], row["unit"], row["attempts"])
        rows.append((of.pool, f"{change} − today", row["measure"], *where, *apart))
    for setting, whole in (("today", of.today), (change, of.after)):
        for metric, unit in _WHOLE.items():
            value = getattr(whole, metric)
            figure = None if value is None else float(value)
            rows.append(
                (of.pool, setting, metric, "all", None, figure, None, None, unit, whole.attempts)
            )
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
    said: list[str] = []
    if change.order:
        said.append(f"order {change.order.value}")
    if change.backfill:
        said.append(f"backfilling {change.backfill.value}")
    if change.depth is not None:
        said.append(f"depth {change.depth}")
    if change.window_s is not None:
        said.append(f"window {wording.duration(change.window_s)}")
    if change.targets:
        targets = (f"{wording.name(name)} {share:g}" for name, share in change.targets.items())
        said.append(f"targets {', '.join(targets)}")
    if change.half_life_s is not None:
        said.append(f"half-life {wording.duration(change.half_life_s)}")
    if change.walltimes is not None:
        factor = float(change.walltimes)
        said.append(
            "exact walltimes" if factor == 1 else f"walltimes at most {factor:g} times the run time"
        )
    for wanted, what in ((change.capacity, kind), (change.nodes, "nodes")):
        if wanted is not None:
            more = "more" if wanted.amount >= 0 else "fewer"
            size = wording.count(abs(wanted.amount))
            said.append(f"{size} {more} {what}" if wanted.relative else f"{size} {what}")
    for partition, most in change.limits.items():
        said.append(f"{wording.name(partition)} limited to {wording.count(most)} {kind}")
    for partition, limit in change.walltime_limits.items():
        said.append(f"{wording.name(partition)} limited to {wording.duration(limit)}")
    if change.without:
        said.append(f"without {', '.join(wording.name(name) for name in change.without)}")
    return ", ".join(said)
