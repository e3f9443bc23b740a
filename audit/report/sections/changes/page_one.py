"""How waits changed, in the words of page one."""

from typing import Final

from audit.report import wording
from audit.report.first_page import amounts, phrases
from audit.report.first_page.facts import PageFacts
from audit.report.first_page.sentences import NOTHING, Sentence, Slot, joined, say
from audit.report.sections.changes import course
from audit.report.sections.changes.record import Compared, Half
from audit.report.sections.trust.text import FIFTH
from audit.report.sections.who import reasons

SAME_LOAD: Final = 0.05


def changed(facts: PageFacts, *, than: bool = True) -> Sentence:
    """Return how waits changed; ``than``: whether to say what is compared."""
    of = facts.compared
    if of is None:
        if facts.log_days < 14:
            covered = int(facts.log_days)
            text = wording.plural(covered, "day") if covered else phrases.PART_OF_DAY
            days = Slot(text, "days of the log")
            return say(phrases.NO_COMPARISON, days=days)
        return say(phrases.FEW_TO_COMPARE, n=str(course.LEAST_JOBS))
    halves = phrases.HALVES.format(what="log" if of.whole_log else "period")
    unit = phrases.SINCE.format(unit=of.before) if of.before else halves
    compared = f" {unit}" if than else ""
    if not course.is_clear(of.first, of.last):
        return _waits(phrases.SAME, of, compared)
    if not of.significant:
        few = f"{compared}{phrases.FEW_DECIDE}" if than else ""
        return _waits(phrases.NOT_CERTAIN, of, few)
    if _only_of_user(of):
        return say(phrases.ONLY_OF, user=reasons.name("user", of.user or ""))
    made = _clear(of, compared)
    return joined(made, _without(of)) if than else made


def _value(half: Half, of: Compared) -> int:
    return half.p90 if course.by_tenth(of.first, of.last) else half.median


def _waits(phrase: str, of: Compared, than: str) -> Sentence:
    tenth = course.by_tenth(of.first, of.last)
    waits = [Slot(amounts.short_time(_value(half, of)), key) for half, key in _halves(of)]
    loads = [Slot(_load(half), f"load {key}") for half, key in _halves(of)]
    what = phrases.TENTH if tenth else phrases.TYPICAL
    return say(phrase, than=than, what=what, x=waits[0], y=waits[1], a=loads[0], b=loads[1])


def _halves(of: Compared) -> tuple[tuple[Half, str], tuple[Half, str]]:
    return (of.first, "before the change"), (of.last, "after the change")


def _load(half: Half) -> str:
    return amounts.UNKNOWN if half.load is None else amounts.digits(100 * half.load)


def _clear(of: Compared, than: str) -> Sentence:
    x, y = _value(of.first, of), _value(of.last, of)
    up = y > x
    waits = [Slot(amounts.short_time(_value(half, of)), key) for half, key in _halves(of)]
    what = phrases.THE_TENTH if course.by_tenth(of.first, of.last) else phrases.THE_TYPICAL
    way = "rose" if up else "fell"
    change = say(phrases.CHANGE, what=what, way=way, x=waits[0], y=waits[1])
    loads = [Slot(_load(half), f"load {key}") for half, key in _halves(of)]
    before, now = (half.load or 0.0 for half in (of.first, of.last))
    slots: dict[str, Slot | Sentence | str]
    slots = {"a": loads[0], "b": loads[1], "change": change, "than": than}
    if abs(now - before) <= SAME_LOAD:
        return say(phrases.SAME_LOAD, **slots)
    if (now > before) == up:
        return say(phrases.WITH_LOAD, way="up" if up else "down", **slots)
    return say(phrases.AGAINST_LOAD, way="rose" if now > before else "fell", **slots)


def _without_user(of: Compared) -> tuple[int, int] | None:
    """Return the compared waits without the user with most waiting; None: too few jobs."""
    tenth = course.by_tenth(of.first, of.last)
    x, y = (half.p90_without if tenth else half.median_without for half in (of.first, of.last))
    return None if of.user is None or x is None or y is None else (x, y)


def _only_of_user(of: Compared) -> bool:
    """Whether the change has another sign, or none, without the user with most waiting."""
    if (without := _without_user(of)) is None:
        return False
    x, y = _value(of.first, of), _value(of.last, of)
    return (without[1] - without[0]) * (y - x) <= 0


def _without(of: Compared) -> Sentence:
    if (without := _without_user(of)) is None:
        return NOTHING
    same = all(
        abs(rest - _value(half, of)) <= FIFTH * _value(half, of)
        for rest, half in zip(without, (of.first, of.last), strict=True)
    )
    times = [Slot(amounts.short_time(one), f"{k} without a user") for k, one in enumerate(without)]
    what = say(phrases.ABOUT_SAME) if same else say(phrases.FROM_TO, x=times[0], y=times[1])
    return say(phrases.WITHOUT, user=reasons.name("user", of.user or ""), what=what)
