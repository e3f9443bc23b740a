"""The limits, chains and capacity that the log of a pool shows (SPEC §11), as facts."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from audit.cluster.fitted import Fitted
from audit.cluster.inference import Fact, RuleFact
from audit.cluster.setting import PoolInference
from audit.model import Pool
from audit.rule_text import amount, rule_text
from audit.scenario.plateaus.capacity import CapacityBelow
from audit.scenario.plateaus.search import PlateauRule, Plateaus, plateau_search
from audit.scenario.releases.begin import BeginTime, find_begin_times
from audit.scenario.releases.chains import JobChain, accepted_chains, released
from audit.scenario.releases.holds import Holding
from audit.scenario.releases.joint import JointRelease, find_releases
from audit.scenario.releases.queue import user_jobs
from audit.scenario.releases.triggered import OwnTriggered, find_triggered

CERTAIN: Final = 0.7
"""Least concentration with which the number of a user's own limit is stated."""
_UNCLEAR: Final = "a limit, a throttle or a dependency: the log does not say which"
HELD: Final = "held, or waiting for a node"
_NAMED: Final = 10  # greatest number of users about whom there are facts


class ShownByLog(NamedTuple):
    """Findings in the log of a pool."""

    plateaus: Plateaus
    chains: tuple[JobChain, ...]
    releases: tuple[JointRelease, ...]
    triggered: tuple[OwnTriggered, ...]  # of all users with enough jobs, accepted or not
    begin_times: tuple[BeginTime, ...]

    @property
    def holding(self) -> Holding:
        """Users whose jobs were held."""
        return Holding(
            tuple(one.limit for one in self.plateaus.own),
            tuple(one.user for one in self.chains),
            tuple(dict.fromkeys(one.user for one in self.releases)),
            tuple(one.user for one in self.triggered if one.accepted),
            tuple(one.user for one in self.triggered if one.most),
            tuple((one.user, one.at_s) for one in self.begin_times),
        )


def look(described: pl.DataFrame, pool: Pool, now: int, log_begin: int) -> ShownByLog:
    """Return the limits and chains that the log of a pool shows, in the order of SPEC §11.

    Jobs that wait for their user's previous one stop at each level at which the user then runs.
    Therefore, chains can look like a limit. Where there are chains, limits are sought again with
    these held. A limit that is found then can look like a chain, so what it forbids is none.

    Args:
        described: columns of ``model.DESCRIBED``; attempts of other pools are ignored.
        pool: with the rules of configuration and of the scheduler's files.
        log_begin: the begin of the log, epoch s (SPEC §11, *T0*).
    """
    search = plateau_search(described, pool, now, log_begin)
    jobs = user_jobs(described, search.pool._replace(limits=pool.limits), now)
    if chains := accepted_chains(jobs):
        described_again = released(described, jobs, chains)
        del jobs, search  # before more is made
        found = plateau_search(described_again, pool, now, log_begin).found()
        del described_again
        jobs = user_jobs(described, found.pool, now)
        chains = accepted_chains(jobs)
    else:
        found = search.found()
    return ShownByLog(
        found,
        chains,
        tuple(find_releases(jobs)),
        tuple(find_triggered(jobs)),
        tuple(find_begin_times(jobs)),
    )


def shown(described: pl.DataFrame, pool: Pool, now: int, log_begin: int) -> Fitted:
    """Return a pool with the rules and the capacity that its log shows, and the holds.

    Args: as of ``look``.
    """
    every = look(described, pool, now, log_begin)
    found, chains = every.plateaus, every.chains
    facts = (*_rules(found), *_own(found), *_chains(chains), *_capacity(found.capacity, pool))
    rows = [*_class_rows(found, pool), *(_row(rule, found.pool) for rule in found.rules)]
    return Fitted(found.pool, facts, PoolInference(rows, list(_holds(every)), every.holding))


def _holds(found: ShownByLog) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table ``hold_result``."""

    def row(kind: str, user: str | None, jobs: int, evidence: str) -> dict[str, Any]:
        of_user = {"entity_kind": "user", "entity": user}
        return {"kind": kind, **of_user, "jobs": jobs, "evidence": evidence}

    for rule in found.plateaus.own:
        words = own_words(rule, found.plateaus.pool)
        yield row("own limit", rule.entity, rule.judged.counts.at, words)
    for chain in found.chains:
        yield row("chain", chain.user, len(chain.held), chain_words(chain))
    for release in found.releases:
        at = datetime.fromtimestamp(release.since, ZoneInfo(found.plateaus.pool.zone))
        words = f"waited for more than a day, and started together from {at:%Y-%m-%d %H:%M} on: "
        yield row("joint release", release.user, len(release.jobs), words + HELD)
    for own in found.triggered:
        if not own.accepted:
            continue
        words = (
            f"{100 * own.share:.0f} % of {own.jobs:,} jobs for which enough was free start within "
            f"2 min after another job of the user ends, "
            f"{100 * max(own.shifted, own.expected):.0f} % are expected: {HELD}"
        )
        yield row("own-triggered", own.user, len(own.triggered), words)
    for begin in found.begin_times:
        hour, minute = divmod(begin.at_s // 60, 60)
        words = (
            f"{len(begin.held):,} of {begin.jobs:,} jobs for which enough was free start within "
            f"4 min from {hour:02}:{minute:02} on: {HELD}"
        )
        yield row("begin time", begin.user, len(begin.held), words)


def _row(rule: PlateauRule, pool: Pool) -> dict[str, Any]:
    """Return a rule as a row of the view ``rules``."""
    counts = rule.judged.counts
    return {
        "rule": rule_text(rule.limit, pool.resource.value, pool.zone),
        "starts": counts.starts,
        "breaks": counts.broken,
        "stops": counts.at,
    }


def _class_rows(found: Plateaus, pool: Pool) -> Iterator[dict[str, Any]]:
    """Yield such a row of the capacity in force of all jobs but those of a small partition."""
    if (below := found.capacity) is None:
        return
    known = (*pool.limits, *(rule.limit for rule in found.rules))
    for limit in found.pool.limits:
        if limit not in known:
            text = rule_text(limit, pool.resource.value, pool.zone)
            yield {"rule": text, "breaks": below.broken, "stops": below.withheld}


def _rules(found: Plateaus) -> Iterator[Fact]:
    number = len(found.rules)
    for k, rule in enumerate(found.rules, 1):
        text = rule_text(rule.limit, found.pool.resource.value, found.pool.zone)
        stops = f"jobs stop at it {rule.judged.counts.at:,} times"
        yield RuleFact(f"limit {k} of {number}", text, f"the log: {stops}; {rule.evidence}")


def _own(found: Plateaus) -> Iterator[Fact]:
    for rule in found.own[:_NAMED]:
        level = own_level(rule, found.pool).removeprefix("limit of ") or "not certain"
        why = f"the log: {rule.evidence}; {_UNCLEAR}"
        yield RuleFact(f"limit of user {rule.entity!r}", level, why)
    yield from _more("limits of users", len(found.own))
    for one in found.shared:
        measure = one.measure.resource
        value = f"{amount(one.level, measure)} of {len(one.users)} users"
        yield RuleFact("limit of several users", value, f"the log; {_UNCLEAR}")


def own_words(rule: PlateauRule, pool: Pool) -> str:
    """Return what the log shows of a limit of one user."""
    level = own_level(rule, pool)
    return f"{level}{': ' if level else ''}{rule.evidence}; {_UNCLEAR}"


def own_level(rule: PlateauRule, pool: Pool) -> str:
    """Return a limit of one user without the user's name; "": its number is not certain."""
    if rule.judged.concentration < CERTAIN:
        return ""
    return rule_text(rule.limit.but(user=None), pool.resource.value, pool.zone)


def _chains(chains: Sequence[JobChain]) -> Iterator[Fact]:
    for one in chains[:_NAMED]:
        why = f"the log: {chain_words(one)}"
        yield RuleFact(f"chain of user {one.user!r}", f"{len(one.held):,} jobs", why)
    yield from _more("chains", len(chains))


def chain_words(one: JobChain) -> str:
    """Return what the log shows of a chain."""
    return (
        f"{100 * one.share:.0f} % of {one.jobs:,} jobs for which enough was free start when the "
        f"user's previous job ends, {100 * one.shifted:.0f} % are expected: a dependency "
        "or a script"
    )


def _more(what: str, number: int) -> Iterator[Fact]:
    if number > _NAMED:
        yield RuleFact(
            what, f"{number - _NAMED:,} more", "the log; see the views chains and releases"
        )


def _capacity(below: CapacityBelow | None, pool: Pool) -> Iterator[Fact]:
    if below is None:
        return
    unit = pool.resource.value
    which = "" if below.family.without is None else f", without partition {below.family.without!r}"
    what = f"capacity in force{which}"
    value = f"{amount(below.level, unit)} of {amount(below.declared, unit)}"
    why = (
        f"the log: jobs stop at it {below.withheld:,} times, and {below.broken:,} starts exceed it"
    )
    yield Fact(what, value, why)
