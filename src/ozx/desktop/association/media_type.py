"""What an .ozx file is called on a desktop."""

from __future__ import annotations

__all__ = ["COMMENT", "EXTENSION", "MEDIA_TYPE", "NAME"]

#: RFC-9 names none: a vendor's tree, as nobody has registered one, and the suffix of RFC 6839.
MEDIA_TYPE = "application/vnd.ome.zarr+zip"
EXTENSION = ".ozx"
COMMENT = "OME-Zarr image"
#: What files of ours are called among those of other programs.
NAME = "ozx-toolkit"
