"""Limits of Slurm's accounts, users, QOS and partitions, for the scheduling model.

- ``GrpJobs``, ``GrpTRES`` limit an association (a user, or an account and all below it) as a
  whole, or all jobs of a QOS.
- ``MaxJobs`` limits each user of an association; accounts and users below inherit it. ``MaxJobsPU``
  and ``MaxJobsPA`` of a QOS limit each user, each account.
- ``MaxTRES`` limits each job, inherited likewise; ``MaxTRESPU``, ``MaxTRESPA`` as above.
- ``MaxWall``, and ``MaxTime`` of a partition: jobs that request more never start.

The limit of a QOS replaces that of the association for its jobs, which still count there; the
limits of a partition's QOS apply to all its jobs. Limits on resources that are in no log, and on
sums over time (``GrpTRESMins``, …), are left out and listed.

Source: Slurm's "Resource Limits" (resource_limits.html), 22.05 to 25.05; slurmctld's acct_policy.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from audit.formats.slurm.fields import tres_amounts
from audit.formats.slurm.sacctmgr import ROOT, Association, Qos
from audit.formats.slurm.scontrol import TRACKED, Partition
from audit.formats.slurm.slurm_conf import seconds
from audit.model import Limit, Per, Scope

_OVERRIDING: Final = {
    "grpjobs": ("grpjobs",),
    "grptres": ("grptres",),
    "maxjobs": ("maxjobspu", "maxjobspa"),
    "maxtres": ("maxtres",),
    "maxwall": ("maxwall",),
}
"""The limits of a QOS that override each limit of an association."""
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


class SlurmLimits(NamedTuple):
    """The limits of all files."""

    limits: tuple[Limit, ...]
    left_out: tuple[str, ...]  # names of limits that are not modelled


_Amount = tuple[int, str | None]  # the limit, and its resource; None: jobs, or seconds


def limits_of(
    associations: Sequence[Association], qos: Sequence[Qos], partitions: Sequence[Partition]
) -> SlurmLimits:
    """Return the limits of associations, QOS and partitions."""
    left_out: set[str] = set()
    found = [
        *_of_associations(associations, qos, left_out),
        *(
            limit
            for quality in qos
            for limit in _of_quality(quality, _about(qos=quality.name), left_out)
        ),
        *_of_partitions(partitions, qos, left_out),
    ]
    return SlurmLimits(tuple(dict.fromkeys(found)), tuple(sorted(left_out)))


def _of_associations(
    rows: Sequence[Association], qos: Sequence[Qos], left_out: set[str]
) -> Iterator[Limit]:
    accounts = {row.account: row for row in rows if row.user is None}
    for name in ("grpjobs", "grptres"):
        for row in rows:
            for one in _amounts(name, row.limits.get(name, ""), left_out):
                yield _limit(name, one, _scope(row, accounts), _overriding(name, one[1], qos))
    for name in ("maxjobs", "maxtres", "maxwall"):
        for account, row in accounts.items():
            members = [each for each in rows if each.user and each.account == account]
            inherited = _inherited(row, name, accounts)
            whom = members if any(each.limits.get(name) for each in members) else [row]
            for each in whom:
                text = each.limits.get(name) or inherited
                own = _about(user=each.user, account=account, partition=each.partition)
                for one in _amounts(name, text, left_out):
                    yield _limit(name, one, own, _overriding(name, one[1], qos))


def _scope(row: Association, accounts: Mapping[str, Association]) -> Scope:
    if row.user is not None:
        return _about(user=row.user, account=row.account, partition=row.partition)
    if row.account == ROOT:
        return Scope()
    below = tuple(sorted(name for name in accounts if row.account in _way(name, accounts)))
    return Scope(account=below or (row.account,))


def _about(**names: str | None) -> Scope:
    return Scope().but(**{kind: (name,) for kind, name in names.items() if name})


def _way(account: str, accounts: Mapping[str, Association]) -> Iterator[str]:
    above: str | None = account
    for _ in range(len(accounts) + 1):
        if above is None or above not in accounts:
            return
        yield above
        above = accounts[above].parent


def _inherited(row: Association, name: str, accounts: Mapping[str, Association]) -> str:
    texts = (accounts[account].limits.get(name, "") for account in _way(row.account, accounts))
    return next(filter(None, texts), "")


def _overriding(name: str, resource: str | None, qos: Sequence[Qos]) -> tuple[str, ...]:
    return tuple(
        quality.name
        for quality in qos
        if any(
            resource == theirs
            for other in _OVERRIDING[name]
            for _, theirs in _amounts(other, quality.limits.get(other, ""), set())
        )
    )


def _of_quality(quality: Qos, scope: Scope, left_out: set[str]) -> Iterator[Limit]:
    for name in (*_PER, "maxwall"):
        if name != "maxjobs":
            for one in _amounts(name, quality.limits.get(name, ""), left_out):
                yield _limit(name, one, scope)


def _of_partitions(
    partitions: Sequence[Partition], qos: Sequence[Qos], left_out: set[str]
) -> Iterator[Limit]:
    by_name = {quality.name: quality for quality in qos}
    for partition in partitions:
        for one in _amounts("maxwall", partition.max_time, left_out):
            yield _limit("maxwall", one, _about(partition=partition.name))
        if partition.qos in by_name:
            yield from _of_quality(
                by_name[partition.qos], _about(partition=partition.name), left_out
            )


def _amounts(name: str, text: str, left_out: set[str]) -> Iterator[_Amount]:
    """Yield the amounts of a limit by resource; none if it is not set."""
    if name == "maxwall":
        time = seconds(text) if text else None
        if time is not None and 0 < time < 1 << 40:
            yield int(time), None
    elif name.startswith(("maxtres", "grptres")):
        for tracked, amount in tres_amounts(text).items():
            if tracked in TRACKED:
                resource, unit = TRACKED[tracked]
                yield int(amount * unit), resource
            else:
                left_out.add(f"{name} of {tracked}")
    elif text.isdecimal():
        yield int(text), None


def _limit(name: str, amount: _Amount, scope: Scope, exempt: tuple[str, ...] = ()) -> Limit:
    most, resource = amount
    if name == "maxwall":
        own = scope.but(walltime_above_s=most)
        return Limit(most=0, exempt_qos=exempt, **own.conditions)
    return Limit(
        most=most, resource=resource, per=_PER[name], exempt_qos=exempt, **scope.conditions
    )
