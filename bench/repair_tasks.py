"""Tasks of recovering and upgrading files."""

from __future__ import annotations

from collections.abc import Callable

from worker import Repeated


def ozx_recover(broken: str, out: str) -> Callable[[], object]:
    """Return the task of recovering a damaged file by `ozx.recover`."""
    import ozx

    recover = ozx.recover
    return lambda: recover(broken, out, sync=False)


def compare(made: str, source: str) -> Repeated:
    """Return the task of comparing all pixels of an upgraded file with the same image in OME-Zarr 0.5."""
    import numpy as np
    import zarr
    from zarr.storage import ZipStore

    def run() -> None:
        old = zarr.open_array(f"{source}/0", mode="r")
        group = zarr.open_group(ZipStore(made, mode="r"), mode="r")
        assert group.attrs["ome"]["version"] == "0.5"
        for plane in range(old.shape[0]):
            assert np.array_equal(old[plane], group["0"][plane]), plane

    return Repeated(run, lambda _: None)
