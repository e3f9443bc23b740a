"""The causes of waiting as on page one, from the attempts of one pool: grouped by who can act.

The account's causes (``registry.causes``) are divided by the kind of hold, and inferred holds count
as not known.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from audit.metrics.attempts.reasons import reason_of
from audit.registry.reasons import INFERRED_HOLDS
from audit.report.sections.causes.record import RuleTime, Shares, Where
from audit.rule_text import amount
from audit.words import is_amount

SITE: Final = "The site"
OTHERS: Final = "Other users"
USER: Final = "The user"
UNKNOWN: Final = "Not known"
GROUPS: Final = (SITE, OTHERS, USER, UNKNOWN)

_OF_SITE: Final = ("licence", "administrator")
_OF_USER: Final = ("begin", "dependency", "hold", "array")


@dataclass(frozen=True, slots=True)
class ShownCause:
    """A cause on page one."""

    key: str
    group: str
    label: str
    brief: str
    """In lists, as in "31 % …"."""
    column: str
    """Of an attempt, s."""
    held_by: tuple[str, ...] = ()
    """Of ``cause_held_s``: the kinds of holds; empty: all other ones too."""
    in_part: str = ""
    """The label in a part of the workload, which hides what was free; empty: the same."""
    said: str = ""
    """The cause in sentences and lists, of which it is a part; empty: itself."""


# fmt: off
CAUSES: Final = (
    ShownCause("rule", SITE, "A limit or rule", "a limit or rule", "cause_rule_s"),
    ShownCause("held_site", SITE, "Held by the site (licence, administrator)",
               "held by the site", "cause_held_s", _OF_SITE),
    ShownCause("nodes", SITE, "Enough free, but scattered", "enough free, but scattered",
               "cause_nodes_s", in_part="Too little on single nodes"),
    ShownCause("down", SITE, "Machine down", "machine down", "cause_unavailable_s"),
    ShownCause("cycle", SITE, "Next look of the scheduler", "next look of the scheduler",
               "cause_cycle_s"),
    ShownCause("earlier", OTHERS, "Machine full of earlier jobs", "machine full of earlier jobs",
               "cause_earlier_s", said="full"),
    ShownCause("later", OTHERS, "Machine full of later jobs", "machine full of later jobs",
               "cause_later_s", said="full"),
    ShownCause("claimed", OTHERS, "A job ahead was about to start",
               "a job ahead was about to start", "cause_claimed_s"),
    ShownCause("kept", OTHERS, "Kept free for a bigger job ahead",
               "kept free for a bigger job ahead", "cause_kept_s",
               in_part="Kept for a bigger job ahead"),
    ShownCause("own", USER, "The user’s own jobs", "the user’s own jobs", "cause_own_s"),
    ShownCause("held_user", USER,
               "Held by the user (begin time, dependency, array throttle, hold)",
               "held by the user", "cause_held_s", _OF_USER),
    ShownCause("outside", UNKNOWN, "Before the log begins", "before the log begins",
               "cause_outside_s"),
    ShownCause("held_unknown", UNKNOWN, "Held, by whom unknown (inferred)",
               "held, by whom unknown", "cause_held_s", tuple(INFERRED_HOLDS)),
    ShownCause("none", UNKNOWN, "Enough {free}, {reason}", "no reason in the log",
               "cause_unexplained_s", in_part="{reason}"),
)
# fmt: on
BY_KEY: Final = {cause.key: cause for cause in CAUSES}
KEYS: Final = tuple(BY_KEY)
NOT_LOGGED: Final = "no reason logged"
NOT_CERTAIN: Final = "reason not certain"
"""Of holds and limits that were recorded without their times."""
BEHIND: Final = ("earlier", "later", "claimed", "kept")
FULL: Final = "full"
"""A full machine: of earlier or later jobs."""
FULL_OF: Final = ("earlier", "later")
NOT_KNOWN: Final = ("outside", "held_unknown", "none")


def together(shares: Mapping[str, float]) -> dict[str, float]:
    """Return shares as sentences and lists have them, the largest first: a full machine is one."""
    made: dict[str, float] = {}
    for cause in CAUSES:
        key = cause.said or cause.key
        made[key] = made.get(key, 0.0) + shares.get(cause.key, 0.0)
    return dict(sorted(made.items(), key=lambda item: (-item[1], item[0])))


def shown_causes() -> list[pl.Expr]:
    """Return the seconds of each cause of an attempt, a column each."""
    kinds = {kind for cause in CAUSES for kind in cause.held_by}
    made = []
    for cause in CAUSES:
        seconds = pl.col(cause.column).fill_null(0.0)
        if cause.held_by:
            mine = pl.col("held_by").is_in(list(cause.held_by))
            if cause.key == "held_unknown":  # a kind that no one knows
                mine |= pl.col("held_by").is_null() | ~pl.col("held_by").is_in(sorted(kinds))
            seconds = pl.when(mine.fill_null(value=False)).then(seconds).otherwise(0.0)
        made.append(seconds.alias(cause.key))
    return made


_WALLTIMES: Final = (3_600, 4 * 3_600, 12 * 3_600, 24 * 3_600)
_SIZES: Final = (16, 64)
CLASS_SHARE: Final = 0.46
CLASS_JOBS: Final = 0.25
CLASS_LESS: Final = 0.10
LEAST_CYCLE: Final = 0.05


def by_queue(jobs: pl.DataFrame) -> Iterator[tuple[str, int]]:
    """Yield each queue with its number of jobs, the most first."""
    counts = jobs.group_by("partition").len().drop_nulls().sort("len", "partition")
    yield from reversed(list(counts.iter_rows()))


def with_causes(jobs: pl.DataFrame) -> pl.DataFrame:
    """Add a column of seconds for each cause of page one."""
    return jobs.with_columns(shown_causes())


def shares(jobs: pl.DataFrame) -> dict[str, float]:
    """Return the share of each cause of all waiting; rare looks of the scheduler have no reason.

    They add up to 1, unless nothing waited.
    """
    made = _shares(jobs)
    return made if made["cycle"] >= LEAST_CYCLE else _without_cycle(made)


def like(whole: Shares, jobs: pl.DataFrame) -> dict[str, float]:
    """Return the shares of some jobs, in which the same causes are listed as of all."""
    made = _shares(jobs)
    return made if whole["cycle"] else _without_cycle(made)


def _shares(jobs: pl.DataFrame) -> dict[str, float]:
    sums = jobs.select(pl.col(KEYS).sum()).row(0, named=True)
    total = sum(sums.values())
    return {key: value / total if total else 0.0 for key, value in sums.items()}


def _without_cycle(shares: dict[str, float]) -> dict[str, float]:
    return shares | {"none": shares["none"] + shares["cycle"], "cycle": 0.0}


def named_rule(row: Mapping[str, Any]) -> RuleTime:
    """Return a row of the view ``rules`` with its name on page one, without its waiting."""
    scope, unit = row["scope"] or "", row["unit"] or ""
    whole = row["source"] == "inferred" and not scope and row["per"] is None and is_amount(unit)
    return RuleTime(
        row["name"] or row["rule"],
        row["kind"],
        row["source"],
        scope=scope,
        unit=unit,
        whole=amount(row["level"], unit) if whole else "",
        several=row["kind"] == "limit" and row["per"] != "user",
    )


def rules(jobs: pl.DataFrame, named: Mapping[str, RuleTime]) -> tuple[RuleTime, ...]:
    """Return the waiting under the rules of each name, most first; ``named`` is by text."""
    used = jobs.select("main_rule", "cause_rule_s", "cause_rule_free_s").drop_nulls("main_rule")
    sums = used.group_by("main_rule").agg(pl.col("cause_rule_s", "cause_rule_free_s").sum())
    found: dict[str, RuleTime] = {}
    for rule, waiting_s, free_s in sums.sort("main_rule").iter_rows():
        of_text = named.get(rule, RuleTime(rule, "limit", "configured"))
        one = found.get(of_text.name, of_text)
        found[one.name] = one._replace(
            waiting_s=one.waiting_s + waiting_s, free_s=one.free_s + free_s
        )
    return tuple(
        sorted(
            (one for one in found.values() if one.waiting_s),
            key=lambda one: (-one.waiting_s, one.name),
        )
    )


def lacked(jobs: pl.DataFrame) -> tuple[str, float] | None:
    """Return what single nodes lacked longest, with its part of the waiting for scattered room."""
    columns = [
        name for name in jobs.columns if name.startswith("cause_nodes_") and name.endswith("_s")
    ]
    sums = {
        name.removeprefix("cause_nodes_").removesuffix("_s"): float(jobs[name].sum() or 0)
        for name in columns
        if name != "cause_nodes_s"
    }
    total = sum(sums.values())
    if not total:
        return None
    key = max(sums, key=lambda key: (sums[key], key))
    return key, sums[key] / total


def last_reason(jobs: pl.DataFrame) -> str | None:
    """Return the hold or limit that was recorded last of jobs with most waiting without a cause.

    A scheduler records the last such reason of a job, but not how long it applied.
    """
    known = jobs.select("reason", "none").drop_nulls("reason")
    sums = known.group_by("reason").agg(pl.col("none").sum())
    held = [(none, reason) for reason, none in sums.rows() if none and reason_of(reason).blocks]
    return max(held)[1] if held else None


def where(jobs: pl.DataFrame) -> Where | None:
    """Return the class of jobs that has much of the waiting without a reason, and few of the jobs.

    Of several, the one whose shares differ most. A reason that was recorded last comes first, and
    may be that of many jobs.
    """
    found = [one for one in _classes(jobs) if one is not None]
    return max(found, key=lambda one: (one.kind == "reason", one.share - one.jobs), default=None)


def _classes(jobs: pl.DataFrame) -> Iterator[Where | None]:
    jobs = jobs.select("none", "reason", "wait_s", "walltime_s", "partition", "size", "user")
    unknown = float(jobs["none"].sum())
    other = float(jobs["wait_s"].sum()) - unknown
    if not unknown:
        return

    def judged(kind: str, value: str | int, chosen: pl.DataFrame) -> Where | None:
        mine = float(chosen["none"].sum())
        rest = float(chosen["wait_s"].sum()) - mine
        share, part = mine / unknown, chosen.height / jobs.height
        apart = share - (rest / other if other else 0.0)
        many = part > CLASS_JOBS and kind != "reason"
        if share < CLASS_SHARE or many or apart < CLASS_LESS:
            return None
        return Where(kind, value, share, part)

    if (reason := last_reason(jobs)) is not None:
        yield judged("reason", reason, jobs.filter(reason=reason))
    for seconds in _WALLTIMES:
        yield judged("walltime", seconds, jobs.filter(pl.col("walltime_s") > seconds))
    for name, _ in by_queue(jobs):
        yield judged("queue", name, jobs.filter(partition=name))
    for size in _SIZES:
        yield judged("size", size, jobs.filter(pl.col("size") > size))
    users = jobs.drop_nulls("user").group_by("user").agg(pl.col("none").sum())
    if users.height:
        name = users.sort("none", "user", descending=[True, False])["user"][0]
        yield judged("user", name, jobs.filter(user=name))
