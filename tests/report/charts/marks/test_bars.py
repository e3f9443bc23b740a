import re

from audit.report.charts.marks import bars, scales
from audit.report.charts.marks.bars import Bar, BarPart, Columns, Divided
from audit.report.charts.marks.frame import Series
from audit.report.charts.style import EARLIER, LATER

KINDS = (Series("one", EARLIER, "block"), Series("two", LATER, "block"))
AXIS = scales.linear([0.0, 4.0], scales.plain)


def blocks(body: str, colour: str) -> list[dict[str, float]]:
    """Numbers of the rectangles of a colour, keys left out."""
    found = []
    for attributes in re.findall(rf'<rect ([^>]*)fill="var\(--{colour}\)"', body):
        of = {name: float(value) for name, value in re.findall(r'(\w+)="([\d.]+)"', attributes)}
        if (of["width"], of["height"]) != (11, 11):
            found.append(of)
    return found


def test_parts_are_as_wide_as_their_shares() -> None:
    row = Divided("a", (BarPart(0, 0.25, "quarter", "25 %"), BarPart(1, 0.75)), "1 h")
    body, height = bars.divided([row], KINDS, "mean")
    (one,), (two,) = blocks(body, "earlier"), blocks(body, "later")
    assert abs(3 * (one["width"] + 1) - (two["width"] + 1)) < 0.8
    assert abs(two["x"] - one["x"] - one["width"] - 1) < 0.2
    assert ">25 %<" in body
    assert ">mean<" in body
    assert height == 63


def test_columns_stand_beside_or_upon_each_other() -> None:
    shown = [Bar(0, 0, 0, 1.0), Bar(0, 0, 1, 3.0, 2.0, 4.0)]
    beside, _ = bars.columns(shown, Columns(("g",), KINDS, AXIS))
    (one,), (two,) = blocks(beside, "earlier"), blocks(beside, "later")
    assert abs(one["y"] + one["height"] - two["y"] - two["height"]) <= 0.1
    assert abs(3 * one["height"] - two["height"]) <= 0.3
    assert one["x"] < two["x"]
    upon, _ = bars.columns(shown, Columns(("g",), KINDS, AXIS, upon=True))
    (one,), (two,) = blocks(upon, "earlier"), blocks(upon, "later")
    assert one["x"] == two["x"]
    assert abs(two["y"] + two["height"] - one["y"]) <= 0.1


def test_wide_labels_take_turns() -> None:
    groups = tuple(f"a wide label {number}" for number in range(12))
    shown = [Bar(0, number, 0, 1.0) for number in range(12)]
    body, _ = bars.columns(shown, Columns(groups, KINDS[:1], AXIS))
    lines = {y for y, label in re.findall(r'y="([\d.]+)"[^>]*>(a wide label \d+)<', body)}
    assert len(lines) == 3
