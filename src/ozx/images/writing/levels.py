"""The resolution levels of an image, and the physical positions of their pixels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ozx.errors import UsageError
from ozx.hierarchy.ome.metadata import Axis
from ozx.images.writing.downsampling import Method, halved_shape, parse_method

#: The longest side of the coarsest level in pixels: that of a thumbnail.
COARSEST = 256

# If a voxel is less than √2 times as long along z as along y and x, halving z too keeps it closer to a cube.
_NEARLY_CUBIC = math.sqrt(2)


@dataclass(frozen=True, slots=True)
class PyramidChoice:
    """Options for the lower resolution levels."""

    method: Method = "mean"  # the method of downsampling
    # Names of the axes to halve from each level to the next; empty for a single level. None lets ozx choose: y and x,
    # and also z if the voxel is nearly a cube.
    axes: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, method: str = "mean", downsample: str | Sequence[str] | None = None) -> PyramidChoice:
        """Parse the pyramid options of the command line.

        Examples
        --------
        >>> PyramidChoice.parse("mode", "y,x")
        PyramidChoice(method='mode', axes=('y', 'x'))
        """
        chosen = parse_method(method)
        if downsample is None or downsample == "auto":
            return cls(chosen)
        if downsample == "none":
            return cls(chosen, ())
        names = downsample.split(",") if isinstance(downsample, str) else downsample
        axes = tuple(str(name).strip() for name in names) if isinstance(names, Iterable) else ("",)
        if len(set(axes)) < len(axes) or "" in axes:
            raise UsageError(f"expected auto, none, or the axes to halve, as in z,y,x; got {downsample!r}")
        return cls(chosen, axes)


@dataclass(frozen=True, slots=True)
class PyramidLevel:
    """One resolution level: its lengths, its scale and translation in axis units, and the axes that were halved."""

    shape: tuple[int, ...]  # one value per axis; the translation is that of the centre of the first pixel
    scale: tuple[float, ...]
    translation: tuple[float, ...]
    halved: tuple[int, ...] = ()  # numbers of the axes halved from the level before


def plan_pyramid(first: PyramidLevel, axes: Sequence[Axis], choice: PyramidChoice) -> tuple[PyramidLevel, ...]:
    """Return the levels of an image, full resolution first, until all halved axes have at most `COARSEST` pixels.

    Examples
    --------
    >>> axes = [Axis("y", "space", "micrometer"), Axis("x", "space", "micrometer")]
    >>> for level in plan_pyramid(PyramidLevel((700, 401), (0.5, 0.5), (0.0, 0.0)), axes, PyramidChoice()):
    ...     print(level.shape, level.scale, level.translation)
    (700, 401) (0.5, 0.5) (0.0, 0.0)
    (350, 201) (1.0, 1.0) (0.25, 0.25)
    (175, 101) (2.0, 2.0) (0.75, 0.75)
    """
    levels = [first]
    asked = None if choice.axes is None else _numbers(choice.axes, axes)
    while True:
        last = levels[-1]
        halved = _choose(last, axes) if asked is None else asked
        if max((last.shape[axis] for axis in halved), default=0) <= COARSEST:
            return tuple(levels)
        # An axis of one pixel cannot be halved.
        levels.append(_next_level(last, tuple(axis for axis in halved if last.shape[axis] > 1), choice.method))


def _next_level(level: PyramidLevel, halved: tuple[int, ...], method: Method) -> PyramidLevel:
    scale, translation = list(level.scale), list(level.translation)
    for axis in halved:
        if method != "nearest":  # the first pixel keeps its place; the centre of two is half a pixel further
            translation[axis] += scale[axis] / 2
        scale[axis] *= 2
    return PyramidLevel(halved_shape(level.shape, halved), tuple(scale), tuple(translation), halved)


def _numbers(names: Sequence[str], axes: Sequence[Axis]) -> tuple[int, ...]:
    there = [axis.name for axis in axes]
    for name in names:
        if name not in there:
            raise UsageError(
                f"expected axes of the image; it has no axis {name!r}",
                hint=f"Choose from the axes {', '.join(map(str, there))}.",
            )
        if axes[there.index(name)].type == "channel":
            raise UsageError(
                f"axis {name!r} is the channel axis and cannot be downsampled", hint="Choose axes such as y,x."
            )
    return tuple(sorted(there.index(name) for name in names))


def _choose(level: PyramidLevel, axes: Sequence[Axis]) -> tuple[int, ...]:
    space = [number for number, axis in enumerate(axes) if axis.type == "space"]
    plane = tuple(space[-2:])
    if len(space) < 3:
        return plane
    z = space[-3]
    if not _is_known(level, axes, (z, *plane)):
        return plane
    is_cubic = level.scale[z] < _NEARLY_CUBIC * min(level.scale[axis] for axis in plane)
    return (z, *plane) if is_cubic else plane


def _is_known(level: PyramidLevel, axes: Sequence[Axis], voxel: tuple[int, ...]) -> bool:
    """Return whether the metadata gives the shape of a voxel.

    All sides must have the same unit. Without units, at least one length must differ from 1, the default.
    """
    if len({axes[axis].unit for axis in voxel}) > 1:
        return False
    return axes[voxel[0]].unit is not None or any(level.scale[axis] != 1.0 for axis in voxel)
