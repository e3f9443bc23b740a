"""Why the FairShare of one user changed, as text: ``fairaudit sshare --explain USER``."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.array_types import Floats
from audit.config import Config
from audit.errors import UsageError
from audit.metrics.fairshare.trees import Tree
from audit.metrics.slurm import explained
from audit.metrics.slurm.explained import Back, ChargedAttempts, Effect, Moved
from audit.metrics.slurm.shares import classic, fair_tree, summed
from audit.metrics.slurm.wanted import TreeJudge, cost, shares_for
from audit.oneoff.sshare import recompute
from audit.oneoff.sshare.inputs import SshareRequest
from audit.periods import instant
from audit.progress import OnProgress, printable, silent
from audit.words import Algorithm

_POINTS: Final = 14
"""Number of stretches of the time in which figures are listed."""
_DEFAULT_S: Final = 7 * 86_400
_WIDTHS: Final = (54, 16, 12, 12)


@dataclass(frozen=True)
class FairShareQuestion:
    """The user whose FairShare is explained, and options; None: the default."""

    user: str
    since: str | None = None  # default: a half-life before the instant
    back_at: float | None = None  # default: the FairShare at ``since``
    want: float | None = None  # FairShare for which shares are searched
    job: str | None = None  # a job whose cost is shown; see ``recompute.job_of``


def explain(
    request: SshareRequest,
    question: FairShareQuestion,
    config: Config,
    folder: Path = Path(),
    on_progress: OnProgress = silent,
) -> tuple[list[str], list[str], list[str]]:
    """Return the explanation as lines, the settings used, and warnings.

    Raises:
        UsageError: as ``recompute``; or the user has no association, or ``since`` is not before the
            instant.
    """
    basis = recompute.prepare(request, config, folder, on_progress)
    names, is_user = np.array(basis.tree.names), basis.tree.is_user
    nodes = np.flatnonzero(is_user & (names == question.user)).tolist()
    if not nodes:
        raise UsageError(f"sshare: user {question.user!r} has no association (--explain)")
    before, after = _ticks(basis, question)
    judge = _judge(basis)
    started = basis.charged.attempts["start_time"].is_not_null().to_numpy()
    attempts = basis.charged.attempts.filter(pl.Series(started))
    ground = ChargedAttempts(
        basis.tree,
        basis.placed.nodes[started],
        attempts["start_time"].to_numpy(),
        attempts["end_time"].fill_null(recompute.OPEN_END).to_numpy(),
        attempts["penalty"].to_numpy(),
        basis.ticks.method,
        partial(judge, basis.tree),
    )
    job = None if question.job is None else recompute.job_of(question.job, basis)
    lines: list[str] = []
    for node in nodes:
        shown = _ExplainedAssociation(
            basis, ground, attempts["job_id"], node, before, after, question.back_at
        )
        lines += [*([""] if lines else []), *shown.lines()]
        if question.want is not None:
            lines += ["", *shown.wanted(judge, question.want)]
        if job is not None:
            lines += ["", *shown.cost(job)]
    return lines, list(recompute.facts(request, basis)), recompute.assumptions(basis)


def _ticks(basis: recompute.SshareBasis, question: FairShareQuestion) -> tuple[int, int]:
    method = basis.ticks.method
    since = basis.at - round(method.half_life_s or _DEFAULT_S)
    if question.since is not None:
        since = instant(question.since, basis.zone, "--since")
    before, after = method.tick(since), method.tick(basis.at)
    if before >= after:
        raise UsageError(
            f"sshare: --since must be at least {method.period_s} s before the instant (--as-of)"
        )
    return before, after


def _judge(basis: recompute.SshareBasis) -> TreeJudge:
    conf = basis.site.conf

    def judge(tree: Tree, usage: Floats) -> Floats:
        if basis.algorithm is Algorithm.fair_tree:
            return fair_tree(tree, usage).fairshare
        oblivious = "DEPTH_OBLIVIOUS" in conf.flags
        return classic(tree, usage, conf.dampening, depth_oblivious=oblivious).fairshare

    return judge


@dataclass(frozen=True)
class _ExplainedAssociation:
    """The explanation of one association."""

    basis: recompute.SshareBasis
    ground: ChargedAttempts
    jobs: pl.Series  # id of each attempt
    node: int
    before: int
    after: int
    back_at: float | None

    def lines(self) -> Iterator[str]:
        """Yield the explanation: over time, what changed it, by job, by sibling, and its return."""
        of = explained.moved(self.ground, self.node, self.before, self.after)
        (was, now), (old, new) = of.fairshare, of.usage
        partition = self.basis.tree.partitions[self.node]
        of_partition = f", partition {printable(partition)}" if partition else ""
        yield f"{self._name(self.node)}{of_partition}"
        yield f"FairShare {was:.6f} at {self._at(self.before)}, {now:.6f} at {self._at(self.after)}"
        yield (
            f"usage {_hours(old)} - {_hours(of.decayed)} forgotten + {_hours(of.new)} new = "
            f"{_hours(new)} billing-hours"
        )
        yield ""
        yield _row("time", "billing-hours", "FairShare")
        points = np.linspace(self.before, self.after, _POINTS + 1)
        ticks = [self.basis.ticks.method.tick(int(at)) for at in points]
        instants = np.unique(ticks).astype(np.int64)
        for at, (used, factor) in zip(
            instants.tolist(), explained.course(self.ground, self.node, instants), strict=True
        ):
            yield _row(self._at(at), _hours(used), f"{factor:.6f}")
        yield from self._effects(of)
        yield ""
        yield from self._back(of)

    def wanted(self, judge: TreeJudge, target: float) -> Iterator[str]:
        """Yield the RawShares that would give a FairShare, of the user and of accounts above it."""
        ground, tree = self.ground, self.basis.tree
        own = ground.by_node(ground.by_attempt(np.array([self.after], np.int64))[0])
        usage, node = summed(tree, own), self.node
        yield f"FairShare of at least {target:.6f}, with usage as it is and one change:"
        while node > 0:
            found = shares_for(tree, usage, judge, self.node, node, target)
            now = "parent" if math.isnan(tree.shares[node]) else f"{tree.shares[node]:g}"
            enough = "no RawShares are enough" if found is None else f"RawShares {found:,} or more"
            yield f"  {self._name(node)}: {enough} (now {now})"
            node = int(tree.parents[node])

    def cost(self, job: recompute.SharedJob) -> Iterator[str]:
        """Yield what a job that would start now does to FairShare, and until when."""
        of = cost(self.ground, self.node, self.before, self.basis.at, job.lasts_s, job.penalty)
        yield f"{job.words}, started now: {_hours(of.usage)} billing-hours"
        yield (
            f"FairShare at {self._at(of.at)}, after its end: {of.with_job:.6f}, and "
            f"{of.without_job:.6f} without it, if nothing else starts."
        )
        yield f"Back at the FairShare of now: {self._when(of.back)}"
        yield (
            "assuming that the user runs nothing after it, and that all others go on using what "
            f"they used on average since {self._at(self.before)}."
        )

    def _effects(self, of: Moved) -> Iterator[str]:
        now = of.fairshare[1]
        for title, effects, name in (
            ("new usage of own jobs", of.attempts, self._job),
            ("new usage beside the user, and beside accounts above", of.siblings, self._name),
        ):
            if effects:
                yield ""
                yield _row(title, "", "FairShare", "")
                yield _row("", "billing-hours", "without it", "difference")
                yield from (self._effect(effect, name(effect.which), now) for effect in effects)
        yield ""
        whole = "FairShare without any new usage"
        yield _row(f"{whole} of the user", "", f"{of.without_own:.6f}")
        yield _row(f"{whole} of all others", "", f"{of.without_others:.6f}")
        yield "Each line leaves out one usage and keeps the rest, so differences do not sum up."

    def _effect(self, effect: Effect, name: str, now: float) -> str:
        difference = f"{effect.without - now:+.6f}"
        return _row(name, _hours(effect.usage), f"{effect.without:.6f}", difference)

    def _back(self, of: Moved) -> Iterator[str]:
        target = of.fairshare[0] if self.back_at is None else self.back_at
        found = explained.back(self.ground, self.node, self.before, self.after, target)
        if found.at == self.after:
            yield f"FairShare is at least {target:.6f} now."
            return
        yield f"Back at {target:.6f}: {self._when(found)}"
        yield (
            "assuming that the user runs nothing from now on, and that all others go on using what "
            f"they used on average since {self._at(self.before)}."
        )
        yield (
            "If no jobs ran at all, the usage of all would decay alike, and FairShare would stay "
            f"at {of.fairshare[1]:.6f} until a reset."
        )

    def _when(self, found: Back) -> str:
        if found.at is None:
            return f"not before {self._at(found.until)},"
        return f"{self._at(found.at)}{', by the reset of usage' if found.by_reset else ''},"

    def _job(self, attempt: int) -> str:
        return f"job {printable(self.jobs[attempt])}"

    def _name(self, node: int) -> str:
        tree = self.basis.tree
        name = printable(tree.names[node])
        if tree.kinds[node] == "account":
            return f"account {name}"
        return f"user {name} of {printable(tree.names[tree.parents[node]])}"

    def _at(self, at: int) -> str:
        return _shown(at, self.basis.zone)


def _shown(at: int, zone: ZoneInfo) -> str:
    return f"{datetime.fromtimestamp(at, zone):%Y-%m-%d %H:%M:%S}"


def _hours(usage: float) -> str:
    return f"{usage / 3600:,.2f}"


def _row(*cells: str) -> str:
    first, *others = (f"{cell:<{_WIDTHS[0]}}" if not k else f"{cell:>{_WIDTHS[k]}}"
                      for k, cell in enumerate(cells))  # fmt: skip
    return "  ".join([first, *others]).rstrip()
