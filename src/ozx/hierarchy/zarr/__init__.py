"""Zarr v3: arrays, groups, codecs, chunk layouts, extensions."""
