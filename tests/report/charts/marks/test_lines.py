import re
from itertools import pairwise

from audit.report.charts.marks import lines, scales
from audit.report.charts.marks.lines import Line, Panel

X, Y = scales.linear([0.0, 10.0], scales.plain), scales.linear([0.0, 4.0], scales.plain)
Y_TITLED = scales.linear([0.0, 4.0], scales.plain, title="Work")


def points(body: str) -> list[list[tuple[float, float]]]:
    return [
        [tuple(map(float, at.split(","))) for at in line.split()]  # type: ignore[misc]
        for line in re.findall('<polyline points="([^"]*)"', body)
    ]


def test_a_step_holds_until_the_next() -> None:
    line = Line("", [(0, 1), (5, 1), (6, 2), (10, 2)], step=True)
    body, _ = lines.drawn([Panel(X, Y, [line])])
    (steps,) = points(body)
    assert len(steps) == 4
    assert steps[0][1] == steps[1][1]
    assert steps[1][0] == steps[2][0]


def test_names_at_the_ends_of_lines_are_kept_apart() -> None:
    close = [Line(name, [(0, 0), (10, 2 + k / 50)]) for k, name in enumerate("abc")]
    low = [Line(name, [(0, 1), (10, 0)]) for name in "de"]
    body, _ = lines.drawn([Panel(X, Y, [*close, *low])], at_ends=True)
    written = {says: float(y) for y, says in re.findall(r'y="([\d.]+)" [^>]*>([a-e])<', body)}
    places = sorted(written.values())
    assert set(written) == set("abcde")
    assert all(after - before >= 14.9 for before, after in pairwise(places))
    assert written["c"] < written["b"] < written["a"]


def test_lines_that_are_named_above_are_named_once() -> None:
    two = [Line("a", [(0, 0), (10, 1)]), Line("b", [(0, 1), (10, 2)])]
    body, _ = lines.drawn([Panel(X, Y, two, "p"), Panel(X, Y, two, "q")], abreast=2)
    for name in "abpq":
        assert body.count(f">{name}<") == 1


def test_bands_areas_and_targets() -> None:
    line = Line("", [(0, 1), (10, 2)], band=[(0, 0, 2), (10, 1, 3)], filled=0.3)
    body, _ = lines.drawn([Panel(X, Y, [line], targets=[(0, 5, "first")], level=1.0)])
    assert body.count("<polygon") == 2
    assert '<rect data-tip="first"' in body
    assert 'stroke-dasharray="3 3"' in body


def test_a_single_point_is_a_dot() -> None:
    body, _ = lines.drawn([Panel(X, Y, [Line("", [(5, 2)])])])
    assert "<circle" in body
    assert "<polyline" not in body


def test_names_of_shaded_ranges_are_below_the_title_of_the_axis() -> None:
    named = Panel(X, Y_TITLED, [Line("", [(0, 1), (10, 2)])], spans=[(2, 4, "burst")])
    body, _ = lines.drawn([named])
    places = {text: float(y) for y, text in re.findall(r'y="([\d.]+)"[^>]*>(burst|Work)<', body)}
    assert places["burst"] - places["Work"] >= 14
