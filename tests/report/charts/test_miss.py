from xml.etree import ElementTree

from audit.report.charts import drawing
from audit.report.charts import miss as miss_chart
from tests.report.sample import (
    pool,
)


def test_bars_stand_side_by_side_with_their_intervals() -> None:
    made = miss_chart.miss(pool())
    assert made is not None
    assert [(row["width"], row["of"]) for row in made.spec["data"]["values"]][:4] == [
        ("all", "strict"),
        ("all", "relaxed"),
        ("1", "strict"),
        ("1", "relaxed"),
    ]
    first = made.spec["data"]["values"][0]
    assert (first["lower"], first["value"], first["upper"]) == (0.25, 0.5, 1.0)
    assert "Strict: over all 30 min, highest over 128 with 32 h." in made.alt
    ElementTree.fromstring(drawing.svg(made))
