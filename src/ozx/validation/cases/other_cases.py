"""The cases of rules about metadata documents that need more than documents: bytes that are none, or other files."""

from __future__ import annotations

import json

from ozx.validation.cases.archive_builder import ArchiveBuilder, array, group
from ozx.validation.cases.case import Case

__all__ = ["OTHER_CASES"]

_valid = ArchiveBuilder.valid


def _collection(**values: bytes) -> ArchiveBuilder:
    """Return a collection without an image."""
    layout = {"ome": {"version": "0.5", "bioformats2raw.layout": 3}}
    series = {"ome": {"version": "0.5", "series": list[str]()}}
    builder = ArchiveBuilder().add("zarr.json", group(attributes=layout))
    builder.add("OME/zarr.json", json.dumps({"zarr_format": 3, "node_type": "group", "attributes": series}).encode())
    for name, value in values.items():
        builder.add(f"OME/{name}", value)
    return builder


OTHER_CASES = (
    Case("zarr/json", "half a document", lambda: _valid().value("0/zarr.json", b'{"zarr_format": 3'), "zarr/json"),
    Case("zarr/json", "a list", lambda: _valid().value("0/zarr.json", b"[]"), "zarr/json"),
    Case("zarr/json", "half a document, the root", lambda: _valid().value("zarr.json", b"{"), "zarr/json"),
    Case("zarr/json", "a line end more", lambda: _valid().value("0/zarr.json", array([4], [4]) + b"\n")),
    Case("ome/ome-xml", "the file is not there", _collection, "ome/ome-xml", level="hierarchy"),
    Case(
        "ome/ome-xml",
        "the file is there",
        lambda: _collection(**{"METADATA.ome.xml": b"<OME/>"}),
        level="hierarchy",
    ),
)
