"""What Slurm's accounts, users, QOS and partitions limit, as limits of the scheduling model.

Which limit of Slurm is which:

- ``GrpJobs``, ``GrpTRES``: of an association, its account and all accounts below it, or its user,
  together; of a QOS, all its jobs together,
- ``MaxJobs``: of an association, each user in it; accounts and users below inherit it unless they
  have one of their own. Of a QOS ``MaxJobsPU`` and ``MaxJobsPA``: each user, each account,
- ``MaxTRES``: each single job, inherited likewise; of a QOS ``MaxTRESPU``, ``MaxTRESPA`` as above,
- ``MaxWall``, and ``MaxTime`` of a partition: none that asks for more is ever started.

Where a QOS has a limit, that of the association is not heeded for its jobs, which count
nevertheless; those of a partition's own QOS hold for all its jobs. Limits on resources that no log
tells of, and on sums over time (``GrpTRESMins``, …), are left out and named.

Source: Slurm's "Resource Limits" (resource_limits.html), 22.05 to 25.05; slurmctld's acct_policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from audit.formats.slurm.fields import tres_amounts
from audit.formats.slurm.sacctmgr import ROOT, Association, Qos
from audit.formats.slurm.scontrol import Partition
from audit.formats.slurm.slurm_conf import seconds
from audit.model import Limit, Per, Scope

MIB: Final = 1 << 20
_RESOURCES: Final = {
    "cpu": ("cpus", 1),
    "node": ("nodes", 1),
    "gres/gpu": ("gpus", 1),
    "mem": ("mem_bytes", MIB),
}
_OVERRIDING: Final = {
    "grpjobs": ("grpjobs",),
    "grptres": ("grptres",),
    "maxjobs": ("maxjobspu", "maxjobspa"),
    "maxtres": ("maxtres",),
    "maxwall": ("maxwall",),
}
"""Which limits of a QOS go before one of an association."""
_PER: Final[Mapping[str, Per | None]] = {
    "grpjobs": None,
    "grptres": None,
    "maxjobs": "user",
    "maxjobspu": "user",
    "maxjobspa": "account",
    "maxtres": "job",
    "maxtrespu": "user",
    "maxtrespa": "account",
}


class Told(NamedTuple):
    """What the files say of limits."""

    limits: tuple[Limit, ...]
    left_out: tuple[str, ...]
    """Limits on what is not modelled, by name."""


class _One(NamedTuple):
    """One limit on one thing."""

    most: int
    resource: str | None


def told(
    associations: Sequence[Association], qos: Sequence[Qos], partitions: Sequence[Partition]
) -> Told:
    """The limits of associations, QOS and partitions; what is not given is empty."""
    left_out: set[str] = set()
    found = [
        *_of_associations(associations, qos, left_out),
        *_of_qualities(qos, left_out),
        *_of_partitions(partitions, qos, left_out),
    ]
    return Told(tuple(dict.fromkeys(found)), tuple(sorted(left_out)))


def _of_associations(
    rows: Sequence[Association], qos: Sequence[Qos], left_out: set[str]
) -> Iterator[Limit]:
    accounts = {row.account: row for row in rows if row.user is None}
    for name in ("grpjobs", "grptres"):
        for row in rows:
            for one in _ones(name, row.limits.get(name, ""), left_out):
                yield _limit(name, one, _scope(row, accounts), _overriding(name, one, qos))
    for name in ("maxjobs", "maxtres", "maxwall"):
        for account, row in accounts.items():
            members = [each for each in rows if each.user and each.account == account]
            inherited = _inherited(row, name, accounts)
            whom = members if any(each.limits.get(name) for each in members) else [row]
            for each in whom:
                text = each.limits.get(name) or inherited
                own = _about(user=each.user, account=account, partition=each.partition)
                for one in _ones(name, text, left_out):
                    yield _limit(name, one, own, _overriding(name, one, qos))


def _scope(row: Association, accounts: Mapping[str, Association]) -> Scope:
    """Whom an association's ``Grp`` limits are about: of an account, also all below it."""
    if row.user is not None:
        return _about(user=row.user, account=row.account, partition=row.partition)
    if row.account == ROOT:
        return Scope()
    below = tuple(sorted(name for name in accounts if row.account in _way(name, accounts)))
    return Scope(account=below or (row.account,))


def _about(**names: str | None) -> Scope:
    """A scope with one name of each kind; None: it does not matter."""
    return Scope().but(**{kind: (name,) for kind, name in names.items() if name})


def _way(account: str, accounts: Mapping[str, Association]) -> Iterator[str]:
    """An account and those above it."""
    above: str | None = account
    for _ in range(len(accounts) + 1):
        if above is None or above not in accounts:
            return
        yield above
        above = accounts[above].parent


def _inherited(row: Association, name: str, accounts: Mapping[str, Association]) -> str:
    """The limit of the nearest account that has one, from the account's own up."""
    texts = (accounts[account].limits.get(name, "") for account in _way(row.account, accounts))
    return next(filter(None, texts), "")


def _overriding(name: str, one: _One, qos: Sequence[Qos]) -> tuple[str, ...]:
    """The QOS whose own limit on the same thing goes before one of an association."""
    return tuple(
        quality.name
        for quality in qos
        if any(
            theirs.resource == one.resource
            for other in _OVERRIDING[name]
            for theirs in _ones(other, quality.limits.get(other, ""), set())
        )
    )


def _of_qualities(qos: Sequence[Qos], left_out: set[str]) -> Iterator[Limit]:
    for quality in qos:
        yield from _of_quality(quality, _about(qos=quality.name), left_out)


def _of_quality(quality: Qos, scope: Scope, left_out: set[str]) -> Iterator[Limit]:
    for name in (*_PER, "maxwall"):
        if name != "maxjobs":
            for one in _ones(name, quality.limits.get(name, ""), left_out):
                yield _limit(name, one, scope, ())


def _of_partitions(
    partitions: Sequence[Partition], qos: Sequence[Qos], left_out: set[str]
) -> Iterator[Limit]:
    by_name = {quality.name: quality for quality in qos}
    for partition in partitions:
        for one in _ones("maxwall", partition.max_time, left_out):
            yield _limit("maxwall", one, _about(partition=partition.name), ())
        if partition.qos in by_name:
            yield from _of_quality(
                by_name[partition.qos], _about(partition=partition.name), left_out
            )


def _ones(name: str, text: str, left_out: set[str]) -> Iterator[_One]:
    """What a limit says, resource by resource; nothing where it is not set."""
    if name == "maxwall":
        time = seconds(text) if text else None
        if time is not None and 0 < time < 1 << 40:
            yield _One(int(time), None)
    elif name.startswith(("maxtres", "grptres")):
        for tracked, amount in tres_amounts(text).items():
            if tracked in _RESOURCES:
                resource, unit = _RESOURCES[tracked]
                yield _One(int(amount * unit), resource)
            else:
                left_out.add(f"{name} of {tracked}")
    elif text.isdecimal():
        yield _One(int(text), None)


def _limit(name: str, one: _One, scope: Scope, exempt: tuple[str, ...]) -> Limit:
    if name == "maxwall":
        held = scope.but(walltime_above_s=one.most)
        return Limit(most=0, exempt_qos=exempt, **held.conditions)
    return Limit(
        most=one.most,
        resource=one.resource,
        per=_PER[name],
        exempt_qos=exempt,
        **scope.conditions,
    )
