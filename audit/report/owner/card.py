"""The page of a user as JSON, for portals such as Open OnDemand."""

from dataclasses import dataclass

from audit.json_answers import Instant, JsonAnswer
from audit.report.contents import Who
from audit.report.owner import text
from audit.report.owner.record import OwnerContents, OwnerPart
from audit.report.part import meanwhile


@dataclass(frozen=True, kw_only=True)
class CauseCard:
    """A cause of the waiting in published weeks."""

    cause: str
    meanwhile: str  # completes: waiting time passed …
    share: float
    share_of_all: float  # the same of all users' waiting


@dataclass(frozen=True, kw_only=True)
class PoolCard:
    """The user's jobs in one pool, compared with all jobs of the same size and time limit."""

    pool: str
    verdict: str
    jobs: int
    attempts: int
    never_started: int
    wait_median_s: float | None
    similar_median_s: float | None  # of such jobs; null: too few to compare
    wait_mean_s: float | None
    ratio: float | None  # of the waits to those of such jobs
    ratio_lower: float | None  # of its 95 % interval
    ratio_upper: float | None
    excess_s: float | None  # total of the differences
    causes: tuple[CauseCard, ...]
    advice: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class StartCard:
    """The predicted start of a pending job."""

    job_id: str
    made_at: Instant
    p10: Instant
    p50: Instant
    p90: Instant


@dataclass(frozen=True, kw_only=True)
class Card(JsonAnswer):
    """The waits of one user in a period: ``user-NAME.json`` beside the page."""

    cluster: str
    user: str
    page: str  # name of its file, in the same folder
    from_time: Instant
    to_time: Instant
    records: str  # whether records are complete
    pools: tuple[PoolCard, ...]
    pending: tuple[StartCard, ...]  # empty unless pages show predicted starts


def card(contents: OwnerContents) -> Card:
    """Return the card of a user, which has nothing that the page lacks."""
    return Card(
        cluster=contents.cluster,
        user=contents.who.name,
        page=contents.who.file,
        from_time=contents.span.from_time,
        to_time=contents.span.to_time,
        records=f"Records {contents.records}",
        pools=tuple(_pool(of, contents.who) for of in contents.parts),
        pending=tuple(StartCard(**one._asdict()) for one in contents.starts),
    )


def _pool(of: OwnerPart, who: Who) -> PoolCard:
    return PoolCard(
        pool=of.pool.name,
        verdict=text.verdict(of, who),
        jobs=of.jobs,
        attempts=of.attempts,
        never_started=of.never_started,
        wait_median_s=None if of.typical is None else of.typical.own,
        similar_median_s=None if of.typical is None else of.typical.similar,
        wait_mean_s=of.wait_mean.value,
        ratio=of.ratio.value,
        ratio_lower=of.ratio.lower,
        ratio_upper=of.ratio.upper,
        excess_s=of.excess.value,
        causes=tuple(
            CauseCard(
                cause=part.cause.key,
                meanwhile=meanwhile(part.cause, part=of.pool.part),
                share=part.share,
                share_of_all=part.of_all,
            )
            for part in of.parts
        ),
        advice=tuple(text.way(way, of, text.possessive(who)) for way in of.ways),
    )
