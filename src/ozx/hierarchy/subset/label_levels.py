"""Choice of a label image's levels that match the kept levels of its image."""

from __future__ import annotations

import math
from collections.abc import Collection

from ozx.hierarchy.ome.metadata import Dataset, Multiscale

#: OME-Zarr 0.5, "labels": the name of the group beside the levels of an image.
LABELS = "labels"


def labels_group(path: str) -> str:
    """Return the path of the ``labels`` group that lists the label image at `path`.

    Examples
    --------
    >>> labels_group("A/1/0/labels/cells"), labels_group("labels/by hand/cells")
    ('A/1/0/labels', 'labels')
    """
    parts = path.split("/")
    return "/".join(parts[: len(parts) - parts[::-1].index(LABELS)])


def matching_levels(label: Multiscale, image: Multiscale, kept: Collection[int]) -> list[int]:
    """Return the indexes of a label image's levels that match the kept levels of its image.

    OME-Zarr 0.5, "labels": both "MUST have the same number of entries (scale levels)", so that levels match by their
    numbers. If the numbers of levels differ, a level matches if the image's level of the most similar pixel size is
    kept. If no level matches, the level that is most similar to a kept level is returned: a label image needs a level.
    """
    count = len(label.datasets)
    if count == len(image.datasets):
        return sorted(kept)
    if len(kept) == len(image.datasets) or not count:
        return list(range(count))
    theirs = [_fineness(image, dataset, label) for dataset in image.datasets]
    ours = [_fineness(label, dataset, image) for dataset in label.datasets]
    least: list[tuple[float, int]] = []
    found = []
    for number, own in enumerate(ours):
        distances = [
            abs(at - number) if own is None or other is None else abs(own - other) for at, other in enumerate(theirs)
        ]
        nearest = min(distances[at] for at in kept)
        least.append((nearest, number))
        if math.isclose(nearest, min(distances), abs_tol=1e-6):
            found.append(number)
    return found or [min(least)[1]]


def _fineness(multiscale: Multiscale, dataset: Dataset, other: Multiscale) -> float | None:
    """Return the sum of the logarithms of a level's scales along the axes that `other` also has, except channels."""
    if dataset.scale is None or min(dataset.scale, default=1.0) <= 0:
        return None
    names = {axis.name for axis in other.axes}
    return sum(
        math.log(scale)
        for axis, scale in zip(multiscale.axes, dataset.scale, strict=True)
        if axis.name in names and axis.type != "channel"
    )
