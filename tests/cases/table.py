"""All cases of the rules about archives and stored values, by rule."""

import json

from .ambiguity_cases import AMBIGUITY_CASES
from .archive_builder import ArchiveBuilder, array, group
from .case import Case
from .data_cases import DATA_CASES
from .rfc9_cases import RFC9_CASES
from .zip_cases import ZIP_CASES

_valid = ArchiveBuilder.valid


def _collection(**values: bytes) -> ArchiveBuilder:
    """Return a collection that contains no image."""
    layout = {"ome": {"version": "0.5", "bioformats2raw.layout": 3}}
    series = {"ome": {"version": "0.5", "series": list[str]()}}
    builder = ArchiveBuilder().add("zarr.json", group(attributes=layout))
    builder.add("OME/zarr.json", json.dumps({"zarr_format": 3, "node_type": "group", "attributes": series}).encode())
    for name, value in values.items():
        builder.add(f"OME/{name}", value)
    return builder


# Cases of rules about metadata documents that need malformed bytes, or files that are no documents.
_OTHER_CASES = (
    Case(
        "zarr/json",
        "half a document of an array",
        lambda: _valid().value("0/zarr.json", b'{"zarr_format": 3'),
        "zarr/json",
    ),
    Case("zarr/json", "a list", lambda: _valid().value("0/zarr.json", b"[]"), "zarr/json"),
    Case("zarr/json", "half a document of the root", lambda: _valid().value("zarr.json", b"{"), "zarr/json"),
    Case("zarr/json", "a line end after the document", lambda: _valid().value("0/zarr.json", array([4], [4]) + b"\n")),
    Case("ome/ome-xml", "METADATA.ome.xml is missing", _collection, "ome/ome-xml", level="hierarchy"),
    Case(
        "ome/ome-xml",
        "METADATA.ome.xml exists",
        lambda: _collection(**{"METADATA.ome.xml": b"<OME/>"}),
        level="hierarchy",
    ),
)

#: The cases, in the order of the rules.
CASES: tuple[Case, ...] = (*ZIP_CASES, *AMBIGUITY_CASES, *RFC9_CASES, *_OTHER_CASES, *DATA_CASES)

#: Rules without cases, with the reason.
WITHOUT_CASES = {"zip/changed": "The rule is about files that change during reading; a stored file does not change."}
