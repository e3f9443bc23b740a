"""The study of users: six policies beside each other, and [K]'s conclusions on logs made for it.

Each log repeats one episode for fresh users, far apart, so that its answer is known by hand, and
every resample says the same.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.cli import app as cli
from audit.errors import UsageError
from audit.metrics.attempts.population import describe
from audit.metrics.uncertainty import Resamples
from audit.model import Pool, Resource
from audit.report.charts.style import Chart
from audit.simulation.tabu import Search
from audit.store import database
from audit.studies import page as study
from audit.studies.drawn import Draws
from audit.studies.users import claims as users_claims
from audit.studies.users import compute as users
from audit.studies.users import page as users_study
from audit.studies.users.compute import ESTIMATES, POLICIES, RUNS, SEEDS, TS, Compared, Estimates
from audit.studies.verdicts import Holds
from tests.logs import busy, write
from tests.naive import simulation, tabu
from tests.naive.simulation import Job, Log, Rule
from tests.strategies import ended, frame

Attempt = tuple[str, int, int, int]
"""User, arrival, run time; and the size."""

PERIOD = 30_000_000  # a multiple of 300, so each episode meets the tabu search alike
NOW = 10**12


def attempts(
    episode: Sequence[Attempt], repeated: int, walltimes: Sequence[int | None] = ()
) -> pl.DataFrame:
    """An episode for so many sets of users, as a log."""
    told = walltimes or [None] * len(episode)
    return frame(
        [
            ended(
                at + arrival,
                at + arrival,
                at + arrival + lasts,
                size,
                f"{user}{k}",
                walltime_s=limit,
            )
            for k in range(repeated)
            for at in (k * PERIOD,)
            for (user, arrival, lasts, size), limit in zip(episode, told, strict=True)
        ]
    )


def compare(log: pl.DataFrame, capacity: int, estimates: Estimates = "exact") -> Compared:
    pool = Pool("all", Resource.cpus, capacity)
    cells = users.cells(describe(log, [pool]), pool, NOW, Search(seed=3))
    frames = [cell.compute() for cell in cells]
    begin = list(ESTIMATES).index(estimates) * len(RUNS)
    return users.compared(pool, estimates, frames[begin : begin + len(RUNS)], Draws(1))


def verdicts(
    episode: Sequence[Attempt],
    capacity: int,
    estimates: Estimates = "exact",
    walltimes: Sequence[int | None] = (),
) -> dict[str, Holds]:
    found = compare(attempts(episode, 12, walltimes), capacity, estimates)
    return {verdict.claim: verdict.holds for verdict in users_claims.decide(found)}


FASTEST = [f"TS has a lower {what} than all others" for what in ("wait", "response time")]
LEAST_SLOWDOWN = "TS has a lower bounded slowdown than all others"
CONS_WAITS = "BF-CONS has a higher wait than BF and BF-EASY"
CONS_SLOWDOWN = [
    f"BF-CONS has a lower bounded slowdown than {rival}" for rival in ("BF", "BF-EASY")
]
FAIR = [
    f"BF-FAIR has a lower {what} than BF, BF-EASY, BF-CONS" for what in ("UWT", "deviation of NUWT")
]
WORST = "FCFS has a higher {} than all others"
AS_FAIR = [
    f"TS is at least as fair as BF-FAIR: no higher {what}" for what in ("UWT", "deviation of NUWT")
]


def test_ts_is_fastest_where_a_short_one_waits_behind_a_long_one() -> None:
    # One processor: all but TS serve b (10,000 s) before c (100 s).
    episode = [("a", 0, 1_000, 1), ("b", 10, 10_000, 1), ("c", 20, 100, 1)]
    found = verdicts(episode, 1)
    assert {found[claim] for claim in (*FASTEST, LEAST_SLOWDOWN)} == {Holds.yes}


def test_ts_is_not_fastest_where_the_short_one_was_thought_long() -> None:
    # b runs for 1 s of the 10,000 that it asked for; TS lets c (100 s) go first. Exact: all alike.
    episode = [("a", 0, 1_000, 1), ("b", 10, 1, 1), ("c", 20, 100, 1)]
    for estimates in ESTIMATES:
        found = verdicts(episode, 1, estimates, [1_000, 10_000, 100])
        assert {found[claim] for claim in (*FASTEST, LEAST_SLOWDOWN)} == {Holds.no}


@pytest.mark.parametrize(
    ("narrow", "wide", "waits", "slowdown"),
    [
        # s (1 processor) may run beside the head h, which waits 990 s in any case, but would delay
        # w (4 processors), which BF-CONS has promised 1100. Waits of w and s: 1085 and 1080 + wide
        # there, narrow + 5 and 0 under BF and BF-EASY.
        (1_200, 100, Holds.yes, Holds.yes),
        (1_200, 10_000, Holds.yes, Holds.no),
        (5_000, 100, Holds.no, Holds.yes),
    ],
)
def test_conservative_backfilling_promises_and_so_fills_less(
    narrow: int, wide: int, waits: Holds, slowdown: Holds
) -> None:
    # All are one user's, so that no resample has more of one than of another.
    episode = [(0, 1_000, 2), (10, 100, 3), (15, wide, 4), (20, narrow, 1)]
    found = verdicts([("u", *attempt) for attempt in episode], 4)
    assert found[CONS_WAITS] is waits
    assert {found[claim] for claim in CONS_SLOWDOWN} == {slowdown}


def test_fcfs_is_worst_where_something_could_be_backfilled() -> None:
    # h needs both processors; s fits beside a, and only FCFS lets it wait for h.
    one = [("a", 0, 1_000, 1), ("h", 10, 100, 2), ("s", 20, 50, 1)]
    episode = [*one, *[(user, 100_000 + arrival, *more) for user, arrival, *more in one]]
    found = verdicts(episode, 2)  # type: ignore[arg-type]
    assert {found[WORST.format(what)] for what in users_claims._SAID.values()} == {Holds.yes}


def test_fcfs_is_not_worst_where_nothing_can_be_backfilled() -> None:
    one = [("a", 0, 1_000, 1), ("b", 10, 100, 1), ("c", 20, 100_000, 1)]
    episode = [*one, *[(user, 200_000 + arrival, *more) for user, arrival, *more in one]]
    found = verdicts(episode, 1)  # type: ignore[arg-type]
    assert {found[WORST.format(what)] for what in users_claims._SAID.values()} == {Holds.no}


def test_bf_fair_is_fairer_where_who_waited_longest_is_served_first() -> None:
    # a (10 s) waited behind b. Later both wait again: BF serves b (1000 s) first, BF-FAIR a.
    found = verdicts(
        [
            ("b", 0, 1_000, 1),
            ("a", 0, 10, 1),
            ("b", 100_000, 1_000, 1),
            ("b", 100_010, 1_000, 1),
            ("a", 100_020, 10, 1),
        ],
        1,
    )
    assert {found[claim] for claim in FAIR} == {Holds.yes}
    assert {found[claim] for claim in AS_FAIR} == {Holds.yes}  # TS serves a first, too


def test_bf_fair_is_not_fairer_where_who_waited_longest_now_asks_for_long() -> None:
    # a (10 s) waited behind c; b (10 s) did not. Later a wants 10,000 s, and b 10 s again.
    found = verdicts(
        [
            ("c", 0, 1_000, 1),
            ("a", 0, 10, 1),
            ("b", 50_000, 10, 1),
            ("c", 100_000, 1_000, 1),
            ("b", 100_010, 10, 1),
            ("a", 100_020, 10_000, 1),
        ],
        1,
    )
    assert {found[claim] for claim in FAIR} == {Holds.no}
    assert {found[claim] for claim in AS_FAIR} == {Holds.yes}  # TS serves b first


def test_ts_is_less_fair_than_bf_fair_where_no_search_comes_in_time() -> None:
    # As above, but all is over within one interval of 300 s, so that TS keeps the first plan.
    found = verdicts(
        [
            ("b", 0, 200, 1),
            ("a", 0, 1, 1),
            ("b", 90_001, 200, 1),
            ("b", 90_011, 20, 1),
            ("a", 90_021, 1, 1),
        ],
        1,
    )
    assert {found[claim] for claim in AS_FAIR} == {Holds.no}


def test_what_depends_on_the_seed_is_undecided() -> None:
    found = compare(attempts([("a", 0, 1_000, 1), ("b", 10, 10_000, 1), ("c", 20, 100, 1)], 12), 1)
    slow = found.outcomes["BF-CONS"]
    mixed = found._replace(seeds=(found.seeds[0], slow, *found.seeds[2:]))
    [verdict] = [one for one in users_claims.decide(mixed) if one.claim == FASTEST[0]]
    assert verdict.holds is Holds.undecided
    assert verdict.because.endswith(f"of {SEEDS} seeds yes with {SEEDS - 1}, no with 1")


def test_ts_is_shown_with_the_seed_of_the_median_uwt() -> None:
    log = attempts([("a", 0, 1_000, 1), ("b", 10, 10_000, 1), ("c", 20, 100, 1)], 2)
    [one, *_] = compare(log, 1).seeds
    seeds = [
        one._replace(dispersion=one.dispersion._replace(uwt=uwt))
        for uwt in (9.0, 1.0, 4.0, 7.0, 2.0)
    ]
    assert users.typical(seeds) is seeds[2]
    waits = [one._replace(wait=one.wait + more) for more in (5, 1, 3)]
    assert users.typical(waits) is waits[2]


def test_with_one_user_nothing_is_decided() -> None:
    log = attempts([("a", 0, 1_000, 1), ("a", 10, 10_000, 1), ("a", 20, 100, 1)], 1)
    found = users_claims.decide(compare(log, 1))
    assert {verdict.holds for verdict in found} == {Holds.undecided}


def test_where_each_user_has_one_job_nothing_is_said_of_users() -> None:
    log = attempts([("a", 0, 1_000, 1), ("b", 10, 10_000, 1), ("c", 20, 100, 1)], 2)
    found = compare(log, 1)
    told = [verdict for verdict in users_claims.decide(found) if "UWT" in verdict.claim]
    assert {verdict.because for verdict in told} == {"no user has two jobs and usage"}
    assert {verdict.holds for verdict in told} == {Holds.undecided}
    assert math.isnan(users_claims.value(found, TS, "deviation"))
    assert "uwt" not in {one.metric for one in users.figures(found, "BF")}


# Figures

small = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob", "cem"]),
        st.integers(0, 900),
        st.sampled_from([0, 1, 50, 200, 400]),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=9,
)


@settings(max_examples=10, deadline=None)
@given(small)
def test_figures_are_those_of_the_slow_schedules(episode: list[Attempt]) -> None:
    episode = sorted(episode, key=lambda one: one[1])
    found = compare(attempts(episode, 1), 4)
    jobs = tuple(
        Job(arrival, lasts, max(lasts, 1), (size,), owner=user, used=lasts * size)
        for user, arrival, lasts, size in episode
    )
    log = Log(jobs, (4,))
    made: dict[str, dict[int, int]] = {
        name: simulation.replay(log, Rule(policy.order, policy.backfill)).start
        for name, policy in POLICIES.items()
        if policy is not None
    }
    made[TS] = tabu.replay(log, tabu.Search(seed=3)).start
    for name, start in made.items():
        waits = [start[k] - job.arrival for k, job in enumerate(jobs)]
        outcome = found.seeds[0] if name == TS else found.outcomes[name]
        assert outcome.wait.tolist() == waits
        assert outcome.response.tolist() == [
            w + job.occupancy for w, job in zip(waits, jobs, strict=True)
        ]
        slowdowns = [
            max(1.0, (w + job.occupancy) / max(job.occupancy, 1))
            for w, job in zip(waits, jobs, strict=True)
        ]
        assert outcome.slowdown.tolist() == pytest.approx(slowdowns)
        nuwt = {}
        for owner in {job.owner for job in jobs}:
            own = [k for k, job in enumerate(jobs) if job.owner == owner]
            used = sum(jobs[k].used for k in own)
            if len(own) > 1 and used:
                nuwt[f"{owner}0"] = sum(waits[k] for k in own) / used
        assert dict(zip(found.users, outcome.nuwt.tolist(), strict=True)) == pytest.approx(nuwt)


def test_deviations_are_compared_resample_by_resample() -> None:
    chance = np.random.Generator(np.random.PCG64(4))
    one, other = chance.exponential(3, 9), chance.exponential(1, 9)
    resamples = Resamples(12, seed=5)
    units = np.array([0, 1, 2, 4, 5, 7, 8, 10, 11])
    made = users_claims.deviation_difference(units, one, other, resamples)
    apart = []
    for weights in resamples.weights[:, units]:
        if weights.sum():
            drawn = np.repeat(one, weights), np.repeat(other, weights)
            apart.append(drawn[0].std() - drawn[1].std())
    assert made.value == pytest.approx(one.std() - other.std())
    ordered = sorted(apart)
    assert made.lower == pytest.approx(ordered[math.ceil(0.025 * len(ordered)) - 1])
    assert made.upper == pytest.approx(ordered[math.ceil(0.975 * len(ordered)) - 1])


def test_exact_estimates_are_the_run_times_of_what_has_ended() -> None:
    log = attempts([("a", 0, 10, 1)], 1, [500])
    running: dict[str, Any] = {"submit_time": 5, "start_time": 6, "cpus": 1, "walltime_s": 70}
    pool = Pool("all", Resource.cpus, 1)
    one = describe(log, [pool])
    assert users.exact(one)["walltime_s"].to_list() == [10]
    assert users.exact(describe(frame([running]), [pool]))["walltime_s"].to_list() == [70]


def test_only_what_every_policy_starts_is_compared() -> None:
    log = attempts([("a", 0, 10, 1), ("b", 0, 10, 9)], 1)
    assert len(compare(log, 4).units) == 1
    with pytest.raises(UsageError, match="no attempt in these logs can be replayed"):
        compare(attempts([("b", 0, 10, 9)], 1), 4)


# The page, and the command


def test_rows_for_the_database_and_the_page() -> None:
    episode = [("a", 0, 1_000, 1), ("b", 10, 10_000, 1), ("a", 20, 100, 1), ("b", 30, 50, 1)]
    found = compare(attempts(episode, 3), 1)
    rows = users.rows(found)
    assert rows["setting"].unique(maintain_order=True).to_list() == [
        f"{name}, exact estimates" for name in POLICIES
    ]
    of_users = rows.filter(
        pl.col("dimension") == "user", pl.col("setting") == "BF, exact estimates"
    )
    assert of_users["value"].to_list() == found.outcomes["BF"].nuwt.tolist()
    uwt = rows.filter(metric="uwt", setting="TS, exact estimates")
    assert uwt["value"].to_list() == [pytest.approx(found.outcomes[TS].nuwt.mean())]
    page = users_study.study("c", [found], Search(seed=7), Draws(7))
    keys = [table.key for table in study.tables(page)]
    assert keys == [
        "policies",
        "verdicts",
        *(f"exact-{of}" for of in ("performance", "nuwt", "intervals", "seeds")),
    ]
    charts = [chart.key for of in page.sections for chart in of.parts if isinstance(chart, Chart)]
    assert charts == ["performance_exact", "nuwt_exact", "spread_exact"]
    again = compare(attempts(episode, 3), 1)
    assert users.rows(again).equals(rows)
    assert users_study.study("c", [again], Search(seed=7), Draws(7)) == page


def test_charts_leave_out_what_is_far_off() -> None:
    kept, note = users_study._without_far({"FCFS": 30.0, "BF": 9.0, "TS": 1.0})
    assert (kept, note) == (["BF", "TS"], "FCFS is off the scale.")
    assert users_study._without_far({"FCFS": 27.0, "BF": 9.0}) == (["FCFS", "BF"], "")


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "my.swf", busy(40))
    monkeypatch.setattr("sys.argv", ["fairaudit", "experiment", "users", "my.swf", "--out", "made"])
    with pytest.raises(SystemExit) as done:
        cli.main()
    assert done.value.code in (0, None)
    listed = capsys.readouterr().out.split()
    assert listed[0] == "made/users.html"
    assert listed[-1] == "made/users.duckdb"
    assert "TS has a lower wait than all others" in Path("made/users.html").read_text("utf-8")
    con = database.open_snapshot(tmp_path / "made" / "users.duckdb")
    asked = "SELECT DISTINCT setting FROM studies WHERE study = 'users' AND metric = 'wait_mean'"
    found = database.fetch(con, asked)["setting"].to_list()
    con.close()
    assert len(found) == len(POLICIES) * len(ESTIMATES)
