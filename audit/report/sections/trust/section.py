"""The contents of a log, the basis of the verdict, and further help, in the words of page one."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import polars as pl

from audit.metrics.attempts.fidelity import KNOWN
from audit.metrics.attempts.reasons import reason_of
from audit.metrics.verdict import VerdictBound, Word
from audit.report import wording
from audit.report.first_page import amounts, phrases
from audit.report.first_page.page import PageFacts
from audit.report.first_page.sentences import NOTHING, Sentence, Slot, say
from audit.report.sections.records.record import Input
from audit.report.sections.trust.record import COLUMNS, Known, TrustStep
from audit.report.sections.who import page_one


def by_priority(jobs: pl.DataFrame) -> float | None:
    """Return how often a job that started before an earlier one had the higher priority.

    The earlier one is the first of its partition that waited at that time. None: priorities are
    not known, all are equal, or no job started before an earlier one.
    """
    known = jobs["priority"].drop_nulls()
    if len(known) < max(ALL * jobs.height, 1) or known.n_unique() == 1:
        return None
    higher = number = 0
    for of_queue in jobs.drop_nulls("priority").partition_by("partition"):
        for mine, first in _before_earlier(of_queue):
            number += 1
            higher += mine > first
    return higher / number if number else None


def _before_earlier(jobs: pl.DataFrame) -> Iterable[tuple[float, float]]:
    """Yield the priorities of each job that started before an earlier one, and of the latter."""
    rows = jobs.select("arrival_time", "start_time", "priority").rows()
    by_arrival = sorted(range(len(rows)), key=lambda k: rows[k][0])
    by_start: Sequence[int] = sorted(range(len(rows)), key=lambda k: (rows[k][1], rows[k][0]))
    started, front = [False] * len(rows), 0
    for k in by_start:
        while front < len(rows) and started[by_arrival[front]]:
            front += 1
        first = by_arrival[front] if front < len(rows) else k
        if rows[first][0] < rows[k][0] and rows[first][1] > rows[k][1]:
            yield rows[k][2], rows[first][2]
        started[k] = True


MUCH: Final = 0.05
LISTED: Final = 0.01
NO_REASON: Final = 0.2
FIFTH: Final = 0.2
ALL: Final = 0.95
ANY: Final = 0.05
MOST_OF_TITLE: Final = 14
"""Words of a change."""
MOST_CHANGES: Final = 2
"""Replayed changes on page one; the others are in the details."""
LONGEST_TITLE: Final = 160
"""Its characters."""


def steps(facts: PageFacts) -> tuple[TrustStep, ...]:
    """Return the three steps of the evidence."""
    known = facts.known
    marks = (
        "half" if _lacking(facts) else "full",
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


def _lacking(facts: PageFacts) -> bool:
    """Whether times or records are missing: of those that the header names, refused ones, days."""
    known = facts.known
    if facts.missing_days or facts.decision.because in phrases.MISSING_TIMES:
        return True
    few = known.announced is not None and known.announced.records < ALL * known.announced.named
    return known.gaps or few or known.refused > (1 - ALL) * known.records


def _mark(*shares: float) -> str:
    if min(shares) >= ALL:
        return "full"
    return "empty" if max(shares) < ANY else "half"


def _records(facts: PageFacts) -> Sentence:
    known, because = facts.known, facts.decision.because
    if because in phrases.MISSING_TIMES:
        return say(phrases.MISSING_TIMES[because])
    if known.announced is not None:
        of_file = Slot(wording.count(known.announced.records), "records of the file")
        of_header = Slot(wording.count(known.announced.named), "records of the header")
        time = phrases.FOR_TIME if known.announced.partly else ""
        return say(phrases.OF_HEADER, n=of_file, m=of_header, time=time)
    if not known.refused and facts.missing_days:
        return say(phrases.DAYS_MISSING)
    if not known.refused:
        return say(phrases.NUMBERS_MISSING if known.gaps else phrases.COMPLETE)
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
        usable = facts.agreement is not None and facts.agreement >= KNOWN
        if usable and not facts.untested and (facts.changes or facts.tried):
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
    share, least = amounts.short_share(decision.not_judged), amounts.short_share(bound)
    half = phrases.HALF if bound == 0.5 else least
    if share == least:
        share = phrases.JUST_UNDER.format(bound=half)
    return say(
        phrases.CLOSE,
        share=Slot(share, "not judged of the waiting"),
        interval=Slot(amounts.between(low, high), "interval of not judged"),
        bound=half,
    )


class Source(NamedTuple):
    """A file that fairaudit reads."""

    words: str
    code: bool
    they: str = "It"


CONFIGURATION: Final = Source("limits and closed hours", False, "They")
_NODES: Final = Source("scontrol show node -o", True)
_ASSOC: Final = Source("sacctmgr -P show assoc", True)
_QOS: Final = Source("sacctmgr -P show qos", True)
_LOG: Final = Source("slurmctld.log", True)
_SQUEUE: Final = Source("squeue, once a minute", True)
_PBS_LOG: Final = Source("sched_logs", True, "They")
_QMGR: Final = Source("qmgr -c 'print server'", True)
_PBSNODES: Final = Source("pbsnodes -a", True)


_SHOWN: Final = {
    _LOG: "show when nodes were drained",
    **dict.fromkeys((_NODES, _PBSNODES), "show whether free capacity was scattered"),
}


def next_source(facts: PageFacts) -> Source:
    """Return the file that answers the largest open part of the waiting."""
    dialects = " ".join(facts.known.dialects).lower()
    missing: list[Source] = []
    if any(name in dialects for name in ("slurm", "sacct", "job-table")):
        missing = [*_missing_of_slurm(facts)]
    elif "pbs" in dialects or "torque" in dialects:
        missing = [*_missing_of_pbs(facts.known)]
    return next(iter(missing), CONFIGURATION)


def missing(logs: Iterable[Input]) -> tuple[str, ...]:
    """Return the columns that page one uses and a log of sacct lacks; empty ones are there.

    JSON and Slurm's own table of jobs always have them.
    """
    texts = [log.columns for log in logs if log.columns and "id_job" not in log.columns]
    return tuple(one for one in COLUMNS if any(one not in columns for columns in texts))


def _to_confirm(facts: PageFacts) -> bool:
    """Whether rules that were found are the largest open part of the waiting."""
    shares = facts.causes
    found = bool(facts.rules) and facts.rules[0].source == "inferred"
    return found and shares.get("rule", 0.0) >= shares.get("none", 0.0)


def _of_limits(facts: PageFacts) -> Source | None:
    """Return the file of limits and priorities that answers the largest open part, if one does."""
    if _to_confirm(facts):
        return _ASSOC if facts.rules[0].kind == "limit" else None
    if page_one.has_reason(facts) and facts.where is not None:
        reason = str(facts.where.value)
        if reason_of(reason).cause != "rule":
            return None
        return _QOS if reason.startswith("QOS") else _ASSOC
    worse = facts.decision.treated_worse or 0.0
    most = page_one.carried(facts) and worse >= facts.causes.get("none", 0.0)
    return _ASSOC if most else None


def _missing_of_slurm(facts: PageFacts) -> Iterator[Source]:
    known = facts.known
    if not known.limits and (source := _of_limits(facts)) is not None:
        yield source
    if known.reasons < ANY and known.priorities < ALL and known.missing:
        yield Source(f"sacct with {amounts.listed(known.missing)}", True)
    samples, log = "squeue" not in known.evidence, "ctld-log" not in known.evidence
    if samples and page_one.has_reason(facts):
        yield _SQUEUE
    if not known.nodes_declared:
        yield _NODES
    if not known.limits:
        yield _ASSOC
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
    if source in (CONFIGURATION, _QMGR, _ASSOC) and _to_confirm(facts):
        return say(phrases.CONFIRM, rule=page_one.mention(facts.rules[0].name))
    if source in _SHOWN:
        return say(_SHOWN[source])
    if carried := page_one.carried(facts):
        return say(phrases.SHOW_RULE_OF, jobs=phrases.THE_JOBS_OF.format(user=carried))
    quiet = facts.decision.word is Word.QUIET
    if not quiet and shares.get("none", 0.0) < LISTED:
        return say(phrases.SHOW_RULES)
    return say(phrases.SHOW_HELD, jobs="the long waits" if quiet else page_one.held(facts))


def limits(facts: PageFacts) -> Sentence:
    """Return the thresholds, as a footnote."""
    of = facts.thresholds
    if facts.decision.word is Word.QUIET:
        n = wording.count(1 / of["few_share"] if of["few_share"] else 0)
        return say(phrases.QUIET_LIMITS, least=str(int(of["few_jobs"])), n=n)
    each, together = (amounts.short_share(of[name]) for name in ("each", "treated_worse"))
    return say(phrases.LIMITS, each=each, together=together)
