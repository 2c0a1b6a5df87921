"""Zarr and OME-Zarr documents: keys and metadata, without I/O and without ZIP."""
