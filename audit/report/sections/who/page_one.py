"""Who waited and why, in the words of page one: reasons have at most 14 words."""

from collections.abc import Iterator
from typing import Final

from audit.metrics.verdict import Word
from audit.report import wording
from audit.report.first_page import amounts, phrases
from audit.report.first_page.page import PageFacts
from audit.report.first_page.sentences import NOTHING, Sentence, Slot, figure, joined, say, upper
from audit.report.sections.causes.record import Where
from audit.report.sections.causes.shown import (
    BY_KEY,
    FULL,
    NOT_CERTAIN,
    NOT_LOGGED,
    ShownCause,
    together,
)
from audit.report.sections.who.record import (
    OvertakenRow,
    People,
    Person,
    UsedLess,
    WhoGroup,
    WhoRow,
)

HALF: Final = 0.5
LEAST_RULES: Final = 0.3
LEAST_LATER: Final = 0.2
LEAST_FREE: Final = 0.25
LEAST_RANKED: Final = 0.1
ONE_NAME: Final = 2 / 3
LONG_NAME: Final = 30
RULES: Final = "#rules"


def name(kind: str, of: str) -> str:
    """Return a user or account as a name on its own: ``User 3``, ``u071``, ``Account bio``."""
    shown = wording.name(of, LONG_NAME)
    if kind == "account":
        return f"Account {shown}"
    return f"User {shown}" if of.isdecimal() else shown


def carried(facts: PageFacts) -> str:
    """Return who carries the verdict; empty unless it is mixed or unfair."""
    decision = facts.decision
    if decision.word not in (Word.MIXED, Word.UNFAIR):
        return ""
    first, *others = decision.carried
    if others:
        return amounts.counted(len(decision.carried), decision.kind)
    return name(first.kind, first.name)


def unit(facts: PageFacts) -> str:
    """Return one unit of the counted resource."""
    return wording.resource(facts.machine.resource)


def label(cause: ShownCause, facts: PageFacts) -> str:
    """Return the label of a cause in the key."""
    free = "free"
    if facts.machine.nodes is None:
        free = f"{wording.resources(facts.machine.resource)} free in total"
    text = cause.in_part if facts.part and cause.in_part else cause.label
    reason = NOT_CERTAIN if has_reason(facts) else NOT_LOGGED
    return wording.first_upper(text.format(free=free, reason=reason))


def cause(key: str, facts: PageFacts) -> str:
    """Return a cause in lower case, in which a full machine is one."""
    return phrases.FULL_MACHINE if key == FULL else wording.first_lower(label(BY_KEY[key], facts))


def has_reason(facts: PageFacts) -> bool:
    """Whether a hold or limit was recorded of much of the waiting that has no known cause."""
    return facts.where is not None and facts.where.kind == "reason"


def rule_link(rule: str) -> Slot:
    """Return the name of a rule, which leads to its definition."""
    return Slot(wording.name(rule, 80), href=RULES)


def mention(rule: str) -> Slot:
    """Return a rule's name at its second mention: ``daytime closure``."""
    return rule_link(phrases.brief_rule(rule))


def jobs_of(where: Where, facts: PageFacts, *, ask: bool = False) -> str:
    """Return a class of jobs; ``ask``: as the object of a question."""
    value = where.value
    if where.kind == "walltime":
        return phrases.OVER_TIME.format(time=f"{int(value) // 3_600} h")
    if where.kind == "queue":
        return phrases.OF_QUEUE.format(queue=wording.name(str(value), LONG_NAME))
    if where.kind == "reason":
        return phrases.OF_REASON.format(reason=wording.name(str(value), LONG_NAME))
    if where.kind == "size":
        return phrases.OVER_SIZE.format(size=value, unit=unit(facts))
    user = name("user", str(value))
    return (phrases.THE_JOBS_OF if ask else phrases.OF_USER).format(user=user)


def held(facts: PageFacts) -> str:
    """Return whose jobs waited without a reason, as the object of a question."""
    where = facts.where
    return phrases.JOBS if where is None else jobs_of(where, facts, ask=True)


def overtaken(row: OvertakenRow, facts: PageFacts) -> Sentence:
    """Return why later jobs overtook one."""
    if row.cause == "held":
        return say(phrases.OVERTAKEN_HELD)
    if row.cause == "priority":
        return say(phrases.OVERTAKEN_PRIORITY)
    if row.cause == "usage":
        multiple = Slot(amounts.digits(row.usage_multiple or 0.0), f"usage of {row.name}")
        return say(phrases.OVERTAKEN_USAGE, times=multiple)
    if facts.known.by_priority is not None and row.later >= LEAST_RANKED:
        return say(phrases.OVERTAKEN_RANKED)
    return say(phrases.OVERTAKEN_UNKNOWN)


def used_less(row: UsedLess, facts: PageFacts) -> Sentence:
    """Return why an account used less than its share."""
    if row.median <= row.others:
        used, share = (amounts.short_share(of) for of in (row.used, row.share))
        slots = (Slot(used, f"usage of {row.name}"), Slot(share, f"share of {row.name}"))
        return say(phrases.ASKED_LESS, x=slots[0], y=slots[1])
    return person(row.reason, facts)


def person(of: Person, facts: PageFacts) -> Sentence:
    """Return what most of the waiting of a user or account was for."""
    return next(_patterns(of, facts))


def _patterns(of: Person, facts: PageFacts) -> Iterator[Sentence]:
    """Yield the patterns that hold, the first of which is said."""
    part = of.causes
    full, none, rule = part["earlier"] + part["later"], part["none"], part["rule"]
    largest = next(iter(together(part)))
    if of.named_in_rule and largest == "rule":
        yield say(phrases.OWN_RULE, kind=of.kind)
    if rule >= HALF or (largest == "rule" and rule >= LEAST_RULES):
        yield _rules(of)
    if full >= HALF and full > none:
        later = phrases.PARTLY_LATER if part["later"] >= LEAST_LATER else ""
        if part["later"] >= HALF:
            later = phrases.MOSTLY_LATER
        yield say(phrases.LARGE if of.large else phrases.FULL, later=later)
    for key, phrase in _HALVES.items():
        if part[key] >= HALF:
            yield say(phrase)
    if of.low_priority:
        yield say(phrases.LOW_PRIORITY)
    if largest == "none" and of.last_reason is not None and not facts.part:
        yield say(phrases.LAST_REASON, reason=wording.name(of.last_reason, LONG_NAME))
    if largest == "none" and of.hold is not None:
        yield say(phrases.RELEASED)
    if largest == "none" and none >= LEAST_FREE and not facts.part:
        much = Slot(amounts.short_share(none), f"no reason of {of.kind} {of.name}")
        yield say(phrases.FREE, much="mostly" if none >= HALF else much)
    if part.get(largest, 0.0) >= HALF:
        much = Slot(amounts.spoken(part[largest]), f"largest cause of {of.kind} {of.name}")
        yield upper(say(phrases.MOSTLY, cause=cause(largest, facts), much=much))
    yield say(phrases.MANY, cause=cause(largest, facts))


_HALVES: Final = {
    "own": phrases.OWN_JOBS,
    "held_user": phrases.OWN_HOLD,
    "held_site": phrases.SITE_HOLD,
    "held_unknown": phrases.LIMIT_OR_CHAIN,
}


def _rules(of: Person) -> Sentence:
    total = sum(one.waiting_s for one in of.rules)
    what: Slot | str = phrases.RULES_OF_SITE
    if of.rules and of.rules[0].waiting_s >= ONE_NAME * total:
        what = rule_link(of.rules[0].name)
    share = of.causes["rule"]
    spoken = Slot(amounts.spoken(share), f"rules of {of.kind} {of.name}")
    return upper(say(phrases.OF_ITS_WAITING, what=what, share=spoken))


def who_sub(facts: PageFacts) -> Sentence:
    """Return how few users have half of the waiting; nothing about one user alone."""
    people = facts.people
    if people is None or people.users == 1:
        return NOTHING
    if people.users >= 20 and people.half > people.users / 5:
        return say(phrases.SPREAD)
    one = people.half == 1
    much = amounts.short_share(people.half_waiting)
    if not one and amounts.plain(people.half_waiting) == "half":
        much = "half"
    in_line = people.half_cpu >= people.half_waiting * 2 / 3
    line = phrases.IN_LINE.format(whose="its" if one else "their") if in_line else "and"
    return upper(
        say(
            phrases.HALF_OF,
            users=Slot(amounts.counted(people.half, "user"), "users with half of the waiting"),
            have="has" if one else "have",
            much=Slot(much, "waiting of the users with half"),
            line=line,
            cpu=Slot(amounts.short_share(people.half_cpu), "CPU time of the users with half"),
        )
    )


def who_groups(facts: PageFacts) -> tuple[WhoGroup, ...]:
    """Return the lists of users or accounts."""
    return () if facts.people is None else tuple(_groups(facts.people, facts))


def _groups(people: People, facts: PageFacts) -> Iterator[WhoGroup]:
    kind = people.kind
    if people.overtaken:
        base = "" if facts.base_days is None else f" in the last {facts.base_days} days"
        title = say(
            phrases.OVERTAKEN,
            base=base,
            n=Slot(str(len(people.overtaken)), "number overtaken"),
            m=Slot(wording.count(people.tested_of_kind), "number tested"),
            kind=kind,
        )
        yield WhoGroup(title, tuple(_overtaken_rows(people, facts)), phrases.TIME_LOST)
    if people.most:
        yield WhoGroup(say(phrases.MOST), tuple(_row(one, facts) for one in people.most))
    if people.users > 1:
        yield _longer(people, facts)
    if people.used_less:
        title = say(
            phrases.USED_LESS,
            n=Slot(str(len(people.used_less)), "accounts below their share"),
            m=Slot(str(people.with_share), "accounts with a share"),
        )
        yield WhoGroup(title, tuple(_less_rows(people, facts)), phrases.BELOW_SHARE)


def _longer(people: People, facts: PageFacts) -> WhoGroup:
    of = Slot(wording.count(people.compared), "number compared")
    if not people.compared:
        return WhoGroup(say(phrases.NONE_COMPARABLE, kind=people.kind), ())
    if not people.longer:
        return WhoGroup(say(phrases.NONE_LONGER, m=of, kind=people.kind), ())
    shown, fresh = len(people.longer_rows), people.longer - people.above
    above = Slot(wording.count(people.above), "of them above")
    listed = say(phrases.ABOVE, n=above) if fresh else say(phrases.ALL_ABOVE)
    title = say(
        phrases.LONGER,
        n=Slot(wording.count(people.longer), "number with longer waits"),
        m=of,
        kind=people.kind,
        above=listed if people.above else "",
        shown=say(phrases.SHOWN, n=Slot(str(shown), "number shown")) if shown < fresh else "",
    )
    return WhoGroup(title, tuple(_row(one, facts) for one in people.longer_rows))


def _overtaken_rows(people: People, facts: PageFacts) -> Iterator[WhoRow]:
    for one in people.overtaken:
        of = f"overtaken {one.kind} {one.name}"
        yield WhoRow(
            *(one.kind, one.name, name(one.kind, one.name)),
            figure(f"{wording.count(one.passed_jobs)} of {wording.count(one.jobs)}", f"jobs {of}"),
            figure(amounts.short_share(one.passed), f"passed time {of}"),
            figure(amounts.short_time(one.passed_median), f"typical passed time {of}"),
            Sentence((Slot(amounts.UNKNOWN),)),
            overtaken(one, facts),
        )


def _row(one: Person, facts: PageFacts) -> WhoRow:
    of = f"{one.kind} {one.name}"
    jobs = wording.count(one.jobs)
    if one.compared is not None and one.compared < one.jobs:
        jobs = f"{wording.count(one.compared)} of {jobs}"
    similar = amounts.short_time(one.similar)
    return WhoRow(
        *(one.kind, one.name, name(one.kind, one.name)),
        figure(jobs, f"jobs of {of}"),
        figure(amounts.short_share(one.waiting), f"waiting of {of}"),
        figure(amounts.short_time(one.median), f"typical wait of {of}"),
        figure(similar, "" if one.similar is None else f"similar jobs of {of}"),
        person(one, facts),
    )


def _less_rows(people: People, facts: PageFacts) -> Iterator[WhoRow]:
    for one in people.used_less:
        of = f"account {one.name} below its share"
        yield WhoRow(
            *("account", one.name, name("account", one.name)),
            figure(wording.count(one.jobs), f"jobs of {of}"),
            figure(amounts.short_share(one.waiting), f"waiting of {of}"),
            figure(amounts.short_time(one.median), f"typical wait of {of}"),
            figure(amounts.short_time(one.others), f"others’ typical wait of {of}"),
            used_less(one, facts),
        )


def who_foot(groups_: tuple[WhoGroup, ...], facts: PageFacts) -> Sentence:
    """Return the footnote: what *not known* may be, and what similar jobs are."""
    rows = [row for group in groups_ for row in group.rows]
    unknown = any(row.reason.text.startswith("Not known") for row in rows)
    people = facts.people
    several = people is not None and people.users > 1
    listed = () if people is None else (*people.most, *people.longer_rows)
    some = any(one.compared is not None and one.compared < one.jobs for one in listed)
    return joined(
        say(phrases.NOT_KNOWN) if unknown else NOTHING,
        say(phrases.SIMILAR) if several and rows else NOTHING,
        say(phrases.SOME_SIMILAR) if several and some else NOTHING,
    )
