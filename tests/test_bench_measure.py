"""Exponents, comparisons and tables of bench/; nothing is timed here."""

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import run
from bench.measure import page, pairs
from bench.measure.comparing import LEAST, NOISES, changes
from bench.measure.figures import Beside, Figure, dumped, loaded
from bench.measure.growth import exponent, growths
from bench.measure.pictures import picture
from bench.scale import stopwatch

SQL = Beside("plain SQL", 2.0, 0.5, 0.02)
SORT = Beside("one sort", 0.1, 10.0, 0.1)


def figure(
    size: int | None = 1_000,
    seconds: float = 1.0,
    twin: Beside | None = SQL,
    limit: Beside | None = None,
    goal: float | None = None,
) -> Figure:
    return Figure("Metrics", "overtakes", size, seconds, twin, limit, goal=goal)


@given(st.floats(0.1, 3), st.floats(1e-6, 1e3), st.sets(st.integers(1, 10**8), min_size=2))
def test_a_power_law_comes_back(power: float, factor: float, sizes: set[int]) -> None:
    points = [(float(size), factor * size**power) for size in sizes]
    assert exponent(points) == pytest.approx(power, rel=1e-3)


def test_an_exponent_weighs_all_sizes() -> None:
    """By hand: logarithms to base 10 are (1, 0), (2, 0), (3, 3); their line rises by 3/2."""
    assert exponent([(10, 1), (100, 1), (1_000, 1_000)]) == pytest.approx(1.5)


@pytest.mark.parametrize(
    "points", [[], [(10.0, 1.0)], [(10.0, 1.0), (10.0, 2.0)], [(10, 0), (20, 1)]]
)
def test_without_two_sizes_nothing_grows(points: list[tuple[float, float]]) -> None:
    assert exponent(points) is None


def test_what_was_measured_once_has_no_growth() -> None:
    several = [figure(10, 1.0), figure(1_000, 100.0, twin=None), figure(None)]
    (grown,) = growths([*several, Figure("Start-up", "--help", None, 0.2)])
    assert grown.ours == ((10.0, 1.0), (1_000.0, 100.0))
    assert grown.twin == ((10.0, 2.0),)
    ours, twin = grown.powers
    assert ours == pytest.approx(1.0)
    assert twin is None


def test_figures_come_back_from_json() -> None:
    figures = [figure(limit=SORT, goal=0.1), figure(None, 1.23456789, twin=None)]
    figures.append(figure(twin=None)._replace(others=(SQL, SORT)))
    first, second, third = loaded(dumped("a machine", figures))
    assert (first, third) == (figures[0], figures[2])
    assert second == figures[1]._replace(seconds=1.235)


def test_a_goal_is_of_the_ratio_or_of_seconds() -> None:
    assert not figure(seconds=9.0, goal=0.5).missed
    assert figure(seconds=0.1, goal=0.4).missed
    assert figure(twin=None, limit=SORT, seconds=2.0, goal=1.9).missed
    assert not figure(twin=None, seconds=2.0).missed
    assert figure()._replace(peak_mib=10.0, peak_goal=9.0).missed


def test_ratios_are_of_rounds_not_of_medians() -> None:
    """The machine was twice as slow in the second round: the ratio does not mind."""
    side = pairs.beside("it", [1.0, 2.0, 1.1], [2.0, 4.0, 2.0])
    assert side == Beside("it", 2.0, 0.5, 0.0)
    assert pairs.beside("it", [3.0], [1.0]).noise == pairs.UNKNOWN


def test_works_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    done: list[str] = []

    def work(name: str, seconds: float) -> None:
        nonlocal now
        now += seconds
        done.append(name)

    monkeypatch.setattr(pairs, "user_s", lambda: now)
    measured = pairs.measured(
        "Metrics", "it", 7, lambda: work("a", 1.0), twin=("b", lambda: work("b", 0.5))
    )
    assert done[:2] == ["a", "b"]
    assert done[2:] == ["a", "b"] * ((len(done) - 2) // 2)
    assert measured.twin is not None
    assert measured.seconds == pytest.approx(1.0)
    assert measured.twin.ratio == pytest.approx(2.0)


def test_what_takes_long_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def long() -> None:
        nonlocal now
        now += pairs.LONG_S + 1

    monkeypatch.setattr(pairs, "user_s", lambda: now)
    assert pairs.in_turns({"long": long}) == {"long": [pairs.LONG_S + 1]}


def slower(factor: float, noise: float = 0.0) -> Figure:
    return figure(twin=SQL._replace(ratio=SQL.ratio * factor, noise=noise))


def test_worse_is_what_noise_does_not_explain() -> None:
    then = figure(twin=SQL._replace(noise=0.03))
    (change,) = changes([then], [slower(1 + LEAST, noise=0.04)])
    assert change.tolerance == pytest.approx(LEAST + NOISES * 0.05)
    assert not change.worse
    (change,) = changes([then], [slower(1.01 + change.tolerance, noise=0.04)])
    assert change.factor == pytest.approx(1.01 + change.tolerance)
    assert change.worse


def test_only_like_is_compared_with_like() -> None:
    now = [
        figure(10),
        figure(twin=SQL._replace(what="read_csv")),
        figure(twin=None),
        figure(twin=None, limit=SORT),
        figure(seconds=9.0),
    ]
    compared = changes([figure(), figure(twin=None, limit=SORT, seconds=3.0)], now)
    assert [change.now for change in compared] == now[3:]


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0"), (0.0000012, "0.000001"), (0.01234, "0.0123"), (12.345, "12.3"), (1234.5, "1,234")],
)
def test_numbers_have_three_digits(value: float, said: str) -> None:
    assert page.number(value) == said


def test_a_table_leaves_out_what_nobody_has() -> None:
    table = page.table([figure(goal=0.4), figure(100_000, 0.25)])
    assert table.splitlines() == [
        "| what | attempts | CPU s | twin | × twin | goal |",
        "|---|---:|---:|---|---:|---:|",
        "| overtakes | 1,000 | 1 | plain SQL: 2 | 0.5 | ≤ 0.4 ×, missed |",
        "| overtakes | 100,000 | 0.25 | plain SQL: 2 | 0.5 |  |",
    ]
    assert "a\\|b" in page.rows(["what"], [["a|b"]], {"what"})


def test_each_work_that_took_turns_has_a_column() -> None:
    both = figure(twin=None)._replace(others=(SQL, SORT))
    only = figure(twin=None)._replace(others=(SORT._replace(ratio=2.5),))
    header, _, first, second = page.table([both, only]).splitlines()
    assert header == "| what | attempts | CPU s | × plain SQL | × one sort |"
    assert first == "| overtakes | 1,000 | 1 | 0.5 | 10 |"
    assert second == "| overtakes | 1,000 | 1 |  | 2.5 |"


def test_the_page_tells_goals_growth_and_machine() -> None:
    figures = [figure(10, 1.0, limit=SORT), figure(1_000, 100.0, goal=0.4)]
    text = page.page("a machine", "3 minutes", figures, ["results-metrics.svg"])
    assert "(3 minutes) on: a machine." in text
    assert "- Metrics, overtakes, 1,000: 0.5 × plain SQL, goal ≤ 0.4" in text
    assert "| Metrics | overtakes | 10 to 1,000 | 1.00 | 0.00 |" in text
    assert "(results-metrics.svg)" in text
    assert "All goals hold." in page.page("a machine", "3 minutes", figures[:1], [])
    assert picture("Metrics", growths(figures)).startswith("<svg ")


class Runs:
    """Stands for the stages: what each run of them measures."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, then: Figure, *found: Figure) -> None:
        self.found = list(found)
        monkeypatch.setattr(run, "kept", lambda: [then])
        monkeypatch.setattr(
            run, "measured", lambda stage, sizes, minutes: iter([self.found.pop(0)])
        )
        monkeypatch.setattr(sys, "argv", ["run", "--check", "--only", "metrics"])


def test_a_check_names_what_got_worse_twice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Runs(monkeypatch, figure(), slower(3.0), slower(2.0))
    assert run.main() == 1
    said = capsys.readouterr().out
    assert "WORSE: Metrics: overtakes, 1,000: 2.00 times the ratio" in said


def test_what_is_worse_only_once_was_noise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = Runs(monkeypatch, figure(), slower(3.0), slower(1.0))
    assert run.main() == 0
    assert "nothing got worse" in capsys.readouterr().out
    assert runs.found == []


def test_a_stage_that_fails_is_stated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(stage: str, sizes: object, minutes: float) -> object:
        raise RuntimeError("ended with 3")

    Runs(monkeypatch, figure())
    monkeypatch.setattr(run, "measured", fails)
    assert run.main() == 1
    assert "NOT MEASURED, all or some of metrics: ended with 3" in capsys.readouterr().out


def test_some_stages_measured_anew_leave_the_others() -> None:
    other = Figure("Start-up", "--help", None, 0.2)
    assert run.together([figure(), other], [figure(seconds=2.0)]) == [figure(seconds=2.0), other]
    assert run.together([figure()], [other]) == [figure(), other]


def test_the_committed_results_can_be_compared() -> None:
    kept = run.kept()
    assert len({one.key for one in kept}) == len(kept) > 0
    assert all(math.isfinite(one.seconds) and one.seconds >= 0 for one in kept)
    assert run.PAGE.read_text(encoding="utf-8").count("\n## ") == 1 + len({k.stage for k in kept})


def test_the_stopwatch_finds_what_each_stage_calls() -> None:
    for place in {**stopwatch.AUDIT, **stopwatch.NIGHT}:
        owner, name = stopwatch.place_of(place)
        assert callable(getattr(owner, name, None)), place
