"""Edits of metadata: pixel sizes, units, channels, names."""
