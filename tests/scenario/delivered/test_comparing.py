"""Agreement under further windows: as if it were found anew."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from audit.model import Limit, Pool, Window
from audit.scenario.delivered.agreement import agreement, as_table
from audit.scenario.delivered.candidates import candidates
from audit.scenario.delivered.comparing import ComparedStarts, compared_starts
from tests.examples import examples
from tests.naive import delivered as slow
from tests.scenario.delivered.made import scenario_of, sites
from tests.strategies import EPOCH

FIRST_HOUR = (EPOCH // 3_600 + 72) % 168
"""Of the week, in UTC."""


def longer(site: slow.Site, times: int = 20) -> slow.Site:
    """Return a site that takes a few hours."""
    jobs = [
        job._replace(
            arrival=times * job.arrival,
            runtime=times * job.runtime,
            estimate=times * job.estimate,
            start=times * job.start,
        )
        for job in site.jobs
    ]
    return site._replace(jobs=tuple(jobs))


@st.composite
def windows(draw: st.DrawFn) -> Window:
    hours = draw(st.sets(st.integers(0, 3), min_size=1))
    return Window(
        hours=tuple(sorted((FIRST_HOUR + hour) % 168 for hour in hours)),
        overlap=draw(st.booleans()),
        size_above=draw(st.sampled_from([None, 2, 5])),
        walltime_above_s=draw(st.sampled_from([None, 2_000])),
    )


def under(compared: ComparedStarts, pool: Pool, closed: Sequence[Window]) -> ComparedStarts:
    """Return the starts with one window after the other in force."""
    for count in range(1, len(closed) + 1):
        compared = compared.under(pool._replace(windows=tuple(closed[:count])))
    return compared


@settings(max_examples=examples(50))
@given(sites(), st.lists(windows(), min_size=1, max_size=2), st.booleans())
def test_as_found_anew(site: slow.Site, closed: list[Window], limited: bool) -> None:
    limits = (Limit(per="user", most=1),) if limited else ()
    scenario = scenario_of(longer(site), limits=limits)
    first = compared_starts(scenario, candidates(scenario))
    then = under(first, scenario.pool, closed)
    anew = agreement(scenario.but(pool=scenario.pool._replace(windows=tuple(closed))))
    # the goal is tried before all is known
    best: float | None = anew["agreement"].max()  # type: ignore[assignment]
    for least in (0.0, 0.3, best or 0.5, 1.0):
        fresh = under(first, scenario.pool, closed)
        assert fresh.reaches(least) == (best is not None and best >= least)
    assert as_table(then).equals(anew)
    assert then.best == best


def test_only_what_a_window_touches_is_compared_closed() -> None:
    # the long job waits in the second hour alone, and the window of the fourth forbids nothing
    jobs = [slow.Job(0, 10, 4_000, 4_000, 0, 0), slow.Job(100, 5, 60, 60, 1, 4_000)]
    jobs += [slow.Job(3_900, 8, 7_200, 7_200, 2, 4_060), slow.Job(4_000, 1, 60, 60, 3, 4_060)]
    scenario = scenario_of(slow.Site(tuple(jobs), 10))
    compared = compared_starts(scenario, candidates(scenario))
    for hour, touched in ((0, False), (1, True), (3, False)):
        hours = ((FIRST_HOUR + hour) % 168,)
        window = Window(hours=hours, walltime_above_s=5_000)
        closed = compared.under(scenario.pool._replace(windows=(window,)))._closed
        assert closed is not None
        assert closed[1].any() == touched


def test_rules_that_changed_with_the_window_are_compared_everywhere() -> None:
    site = longer(slow.Site((slow.Job(0, 1, 10, 10, 1, 0), slow.Job(1, 1, 10, 10, 1, 2)), 10))
    scenario = scenario_of(site)
    pool = scenario.pool._replace(windows=(Window(hours=(FIRST_HOUR,)),))
    compared = compared_starts(scenario, candidates(scenario)).under(pool)
    other = pool._replace(windows=(Window(hours=(FIRST_HOUR + 1,)), *pool.windows))
    assert compared.under(other)._closed is None
