"""Reasons of a user's or account's waiting, in at most 14 words, and names on page one."""

from collections.abc import Iterator
from typing import Final

from audit.metrics.verdict import Word
from audit.report import wording
from audit.report.first_page import amounts, phrases
from audit.report.first_page.facts import PageFacts
from audit.report.first_page.sentences import Sentence, Slot, say, upper
from audit.report.sections.causes.record import Where
from audit.report.sections.causes.shown import BY_KEY, FULL, IN_TOTAL, ShownCause, together
from audit.report.sections.who.record import OvertakenRow, Person, UsedLess

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
    if facts.part:
        return cause.in_part or cause.label
    if cause.key == "none" and facts.machine.nodes is None:
        return IN_TOTAL.format(resources=wording.resources(facts.machine.resource))
    return cause.label


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
        yield say(phrases.LARGE if of.large else phrases.FULL, later=later)
    for key, phrase in _HALVES.items():
        if part[key] >= HALF:
            yield say(phrase)
    if of.low_priority:
        yield say(phrases.LOW_PRIORITY)
    if largest == "none" and of.hold is not None:
        yield say(phrases.RELEASED)
    if largest == "none" and none >= LEAST_FREE and not facts.part:
        much = Slot(amounts.short_share(none), f"no reason of {of.kind} {of.name}")
        yield say(phrases.FREE, much="mostly" if none >= HALF else much)
    words = (
        phrases.FULL_MACHINE
        if largest == FULL
        else wording.first_lower(label(BY_KEY[largest], facts))
    )
    yield say(phrases.MANY, cause=words)


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
