"""Exponents, comparisons and tables of bench/; nothing is timed here."""

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import run
from bench.measure import pairs
from bench.measure.comparing import LEAST, NOISES, changes
from bench.measure.figures import Beside, Figure
from bench.measure.growth import exponent
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


def test_the_committed_results_can_be_compared() -> None:
    kept = run.kept()
    assert len({one.key for one in kept}) == len(kept) > 0
    assert all(math.isfinite(one.seconds) and one.seconds >= 0 for one in kept)
    assert run.PAGE.read_text(encoding="utf-8").count("\n## ") == 1 + len({k.stage for k in kept})


def test_the_stopwatch_finds_what_each_stage_calls() -> None:
    for place in {**stopwatch.AUDIT, **stopwatch.NIGHT}:
        owner, name = stopwatch.place_of(place)
        assert callable(getattr(owner, name, None)), place
