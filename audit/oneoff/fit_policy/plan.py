"""``fairaudit fit-policy``: infers from a log how a site schedules, and writes a page about it.

The text of the page is ``templates/studies/fit-policy.txt``.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from audit.cluster import fairshare, fitted
from audit.cluster.delivered import held_until
from audit.config.toml import value
from audit.errors import UsageError
from audit.files import folders, replace
from audit.metrics.attempts.fidelity import KNOWN
from audit.metrics.draws import Draws
from audit.metrics.waits.plan import inferred_interval
from audit.model import Policy, Pool
from audit.oneoff.study import Made, StudyPlan
from audit.pipeline.inferring import compared_with, policy_shown
from audit.pipeline.opening import ClusterLog, pools
from audit.pipeline.shown import CERTAIN, ShownByLog, chain_words, look
from audit.report import wording
from audit.report.study import layout
from audit.report.study.cells import StudyCell, studied
from audit.report.study.page import Section, Study, by_pool
from audit.rule_text import amount, duration, rule_text
from audit.scenario.delivered.agreement import agreement
from audit.scenario.plateaus.search import PlateauRule
from audit.scenario.releases.holds import inferred_holds
from audit.scenario.windows.search import FoundWindows, InferredWindow, find_windows

KEY: Final = "fit-policy"
_FOUND: Final = (
    "Windows are listed in the order in which they were found; each is judged with those above it "
    "in force. “Jobs kept waiting” counts the occasions on which the window alone kept a job "
    "waiting; “starts that break it” counts the starts that it forbids. The share of such starts "
    "has an upper limit (95 %); beside it is the share that is expected without the window."
)


class PoolFit(NamedTuple):
    """The result for a pool."""

    pool: Pool  # as it was assumed at first
    stated: Policy | None  # None: its policy is not configured
    policy: Policy | None  # of the known rule; None: there is none
    compared: pl.DataFrame  # of ``agreement``
    shown: ShownByLog  # the limits and chains of the log
    windows: FoundWindows
    interval_s: int | None  # at whose multiples jobs start; None: there is none


def study(log: str, found: Sequence[PoolFit]) -> Study:
    """Return the page of a log."""
    configured = [
        (f"Configured of pool {wording.name(one.pool.name)}", one.stated.name)
        for one in found
        if one.stated is not None
    ]
    lead = " ".join(_lead(one, several=len(found) > 1) for one in found)
    sections = by_pool([(one.pool.name, _sections(one)) for one in found])
    last = layout.section(KEY, "read", {}, {})
    values = {"log": wording.name(log), "lead": lead}
    return layout.study(KEY, {"configured": configured}, values, (*sections, last))


def candidate(row: Mapping[str, Any]) -> str:
    """Return the name of a candidate, by its row of ``agreement``."""
    return f"{row['policy']}, own peak" if row["own_peak"] else str(row["policy"])


def _lead(found: PoolFit, *, several: bool) -> str:
    begin = f"Pool {wording.name(found.pool.name)}: " if several else ""
    best = found.compared.drop_nulls("agreement").sort(
        "agreement", descending=True, maintain_order=True
    )
    if best.is_empty():
        return f"{begin}No start of the log can be compared with a policy."
    first = best.row(0, named=True)
    agrees = f"agrees with {wording.percent(first['agreement'])} of the starts"
    required = f"{wording.percent(KNOWN)} are required"
    pool = found.windows.pool
    rest = (
        f"In force are {wording.plural(len(pool.limits), 'limit')} and "
        f"{wording.plural(len(pool.windows), 'window')}."
    )
    if found.policy is None:
        return (
            f"{begin}No policy is known: the best candidate, {candidate(first)}, {agrees}, and "
            f"{required}. {rest}"
        )
    return f"{begin}The policy is {candidate(first)}, which {agrees} ({required}). {rest}"


def _sections(found: PoolFit) -> list[Section]:
    plateaus, windows = found.shown.plateaus, found.windows
    ranked = found.compared.sort("agreement", descending=True, nulls_last=True, maintain_order=True)
    parts = {
        "agreement": [row | {"candidate": candidate(row)} for row in ranked.to_dicts()],
        "in_force": _in_force(found),
        **{
            key: [_of_limit(rule, plateaus.pool) for rule in rules]
            for key, rules in (
                ("limits", plateaus.rules),
                ("own-limits", plateaus.own),
                ("failed-limits", plateaus.failed),
            )
        },
        "chains": [
            {"user": chain.user, "held": len(chain.held), "evidence": chain_words(chain)}
            for chain in found.shown.chains
        ],
        "searched": f"Windows were not searched: {windows.skipped}." if windows.skipped else _FOUND,
        "windows": [_of_window(one, windows.pool) for one in windows.accepted],
        "failed-windows": [_of_window(one, windows.pool) for one in windows.failed],
    }
    values = {"known": wording.percent(KNOWN)}
    return [layout.section(KEY, key, parts, values) for key in ("agreement", "limits", "windows")]


def _in_force(found: PoolFit) -> str:
    """Return the interval of the scheduler and the capacity in force, as sentences."""
    says = "The starts show no interval of the scheduler."
    if found.interval_s is not None:
        says = f"Jobs that waited start at multiples of {duration(found.interval_s)}."
    below = found.shown.plateaus.capacity
    if below is None:
        return says
    unit = found.shown.plateaus.pool.resource.value
    which = "All jobs"
    if below.family.without is not None:
        which = f"Jobs outside partition {wording.name(below.family.without)}"
    return (
        f"{says} {which} stop at {amount(below.level, unit)} of {amount(below.declared, unit)}: "
        f"{below.broken:,} starts exceed it."
    )


def _of_limit(rule: PlateauRule, pool: Pool) -> dict[str, Any]:
    """Return a row about a limit; that of a user is without its number where this is unclear."""
    judged = rule.judged
    text = wording.first_upper(rule_text(rule.limit, pool.resource.value, pool.zone))
    unclear = judged.accepted and judged.concentration < CERTAIN
    if unclear and judged.series.family.of == "user" and rule.entity is not None:
        text = f"A limit of user {wording.name(rule.entity)}"
    return {
        "limit": text,
        "stops": judged.counts.at,
        "starts": judged.counts.starts,
        "exceed": judged.counts.broken,
        "concentration": judged.concentration,
        "fails": judged.fault and judged.fault.value,
    }


def _of_window(one: InferredWindow, pool: Pool) -> dict[str, Any]:
    found = one.found
    return {
        "window": wording.first_upper(rule_text(one.window, pool.resource.value, one.zone)),
        "withheld": found.withheld,
        "starts": one.starts,
        "breaks": found.breaks,
        "bound": found.bound,
        "by_chance": found.by_chance,
        "fails": found.fails,
    }


def plan(
    only: str | None = None, write: Path | None = None, folder: Path = Path()
) -> Callable[[ClusterLog, Draws], StudyPlan]:
    """Return what to do with a log.

    Args:
        only: the pool to examine; None: all with attempts.
        write: a new file for the site's config.toml, if any.
        folder: that of the configuration.

    Raises:
        UsageError: that file exists, or cannot be written.
    """
    if write is not None:
        _refuse(write)

    def of_log(log: ClusterLog, draws: Draws) -> StudyPlan:
        usage = fairshare.of_site(log.cluster, folder)
        silent = fitted.silent(log.setting, log.cluster)
        looked = []
        for pool in pools(log, only):
            own = pool._replace(zone=str(log.setting.zone))
            now, begin = log.setting.now, log.setting.log.from_time
            shown = look(log.described, own, now, begin)
            scenario = compared_with(log.described, shown.plateaus.pool, log.setting, usage)
            holds = inferred_holds(scenario.attempts, scenario.pool, now, shown.holding)
            until = held_until(scenario.attempts, scenario.pool, holds)
            windows = find_windows(scenario, until, holds=holds, log_begin=log.setting.log_begin)
            looked.append((pool, shown, windows, scenario.but(pool=windows.pool), until, holds))
        cells = [
            StudyCell(pool.name, partial(agreement, scenario, held_until=until))
            for pool, _, _, scenario, until, _ in looked
        ]

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            found = []
            begin = log.setting.log_begin
            for (pool, shown, windows, scenario, _, holds), frame in zip(
                looked, frames, strict=True
            ):
                policy = policy_shown(scenario, frame, holds, begin)
                interval_s = _interval(log.described, pool)
                stated = None if pool in silent else pool.policy
                found.append(PoolFit(pool, stated, policy, frame, shown, windows, interval_s))
            if write is not None:
                of, zone = log.setting.cluster, str(log.setting.zone)
                _put(write, config_toml(of, zone, found, _partitions(log)))
            rows = [row for one in found for row in _rows(one)]
            return Made(study(log.setting.cluster, found), studied(rows))

        return StudyPlan(json.dumps([only, usage.in_force]), cells, finish)

    return of_log


def _refuse(file: Path) -> None:
    """Raise UsageError, before the long work, rather than overwrite a configuration."""
    if file.exists():
        raise UsageError(f"--write {file}: already exists; name a new file")
    if not file.parent.is_dir():
        raise UsageError(f"--write {file}: name a file in a folder that exists")
    folders.require(file.parent)


def _put(file: Path, text: str) -> None:
    _refuse(file)
    try:
        replace.write(file, text.encode(), alone=True)
    except OSError as error:
        raise UsageError(f"--write {file}: cannot be written ({error.strerror})") from error


def _partitions(log: ClusterLog) -> dict[str, list[str]]:
    """Return the partitions of each of several pools: as configured, else those in the log."""
    if len(pools(log)) == 1:
        return {}
    known = log.described.select("pool", "partition").drop_nulls().unique().sort("partition")
    listed = dict(known.group_by("pool").agg("partition").iter_rows())
    stated = () if log.cluster is None else log.cluster.pools
    return listed | {pool.name: list(pool.partitions) for pool in stated if pool.partitions}


def _interval(described: pl.DataFrame, pool: Pool) -> int | None:
    """Return the interval of the scheduler that the starts of a pool show, s."""
    of_pool = described.filter(pl.col("pool") == pool.name)
    times = of_pool.select("arrival_time", "start_time").drop_nulls()
    return inferred_interval(times["arrival_time"].to_numpy(), times["start_time"].to_numpy())


def _rows(found: PoolFit) -> Iterator[tuple[object, ...]]:
    """Yield the agreement of each candidate, as rows of the database."""
    for row in found.compared.iter_rows(named=True):
        counted = (None, None, "1", row["observed"])
        yield (found.pool.name, candidate(row), "agreement", "all", None, row["agreement"],
               *counted)  # fmt: skip


# --- the site as a config.toml -------------------------------------------------------------------

HEAD: Final = """\
# Inferred by `fairaudit fit-policy` from this site's log: how it behaves, not how it is configured.
# Check it against what you know before you rely on it; then pass it to --config.
"""
_LISTS: Final = ("steps", "limits", "windows")  # keys whose entries have a line each


def config_toml(
    cluster: str, zone: str, found: Sequence[PoolFit], partitions: Mapping[str, Sequence[str]]
) -> str:
    """Return a config.toml with one cluster; ``partitions``: by pool, if it has several.

    Its zone is that of the first pool with windows, else ``zone``. It has an order and a
    backfilling only where they are configured or the log shows a known rule.
    """
    in_force = [one.windows.pool for one in found]
    clocks = [pool.zone for pool in in_force if pool.windows]
    lines = [
        HEAD,
        "[[clusters]]",
        f"name = {value(cluster)}",
        f"zone = {value(clocks[0] if clocks else zone)}",
        "",
    ]
    for one in found:
        policy = one.stated or one.policy
        of = partitions.get(one.pool.name, ())
        lines += [*_pool(one.windows.pool, policy, of), ""]
    lines += _holds(found)
    return "\n".join(lines).rstrip() + "\n"


def _holds(found: Sequence[PoolFit]) -> Iterator[str]:
    """Yield the chains, and the limits of single users, as comments."""
    users = [chain.user for one in found for chain in one.shown.chains]
    if users:
        yield "# Not a rule of the pool: jobs of these users wait for their user's previous one"
        yield from (f"# {value(user)}" for user in users)
    own = [rule.limit for one in found for rule in one.shown.plateaus.own]
    if own:
        yield "# Not a rule of the site: limits, throttles or dependencies of single users"
        yield from (f"# {value(limit)}" for limit in own)


def _pool(pool: Pool, policy: Policy | None, partitions: Sequence[str]) -> Iterator[str]:
    yield "[[clusters.pools]]"
    yield f"name = {value(pool.name)}"
    keys: dict[str, Any] = {
        "partitions": list(partitions) or None,
        "resource": pool.resource.value,
        "capacity": dict(pool.amounts) | {pool.resource.value: pool.capacity},
        "exclusive_nodes": pool.exclusive_nodes or None,
        # absences are in files, and more exact
        "steps": None if pool.absences else list(_steps(pool)) or None,
        **({} if policy is None else policy._asdict()),
        "limits": pool.limits or None,
        "windows": pool.windows or None,
    }
    for key, content in keys.items():
        if content is not None and key in _LISTS:
            yield f"{key} = ["
            yield from (f"    {value(entry)}," for entry in content)
            yield "]"
        elif content is not None:
            yield f"{key} = {value(content)}"


def _steps(pool: Pool) -> Iterator[dict[str, Any]]:
    """Yield the capacity steps by day; of several on a day the last."""
    zone = ZoneInfo(pool.zone)
    by_day = {
        datetime.fromtimestamp(step.since, UTC).astimezone(zone).date(): step for step in pool.steps
    }
    for day, step in by_day.items():
        yield {"since": day, **dict(step.amounts)}
