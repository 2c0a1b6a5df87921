"""The arrays of `ozx.open`: zarr arrays that read and write windows without zarr-python's machinery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from ozx.codecs.bounded_arrays import bound_array
from ozx.errors import UsageError
from ozx.store.pixels.basic import BasicAccess, basic_access
from ozx.store.pixels.pipeline import ArchivePipeline


class Array(zarr.Array[Any]):
    """A `zarr.Array` of an archive: the result of `ozx.open_array`, and the arrays of the groups of `ozx.open`.

    Selections of integers, slices and an ellipsis are read by ozx itself, from a file or a URL, and written. Everything
    else is that of `zarr.Array`.

    Parameters
    ----------
    async_array
        The asynchronous array of zarr-python, as in ``zarr.Array(async_array)``.

    Examples
    --------
    >>> import ozx
    >>> array = ozx.open_array("cells.ozx", "0")
    >>> array[0, :8, ::64].shape
    (8, 4)
    """

    _access: BasicAccess | None = None

    def __init__(self, async_array: zarr.AsyncArray[Any]) -> None:
        super().__init__(async_array)
        bound_array(self, ArchivePipeline)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_access"}

    def __getitem__(self, selection: Any) -> Any:
        """Return the pixels of a selection, as `zarr.Array.__getitem__` does."""
        found = self._read([selection])
        if found is None:
            return super().__getitem__(selection)
        pixels = found[0]
        # zarr-python returns a scalar unless it takes a selection of integers for an orthogonal one.
        return pixels[()] if pixels.ndim == 0 and not self._is_orthogonal(selection) else pixels

    def get_basic_selection(
        self, selection: Any = Ellipsis, *, out: Any = None, prototype: Any = None, fields: Any = None
    ) -> Any:
        """Return the pixels of a basic selection, as `zarr.Array.get_basic_selection` does."""
        found = self._read([selection]) if out is None and prototype is None and fields is None else None
        if found is None:
            return super().get_basic_selection(selection, out=out, prototype=prototype, fields=fields)
        return found[0] if found[0].ndim else found[0][()]

    def __setitem__(self, selection: Any, value: Any) -> None:
        """Write the pixels of a selection, as `zarr.Array.__setitem__` does."""
        if not self._write(selection, value):
            super().__setitem__(selection, value)

    def set_basic_selection(self, selection: Any, value: Any, *, fields: Any = None, prototype: Any = None) -> None:
        """Write the pixels of a basic selection, as `zarr.Array.set_basic_selection` does."""
        if fields is not None or prototype is not None or not self._write(selection, value):
            super().set_basic_selection(selection, value, fields=fields, prototype=prototype)

    def read_many(self, selections: Sequence[Any], out: NDArray[Any] | None = None) -> Any:
        """Return the pixels of several selections; those of neighbouring chunks are read together.

        Parameters
        ----------
        selections
            Selections as in ``array[selection]``, of any kind.
        out
            An array for the pixels, with one item per selection, which have the same shape then.

        Returns
        -------
        list or numpy.ndarray
            The pixels of each selection, as ``[array[selection] for selection in selections]`` returns them; or `out`.

        Raises
        ------
        UsageError
            `out` has another number of items.

        Examples
        --------
        >>> import ozx
        >>> array = ozx.open_array("cells.ozx", "0")
        >>> [window.shape for window in array.read_many([(0, slice(0, 8), slice(0, 8)), (1, slice(0, 4))])]
        [(8, 8), (4, 256)]
        """
        if out is not None and len(out) != len(selections):
            raise UsageError(f"expected out with {len(selections):,} items, one per selection; it has {len(out):,}")
        found = self._read(selections, out) if out is None or isinstance(out, np.ndarray) else None
        if found is None:
            found = [self[selection] for selection in selections]
            if out is not None:
                for number, pixels in enumerate(found):
                    out[number] = pixels
        return found if out is None else out

    def _read(self, selections: Sequence[Any], out: NDArray[Any] | None = None) -> list[NDArray[Any]] | None:
        """Return the pixels of basic selections; None if only zarr-python can read them."""
        access = self._basic()
        return None if access is None else access.read(selections, out)

    def _write(self, selection: Any, value: Any) -> bool:
        """Write the pixels of a basic selection; return False if only zarr-python can write them."""
        access = self._basic()
        return access is not None and access.write(selection, value)

    def _basic(self) -> BasicAccess | None:
        access = self._access
        if access is None or access.metadata is not self._async_array.metadata:
            access = self._access = basic_access(self._async_array)
        return access if access is not None and access.is_usable else None

    def _is_orthogonal(self, selection: Any) -> bool:
        parts = selection if isinstance(selection, tuple) else (selection,)
        return self.ndim > 0 and all(isinstance(part, int | slice) for part in parts)


def opened_array(array: Any) -> Any:
    """Return a zarr array as an `Array`; return any other object unchanged."""
    return Array(array._async_array) if isinstance(array, zarr.Array) else array  # noqa: SLF001 (the only way)
