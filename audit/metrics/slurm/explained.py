"""Why the FairShare of a user changed, and when it is back (SPEC §7, methods of ``sshare``).

Figures are as of ticks (``usage``). Between the ticks t₀ and t₁, the raw usage U of each node
changes exactly by

    U(t₁) = D · U(t₀) + Σ_j n_j        D = f^(t₁ − t₀), 0 if a tick in between resets usage
    n_j   = U_j(t₁) − D · U_j(t₀)      what attempt j added since t₀, decayed up to t₁

so the change is the *decay* −(1 − D) · U(t₀) plus the new usage of each attempt. FairShare depends
on the usage of all nodes and is not a sum. The effect of an attempt or a sibling is therefore *the
FairShare without it*: computed again with all usage but its n_j. Effects do not sum to the change,
because two users can each suffice to push a third one down.

Without any jobs, the usage of all decays alike. Fair Tree and classic fairshare compare parts of
usage, so FairShare then stays as it is until a reset. ``back`` assumes that the user runs nothing
after t₁, and that all others go on using what they used on average between t₀ and t₁.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from audit.array_types import Bools, Floats, Ints
from audit.metrics.fairshare.trees import Tree
from audit.metrics.fairshare.usage import Grouped
from audit.metrics.slurm.shares import summed
from audit.metrics.slurm.usage import LONGEST_RESET_S, RESET_S, SlurmUsage

TOP: Final = 5
"""Number of attempts and of siblings whose effect is computed."""
HORIZON: Final = 10
"""Half-lives after which ``back`` gives up."""
_STEPS: Final = 14  # per half-life, at which ``back`` looks

Judge = Callable[[Floats], Floats]
"""FairShare of each node, from the raw usage of each node with all below it."""


class Effect(NamedTuple):
    """New usage since t₀, and FairShare at t₁ without it."""

    which: int  # an attempt, or a node
    usage: float  # decayed up to t₁, billing-seconds
    without: float


class Moved(NamedTuple):
    """The usage and FairShare of a user at two ticks, and what changed them."""

    usage: tuple[float, float]
    fairshare: tuple[float, float]
    decayed: float  # usage at t₀ that is forgotten at t₁, ≥ 0
    new: float  # usage since t₀
    without_own: float  # FairShare without any new usage of the user
    without_others: float  # FairShare without any new usage of all others
    attempts: tuple[Effect, ...]  # those of the user with most new usage
    siblings: tuple[Effect, ...]
    """Nodes beside the user or beside an account above it, greatest effect first."""


@dataclass(frozen=True)
class ChargedAttempts:
    """All attempts of a cluster, the node that each is charged to, and how FairShare follows.

    Args:
        nodes: of each attempt; −1: none.
        start: epoch s.
        end: beyond all instants, if the attempt still runs.
        penalty: billing per second.
    """

    tree: Tree
    nodes: Ints
    start: Ints
    end: Ints
    penalty: Floats
    method: SlurmUsage
    judge: Judge

    def by_attempt(self, instants: Ints) -> Floats:
        """Return the usage of each attempt, a row per instant."""
        offsets = np.arange(len(self.nodes) + 1, dtype=np.int64)
        grouped = Grouped(offsets, self.start, self.end, self.penalty)
        return self.method.sweep(grouped, instants)[0]

    def by_node(self, of_attempts: Floats) -> Floats:
        """Return the sum of an amount over the attempts of each node itself."""
        charged = self.nodes >= 0
        nodes = self.nodes[charged]
        return np.bincount(nodes, of_attempts[charged], len(self.tree.names)).astype(np.float64)

    def fairshare(self, own: Floats, node: int) -> float:
        """Return the FairShare of a node, from the usage of each node itself."""
        return float(self.judge(summed(self.tree, own))[node])


def course(ground: ChargedAttempts, node: int, instants: Ints) -> list[tuple[float, float]]:
    """Return raw usage and FairShare of a user at each instant, strictly ascending."""
    used = ground.by_attempt(instants)
    owns = [ground.by_node(row) for row in used]
    return [(float(own[node]), ground.fairshare(own, node)) for own in owns]


def moved(ground: ChargedAttempts, node: int, before: int, after: int) -> Moved:
    """Return what changed the figures of a user's node between two ticks, epoch s."""
    used = ground.by_attempt(np.array([before, after], np.int64))
    kept = _kept(ground.method, before, after)
    new_of_attempts: Floats = np.maximum(used[1] - kept * used[0], 0.0)
    then, now = (ground.by_node(of_attempts) for of_attempts in used)
    new = ground.by_node(new_of_attempts)
    old, of_user = now - new, np.arange(len(new)) == node
    mine = np.where(ground.nodes == node, new_of_attempts, 0.0)
    attempts = []
    for attempt in np.argsort(-mine, kind="stable")[:TOP].tolist():
        if mine[attempt] > 0.0:
            without = now - np.where(of_user, mine[attempt], 0.0)
            amount = float(mine[attempt])
            attempts.append(Effect(attempt, amount, ground.fairshare(without, node)))
    return Moved(
        (float(then[node]), float(now[node])),
        (ground.fairshare(then, node), ground.fairshare(now, node)),
        float((1.0 - kept) * then[node]),
        float(new[node]),
        ground.fairshare(old + np.where(of_user, 0.0, new), node),
        ground.fairshare(old + np.where(of_user, new, 0.0), node),
        tuple(attempts),
        tuple(_siblings(ground, node, now, new)),
    )


def _kept(method: SlurmUsage, before: int, after: int) -> float:
    """Return the part of usage at a tick that still counts at another."""
    resets = method.resets(before, after) * method.period_s + method.phase_s
    return 0.0 if (resets > before).any() else math.exp(method.rate * (after - before))


def _siblings(ground: ChargedAttempts, node: int, own: Floats, new: Floats) -> list[Effect]:
    """Return the greatest effects of siblings on each level, among those that used most.

    Args:
        own: usage of each node itself.
        new: the part of it that is new.
    """
    tree, path = ground.tree, [node]
    while path[-1] > 0:
        path.append(int(tree.parents[path[-1]]))
    beside = np.isin(tree.parents, path[1:]) & ~np.isin(np.arange(len(tree.names)), path)
    of_siblings = np.where(beside, summed(tree, new), 0.0)
    effects = []
    for other in np.argsort(-of_siblings, kind="stable")[: 2 * TOP].tolist():
        if of_siblings[other] > 0.0:
            without = np.where(_below(tree, other), own - new, own)
            amount = float(of_siblings[other])
            effects.append(Effect(other, amount, ground.fairshare(without, node)))
    now = ground.fairshare(own, node)
    return sorted(effects, key=lambda effect: -abs(effect.without - now))[:TOP]


def _below(tree: Tree, node: int) -> Bools:
    """Return whether each node is this one, or below it."""
    inside = np.zeros(len(tree.names), np.bool_)
    inside[node] = True
    for other in range(node + 1, len(tree.names)):  # parents precede children
        inside[other] |= inside[tree.parents[other]]
    return inside


class Back(NamedTuple):
    """The first tick at which FairShare is at least the target; None: none within the horizon."""

    at: int | None
    by_reset: bool  # whether that tick resets all usage
    until: int  # the last instant that was looked at


def back(ground: ChargedAttempts, node: int, since: int, now: int, target: float) -> Back:
    """Return when FairShare is at least ``target``, if the user runs nothing after ``now``.

    All others go on using what they used on average since the tick ``since``. FairShare is looked
    at every fourteenth of a half-life, so a shorter time above the target is missed.

    Args:
        since, now: ticks, epoch s, since < now.
    """
    method = ground.method
    period = method.period_s
    own = ground.by_node(ground.by_attempt(np.array([now], np.int64))[0])
    ran = (np.minimum(ground.end, now) - np.maximum(ground.start, since)).clip(0)
    rates = ground.by_node(ran * ground.penalty) / (now - since)
    rates[np.array(ground.tree.names) == ground.tree.names[node]] = 0.0
    reset = _next_reset(method, now)
    horizon = HORIZON * method.half_life_s if method.rate else LONGEST_RESET_S
    last = math.ceil(horizon / period) if reset is None else (reset - now) // period
    last = min(last, math.ceil(horizon / period))

    ratio = math.exp(method.rate * period)
    booked = rates * period * ratio  # by each tick for jobs that ran all of its period

    def reached(ticks: int) -> bool:
        kept = ratio**ticks
        times = (1.0 - kept) / (1.0 - ratio) if method.rate else float(ticks)
        return ground.fairshare(own * kept + booked * times, node) >= target - 1e-12

    step = max(1, round((method.half_life_s or last * period) / period / _STEPS))
    low = 0
    if reached(0):
        return Back(now, False, now)
    for high in (*range(step, last, step), last - (reset is not None)):
        if high > low and reached(high):
            found = now + period * first_reached(reached, low, high)
            return Back(found, False, found)
        low = max(low, high)
    if reset is not None and reset <= now + last * period:
        fresh = ground.fairshare(booked, node) >= target - 1e-12
        return Back(reset if fresh else None, fresh, reset)
    return Back(None, False, now + last * period)


def first_reached(reached: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first number above ``low`` that is reached, where ``high`` is."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def next_tick(method: SlurmUsage, at: int) -> int:
    """Return the first tick at or after an instant, epoch s."""
    return -((method.phase_s - at) // method.period_s) * method.period_s + method.phase_s


def _next_reset(method: SlurmUsage, now: int) -> int | None:
    number = (now - method.phase_s) // method.period_s
    later = method.resets(now, now + LONGEST_RESET_S)
    later = later[later > number]
    return int(later[0]) * method.period_s + method.phase_s if len(later) else None


def misfits(half_life_s: float, reset: str, period_s: int, longest_s: int | None) -> list[str]:
    """Return why half-life, reset and the longest walltime do not fit together, as sentences.

    Args:
        half_life_s: 0: no decay.
        reset: PriorityUsageResetPeriod.
        period_s: seconds between two recalculations; 0: continuous.
        longest_s: the longest walltime of jobs; None: unknown.
    """
    found = []
    length = RESET_S.get(reset)
    if longest_s and 0 < half_life_s < longest_s:
        left = 2.0 ** -(longest_s / half_life_s)
        found.append(
            f"the half-life ({_length(half_life_s)}) is shorter than the longest walltime "
            f"({_length(longest_s)}): when such a job ends, its first hour counts only "
            f"{100 * left:.0f} %"
        )
    if longest_s and length is not None and length < longest_s:
        found.append(
            f"usage is reset {reset}, but the longest walltime is {_length(longest_s)}: such a job "
            "is forgotten while it runs"
        )
    if length is not None and half_life_s >= length:
        found.append(
            f"usage is reset {reset}, before the half-life ({_length(half_life_s)}) has passed: "
            "the reset decides, and the decay has little effect"
        )
    if 0 < half_life_s < 10 * period_s:
        found.append(
            f"usage is recalculated every {period_s:,} s, more than a tenth of the half-life "
            f"({_length(half_life_s)}): priorities change in steps"
        )
    return found


def _length(seconds: float) -> str:
    for name, unit in (("days", 86_400), ("h", 3_600)):
        if seconds >= unit:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:,.0f} s"
