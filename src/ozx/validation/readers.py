"""The programs that warnings name; tests/conformance/test_readers.py tries what they refuse."""

from __future__ import annotations

__all__ = ["TENSORSTORE", "ZARR_PYTHON"]

ZARR_PYTHON = "zarr-python 3.1.6"
TENSORSTORE = "tensorstore 0.1.86"
