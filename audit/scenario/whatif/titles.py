"""The title of a change: an imperative in plain words, without its stop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from audit.model import Limit, Pool
from audit.policies import SETTINGS, Policy
from audit.rules import KINDS, WEEK, Scope
from audit.scenario.scenario import Amount, Bound, Change, rules_of

_NUMBERS: Final = (
    *("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
)
_WORDED: Final = ("depth", "window_s", "interval_s", "reservations")
"""Settings of a policy with titles of their own."""
_UNITS: Final = {"cpus": "CPU", "nodes": "node", "gpus": "GPU", "jobs": "job", None: "job"}
_GIB: Final = 1 << 30
_NAMED: Final = 3
"""Largest number of users that are named; of more, the number."""
_TIMES: Final[tuple[tuple[int, str], ...]] = ((3_600, "h"), (60, "min"), (1, "s"))


def title(change: Change, pool: Pool) -> str:
    """Return the title of a change of ``pool`` as it is today."""
    first, *others = _parts(change, pool)
    return "; ".join((first, *(part[:1].lower() + part[1:] for part in others)))


def _parts(change: Change, pool: Pool) -> Iterator[str]:
    counted = pool.resource.value
    yield from _policy(change, pool.policy)
    if change.targets:
        yield f"Set the targets {_listed(change.targets)}"
    if change.weights:
        yield f"Set the weights {_listed(change.weights)}"
    if change.half_life_s is not None:
        yield f"Halve usage every {duration(change.half_life_s)}"
    if change.walltimes is not None:
        yield _walltimes(float(change.walltimes), change.walltimes_of)
    for wanted, unit in ((change.capacity, counted), (change.nodes, "nodes")):
        if wanted is not None:
            yield _sized(wanted, unit)
    for rule in change.lift:
        yield _lifted(rule, pool)
    for rule, bound in change.relax.items():
        yield _relaxed(rule, bound, pool)
    for further in change.limits:
        yield _limited(further, counted)
    for partition, limit in change.walltime_limits.items():
        yield f"Limit walltimes in partition {partition} to {duration(limit)}"
    if change.without:
        yield f"Leave out the jobs of {', '.join(change.without)}"


def _policy(change: Change, today: Policy) -> Iterator[str]:
    policy, after = change.policy, today.changed(**change.policy)
    if "order" in policy:
        yield f"Serve the queue by order {after.order}"
    if {"backfill", "reservations"} & policy.keys():
        had, reserved = _reservations(today), _reservations(after)
        if reserved and reserved != had:
            before = "all that wait" if had is None else _number(had)
            first = "the first" if reserved == 1 else f"the first {_number(reserved)}"
            yield f"Reserve for {first} in the queue instead of {before}"
        else:
            yield f"Backfill by {after.backfill}"
    if "depth" in policy:
        depth = "all" if today.depth is None else f"{today.depth:,}"
        yield f"Let backfilling look at {after.depth:,} jobs instead of {depth}"
    if after.window_s is not None and "window_s" in policy:
        yield f"Let only jobs of at most {duration(after.window_s)} overtake others"
    if "interval_s" in policy:
        every = "at each event" if today.interval_s is None else f"{today.interval_s} s"
        yield f"Let the scheduler look at the queue every {after.interval_s} s instead of {every}"
    for key, setting in SETTINGS.items():
        if key in policy and key not in _WORDED:
            yield f"Set {setting.flag.lstrip('-')} to {policy[key]}"


def _reservations(policy: Policy) -> int | None:
    """Return the number of queued jobs that have a place in a plan; None: all of them."""
    return policy.reservations or policy.backfill.traits.reservations


def _walltimes(factor: float, users: tuple[str, ...]) -> str:
    whose = ""
    if users:
        named = len(users) <= _NAMED
        whose = f" of {', '.join(users)}" if named else f" of {len(users)} users"
    bound = {1.0: "the run time", 2.0: "twice the run time"}
    return f"Limit walltimes{whose} to {bound.get(factor, f'{factor:g} times the run time')}"


def _sized(wanted: Amount, unit: str) -> str:
    size = amount(abs(wanted.amount), unit)
    if wanted.relative:
        return f"{'Add' if wanted.amount >= 0 else 'Remove'} {size}"
    return f"Size the pool to {size}"


def _lifted(rule: str, pool: Pool) -> str:
    if rule in ("all", "limits", "windows"):
        return f"Lift all {'limits and windows' if rule == 'all' else rule}"
    named = rules_of(pool)[rule]
    if isinstance(named, Limit):
        return f"Lift {_limit(named, pool)}"
    hours = f"any hour of the week, not only at {WEEK - len(named.hours)} of {WEEK}"
    return f"Start jobs{_of(named, pool, jobs='')} at {hours}"


def _relaxed(name: str, bound: int, pool: Pool) -> str:
    rule = rules_of(pool)[name]
    if isinstance(rule, Limit):
        return f"Raise {_limit(rule, pool)} to {amount(bound, rule.resource)}"
    if rule.walltime_above_s is not None:
        least = duration(bound)
    else:
        least = amount(bound, pool.resource.value)
    closed = f"{len(rule.hours)} of {WEEK} hours of the week"
    return f"Close {closed} only to jobs asking for more than {least}"


def _limited(bound: Bound, counted: str) -> str:
    most = amount(bound.most, bound.unit or counted)
    narrow = ", wider jobs excepted" if bound.narrow and bound.name is not None else ""
    if bound.name is None:
        return f"Let no {bound.kind} have more than {most} at a time"
    return f"Let {bound.kind} {bound.name} have no more than {most} at a time{narrow}"


def _limit(limit: Limit, pool: Pool) -> str:
    whom = {None: "in all", "job": "per job"}.get(limit.per) or f"per {limit.per}"
    return f"the limit of {amount(limit.most, limit.resource)} {whom}{_of(limit, pool)}"


def _of(scope: Scope, pool: Pool, jobs: str = "for jobs") -> str:
    """Return which attempts a rule applies to; nothing where it applies to all."""
    counted = pool.resource.value
    named = [
        f"{kind} {', '.join(names)}"
        for kind in KINDS
        if (names := getattr(scope, kind)) is not None
    ]
    asking_for = []
    if scope.size_above is not None:
        asking_for.append(f"more than {amount(scope.size_above, counted)}")
    if scope.size_up_to is not None:
        asking_for.append(f"up to {amount(scope.size_up_to, counted)}")
    if scope.walltime_above_s is not None:
        asking_for.append(f"more than {scope.walltime_above_s / 3_600:,.3g} h")
    parts = [f"of {' and '.join(named)}"] if named else []
    if asking_for:
        parts.append(f"asking for {' and '.join(asking_for)}")
    return "".join(f" {part}" for part in (jobs, *parts) if part) if parts else ""


def amount(most: int, unit: str | None) -> str:
    """Return an amount of a resource, or of jobs, such as ``32 CPUs``, ``1 job``."""
    if unit == "mem_bytes":
        return f"{most / _GIB:,.3g} GiB of memory"
    return f"{most:,} {_UNITS[unit]}{'' if most == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a length of time in one unit, such as ``36 h``."""
    size, unit = next(one for one in _TIMES if seconds >= 2 * one[0] or one[0] == 1)
    return f"{seconds / size:,.3g} {unit}"


def _listed(values: Mapping[str, float]) -> str:
    if len(values) > _NAMED:
        return f"of {len(values)} names"
    return ", ".join(f"{name} {value:g}" for name, value in values.items())


def _number(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)
