"""Validation tasks: validate a plate by ozx, and open a plate by ome-zarr-models."""

from __future__ import annotations

from typing import Any

from worker import Repeated


def ozx_validate(path: str, opinions: str) -> Repeated:
    """Return the task of validating all metadata; with `opinions` ``twice``, ome-zarr-models checks them, too."""
    import ome_zarr_models.v05.hcs

    from ozx.validation.validate import validate

    def verify(report: Any) -> None:
        assert ome_zarr_models.v05.hcs
        assert report.valid
        assert not report.count("warning"), report.findings

    return Repeated(lambda: validate(path, second_opinion=opinions == "twice"), verify)


def open_by_models(path: str) -> Repeated:
    """Return the task of opening a plate by ome-zarr-models, which reads all groups and arrays below the plate."""
    from ome_zarr_models import open_ome_zarr

    def verify(plate: Any) -> None:
        wells = list(plate.well_groups)
        assert len(wells) == plate.n_wells
        assert all(len(well.members) == 4 for well in wells)

    return Repeated(lambda: open_ome_zarr(path, version="0.5"), verify)
