import re

from audit.report.charts.marks import dots, scales
from audit.report.charts.marks.dots import Dot, DotRow, Looks
from audit.report.charts.marks.frame import Series
from audit.report.charts.style import EARLIER, LATER

AXIS = scales.linear([0.0, 10.0], scales.plain)
KINDS = (Series("one", EARLIER), Series("two", LATER, "square", hollow=True))


def test_a_small_picture() -> None:
    body, height = dots.drawn(
        [DotRow("a", (Dot(0, 5.0, 0.0, 10.0, "five"),), "5 h")], Looks(KINDS[:1], AXIS)
    )
    place = re.search(r'<circle cx="([\d.]+)"', body)
    ends = re.search(
        r'<line x1="([\d.]+)" y1="16" x2="([\d.]+)" y2="16" stroke="var\(--earlier\)"', body
    )
    assert place is not None
    assert ends is not None
    low, high = map(float, ends.groups())
    assert abs(float(place[1]) - (low + high) / 2) <= 0.1
    assert 'data-tip="five"' in body
    assert ">5 h<" in body
    assert height == 47


def test_several_series_have_a_key_and_lie_apart() -> None:
    rows = [DotRow("a", (Dot(0, 1.0, 0.0, 2.0), Dot(1, 2.0, 1.0, 3.0)))]
    body, _ = dots.drawn(rows, Looks(KINDS, AXIS))
    assert ">one<" in body
    assert ">two<" in body
    lines = re.findall(r'<line [^>]*y1="([\d.]+)"[^>]*stroke="var\(--(?:earlier|later)\)"', body)
    assert len(set(lines)) == 2


def test_a_rule_says_what_its_sides_mean() -> None:
    looks = Looks(KINDS[:1], scales.linear([-5.0, 5.0], scales.plain), 0.0, ("less", "more"))
    body, _ = dots.drawn([DotRow("a", (Dot(0, 1.0),))], looks)
    assert "← less" in body
    assert "more →" in body
    assert 'stroke-dasharray="3 3"' in body
