from collections.abc import Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.fairshare.usage import (
    ORIGIN,
    HalfLife,
    Kind,
    Method,
    Usage,
    Windows,
    calendar,
    first_reading,
    usage,
)
from audit.periods import day_start
from tests.naive import attempts as naive
from tests.strategies import CHARGED, EPOCH, NOW, charged

HOUR, DAY = 3_600, 86_400
BERLIN = ZoneInfo("Europe/Berlin")
SPRING = 1_774_656_000  # 2026-03-28 00:00 UTC; the clock skips 2:00 to 3:00 on the 29th
AUTUMN = 1_792_800_000  # 2026-10-24 00:00 UTC; the clock shows 2:00 to 3:00 twice on the 25th

instants = st.lists(st.integers(EPOCH - 20, EPOCH + 90), max_size=6, unique=True).map(sorted)
kinds = st.sampled_from(["user", "account"])
decays = st.sampled_from([0.0, 0.25, 0.7, 1.0, 1.5, 3.0])
methods = st.one_of(
    st.builds(
        lambda interval, depth, decay: Windows(interval_s=interval, depth=depth, decay=decay),
        st.integers(1, 40),
        st.integers(1, 6),
        decays,
    ),
    st.builds(lambda h: HalfLife(half_life_s=h), st.sampled_from([0.5, 1.0, 7.0, 60.0, 1e9])),
)


def uses(*rows: tuple[str | None, int, int | None, float]) -> pl.DataFrame:
    records = [
        {"user": user, "start_time": start, "end_time": end, "penalty": penalty}
        for user, start, end, penalty in rows
    ]
    return pl.DataFrame(records, schema=CHARGED)


def table(used: Usage) -> dict[str | None, list[float]]:
    return dict(zip(used.entities.to_list(), used.usage.T.tolist(), strict=True))


def owned(all_uses: Sequence[naive.Use]) -> dict[str | None, list[naive.Use]]:
    mine: dict[str | None, list[naive.Use]] = {one.owner: [] for one in all_uses}
    for one in all_uses:
        mine[one.owner].append(one)
    return mine


def agree(fast: Usage, exact: dict[str | None, list[Fraction]]) -> None:
    """Each figure to 12 digits, exact zeros as zeros; and everyone's; and the fractions."""
    assert set(fast.entities) == set(exact)
    assert fast.entities.to_list() == fast.entities.sort().to_list()
    for owner, figures in table(fast).items():
        for k, figure in enumerate(figures):
            assert naive.close(figure, exact[owner][k], scale=1e-290)
            total = sum((of[k] for of in exact.values()), Fraction())
            assert naive.close(fast.total[k], total, scale=1e-290)
            part = exact[owner][k] / total if total else 0
            column = fast.entities.to_list().index(owner)
            assert naive.close(fast.fraction[k, column], part, scale=1e-290)


@given(charged(), kinds, st.integers(1, 40), st.integers(1, 6), decays, instants)
def test_trailing_windows_as_defined(
    rows: pl.DataFrame, kind: Kind, interval: int, depth: int, decay: float, at: list[int]
) -> None:
    method = Windows(interval_s=interval, depth=depth, decay=decay)
    weight = Fraction(decay)
    exact = {
        owner: [naive.trailing_usage(mine, t, interval, depth, weight) for t in at]
        for owner, mine in owned(naive.uses(rows.to_dicts(), kind, NOW)).items()
    }
    agree(usage(rows, kind, method, at, NOW), exact)


@given(charged(), kinds, st.sampled_from([0.5, 1.0, 7.0, 60.0, 1e9]), instants)
def test_half_life_as_defined(
    rows: pl.DataFrame, kind: Kind, half_life: float, at: list[int]
) -> None:
    exact = {
        owner: [naive.half_life_usage(mine, t, Fraction(half_life)) for t in at]
        for owner, mine in owned(naive.uses(rows.to_dicts(), kind, NOW)).items()
    }
    agree(usage(rows, kind, HalfLife(half_life_s=half_life), at, NOW), exact)


STEP = 1_800


def berlin_clock(t: int) -> int:
    """Seconds that the clock in Berlin shows since Monday, 1970-01-05, 0:00."""
    offset = datetime.fromtimestamp(t, tz=BERLIN).utcoffset()
    assert offset is not None
    return t + int(offset.total_seconds()) - 4 * DAY


@given(
    st.sampled_from([SPRING, AUTUMN]).flatmap(
        lambda begin: st.tuples(
            charged(STEP, begin, most=6),
            st.lists(st.integers(-4, 110), min_size=1, max_size=3, unique=True).map(
                lambda steps: sorted(begin + k * STEP for k in steps)
            ),
            st.just(begin + 60 * STEP),
        )
    ),
    st.sampled_from([STEP, HOUR, 5 * STEP, 12 * HOUR, DAY, 2 * DAY]),
    st.integers(1, 4),
    decays,
)
def test_calendar_windows_as_defined(
    case: tuple[pl.DataFrame, list[int], int], interval: int, depth: int, decay: float
) -> None:
    rows, at, now = case
    method = Windows(
        interval_s=interval, depth=depth, decay=decay, alignment="calendar", zone=BERLIN
    )
    exact = {
        owner: [
            naive.calendar_usage(mine, t, interval, depth, Fraction(decay), berlin_clock, STEP)
            for t in at
        ]
        for owner, mine in owned(naive.uses(rows.to_dicts(), "user", now)).items()
    }
    agree(usage(rows, "user", method, at, now), exact)


def test_the_example_of_b() -> None:
    # [B] table 1, windows of 12 h, decay 0.7; all of A's and the others' penalty-seconds:
    #   window     0    1    2    3
    #   A         60   40   50   80     A at depth 4: 60 + 28 + 24.5 + 27.44 = 139.94
    #   everyone 110  125  100  150     everyone: 110 + 87.5 + 49 + 51.45 = 297.95
    # 139.94 / 297.95 = 46.97 %; at depth 3: 112.5 / 246.5 = 45.64 %. The paper prints 47.91 % and
    # 38.65 %, which its own equation does not give (SPEC §9).
    interval, now = 12 * HOUR, 48 * HOUR
    rows = []
    for i, (a, everyone) in enumerate([(60, 110), (40, 125), (50, 100), (80, 150)]):
        start = now - (i + 1) * interval
        rows += [("A", start, start + a, 1.0), ("others", start, start + everyone - a, 1.0)]
    for depth, mine, all_of_it, percent in [(4, 139.94, 297.95, 46.97), (3, 112.5, 246.5, 45.64)]:
        method = Windows(interval_s=interval, depth=depth, decay=0.7)
        used = usage(uses(*rows), "user", method, [now], now)
        assert used.usage[0, 0] == pytest.approx(mine, rel=1e-14)
        assert used.total[0] == pytest.approx(all_of_it, rel=1e-14)
        assert round(100 * used.fraction[0, 0], 2) == percent


def test_windows_by_hand() -> None:
    # ann holds half of the pool over [0, 25), bob a quarter since 15; windows of 10 s, decay 0.5.
    # T = 20: window 0 = [10, 20), 1 = [0, 10).
    #   ann 0.5·10 + 0.5·(0.5·10) = 7.5; bob 0.25·5 = 1.25
    # T = 30, the log taken at 28: 0 = [20, 30), 1 = [10, 20).
    #   ann 0.5·5 + 0.5·(0.5·10) = 5; bob 0.25·8 + 0.5·(0.25·5) = 2.625
    rows = uses(("ann", 0, 25, 0.5), ("bob", 15, None, 0.25))
    used = usage(rows, "user", Windows(interval_s=10, depth=2, decay=0.5), [0, 20, 30], 28)
    assert table(used) == {"ann": [0.0, 7.5, 5.0], "bob": [0.0, 1.25, 2.625]}
    assert used.total.tolist() == [0.0, 8.75, 7.625]
    assert used.fraction[0].tolist() == [0.0, 0.0]
    assert used.first_start.tolist() == [0, 15]


def test_half_life_by_hand() -> None:
    # H = 10 s, penalty ln 2. Over [0, 10) at T = 10: ln 2 · (10/ln 2) · (1 − 1/2) = 5; ten seconds
    # later 2.5, ten more 1.25. Constant use gives 5, 7.5, 8.75: each time half, and 5 more.
    penalty = float(np.log(2))
    rows = uses(("ann", 0, 10, penalty), ("bob", 0, None, penalty), ("cem", 40, 50, penalty))
    used = usage(rows, "user", HalfLife(half_life_s=10), [10, 20, 30], 60)
    assert table(used)["ann"] == pytest.approx([5, 2.5, 1.25], rel=1e-14)
    assert table(used)["bob"] == pytest.approx([5, 7.5, 8.75], rel=1e-14)
    assert table(used)["cem"] == [0, 0, 0]


def test_calendar_windows_begin_where_the_clock_says() -> None:
    def day(year: int, month: int, number: int) -> int:
        return day_start(date(year, month, number), BERLIN)

    # 2026-03-29 has 23 hours, 2026-10-25 has 25; both Sundays.
    noon = day(2026, 3, 29) + 11 * HOUR
    bounds = calendar(np.array([noon]), DAY, 3, BERLIN)[0].tolist()
    assert bounds == [noon, day(2026, 3, 29), day(2026, 3, 28), day(2026, 3, 27)]
    noon = day(2026, 10, 26) + 12 * HOUR
    assert calendar(np.array([noon]), DAY, 2, BERLIN)[0, 1] - day(2026, 10, 25) == 25 * HOUR
    # Weeks begin on Mondays.
    weeks = calendar(np.array([noon]), 7 * DAY, 2, BERLIN)[0].tolist()
    assert weeks == [noon, day(2026, 10, 26), day(2026, 10, 19)]
    assert ORIGIN.strftime("%A %H:%M") == "Monday 00:00"
    # At a bound, window 0 has just begun.
    midnight = day(2026, 10, 26)
    assert calendar(np.array([midnight]), DAY, 1, BERLIN).tolist() == [[midnight, midnight]]
    # Windows of 12 h: 0 to 12 o'clock lasts 11 hours in spring, 13 in autumn.
    for sunday, hours in [(day(2026, 3, 29), 11), (day(2026, 10, 25), 13)]:
        end = sunday + hours * HOUR
        assert calendar(np.array([end]), 12 * HOUR, 2, BERLIN)[0].tolist() == [end, end, sunday]


def test_a_window_that_has_begun_stays_begun_when_the_clock_is_set_back() -> None:
    half_past = AUTUMN + DAY + 30 * 60  # 2:30, for the first time
    later = half_past + 40 * 60  # 2:10, for the second
    bounds = calendar(np.array([later]), 30 * 60, 2, BERLIN)[0].tolist()
    assert bounds == [later, half_past, half_past - 30 * 60]


def test_a_reading_that_the_clock_skips() -> None:
    change = SPRING + DAY + HOUR  # 2026-03-29 01:00 UTC
    skipped = datetime(2026, 3, 29, 2, 30)  # noqa: DTZ001
    assert first_reading(skipped, BERLIN) == change
    assert first_reading(skipped.replace(hour=3, minute=0), BERLIN) == change
    twice = datetime(2026, 10, 25, 2, 30)  # noqa: DTZ001
    assert first_reading(twice, BERLIN) == AUTUMN + DAY + 30 * 60
    # Samoa skipped the whole of 2011-12-30.
    apia = ZoneInfo("Pacific/Apia")
    friday = datetime(2011, 12, 30, 6)  # noqa: DTZ001
    saturday = datetime(2011, 12, 31)  # noqa: DTZ001
    assert first_reading(friday, apia) == first_reading(saturday, apia)


@given(charged(), methods, instants, st.randoms(use_true_random=False))
def test_rows_and_names_change_no_bit(
    rows: pl.DataFrame, method: Method, at: list[int], random: Any
) -> None:
    before = usage(rows, "user", method, at, NOW)
    order = list(range(rows.height))
    random.shuffle(order)
    assert table(usage(rows[order], "user", method, at, NOW)) == table(before)
    new = {"ann": "zoe", "bob": "ann", "cem": "bob", "dot": "cem"}
    renamed = usage(rows.with_columns(pl.col("user").replace(new)), "user", method, at, NOW)
    assert table(renamed) == {new.get(o or "", o): of for o, of in table(before).items()}
    assert renamed.total.tolist() == before.total.tolist()


def test_five_years_lose_nothing() -> None:
    # A user who runs all the time beside one second of another's a day, each day's end: the last
    # day's second must come out as such after 1,826 days.
    at = [DAY * k for k in range(1, 1_827)]
    seconds = [("bob", t - 1, t, 1e-9) for t in at]
    rows = uses(("ann", 0, None, 1e6), *seconds)
    used = usage(rows, "user", Windows(interval_s=DAY, depth=1, decay=1.0), at, at[-1])
    assert table(used) == {"ann": [1e6 * DAY] * 1_826, "bob": [1e-9] * 1_826}


def test_nobody_and_never() -> None:
    for method in (Windows(interval_s=1, depth=1, decay=1.0), HalfLife(half_life_s=1.0)):
        nothing = usage(uses(), "user", method, [5], 9)
        assert nothing.usage.shape == (1, 0)
        assert nothing.total.tolist() == [0.0]
        never = usage(uses(("ann", 0, 3, 1.0)), "user", method, [], 9)
        assert never.usage.shape == (0, 1)
        nameless = usage(uses((None, 0, 3, 1.0)), "user", method, [3], 9)
        assert nameless.entities.to_list() == [None]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"interval_s": 0}, "interval_s = 0"),
        ({"depth": 0}, "depth = 0"),
        ({"decay": -0.1}, "decay = -0.1"),
        ({"decay": float("nan")}, "decay = nan"),
        ({"decay": 10.0, "depth": 200}, "oldest window"),
        ({"interval_s": 10**9, "depth": 10**6}, "1,000 years"),
        ({"alignment": "sideways"}, "alignment = 'sideways'"),
        ({"alignment": "calendar"}, "zone"),
    ],
)
def test_windows_that_mean_nothing(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Windows(**{"interval_s": 1, "depth": 1, "decay": 0.5, **wrong})


@pytest.mark.parametrize("half_life", [0.0, -5.0, float("inf"), float("nan")])
def test_a_half_life_of_zero_is_not_off(half_life: float) -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        HalfLife(half_life_s=half_life)


def test_instants_must_ascend() -> None:
    with pytest.raises(ValueError, match="strictly ascending"):
        usage(uses(), "user", HalfLife(half_life_s=1.0), [2, 2], 9)


def test_names_whose_hashes_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    true_hash = pl.Series.hash

    def colliding(values: pl.Series, seed: int = 0) -> pl.Series:
        return (
            true_hash(values, seed) if seed > 1 else pl.Series([7] * len(values), dtype=pl.UInt64)
        )

    rows = uses(("bob", 0, 2, 1.0), (None, 0, 4, 1.0), ("ann", 0, 1, 1.0), ("bob", 1, 2, 1.0))
    expected = usage(rows, "user", HalfLife(half_life_s=9.0), [5], 9)
    monkeypatch.setattr(pl.Series, "hash", colliding)
    got = usage(rows, "user", HalfLife(half_life_s=9.0), [5], 9)
    assert got.entities.to_list() == [None, "ann", "bob"]
    assert table(got) == table(expected)
