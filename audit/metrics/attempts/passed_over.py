"""Passed over: attempts that lose to later ones with requests at least as large (SPEC §11).

Under first come, first served with backfilling, a later job that requests at least as much rarely
starts first. No model is used. An attempt j that waited more than 60 s makes a *pair* with each
started attempt k that

- arrived after j and before j started, and is of another user and another entity;
- was in the same partition and qos (in any, for the kinds partition and qos);
- has at least j's size, walltime and GPUs.

Of more than 2,000, every s-th counts. j *lost* the pair if k started more than 60 s before j. Its
*passed time* is from the first such start to its own. A lost pair does not count if, at k's start,
an accepted limit of users or accounts forbade j (``limited``), or j was held, or marked
unstartable. Kept pairs of a j that is ever marked do not count either. Whether an entity could be
named without lost pairs of jobs whose last reason in the log is a hold is asked of those that would
be named: the log does not say since when such a reason applied.

Pairs weigh 1 / (|A| · |B|): A and B are the started attempts of j's burst and of k's
(``metrics.bursts``) that are of one class, that is partition, qos, ⌈log2 size⌉ and walltime class;
for the kinds partition and qos, the last two. Of an entity e, with weighted sums,

    share    = Σ lost_j / Σ pairs_j
    expected = Σ pairs_j · rate(class of j) / Σ pairs_j
    rate(c)  = (lost_c + 5 r) / (pairs_c + 5)     over c's attempts of all other entities, whose
                                                  rate over all classes is r

Whether share exceeds expected is tested by a jackknife over up to 20 equal stretches of local days
(``metrics.significance``), with Benjamini-Hochberg within each kind. A user or account is *named*
unless a condition of ``registry.passed.PassedWhy`` fails; the first that fails is kept. Partitions
and qos are never named: of one that would be, the entity is given whose later jobs passed it most.

*Left out*: before the test, attempts that waited more than a day, of users with a joint release.
Those named are tested again without starts after an own end, and at begin times. *Own control*: the
same share with k of the same user, where nothing is left out. *Usage* counts with configured
shares, or if the order follows it (``passed.usage``): then pairs in which j's user had used more do
not count, and entities that used more than 1.5 shares are not named. Nor are those left whom an
order by usage of another half-life, or of accounts, explains; or those who are not named where a k
must also request as much memory as a j that requests much, that is twice the log's per size.

Conventions: a walltime that is unknown or unlimited exceeds all others, an unknown amount is 0. An
attempt without a user, or in a reservation, makes no pair. An account with one user, whose
attempts are all in it, has that user's result. Attempts that arrived after the period change
nothing, so that its figures stay.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from audit.metrics.attempts.parts import SummaryRow, row
from audit.metrics.attempts.population import day_number, ended, in_period, occupied, only
from audit.metrics.pairs import (
    KINDS,
    NOTHING_BARRED,
    NOTHING_UNSTARTED,
    PLACES,
    Barred,
    Kind,
    Log,
    Unstarted,
    paired,
)
from audit.metrics.passed.tested import JudgedEntity, PairsOfKind
from audit.metrics.passed.usage import (
    OrderByUsage,
    Shares,
    explained,
    follows_usage,
    orders,
    without_more,
)
from audit.model import Period, Pool
from audit.registry.passed import PassedWhy

LONG_S: Final = 86_400
"""Attempts of a user with a joint release are left out if they waited longer."""
LEAST_OWN: Final = 5
"""Fewest attempts with pairs of the same user for the own control."""
MUCH_OWN: Final = 0.5
MUCH_UNSTARTABLE: Final = 0.5
MANY_SHARES: Final = 1.5
EQUAL: Final[Shares] = {}


class PassedEvidence(NamedTuple):
    """The holds that a log shows, beside the times of its attempts."""

    unstarted: Unstarted = NOTHING_UNSTARTED
    limited: Collection[str] = ()  # users with an accepted limit
    released: Collection[str] = ()  # users with a joint release
    triggered: pl.Series | None = None
    """Of each row of ``described``, whether it started after an own end or at a begin time."""
    own_ends: Collection[str] = ()  # users most of whose jobs start after an own end
    chained: pl.Series | None = None  # of each row of ``described``, whether a chain held it
    by_reasons: Barred = NOTHING_BARRED
    """The holds of ``unstarted``, and whole waits of attempts whose last reason is a hold."""


NO_EVIDENCE: Final = PassedEvidence()

_OF_PERIOD: Final = (
    *("standing", *KINDS, "size", "occupancy_s", "wait_s"),
    *("submit_time", "arrival_time", "start_time", "end_time"),
)
"""The columns of attempts that are read beside their pairs."""

RESULT_SCHEMA: Final = pl.Schema(
    {
        "entity_kind": pl.String,
        "entity": pl.String,
        "attempts": pl.Int64,  # with pairs
        "days": pl.Int64,  # on which these arrived
        "pairs": pl.Float64,
        "lost": pl.Float64,
        "passed_share": pl.Float64,
        "passed_expected": pl.Float64,
        "passed_s": pl.Int64,
        "lower": pl.Float64,  # one-sided 95 % bound of share − expected; null: not tested
        "p": pl.Float64,
        "named": pl.Boolean,  # null: not testable
        "why": pl.String,  # PassedWhy; null: it is named
        "own_share": pl.Float64,  # of the own control; null: not needed, or too few jobs
        "usage_multiple": pl.Float64,  # of users and accounts; null: usage does not count
        "ahead": pl.String,  # of a place that would be named: whose later jobs passed it most
        "ahead_pairs": pl.Float64,  # with jobs of that place
        "ahead_lost": pl.Float64,
        "passed_jobs": pl.Int64,  # attempts with passed time
        "passed_median_s": pl.Int64,  # of these; null: none
        "held_share": pl.Float64,
        # of users: attempts with pairs that a chain, release, begin time or own end held ÷ all;
        # of accounts: passed time of users of whom a quarter was ÷ all
    }
)
HELD_USER: Final = 0.25
"""From this ``held_share`` on, a user's holds are a known cause of its passed time."""
HELD_ACCOUNT: Final = 0.5
"""The same of an account."""


def of_period(
    described: pl.DataFrame,
    pool: Pool,
    period: Period,
    zone: ZoneInfo,
    shares: Shares = EQUAL,
    evidence: PassedEvidence = NO_EVIDENCE,
) -> pl.DataFrame:
    """Return who was passed over in a period.

    Args:
        described: *all* attempts of a pool, or those ``population.around`` the period with a lead
            of ``pairs.EARLIER_S``; columns of ``model.DESCRIBED``.
        zone: the cluster's, for days.
        shares: the site's; a kind without any has equal ones.
        evidence: rows of ``described``.

    Returns:
        Columns of ``RESULT_SCHEMA``, by kind in the order of ``KINDS``, and by entity.
    """
    among = _Among(
        Log.of(described, pool, period, zone),
        described.select("wait_s", day=day_number(zone)),
        in_period(described.select(_OF_PERIOD).with_row_index("row"), period),
        shares,
        evidence,
    )
    made = among.results()
    rows = [(kind, *one.shown) for kind in KINDS for one in made.get(kind, ())]
    return pl.DataFrame(rows, RESULT_SCHEMA, orient="row")


class _Among(NamedTuple):
    """The attempts among which entities are judged."""

    log: Log
    described: pl.DataFrame  # wait_s and day of each row
    period: pl.DataFrame  # ``_OF_PERIOD`` of the attempts of the period, with their rows
    shares: Shares
    evidence: PassedEvidence

    def results(self) -> dict[Kind, list[JudgedEntity]]:
        """Return the results of all kinds."""
        subjects = ended(self.period)
        held_users: dict[str, float] = {}
        found: dict[Kind, list[JudgedEntity]] = {}
        follows = False
        for kind in KINDS:
            counted = subjects.group_by(kind).len().drop_nulls().sort(kind)
            counts: dict[str, int] = dict(counted.iter_rows())
            if kind not in self.log.kinds:
                if kind not in PLACES:
                    found[kind] = [JudgedEntity(name, why=PassedWhy.NO_OTHERS) for name in counts]
                continue
            decides = kind == "user" or follows
            usage = self.log.usage(self.shares.get("user", {})) if decides else None
            attempts, between = paired(self.log, kind, usage, self.evidence.unstarted)
            del usage  # it and attempts are as large as the log
            attempts = self._with_days(attempts)
            if kind == "user":
                kept = self._without_releases(attempts)
                follows = any(self.shares.values()) or follows_usage(kept)
            if follows:
                attempts = without_more(attempts)
            kept = self._without_releases(attempts)
            with_pairs = dict(attempts.group_by("entity").len().iter_rows())
            of_kind = PairsOfKind(with_pairs, counts, float(subjects["wait_s"].sum()))
            first = of_kind.judged(kept)
            if kind in PLACES:
                found[kind] = [_stated(one, between) for one in first]
                continue
            held = self._held(kind, attempts, held_users)
            held_users = held if kind == "user" else held_users
            del attempts
            silent = [one.entity for one in first if one.why is None]
            left = self._without_triggered(kept, silent)
            judged = first if left.height == kept.height else of_kind.judged(left)
            by_own_ends = self._by_own_ends(kept)
            del kept, left
            judged = self._checked(kind, judged, by_own_ends, follows=follows)
            named = [one.entity for one in judged if one.why is None]
            why = self._excused(kind, of_kind, named, silent, follows=follows)
            found[kind] = [
                one._replace(
                    why=why.get(one.entity, one.why),
                    held_share=held.get(one.entity),
                )
                for one in judged
            ]
        if "account" in found:
            found["account"] = _like_their_users(found["account"], found["user"], subjects)
        return found

    def _with_days(self, attempts: pl.DataFrame) -> pl.DataFrame:
        return attempts.hstack(self.described[attempts["row"]])

    def _without_releases(self, attempts: pl.DataFrame) -> pl.DataFrame:
        released = pl.col("user").is_in(list(self.evidence.released))
        return only(attempts, ~(released & (pl.col("wait_s") > LONG_S)))

    def _checked(
        self,
        kind: Kind,
        judged: Sequence[JudgedEntity],
        by_own_ends: Collection[str],
        *,
        follows: bool,
    ) -> list[JudgedEntity]:
        """Return users or accounts, with what keeps those named from being named but usage."""
        own = self._own_shares(kind, [one.entity for one in judged if one.why is None])
        multiples = self._multiples(kind) if follows else {}
        marked_much = self.unstartable_share() > MUCH_UNSTARTABLE
        made = []
        for one in judged:
            own_share, multiple = own.get(one.entity), multiples.get(one.entity)
            why = one.why
            if why is None and one.entity in by_own_ends:
                why = PassedWhy.OWN_ENDS
            elif why is None and own_share is not None and own_share > MUCH_OWN * (one.share or 0):
                why = PassedWhy.OWN_ORDER
            elif why is None and (multiple or 0.0) > MANY_SHARES:
                why = PassedWhy.USAGE
            if marked_much and (why is None or why.tested):
                why = PassedWhy.UNSTARTABLE
            made.append(one._replace(why=why, own_share=own_share, usage_multiple=multiple))
        return made

    def _excused(
        self,
        kind: Kind,
        of_kind: PairsOfKind,
        named: Sequence[str],
        silent: Sequence[str],
        *,
        follows: bool,
    ) -> dict[str, PassedWhy]:
        """Return why some of those named are not: last reasons, their memory, or recent usage."""
        if not named:
            return {}
        again = partial(self._not_again, kind, of_kind, named, silent, follows=follows)
        why: dict[str, PassedWhy] = {}
        if len(self.evidence.by_reasons.row):
            unstarted = self.evidence.unstarted._replace(held=self.evidence.by_reasons)
            why |= dict.fromkeys(again(self.log, unstarted), PassedWhy.REASON)
        if self.log.memory.any():
            by_memory = again(self.log.with_memory, self.evidence.unstarted)
            why |= dict.fromkeys(by_memory, PassedWhy.MEMORY)
        by_usage = self._by_usage(kind, of_kind, named, silent)
        return why | dict.fromkeys(by_usage, PassedWhy.USAGE_ORDER)

    def _not_again(
        self,
        kind: Kind,
        of_kind: PairsOfKind,
        named: Sequence[str],
        silent: Sequence[str],
        log: Log,
        unstarted: Unstarted,
        *,
        follows: bool,
    ) -> set[str]:
        """Return those named who are not among the pairs of another log, or with other holds."""
        usage = self.log.usage(self.shares.get("user", {})) if follows else None
        attempts = paired(log, kind, usage, unstarted).attempts
        del usage
        attempts = self._with_days(without_more(attempts) if follows else attempts)
        left = self._without_triggered(self._without_releases(attempts), silent)
        return set(named) - {one.entity for one in of_kind.judged(left) if one.why is None}

    def _by_usage(
        self, kind: Kind, of_kind: PairsOfKind, named: Sequence[str], silent: Sequence[str]
    ) -> set[str]:
        """Return those named whom an order by usage explains (``passed.usage``)."""

        def under(order: OrderByUsage) -> pl.DataFrame:
            usage = order.usage(self.log, self.shares)
            attempts = paired(self.log, kind, usage, self.evidence.unstarted).attempts
            return self._without_triggered(
                self._without_releases(self._with_days(attempts)), silent
            )

        by_order = [partial(under, order) for order in orders(self.log)]
        return explained(named, by_order, of_kind.judged)

    def _without_triggered(self, attempts: pl.DataFrame, silent: Sequence[str]) -> pl.DataFrame:
        """Leave out starts after own ends, and at begin times, of these entities."""
        if self.evidence.triggered is None:
            return attempts
        triggered = self.evidence.triggered.gather(attempts["row"]).fill_null(value=False)
        return only(attempts, ~(triggered & attempts["entity"].is_in(silent)))

    def _by_own_ends(self, attempts: pl.DataFrame) -> set[str]:
        """Return the entities of whose passed time half is that of users held by own ends."""
        held = list(set(self.evidence.own_ends) - set(self.evidence.limited))
        of_held = pl.col("passed_s").filter(pl.col("user").is_in(held)).sum()
        sums = attempts.group_by("entity").agg(of_held.alias("held"), pl.col("passed_s").sum())
        most = sums.filter(pl.col("held") > 0, 2 * pl.col("held") >= pl.col("passed_s"))
        return set(most["entity"])

    def _held(
        self, kind: Kind, attempts: pl.DataFrame, users: Mapping[str, float]
    ) -> dict[str, float]:
        """Return the held share of each entity with pairs; ``users``: that of the users."""
        if kind == "account":
            much = [name for name, share in users.items() if share >= HELD_USER]
            of_held = pl.col("passed_s").filter(pl.col("user").is_in(much)).sum()
            sums = attempts.group_by("entity").agg(of_held / pl.col("passed_s").sum())
            return dict(sums.fill_nan(0.0).iter_rows())
        released = pl.col("user").is_in(list(self.evidence.released)) & (pl.col("wait_s") > LONG_S)
        held = attempts.select(released).to_series()
        for rows in (self.evidence.chained, self.evidence.triggered):
            if rows is not None:
                held |= rows.gather(attempts["row"]).fill_null(value=False)
        of_entity = attempts.select("entity", held=held).group_by("entity")
        return dict(of_entity.agg(pl.col("held").mean()).iter_rows())

    def _own_shares(self, kind: Kind, names: Sequence[str]) -> dict[str, float]:
        """Return how often own later jobs started first; of those with enough such jobs."""
        if not names:
            return {}
        pairs = paired(self.log, kind, own=True).attempts
        sums = (
            pairs.filter(pl.col("entity").is_in(list(names)))
            .group_by("entity")
            .agg(pl.col("lost").sum() / pl.col("pairs").sum(), number=pl.len())
        )
        enough = sums.filter(pl.col("number") >= LEAST_OWN).select("entity", "lost")
        return dict(enough.iter_rows())

    def _multiples(self, kind: Kind) -> dict[str, float]:
        """Return the usage of each user or account, as a multiple of its share.

        Usage and shares are parts of those of all that used the pool. Equal shares are of users.
        """
        area = pl.col("size").fill_null(0).cast(pl.Float64) * pl.col("occupancy_s")
        of_kind = self.period.filter(occupied()).group_by(kind)
        by_entity = of_kind.agg(area.sum(), users=pl.col("user").n_unique()).drop_nulls().sort(kind)
        of_site = self.shares.get(kind, {})
        used = {name: (area, users) for name, area, users in by_entity.iter_rows() if area > 0}
        share = {
            name: of_site.get(name, 0.0) if of_site else users for name, (_, users) in used.items()
        }
        all_used, all_shares = sum(area for area, _ in used.values()), sum(share.values())
        return {
            name: area / all_used / (share[name] / all_shares)
            for name, (area, _) in used.items()
            if share[name] > 0
        }

    def unstartable_share(self) -> float:
        """Return the waiting of marked attempts ÷ all waiting."""
        marked = self.evidence.unstarted.marked_from
        if marked is None:
            return 0.0
        subjects = ended(self.period)
        of_marked = marked.gather(subjects["row"]).is_not_null()
        waited = float(subjects["wait_s"].sum())
        return float(subjects["wait_s"].filter(of_marked).sum()) / waited if waited else 0.0


def _stated(one: JudgedEntity, between: pl.DataFrame) -> JudgedEntity:
    """Return a partition or QOS; of one that would be named, with the one that passed it most."""
    if one.why is not None:
        return one
    ahead = between.filter(entity=one.entity).sort("lost", "rival", descending=[True, False])
    return one._replace(why=PassedWhy.ORDER, ahead=ahead.select("rival", "pairs", "lost").row(0))


def _like_their_users(
    accounts: Sequence[JudgedEntity], users: Sequence[JudgedEntity], subjects: pl.DataFrame
) -> list[JudgedEntity]:
    """Give accounts that have all jobs of their single user the result of that user."""
    one_account = pl.col("account").n_unique().over("user") == 1
    sole = dict(
        subjects.drop_nulls("user")
        .select("account", "user", one_account=one_account)
        .drop_nulls()
        .group_by("account")
        .agg(pl.col("user", "one_account").first(), number=pl.col("user").n_unique())
        .filter("one_account", pl.col("number") == 1)
        .select("account", "user")
        .iter_rows()
    )
    told = {one.entity: one for one in users}
    return [
        told[sole[one.entity]]._replace(entity=one.entity) if one.entity in sole else one
        for one in accounts
    ]


def beside(entities: pl.DataFrame, results: pl.DataFrame) -> pl.DataFrame:
    """Fill the columns passed_* of users or accounts.

    Args:
        entities: columns of ``users.ENTITY_SCHEMA``.
        results: what ``of_period`` gave.
    """
    some = pl.col("attempts") > 0
    figures = results.select(
        *("entity_kind", "entity", "passed_share", "passed_expected"),
        passed_s=pl.when(some).then("passed_s"),
        passed_named="named",
        passed_why="why",
    )
    return (
        entities.drop(figures.columns[2:])
        .join(figures, on=["entity_kind", "entity"], how="left", maintain_order="left")
        .select(entities.columns)
    )


def rows(results: pl.DataFrame) -> list[SummaryRow]:
    """Return the rows of the summary about what ``of_period`` gave."""
    made: list[SummaryRow] = []
    for one in results.iter_rows(named=True):
        of = (one["entity_kind"], one["entity"])
        count, share, expected = one["attempts"], one["passed_share"], one["passed_expected"]
        if one["entity_kind"] not in PLACES and (count or one["why"] != PassedWhy.NO_OTHERS):
            named = None if one["named"] is None else float(one["named"])
            made.append(row("passed_named", *of, named, count))
        if count:
            made += [
                row("passed_share", *of, share, count),
                row("passed_expected", *of, expected, count),
                row("passed_s", *of, float(one["passed_s"]), count),
            ]
        if one["lower"] is not None:
            bound = (one["lower"], None)
            made.append(row("passed_excess", *of, share - expected, count, bound))
        if one["usage_multiple"] is not None and one["why"] in (None, PassedWhy.USAGE):
            made.append(row("usage_multiple", *of, one["usage_multiple"], count))
    return made + _orders(results)


def _orders(results: pl.DataFrame) -> list[SummaryRow]:
    """Return how often the later jobs of partitions and QOS that are ahead started first."""
    ahead = (
        results.drop_nulls("ahead")
        .group_by("entity_kind", "ahead", maintain_order=True)
        .agg(pl.col("ahead_pairs", "ahead_lost", "attempts").sum())
    )
    return [
        row("passed_ahead", kind, name, lost / pairs, count)
        for kind, name, pairs, lost, count in ahead.iter_rows()
    ]
