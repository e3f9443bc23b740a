"""The changes, the advice and the evidence of page one, in words."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from audit.metrics.verdict import VerdictBound, Word
from audit.report.first_page import amounts, course, phrases, reasons
from audit.report.first_page.facts import Compared, Half, Known, PageFacts
from audit.report.first_page.page import TrustStep
from audit.report.first_page.sentences import NOTHING, Sentence, Slot, joined, say
from audit.report.record.pool import Advice
from audit.report.text import wording
from audit.report.text.advice import WALLTIMES

USABLE: Final = 0.65
"""Agreement of a replay from which its changes count."""
MUCH: Final = 0.05
LISTED: Final = 0.01
NO_REASON: Final = 0.2
SAME_LOAD: Final = 0.05
FIFTH: Final = 0.2
ALL: Final = 0.95
ANY: Final = 0.05
MOST_OF_TITLE: Final = 14
"""Words of a change."""
MOST_CHANGES: Final = 2
"""Replayed changes on page one; the others are in the details."""
LONGEST_TITLE: Final = 160
"""Its characters."""

# --- what changed --------------------------------------------------------------------------------


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


# --- what to try ---------------------------------------------------------------------------------


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


def _carried(facts: PageFacts) -> str:
    """Return who carries the verdict; empty unless it is mixed or unfair."""
    decision = facts.decision
    if decision.word not in (Word.MIXED, Word.UNFAIR):
        return ""
    first, *others = decision.carried
    if others:
        return amounts.counted(len(decision.carried), decision.kind)
    return reasons.name(first.kind, first.name)


def _questions(facts: PageFacts) -> Iterator[Sentence]:
    shares = {} if facts.part else facts.causes
    if carried := _carried(facts):
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


# --- how far to trust this -----------------------------------------------------------------------


def steps(facts: PageFacts) -> tuple[TrustStep, ...]:
    """Return the three steps of the evidence."""
    known = facts.known
    marks = (
        "half" if _lacking(known) else "full",
        _mark(known.reasons, known.walltimes, max(known.queues, known.qos)),
        _mark(
            max(known.nodes, 1.0 if known.nodes_declared else 0.0),
            1.0 if known.limits else 0.0,
            known.priorities,
        ),
    )
    texts = (_records(facts), _reasons(known), _nodes(known))
    return tuple(
        TrustStep(mark, title, text)
        for mark, title, text in zip(marks, phrases.STEPS, texts, strict=True)
    )


def _lacking(known: Known) -> bool:
    """Whether records are missing: of those that the header names, or refused ones."""
    records, named = known.announced or (1, 1)
    return records < ALL * named or known.refused > (1 - ALL) * known.records


def _mark(*shares: float) -> str:
    if min(shares) >= ALL:
        return "full"
    return "empty" if max(shares) < ANY else "half"


def _records(facts: PageFacts) -> Sentence:
    known = facts.known
    if known.announced is not None:
        n, m = map(wording.count, known.announced)
        slots = (Slot(n, "records of the file"), Slot(m, "records of the header"))
        return say(phrases.OF_HEADER, n=slots[0], m=slots[1])
    if not known.refused:
        return say(phrases.COMPLETE)
    empty: Sentence | str = ""
    if known.empty_days:
        days = Slot(wording.plural(known.empty_days, "day"), "days without records")
        empty = say(phrases.EMPTY_DAYS, days=days)
    n, m = (wording.count(of) for of in (known.records - known.refused, known.records))
    return say(phrases.SOME_READ, n=Slot(n, "records read"), m=Slot(m, "all records"), empty=empty)


def _reasons(known: Known) -> Sentence:
    has = _found(
        ("time limits", known.walltimes),
        ("partitions" if known.qos >= ANY else "queues", known.queues),
        ("QOS", known.qos),
    )
    if known.reasons >= ANY:
        if len(has) >= 2 and known.reasons < ALL:
            return say(f"All three; reasons for {amounts.spoken(known.reasons)} of the jobs.")
        return say(f"{wording.first_upper(amounts.listed(['reasons', *has]))}.")
    if not has:
        return say(phrases.NOT_IN_LOG)
    only = has == ["time limits"]
    text = wording.first_upper(amounts.listed(has))
    return say(f"{text} only." if only else f"{text}; no reasons.")


def _nodes(known: Known) -> Sentence:
    parts = []
    if known.nodes_declared:
        parts.append("nodes")
    if known.limits:
        parts.append("limits")
    if known.priorities >= ANY:
        parts.append("priorities")
    if not parts and known.nodes >= ANY:
        return say("Nodes, from the jobs that ran on them.")
    if known.nodes >= ANY and not known.nodes_declared:
        parts.insert(0, "nodes")
    if not parts:
        return say(phrases.NOT_IN_LOG)
    return say(f"{wording.first_upper(amounts.listed(parts))}.")


def _found(*shares: tuple[str, float]) -> list[str]:
    return [word for word, share in shares if share >= ANY]


def lines(facts: PageFacts) -> tuple[Sentence, ...]:
    """Return what would help next, how much was tested, and whether the verdict is close."""
    made = [next_file(facts)]
    if facts.decision.word is not Word.QUIET:
        usable = facts.agreement is not None and facts.agreement >= USABLE
        if usable and (facts.changes or facts.tried):
            share = Slot(amounts.short_share(facts.agreement), "agreement of the replay")
            made.append(say(phrases.REPLAY, share=share))
        made += [order(facts), _close(facts)]
    return tuple(filter(None, made))


def order(facts: PageFacts) -> Sentence:
    """Return how far the order of starts could be tested."""
    if facts.known.by_priority is not None:
        share = Slot(amounts.short_share(facts.known.by_priority), "starts by priority")
        return say(phrases.ORDER_PRIORITY, share=share)
    tested = 0 if facts.people is None else facts.people.tested
    if not tested:
        return say(phrases.ORDER_NONE)
    listed = facts.people is not None and facts.people.overtaken
    return say(
        phrases.ORDER_TESTED,
        n=Slot(wording.count(tested), "" if listed else "number tested"),
        m=Slot(wording.count(facts.base_users), "users of the base"),
        share=Slot(amounts.short_share(facts.tested_waiting), "waiting of the users tested"),
    )


def _close(facts: PageFacts) -> Sentence:
    decision, (low, high) = facts.decision, facts.not_judged
    if decision.word is Word.CANNOT_TELL or low is None or high is None:
        return NOTHING
    bound = float(facts.thresholds["not_judged"])
    if VerdictBound.NOT_JUDGED in decision.bounds or not low <= bound <= high:
        return NOTHING
    return say(
        phrases.CLOSE,
        share=Slot(amounts.short_share(decision.not_judged), "not judged of the waiting"),
        interval=Slot(amounts.between(low, high), "interval of not judged"),
        bound=phrases.HALF if bound == 0.5 else amounts.short_share(bound),
    )


class Source(NamedTuple):
    """A file that fairaudit reads."""

    words: str
    code: bool
    they: str = "It"


CONFIGURATION: Final = Source("limits and closed hours", False, "They")
_SACCT: Final = Source("sacct with Reason, Priority, QOS and ReqTRES", True)
_NODES: Final = Source("scontrol show node -o", True)
_ASSOC: Final = Source("sacctmgr -P show assoc", True)
_LOG: Final = Source("slurmctld.log", True)
_SQUEUE: Final = Source("squeue, once a minute", True)
_PBS_LOG: Final = Source("sched_logs", True, "They")
_QMGR: Final = Source("qmgr -c 'print server'", True)
_PBSNODES: Final = Source("pbsnodes -a", True)


def next_source(facts: PageFacts) -> Source:
    """Return the file that answers the largest open part of the waiting."""
    dialects = " ".join(facts.known.dialects).lower()
    missing: list[Source] = []
    if "slurm" in dialects or "sacct" in dialects:
        missing = [*_missing_of_slurm(facts)]
    elif "pbs" in dialects or "torque" in dialects:
        missing = [*_missing_of_pbs(facts.known)]
    return next(iter(missing), CONFIGURATION)


def _missing_of_slurm(facts: PageFacts) -> Iterator[Source]:
    known = facts.known
    if known.reasons < ANY and known.priorities < ALL:
        yield _SACCT
    if not known.nodes_declared:
        yield _NODES
    if not known.limits:
        yield _ASSOC
    samples, log = "squeue" not in known.evidence, "ctld-log" not in known.evidence
    if samples and facts.causes.get("none", 0.0) >= NO_REASON:
        yield _SQUEUE
    if log:
        yield _LOG
    if samples:
        yield _SQUEUE


def _missing_of_pbs(known: Known) -> Iterator[Source]:
    if not known.limits:
        yield _QMGR
    if not known.nodes_declared:
        yield _PBSNODES
    if "pbs-log" not in known.evidence:
        yield _PBS_LOG


def next_file(facts: PageFacts) -> Sentence:
    """Return the sentence about it."""
    source = next_source(facts)
    if source is CONFIGURATION:
        what = Sentence(
            (
                Slot("limits and closed hours, as "),
                Slot("limits", code=True),
                Slot(" and "),
                Slot("windows", code=True),
                Slot(" of "),
                Slot("[[clusters.pools]]", code=True),
            )
        )
    else:
        what = Sentence((Slot(source.words, code=source.code),))
    return say(phrases.NEXT, what=what, they=source.they, show=_shows(facts, source))


def _shows(facts: PageFacts, source: Source) -> Sentence:
    shares = facts.causes
    found = facts.rules and facts.rules[0].source == "inferred"
    rules = source in (CONFIGURATION, _QMGR, _ASSOC) and found
    if rules and shares.get("rule", 0.0) >= shares.get("none", 0.0):
        return say(phrases.CONFIRM, rule=reasons.mention(facts.rules[0].name))
    if source is _LOG:
        return say("show when nodes were drained")
    if source in (_NODES, _PBSNODES):
        return say("show whether free capacity was scattered")
    if facts.decision.word is Word.QUIET:
        return say(phrases.SHOW_HELD, jobs="the long waits")
    if carried := _carried(facts):
        return say(phrases.SHOW_RULE_OF, jobs=phrases.THE_JOBS_OF.format(user=carried))
    if shares.get("none", 0.0) < LISTED:
        return say(phrases.SHOW_RULES)
    return say(phrases.SHOW_HELD, jobs=reasons.held(facts))


def limits(facts: PageFacts) -> Sentence:
    """Return the thresholds, as a footnote."""
    of = facts.thresholds
    if facts.decision.word is Word.QUIET:
        n = wording.count(1 / of["few_share"] if of["few_share"] else 0)
        return say(phrases.QUIET_LIMITS, least=str(int(of["few_jobs"])), n=n)
    each, together = (amounts.short_share(of[name]) for name in ("each", "treated_worse"))
    return say(phrases.LIMITS, each=each, together=together)
