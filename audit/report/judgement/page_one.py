"""Page one: everything that it says, as one record, before any HTML.

Of the pool in which most was consumed; the others have a line each.
"""

from dataclasses import dataclass

from audit.report.judgement import owners
from audit.report.judgement.findings import Finding, findings
from audit.report.judgement.levels import Level
from audit.report.judgement.place import Place
from audit.report.judgement.questions import Question, Verdict, questions, undated, verdict
from audit.report.record.page import Assumed, Contents, Who
from audit.report.record.pool import PoolPart
from audit.report.text import belief, wording
from audit.report.text.standing import State, lacks, standing

HURT = 5
"""The most entities listed as passed over."""


@dataclass(frozen=True, slots=True)
class Trust:
    """One reason to believe the report, or not to."""

    level: Level
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Hurt:
    """An entity that later jobs passed over: by how much, and what happened."""

    subject: str
    anchor: str
    attempts: int
    lost: str
    """Per attempt, in words."""
    lost_s: float
    what: str
    who: Who | None = None
    """None: a partition or QOS."""


@dataclass(frozen=True, slots=True)
class PageOne:
    """What page one says of one pool."""

    place: Place
    verdict: Verdict
    trust: tuple[Trust, ...]
    questions: tuple[Question, Question]
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
    answers = questions(place, contents.options.bounds, contents.settings.assumed)
    return PageOne(
        place,
        verdict(place, answers),
        trust(contents, pool_),
        answers,
        _hurt(place),
        findings(contents, place),
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
    text = belief.policy(fidelity)
    if assumed is not None:
        text += f", and {wording.plural(len(assumed.rules), 'rule')} fitted from the log"
    told = []
    if agreement.value is not None:
        told.append(
            f"starts {wording.rough(agreement)} of the jobs that waited when the site did (80 % "
            "are needed to judge by it)"
        )
    text = "; ".join(filter(None, (text, ", and ".join(told))))
    return Trust(Level.PASS if belief.good_fit(of) else Level.WARN, "Model", text)


def _hurt(place: Place) -> tuple[Hurt, ...]:
    """Return those that later jobs passed over, the longest passed time first."""
    rows = []
    for one in owners.unfair(place.pool):
        passed, attempts = one.figure("passed_s"), one.figure("passed_share").attempts or 0
        each = (passed.value or 0.0) / attempts if attempts else 0.0
        who = Who(one.kind, one.name) if one.kind in ("user", "account") else None
        rows.append(
            Hurt(
                owners.subject_of(one.kind, one.name),
                place.anchor("passed"),
                attempts,
                wording.rough_duration(each),
                each,
                owners.what_happened(one),
                who,
            )
        )
    return tuple(rows[:HURT])
