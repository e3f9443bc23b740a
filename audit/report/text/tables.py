"""Which rows the tables of a report show, in which order and under which names.

Pure functions of the record: the page and its tests share them.
"""

from collections.abc import Mapping
from typing import Final

from audit.model import FstStatus
from audit.registry.causes import CAUSES, Cause
from audit.registry.measures import SUMMARY, Table
from audit.report.record.pool import SMALL_SAMPLE, Entities, Entity, PoolPart, StuckAttempt
from audit.report.text import wording


def _listed(table: Table) -> tuple[tuple[str, str], ...]:
    """The measures of a table, and what it calls them."""
    return tuple((key, of.label) for key, of in SUMMARY.items() if of.table is table)


def key_figures() -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """The key figures of a pool by group: each measure, and what it is called."""
    groups = (Table.ATTEMPTS, Table.WAITS, Table.EQUALITY, Table.MACHINE)
    return tuple((table.value, _listed(table)) for table in groups)


def nuwt_measures() -> tuple[tuple[str, str], ...]:
    """How NUWT is spread over users, and over accounts."""
    return _listed(Table.OWNERS)


def population() -> tuple[tuple[str, str], ...]:
    """What became of the attempts that records tell of."""
    return tuple((key, of.record_label) for key, of in SUMMARY.items() if of.record_label)


def fair_start_figures() -> tuple[tuple[str, str | None, str], ...]:
    """Figures of the strict fair start time, those of the relaxed one (None: there is none),
    labels.
    """
    return tuple(
        (key, key.replace("_strict_", "_relaxed_") if "_strict_" in key else None, label)
        for key, label in _listed(Table.FAIR_STARTS)
        if "_relaxed_" not in key
    )


STATUSES: Final[Mapping[str, tuple[str, str]]] = {
    FstStatus.FINAL: ("final", "All that it rests on has ended: later logs will not change it."),
    FstStatus.PROVISIONAL: (
        "provisional",
        "Something that ran or waited when it arrived has not ended yet: later logs may change it.",
    ),
    FstStatus.PREEMPTED_CONTEXT: (
        "beside a preempted attempt",
        "Something that ran when it arrived was preempted later, which the model does not do.",
    ),
    FstStatus.ASSUMED_ESTIMATE: (
        "with an assumed end",
        "A job without a walltime ran when it arrived and has not ended yet: it is assumed to run "
        "as long as nine in ten similar jobs did at most.",
    ),
    FstStatus.OVER_CAPACITY: (
        "over capacity",
        "When it arrived, more was in use than the pool has: whatever the model says is doubtful.",
    ),
    FstStatus.EXCEEDS_CAPACITY: (
        "larger than the pool",
        "It asks for more than the pool has: in the model it would never start.",
    ),
    FstStatus.EXCEEDS_LIMIT: (
        "beyond a limit",
        "By itself it breaks a limit of the pool: in the model it would never start.",
    ),
    FstStatus.BLOCKED: (
        "blocked",
        "It waited for a hold, a limit, a dependency, a reservation or a licence, not for its "
        "turn.",
    ),
    FstStatus.RESERVED: (
        "reserved",
        "It ran in an advance reservation, which is outside the pool while it lasts.",
    ),
    FstStatus.NOT_SAMPLED: (
        "not sampled",
        "The queue was too deep to compute all within the budget: others, drawn by chance, stand "
        "for it.",
    ),
}
"""What each status of a fair start time is called, and why an attempt has it."""


def status(text: str) -> tuple[str, str]:
    """What a status is called, and why an attempt has it."""
    return STATUSES.get(text) or (text, "")


def causes(pool: PoolPart) -> tuple[Cause, ...]:
    """The causes of waiting that tables of a pool show."""
    return tuple(one for one in CAUSES if not one.optional or pool.figure(one.share).value)


def stuck_because(row: StuckAttempt) -> str:
    """Why an attempt is stuck, most probably."""
    if row.cause == "exceeds_capacity":
        return "it requests more than the pool has"
    cause = next((one for one in CAUSES if one.key == row.cause), None)
    if cause is None:
        return "not known"
    if cause.key == "rule" and row.rule:
        return wording.name(row.rule, 80)
    if cause.key == "held" and row.held_by:
        return f"held ({row.held_by})"
    return cause.clause


def owners(pool: PoolPart) -> tuple[Entities, ...]:
    """Users, and accounts where these are not the same by other names."""
    users, accounts = pool.users, pool.accounts
    same = sorted(map(_did, users.rows)) == sorted(map(_did, accounts.rows))
    return (users,) if same or not accounts.named else (users, accounts)


def _did(row: Entity) -> tuple[int, int, float]:
    return row.attempts, row.tuwt_s, row.tusa


def contrary(pool: PoolPart) -> str:
    """How many users fare well by one measure and badly by another, and how both can be true."""
    judged = [
        (row.re_unfairness_net, _net(row))
        for row in pool.users.named
        if row.missed is not None
        and row.re_unfairness_net is not None
        and row.attempts >= SMALL_SAMPLE
    ]
    number = sum(short * late < 0 for short, late in judged)
    if not number:
        return ""
    return (
        f"Of {wording.plural(len(judged), 'user')} with {SMALL_SAMPLE} jobs or more, "
        f"{wording.count(number)} got more than an equal share and yet started later than fair, or "
        "the other way round. Both can be true: shares compare what users held while they were "
        "there, fair start times when their turn came."
    )


def lost(of: Entities, rows: int) -> tuple[Entity, ...]:
    """Those who started latest against their strict fair start times, in sum, most first."""
    return tuple(row for row in sorted(_started(of), key=lambda row: -_net(row)) if _net(row) > 0)[
        :rows
    ]


def gained(of: Entities, rows: int) -> tuple[Entity, ...]:
    """Those who started earliest against their strict fair start times, in sum, most first."""
    return tuple(row for row in sorted(_started(of), key=_net) if _net(row) < 0)[:rows]


def unlisted(of: Entities, rows: int) -> int:
    """How many named users or accounts neither :func:`lost` nor :func:`gained` shows."""
    return len(_started(of)) - len(lost(of, rows)) - len(gained(of, rows))


def _started(of: Entities) -> list[Entity]:
    return [row for row in of.named if row.missed is not None]


def _net(row: Entity) -> float:
    return row.missed.net_s if row.missed else 0.0


def worst(of: Entities, rows: int) -> tuple[Entity, ...]:
    """Those who went short most, worst first; only who did go short."""
    return tuple(
        row
        for row in sorted(of.named, key=lambda row: -(row.re_unfairness_net or 0.0))
        if (row.re_unfairness_net or 0.0) > 0
    )[:rows]


def best(of: Entities, rows: int) -> tuple[Entity, ...]:
    """Those who got most beyond an equal share, most first."""
    return tuple(
        row
        for row in sorted(of.named, key=lambda row: row.re_unfairness_net or 0.0)
        if (row.re_unfairness_net or 0.0) < 0
    )[:rows]


def hidden(of: Entities, rows: int) -> int:
    """How many named users or accounts neither :func:`worst` nor :func:`best` shows."""
    return len(of.named) - len(worst(of, rows)) - len(best(of, rows))


def gave_up(of: Entities) -> tuple[Entity, ...]:
    """Those with attempts that never started, by the time these waited; the unnamed too."""
    return tuple(
        sorted(
            (row for row in of.rows if row.never_started),
            key=lambda row: (-(row.gave_up_wait_s or 0), -row.never_started, row.name or ""),
        )
    )
