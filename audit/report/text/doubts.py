"""Settings under which fairshare says nothing, or not what it seems to."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from audit.report.record.page import Contents
from audit.report.record.usage import Charge, DecayedUsage, UsageOf
from audit.report.text import wording

_DAY_S: Final = 86_400
_MANY: Final = 0.1
"""Such a part of attempts, or of usage, is worth a word."""
_MOST: Final = 0.5


class Doubt(NamedTuple):
    """Why not to build on priorities."""

    grave: bool
    text: str


def doubts(contents: Contents) -> Iterator[Doubt]:
    """All that is wrong with usage, targets and penalties as they are configured."""
    if contents.empty:
        return
    for of in contents.usages:
        if of.nothing:
            yield Doubt(
                True,
                "By the configured penalty nobody used anything in this period: ranks and "
                "priorities rest on the targets alone.",
            )
            continue
        for kind in (of.accounts, of.users):
            yield from _of_targets(kind)
        yield from _of_decay(of, contents)
    for charge in contents.charges:
        if charge.charged:
            yield from _of_amounts(charge)


def _of_targets(of: UsageOf) -> Iterator[Doubt]:
    if of.targets == 1:
        yield Doubt(
            False,
            f"Only one {of.kind} has a target: with nobody beside it, its priority says nothing.",
        )
    elif of.targets and of.different == 1:
        yield Doubt(
            False,
            f"The targets of all {wording.plural(of.targets, of.kind)} are the same: ranks go by "
            "usage alone.",
        )
    if of.unused > _MOST:
        yield Doubt(
            False,
            f"{wording.percent(of.unused)} of what the targets promise to {of.kind}s is promised "
            "to those who used nothing in this period: nearly everybody else is above target, "
            "which is no unfairness by itself.",
        )
    if of.by_without > _MANY:
        yield Doubt(
            of.by_without > _MOST,
            f"{wording.percent(of.by_without)} of all usage is by "
            f"{wording.plural(of.without, of.kind)} without a target, while others have one: no "
            "priority speaks of them.",
        )


def _of_decay(of: DecayedUsage, contents: Contents) -> Iterator[Doubt]:
    decay = _Decay.of(of.settings)
    if decay is None or not of.targets:
        return
    if decay.factor is not None and decay.factor > 1:
        yield Doubt(
            False,
            f"Older usage counts more than recent usage (decay {decay.factor:g}): who used much "
            "long ago ranks behind who uses much now.",
        )
    if decay.factor == 0 and len(decay.weights) > 1:
        yield Doubt(
            False, "With a decay of 0 only the latest window counts, whatever their number."
        )
    waits = [pool.figure("wait_mean").value or 0.0 for pool in contents.pools]
    if decay.memory_s < max(waits, default=0.0):
        yield Doubt(
            True,
            f"Usage is forgotten ({wording.duration(decay.memory_s)}) sooner than an attempt waits "
            f"on average ({wording.duration(max(waits))}): when it starts, what its owner used "
            "before counts no more.",
        )
    starts = [charge.first_start for charge in contents.charges if charge.first_start is not None]
    if starts and (before := decay.weight_before(of.as_of - min(starts))) > _MOST:
        yield Doubt(
            False,
            f"{wording.percent(before)} of the weight of usage lies before the log begins "
            f"({wording.instant(min(starts), contents.span.zone)}): what was used then is not "
            "known, and counts as nothing.",
        )


class _Decay(NamedTuple):
    """How much usage of which age weighs."""

    half_life_s: float | None
    """None: by windows."""
    interval_s: float
    weights: tuple[float, ...]
    """Of each window, the latest first."""
    factor: float | None
    """Of each window to the next younger one."""

    @classmethod
    def of(cls, settings: Mapping[str, object]) -> "_Decay | None":
        """None where it is not known, or usage is not forgotten bit by bit."""
        try:
            if settings["method"] == "windows":
                factor = float(str(settings["decay"]))
                depth = int(str(settings["depth"]))
                interval_s = float(str(settings["interval_days"])) * _DAY_S
                return cls(None, interval_s, tuple(factor**i for i in range(depth)), factor)
            half_life_s = float(str(settings["half_life_days"])) * _DAY_S
            if half_life_s == 0 or settings.get("slurm_conf"):
                return None
            return cls(half_life_s, 0.0, (), None)
        except (KeyError, ValueError, OverflowError):
            return None

    @property
    def memory_s(self) -> float:
        """Half-life; or how far back the windows reach that weigh anything."""
        if self.half_life_s is not None:
            return self.half_life_s
        return self.interval_s * max(
            (age for age, weight in enumerate(self.weights, start=1) if weight > 0), default=0
        )

    def weight_before(self, age_s: float) -> float:
        """What part of all weight is of usage that is older."""
        if self.half_life_s is not None:
            return float(2.0 ** (-max(age_s, 0.0) / self.half_life_s))
        total = sum(self.weights)
        younger = sum(
            weight * min(max(age_s / self.interval_s - i, 0.0), 1.0)
            for i, weight in enumerate(self.weights)
        )
        return 1.0 - younger / total if total > 0 else 0.0


def _of_amounts(charge: Charge) -> Iterator[Doubt]:
    what = wording.resources(charge.resource)
    where = f"pool {wording.name(charge.pool)}"
    if charge.attempts and charge.unknown / charge.attempts > _MANY:
        part = charge.unknown / charge.attempts
        yield Doubt(
            part > _MOST,
            f"The log does not say how much of the {what} of {where} "
            f"{wording.percent(part)} of the attempts had: usage counts them as none.",
        )
    if charge.attempts and charge.clipped / charge.attempts > _MANY:
        part = charge.clipped / charge.attempts
        yield Doubt(
            part > _MOST,
            f"{wording.percent(part)} of the attempts in {where} had more of the {what} than the "
            "pool is said to have: usage counts them as all of it.",
        )
