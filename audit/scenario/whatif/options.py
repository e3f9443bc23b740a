"""A change in words: the options of the command line for it, and its title.

Errors name the option.
"""

import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from audit.errors import UsageError
from audit.formats.slurm import slurm_conf
from audit.model import Limit, Pool
from audit.policies import SETTINGS, Backfill, Policy
from audit.rule_text import amount, duration, hours_text, rule_text, scope_text
from audit.rules import KINDS, Kind
from audit.scenario.scenario import PLACEMENTS, Amount, Bound, ScenarioChange, bound_of, rules_of

DAY_S: Final = 86_400
_LARGEST: Final = 1 << 53
_LONGEST_DAYS: Final = 1_000_000
_LIMIT: Final = re.compile(
    r"(?:(?P<kind>user|account|qos|partition):)?(?P<name>.+)=(?P<most>\d{1,18})"
    r"(?P<unit>jobs|cpus|nodes|gpus(?::(?!narrow$)[^\s:,=A-Z]+)?)?(?P<narrow>:narrow)?"
)


def change(**given: Any) -> ScenarioChange:
    """Return the change that options ask for, or raise UsageError.

    ``given`` are values of the options of ``whatif`` (or ``simulate``), by their names in Python;
    None or empty: not given.
    """
    read = {
        field: reader(given[name])
        for name, (field, reader) in _READERS.items()
        if given.get(name) not in (None, [])
    }
    if "walltimes_of" in read and "walltimes" not in read:
        raise UsageError("--walltimes-of: pass --walltimes too, such as --walltimes exact")
    policy = {key: given[key] for key in Policy._fields if given.get(key) is not None}
    return ScenarioChange(policy=policy, **read)


def limits(texts: Sequence[str]) -> tuple[Bound, ...]:
    """Read each ``--limit WHO=N,…``, or raise UsageError.

    WHO is a partition, or one of a kind: ``user:ann``, ``account:physics``, ``qos:long``; ``*``
    means each of them (``user:*``). N counts the pool's resource, or the ``jobs``, ``cpus``,
    ``nodes``, ``gpus`` or GPUs of a type that follow it: ``user:*=4jobs``, ``user:ann=4gpus:a100``.
    After ``:narrow`` requests above N are exempt.
    """
    found: list[Bound] = []
    for text in (part for each in texts for part in each.split(",")):
        match = _LIMIT.fullmatch(text.strip())
        if match is None or not 1 <= int(match["most"]) <= _LARGEST or match["name"][-1] == ":":
            raise UsageError(
                f"--limit {text}: write PARTITION=N, or user:NAME=N, account:NAME=N, qos:NAME=N, "
                "with N at least 1; the NAME * stands for each of them. jobs, cpus, nodes, gpus or "
                "gpus:TYPE may follow N, and :narrow, which exempts requests above N"
            )
        kind: Kind = next((each for each in KINDS if each == match["kind"]), "partition")
        name = None if match["name"] == "*" else match["name"]
        bound = Bound(kind, name, int(match["most"]), match["unit"], match["narrow"] is not None)
        if any(bound[:2] == other[:2] and bound.unit == other.unit for other in found):
            raise UsageError(f"--limit {text}: this limit is given twice")
        found.append(bound)
    return tuple(found)


def _by_name(
    flag: str, form: str, reader: Callable[[str, str], Any]
) -> Callable[[str | Sequence[str]], Mapping[str, Any]]:
    """Return what reads one text or several of the form ``NAME=VALUE,…``.

    ``reader`` takes the value, and the option with name and value for messages.
    """

    def read(texts: str | Sequence[str]) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        for text in (texts,) if isinstance(texts, str) else texts:
            pairs = [part.rpartition("=") for part in text.split(",")]
            names = [name.strip() for name, _, _ in pairs]
            if not all(names):
                raise UsageError(f"{flag} {text}: write {form}, with commas between several")
            if len(set(names)) < len(names):
                raise UsageError(f"{flag} {text}: a name is given twice")
            for name, (_, _, value) in zip(names, pairs, strict=True):
                found[name] = reader(value.strip(), f"{flag} {name}={value.strip()}")
        return found

    return read


def _number(text: str, option: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (number >= 0 and math.isfinite(number)):
        raise UsageError(f"{option}: must be a number of at least 0")
    return number


def _bound(text: str, option: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= _LARGEST):
        raise UsageError(f"{option}: must be a whole number of at least 1")
    return int(text)


def _walltime(text: str, option: str) -> int:
    limit = slurm_conf.seconds(text)
    if limit is None or not 1 <= limit <= _LARGEST:
        raise UsageError(f"{option}: not a time; write minutes, HH:MM:SS or D-HH:MM:SS")
    return int(limit)


def _weights(texts: Sequence[str]) -> Mapping[str, float]:
    given = _by_name("--weight", "FACTOR=N", _number)(texts)
    return {name.lower(): weight for name, weight in given.items()}


def _amount(flag: str) -> Callable[[str], Amount]:
    """Return what reads ``N``, ``+N`` or ``-N``."""

    def read(text: str) -> Amount:
        relative = text[:1] in ("+", "-")
        least = -_LARGEST if relative else 1
        try:
            value = int(text)
        except ValueError:
            raise UsageError(f"{flag} {text}: not a whole number") from None
        if not least <= value <= _LARGEST:
            raise UsageError(f"{flag} {text}: must be from {least} to {_LARGEST}")
        return Amount(value, relative)

    return read


def _half_life(days: float) -> float:
    if not days <= _LONGEST_DAYS:
        raise UsageError(f"--half-life {days}: must be at most {_LONGEST_DAYS:,} days")
    return days * DAY_S


def _walltimes(text: str) -> Fraction:
    """Read ``--walltimes exact`` or a factor."""
    try:
        factor = Fraction(1 if text == "exact" else text).limit_denominator(1_000_000)
    except (ValueError, ZeroDivisionError):
        factor = Fraction(0)
    if not 1 <= factor <= 1_000:
        raise UsageError(
            f"--walltimes {text}: 'exact', or the largest ratio of walltime to run time, from 1 to "
            "1000"
        )
    return factor


def _placement(text: str) -> str:
    if text not in PLACEMENTS:
        raise UsageError(f"--placement {text}: one of {', '.join(PLACEMENTS)}")
    return text


_READERS: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "limit": ("limits", limits),
    "lift": ("lift", tuple),
    "relax": ("relax", _by_name("--relax", "RULE=N", _bound)),
    "targets": ("targets", _by_name("--targets", "NAME=SHARE", _number)),
    "weight": ("weights", _weights),
    "half_life": ("half_life_s", _half_life),
    "walltimes": ("walltimes", _walltimes),
    "walltimes_of": ("walltimes_of", tuple),
    "capacity": ("capacity", _amount("--capacity")),
    "nodes": ("nodes", _amount("--nodes")),
    "placement": ("placement", _placement),
    "per_node": ("per_node", _by_name("--per-node", "RESOURCE=N", _bound)),
    "max_walltime": (
        "walltime_limits",
        _by_name("--max-walltime", "PARTITION=D-HH:MM:SS", _walltime),
    ),
    "without_user": ("without", tuple),
}
"""By option: the field of ``ScenarioChange``, and what reads its value."""


def written(change: ScenarioChange) -> str:
    """Return the options that ask for a change."""
    return shlex.join(_written(change))


def _written(change: ScenarioChange) -> Iterator[str]:
    for key, value in change.policy.items():
        yield from (SETTINGS[key].flag if key in SETTINGS else f"--{key}", str(value))
    targets = ",".join(f"{name}={share:.12g}" for name, share in change.targets.items())
    every: dict[str, Sequence[object]] = {
        "--limit": [
            f"{bound.kind}:{bound.name or '*'}={bound.most}{bound.unit or ''}"
            + (":narrow" if bound.narrow else "")
            for bound in change.limits
        ],
        "--targets": [targets] if targets else [],
        "--half-life": [f"{(change.half_life_s or 0) / DAY_S:.12g}"]
        if change.half_life_s is not None
        else [],
        "--walltimes": [] if change.walltimes is None else [change.walltimes],
        "--capacity": [_signed(change.capacity)] if change.capacity else [],
        "--nodes": [_signed(change.nodes)] if change.nodes else [],
        "--placement": [change.placement] if change.placement else [],
        "--per-node": [f"{name}={most}" for name, most in change.per_node.items()],
        "--lift": change.lift,
        "--relax": [f"{rule}={bound}" for rule, bound in change.relax.items()],
        "--walltimes-of": change.walltimes_of,
        "--weight": [f"{name}={weight:.12g}" for name, weight in change.weights.items()],
        "--max-walltime": [
            f"{name}={limit // 60:02}:{limit % 60:02}"
            for name, limit in change.walltime_limits.items()
        ],
        "--without-user": change.without,
    }
    for flag, values in every.items():
        for value in values:
            yield from (flag, str(value))


def _signed(wanted: Amount) -> str:
    return f"{wanted.amount:+}" if wanted.relative else str(wanted.amount)


# --- titles: imperatives without a stop ----------------------------------------------------------

_NUMBERS: Final = (
    *("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
)
_PLACED: Final[dict[str, str]] = {
    "packed": "Place jobs on the nodes with least free capacity",
    "least_loaded": "Place jobs on the nodes with most free capacity",
    "consecutive": "Place jobs on neighbouring nodes, as Slurm does by default",
    "exclusive": "Give each job whole nodes",
}
_WORDED: Final = ("depth", "window_s", "interval_s", "reservations")
"""Settings of a policy with titles of their own."""
_NAMED: Final = 3  # largest number of users that are named; of more, the number


def title(change: ScenarioChange, pool: Pool, *others: Pool) -> str:
    """Return the title of a change of pools as they are today; each rule is the first one's."""
    first, *more = _parts(change, (pool, *others))
    return "; ".join((first, *(part[:1].lower() + part[1:] for part in more)))


def _parts(change: ScenarioChange, pools: Sequence[Pool]) -> Iterator[str]:
    counted = pools[0].resource.value
    yield from _policy(change, pools[0].policy)
    if change.targets:
        yield f"Set the targets {_listed(change.targets)}"
    if change.weights:
        yield f"Set the weights {_listed(change.weights)}"
    if change.half_life_s is not None:
        yield f"Halve usage every {duration(round(change.half_life_s))}"
    if change.walltimes is not None:
        users = change.walltimes_of
        named = ", ".join(users) if len(users) <= _NAMED else f"{len(users)} users"
        factor = float(change.walltimes)
        close = {1.0: "equal to the run time", 2.0: "of at most twice the run time"}
        bound = close.get(factor, f"of at most {factor:g} times the run time")
        yield f"Ask {named if users else 'users'} for time limits {bound}"
    for wanted, unit in ((change.capacity, counted), (change.nodes, "nodes")):
        if wanted is not None:
            size = amount(abs(wanted.amount), unit)
            verb = "Add" if wanted.amount >= 0 else "Remove"
            yield f"{verb} {size}" if wanted.relative else f"Size the pool to {size}"
    if change.placement is not None:
        yield _PLACED[change.placement]
    for name, most in change.per_node.items():
        yield f"Let jobs use at most {amount(most, name)} per node, on more nodes"
    for name in change.lift:
        every = {"all": "limits and windows", "limits": "limits", "windows": "windows"}
        yield f"Lift {f'all {every[name]}' if name in every else f'the {_rule(name, pools)}'}"
    for name, most in change.relax.items():
        yield _relaxed(name, most, _with_rule(name, pools))
    for further in change.limits:
        yield _limited(further, counted)
    for partition, seconds in change.walltime_limits.items():
        yield f"Limit walltimes in partition {partition} to {duration(seconds)}"
    if change.without:
        yield f"Leave out the jobs of {', '.join(change.without)}"


def _policy(change: ScenarioChange, today: Policy) -> Iterator[str]:
    policy, after = change.policy, today.changed(**change.policy)
    if "order" in policy:
        yield f"Serve the queue by order {after.order}"
    if {"backfill", "reservations"} & policy.keys():
        # of None, all queued jobs have a reservation
        had, reserved = (
            of.reservations or of.backfill.traits.reservations for of in (today, after)
        )
        if reserved and reserved != had:
            before = "all that wait" if had is None else _worded(had)
            first = "the first" if reserved == 1 else f"the first {_worded(reserved)}"
            if today.backfill is Backfill.none:
                first = "the first one" if reserved == 1 else first
                yield f"Let later jobs start if they do not delay {first}"
            else:
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


def _with_rule(name: str, pools: Sequence[Pool]) -> Pool:
    return next(pool for pool in pools if name in rules_of(pool))


def _rule(name: str, pools: Sequence[Pool]) -> str:
    pool = _with_rule(name, pools)
    return rule_text(rules_of(pool)[name], pool.resource.value, pool.zone)


def _relaxed(name: str, most: int, pool: Pool) -> str:
    rule, counted = rules_of(pool)[name], pool.resource.value
    if isinstance(rule, Limit):
        return f"Raise the {rule_text(rule, counted, pool.zone)} to {amount(most, rule.resource)}"
    scope = scope_text(rule.but(**{str(bound_of(rule)): most}), counted)
    return f"Apply the closed {hours_text(rule, pool.zone)} only to {scope}"


def _limited(bound: Bound, counted: str) -> str:
    unit = None if bound.unit == "jobs" else bound.unit or counted
    most = f"more than {amount(bound.most, unit)} at a time"
    if bound.name is None:
        return f"Let no {bound.kind} have {most}"
    narrow = ", wider jobs excepted" if bound.narrow else ""
    return f"Let {bound.kind} {bound.name} have no {most}{narrow}"


def _listed(values: Mapping[str, float]) -> str:
    if len(values) > _NAMED:
        return f"of {len(values)} names"
    return ", ".join(f"{name} {value:g}" for name, value in values.items())


def _worded(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)
