"""What others' jobs with another width, walltime or hour waited less with."""

from collections.abc import Callable

import polars as pl
import pytest

from audit.model import Period
from audit.periods import zone
from audit.report.owner.attempts import Everybody, Scene
from audit.report.owner.contents import Way
from audit.report.owner.ways import _step, ways
from audit.report.owner.who import Who

UTC = zone("UTC")
MONDAY = 1_767_571_200  # 2026-01-05
HOUR = 3_600

Wait = Callable[[str, int, int], int]
"""Of a width class, a walltime in s and an hour of a Monday: a wait in s."""


def scene(wait: Wait, ran: int = HOUR // 2) -> Scene:
    """Own wide jobs of 10 h that came at 9 h, and others' of two kinds of everything."""
    rows = [("ann", "9-16", 10 * HOUR, 9, k, 9 * HOUR) for k in range(20)]
    rows += [
        (f"u{user}", width, walltime, hour, k, wait(width, walltime, hour) + 60 * user + k)
        for user in range(8)
        for width in ("1", "2", "3-4", "9-16")
        for walltime in (HOUR, 10 * HOUR)
        for hour in (9, 20)
        for k in range(6)
    ]
    frame = pl.DataFrame(
        {
            "standing": "ended",
            "user": user,
            "account": "all",
            "job_id": f"{number}",
            "attempt": 1,
            "width_class": width,
            "walltime_s": walltime,
            "arrival_time": MONDAY + hour * HOUR + k,
            "end_time": MONDAY + 1_000 * HOUR,
            "wait_s": waited,
            "occupancy_s": ran,
        }
        for number, (user, width, walltime, hour, k, waited) in enumerate(rows)
    )
    return Scene(Who("user", "ann"), Everybody(Period("all", 0, 1 << 40), frame))


def found(wait: Wait, ran: int = HOUR // 2) -> dict[str, Way]:
    made, tried = ways(scene(wait, ran), UTC, 200)
    assert tried == (3 if ran <= HOUR else 2)
    return {way.lever: way for way in made}


def test_what_waits_the_same_is_no_choice() -> None:
    assert found(lambda width, walltime, hour: 5 * HOUR) == {}


@pytest.mark.parametrize(
    ("lever", "better", "wait"),
    [
        ("width", "3-4", lambda width, walltime, hour: HOUR * (6 if width == "9-16" else 1)),
        ("walltime", "0-1h", lambda width, walltime, hour: HOUR * (1 if walltime == HOUR else 6)),
        ("hours", "off_peak", lambda width, walltime, hour: HOUR * (1 if hour == 20 else 6)),
    ],
)
def test_what_waits_less_is_told_alone(lever: str, better: str, wait: Wait) -> None:
    (way,) = found(wait).values()
    assert (way.lever, way.better) == (lever, better)
    assert way.users == 8
    assert way.gain.value is not None
    if lever == "hours":
        assert way.gain.value == 5 * HOUR
    assert way.gain.lower is not None
    assert 600 < way.gain.lower <= way.gain.value


def test_far_narrower_jobs_are_other_jobs() -> None:
    assert found(lambda width, walltime, hour: HOUR * (1 if width in ("1", "2") else 6)) == {}


@pytest.mark.parametrize(
    ("width", "step"), [("1", 0), ("2", 1), ("3-4", 2), ("65-128", 7), (">128", 8), ("unknown", -9)]
)
def test_widths_go_in_powers_of_two(width: str, step: int) -> None:
    assert _step(width) == step


def test_a_gain_of_minutes_is_not_told() -> None:
    assert found(lambda width, walltime, hour: 5 * HOUR - (540 if hour == 20 else 0)) == {}


def test_who_runs_longer_cannot_ask_for_less() -> None:
    shorter: Wait = lambda width, walltime, hour: HOUR * (1 if walltime == HOUR else 6)  # noqa: E731
    assert found(shorter)["walltime"].fitting == 1
    assert found(shorter, ran=2 * HOUR) == {}
