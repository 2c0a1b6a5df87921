"""Handlers of two extensions from the examples of ZEP 10, as another package would add them to ozx."""

from ozx import UnsupportedError
from ozx.extensions import Fault


class OffsetArray:
    """An array whose indices count from `offset`; takes integers and slices with non-negative bounds."""

    def __init__(self, array, offset):
        self.array = array
        self.offset = tuple(offset)
        self.shape = tuple(length - start for length, start in zip(array.shape, offset, strict=True))

    def __getitem__(self, selection):
        selection = selection if isinstance(selection, tuple) else (selection,)
        selection += (slice(None),) * (len(self.offset) - len(selection))
        return self.array[tuple(map(self._moved, selection, self.offset, self.shape))]

    @staticmethod
    def _moved(part, start, length):
        if isinstance(part, int):
            return part + start
        low, high, step = part.indices(length)
        return slice(low + start, high + start, step)


class Offset:
    """``example.offset``: "which element of the array should be considered as the origin"."""

    def check(self, configuration, node):
        offset, shape = configuration.get("offset"), node.document.get("shape", [])
        if not isinstance(offset, list) or len(offset) != len(shape):
            yield Fault(f"expected an offset of {len(shape)} lengths; found {offset!r}", "/offset")
        elif any(not 0 <= start < length for start, length in zip(offset, shape, strict=True)):
            yield Fault("expected an offset inside the array", "/offset", "warning")

    def open(self, node, array):
        for extension in node.document["extensions"]:
            if extension["name"] == "example.offset":
                return OffsetArray(array, extension["configuration"]["offset"])
        return array

    def relayout(self, configuration, old, new):
        if old.document["shape"] != new.document["shape"]:
            raise UnsupportedError("example.offset: expected an array of the same shape")
        return configuration


class Statistics:
    """``example.array-statistics``: "specifying the range of values which are present in the array"."""

    def check(self, configuration, node):
        low, high = configuration.get("min"), configuration.get("max")
        if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
            yield Fault(f"expected min not above max; found {low} and {high}", "/min")

    def relayout(self, configuration, old, new):
        return configuration
