"""Zarr v2, and the conversion of its arrays and groups to Zarr v3."""
