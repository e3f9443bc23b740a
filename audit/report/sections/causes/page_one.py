"""Causes of waiting, in the words of page one."""

from collections.abc import Callable, Iterator
from typing import Final

from audit.report import wording
from audit.report.first_page import amounts, phrases
from audit.report.first_page.page import PageFacts
from audit.report.first_page.sentences import NOTHING, Sentence, Slot, figure, say
from audit.report.sections.causes.record import KeyGroup, KeyRow, Segment, Shares
from audit.report.sections.causes.shown import (
    BEHIND,
    BY_KEY,
    CAUSES,
    FULL,
    FULL_OF,
    GROUPS,
    together,
)
from audit.report.sections.who import page_one
from audit.report.sections.who.page_one import label

DRAWN: Final = 0.004
"""Parts of a bar below this share are not drawn."""
LISTED: Final = 0.01
MUCH: Final = 0.05
MOST_WORDS: Final = 25
NO_REASON: Final = 0.2
MUCH_CANCELLED: Final = 0.05


def why_sub(facts: PageFacts) -> Sentence:
    """Return how much waiting there was."""
    cancelled: Sentence | str = ""
    if facts.cancelled_s >= MUCH_CANCELLED * facts.waiting_s and facts.cancelled_s:
        hours = Slot(amounts.hours(facts.cancelled_s), "waiting of cancelled jobs")
        cancelled = say(phrases.CANCELLED, hours=hours)
    hours = Slot(amounts.hours(facts.waiting_s), "all waiting")
    return say(phrases.WHY_SUB, hours=hours, cancelled=cancelled)


def bar(shares: Shares, facts: PageFacts) -> tuple[Segment, ...]:
    """Return the parts of a bar that are wide enough to see, which together are 1."""
    drawn = [cause for cause in CAUSES if shares.get(cause.key, 0.0) >= DRAWN]
    total = sum(shares[cause.key] for cause in drawn)
    return tuple(
        Segment(cause.key, shares[cause.key] / total, label(cause, facts)) for cause in drawn
    )


def groups(facts: PageFacts) -> tuple[KeyGroup, ...]:
    """Return the key of the bar: totals add up to 100, and listed causes to their total."""
    shares = {key: 100 * share for key, share in facts.causes.items()}
    if not any(shares.values()):
        return ()
    exact = {title: sum(shares[c.key] for c in CAUSES if c.group == title) for title in GROUPS}
    totals = amounts.adding_up({title: of for title, of in exact.items() if of}, 100)
    most = next(iter(together(shares)))
    return tuple(
        KeyGroup(
            title,
            figure(amounts.whole(total, alone=len(totals) == 1), f"share of {title.lower()}"),
            tuple(_rows(title, total, shares, most, facts)),
        )
        for title, total in totals.items()
    )


def _rows(title: str, total: int, shares: Shares, most: str, facts: PageFacts) -> Iterator[KeyRow]:
    listed = {
        cause.key: shares[cause.key]
        for cause in CAUSES
        if cause.group == title and shares[cause.key] >= 100 * LISTED
    }
    parts: dict[str, float] = {}
    if listed.keys() >= set(FULL_OF):
        parts = {key: listed.pop(key) for key in FULL_OF}
        listed = {FULL: sum(parts.values())} | listed
    alone = len(listed) == 1
    for key, fitted in _fitted(listed, total).items():
        value = total if alone else fitted
        share = NOTHING if alone else figure(amounts.whole(value), f"share of {key}")
        if key != FULL:
            said = BY_KEY[key].said or key
            yield KeyRow(key, label(BY_KEY[key], facts), share, value, most=said == most)
            continue
        title = wording.first_upper(phrases.FULL_MACHINE)
        yield KeyRow(FULL, title, share, value, most=key == most)
        for part, of_full in _fitted(parts, value).items():
            share = figure(amounts.whole(of_full), f"share of {part}")
            yield KeyRow(part, phrases.OF_FULL[part], share, of_full, most=False, part=True)


def _fitted(shares: Shares, total: int) -> dict[str, int]:
    """Return rounded shares, which add up to a total that they miss by one."""
    rounded = {key: round(share) for key, share in shares.items()}
    if abs(sum(rounded.values()) - total) != 1:
        return rounded
    fitted = amounts.adding_up(shares, total)
    # else what is not listed makes up the rest
    return fitted if sum(fitted.values()) == total else rounded


def shown_shares(facts: PageFacts) -> dict[str, str]:
    """Return the listed causes as sentences have them, the largest first.

    Shares are those of the key, whose groups add up: rounded, two may change places.
    """
    rows = [(row, of) for of in groups(facts) for row in of.rows]
    known = {row.cause: (row.percent, (row.share or of.total).plain) for row, of in rows}
    found = {}
    for key, exact in together(facts.causes).items():
        if exact >= LISTED:
            percent = round(100 * exact)
            found[key] = known.get(key, (percent, amounts.whole(percent)))
    largest = sorted(found, key=lambda key: -found[key][0])
    return {key: found[key][1] for key in largest}


def notes(facts: PageFacts) -> tuple[Sentence, ...]:
    """Return the notes below the key."""
    return tuple(filter(None, _notes(facts)))


def _notes(facts: PageFacts) -> Iterator[Sentence]:
    shares = facts.causes
    alone = facts.people is not None and facts.people.users == 1
    behind = sum(shares.get(key, 0.0) for key in BEHIND) + _of_several(facts)
    if facts.waiting_s and not alone and behind < MUCH:
        yield say(phrases.NOT_FOR_OTHERS)
    if shares.get("rule", 0.0) >= MUCH and facts.rules:
        yield _rule_note(facts)
    lacked, part = facts.lacked or ("", 0.0)
    if (
        not facts.part
        and shares.get("nodes", 0.0) >= MUCH
        and part >= 0.5
        and lacked in phrases.LACKED
    ):
        yield say(phrases.SCATTERED, what=phrases.LACKED[lacked])
    if shares.get("none", 0.0) >= NO_REASON and facts.where is not None:
        where = facts.where
        yield say(
            phrases.WHERE_REASON if page_one.has_reason(facts) else phrases.WHERE,
            much=Slot(amounts.spoken(where.share), "class without a reason"),
            jobs=page_one.jobs_of(where, facts),
            part=Slot(amounts.short_share(where.jobs), "jobs of the class without a reason"),
        )


def _of_several(facts: PageFacts) -> float:
    """Return the share of waiting under limits that several users fill together."""
    total = sum(one.waiting_s for one in facts.rules)
    several = sum(one.waiting_s for one in facts.rules if one.several)
    return facts.causes.get("rule", 0.0) * several / total if total else 0.0


def _rule_note(facts: PageFacts) -> Sentence:
    total = sum(one.waiting_s for one in facts.rules)
    free = sum(one.free_s for one in facts.rules) / total
    first = facts.rules[0]
    source = phrases.SOURCES.get(first.source, first.source)
    part = amounts.spoken(free, nearly=phrases.NEARLY_ALWAYS)
    spoken = Slot(part, "rules while enough was free")

    def said(phrase: str, name_of: Callable[[str], Slot]) -> Sentence:
        if 2 * first.waiting_s >= total or len(facts.rules) == 1:
            which = say(phrases.MAINLY, rule=page_one.rule_link(first.name), source=source)
        else:
            links = [name_of(one.name) for one in facts.rules[:2]]
            which = say(phrases.TWO_RULES, a=links[0], b=links[1], source=source)
        if facts.part:
            return say(phrases.RULE_IN_PART, which=which)
        return say(phrase, which=which, free=spoken)

    whole = phrases.RULE_BRIEFLY if part == phrases.NEARLY_ALWAYS else phrases.RULE
    made = said(whole, page_one.rule_link)
    if len(made.text.split()) <= MOST_WORDS:
        return made
    return said(phrases.RULE_BRIEFLY, page_one.mention)
