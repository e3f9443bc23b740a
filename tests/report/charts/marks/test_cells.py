import re

from audit.report.charts.marks import cells
from audit.report.charts.marks.cells import HeatCell, Map

LOOKS = Map(("r", "s"), ("1", "2"), ("0", "9 h"), "what", "none", "Hour", ("p", "q"), abreast=2)


def test_the_stronger_the_greater() -> None:
    shown = [
        HeatCell(0, 0, 0, 0.0, "least"),
        HeatCell(1, 1, 1, 1.0, "most"),
        HeatCell(0, 0, 1, None, "none"),
    ]
    body, _ = cells.drawn(shown, LOOKS)
    told = dict(re.findall(r'fill-opacity="([\d.]+)" data-tip="(\w+)"', body))
    assert {tip: float(strength) for strength, tip in told.items()} == {
        "least": 0.06,
        "most": 1.0,
        "none": 0.55,
    }
    for said in ("p", "q", "what", "9 h", "none", "Hour"):
        assert f">{said}<" in body


def test_cells_stand_in_rows_and_columns() -> None:
    shown = [HeatCell(0, row, column, 0.5, f"{row}{column}") for row in (0, 1) for column in (0, 1)]
    body, _ = cells.drawn(shown, LOOKS)
    at = {
        tip: (float(x), float(y))
        for x, y, tip in re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"[^>]*data-tip="(\d\d)"', body)
    }
    assert at["00"][1] == at["01"][1] < at["10"][1]
    assert at["00"][0] == at["10"][0] < at["01"][0]
