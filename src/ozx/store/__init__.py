"""The hierarchy inside an archive as zarr-python sees it."""
