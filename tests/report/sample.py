"""Records of reports made by hand, for tests that look at what a page says."""

from dataclasses import replace
from typing import Any, TypeVar

from audit.registry.causes import CAUSES
from audit.report.contents import Contents, Options, PoolPart, Provenance, Span
from audit.report.figures import Breakdown, Figure
from audit.report.first_page.compose import compose
from audit.report.first_page.page import FirstPage
from audit.report.sections.definitions.section import definitions
from audit.report.sections.fair_starts.record import FairStart, Fidelity, RuleFit, StatusCount
from audit.report.sections.machine.record import MachineOverTime
from audit.report.sections.passed_over import OrderTest, PassedOver
from audit.report.sections.records.record import Coverage, Gap, Input, Refusal, RefusedLine
from audit.report.sections.registry import SECTIONS
from audit.report.sections.resources import Resources, ResourceUse, ResourceUser
from audit.report.sections.usage.record import (
    Charge,
    DecayedUsage,
    Occupied,
    PenaltyChoice,
    PenaltyOf,
    PenaltyRow,
    UsageLine,
    UsageOf,
    UsageRow,
    UsageSeries,
)
from audit.report.sections.waits.record import Waits, Walltimes
from audit.report.sections.who.record import Entities, Entity, Missed
from tests.report.first_page.sample import facts, verdict

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "{{ contents.cluster }}{% raw %}",
    "\"'><b>&amp;",
    "evil\u202egnp.exe",
    "two\nlines\tand\ra bell\a",
    "=cmd|' /C calc'!A0",
    "long" * 125,
    "",
    "=?utf-8?q?=0d=0aBcc:_x@x?=",
    "ünï–çødé 数据",
)
"""Names that a log may hold, and that must stay text wherever they come out."""


Thing = TypeVar("Thing")

_NAMES = {of.record: of.name for of in SECTIONS if of.record is not None}


def sections(*records: object) -> dict[str, object]:
    """Records by the names of their sections; those of others have nothing to say."""
    nothing = {name: record() for record, name in _NAMES.items()}
    return {**nothing, **{_NAMES[type(record)]: record for record in records}}


def having(part: PoolPart, *records: object, **changes: Any) -> PoolPart:
    """Return a pool with other records of sections."""
    of = {**part.sections, **{_NAMES[type(record)]: record for record in records}}
    return replace(part, sections=of, **changes)


def present(value: Thing | None) -> Thing:
    """Return a value that is not None."""
    assert value is not None
    return value


def figure(
    metric: str,
    value: float | None,
    lower: float | None = None,
    upper: float | None = None,
    unit: str = "1",
    attempts: int | None = 1_000,
) -> Figure:
    return Figure(metric, value, lower, upper, unit, attempts)


def entity(name: str | None, net: float, attempts: int = 100, never: int = 0) -> Entity:
    return Entity(
        name=name,
        jobs=attempts,
        attempts=attempts,
        never_started=never,
        gave_up_wait_s=never * 600,
        tuwt_s=attempts * 300,
        tusa=attempts * 3_600.0,
        nuwt=300 / 3_600,
        re_unfairness_positive=max(net, 0.0),
        re_unfairness_net=net,
        missed=missed(net, attempts),
    )


def missed(net: float, attempts: int = 100) -> Missed:
    """Attempts with a net miss of ``net`` s: a minute early each, the rest late."""
    late = round(net) + 60 * attempts
    return Missed(attempts, late, late // 2, attempts // 4, 60.0, late // 3, late // 6)


def entities(kind: str, rows: tuple[Entity, ...]) -> Entities:
    spread = tuple(
        figure(metric, value, unit="s/(resource·s)")
        for metric, value in (
            ("uwt", 3.5),
            ("nuwt_median", 0.5),
            ("nuwt_q1", 0.25),
            ("nuwt_q3", 1.5),
            ("nuwt_pooled", 0.75),
            ("nuwt_deviation", 12.5),
            ("nuwt_f", 156.25),
            ("nuwt_entities", 4),
            ("nuwt_single_job", 2),
            ("nuwt_no_usage", 1),
        )
    )
    return Entities(kind, rows, spread)


def fair_start(scale: float = 1.0, attempts: int = 1_000) -> tuple[Figure, ...]:
    """Figures of fair start times; delays are half an hour times ``scale``."""
    made = []
    for of, size in (("delivered", scale), ("strict", scale * 5), ("relaxed", scale / 2)):
        mean = 1_800 * size
        share, lower, upper = (min(of_all * size, 1.0) for of_all in (0.3, 0.2, 0.4))
        made += [
            figure(f"miss_{of}_mean", mean, mean / 2, mean * 2, "s", attempts),
            figure(f"missed_{of}_share", share, lower, upper, attempts=attempts),
            figure(f"missed_{of}_mean", 6_000.0, unit="s", attempts=attempts),
            figure(f"preferred_{of}_share", 0.1, attempts=attempts),
            figure(f"preference_{of}_mean", 60.0, unit="s", attempts=attempts),
        ]
    return (
        *made,
        figure("miss_delivered_share", 0.15, 0.12, 0.2, attempts=attempts),
        figure("miss_cautious_share", 0.1, 0.08, 0.15, attempts=attempts),
        figure("fair_slowdown_mean", 2.5, 2.0, 3.0, attempts=attempts),
        figure("over_fair_slowdown_share", 0.3, 0.2, 0.4, attempts=attempts),
    )


def fidelity(agreement: float | None = 0.85) -> Fidelity:
    """A log of which one rule has this agreement, another none."""
    told = (
        ("replayed", 1_000.0, "attempts"),
        ("start_error_median", 300.0, "s"),
        ("start_error_p90", 7_200.0, "s"),
        ("wait_correlation", 0.5, "1"),
        ("mean_wait_error", 900.0, "s"),
        ("miss_strict_share_beyond_median", 0.9, "1"),
        ("miss_strict_share_beyond_p90", 0.6, "1"),
        ("miss_relaxed_share_beyond_median", 1.0, "1"),
        ("miss_relaxed_share_beyond_p90", 0.8, "1"),
    )
    figures = tuple(figure(name, value, unit=unit) for name, value, unit in told)
    rules = (RuleFit("fcfs", "easy", True, agreement), RuleFit("sjf", "easy", False, 0.0))
    return Fidelity("fcfs", "easy", figures, "fcfs", rules, rules[0])


def fair_starts(**statuses: int) -> FairStart:
    """Statuses as given, else nearly all final; two partitions."""
    counts = statuses or {"final": 1_000, "over_capacity": 20, "blocked": 5}
    return FairStart(
        tuple(StatusCount(status, number) for status, number in counts.items()),
        (Breakdown("long", fair_start(1.5, 400)), Breakdown("debug", fair_start(0.1, 20))),
        fidelity(),
        60,
    )


NO_FAIR_STARTS = FairStart((), (), None, None)
"""Of a pool whose fair start times were not computed."""


def without_fair_starts(part: PoolPart) -> PoolPart:
    """The pool as if its fair start times had not been computed."""
    told = {made.metric for made in fair_start()}
    figures = tuple(made for made in part.figures if made.metric not in told)
    return having(part, NO_FAIR_STARTS, figures=figures, widths=())


def width(label: str, attempts: int) -> Breakdown:
    return Breakdown(
        label,
        (
            *fair_start(int(label.strip(">").split("-")[0]) / 2, attempts),
            figure("re_unfairness", 3_600.0, 1_800.0, 7_200.0, attempts=attempts),
            figure("re_unfairness_share", 0.25, 0.125, 0.5, attempts=attempts),
            figure("re_unfairness_net", -360.0, -720.0, 72.0, attempts=attempts),
            figure("re_treated_unfairly_share", 0.5, attempts=attempts),
            figure("wait_mean", 600.0, 300.0, 1_200.0, "s", attempts),
            figure("wait_median", 0.0, 0.0, 60.0, "s", attempts),
            figure("wait_p90", 7_200.0, unit="s", attempts=attempts),
        ),
    )


def pool(name: str = "batch", users: tuple[str | None, ...] = ("anna", "ben", None)) -> PoolPart:
    rows = tuple(
        entity(user, net, attempts=200 - 18 * number, never=number)
        for number, (user, net) in enumerate(
            zip(users, (7_200.0 - 3_600.0 * at for at in range(len(users))), strict=True)
        )
    )
    return PoolPart(
        name=name,
        resource="cpus",
        capacity=128,
        figures=(
            figure("attempts", 1_000.0, unit="attempts"),
            figure("users", 20.0, unit="users"),
            figure("never_started", 3.0, unit="attempts"),
            figure("gave_up_wait_s", 1_800.0, unit="s"),
            figure("wait_mean", 600.0, 300.0, 1_200.0, "s"),
            figure("wait_median", 0.0, unit="s"),
            figure("wait_p90", 7_200.0, unit="s"),
            figure("wait_p99", 86_400.0, unit="s"),
            figure("re_unfairness", 3_600.0, 1_800.0, 7_200.0, "resource·s/attempt"),
            figure("re_unfairness_share", 0.25, 0.125, 0.5),
            figure("re_treated_unfairly_share", 0.4),
            figure("re_conservation", 1e-16),
            figure("utilization", 0.7, 0.65, 0.75),
            figure("loss_of_capacity", 0.1, 0.05, 0.15),
            figure("over_capacity_time", 0.0),
            figure("peak_in_use", 128.0, unit="resource"),
            *fair_start(),
        ),
        widths=(width("1", 900), width("3-4", 95), width(">128", 5)),
        hours=tuple(
            Breakdown(
                str(hour),
                (
                    figure("wait_mean", 60.0 * hour, unit="s", attempts=40),
                    figure("miss_strict_mean", 30.0 * hour, unit="s", attempts=40),
                ),
            )
            for hour in range(168)
        ),
        days=tuple(
            Breakdown(
                f"2026-10-{day:02}",
                (figure("utilization", day / 31), figure("queued_mean", 4.0 * day)),
            )
            for day in range(1, 32)
        ),
        users=entities("user", rows),
        accounts=entities("account", (entity("physics", 3_600.0), entity("maths", -3_600.0))),
        sections=sections(Resources(()), fair_starts()),
    )


def resources(*users: str | None) -> tuple[ResourceUse, ...]:
    """Two resources of a pool; the last user takes most of the GPUs."""
    cpus = tuple(
        ResourceUser(user, 50.0 / at, 0.5 / at, 0.5 / at, 100)
        for at, user in enumerate(users, start=1)
    )
    gpus = ResourceUser(users[-1], 9.0, 0.9, 0.01, 7)
    return (
        ResourceUse("cpus", 0.7, 100.0, cpus, 4),
        ResourceUse("gpus", 0.25, 10.0, (gpus,), 0),
        ResourceUse("mem_bytes", 0.0, 0.0, (), 0),
    )


def usage(
    accounts: tuple[str | None, ...] = ("physics", "maths"), *, targets: bool = True
) -> DecayedUsage:
    """October's usage of accounts, which halves from each to the next; targets are a fifth each."""
    share = 0.2 if targets else None
    rows = tuple(
        UsageRow(account, share, 0.5 / 2**at, 0.6 / 2**at, at + 1 if targets else None)
        for at, account in enumerate(accounts)
    )
    days = tuple(f"2026-10-{day:02}" for day in range(1, 32))
    lines = tuple(UsageLine(row.name, 0, row.share, (row.mean,) * 31) for row in rows)
    named = len([name for name in accounts if name is not None])
    return DecayedUsage(
        method="windows:cpu",
        settings={
            "method": "windows",
            "penalty": "cpu",
            "interval_days": 7,
            "depth": 7,
            "decay": 0.7,
            "alignment": "trailing",
            "half_life_days": 7.0,
        },
        as_of=1793487600,
        days=31,
        accounts=UsageOf(
            kind="account",
            named=named,
            targets=named if targets else 0,
            rows=rows,
            left_out=3,
            above=rows[0] if targets else None,
            below=rows[-1] if targets else None,
        ),
        users=UsageOf("user", 1, 0, (UsageRow("anna", None, 1.0, 1.0, 1),), 0, None, None),
        series=UsageSeries(
            "account", days, weekly=False, lines=(*lines, UsageLine(None, 3, None, (0.05,) * 31))
        ),
    )


def contents(*pools: PoolPart, cluster: str = "demo") -> Contents:
    return Contents(
        cluster=cluster,
        span=Span(
            "2026-10", 1790805600, 1793487600, False, "Europe/Berlin", 1790000000, 1793487000
        ),
        pools=pools or (pool(),),
        usages=(usage(),),
        coverage=Coverage(31, 2, 0, 2, gaps=(Gap("2026-10-03", "2026-10-04", 2),)),
        notes=("pool size: 128 CPUs (the header's MaxProcs)",),
        warnings=(),
        inputs=(Input("demo.swf", "swf", "ab" * 32, 123_456, 1_010, 2, 1),),
        superseded=4,
        refusals=(Refusal("17 fields instead of 18", 2, (RefusedLine("demo.swf", 7, "1 2 3"),)),),
        definitions=definitions(),
        provenance=Provenance("0.1.0", "c" * 64, "d" * 64, "run-1"),
        options=Options(),
        verdicts=tuple(verdict(part.name) for part in pools or (pool(),)),
        first=tuple(_first(part) for part in pools or (pool(),) if part.attempts),
    )


def _first(part: PoolPart) -> FirstPage:
    made = facts(pool=part.name, jobs=part.attempts, part=bool(part.part))
    return compose(made, "Europe/Berlin")


def empty() -> Contents:
    """A report on a period in which nothing ended."""
    nothing = having(
        pool(),
        NO_FAIR_STARTS,
        figures=(figure("attempts", 0.0, unit="attempts"), figure("wait_mean", None, unit="s")),
        widths=(),
        hours=(),
        users=Entities("user", (), ()),
        accounts=Entities("account", (), ()),
    )
    return contents(nothing)


def choice(names: tuple[str | None, ...] = ("anna", "ben")) -> PenaltyChoice:
    rows = tuple(PenaltyRow(name, (0.1 * at, 0.5, 0.6), 2) for at, name in enumerate(names))
    return PenaltyChoice(
        ("cpu", "max", "root"),
        PenaltyOf("account", (), 1, (0.0, 0.0, 0.0)),
        PenaltyOf("user", rows, 3, (0.0, 0.4, 0.5)),
    )


def of_resources(names: tuple[str | None, ...] = ("physics", "maths")) -> Occupied:
    lines = tuple(UsageLine(name, 0, 0.25, (0.4, 0.1)) for name in names)
    others = UsageLine(None, 3, None, (0.2, 0.8))
    return Occupied("account", ("cpus", "gpus"), (*lines, others))


def known(*, inferred: bool = False) -> tuple[Charge, ...]:
    return (
        Charge("batch", "cpus", False, True, 10, 0, 0, None),
        Charge("batch", "gpus", inferred, False, 10, 0, 0, None),
    )


def passed(name: str, share: float = 0.4, kind: str = "user") -> PassedOver:
    """An entity with 100 jobs, passed over for 100 h, that waited mostly for later arrivals."""
    return PassedOver(
        kind,
        name,
        (
            figure("passed_share", share, attempts=100),
            figure("passed_expected", 0.1),
            figure("passed_excess", share - 0.1, share - 0.2, share),
            figure("passed_s", 360_000.0, unit="s"),
            figure("cause_later_share", 0.6),
        ),
    )


_SHARES = {"unexplained": 0.5, "claimed": 0.2, "own": 0.1, "earlier": 0.1, "later": 0.1}


def waiting(part: PoolPart, name: str = "anna") -> PoolPart:
    """The same pool with all that pictures show: causes, who is passed over, work, walltimes."""

    def why(of: Breakdown, tilt: float) -> Breakdown:
        tilted = {"unexplained": -tilt, "later": tilt}
        figures = tuple(
            figure(cause.share, _SHARES.get(cause.key, 0.0) + tilted.get(cause.key, 0.0), 0.05, 0.6)
            for cause in CAUSES
        )
        return replace(of, figures=(*of.figures, *figures))

    whole = why(Breakdown("all", part.figures), 0.1)
    work = tuple((day.label, 3_600.0 * number) for number, day in enumerate(part.days, start=1))
    rows = tuple(
        replace(entity(f"{name} {number}", 0.0, 10 * number), tusa=36_000.0 * 3**number)
        for number in range(6)
    )
    return having(
        part,
        Waits(walltimes=Walltimes(100, (40, 20, 10, *[5] * 5, 0, 4, 1), 0.15)),
        OrderTest(passed=(passed(name),), tested={"user": 40}),
        MachineOverTime(waiting_work=work),
        figures=whole.figures,
        widths=tuple(why(of, 0.2 * number) for number, of in enumerate(part.widths)),
        users=replace(part.users, rows=rows),
    )
