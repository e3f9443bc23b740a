"""The main figures over time, against the definitions in plain Python."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics.course import RATIOS, SUMS, Course, course
from tests.examples import examples

QUICK = 100


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Up to five users, one without a name, in up to three stretches."""
    rows = []
    for stretch in range(3):
        for user in draw(st.sets(st.sampled_from([None, "ann", "bob", "cy", "dee"]))):
            waits = draw(st.lists(st.integers(0, 1_000), min_size=1, max_size=4))
            apart = draw(st.integers(0, len(waits)))
            judged = draw(st.integers(0, len(waits)))
            rows.append(
                {
                    "stretch": stretch,
                    "user": user,
                    "first_arrival": 1_000 * stretch + draw(st.integers(0, 999)),
                    "attempts": len(waits),
                    "wait_s": sum(waits),
                    "booked_s": sum(waits[:apart]),
                    "unexplained_s": sum(waits[:apart]) // 2,
                    "judged": judged,
                    "missed_s": draw(st.integers(0, 500)) if judged else 0,
                }
            )
    return rows


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SUMS)


def numbered(rows: list[dict[str, Any]]) -> list[str | None]:
    """Users in the order in which resamples number them: by what they did, not by name."""
    added = ["attempts", *[name for name in SUMS if name.endswith("_s")]]
    keys = {}
    for user in {row["user"] for row in rows}:
        mine = [row for row in rows if row["user"] == user]
        totals = {name: sum(row[name] for row in mine) for name in [*added, "judged"]}
        keys[user] = (
            min(row["first_arrival"] for row in mine),
            *(totals[n] for n in ("attempts", "wait_s", "booked_s", "unexplained_s", "judged")),
            totals["missed_s"],
            (user is not None, user or ""),
        )
    return sorted(keys, key=lambda user: keys[user])


def middle(values: list[float]) -> tuple[float, float]:
    """The 2.5th and 97.5th percentiles by nearest rank."""
    ordered = sorted(values)
    ranks = [-(-len(ordered) * part // 1_000) for part in (25, 975)]
    return ordered[max(ranks[0], 1) - 1], ordered[ranks[1] - 1]


@given(tables())
@settings(max_examples=examples(30), deadline=None)
def test_figures_and_differences_are_those_of_the_definitions(rows: list[dict[str, Any]]) -> None:
    got = course(frame(rows), 3, 7, QUICK)
    users = numbered(rows)
    drawn = np.random.Generator(np.random.PCG64(7)).integers(
        0, len(users) or 1, (QUICK, len(users))
    )
    resampled: dict[tuple[int, str], list[float | None]] = {}
    for k in range(3):
        mine = {row["user"]: row for row in rows if row["stretch"] == k}
        assert got.attempts[k] == sum(row["attempts"] for row in mine.values())
        for name, (above, below) in RATIOS.items():
            total = sum(row[below] for row in mine.values())
            figure = got.figures[k][name]
            if not total:
                assert figure == (None, (None, None))
                continue
            assert figure.value == pytest.approx(sum(r[above] for r in mine.values()) / total)
            of_draws = []
            for draw in drawn:
                some = [mine[users[unit]] for unit in draw if users[unit] in mine]
                under = sum(row[below] for row in some)
                of_draws.append(sum(row[above] for row in some) / under if under else None)
            resampled[k, name] = of_draws
            expected = middle([one for one in of_draws if one is not None])
            assert figure.within == (pytest.approx(expected) if len(mine) >= 2 else (None, None))
    for name, (_, within) in got.differences.items():
        pairs = zip(resampled[2, name], resampled[1, name], strict=True)
        apart = [last - before for last, before in pairs if last is not None and before is not None]
        of_both = [sum(row["stretch"] == k for row in rows) for k in (1, 2)]
        assert within == (
            pytest.approx(middle(apart)) if min(of_both) >= 2 and apart else (None, None)
        )


def one_user_of_each(*waits: tuple[int, int]) -> Course:
    """Two stretches, in which each of several users had one wait."""
    rows = [
        {
            **dict.fromkeys(SUMS, 0),
            "stretch": k,
            "user": str(user),
            "attempts": 1,
            "wait_s": both[k],
        }
        for user, both in enumerate(waits)
        for k in range(2)
    ]
    return course(frame(rows), 2, 0)


def test_the_same_users_in_both_stretches_do_not_blur_the_difference() -> None:
    """Waits of 0 to 1,900 s; all wait 10 s longer in the second stretch."""
    got = one_user_of_each(*((100 * k, 100 * k + 10) for k in range(20)))
    assert got.figures[0]["wait_mean"].value == 950.0
    value, (lower, upper) = got.differences["wait_mean"]
    assert [value, lower, upper] == [pytest.approx(10.0)] * 3


def test_no_difference_where_a_stretch_has_nothing() -> None:
    rows = [{**dict.fromkeys(SUMS, 0), "user": "ann", "attempts": 3, "wait_s": 30}]
    got = course(frame(rows), 2, 0, QUICK)
    assert got.figures[0]["wait_mean"].value == 10.0
    assert got.figures[1]["wait_mean"].value is None
    assert got.differences == {}


@given(tables())
@settings(max_examples=examples(20), deadline=None)
def test_names_and_the_order_of_rows_change_nothing(rows: list[dict[str, Any]]) -> None:
    renamed = {"ann": "zoe", "bob": "al", "cy": "mo", "dee": "<b>", None: None}
    others = [{**row, "user": renamed[row["user"]]} for row in reversed(rows)]
    first, second = course(frame(rows), 3, 1, QUICK), course(frame(others), 3, 1, QUICK)
    distinct = {tuple(v for k, v in row.items() if k != "user") for row in rows}
    if len(distinct) == len(rows) and len(numbered(rows)) == len(
        {min(r["first_arrival"] for r in rows if r["user"] == u) for u in numbered(rows)}
    ):
        assert first == second
