"""What is found about users, accounts, partitions and QOS whose jobs later ones passed over."""

from audit.registry.causes import CAUSES
from audit.report.record.page import Contents, Who
from audit.report.record.pool import Entities, Entity, PassedOver, PoolPart
from audit.report.text import wording

PLACES = ("partition", "qos")
"""Kinds that sites often give a low priority on purpose."""
HAD_USED_MORE = "had used more than most that passed it, as fairshare intends"
LEAST_TESTED = 5
"""With fewer entities tested, the log cannot tell whether the order was fair."""


def named(contents: Contents) -> tuple[Who, ...]:
    """Return the users and accounts that the report names, as many as its tables show."""
    found = [
        Who(one.kind, one.name)
        for pool in contents.pools
        for one in pool.passed[: contents.options.rows]
        if one.kind in ("user", "account")
    ]
    return tuple(dict.fromkeys(found))


def unfair(pool: PoolPart) -> tuple[PassedOver, ...]:
    """Return those passed over, except where fairshare intends it; none if few are tested."""
    if sum(pool.tested.values()) < LEAST_TESTED:
        return ()
    return tuple(one for one in pool.passed if not one.intended)


def entity(of: Entities, name: str) -> Entity | None:
    """Return what is known of the user or account of that name."""
    return next((row for row in of.rows if row.name == name), None)


def what_happened(one: PassedOver) -> str:
    """Return how often an entity was passed over, its usage, and what its jobs waited for."""
    told = how_passed(one)
    shares = [(one.figure(cause.share).value or 0.0, cause) for cause in CAUSES]
    share_, cause = max(shares, key=lambda pair: pair[0])
    if share_:
        told += f"; {wording.rough_percent(share_)} of its waiting time passed {cause.meanwhile}"
    return told


def how_passed(one: PassedOver) -> str:
    """Return how often an entity was passed over, and how much it used."""
    told = (
        f"{wording.rough(one.figure('passed_share'))} of later jobs that requested at least as "
        f"much started first ({wording.rough(one.figure('passed_expected'))} expected)"
    )
    multiple, of_site = one.usage
    if multiple is not None:
        share = "its share" if of_site else "an equal share"
        used = f"used {wording.two_digits(multiple)} times {share}"
        told += f"; {used}, as fairshare intends" if one.used_much else f"; {used}"
    if one.explained:
        told += (
            f"; {HAD_USED_MORE} ({wording.rough(one.figure('passed_expected_by_usage'))} expected)"
        )
    bursts = one.figure("passed_only_in_bursts").value
    if bursts is None:
        told += "; too few jobs outside bursts of its own to tell whether only then"
    elif bursts:
        told += "; only during bursts of its own"
    return told


def subject_of(kind: str, name: str | None, *, start: bool = True) -> str:
    """Return a user, account, partition or QOS in words; ``start``: at the start of a sentence."""
    word = "QOS" if kind == "qos" else wording.first_upper(kind) if start else kind
    return f"{word} {wording.name(name, 30)}"
