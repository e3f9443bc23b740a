"""The part of the page of ``fairaudit fit-policy`` about limits, chains and the interval."""

from functools import partial
from typing import Final

from audit.model import Pool
from audit.pipeline.shown import CERTAIN, ShownByLog, chain_words
from audit.report import wording
from audit.report.study.page import Columns, Table, TableColumn, table
from audit.rule_text import amount, duration, rule_text
from audit.scenario.plateaus.search import PlateauRule
from audit.scenario.releases.chains import JobChain

_RULES: Final = (
    "A user, account, partition or QOS stops at a level if no job of it starts although enough is "
    "free for the next one. A level is a limit of the site if several users stop at it and hardly "
    "any start exceeds it. “Concentration” is the share of such stops that lie at the level, and "
    "not below it, as a mean over entities and days."
)
_HOLDS: Final = (
    "A limit of one user is no rule of the site: it may be a limit, a throttle or a dependency. "
    "Jobs in a chain start when their user's previous job ends."
)
_FAILED: Final = "The best candidates for limits of the site, with the first condition that fails."


def of_pool(found: ShownByLog, interval_s: int | None) -> tuple[str | Table, ...]:
    """Return the tables of a pool, with their texts."""
    plateaus = found.plateaus
    pool = plateaus.pool
    return (
        _RULES,
        _lead(found, interval_s),
        _table("limits", "Limits of the site", plateaus.rules, pool),
        _HOLDS,
        _table("own-limits", "Limits of single users", plateaus.own, pool),
        table("chains", "Chains", _CHAINS, found.chains),
        _FAILED,
        _table("failed-limits", "Candidates that failed", plateaus.failed, pool, failed=True),
    )


def _lead(found: ShownByLog, interval_s: int | None) -> str:
    """Return the interval of the scheduler and the capacity in force, as sentences."""
    says = ["The starts show no interval of the scheduler."]
    if interval_s is not None:
        says = [f"Jobs that waited start at multiples of {duration(interval_s)}."]
    below = found.plateaus.capacity
    if below is not None:
        unit = found.plateaus.pool.resource.value
        which = "All jobs"
        if below.family.without is not None:
            which = f"Jobs outside partition {wording.name(below.family.without)}"
        says.append(
            f"{which} stop at {amount(below.level, unit)} of {amount(below.declared, unit)}: "
            f"{below.broken:,} starts exceed it."
        )
    return " ".join(says)


def _table(
    key: str, caption: str, rules: tuple[PlateauRule, ...], pool: Pool, *, failed: bool = False
) -> Table:
    columns: Columns[PlateauRule] = (
        TableColumn("Limit", "limit", "text", partial(_text, pool=pool)),
        TableColumn("Stops at the limit", "stops", "count", lambda row: row.judged.counts.at),
        TableColumn("Starts", "starts", "count", lambda row: row.judged.counts.starts),
        TableColumn(
            "Starts that exceed it", "exceed", "count", lambda row: row.judged.counts.broken
        ),
        TableColumn(
            "Concentration", "concentration", "percent", lambda row: row.judged.concentration
        ),
        TableColumn(
            "Failed condition",
            "fails",
            "text",
            lambda row: row.judged.fault and row.judged.fault.value,
        ),
    )
    return table(key, caption, columns if failed else columns[:-1], rules)


def _text(rule: PlateauRule, pool: Pool) -> str:
    """Return a limit in words; that of a user without its number where this is unclear."""
    unclear = rule.judged.accepted and rule.judged.concentration < CERTAIN
    if unclear and rule.family.of == "user" and rule.entity is not None:
        return f"A limit of user {wording.name(rule.entity)}"
    return wording.first_upper(rule_text(rule.limit, pool.resource.value, pool.zone))


_CHAINS: Final[Columns[JobChain]] = (
    TableColumn("User", "user", "text"),
    TableColumn("Jobs kept waiting", "held", "count", lambda row: len(row.held)),
    TableColumn("Evidence", "evidence", "text", chain_words),
)
