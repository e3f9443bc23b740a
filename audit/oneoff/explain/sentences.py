"""A wait in sentences: pure functions of its ``Story``."""

from collections import Counter
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from audit.metrics.attempts.account import LAPSE
from audit.metrics.attempts.fidelity import KNOWN
from audit.metrics.attempts.reasons import reason_of
from audit.model import Standing
from audit.oneoff.explain.story import Crossing, Crowd, Delay, LineCause, Story, TimelineLine
from audit.registry.causes import CAUSES, Cause
from audit.registry.reasons import INFERRED_HOLDS, OTHER
from audit.report import wording
from audit.report.sections.causes.section import after_own_end, reservations
from audit.rules import DAYS

_BY_KEY: Final = {cause.key: cause for cause in CAUSES}
_SHOWN: Final = 0.1  # causes with a smaller share of a line of the timeline are left out
_NAMED: Final = 3  # most rules that are named for one cause
_NEARLY: Final = 0.98
_LEFT: Final = {
    Standing.NEVER_STARTED: "left the queue without having started",
    Standing.PENDING: "was still waiting when the log was taken,",
}


def title(story: Story) -> str:
    """Return the title: the job that waited."""
    subject = story.subject
    again = f", attempt {subject.attempt}" if subject.attempt > 1 else ""
    return f"Why job {wording.name(subject.job_id)}{again} waited"


def lead(story: Story) -> str:
    """Return the largest cause of the wait, in a sentence or two."""
    wait, causes = story.subject.wait_s, story.account.causes
    if not wait:
        return "It did not wait."
    waited = f"It waited {wording.duration(wait)}"
    if not causes:
        return f"{waited}. Its causes are unknown: the log does not give its request."
    most = max(CAUSES, key=lambda cause: causes[cause.column])
    text = f"{waited}; for {wording.percent(causes[most.column] / wait)} of that time "
    text += f"{clause(story, most)}."
    if causes["cause_rule_s"]:
        text += f" {_under_rules(causes['cause_rule_s'], story.account.rule_free_s)}"
    return text


def _under_rules(forbidden_s: float, free_s: float) -> str:
    """Return for how much of the time under rules enough was free."""
    under, free = wording.duration(forbidden_s), wording.duration(free_s)
    never = "it could not have started anyway"
    if free == under:
        return f"During the {under} under rules, enough was free."
    if not free_s:
        return f"During the {under} under rules, {never}."
    return f"Of the {under} under rules, enough was free for {free}; otherwise {never}."


def sentences(story: Story) -> list[str]:
    """Return the sentences about a wait after the lead."""
    texts = [
        _part(story),
        _idling(story),
        _kept(story),
        _who(story),
        _held(story),
        _recorded(story),
        _crowds(story),
        _similar(story),
        _passed(story),
    ]
    if story.crossing is not None:
        texts.append(_crossing(story, story.crossing))
    if story.delay is None:
        texts.append(f"Its delay by later arrivals is not known: {story.undelayed}.")
    else:
        texts += [_delay(story, story.delay), _costs(story.delay), _found_by(story.delay)]
    return [text for text in texts if text]


def clause(story: Story, cause: Cause) -> str:
    """Return a cause as a clause, with the names of its rules or holds, longest first."""
    seconds: Counter[str] = Counter()
    for part in (part for line in story.account.timeline for part in line.parts):
        if part.cause == cause.key and part.by is not None and part.by != LAPSE:
            seconds[INFERRED_HOLDS.get(part.by, part.by)] += part.seconds
    if cause.key == "unexplained":
        return f"enough was free, and {_unlogged(story)}"
    names = [wording.name(name, 120) for name, _ in seconds.most_common(_NAMED)]
    return f"{cause.clause} ({'; '.join(names)})" if names else cause.clause


def _unlogged(story: Story) -> str:
    """Return why it waited while enough was free, as far as the log says."""
    reason = story.subject.reason or ""
    if story.subject.attempt == 1 and reason_of(reason).blocks:
        return f"{wording.name(reason, 120)}, its last recorded reason, may have held it"
    return "the log does not say why it waited"


def causes(story: Story) -> list[tuple[Cause, float]]:
    """Return the causes of the wait and their times, s, longest first."""
    booked = [(cause, story.account.causes.get(cause.column, 0.0)) for cause in CAUSES]
    return sorted((pair for pair in booked if round(pair[1])), key=lambda pair: -pair[1])


def timeline(story: Story) -> list[str]:
    """Return the lines of the timeline."""
    return [_line(line, story.subject.zone) for line in story.account.timeline]


def _line(line: TimelineLine, zone: str) -> str:
    begin, end = (datetime.fromtimestamp(at, ZoneInfo(zone)) for at in (line.begin, line.end))
    first, last = (f"{DAYS[at.weekday()]} {at:%m-%d %H:%M}" for at in (begin, end))
    until = f"{end:%H:%M}" if begin.date() == end.date() else last
    length = line.end - line.begin
    longest, *rest = line.parts
    text = f"{first}–{until} ({wording.duration(length)}): {_why(longest)}"
    if longest.seconds < _NEARLY * length:
        text += f", for {wording.duration(longest.seconds)} of it"
    for part in rest:
        if part.seconds >= _SHOWN * length:
            text += f"; for {wording.duration(part.seconds)}, {_why(part)}"
    return text


def _why(part: LineCause) -> str:
    running = f"{wording.plural(part.jobs, 'running job')} of others"
    behind = {
        "own": f"behind {wording.plural(part.jobs, 'job')} of the same user",
        "earlier": f"behind {running} that arrived earlier",
        "later": f"behind {running} that arrived later",
        "claimed": f"enough was free, but {wording.plural(part.jobs, 'job')} ahead could use it",
        "held": f"held ({INFERRED_HOLDS.get(part.by, part.by)})" if part.by else "",
        "rule": wording.name(part.by, 120) if part.by else "",
        "unavailable": "outage: nothing ran in its pool or partition"
        if part.by == "outage"
        else f"nodes that it could use were {part.by}"
        if part.by
        else "the pool had less than it requested",
        "unexplained": "enough was free, but it had not started before; the log does not say why"
        if part.by == LAPSE
        else "enough was free and nothing ahead of it was about to start; the log does not say "
        "why it waited",
    }
    return behind.get(part.cause) or _BY_KEY[part.cause].clause


def _part(story: Story) -> str:
    if not story.part:
        return ""
    return (
        f"The log is a part of the workload: {wording.name(story.part, 400)}. Other jobs may have "
        "used the capacity that seems free."
    )


def _idling(story: Story) -> str:
    """Return from when on enough was free; empty if other jobs may have used it."""
    idling, subject = story.account.idling, story.subject
    if idling is None or story.part:
        return ""
    first = " and nothing ahead of it was about to start" if idling.first else ""
    return (
        f"From {wording.instant(idling.begin, subject.zone)} on enough was free{first}; "
        f"{_unlogged(story)}."
    )


def _kept(story: Story) -> str:
    """Return the evidence for reservations, if the wait is due to one, or could be."""
    causes = story.account.causes
    if not any(causes.get(f"cause_{key}_s") for key in ("kept", "unexplained")):
        return ""
    return reservations(story.account.reservations)


def _who(story: Story) -> str:
    subject = story.subject
    size = f"an unknown number of {wording.resources(subject.pool.resource)}"
    if subject.size is not None:
        size = wording.plural(subject.size, wording.resource(subject.pool.resource))
    long = f" for up to {wording.duration(subject.walltime_s)}" if subject.walltime_s else ""
    of = f" of user {wording.name(subject.user)}" if subject.user is not None else ""
    queue = [
        f"{kind} {wording.name(name)}"
        for kind, name in (("partition", subject.partition), ("QOS", subject.qos))
        if name is not None
    ]
    inside = f" in {', '.join(queue)}" if queue else ""
    end = _LEFT.get(Standing(subject.standing), "started")
    return (
        f"Job {wording.name(subject.job_id)}{of} requested {size} of "
        f"{subject.pool.capacity_at(subject.arrival):,}{long}{inside}, arrived on "
        f"{wording.instant(subject.arrival, subject.zone)} and {end} "
        f"{wording.duration(subject.wait_s)} later."
    )


def _held(story: Story) -> str:
    """Return after which job of its user it started; empty if it was not held."""
    if story.own_end is None:
        return ""
    return after_own_end(story.subject.job_id, story.own_end, "the same user")


def _recorded(story: Story) -> str:
    """Return what the recorded reason says; empty if it says that its turn had not come."""
    text = story.subject.reason
    found = reason_of(text or "")
    if not text or (found.cause is None and found is not OTHER):
        return ""
    late = " It may be that of an earlier attempt." if story.subject.attempt > 1 else ""
    if found.blocks and story.account.causes.get("cause_unexplained_s"):
        late += " How long it applied is not logged."
    return f"The last recorded reason is {wording.name(text, 120)}: {found.clause}.{late}"


def _crowds(story: Story) -> str:
    unit = wording.resource(story.subject.pool.resource)

    def crowd(of: Crowd) -> str:
        return f"{wording.plural(of.attempts, 'job')} ({wording.plural(of.size, unit)})"

    running, queued = story.running, story.queued
    text = f"When it arrived, {crowd(running)} ran and {crowd(queued)} waited ahead of it"
    own = running.own + queued.own
    return (
        f"{text}; {own:,} of these {'was' if own == 1 else 'were'} of the same user."
        if own
        else f"{text}."
    )


def _similar(story: Story) -> str:
    median = story.account.similar_wait_s
    if median is None:
        return ""
    return (
        "Half of the similar jobs (of other users, in the same partition and QOS, of the same "
        "width and walltime class, at about that time) waited at most "
        f"{wording.duration(median)}."
    )


def _passed(story: Story) -> str:
    before = "while it waited" if story.subject.start is None else "before it"
    if not story.passed_by:
        return f"No later arrival started {before}."
    wider = sum(passer.size > (story.subject.size or 0) for passer in story.passers)
    text = f"{wording.plural(story.passed_by, 'later arrival')} started {before}"
    return f"{text}, some of them wider." if wider else f"{text}."


def _crossing(story: Story, of: Crossing) -> str:
    subject = story.subject
    until = f" until {wording.instant(of.end, subject.zone)}" if of.end is not None else " on"
    unit = wording.resource(subject.pool.resource)
    return (
        "If it had started when the log was taken, its walltime would reach into a planned "
        "maintenance window or reservation: "
        f"from {wording.instant(of.begin, subject.zone)}{until} the pool has "
        f"{wording.plural(of.capacity, unit)}."
    )


def _delay(story: Story, of: Delay) -> str:
    at = wording.instant(of.fair, story.subject.zone)
    if story.subject.start is not None and of.fair > story.subject.start:
        earlier = wording.duration(of.fair - story.subject.start)
        return f"Later arrivals let it start {earlier} earlier: without them, on {at}."
    if not of.miss_s:
        return "Later arrivals did not delay it."
    text = (
        f"Without later arrivals, it would have started {wording.duration(of.miss_s)} earlier, on "
        f"{at}"
    )
    if of.cautious_s < of.miss_s:
        other = wording.duration(of.cautious_s) if of.cautious_s else "no earlier"
        text += (
            f"; if jobs that a later job of their user passed were held, {other}"
            f"{' earlier' if of.cautious_s else ''}"
        )
    return f"{text}."


def _costs(of: Delay) -> str:
    if not of.costs:
        return ""
    named = ", ".join(
        f"{wording.name(one.user)} ({wording.duration(one.delay_s)})" for one in of.costs
    )
    return (
        "Without the later arrivals of one of these users, it would have started earlier by the "
        f"time given: {named}. These times do not add up."
    )


def _found_by(of: Delay) -> str:
    """Return by which rule the delay was found, and how far it agrees with the log."""
    if of.agreement is None:
        return f"The delay was found by {of.rule}: no start could be compared with any rule."
    share = wording.percent(of.agreement)
    if of.agreement >= KNOWN:
        return (
            f"The delay was found by the rule {of.rule}, which agrees with {share} of the observed "
            "starts."
        )
    return (
        "The delay was found by keeping the order in which jobs started: no rule agrees with more "
        f"than {share} of the observed starts ({wording.percent(KNOWN)} required). Delays of "
        "single jobs are uncertain."
    )
