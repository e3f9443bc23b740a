import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.report.charts.marks import scales

POSITIVE = st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=9)


@given(st.lists(st.floats(-1e9, 1e9), max_size=9))
def test_an_even_axis_holds_all_values_and_zero(values: list[float]) -> None:
    axis = scales.linear(values, scales.plain)
    width = axis.high - axis.low
    assert axis.low <= min([0.0, *values]) + 1e-6 * width
    assert axis.high >= max([0.0, *values]) - 1e-6 * width
    assert 2 <= len(axis.ticks) <= 12
    assert 0 <= axis.at(0.0) <= 1


@given(POSITIVE)
def test_an_axis_by_factors_holds_all_values(values: list[float]) -> None:
    axis = scales.by_factors(values, scales.plain)
    assert axis.low <= min(values)
    assert axis.high >= max(values)
    places = [axis.at(value) for value in sorted(values)]
    assert places == sorted(places)
    assert 1 <= len(axis.ticks) <= 7


def test_by_hand() -> None:
    axis = scales.linear([0.0, 7.0], scales.plain)
    assert [label for _, label in axis.ticks] == ["0", "2", "4", "6", "8"]
    assert axis.at(4) == 0.5
    assert scales.Axis(1, 100, (), logarithmic=True).at(10) == pytest.approx(0.5)
    assert axis.between(100, 0)(8) == 0
    assert axis.at(99) == 1
    assert [scales.percent(of) for of in (0.0005, -0.25, 10.0)] == ["0.05 %", "−25 %", "1,000 %"]
    assert [label for _, label in scales.shares([0.3]).ticks] == ["0 %", "10 %", "20 %", "30 %"]


def test_what_is_shorter_than_the_axis_stands_at_its_beginning() -> None:
    axis = scales.durations([0.0, 7_200.0], least=10)
    assert axis.ticks[0] == (10.0, "≤ 10 s")
    assert axis.at(0) == axis.at(10) == 0
    assert scales.durations([3_700.0, 7_200.0], least=10).ticks[0] == (3_600.0, "1 h")


@pytest.mark.parametrize(
    ("first", "last", "labels"),
    [
        ("2026-10-01", "2026-10-31", ["1 Oct", "7 Oct", "13 Oct", "19 Oct", "25 Oct", "31 Oct"]),
        ("2026-03-15", "2026-07-02", ["Apr 2026", "May", "Jun", "Jul"]),
        ("1996-09-24", "1997-08-29", ["Nov", "1997", "Mar", "May", "Jul"]),
        ("2001-05-01", "2011-05-01", ["2002", "2004", "2006", "2008", "2010"]),
        ("2026-10-01", "2026-10-01", ["1 Oct"]),
        ("1975-01-01", "2059-03-01", ["1980", "2000", "2020", "2040"]),
        ("0001-01-01", "9999-12-31", ["1280", "2560", "3840", "5120", "6400", "7680", "8960"]),
    ],
)
def test_days_are_labelled_by_day_month_or_year(first: str, last: str, labels: list[str]) -> None:
    assert [label for _, label in scales.days(first, last).ticks] == labels


def test_a_day_is_labelled_in_full() -> None:
    assert scales.day("1997-03-08") == "8 Mar 1997"
    assert scales.day_number("1997-03-08", "1997-03-01") == 7
