"""Surfaces as they are drawn."""

import re

import polars as pl

from audit.studies.penalties.charts import Panel, surfaces


def test_a_surface_says_its_corners() -> None:
    flat = pl.DataFrame(
        {
            "cpus": [0.0, 0.0, 1.0, 1.0],
            "mem_bytes": [0.0, 1.0, 0.0, 1.0],
            "penalty": [0.0, 0.25, 1, 1],
        }
    )
    chart = surfaces("s", "S", [Panel("one", flat)], marked=True)
    assert "one: 1.00 for all processors and no memory, 0.25 for no processors" in chart.alt
    shapes = re.findall(r'<polygon points="([^"]*)" fill="var\(--earlier\)"', chart.body)
    assert [len(shape.split()) for shape in shapes] == [4]
