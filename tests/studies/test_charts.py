"""What the charts of studies share."""

from audit.studies.charts import Colours, Layout, Panels, heat_map, in_panels, strokes


def test_panels_fill_the_width_and_share_their_layers() -> None:
    layer = {"mark": "line"}
    made = in_panels("k", "T", "Alt.", [{"of": "b", "y": 1}], [layer], Panels(("a", "b"), 90))
    [faceted] = made.spec["vconcat"]
    assert faceted["facet"]["sort"] == ["a", "b"]
    assert faceted["spec"]["layer"] == [layer]
    assert (faceted["spec"]["width"], faceted["spec"]["height"]) == (312, 90)
    assert "resolve" not in faceted
    assert made.spec["description"] == made.alt == "Alt."
    assert Panels(("a",), 90, columns=1).width == 640
    assert Panels(("a",), 90, columns=2, gap=20, axes=60).width == 280


def test_lines_differ_in_colour_and_in_dashes() -> None:
    made = strokes("of", ["a", "b"], ["red", "blue", "green"], [[1, 0], [2, 2], [3, 3]], columns=6)
    assert made["color"]["scale"] == {"domain": ["a", "b"], "range": ["red", "blue"]}
    assert made["strokeDash"]["scale"]["range"] == [[1, 0], [2, 2]]
    assert made["color"]["legend"] == made["strokeDash"]["legend"]
    assert made["color"]["legend"]["columns"] == 6


def test_colours_of_a_heat_map_reach_to_the_greatest_value() -> None:
    cells = [{"of": "p", "x": 1, "y": "r", "value": 8.0, "known": True, "says": "8"}]
    layout = Layout(["p"], ["r"], "X", x_values=[1, 2])

    def colour(colours: Colours) -> dict[str, object]:
        [faceted] = heat_map("k", "T", "Alt.", cells, layout, colours).spec["vconcat"]
        [layer] = faceted["spec"]["layer"]
        assert layer["encoding"]["x"]["axis"]["values"] == [1, 2]
        scale: dict[str, object] = layer["encoding"]["color"]["condition"]["scale"]
        return scale

    assert colour(Colours("L"))["domain"] == [0, 8.0]
    assert colour(Colours("L", most=5.0, logarithmic=True)) == {
        "scheme": "yelloworangered",
        "domain": [1, 5.0],
        "clamp": True,
        "type": "log",
    }
