"""Users and accounts: their waits and usage, the rows of their tables, and page one's lists."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import polars as pl

from audit.metrics.attempts.population import only
from audit.metrics.quantiles import MEDIAN
from audit.metrics.verdict import Decision, KnownCause
from audit.registry.passed import PassedWhy
from audit.report.contents import PoolPart
from audit.report.figures import Parts, by_value
from audit.report.sections.causes.record import RuleTime, Shares
from audit.report.sections.causes.shown import KEYS, last_reason, like, rules
from audit.report.sections.waits.section import quantile
from audit.report.sections.who.record import (
    Entities,
    Entity,
    Missed,
    OvertakenRow,
    People,
    Person,
    UsedLess,
)
from audit.report.source import ReportSection, SectionSource

_PLAIN: Final = len(Entity.__annotations__) - 1


def read(source: SectionSource) -> dict[str, tuple[Entities, Entities]]:
    """Return the users and the accounts of each pool."""
    found = {}
    for pool, rows in source.by_pool("who/entities").items():
        of = by_value(rows, "entity_kind", ("user", "account"))
        users, accounts = (_entities(kind, of[kind], source.parts[pool]) for kind in of)
        found[pool] = users, accounts
    return found


def _entities(kind: str, rows: pl.DataFrame, parts: Parts) -> Entities:

    def entity(row: tuple[Any, ...]) -> Entity:
        fst = row[_PLAIN:]
        missed = Missed(*fst) if fst[0] else None
        return replace(Entity(*row[:_PLAIN]), missed=missed)

    spread = next((part for part in parts.get("entity_kind", ()) if part.label == kind), None)
    return Entities(kind, tuple(map(entity, rows.iter_rows())), spread.figures if spread else ())


def owners(pool: PoolPart) -> tuple[Entities, ...]:
    """Return users, and accounts unless each account has the jobs of one user."""

    def work(of: Entities) -> list[tuple[int, int, float]]:
        return sorted((row.attempts, row.tuwt_s, row.tusa) for row in of.rows)

    users, accounts = pool.users, pool.accounts
    same = work(users) == work(accounts)
    return (users,) if same or not accounts.named else (users, accounts)


def most(rows: Iterable[Entity], key: Callable[[Entity], float], number: int) -> tuple[Entity, ...]:
    """Return at most ``number`` rows with a positive ``key``, the largest first."""
    return tuple(row for row in sorted(rows, key=lambda row: -key(row)) if key(row) > 0)[:number]


def with_fair_starts(of: Entities) -> list[Entity]:
    """Return the named entities with a fair start time."""
    return [row for row in of.named if row.missed is not None]


def net(row: Entity) -> float:
    """Return how much later than fair the attempts of an entity started in total, s."""
    return row.missed.net_s if row.missed else 0.0


def gave_up(of: Entities) -> tuple[Entity, ...]:
    """Return those with attempts that never started, the longest total wait first."""

    def order(row: Entity) -> tuple[int, int, str]:
        return -(row.gave_up_wait_s or 0), -row.never_started, row.name or ""

    return tuple(sorted((row for row in of.rows if row.never_started), key=order))


LISTED: Final = 0.01
"""Share of W from which an entity or rule is listed."""
ROWS: Final = 3
FEWEST: Final = 20
"""Jobs with similar ones that a comparison needs."""
TIMES: Final = 2
LONGER_S: Final = 600
LARGE: Final = 0.25
USED: Final = (0.8, 0.05)
"""An account is listed if it used at most this part of its share, and this many points less."""


class Context(NamedTuple):
    """Data for the list of users, beside the attempts."""

    capacity: int
    whole: Shares
    waited_s: float  # W of the period
    rules: Mapping[str, RuleTime]  # by text
    holds: Mapping[tuple[str, str], str]  # kind of a release by entity kind and entity
    overtaken: Sequence[Mapping[str, Any]]  # rows of ``overtaken_result``
    base_waited_s: float
    decision: Decision
    tested: int
    shares: Mapping[str, tuple[float, float]]  # of accounts: part of all usage, and share

    def listed(self) -> Iterator[Mapping[str, Any]]:
        """Yield those overtaken more often than others whose passed time is listed."""
        for row in self.overtaken:
            least = LISTED * self.base_waited_s
            if row["named"] and self.base_waited_s and row["passed_s"] >= least:
                yield row


def of_people(jobs: pl.DataFrame, context: Context) -> People | None:
    """Return who waits; None if no user is known or nothing waited."""
    kind = _kind(context)
    known = only(jobs, pl.col("user").is_not_null())
    if known.is_empty() or not known["wait_s"].sum():
        return None
    area = (pl.col("size") * pl.col("occupancy_s")).sum()
    total, cpu = float(jobs["wait_s"].sum()), float(jobs.select(area).item() or 0)
    by_user = (
        known.group_by("user")
        .agg(pl.col("wait_s").sum(), area=area)
        .sort("wait_s", "user", descending=[True, False])
    )
    half, waiting, used = _half(by_user, total, cpu)
    of = only(jobs.select(kind, *_READ), pl.col(kind).is_not_null())
    who = _Who(of, kind, total, context)
    overtaken = who.overtaken()
    most = who.most()
    named = {row.name for row in overtaken} | {row.name for row in most}
    compared, longer = who.longer()
    fresh = [name for name in longer if name not in named]
    return People(
        kind,
        by_user.height,
        half,
        waiting,
        used,
        overtaken,
        context.tested,
        most,
        compared,
        len(longer),
        len(longer) - len(fresh),
        tuple(who.person(name) for name in fresh[:ROWS]),
        tuple(used_less_of(jobs, total, context)),
        len(context.shares),
        who.person(longer[0]) if longer else None,
        who.tested(),
        who.known_causes(),
    )


def _kind(context: Context) -> str:
    """Return the kind that is listed: that of the verdict, or else the one that was overtaken."""
    kinds = [
        kind
        for kind in (context.decision.kind, "user", "account")
        if any(row["entity_kind"] == kind for row in context.listed())
    ]
    return next(iter(kinds), context.decision.kind)


def _half(by_user: pl.DataFrame, total: float, cpu: float) -> tuple[int, float, float]:
    """Return the number of users whose share is closest to half, with both their shares."""
    waits = (by_user["wait_s"].cum_sum() / total).to_list()
    number = min(range(len(waits)), key=lambda k: (abs(waits[k] - 0.5), k)) + 1
    used = float(by_user["area"].head(number).sum()) / cpu if cpu else 0.0
    return number, waits[number - 1], used


_READ: Final = (
    *("wait_s", "similar_wait_s", "size", "main_rule", "cause_rule_s", "cause_rule_free_s"),
    *("reason", *KEYS),
)


def _last_reason(mine: pl.DataFrame) -> str | None:
    """Return the hold or limit recorded last of half of the waiting without a cause."""
    reason = last_reason(mine)
    held = mine.filter(pl.col("reason").eq_missing(reason))["none"].sum()
    return reason if 2 * held >= mine["none"].sum() else None


class _Who(NamedTuple):
    """The attempts of users, or of accounts."""

    jobs: pl.DataFrame
    kind: str
    total: float
    context: Context

    def person(self, name: str) -> Person:
        """Return the row of an entity."""
        mine = self.jobs.filter(pl.col(self.kind) == name)
        alike = mine.drop_nulls("similar_wait_s")
        some = alike if comparable(alike.height, mine.height) else None
        waits = (mine if some is None else some)["wait_s"]
        own_rules = rules(mine, self.context.rules)
        waited = float(mine["wait_s"].sum())
        wide = mine.filter(pl.col("size") > LARGE * self.context.capacity)["wait_s"].sum()
        return Person(
            self.kind,
            name,
            mine.height,
            waited / self.total,
            quantile(waits, MEDIAN),
            None if some is None else some.height,
            None if some is None else quantile(some["similar_wait_s"], MEDIAN),
            like(self.context.whole, mine),
            own_rules,
            2 * float(wide) >= waited,
            self.context.holds.get((self.kind, name)),
            bool(own_rules) and own_rules[0].scope == f"jobs of {self.kind} {name}",
            any(
                (row["entity_kind"], row["entity"]) == (self.kind, name)
                and row["cause"] in (KnownCause.PRIORITY, KnownCause.USAGE)
                for row in self.context.overtaken
            ),
            _last_reason(mine),
        )

    def tested(self) -> int:
        """Return how many entities of the kind *passed over* tested."""
        of_kind = [row for row in self.context.overtaken if row["entity_kind"] == self.kind]
        return sum(row["why"] is None or PassedWhy(row["why"]).tested for row in of_kind)

    def known_causes(self) -> tuple[bool, ...]:
        """Return whether there is a known cause, of each user and account that is named."""
        return tuple(row["cause"] is not None for row in self.context.overtaken if row["named"])

    def most(self) -> tuple[Person, ...]:
        """Return the three with most waiting, from the least share on that is listed."""
        inside = pl.col("wait_s") - pl.col("outside")
        sums = self.jobs.group_by(self.kind).agg(pl.col("wait_s").sum(), w=inside.sum())
        least = sums.filter(pl.col("w") >= LISTED * self.context.waited_s, pl.col("wait_s") > 0)
        first = least.sort("wait_s", self.kind, descending=[True, False])[self.kind].head(ROWS)
        return tuple(self.person(name) for name in first)

    def longer(self) -> tuple[int, list[str]]:
        """Return how many are compared, and those who wait longer, by excess.

        Accounts are compared by the similar jobs of other users.
        """
        alike = pl.col("similar_wait_s").is_not_null()
        excess = (pl.col("wait_s") - pl.col("similar_wait_s")).clip(lower_bound=0)
        middle = self.jobs.group_by(self.kind).agg(
            number=alike.sum(),
            jobs=pl.len(),
            excess=excess.sum(),
            waits=pl.col("wait_s").filter(alike),
            similar=pl.col("similar_wait_s").drop_nulls(),
        )
        compared, found = 0, []
        middle = middle.sort(self.kind)
        rows = middle.drop("waits", "similar").iter_rows()
        for (name, number, jobs, more), *both in zip(
            rows, middle["waits"], middle["similar"], strict=True
        ):
            if not comparable(number, jobs):
                continue
            compared += 1
            mine, theirs = (quantile(of, MEDIAN) for of in both)
            long = mine >= TIMES * theirs and mine - theirs >= LONGER_S
            if long and more >= LISTED * self.context.waited_s:
                found.append((-more, name))
        return compared, [name for _, name in sorted(found)]

    def overtaken(self) -> tuple[OvertakenRow, ...]:
        """Return those that are overtaken more often than others, most passed time first."""
        made = []
        w = self.context.base_waited_s
        for row in self.context.listed():
            if row["entity_kind"] != self.kind:
                continue
            mine = self.jobs.filter(pl.col(self.kind) == row["entity"])
            waited = float(mine["wait_s"].sum())
            later = float(mine["later"].sum()) / waited if waited else 0.0
            made.append(
                OvertakenRow(
                    self.kind,
                    row["entity"],
                    row["passed_jobs"],
                    row["jobs"] or row["attempts"],
                    row["passed_s"] / w,
                    row["passed_median_s"] or 0,
                    row["cause"],
                    row["usage_multiple"],
                    later,
                )
            )
        return tuple(made)


def comparable(alike: int, jobs: int) -> bool:
    """Whether enough jobs have similar ones."""
    return alike >= FEWEST and 2 * alike >= jobs


def used_less_of(jobs: pl.DataFrame, total: float, context: Context) -> Iterable[UsedLess]:
    """Yield the accounts that used much less than their share, the furthest first."""
    part, points = USED
    below = sorted(
        (used - share, name)
        for name, (used, share) in context.shares.items()
        if used <= part * share and share - used >= points
    )
    who = _Who(jobs.drop_nulls("account"), "account", total, context)
    for _, name in below[:ROWS]:
        mine = who.jobs.filter(account=name)
        rest = jobs.filter(pl.col("account").ne_missing(name))
        if mine.is_empty() or rest.is_empty():
            continue
        yield UsedLess(
            name,
            mine.height,
            float(mine["wait_s"].sum()) / total,
            quantile(mine["wait_s"], MEDIAN),
            quantile(rest["wait_s"], MEDIAN),
            *context.shares[name],
            who.person(name),
        )


SECTION: Final = ReportSection("who", filters=(owners, gave_up))
