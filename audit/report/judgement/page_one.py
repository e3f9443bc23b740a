"""Page one: everything that it says, as one record, before any HTML.

Of the pool in which most was consumed; the others have a line each.
"""

from dataclasses import dataclass

from audit.report.judgement import owners, pool, usage, waits
from audit.report.judgement.finding import Finding, ranked
from audit.report.judgement.levels import Level
from audit.report.judgement.place import Place
from audit.report.judgement.questions import Question, questions
from audit.report.judgement.verdict import Verdict, undated, verdict
from audit.report.record.page import Assumed, Contents, Who
from audit.report.record.pool import PoolPart
from audit.report.text import belief, wording
from audit.report.text.standing import State, lacks, standing

HURT = 5
"""So many of those who are hurt most are told of."""


@dataclass(frozen=True, slots=True)
class Trust:
    """One reason to believe the report, or not to."""

    level: Level
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Hurt:
    """Somebody who is hurt most: whose, by how much, and what happened."""

    subject: str
    anchor: str
    attempts: int
    lost: str
    """Per attempt, in words."""
    lost_s: float
    what: str
    who: Who | None = None
    """None: a width class."""


@dataclass(frozen=True, slots=True)
class PageOne:
    """What page one says of one pool."""

    place: Place
    verdict: Verdict
    trust: tuple[Trust, ...]
    questions: tuple[Question, ...]
    hurt: tuple[Hurt, ...]
    findings: tuple[Finding, ...]

    @property
    def longest_lost_s(self) -> float:
        """The most that anybody among ``hurt`` lost, for bars."""
        return max((row.lost_s for row in self.hurt), default=0.0)


def page_one(contents: Contents) -> PageOne | None:
    """Page one of the pool in which most was consumed.

    None where nothing ended, or too few days of the period are covered.
    """
    if contents.brief:
        return None
    measured = [pool_ for pool_ in contents.pools if pool_.attempts or undated(pool_)]
    if not measured:
        return None
    return of_pool(contents, max(measured, key=lambda of: of.figure("consumed").value or 0.0))


def of_pool(contents: Contents, pool_: PoolPart) -> PageOne:
    """Page one of one pool."""
    number = contents.pools.index(pool_) + 1
    several = len(contents.pools) > 1
    place = Place(contents.cluster, contents.span.name, pool_, number, several)
    answers = questions(place, contents.options.bounds)
    return PageOne(
        place,
        verdict(place, answers),
        trust(contents, pool_),
        answers,
        _hurt(place),
        ranked(
            [
                *waits.of_waits(place),
                *owners.of_owners(place),
                *pool.of_pool(place),
                *usage.of_usage(contents),
            ]
        ),
    )


def trust(contents: Contents, of: PoolPart) -> tuple[Trust, ...]:
    """Why to believe what a report says of a pool, or not to."""
    return records(contents), _machine(of), _model(of, contents.settings.assumed.get(of.name))


def records(contents: Contents, *, counted: bool = True) -> Trust:
    """Whether records are complete.

    Args:
        contents: the report.
        counted: whether to say why not, and how many were refused: that tells of everybody's jobs.
    """
    stands = standing(contents)
    level = {State.COMPLETE: Level.PASS, State.PARTIAL: Level.WARN}.get(stands.state, Level.FAIL)
    if not counted:
        return Trust(level, "Records", stands.state.value)
    refused = f"{wording.count(contents.refused)} of {wording.count(contents.records)} refused"
    why = next(iter(lacks(contents)), "") if stands.state is State.PARTIAL else ""
    return Trust(level, "Records", "; ".join(filter(None, (stands.state.value, why, refused))))


def _machine(of: PoolPart) -> Trust:
    over = of.figure("over_capacity_time").value or 0.0
    size = wording.plural(of.capacity, wording.resource(of.resource))
    busy = of.figure("utilization")
    told = [size]
    told += [f"{wording.rough(busy)} busy"] if busy.value is not None else []
    told += [f"exceeded {wording.rough_percent(over)} of the time"] if over else []
    text = ", ".join(told)
    return Trust(Level.WARN if over > 0.01 else Level.PASS, "Machine", text)


def _model(of: PoolPart, assumed: Assumed | None) -> Trust:
    fidelity = of.fair_start.fidelity
    if fidelity is None or not of.has_fair_starts:
        return Trust(Level.UNKNOWN, "Model", "not known how well it fits")
    agreement = fidelity.figure("agreement")
    unexplained = fidelity.figure("unexplained_wait_share")
    text = belief.policy(fidelity)
    if assumed is not None:
        text += f", and {wording.plural(len(assumed.rules), 'rule')} fitted from the log"
    told = []
    if unexplained.value is not None:
        told.append(f"leaves {wording.rough(unexplained)} of all waiting unexplained")
    if agreement.value is not None:
        told.append(f"of the jobs that waited, starts {wording.rough(agreement)} when the site did")
    text = "; ".join(filter(None, (text, ", and ".join(told))))
    return Trust(Level.PASS if belief.good_fit(of) else Level.WARN, "Model", text)


def _hurt(place: Place) -> tuple[Hurt, ...]:
    """The width class that loses most, and users who wait longer than others with jobs alike."""
    rows = []
    if hit := place.worst_width(waits.OVERTAKEN):
        share = wording.rough(hit.width.figure(waits.OVERTAKEN))
        lost = hit.width.figure("overtaken_time_mean")
        rows.append(
            Hurt(
                wording.first_upper(place.jobs_of(hit.width)),
                place.anchor("fair"),
                lost.attempts or 0,
                wording.rough(lost),
                lost.value or 0.0,
                f"{share} of their waiting went to later arrivals, by the model",
            )
        )
    of = owners.compared(place.pool)
    for part in of.longer:
        excess, ratio = part.figure("excess_wait"), part.figure("peer_ratio")
        attempts = excess.attempts or 0
        each = (excess.value or 0.0) / attempts if attempts else 0.0
        happened = owners.what_happened(place, of, part)
        rows.append(
            Hurt(
                f"{wording.first_upper(of.kind)} {wording.name(part.label, 30)}",
                place.anchor("peers"),
                attempts,
                wording.rough_duration(each),
                each,
                f"waits {wording.rough(ratio)} times as long as others with jobs alike"
                + (f"; {happened}" if happened else ""),
                Who(of.kind, part.label),
            )
        )
    return tuple(sorted(rows, key=lambda row: -row.lost_s * row.attempts)[:HURT])
