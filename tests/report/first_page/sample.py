"""The numbers of a page one made by hand, for tests of its words."""

from dataclasses import replace
from typing import Any

from audit.config import VerdictConfig
from audit.metrics.verdict import Because, Decision, PassedEntity, VerdictBound, Word
from audit.report.contents import PoolVerdict
from audit.report.figures import Figure
from audit.report.first_page.page import FirstPage, PageFacts
from audit.report.first_page.sentences import Sentence
from audit.report.sections.advice.record import Advice, AdvicePart
from audit.report.sections.causes.record import RuleTime
from audit.report.sections.causes.shown import KEYS
from audit.report.sections.changes.record import Compared, Half, StepPoint
from audit.report.sections.machine.record import Machine
from audit.report.sections.trust.record import Known
from audit.report.sections.waits.record import SizeClass, Strip
from audit.report.sections.who.record import People, Person

RULE = RuleTime("daytime closure for jobs over 4 h", "window", "inferred", 90.0, 60.0)
LIMIT = RuleTime("limit of 10 running jobs per user", "limit", "configured", 50.0, 48.0)


def causes(**shares: float) -> dict[str, float]:
    """Shares of causes; what is left has no reason."""
    rest = 1.0 - sum(shares.values())
    return {key: shares.get(key, 0.0) for key in KEYS} | {"none": shares.get("none", rest)}


def decision(word: Word = Word.FAIR, because: Because = Because.NONE, **more: Any) -> Decision:
    made = Decision(word, because, frozenset(), 0.3, 0.0, 0.0, "user", ())
    return replace(made, **more)


def victim(name: str = "anna", passed_s: int = 5_000, kind: str = "user") -> PassedEntity:
    return PassedEntity(kind, name, passed_s, named=True)


def person(name: str = "anna", kind: str = "user", **changes: Any) -> Person:
    made = Person(
        kind, name, 200, 0.1, 7_200, 150, 600, causes(earlier=0.3, later=0.1), (), False, None
    )
    return made._replace(**changes)


def people(**changes: Any) -> People:
    made = People(
        *("user", 40, 3, 0.51, 0.45, (), 20),
        *((person("anna"), person("3")), 30, 2, 1, (person("ben"),)),
        longest=person("ben"),
        tested_of_kind=20,
    )
    return made._replace(**changes)


def size(low: int, high: int, **changes: Any) -> SizeClass:
    made = SizeClass(
        *(low, high, False, False, 100, 40_000.0, 120, 7_200),
        causes(earlier=0.3, later=0.1),
        0.3,
    )
    return made._replace(**changes)


def known(**changes: Any) -> Known:
    made = Known(
        *(1_000, 0, None, 0, 0.0, 1.0, 0.0, 0.0, 0.0, False, "", 0.0, ("swf",)), by_priority=None
    )
    return made._replace(**changes)


def compared(**changes: Any) -> Compared:
    first, last = Half(540, 36_000, 0.71, 500), Half(180, 30_000, 0.69, 170)
    return Compared("", first, last, "3", significant=True)._replace(**changes)


def advice(**changes: Any) -> Advice:
    gain = Figure("wait_change", 7_200, 3_600, 10_800, "s")
    loss = Figure("wait_change", 600, 300, 900, "s")
    losers = (AdvicePart("width_class", "1", loss, certain=True),)
    made = Advice(
        *("--lift 1", "Lift the limit of 10 running jobs per user", "cpus", "65-128", gain),
        *(losers, "SELECT 1", 30_000, 36_000, 40_000),
    )
    return replace(made, **changes)


def strip(**changes: Any) -> Strip:
    over = {60: 0.61, 3_600: 0.3, 36_000: 0.1}
    made = Strip(*(300, 36_000, 90_000, 840, 28_800, 80_000), over, 400, 610, 300, None, None)
    return made._replace(**changes)


def facts(**changes: Any) -> PageFacts:
    """A fair pool of times and sizes, whose waiting has no reason for the larger part."""
    made = PageFacts(
        pool="batch",
        several=False,
        days="1 October 2026 to 31 October 2026",
        jobs=1_000,
        base_days=91,
        base_no_reason=0.3,
        base_p90=36_000,
        not_judged=(0.25, 0.35),
        tested_waiting=0.88,
        base_users=45,
        base_ended=3_000,
        decision=decision(),
        machine=Machine("cpus", 128, None, 0.7, "day", 0.97, None),
        strip=strip(),
        waiting_s=360_000.0,
        cancelled_s=0.0,
        causes=causes(earlier=0.3, later=0.1, own=0.05, down=0.03),
        ended=frozenset(),
        rules=(),
        lacked=None,
        where=None,
        sizes=(size(1, 1), size(2, 4), size(5, 128, top=True, jobs=50)),
        queues=(),
        people=people(),
        compared=compared(),
        log_days=31.0,
        steps=tuple(StepPoint(f"2026-10-{d:02}", 60 * d, 3_600 * d, d / 40) for d in range(1, 32)),
        step="day",
        marks=(),
        known=known(),
        agreement=0.23,
        changes=(),
        tried=0,
        thresholds=VerdictConfig().model_dump(exclude={"fail"}),
    )
    return replace(made, **changes)


def ruled(rule: RuleTime = RULE, share: float = 0.4, **changes: Any) -> PageFacts:
    """The same with a rule that has this share of the waiting."""
    return facts(
        causes=causes(rule=share, earlier=0.2, later=0.05, none=0.75 - share),
        rules=(rule,),
        **changes,
    )


def unfair(word: Word = Word.UNFAIR, *names: str) -> PageFacts:
    found = tuple(victim(name) for name in names or ("anna",))
    bounds = frozenset({VerdictBound.TREATED_WORSE})
    made = decision(word, Because.TREATED_WORSE, carried=found, treated_worse=0.05, bounds=bounds)
    return facts(decision=made)


def verdict(pool: str = "batch") -> PoolVerdict:
    """The verdict of ``facts`` with the figures of its base."""
    base = {"from_time": 1_782_900_000, "to_time": 1_793_487_600, "ended": 3_000}
    return PoolVerdict(pool, decision(), base | {"waited_s": 100_000.0})


def with_figures(page: FirstPage) -> list[Sentence]:
    """All texts of the page that have figures."""
    found = [page.sentence, page.kicker, page.cannot]
    for cell in page.strip:
        found += cell
    if not page.quiet:
        found.append(page.why_sub)
        for group in page.groups:
            found += [group.total, *(row.share for row in group.rows)]
        found += page.notes
        for size in page.sizes:
            found += [size.jobs, size.waiting, size.median, size.p90]
        found += [page.size_note, page.who_sub]
        for listed in page.who:
            found.append(listed.title)
            for row in listed.rows:
                found += [row.jobs, row.waiting, row.median, row.similar, row.reason]
        found.append(page.who_foot)
    found += [page.changed, *page.to_try, *(step.text for step in page.trust)]
    return [*found, *page.trust_lines, page.limits]
