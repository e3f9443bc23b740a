"""The two questions of page one, and the verdict: one word and one sentence made of the answers.

An answer is a figure, what it means, where it stands, and what changed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from audit.registry.causes import CAUSES
from audit.report.judgement import owners
from audit.report.judgement.levels import Level, level
from audit.report.judgement.place import OVERTAKEN, UNEXPLAINED, Place
from audit.report.record.page import Assumed, Bounds
from audit.report.record.pool import SMALL_SAMPLE, Figure, PassedOver, PoolPart, Trend
from audit.report.text import belief, wording


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed, in words, and whether to the better."""

    text: str
    better: bool | None
    """None: not significant, or neither."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question that a reader has, and its answer."""

    title: str
    level: Level
    big: str
    """The figure, in two digits."""
    text: str
    """What it is of, and how sure."""
    difference: Difference | None
    """None: nothing to compare with."""


def questions(
    place: Place, bounds: Bounds, assumed: Mapping[str, Assumed]
) -> tuple[Question, Question]:
    """Answer what jobs waited for, and whether the order was fair (SPEC §11, *Verdict*)."""
    return _waited_for(place, assumed), _order(place, bounds)


TELLING: Final = 0.05
"""Share of all waiting from which on a rule is named."""


def _waited_for(place: Place, assumed: Mapping[str, Assumed]) -> Question:
    title, pool = "What did jobs wait for?", place.pool
    found = [(figure, cause) for cause in CAUSES if (figure := pool.figure(cause.share)).value]
    if not found:
        return Question(title, Level.UNKNOWN, wording.UNKNOWN, "No wait has an account.", None)
    share, cause = max(found, key=lambda pair: pair[0].value or 0.0)
    rule = rule_sentence(place, assumed)
    if cause.key == "rule" and rule:
        free = pool.figure("cause_rule_free_share")
        return Question(title, Level.NOTE, wording.rough(free), rule, _unexplained(pool))
    text = f"of all waiting time passed {cause.meanwhile}{_within(share, pool)}."
    if rule:
        text += f" {rule}"
    elif cause.key != "unexplained" and (rest := pool.figure(UNEXPLAINED)).value:
        text += f" {wording.first_upper(wording.rough(rest))} is unexplained{_within(rest, pool)}."
    return Question(title, Level.NOTE, wording.rough(share), text, _unexplained(pool))


def _unexplained(pool: PoolPart) -> Difference | None:
    """Return how the unexplained share changed."""
    change = changed(pool.trend, UNEXPLAINED, "share")
    return None if change is None else replace(change, text=f"unexplained share: {change.text}")


ALONE: Final = 0.95
"""Part of the waiting under rules from which on the first one stands for all."""


def rule_sentence(place: Place, assumed: Mapping[str, Assumed]) -> str:
    """Return how much waiting the rule with the largest part causes by itself; or nothing."""
    pool = place.pool
    free = pool.figure("cause_rule_free_share")
    if not pool.rules or not free.value or free.value < TELLING:
        return ""
    total = sum(rule.free_s for rule in pool.rules)
    if not total:
        return ""
    first = pool.rules[0]
    source = "inferred from the log" if pool.name in assumed else "configured"
    share = f"{wording.rough(free)} of all waiting time{_within(free, pool)}"
    which, more = f"the {first.name} ({source})", ""
    if first.free_s / total < ALONE:
        which, more = "limits or closed hours", f": mostly {which}"
    text = f"For {share} the job would have fitted, and only {which} kept it from starting{more}."
    busy = pool.figure("utilization")
    if busy.value is not None:
        text += f" The pool was {wording.rough(busy)} busy."
    return text


def trusted(pool: PoolPart) -> bool:
    """Return whether the model may judge the order: it fits, and few of its losses exceed waits."""
    cut = pool.figure("overtaken_cut_share").value
    return belief.good_fit(pool) and (cut is None or cut <= MOST_CUT)


MOST_CUT: Final = 0.25
"""Part of modelled delays beyond the jobs' own waits above which these are not used."""


def _order(place: Place, bounds: Bounds) -> Question:
    title, pool = "Was the order fair?", place.pool
    tested = sum(pool.tested.values())
    unfair, change = owners.unfair(pool), _then(place)
    if trusted(pool) and (share := pool.figure(OVERTAKEN)).value is not None:
        text = (
            f"of all waiting time is delay by later arrivals, by the model{_within(share, pool)}."
        )
        stands = level(share, bounds.overtaken)
        if unfair:
            text += f" {_passed_over(unfair)}"
            stands = Level.WARN if stands is Level.PASS else stands
        return Question(title, stands, wording.rough(share), text, change)
    if unfair:
        text = (
            f"of {wording.count(tested)} users, accounts, partitions and QOS tested: later jobs "
            "that requested at least as much started first more often than expected. Most "
            f"affected: {owners.subject_of(unfair[0].kind, unfair[0].name, start=False)}."
        )
        places = all(one.kind in owners.PLACES for one in unfair)
        stands = Level.WARN if places else Level.FAIL
        return Question(title, stands, wording.count(len(unfair)), text, change)
    if tested < owners.LEAST_TESTED:
        text = (
            f"Only {wording.count(tested)} of the users, accounts, partitions and QOS had enough "
            "jobs that later ones could have passed over."
            if tested
            else "No user, account, partition or QOS had enough jobs that later ones could have "
            "passed over."
        )
        return Question(title, Level.UNKNOWN, "the log cannot tell", text, change)
    text = (
        f"of {wording.count(tested)} users, accounts, partitions and QOS tested was significantly "
        "passed over by later jobs that requested at least as much."
    )
    if pool.passed:
        text += f" {_intended(pool)}"
    if pool.untested:
        text += f" {wording.count(pool.untested)} others had too few jobs to be tested."
    return Question(title, Level.NOTE, "none", text, change)


def _passed_over(unfair: Sequence[PassedOver]) -> str:
    """Return who is passed over, in a sentence or two; people before partitions and QOS."""
    said = f"{_who(unfair)}: later jobs that requested at least as much often started first."
    if any(one.kind not in owners.PLACES for one in unfair):
        return said
    return f"{said} That is fair only where a low priority is meant."


def _who(unfair: Sequence[PassedOver], *, start: bool = True) -> str:
    """Return the first of those passed over (people before partitions), and how many more."""
    first = min(unfair, key=lambda one: one.kind in owners.PLACES)
    others = f" and {wording.count(len(unfair) - 1)} more" if len(unfair) > 1 else ""
    return f"{owners.subject_of(first.kind, first.name, start=start)}{others}"


def _is_passed_over(unfair: Sequence[PassedOver], *, start: bool = True) -> str:
    """Return who is passed over, for a subject line."""
    return f"{_who(unfair, start=start)} {'are' if len(unfair) > 1 else 'is'} passed over"


def _intended(pool: PoolPart) -> str:
    first = pool.passed[0]
    multiple, _ = first.usage
    why = f"used {wording.two_digits(multiple or 0.0)} times its share, as fairshare intends"
    if not first.used_much:
        why = owners.HAD_USED_MORE
    return f"{owners.subject_of(first.kind, first.name)} waits longer, and {why}."


def _then(place: Place) -> Difference | None:
    """Return who was passed over in the period before."""
    trend = place.pool.trend
    if trend is None or not trend.passed_before:
        return None
    before = {(kind, name) for kind, names in trend.passed_before.items() for name in names}
    still = before & {(one.kind, one.name) for one in place.pool.passed}
    text = f"{wording.count(len(before)) if before else 'none'} in {trend.before}"
    if still:
        text += f", {wording.count(len(still))} of them the same"
    return Difference(text + (", under other settings" if trend.settings_changed else ""), None)


_WORDS: Final = {"time": ("less", "more"), "share": ("points less", "points more")}


def changed(trend: Trend | None, metric: str, kind: str) -> Difference | None:
    """How a figure of a trend changed, in words; ``kind`` is of a key of ``_WORDS``."""
    change = trend.change(metric) if trend is not None else None
    if trend is None or change is None or change.difference.value is None:
        return None
    value = change.difference.value
    if not change.beyond_chance:
        return Difference(f"no significant change against {trend.before}", None)
    words = _WORDS[kind][value > 0]
    amount = (
        wording.rough_duration(abs(value))
        if kind == "time"
        else wording.two_digits(abs(value) * 100)
    )
    if trend.settings_changed:
        text = f"{amount} {words} than in {trend.before}, under other settings"
        return Difference(text, None)
    return Difference(f"{amount} {words} than in {trend.before} (significant)", value < 0)


LEAST_USERS: Final = 8
"""With fewer users, a share has no interval."""


def _within(figure: Figure, pool: PoolPart) -> str:
    said = wording.rough_interval(figure)
    users = pool.figure("users").value
    if users is not None and users < LEAST_USERS:
        return ""
    return f" ({said})" if said else ""


class Word(StrEnum):
    """What a report answers."""

    YES = "fair"
    NO_SIGN = "no sign of unfairness"
    MIXED = "mixed"
    NO = "unfair"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer, and why in one sentence."""

    word: Word
    sentence: str
    short: str = ""
    """The same for a subject line."""


def verdict(place: Place, answers: tuple[Question, Question]) -> Verdict:
    """Return the answer to whether the order was fair, after what jobs waited for."""
    pool = place.pool
    if pool.attempts < SMALL_SAMPLE:
        why = "the log does not say when jobs arrived"
        if pool.attempts or not undated(pool):
            why = f"only {wording.plural(pool.attempts, 'job')} ended"
        return Verdict(Word.CANNOT_TELL, f"Cannot tell: {why}.", f"cannot tell, {why}")
    waited, order = answers
    first = _first_sentence(waited)
    unfair = owners.unfair(pool)
    if unfair and not trusted(pool):
        people = any(one.kind not in owners.PLACES for one in unfair)
        word = Word.NO if people else Word.MIXED
        said = f"{_passed_over(unfair)} {first}".strip()
        return Verdict(word, said, _is_passed_over(unfair))
    if order.level in (Level.PASS, Level.WARN, Level.FAIL):
        word = {Level.PASS: Word.YES, Level.WARN: Word.MIXED, Level.FAIL: Word.NO}[order.level]
        share = f"{order.big} of all waiting time is delay by later arrivals"
        said = f"{wording.first_upper(share)}, by a model that fits."
        if not unfair:
            return Verdict(word, f"{first} {said}".strip(), f"{share}, by a model that fits")
        short = f"{share}; {_is_passed_over(unfair, start=False)}"
        return Verdict(word, f"{first} {said} {_passed_over(unfair)}".strip(), short)
    if order.level is Level.NOTE:
        said = "No user, account, partition or QOS tested was significantly passed over."
        return Verdict(Word.NO_SIGN, f"{first} {said}".strip(), "nobody is passed over")
    said = "Whether the order was fair, the log cannot tell."
    return Verdict(Word.CANNOT_TELL, f"{first} {said}".strip(), "the log cannot tell")


def _first_sentence(waited: Question) -> str:
    """Return the answer to what jobs waited for as one sentence."""
    if waited.level is Level.UNKNOWN:
        return ""
    text = waited.text.partition(". ")[0].rstrip(".") + "."
    return text if text.startswith("For ") else f"{wording.first_upper(waited.big)} {text}"


def undated(pool: PoolPart) -> int:
    """How many attempts of a pool arrived nobody knows when."""
    return int(pool.figure("arrival_unknown").value or 0)
