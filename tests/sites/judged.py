"""Which rules the log of a made site shows, compared with the rules that the site has."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import polars as pl

from audit.model import Limit, Window
from audit.pipeline.shown import look
from audit.scenario.plateaus.capacity import CapacityBelow
from audit.scenario.plateaus.search import Plateaus
from audit.scenario.releases.holds import inferred_holds
from audit.scenario.scenario import Scenario
from audit.scenario.windows.search import find_windows
from bench.logs.sites.kinds import EPOCH, ClosedHours, SiteKind, TrueRule
from bench.logs.sites.scheduler import capacities
from bench.logs.sites.site import TrueSite

Rule = Limit | Window
DAY: Final = timedelta(1)
FIRST: Final = datetime.fromtimestamp(EPOCH, UTC).date()
WITHOUT_DAYS: Final = {"valid_from": None, "valid_to": None}
AT_ANY_LEVEL: Final = WITHOUT_DAYS | {"most": 0}
AT_ANY_HOURS: Final = WITHOUT_DAYS | {"hours": (0,)}


class Judged(NamedTuple):
    """The rules found on one site."""

    found: bool
    """Whether each rule of the site is found, with its level or its hours."""
    off: tuple[str, ...]
    """Rules of a kind that the site has, with another level or other hours."""
    invented: tuple[str, ...]
    """Other rules, limits of single users and capacities."""
    outside: bool
    """Whether a rule is found for more than one day on which it was not in force."""


def judged(site: TrueSite) -> Judged:
    """Return which rules of a site its log shows, and which others."""
    plateaus, windows = _shown(site)
    planted = [*planted_rules(site.kind)]
    of_users = [rule.limit for rule in plateaus.own if rule.entity not in site.tied]
    expected = [one for one in planted if _of_user(one)]
    found: list[Rule] = [*plateaus.limits, *windows]
    of_site = [one for one in planted if not _of_user(one)]
    off = [one for one in found if one not in _like(found, of_site)]
    same_kind = {repr(_kind(one)) for one in of_site}
    invented = [one for one in off if repr(_kind(one)) not in same_kind]
    return Judged(
        found=all(_like(found, [one]) for one in of_site)
        and all(_like(of_users, [one]) for one in expected)
        and (not site.kind.withheld or plateaus.capacity is not None),
        off=tuple(repr(one) for one in off if repr(_kind(one)) in same_kind),
        invented=(
            *map(repr, invented),
            *(repr(one) for one in of_users if one not in _like(of_users, _for_users(planted))),
            *_false_capacity(site, plateaus.capacity),
        ),
        outside=any(_outside(one, _like(found, [one])) for one in planted),
    )


def _shown(site: TrueSite) -> tuple[Plateaus, list[Window]]:
    """Return the limits that the log shows, and the windows with these in force."""
    jobs, now = site.jobs, site.now
    ends = jobs.filter(pl.col("start_time").is_not_null())["end_time"]
    shown = look(jobs, site.pool, now, int(ends.to_numpy().min()))
    found = shown.plateaus
    holds = inferred_holds(jobs, found.pool, now, shown.holding)
    windows = find_windows(Scenario(jobs, found.pool, now), holds=holds)
    return found, [one.window for one in windows.accepted]


def planted_rules(kind: SiteKind) -> Iterator[Rule]:
    """Yield the rules of a kind of sites as fairaudit names them."""
    for rule in kind.rules:
        yield _limit(rule)
    for closed in kind.closed:
        yield Window(
            hours=closed.hours,
            overlap=closed.overlap,
            walltime_above_s=closed.walltime_above_s or None,
            size_above=closed.size_above or None,
            **_days(closed),
        )


def _limit(rule: TrueRule) -> Limit:
    resource = {"jobs": None, "cpus": "cpus", "cpu_s": "cpus", "gpus": "gpus"}[rule.counts]
    scope: dict[str, Any] = {}
    if rule.within is not None and rule.within[0] == "node_class":
        resource = f"{resource}:{rule.within[1]}"
    elif rule.within is not None:
        scope[rule.within[0]] = (rule.within[1],)
    if rule.only is not None:
        scope[rule.per] = (rule.only,)
    return Limit(
        most=rule.level,
        resource=resource,
        remaining=rule.counts == "cpu_s",
        per=None if rule.only is not None else rule.per,
        **scope,
        **_days(rule),
    )


def _days(rule: TrueRule | ClosedHours) -> dict[str, Any]:
    if rule.days is None:
        return {}
    first, behind = (FIRST + day * DAY for day in rule.days)
    return {"valid_from": first, "valid_to": behind}


def _of_user(rule: Rule) -> bool:
    """Whether it is a limit of one user, which is no rule of the site."""
    return isinstance(rule, Limit) and rule.user is not None


def _for_users(planted: list[Rule]) -> list[Rule]:
    """The limits of single users that are true: those of one, and what each user has."""
    return [one for one in planted if isinstance(one, Limit) and (one.user or one.per == "user")]


def _like(found: list[Any], planted: list[Rule]) -> list[Rule]:
    """The rules among those found that equal a planted one but for their days.

    What a limit of each user does to one user equals it too.
    """
    bare = [one.but(**WITHOUT_DAYS) for one in planted]
    of_one = [{"user": None, "per": "user"}, {}]
    return [
        one
        for one in found
        if any(
            one.but(**WITHOUT_DAYS, **(change if _of_user(one) else {})) in bare
            for change in of_one
        )
    ]


def _kind(rule: Rule) -> Rule:
    return rule.but(**(AT_ANY_LEVEL if isinstance(rule, Limit) else AT_ANY_HOURS))


def _false_capacity(site: TrueSite, below: CapacityBelow | None) -> list[str]:
    """A capacity in force at which the site never was."""
    if below is None:
        return []
    (has,) = capacities(site.kind)
    levels = {has - site.kind.withheld}
    for _, _, change in site.steps:
        levels.add(has + change)
    return [] if below.level in levels - {has} else [repr(below)]


def _outside(planted: Rule, found: list[Rule]) -> bool:
    """Whether a rule is found for more than one day on which it was not in force."""
    if planted.valid_from is None or planted.valid_to is None:
        return False
    return any(
        one.valid_from is None
        or planted.valid_from - one.valid_from > DAY
        or (one.valid_to or FIRST + 60 * DAY) - planted.valid_to > DAY
        for one in found
    )
