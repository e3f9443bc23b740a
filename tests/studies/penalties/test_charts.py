"""Surfaces as they are drawn."""

import re

import polars as pl

from audit.studies.penalties import compute
from audit.studies.penalties.charts import squares, surfaces


def test_a_surface_says_its_corners() -> None:
    flat = pl.DataFrame(
        {
            "cpus": [0.0, 0.0, 1.0, 1.0],
            "mem_bytes": [0.0, 1.0, 0.0, 1.0],
            "penalty": [0.0, 0.25, 1, 1],
        }
    )
    chart = surfaces("s", "S", {"one": flat}, marked=True)
    assert "one: 1.00 for all processors and no memory, 0.25 for no processors" in chart.alt
    shapes = re.findall(r'<polygon points="([^"]*)" fill="var\(--earlier\)"', chart.body)
    assert [len(shape.split()) for shape in shapes] == [4]


def test_squares_cover_a_surface_from_its_far_corner() -> None:
    first, *_, last = made = list(squares(compute.surface("sum")))
    assert len(made) == compute.STEPS**2
    assert first[2] == (1.0, 1.0, 1.0)
    step = 1 / compute.STEPS
    assert {corner[:2] for corner in last} == {(0, 0), (0, step), (step, step), (step, 0)}
