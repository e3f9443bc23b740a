"""The words of a verdict, and the paragraph below *cannot tell*.

A sentence has at most 20 words and 100 characters: if it is longer, two causes become the largest
alone, and then the cause goes.
"""

from typing import Final

from audit.metrics.verdict import Because, Decision, VerdictBound, Word
from audit.report import wording
from audit.report.first_page import amounts, phrases
from audit.report.first_page.page import PageFacts
from audit.report.first_page.sentences import NOTHING, Sentence, Slot, joined, say, upper
from audit.report.sections.causes.record import RuleTime
from audit.report.sections.causes.shown import FULL, together
from audit.report.sections.who import page_one

MOST_WORDS: Final = 20
MOST_CHARACTERS: Final = 100
CLOSE: Final = 0.05
"""Two causes are named together if they differ by at most this share."""
MUCH: Final = 0.5
ALMOST_ALL: Final = 0.995
"""A share without an interval: both bounds would be written as 100 %."""
NEAR_HALF: Final = (0.46, 0.54)
ONE_NAME: Final = 2 / 3
"""Part of the rules' time from which one rule is named."""
LONG_P90_S: Final = 600
PRIORITY: Final = 0.9


def sentence(facts: PageFacts) -> Sentence:
    """Return the sentence of the verdict."""
    decision = facts.decision
    match decision.word:
        case Word.QUIET:
            return _quiet(facts)
        case Word.CANNOT_TELL:
            return _cannot(facts)
        case Word.FAIR:
            return _fair(facts)
    some = len(decision.carried)
    who = say(f"{amounts.counted(some, decision.kind)} {'was' if some == 1 else 'were'}")
    phrase = phrases.UNFAIR if decision.word is Word.UNFAIR else phrases.MIXED
    return upper(say(phrase, who=who))


def _quiet(facts: PageFacts) -> Sentence:
    strip = facts.strip
    number = strip.minute_jobs if strip else 0
    time = "a minute"
    if number >= facts.thresholds["few_jobs"] and strip:
        number, time = strip.long_jobs, "10 minutes"
    if number == 0:
        who = "No job"
    elif number == 1:
        who = "Only one job"
    else:
        who = f"Only {wording.count(number)} jobs"
    return say(phrases.QUIET, who=Slot(who, f"jobs that waited over {time}"), time=time)


def _cannot(facts: PageFacts) -> Sentence:
    decision = facts.decision
    if decision.because is Because.ONE_USER and facts.several:
        return say(phrases.ONE_USER_OF_POOL, pool=wording.name(facts.pool, 30))
    if decision.because is not Because.NOT_JUDGED:
        days = wording.plural(facts.missing_days, "day")
        return say(phrases.CANNOT[decision.because], days=Slot(days, "missing days"))
    if (decision.not_judged or 0.0) < facts.thresholds["not_judged"]:
        return say(phrases.STILL)
    if (facts.base_no_reason or 0.0) < MUCH:
        return say(phrases.HELD_BACK)
    why = phrases.NOT_CERTAIN_WHY if page_one.has_reason(facts) else phrases.NOT_SAID
    if (facts.base_p90 or 0) <= LONG_P90_S:
        return say(phrases.FEW_WAITED, why=why)
    total = " in total" if facts.machine.nodes is None else ""
    return say(phrases.ENOUGH_FREE, total=total, why=why)


def _fair(facts: PageFacts) -> Sentence:
    fair = _why_fair(facts)
    for cause in causes(facts):
        made = say(phrases.WITH_CAUSE, fair=fair, cause=cause)
        if fits(made):
            return made
    return say(f"{fair}.")


def fits(sentence_: Sentence) -> bool:
    """Whether a sentence is short enough for a verdict."""
    text = sentence_.plain
    return len(text) <= MOST_CHARACTERS and len(text.split()) <= MOST_WORDS


def _why_fair(facts: PageFacts) -> str:
    people, decision = facts.people, facts.decision
    if people is not None and (known := people.known_causes):
        if not any(known):
            return phrases.LITTLE
        return phrases.KNOWN if all(known) else phrases.LITTLE_OR_KNOWN
    if (facts.known.by_priority or 0.0) >= PRIORITY:
        return phrases.BY_PRIORITY
    if people is None or not people.tested:
        return phrases.NONE_CLEARED.format(kind=decision.kind)
    if (facts.tested_waiting or 0.0) < MUCH:
        return phrases.FEW_TESTED.format(kind=decision.kind)
    phrase = phrases.NOBODY_TESTED if decision.not_tested else phrases.NOBODY
    return phrase.format(kind=decision.kind)


# --- causes --------------------------------------------------------------------------------------


def causes(facts: PageFacts) -> list[Sentence]:
    """Return what caused most of the waiting, the longest text first; empty: nothing waited."""
    shares = together(facts.causes)
    shares.pop("outside")
    total = sum(shares.values())
    if not total:
        return []
    (first, part), (second, other), *_ = ((key, of / total) for key, of in shares.items())
    alone = _alone(first, part, facts)
    if part - other > CLOSE or first == "none":
        return [alone]
    a, b = (_paired(key, facts) for key in (first, second))
    return [say(phrases.COST_MOST, a=a, b=b), alone]


def _paired(key: str, facts: PageFacts) -> str:
    if key == "rule":
        return rule_of(facts)
    lacked = facts.lacked[0] if facts.lacked else ""
    return phrases.PAIRED[key].format(what=phrases.SCATTERED_WHAT.get(lacked, "nodes"))


def _alone(key: str, part: float, facts: PageFacts) -> Sentence:
    much = part >= MUCH
    if key == "none":
        most = "most of" if part > NEAR_HALF[1] else "half of"
        phrase = phrases.NO_REASON if part >= NEAR_HALF[0] else phrases.LARGEST_NO_REASON
        return say(phrase, much=most)
    if key == "rule":
        phrase = phrases.CAUSED_MUCH if much else phrases.CAUSED_MOST
        return say(phrase, rule=rule_of(facts), much=amounts.plain(part) or "most")
    if key == FULL:
        return say(phrases.FULL_MUCH if much else phrases.FULL_MOST)
    if key == "own":
        return say(phrases.OWN_MUCH if much else phrases.OWN_MOST)
    return say(phrases.OTHER_MOST, what=_paired(key, facts))


def rule_of(facts: PageFacts) -> str:
    """Return the rules in few words: ``a daytime closure``, ``limits``.

    A level of the whole machine that the log shows may be that of nodes out of service.
    """
    total = sum(one.waiting_s for one in facts.rules)
    if not facts.rules or not total:
        return "rules of the site"
    first = facts.rules[0]
    if first.waiting_s >= ONE_NAME * total:
        return phrases.SMALLER if first.whole else brief(first)
    kinds = {one.kind == "limit" for one in facts.rules}
    if len(kinds) == 2:
        return "rules of the site"
    return "limits" if True in kinds else "closed hours"


def brief(rule: RuleTime) -> str:
    """Return the first words of a rule's name: ``a GPU limit``, ``a weekday closure``."""
    if rule.kind == "limit":
        return "a GPU limit" if rule.unit.startswith("gpus") else "a limit"
    time, _, rest = rule.name.partition(" ")
    return f"a {time} closure" if rest.startswith("closure") else "closed hours"


# --- cannot tell ---------------------------------------------------------------------------------


def cannot_tell(facts: PageFacts) -> Sentence:
    """Return the paragraph with the fact, its number and its bound; empty for other words."""
    decision = facts.decision
    if decision.word is not Word.CANNOT_TELL:
        return NOTHING
    match decision.because:
        case Because.NOT_JUDGED:
            fact = _not_judged(facts, decision)
        case Because.NOT_TESTED:
            lost = Slot(amounts.short_share(decision.not_tested), "not tested of the waiting")
            bound = amounts.short_share(_least(facts, VerdictBound.NOT_TESTED))
            fact = say(phrases.NOT_TESTED, share=lost, bound=bound)
        case because:
            fact = _fact(facts, because)
    return joined(fact, say(phrases.NOBODY_ACCUSED))


def _not_judged(facts: PageFacts, decision: Decision) -> Sentence:
    bound = _least(facts, VerdictBound.NOT_JUDGED)
    least = phrases.HALF if bound == MUCH else amounts.short_share(bound)
    if (decision.not_judged or 0.0) < facts.thresholds["not_judged"]:
        least = phrases.AS_BEFORE.format(bound=least)
    days = facts.base_days
    base = "" if days is None else phrases.IN_BASE.format(days=days)
    low, high = facts.not_judged
    within = ""
    if low is not None and high is not None and low < ALMOST_ALL:
        within = f" ({amounts.between(low, high)})"
    return upper(
        say(
            phrases.NOT_JUDGED,
            share=Slot(amounts.short_share(decision.not_judged), "not judged of the waiting"),
            base=base,
            interval=Slot(within, "interval of not judged"),
            bound=least,
        )
    )


def _least(facts: PageFacts, bound: VerdictBound) -> float:
    """Return the share below which there is a verdict; a bound that holds is lower."""
    share = getattr(facts.decision, bound.value) or 0.0
    full = float(facts.thresholds[bound.value])
    return full if share >= full else full * float(facts.thresholds["held"])


def _fact(facts: PageFacts, because: Because) -> Sentence:
    least = int(facts.thresholds["few_jobs"])
    refused = wording.plural(facts.known.refused, "record")
    return say(
        phrases.FACT[because],
        jobs=Slot(wording.plural(facts.base_ended, "job"), "jobs that ended"),
        least=str(least),
        share="5 %",
        refused=Slot(refused, "refused records"),
        records=Slot(wording.count(facts.known.records), "records"),
    )
