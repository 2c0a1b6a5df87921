"""Colours and properties of label values."""

from ozx.hierarchy.ome.colors import parse_label_display


def test_label_colours_and_properties_that_are_malformed_are_left_out():
    colors = [
        {"label-value": 1, "rgba": [1, 2, 3, 4]},
        {"label-value": 2, "rgba": [1, 2, 3]},
        {"label-value": 3, "rgba": [1, 2, 3, 256]},
        {"label-value": 4.5, "rgba": [1, 2, 3, 4]},
        {"rgba": [1, 2, 3, 4]},
        7,
    ]
    label = {"colors": colors, "properties": [{"label-value": True}]}
    display = parse_label_display({"ome": {"image-label": label}}, 3)
    assert display.colors == {1: (1, 2, 3, 4)}
    assert display.properties == {}
