"""What elements of a site are called on pages and in files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from audit.model import Limit, Policy, Scope, Window
from audit.policies import SETTINGS
from audit.report.text import wording
from audit.rules import DAY, DAYS, KINDS, WEEK, Rule, runs
from audit.scenario.fit.site import Element, Kind


def says(element: Element, resource: str) -> str:
    """What an element says of the site, as a sentence without its stop."""
    if element.window is not None:
        by = f" ({clock(element.zone)})" if element.zone else ""
        return f"{window(element.window, resource)}{by}{days(element.window)}"
    if element.limit is not None:
        return f"{limit(element.limit, resource)}{days(element.limit)}"
    if element.policy is not None:
        return policy(element.policy)
    if element.ceilings:
        number = sum((one.until - one.since) // 86_400 for one in element.ceilings)
        return f"Less than the whole pool was in force, on {wording.plural(number, 'day')}"
    if element.users:
        names = ", ".join(wording.name(user) for user in element.users[:5])
        more = f" and {len(element.users) - 5} more" if len(element.users) > 5 else ""
        return f"Jobs of {names}{more} wait for the end of their user's previous one"
    return f"A node is given to one job at a time, of {wording.plural(element.nodes or 0, 'node')}"


def window(assumed: Window, resource: str) -> str:
    """A window as a sentence without its stop."""
    who = wording.first_upper(scope(assumed, resource))
    if assumed.overlap:
        return f"{who} are not started if their walltime reaches into {hours(assumed.hours)}"
    return f"{who} are not started {hours(assumed.hours)}"


def days(rule: Rule) -> str:
    """The days of a rule, such as `` until 1997-06-04``; the last day is named."""
    begin = f" from {rule.valid_from}" if rule.valid_from else ""
    last = rule.valid_to - timedelta(1) if rule.valid_to else None
    return begin + (f" until {last}" if last else "")


def clock(zone: str) -> str:
    """What a clock is called: that of a zone, or one that knows no summer time."""
    behind = zone.removeprefix("Etc/GMT")
    if behind == zone:
        return zone
    # in these names, as POSIX has it, the sign is that of the way back to UTC
    return f"UTC{-int(behind):+d} all year"


def policy(assumed: Policy) -> str:
    """A policy as a sentence without its stop."""
    bounds = [
        f"{setting.says} {value:,}"
        for key, setting in SETTINGS.items()
        if (value := getattr(assumed, key)) is not None
    ]
    more = f", with {' and '.join(bounds)}" if bounds else ""
    return f"Order {assumed.order.value}, backfilling {assumed.backfill.value}{more}"


def limit(assumed: Limit, resource: str) -> str:
    """A limit as a sentence without its stop."""
    amount = (
        wording.plural(assumed.most, "job")
        if assumed.resource is None
        else f"{assumed.most:,} {wording.resources(assumed.resource)}"
    )
    whose = f" of each {assumed.per}" if assumed.per else ""
    return f"No more than {amount}{whose} run at one time, of {scope(assumed, resource)}"


def scope(about: Scope, resource: str) -> str:
    """Which attempts a rule is about."""
    named = [
        f"{kind} {', '.join(map(wording.name, names))}"
        for kind in KINDS
        if (names := getattr(about, kind)) is not None
    ]
    asking = []
    if about.size_above is not None:
        asking.append(f"more than {about.size_above:,} {wording.resources(resource)}")
    if about.size_up_to is not None:
        asking.append(f"no more than {about.size_up_to:,} {wording.resources(resource)}")
    if about.walltime_above_s is not None:
        asking.append(f"more than {wording.duration(about.walltime_above_s)}")
    of = f" of {' and '.join(named)}" if named else ""
    that = f" that ask for {' and '.join(asking)}" if asking else ""
    return f"jobs{of}{that}" if of or that else "all jobs"


def hours(closed: Sequence[int]) -> str:
    """Hours of the week, such as ``Mon–Fri 07–17``."""
    by_day = [
        tuple(hour - day * DAY for hour in closed if day * DAY <= hour < (day + 1) * DAY)
        for day in range(WEEK // DAY)
    ]
    said = []
    first = 0
    while first < len(by_day):
        last = first
        while last + 1 < len(by_day) and by_day[last + 1] == by_day[first]:
            last += 1
        if by_day[first]:
            days = DAYS[first] if first == last else f"{DAYS[first]}–{DAYS[last]}"
            said.append(f"{days} {_stretches(by_day[first])}")
        first = last + 1
    return "; ".join(said)


def _stretches(of_day: Sequence[int]) -> str:
    """The hours of a day, such as ``00–07, 19–24``."""
    return ", ".join(f"{begin:02}–{end:02}" for begin, end in runs(of_day))


def kind(of: Kind) -> str:
    """What a kind of element is called in a table."""
    return wording.first_upper(of.value)
