"""Reports with chosen causes of waiting, for tests of sentences and findings."""

from dataclasses import replace

from audit.report.contents import Contents, PoolPart
from audit.report.figures import Breakdown
from audit.report.finding import Finding, Place
from audit.report.sections.fair_starts.record import FairStart
from audit.report.sections.passed_over import OrderTest, Stuck
from audit.report.sections.registry import findings, of_waiting
from audit.report.sections.rules.record import BoundRule, BoundRules
from tests.report.sample import contents, fidelity, figure, having, passed, pool


def waited(of: Contents) -> str:
    return of_waiting(place(of), of.settings.assumed)[0]


def width(label: str, share: float, half: float = 0.02, attempts: int = 300) -> Breakdown:
    """A class that loses ``share`` of its waiting to later arrivals, an hour of ten."""
    return Breakdown(
        label,
        (
            figure("miss_delivered_share", share, share - half, share + half, attempts=attempts),
            figure("miss_delivered_mean", 3_600.0, 3_000.0, 4_200.0, "s", attempts),
            figure("wait_mean", 36_000.0, 30_000.0, 40_000.0, "s", attempts),
            figure("re_unfairness_share", 0.3, 0.2, 0.4, attempts=attempts),
            figure("consumed", 500.0, unit="resource·s", attempts=attempts),
        ),
    )


SHARES = {"unexplained": 0.1, "earlier": 0.6, "later": 0.3}


def measured(
    overtaken: float = 0.02,
    *named: str,
    good: bool = True,
    tested: int = 40,
    widths: tuple[Breakdown, ...] = (),
    **causes: float,
) -> PoolPart:
    """A pool with this part of its waiting lost to later arrivals, and shares of causes."""
    made = pool(users=(*named, "zoe") if named else ("anna", "ben"))
    figures = (  # the first of a name counts
        figure("miss_delivered_share", overtaken, overtaken - 0.01, overtaken + 0.01),
        *(
            figure(f"cause_{key}_share", share, share - 0.01, share + 0.01)
            for key, share in (causes or SHARES).items()
        ),
        figure("consumed", 1_000.0, unit="resource·s"),
        *made.figures,
    )
    fair = replace(made[FairStart], fidelity=fidelity() if good else fidelity(0.1))
    return having(
        made,
        fair,
        OrderTest(passed=tuple(passed(name) for name in named), tested={"user": tested}),
        figures=figures,
        widths=widths,
    )


def place(of: Contents) -> Place:
    return Place(of.cluster, of.span.name, of.pools[0], 1, len(of.pools) > 1)


def found(of: Contents) -> tuple[Finding, ...]:
    return findings(of, place(of))


def everything(names: tuple[str, ...] = ("anna", "ben")) -> Contents:
    part = measured(
        0.3,
        *names,
        widths=(width("1", 0.1), width(">128", 0.5, 0.01), width("2", 0.1)),
        rule=0.3,
        rule_free=0.2,
        unexplained=0.3,
    )
    rule = BoundRule("limit of 10 running jobs per user", 2_000.0, 90)
    return contents(
        having(part, BoundRules((rule,)), replace(part[OrderTest], stuck=Stuck(2, 3, ()))),
        pool("debug"),
    )
