"""How much room an archive in the making keeps at its head for metadata that is not known yet."""

from __future__ import annotations

from collections.abc import Mapping

from ozx.archive.writer import LOCAL_OVERHEAD
from ozx.errors import FormatError
from ozx.hierarchy.json.documents import parse_document
from ozx.hierarchy.json.values import as_object
from ozx.hierarchy.keys import ROOT_METADATA
from ozx.hierarchy.ome.metadata import parse_ome

__all__ = ["document_room", "metadata_reserve"]

# One more entry's padding can fill this much (65,515 bytes at most), whatever else becomes known.
_LEAST = 48 << 10
# Room that turns out not to be needed has to be filled or removed again.
_MOST = 64 << 20
# A usual zarr.json of an array with a name; an image of a plate is one group and some levels.
_USUAL_DOCUMENT = 1_200
_USUAL_DOCUMENTS_PER_IMAGE = 5


def document_room(key: str, document: bytes) -> int:
    """Return the bytes an entry takes: its local header, which holds the key, and its value."""
    return LOCAL_OVERHEAD + len(key.encode("utf-8")) + len(document)


def metadata_reserve(documents: Mapping[str, bytes]) -> int:
    """Return the bytes to keep free at the head of the file before the first data is written there.

    Twice what is known by then, and what the root announces: the wells of a plate, the levels of an image.

    Parameters
    ----------
    documents
        The metadata known so far, by key.

    Examples
    --------
    >>> metadata_reserve({}), metadata_reserve({"zarr.json": b" " * 100_000}) > 200_000
    (49152, True)
    """
    known = sum(document_room(key, document) for key, document in documents.items())
    announced = _announced_documents(documents.get(ROOT_METADATA, b"")) - len(documents)
    return min(_LEAST + 2 * known + max(0, announced) * _USUAL_DOCUMENT, max(_MOST, 2 * known))


def _announced_documents(root: bytes) -> int:
    try:
        attributes = as_object(parse_document(root, ROOT_METADATA).get("attributes"))
    except FormatError:
        return 0
    ome = parse_ome(attributes, 3)
    if ome is None:
        return 0
    if ome.plate is not None:
        fields = ome.plate.field_count or 1
        return len(ome.plate.wells) * (1 + fields * _USUAL_DOCUMENTS_PER_IMAGE)
    return sum(1 + len(multiscale.datasets) for multiscale in ome.multiscales)
