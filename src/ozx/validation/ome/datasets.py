"""The list of levels of an image, which is the same in all versions."""

from __future__ import annotations

from typing import Any

from ozx.validation.ome.expecting import expect_objects, expect_text, find
from ozx.validation.ome.place import Check, Place

__all__ = ["check_datasets"]


def check_datasets(item: dict[str, Any], place: Place) -> Check[list[tuple[Place, dict[str, Any]]]]:
    """Yield what is wrong with the list of levels; return those that are objects."""
    # "Each "multiscales" dictionary MUST contain the field "datasets", which is a list of dictionaries describing the
    # arrays storing the individual resolution levels."
    datasets = yield from expect_objects(find(item, "datasets"), place / "datasets", "ome/datasets")
    for where, dataset in datasets:
        # "Each dictionary in "datasets" MUST contain the field "path"".
        yield from expect_text(dataset, "path", where, "ome/datasets")
    return datasets
