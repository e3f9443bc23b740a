"""The two questions of page one with their answers, and the verdict (SPEC §11, *Verdict*)."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from audit.registry.causes import CAUSES
from audit.report.judgement.place import (
    DELAY,
    LEAST_TESTED,
    UNEXPLAINED,
    Place,
    level,
    subject_of,
    trusted,
    unfair,
)
from audit.report.record.page import Assumed, Bounds, Level
from audit.report.record.pool import (
    SMALL_SAMPLE,
    CauseChange,
    Figure,
    PassedOver,
    PoolPart,
    Trend,
)
from audit.report.text import belief, part, wording
from audit.report.text import passed as not_passed

TELLING: Final = 0.05
"""Least share of all waiting for which a rule is named."""
_ALONE: Final = 0.95
"""If one rule causes this part of the waiting under rules, it alone is named."""
_CANNOT: Final = "the log cannot tell"
_MODEL: Final = "under the rule that this log shows"


class Difference(NamedTuple):
    """A change in words, and whether it is an improvement."""

    text: str
    better: bool | None  # None: not significant, or neither


class Question(NamedTuple):
    """A question of the reader, and its answer."""

    title: str
    level: Level
    big: str  # the figure, in two digits
    text: str  # its meaning and interval
    difference: Difference | None  # None: nothing to compare with


def questions(
    place: Place, bounds: Bounds, assumed: Mapping[str, Assumed]
) -> tuple[Question, Question]:
    """Return what jobs waited for, and whether the order was fair."""
    return _waited_for(place, assumed), _order(place, bounds)


def _waited_for(place: Place, assumed: Mapping[str, Assumed]) -> Question:
    title, pool = "What did jobs wait for?", place.pool
    found = [(figure, cause) for cause in CAUSES if (figure := pool.figure(cause.share)).value]
    if not found:
        text = "No wait was attributed to a cause."
        return Question(title, Level.UNKNOWN, wording.UNKNOWN, text, None)
    change = changed(pool.trend, UNEXPLAINED, "share")
    difference = change and change._replace(text=f"unexplained share: {change.text}")
    share, cause = max(found, key=lambda pair: pair[0].value or 0.0)
    rule = rule_sentence(place, assumed)
    if cause.key == "rule" and rule:
        free = pool.figure("cause_rule_free_share")
        return Question(title, Level.NOTE, wording.rough(free), rule, difference)
    passed = part.time_passed(cause, part=bool(pool.part))
    text = f"of all waiting time passed {passed}{_within(share)}."
    if rule:
        text += f" {rule}"
    elif cause.key != "unexplained" and (rest := pool.figure(UNEXPLAINED)).value:
        text += f" {wording.first_upper(wording.rough(rest))} is unexplained{_within(rest)}."
    return Question(title, Level.NOTE, wording.rough(share), text, difference)


def rule_sentence(place: Place, assumed: Mapping[str, Assumed]) -> str:
    """Return how much waiting rules alone cause, and which rule most; empty if it is little."""
    pool = place.pool
    free = pool.figure("cause_rule_free_share")
    total = sum(rule.free_s for rule in pool.rules)
    if not total or not free.value or free.value < TELLING:
        return ""
    first = pool.rules[0]
    source = "inferred from the log" if pool.name in assumed else "configured"
    which, more = f"the {first.name} ({source})", ""
    if first.free_s / total < _ALONE:
        which, more = "limits or closed hours", f": mostly {which}"
    text = (
        f"For {wording.rough(free)} of all waiting time{_within(free)} enough was free, and only "
        f"{which} kept the job from starting{more}."
    )
    busy = belief.busy(pool)
    return f"{text} The pool was {busy}." if busy else text


def wait_changed(pool: PoolPart) -> str:
    """Return why the mean wait changed, by cause; empty if it did not change significantly."""
    trend = pool.trend
    change = None if trend is None else trend.change("wait_mean")
    if trend is None or not trend.causes or change is None or not change.significant:
        return ""
    before = sum(one.before_s for one in trend.causes)
    now = sum(one.now_s for one in trend.causes)
    largest = sorted(trend.causes, key=lambda one: -abs(one.difference_s))[:_MOST_CAUSES]
    parts = [
        _cause_changed(one, pool)
        for one in largest
        if abs(one.difference_s) >= _LEAST_OF_CHANGE * abs(now - before)
    ]
    settings = ", under other settings" if trend.settings_changed else ""
    return (
        f"Mean wait {'rose' if now > before else 'fell'} from {wording.rough_duration(before)} in "
        f"{trend.before} to {wording.rough_duration(now)}{settings}: {'; '.join(parts)}."
    )


_MOST_CAUSES: Final = 3
_LEAST_OF_CHANGE: Final = 0.1
"""Causes with a smaller part of the change are not listed."""


def _cause_changed(one: CauseChange, pool: PoolPart) -> str:
    sign = "+" if one.difference_s > 0 else "−"
    text = f"{sign}{wording.rough_duration(abs(one.difference_s))} "
    text += part.meanwhile(one.cause, part=bool(pool.part))
    if one.cause.key == "rule" and pool.rules:
        text += f" (mostly the {pool.rules[0].name})"
    return text


def _order(place: Place, bounds: Bounds) -> Question:
    title, pool = "Was the order fair?", place.pool
    tested, passed, change = sum(pool.tested.values()), unfair(pool), _before(place)
    entities = f"of {wording.count(tested)} users and accounts tested"
    if trusted(pool) and (share := pool.figure(DELAY)).value is not None:
        text = f"of all waiting time is delay by later arrivals, {_MODEL}{_within(share)}."
        result = level(share, bounds.overtaken)
        if share.lower is None:
            text += " The log covers too few days for an interval."
        if passed:
            text += f" {_passed_over(passed)}"
            result = Level.WARN if result in (Level.PASS, Level.UNKNOWN) else result
        return Question(title, result, wording.rough(share), text, change)
    if passed:
        most = subject_of(passed[0].kind, passed[0].name, start=False)
        text = (
            f"{entities}: later jobs that requested at least as much started first more often than "
            f"expected. Most affected: {most}."
        )
        return Question(title, Level.FAIL, wording.count(len(passed)), text, change)
    if tested < LEAST_TESTED:
        text = "No user or account could be tested"
        if tested:
            text = f"Only {entities.removeprefix('of ').removesuffix(' tested')} could be tested"
        text += f": {not_passed.cannot_test(pool)}."
        return Question(title, Level.UNKNOWN, _CANNOT, text, change)
    text = (
        f"{entities} was significantly passed over by later jobs that requested at least as much."
    )
    text = " ".join((text, *not_passed.used_more(pool), not_passed.untested(pool))).rstrip()
    return Question(title, Level.NOTE, "none", text, change)


def _passed_over(passed: Sequence[PassedOver]) -> str:
    """Return who is passed over, in a sentence."""
    return f"{_who(passed)}: later jobs that requested at least as much often started first."


def _who(passed: Sequence[PassedOver], *, start: bool = True) -> str:
    first = passed[0]
    others = f" and {wording.count(len(passed) - 1)} more" if len(passed) > 1 else ""
    return f"{subject_of(first.kind, first.name, start=start)}{others}"


def _is_passed_over(passed: Sequence[PassedOver], *, start: bool = True) -> str:
    """Return who is passed over, for a subject line."""
    return f"{_who(passed, start=start)} {'are' if len(passed) > 1 else 'is'} passed over"


def _before(place: Place) -> Difference | None:
    """Return how many entities were passed over in the period before."""
    trend = place.pool.trend
    if trend is None or not trend.passed_before:
        return None
    before = {(kind, name) for kind, names in trend.passed_before.items() for name in names}
    still = before & {(one.kind, one.name) for one in place.pool.passed}
    text = f"{wording.count(len(before)) if before else 'none'} in {trend.before}"
    if still:
        text += f", {wording.count(len(still))} of them the same"
    return Difference(text + (", under other settings" if trend.settings_changed else ""), None)


def changed(trend: Trend | None, metric: str, kind: str) -> Difference | None:
    """Return the change of a figure in words; ``kind`` is ``time`` or ``share``."""
    change = trend.change(metric) if trend is not None else None
    if trend is None or change is None or (value := change.difference.value) is None:
        return None
    if not change.significant:
        return Difference(f"no significant change from {trend.before}", None)
    side = "more" if value > 0 else "less"
    if kind == "time":
        amount = f"{wording.rough_duration(abs(value))} {side}"
    else:
        amount = f"{wording.two_digits(abs(value) * 100)} points {side}"
    if trend.settings_changed:
        return Difference(f"{amount} than in {trend.before}, under other settings", None)
    return Difference(f"{amount} than in {trend.before} (significant)", value < 0)


def _within(figure: Figure) -> str:
    interval = wording.rough_interval(figure)
    return f" ({interval})" if interval else ""


class Word(StrEnum):
    """A verdict in a word or two."""

    YES = "fair"
    NO_SIGN = "no sign of unfairness"
    MIXED = "mixed"
    NO = "unfair"
    CANNOT_TELL = "cannot tell"


class Verdict(NamedTuple):
    """The verdict, and its reason in one sentence or two."""

    word: Word
    sentence: str
    short: str  # for a subject line


_WORDS: Final = {Level.PASS: Word.YES, Level.WARN: Word.MIXED, Level.FAIL: Word.NO}


def verdict(place: Place, answers: tuple[Question, Question]) -> Verdict:
    """Return whether the order was fair, and what jobs waited for."""
    pool = place.pool
    if pool.unplaced > pool.attempts:
        jobs = wording.plural(pool.attempts + pool.unplaced, "job")
        why = f"the log does not say when {wording.count(pool.unplaced)} of {jobs} started"
        return Verdict(Word.CANNOT_TELL, f"Cannot tell: {why}.", f"cannot tell, {why}")
    if pool.attempts < SMALL_SAMPLE:
        why = "the log does not say when jobs arrived"
        if pool.attempts or not pool.undated:
            why = f"only {wording.plural(pool.attempts, 'job')} ended"
        return Verdict(Word.CANNOT_TELL, f"Cannot tell: {why}.", f"cannot tell, {why}")
    if pool.part:
        sentence = f"Cannot tell: {part.VERDICT} ({pool.part})."
        return Verdict(Word.CANNOT_TELL, sentence, f"cannot tell, {part.VERDICT}")
    waited, order = answers
    passed = unfair(pool)
    sentences: tuple[str, ...]
    if passed and not trusted(pool):
        word = Word.NO
        sentences, short = (_passed_over(passed), _first_sentence(waited)), _is_passed_over(passed)
    elif order.level in _WORDS:
        word = _WORDS[order.level]
        delay = f"{order.big} of all waiting time is delay by later arrivals"
        model = f"{wording.first_upper(delay)}, {_MODEL}."
        sentences, short = (_first_sentence(waited), model), f"{delay}, {_MODEL}"
        if passed:
            sentences = (*sentences, _passed_over(passed))
            short = f"{delay}; {_is_passed_over(passed, start=False)}"
    elif order.level is Level.NOTE:
        none = "No user or account tested was significantly passed over."
        word, short = Word.NO_SIGN, "no one is passed over"
        sentences = (_first_sentence(waited), none)
    else:
        word, short = Word.CANNOT_TELL, _CANNOT
        sentences = (_first_sentence(waited), "The log cannot tell whether the order was fair.")
    return Verdict(word, " ".join(filter(None, sentences)), short)


def _first_sentence(waited: Question) -> str:
    """Return the answer to what jobs waited for as one sentence."""
    if waited.level is Level.UNKNOWN:
        return ""
    text = waited.text.partition(". ")[0].rstrip(".") + "."
    return text if text.startswith("For ") else f"{wording.first_upper(waited.big)} {text}"
