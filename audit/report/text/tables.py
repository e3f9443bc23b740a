"""The rows of the report's tables, their order and their names."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from audit.metrics.attempts.fidelity import MaySay
from audit.model import FstStatus
from audit.registry.causes import CAUSES, Cause
from audit.registry.measure import Heading
from audit.registry.measures import SUMMARY
from audit.registry.requested import BEYONDS
from audit.report.record.pool import (
    SMALL_SAMPLE,
    Entities,
    Entity,
    Figures,
    PoolPart,
    Queue,
)
from audit.report.record.stuck import StuckAttempt
from audit.report.text import wording

Labels = tuple[tuple[str, str], ...]
"""Measures, each with its label."""


def _listed(table: Heading) -> Labels:
    return tuple((key, of.label) for key, of in SUMMARY.items() if of.table is table)


def key_figures() -> Labels:
    """Return the key figures of a pool."""
    groups = (
        Heading.ATTEMPTS,
        Heading.WAITS,
        Heading.EQUALITY,
        Heading.MACHINE,
    )
    return tuple(row for table in groups for row in _listed(table))


def nuwt_measures() -> Labels:
    """Return the measures of the distribution of NUWT over users or accounts."""
    return _listed(Heading.OWNERS)


def population() -> Labels:
    """Return the counts that lead from records to attempts."""
    return tuple((key, of.record_label) for key, of in SUMMARY.items() if of.record_label)


def fair_start_figures() -> tuple[tuple[str, str, str], ...]:
    """Return figures of the strict and of the relaxed fair start time, with their labels."""
    return tuple(
        (key, key.replace("_strict_", "_relaxed_"), label)
        for key, label in _listed(Heading.FAIR_STARTS)
        if "_strict_" in key
    )


STATUSES: Final[Mapping[str, tuple[str, str]]] = {
    FstStatus.FINAL: (
        "final",
        "Everything that it depends on has ended: later logs will not change it.",
    ),
    FstStatus.PROVISIONAL: (
        "provisional",
        "A job that ran or waited when it arrived has not ended yet: later logs may change it.",
    ),
    FstStatus.PREEMPTED_CONTEXT: (
        "beside a preempted job",
        "A job that ran when it arrived was preempted later, which the model does not reproduce.",
    ),
    FstStatus.ASSUMED_ESTIMATE: (
        "with an assumed end",
        "A job without a walltime ran when it arrived, and has not ended yet. The model assumes a "
        "run time that nine in ten similar jobs do not exceed.",
    ),
    FstStatus.OVER_CAPACITY: (
        "over capacity",
        "More was in use than the pool has when it arrived, so the model's result is doubtful.",
    ),
    FstStatus.EXCEEDS_CAPACITY: (
        "larger than the pool",
        "It requests more than the pool has: in the model it would never start.",
    ),
    FstStatus.EXCEEDS_LIMIT: (
        "beyond a limit",
        "It exceeds a limit of the pool by itself: in the model it would never start.",
    ),
    FstStatus.BLOCKED: (
        "blocked",
        "A hold, limit, dependency, reservation or licence kept it from starting, not its place "
        "in the queue.",
    ),
    FstStatus.RESERVED: (
        "reserved",
        "It ran in an advance reservation, which is not part of the pool while it lasts.",
    ),
    FstStatus.NOT_SAMPLED: (
        "not sampled",
        "The queue was too long to compute all within the budget: a random sample represents it.",
    ),
}
"""Each status of a fair start time in words, and why an attempt has it."""


def status(text: str) -> tuple[str, str]:
    """Return a status in words, and why an attempt has it."""
    return STATUSES.get(text) or (text, "")


def causes(pool: PoolPart) -> tuple[Cause, ...]:
    """Return the causes of waiting that tables of a pool show."""
    return tuple(one for one in CAUSES if not one.optional or pool.figure(one.share).value)


QUEUES: Final = 12
"""Most combinations of partition, QOS and GPU type in the table of waits."""


def queue_columns(queues: Sequence[Queue]) -> Labels:
    """Return those of partition, QOS and GPU type that the log knows, with their titles."""
    titles = (("partition", "partition"), ("qos", "QOS"), ("gpu_type", "GPU type"))
    return tuple(of for of in titles if any(getattr(queue, of[0]) != "-" for queue in queues))


def main_cause(of: Figures) -> str:
    """Return the cause with the largest share of waiting, and this share in words."""
    shares = [(of.figure(cause.share).value or 0.0, cause.legend) for cause in CAUSES]
    share, legend = max(shares, key=itemgetter(0))
    return f"{legend} ({wording.rough_percent(share)})" if share else wording.UNKNOWN


def beyond(reason: str) -> str:
    """Return why jobs were allocated more CPUs than they requested."""
    return next(one.words for one in BEYONDS if one.key == reason)


def stuck_because(row: StuckAttempt) -> str:
    """Return the most probable cause for which an attempt is stuck."""
    if row.cause == "exceeds_capacity":
        return "it requests more than the pool has"
    if row.cause == "rule" and row.rule:
        return wording.name(row.rule, 80)
    if row.cause == "held" and row.held_by:
        return f"held ({row.held_by})"
    return next((one.clause for one in CAUSES if one.key == row.cause), "not known")


def owners(pool: PoolPart) -> tuple[Entities, ...]:
    """Return users, and accounts unless each account has the jobs of one user."""

    def work(of: Entities) -> list[tuple[int, int, float]]:
        return sorted((row.attempts, row.tuwt_s, row.tusa) for row in of.rows)

    users, accounts = pool.users, pool.accounts
    same = work(users) == work(accounts)
    return (users,) if same or not accounts.named else (users, accounts)


def contrary(pool: PoolPart) -> str:
    """Return a sentence on users whom two measures rate differently, if there are any."""
    judged = [
        (row.re_unfairness_net, _net(row))
        for row in _with_fair_starts(pool.users)
        if row.re_unfairness_net is not None and row.attempts >= SMALL_SAMPLE
    ]
    number = sum(short * late < 0 for short, late in judged)
    if not number:
        return ""
    return (
        f"Of {wording.plural(len(judged), 'user')} with at least {SMALL_SAMPLE} jobs, "
        f"{wording.count(number)} received more than an equal share but started later than fair, "
        "or the reverse. Both can be true: resource equality compares amounts of resources, fair "
        "start times compare starts."
    )


def _most(
    rows: Iterable[Entity], key: Callable[[Entity], float], number: int
) -> tuple[Entity, ...]:
    """Return at most ``number`` rows with a positive ``key``, the largest first."""
    return tuple(row for row in sorted(rows, key=lambda row: -key(row)) if key(row) > 0)[:number]


def _with_fair_starts(of: Entities) -> list[Entity]:
    return [row for row in of.named if row.missed is not None]


def _net(row: Entity) -> float:
    return row.missed.net_s if row.missed else 0.0


def delayed(of: Entities, pool: PoolPart, rows: int) -> tuple[Entity, ...]:
    """Return those that later arrivals delayed most in total, most first.

    Without a known rule, only those with a delay above a quarter of their waiting by both readings
    are returned, or none (SPEC §10, *What may be said*).
    """
    fidelity = pool.fair_start.fidelity
    say = MaySay.POOL if fidelity is None else fidelity.may_say
    if say is MaySay.POOL:
        return ()
    named = _with_fair_starts(of)
    if say is MaySay.PROBABLY:
        named = [row for row in named if row.missed and row.missed.least_s > PROBABLE * row.tuwt_s]
    return _most(named, _net, rows)


PROBABLE: Final = 0.25
"""Part of an entity's waiting above which its delay is probable."""


def worst(of: Entities, rows: int) -> tuple[Entity, ...]:
    """Return those with the largest net shortfall, largest first."""
    return _most(of.named, lambda row: row.re_unfairness_net or 0.0, rows)


def best(of: Entities, rows: int) -> tuple[Entity, ...]:
    """Return those with the largest net surplus, largest first."""
    return _most(of.named, lambda row: -(row.re_unfairness_net or 0.0), rows)


def hidden(of: Entities, rows: int) -> int:
    """Return the number of named entities that :func:`worst` and :func:`best` leave out."""
    return len(of.named) - len(worst(of, rows)) - len(best(of, rows))


def gave_up(of: Entities) -> tuple[Entity, ...]:
    """Return those with attempts that never started, the longest total wait first."""

    def order(row: Entity) -> tuple[int, int, str]:
        return -(row.gave_up_wait_s or 0), -row.never_started, row.name or ""

    return tuple(sorted((row for row in of.rows if row.never_started), key=order))


class Row(NamedTuple):
    """A figure in another tool and in this report, in words."""

    figure: str
    tool: str
    there: str
    here: str
    differs: str


def counted_elsewhere(pool: PoolPart) -> tuple[Row, ...]:
    """Return how figures of other tools differ on the same log; empty if nothing ended.

    Their definitions are those of sacct(1), sreport(1) and Open XDMoD's statistic *Wait Hours: Per
    Job*.
    """
    return tuple(_elsewhere(pool)) if pool.attempts else ()


def _elsewhere(pool: PoolPart) -> Iterator[Row]:
    if (other := pool.elsewhere) is None:
        return
    wait, used = pool.figure("wait_mean").value, pool.figure("consumed").value
    unit = wording.first_upper(f"{wording.resource(pool.resource)}-hours")
    last = pool.attempts - other.repeated
    for figure, tool, there, here, form in (
        (
            *("Mean wait", "sacct: Start − Submit of the same attempts"),
            *(other.wait_from_submission_s, wait, wording.duration),
        ),
        (
            *("Mean wait", "XDMoD: from submission, for jobs that started in the period"),
            *(other.wait_of_started_s, wait, wording.duration),
        ),
        (unit, "XDMoD: usage inside the period", other.held, used, wording.hours),
        (
            *(unit, "sreport: the same without suspended time"),
            *(other.held_running, used, wording.hours),
        ),
        ("Attempts", "sacct without --duplicates", last, pool.attempts, wording.count),
    ):
        yield Row(figure, tool, form(there), form(here), _differs(there, here))


def _differs(there: float | None, here: float | None) -> str:
    if there is None or here is None:
        return "not known"
    if there == here:
        return "the same"
    side = "more there" if there > here else "less there"
    return f"{wording.rough_percent(abs(there - here) / abs(here))} {side}" if here else side
