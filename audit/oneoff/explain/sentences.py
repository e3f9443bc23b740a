"""A wait told in plain sentences: pure functions of its ``Story``."""

from __future__ import annotations

from audit.metrics.attempts.fidelity import fits
from audit.oneoff.explain.story import Cost, Crowd, Starts, Story
from audit.registry.causes import CAUSES
from audit.report.text import wording


def sentences(story: Story) -> list[str]:
    """The story of a wait, a sentence or two on each thing that is known of it."""
    told = [_who(story), _crowds(story), _anatomy(story), _peers(story), _passed(story)]
    told += [f"A model of the scheduler says nothing of it: {story.unmodelled}."] * bool(
        story.unmodelled
    )
    if story.starts is not None:
        told += [_fair(story, story.starts), _overtaken(story, story.starts), _costs(story)]
        told += [_unexplained(story, story.starts), _trust(story)]
    return [text for text in told if text]


def title(story: Story) -> str:
    """Whose wait it is."""
    subject = story.subject
    again = f", attempt {subject.attempt}" if subject.attempt > 1 else ""
    return f"Why job {wording.name(subject.job_id)}{again} waited"


def lead(story: Story) -> str:
    """The greatest part of the wait, in one sentence."""
    subject = story.subject
    waited = f"It waited {wording.duration(subject.wait_s)}"
    if not story.parts or subject.wait_s == 0:
        return f"{waited}."
    most = max(CAUSES, key=lambda cause: story.parts[cause.column])
    share = wording.percent(story.parts[most.column] / subject.wait_s)
    return f"{waited}; for {share} of that time {most.clause}."


def policy(story: Story) -> str:
    """The modelled policy, as a reader knows it."""
    asked = story.subject.pool.policy
    pool = story.subject.pool
    held = [word for word, of in (("limits", pool.limits), ("windows", pool.windows)) if of]
    within = f", within its {' and '.join(held)}" if held else ""
    return f"{asked.order.value} + {asked.backfill.value}{within}"


def _who(story: Story) -> str:
    subject = story.subject
    unit = wording.resource(subject.pool.resource)
    asked = "an unknown amount" if subject.size is None else wording.plural(subject.size, unit)
    long = f" for up to {wording.duration(subject.walltime_s)}" if subject.walltime_s else ""
    of = f" of user {wording.name(subject.user)}" if subject.user is not None else ""
    end = {
        "never_started": "left the queue without having started",
        "pending": "still waited when the log was taken,",
    }.get(subject.standing, "started")
    return (
        f"Job {wording.name(subject.job_id)}{of} asked for {asked} of "
        f"{subject.pool.capacity_at(subject.arrival):,}{long}, arrived on "
        f"{wording.instant(subject.arrival, subject.zone)} and {end} "
        f"{wording.duration(subject.wait_s)} later."
    )


def _crowds(story: Story) -> str:
    unit = wording.resource(story.subject.pool.resource)

    def told(crowd: Crowd) -> str:
        return f"{wording.plural(crowd.attempts, 'attempt')} ({_size(crowd.size, unit)})"

    running, queued = story.running, story.queued
    text = f"When it came, {told(running)} ran and {told(queued)} waited before it"
    own = running.own + queued.own
    were = "was" if own == 1 else "were"
    return text + (f"; {own:,} of these {were} of the same user." if own else ".")


def _size(size: int, unit: str) -> str:
    return wording.plural(size, unit)


def _anatomy(story: Story) -> str:
    wait = story.subject.wait_s
    if not story.parts or not wait:
        return ""
    parts = sorted(((story.parts[cause.column], cause) for cause in CAUSES), key=lambda of: -of[0])
    told = [
        f"in {wording.duration(part)} ({wording.percent(part / wait)}) {cause.clause}"
        for part, cause in parts
        if round(part) > 0
    ]
    return f"Of its wait, without any model: {'; '.join(told)}."


def _peers(story: Story) -> str:
    if story.peer_wait_s is None:
        return ""
    return (
        "Jobs alike (of other users, as wide and as long, at about that time) waited "
        f"{wording.duration(story.peer_wait_s)} on average."
    )


def _passed(story: Story) -> str:
    if not story.passed_by:
        return "Nobody who came later started before it."
    wider = sum(passer.size > (story.subject.size or 0) for passer in story.passers)
    text = f"{wording.plural(story.passed_by, 'attempt')} that came later started before it"
    return f"{text}." if not wider else f"{text}, some of them wider."


def _fair(story: Story, starts: Starts) -> str:
    subject = story.subject
    if starts.strict is None:
        return f"Under {policy(story)} it would never have started."
    late = subject.until - starts.strict
    text = (
        f"Under {policy(story)}, had nobody come after it, it would have started on "
        f"{wording.instant(starts.strict, subject.zone)}"
    )
    if late == 0:
        return f"{text}: just when it did."
    side = "earlier" if late > 0 else "later"
    text = f"{text}: {wording.duration(abs(late))} {side} than it did"
    if starts.alone is None:
        return f"{text}."
    waits = (
        (starts.alone - subject.arrival, "for what ran"),
        (starts.strict - starts.alone, "for those that waited before it"),
    )
    told = " and ".join(f"{wording.duration(wait)} {why}" for wait, why in waits if wait)
    return f"{text}. It would have waited {told}." if told else f"{text}."


def _overtaken(story: Story, starts: Starts) -> str:
    if starts.modelled is None or starts.strict is None:
        return ""
    cost = starts.modelled - starts.strict
    if cost == 0:
        return "Those that came later cost it nothing under this policy."
    if cost < 0:
        return (
            f"Those that came later let it start {wording.duration(-cost)} earlier under this "
            "policy."
        )
    text = f"Those that came later cost it {wording.duration(cost)} under this policy"
    if starts.own_s:
        of = "of that" if starts.own_s > 0 else "gained by"
        return f"{text}; {wording.duration(abs(starts.own_s))} {of} jobs of the same user."
    return f"{text}."


def _costs(story: Story) -> str:
    costly = [cost for cost in story.costs if cost.cost_s > 0]
    if not costly:
        return ""
    told = ", ".join(_cost(cost) for cost in costly)
    return (
        f"Of single users, the later arrivals of {told} cost it most: so much earlier it would "
        "have started without those of this one user. Such times do not add up: what one leaves "
        "another may take."
    )


def _cost(cost: Cost) -> str:
    return f"{wording.name(cost.user)} ({wording.duration(cost.cost_s)})"


def _unexplained(story: Story, starts: Starts) -> str:
    if starts.modelled is None:
        return ""
    rest = story.subject.until - starts.modelled
    if abs(rest) <= 60:
        return "The modelled policy explains its start."
    side = "later" if rest > 0 else "earlier"
    return (
        f"It started {wording.duration(abs(rest))} {side} than this policy would have let it: "
        "that the model does not explain."
    )


def _trust(story: Story) -> str:
    trust = story.trust
    if trust is None or trust.agreement is None:
        return ""
    text = (
        f"How far to trust the model here: of the attempts that waited, it starts "
        f"{wording.percent(trust.agreement)} when the site did"
    )
    if trust.correlation is not None:
        text += (
            f", and its waits rank like those observed by {wording.number(trust.correlation, 2)}"
        )
    return f"{text}. " + (
        "That is enough to go by."
        if fits(trust.agreement, trust.correlation)
        else "That is too little to blame anybody by it."
    )
