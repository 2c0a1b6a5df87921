"""Colours and properties of label values in OME-Zarr metadata.

"image-label" has the same form in 0.4 and 0.5. Parsing never fails: malformed items are left out, because no picture
depends on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ozx.hierarchy.json.values import as_list, as_object
from ozx.hierarchy.ome.metadata import ome_object


@dataclass(frozen=True, slots=True)
class LabelDisplay:
    """Display settings of a label image."""

    # Red, green, blue and alpha, each from 0 to 255, by label value.
    colors: dict[int, tuple[int, int, int, int]]
    # The properties of each label value, as a mapping from property names.
    properties: dict[int, dict[str, Any]]


def parse_label_display(attributes: dict[str, Any], zarr_format: int) -> LabelDisplay:
    """Return the colours and properties of label values, from ``image-label``."""
    label = as_object(ome_object(attributes, zarr_format).get("image-label"))
    colors: dict[int, tuple[int, int, int, int]] = {}
    for value, item in _by_label(label.get("colors")):
        rgba = as_list(item.get("rgba"))
        if len(rgba) == 4 and all(type(part) is int and 0 <= part <= 255 for part in rgba):
            colors[value] = (rgba[0], rgba[1], rgba[2], rgba[3])
    properties = {
        value: {name: known for name, known in item.items() if name != "label-value"}
        for value, item in _by_label(label.get("properties"))
    }
    return LabelDisplay(colors, properties)


def _by_label(value: Any) -> list[tuple[int, dict[str, Any]]]:
    items = [as_object(item) for item in as_list(value)]
    return [(item["label-value"], item) for item in items if type(item.get("label-value")) is int]
