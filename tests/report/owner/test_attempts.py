"""With which other width or walltime similar jobs waited less, block by block."""

from collections.abc import Callable, Iterable
from math import isclose

import polars as pl
import pytest

from audit.metrics.disclosure import BLOCKS
from audit.model import Period
from audit.report.contents import Who
from audit.report.owner.attempts import Scene, _step, sign_test, ways
from audit.report.owner.record import ShorterClass

HOUR = 3_600
WEEK = 7 * 24 * HOUR
WALLTIMES = ("0-1h", "4-12h")

Wait = Callable[[str, str, int], int]
"""Of a width class, a walltime class and the number of a week: a mean wait in s."""


def scene(
    wait: Wait, ran: int = HOUR // 2, blocks: int = 8, walltimes: Iterable[str] = WALLTIMES
) -> Scene:
    """Own wide jobs of 10 h, and what is published of some walltimes and four widths."""
    own = pl.DataFrame(
        {
            "standing": "ended",
            "job_id": [f"{number}" for number in range(20)],
            "width_class": "9-16",
            "walltime_s": 10 * HOUR,
            "end_time": 10,
            "wait_s": 9 * HOUR,
            "occupancy_s": ran,
            "taken_apart": True,
        }
    )
    classes = [
        (width, walltime, "wait_mean", float(wait(width, walltime, week)), week)
        for week in range(blocks)
        for width in ("1", "2", "3-4", "9-16")
        for walltime in walltimes
    ]
    whole = [(None, None, "wait_mean", 1.0, week) for week in range(blocks)]
    published = pl.DataFrame(
        [(week * WEEK, (week + 1) * WEEK, *figure) for *figure, week in [*classes, *whole]],
        BLOCKS,
        orient="row",
    )
    return Scene(Who("user", "ann"), Period("all", 0, 1 << 40), own, published, pl.DataFrame())


def found(wait: Wait, ran: int = HOUR // 2, blocks: int = 8) -> dict[str, ShorterClass]:
    made, tried = ways(scene(wait, ran, blocks))
    assert tried == (2 if ran <= HOUR else 1)
    return {way.lever: way for way in made}


def test_what_waits_the_same_is_no_choice() -> None:
    assert found(lambda width, walltime, week: 5 * HOUR) == {}


@pytest.mark.parametrize(
    ("lever", "better", "wait"),
    [
        ("width", "3-4", lambda width, walltime, week: HOUR * (6 if width == "9-16" else 1)),
        ("walltime", "0-1h", lambda width, walltime, week: HOUR * (1 if walltime == "0-1h" else 6)),
    ],
)
def test_what_waits_less_is_reported_alone(lever: str, better: str, wait: Wait) -> None:
    (way,) = found(wait).values()
    assert (way.lever, way.better, way.gain.value) == (lever, better, 5 * HOUR)
    assert (way.shorter, way.blocks) == (8, 8)


def test_weeks_must_be_enough_to_be_significant() -> None:
    """One of two choices: 5 % / 2 is passed by 6 weeks of 6, not by 5 of 5 or 7 of 8."""
    shorter: Wait = lambda width, walltime, week: HOUR * (1 if walltime == "0-1h" else 6)  # noqa: E731
    assert found(shorter, blocks=5) == {}
    assert found(shorter, blocks=6) != {}
    assert found(lambda *of: 6 * HOUR if of[2] == 0 else shorter(*of)) == {}


def test_far_narrower_jobs_are_other_jobs() -> None:
    assert found(lambda width, walltime, week: HOUR * (1 if width in ("1", "2") else 6)) == {}


def test_a_gain_of_minutes_is_not_reported() -> None:
    assert found(lambda width, walltime, week: HOUR - (540 if walltime == "0-1h" else 0)) == {}


def test_nobody_can_choose_an_unknown_walltime() -> None:
    unknown: Wait = lambda width, walltime, week: HOUR * (1 if walltime == "unknown" else 6)  # noqa: E731
    assert ways(scene(unknown, walltimes=(*WALLTIMES, "unknown")))[0] == ()


def test_who_runs_longer_cannot_ask_for_less() -> None:
    shorter: Wait = lambda width, walltime, week: HOUR * (1 if walltime == "0-1h" else 6)  # noqa: E731
    assert found(shorter)["walltime"].fitting == 1
    assert found(shorter, ran=2 * HOUR) == {}


@pytest.mark.parametrize(
    ("width", "step"), [("1", 0), ("2", 1), ("3-4", 2), ("65-128", 7), (">128", 8), ("unknown", -9)]
)
def test_widths_go_in_powers_of_two(width: str, step: int) -> None:
    assert _step(width) == step


def test_signs_are_those_of_fair_coins() -> None:
    assert sign_test(0, 4) == 1
    assert sign_test(4, 4) == 1 / 16
    assert isclose(sign_test(9, 10), 11 / 1024)
