"""Verdict: whether a pool was shared fairly, in one of five words.

All is counted over a *base*: the period or, where it is shorter, the 91 days up to its end. W is
all waiting of the jobs that ended in it, without the waiting before the log begins. The first row
whose condition holds decides:

    cannot tell   too few jobs, starts, submissions or users are known, the log is a part of the
                  workload, or the period is incomplete
    quiet         hardly any job waited long, no class of jobs typically did, and W is small
                  compared with the occupancy of all jobs
    cannot tell   not judged / W ≥ ``not_judged``
    unfair        treated worse / W ≥ ``treated_worse``, where records hold the reasons
    mixed         the same, where they do not
    cannot tell   not tested / W ≥ ``not_tested``
    fair          none of these

*Not judged* is waiting without a known reason, and the whole waiting of jobs that did not start
although nothing kept them from it. *Treated worse* is the passed time of users (or of accounts, if
theirs is more) that ``passed_over`` names, without a known cause, and each with ``each`` of W.
*Not tested* is the same of users whom it did not or could not test. Unknown reasons never make a
pool unfair.

A share that reached its bound in the report before, of a complete period, reaches it again until it
is below ``held`` times the bound, so that words do not alternate from report to report.

Source: SPEC §14.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from audit.config import VerdictConfig as Thresholds


class Word(StrEnum):
    """The verdict."""

    FAIR = "fair"
    MIXED = "mixed"
    UNFAIR = "unfair"
    CANNOT_TELL = "cannot tell"
    QUIET = "quiet"


class Because(StrEnum):
    """The condition that decided; a value of the column ``because`` of ``verdicts``."""

    FEW_JOBS = "few_jobs"
    FEW_STARTS = "few_starts"
    FEW_ARRIVALS = "few_arrivals"
    UNKNOWN_USERS = "unknown_users"
    ONE_USER = "one_user"
    PART = "part"
    MISSING_DAYS = "missing_days"
    REFUSED = "refused"
    LITTLE_WAITING = "little_waiting"
    NOT_JUDGED = "not_judged"
    TREATED_WORSE = "treated_worse"
    NOT_TESTED = "not_tested"
    NONE = "none"


class VerdictBound(StrEnum):
    """A share of W that decides from a bound on."""

    NOT_JUDGED = "not_judged"
    TREATED_WORSE = "treated_worse"
    NOT_TESTED = "not_tested"


class KnownCause(StrEnum):
    """Why an entity may be overtaken without being treated worse."""

    HELD = "held"  # a chain, release, begin time, or starts after own ends
    PRIORITY = "priority"  # a lower one is configured for it
    USAGE = "usage"  # the order follows usage, and it used more than 1.5 shares


@dataclass(frozen=True, slots=True)
class PassedEntity:
    """A user or account that has passed time in the base."""

    kind: str  # user | account
    name: str
    passed_s: int
    named: bool | None  # whether ``passed_over`` names it; None: it was not tested, or cannot be
    cause: KnownCause | None = None


@dataclass(frozen=True, slots=True)
class VerdictBase:
    """The figures that decide a verdict on a pool; times in s."""

    ended: int  # jobs that ran and ended
    placed: int  # of them those with a known start
    users: int  # known users among those whose wait is known
    waited_s: float  # W
    unknown_users_s: float  # of it
    not_judged_s: float  # of it
    occupied_s: float  # total occupancy of the jobs whose wait is known
    waits: int  # jobs whose wait is known
    long_waits: int  # of them those that waited longer than ``long_wait_s``
    long_class: bool
    """Whether a class of sizes or GPUs with enough jobs typically waited longer than that."""
    holds: bool  # whether records hold the reasons of nearly all jobs
    overtaken: tuple[PassedEntity, ...] = ()


@dataclass(frozen=True, slots=True)
class Gaps:
    """Gaps in the records of a period."""

    part: bool = False  # whether the log is a part of the workload
    missing_days: bool = False  # whether many days of the period are known to be missing
    refused: bool = False  # whether many of its records were refused

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not (self.part or self.missing_days or self.refused)


COMPLETE: Final = Gaps()


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, and what it was decided by."""

    word: Word
    because: Because
    bounds: frozenset[VerdictBound]
    """The bounds reached, which hold for the next report; none if the period is incomplete."""
    not_judged: float | None  # share of W; None: nothing waited
    treated_worse: float | None
    not_tested: float | None
    kind: str  # the kind of entity of *treated worse*: user, or account if theirs is more
    carried: tuple[PassedEntity, ...]
    """Those that are treated worse, or of *not tested* those who were not, most first."""


def decide(
    base: VerdictBase,
    thresholds: Thresholds,
    before: Collection[VerdictBound] = (),
    gaps: Gaps = COMPLETE,
) -> Decision:
    """Return the verdict on a pool; ``before`` are the bounds that the report before reached."""
    named = {kind: _carrying(base, kind, thresholds, named=True) for kind in ("user", "account")}
    kind, worse = max(named.items(), key=lambda one: _sum(one[1]))
    untested = _carrying(base, "user", thresholds, named=None)
    shares = {
        VerdictBound.NOT_JUDGED: _part(base.not_judged_s, base),
        VerdictBound.TREATED_WORSE: _part(_sum(worse), base),
        VerdictBound.NOT_TESTED: _part(_sum(untested), base),
    }
    reached = frozenset(
        bound
        for bound, share in shares.items()
        if share is not None and share >= bound_of(bound, thresholds, before)
    )
    because = _because(base, thresholds, reached, gaps)
    word = _WORDS.get(because, Word.CANNOT_TELL)
    if because is Because.TREATED_WORSE and not base.holds:
        word = Word.MIXED
    carried = untested if because is Because.NOT_TESTED else worse
    kept = reached if gaps.complete else frozenset[VerdictBound]()
    return Decision(
        word,
        because,
        kept,
        not_judged=shares[VerdictBound.NOT_JUDGED],
        treated_worse=shares[VerdictBound.TREATED_WORSE],
        not_tested=shares[VerdictBound.NOT_TESTED],
        kind=kind,
        carried=tuple(sorted(carried, key=lambda one: (-one.passed_s, one.name))),
    )


_WORDS: Final = {
    Because.LITTLE_WAITING: Word.QUIET,
    Because.TREATED_WORSE: Word.UNFAIR,
    Because.NONE: Word.FAIR,
}
"""All others: cannot tell."""


def bound_of(
    bound: VerdictBound, thresholds: Thresholds, before: Collection[VerdictBound]
) -> float:
    """Return the share of W from which on a bound is reached."""
    of = {
        VerdictBound.NOT_JUDGED: thresholds.not_judged,
        VerdictBound.TREATED_WORSE: thresholds.treated_worse,
        VerdictBound.NOT_TESTED: thresholds.not_tested,
    }
    full = of[bound]
    # as printed: 0.05 · 0.8 > 0.04
    return round(full * thresholds.held, 12) if bound in before else full


def _because(
    base: VerdictBase, of: Thresholds, reached: Collection[VerdictBound], gaps: Gaps
) -> Because:
    if unknown := _unknown(base, of, gaps):
        return unknown
    few = base.long_waits < of.few_jobs or base.long_waits < of.few_share * base.waits
    if few and not base.long_class and base.waited_s <= of.little_waiting * base.occupied_s:
        return Because.LITTLE_WAITING
    for bound in VerdictBound:
        if bound in reached:
            return Because(bound.value)
    return Because.NONE


def _unknown(base: VerdictBase, of: Thresholds, gaps: Gaps) -> Because | None:
    """Return the reason for *cannot tell* that needs no figure of waits; None: there is none."""
    found = {
        Because.FEW_JOBS: base.ended < of.few_jobs,
        Because.FEW_STARTS: 2 * base.placed < base.ended,
        Because.FEW_ARRIVALS: 2 * base.waits < base.ended,
        Because.UNKNOWN_USERS: 0 < base.waited_s <= 2 * base.unknown_users_s,
        Because.ONE_USER: base.users == 1,
        Because.PART: gaps.part,
        Because.MISSING_DAYS: gaps.missing_days,
        Because.REFUSED: gaps.refused,
    }
    return next((because for because, holds in found.items() if holds), None)


def _carrying(
    base: VerdictBase, kind: str, of: Thresholds, named: bool | None
) -> list[PassedEntity]:
    """Return those with enough passed time and without a known cause."""
    return [
        one
        for one in base.overtaken
        if one.kind == kind
        and one.named is named
        and one.cause is None
        and one.passed_s > 0
        and one.passed_s >= of.each * base.waited_s
    ]


def _sum(entities: Iterable[PassedEntity]) -> int:
    return sum(one.passed_s for one in entities)


def _part(seconds: float, base: VerdictBase) -> float | None:
    return seconds / base.waited_s if base.waited_s else None
