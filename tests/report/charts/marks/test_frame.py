import re
from itertools import pairwise

from audit.report.charts.marks import frame, scales
from audit.report.charts.marks.frame import Box, Series
from audit.report.charts.marks.svg import Canvas


def test_keys_wrap_where_the_line_is_full() -> None:
    canvas = Canvas()
    end = frame.keys(canvas, [Series(f"a rather long name {number}") for number in range(5)])
    baselines = {float(y) for y in re.findall(r'<text x="[\d.]+" y="([\d.]+)"', canvas.body)}
    assert len(baselines) == 2
    assert end > max(baselines)


def test_labels_of_an_axis_do_not_touch() -> None:
    ticks = tuple((float(n), f"label {n}") for n in range(30))
    canvas = Canvas()
    frame.across(canvas, scales.Axis(0, 29, ticks), Box(40, 0, 520, 100))
    middles = [float(x) for x in re.findall(r'<text x="([\d.]+)"', canvas.body)]
    assert 5 < len(middles) < 12
    assert all(after - before > 45 for before, after in pairwise(middles))


def test_panels_fill_the_width() -> None:
    edges = frame.panels(3, 2, 30, gap=20)
    assert edges == [(30, 250), (300, 520), (30, 250)]
