"""Tasks of making files whole and new."""

from __future__ import annotations

from collections.abc import Callable

from worker import Repeated


def ozx_recover(broken: str, out: str) -> Callable[[], object]:
    """Recover what is left."""
    import ozx

    recover = ozx.recover
    return lambda: recover(broken, out, sync=False)


def compare(made: str, source: str) -> Repeated:
    """Compare all pixels of an upgraded file with those of the same image in OME-Zarr 0.5."""
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
