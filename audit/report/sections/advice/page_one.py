"""What to do, in the words of page one."""

from collections.abc import Iterator

from audit.metrics.verdict import Word
from audit.report import wording
from audit.report.first_page import amounts, phrases
from audit.report.first_page.facts import PageFacts
from audit.report.first_page.sentences import NOTHING, Sentence, Slot, say
from audit.report.sections.advice.record import Advice
from audit.report.sections.advice.text import WALLTIMES
from audit.report.sections.trust.text import (
    ALL,
    LONGEST_TITLE,
    MOST_CHANGES,
    MOST_OF_TITLE,
    MUCH,
    NO_REASON,
    USABLE,
)
from audit.report.sections.who import reasons


def to_try(facts: PageFacts) -> tuple[Sentence, ...]:
    """Return at most three things to do; the last says what was tested."""
    if facts.decision.word is Word.QUIET:
        return (say(phrases.HARDLY),)
    found = [*map(replayed, facts.changes[:MOST_CHANGES]), *_questions(facts)]
    last = NOTHING
    usable = facts.agreement is not None and facts.agreement >= USABLE
    if facts.agreement is None:
        last = say(phrases.UNKNOWN_REPLAY)
    elif facts.part:
        last = say(phrases.UNTESTED_PART)
    elif not usable:
        share = Slot(amounts.short_share(facts.agreement), "agreement of the replay")
        last = say(phrases.UNTESTED, share=share)
    elif not facts.reproduced:
        last = say(phrases.NOT_REPRODUCED)
    elif not facts.changes and facts.tried:
        n, were = Slot(str(facts.tried), "changes tested"), "was" if facts.tried == 1 else "were"
        last = say(phrases.NONE_HELPED, share=amounts.short_share(MUCH), n=n, were=were)
    elif not found:
        own = facts.causes.get("own", 0.0) >= ALL
        last = say(phrases.OWN_ALONE if own else phrases.NONE_TESTED)
    return (*found[: 2 if last else 3], *([last] if last else []))


def replayed(advice: Advice, *, brief: bool = False) -> Sentence:
    """Return a change, and how much less or more jobs wait in its replay."""
    gain, key = advice.gain, f"after {advice.change}"
    title = amounts.first_words(wording.name(advice.title, LONGEST_TITLE), MOST_OF_TITLE)
    jobs = "jobs" if advice.width is None else _of_width(advice.width, advice)
    less = Slot(amounts.short_time(gain.value), f"gain {key}")
    if brief:
        return say(phrases.LESS_BRIEFLY, change=title, jobs=jobs, gain=less)
    within: Sentence | str = ""
    if gain.lower is not None and gain.upper is not None:
        low, high = map(amounts.short_time, (gain.lower, gain.upper))
        possible = advice.observed_s is None or gain.upper <= advice.observed_s
        phrase = phrases.WITHIN if possible else phrases.AT_LEAST
        within = say(phrase, low=Slot(low, f"interval {key}"), high=high)
    observed: Sentence | str = ""
    if advice.observed_s is not None:
        time = Slot(amounts.short_time(advice.observed_s), f"mean wait {key}")
        observed = say(phrases.OBSERVED, time=time)
    caveat = next((of for option, of in phrases.CAVEATS.items() if option in advice.change), "")
    return say(
        phrases.LESS, change=title, jobs=wording.first_upper(jobs), gain=less, within=within,
        observed=observed, more=_more(advice), caveat=caveat,
    )  # fmt: skip


def _more(advice: Advice) -> Sentence:
    """Return whose waits grow most, and how many other classes wait longer."""
    if not advice.losers:
        return NOTHING
    first, *others = advice.losers
    if first.dimension == "width_class":
        jobs = _of_width(first.label, advice)
    elif words := WALLTIMES.get(first.label):
        jobs = f"jobs with time limits {words if words.startswith('over') else f'of {words}'}"
    else:
        jobs = "jobs without a time limit"
    loss = Slot(amounts.short_time(first.wait.value), f"loss after {advice.change}")
    made = say(phrases.MORE if first.certain else phrases.PERHAPS_MORE, jobs=jobs, loss=loss)
    if certain := sum(one.certain for one in others):
        classes = f"{certain} other class{'' if certain == 1 else 'es'}"
        made += say(phrases.OTHERS_MORE, classes=classes)
    return made


def _of_width(label: str, advice: Advice) -> str:
    width = wording.width(label)
    unit = wording.resource(advice.resource) if label == "1" else wording.resources(advice.resource)
    return f"jobs {width} {unit}" if width.startswith("over") else f"jobs of {width} {unit}"


def _questions(facts: PageFacts) -> Iterator[Sentence]:
    shares = {} if facts.part else facts.causes
    if carried := reasons.carried(facts):
        yield say(phrases.WHY_OVERTAKEN, who=carried)
    if shares.get("rule", 0.0) >= MUCH and facts.rules:
        rule = facts.rules[0].name
        phrase = phrases.HAS_ENDED if rule in facts.ended else phrases.TO_DECIDE
        if not any(rule in change.title for change in facts.changes[:MOST_CHANGES]):
            yield say(phrase, rule=reasons.rule_link(rule))
    if shares.get("nodes", 0.0) >= MUCH:
        yield say(phrases.TO_SPREAD)
    if shares.get("none", 0.0) >= NO_REASON:
        resources = wording.resources(facts.machine.resource)
        yield say(phrases.TO_ASK, jobs=reasons.held(facts), resources=resources)
