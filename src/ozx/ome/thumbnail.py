"""The Zarr convention "thumbnails": the root's attributes name the picture in the file, so that programs find it."""

from __future__ import annotations

from ozx.zarr.json_reading import Document, as_list, as_object
from ozx.zarr.keys import THUMBNAIL, node_of
from ozx.zarr.normalisation import CONSOLIDATED

#: The group that holds the picture: zarr-python warns about a folder that is no node.
THUMBNAIL_GROUP = node_of(THUMBNAIL)
#: The longest side of the picture, in pixels. "SHOULD include at least one … longest edge between 128px and 512 px".
EMBEDDED_SIZE = 256

# Convention "thumbnails", v1, "Convention Registration".
_CONVENTION = {
    "schema_url": "https://raw.githubusercontent.com/zarr-conventions/thumbnails/refs/tags/v1/schema.json",
    "spec_url": "https://github.com/zarr-conventions/thumbnails/blob/v1/README.md",
    "uuid": "49326c01-1180-4743-b15f-f7157038a6ab",
    "name": "thumbnails",
    "description": "Metadata for thumbnails representing Zarr data",
}


def name_thumbnail(root: Document, group: Document, size: tuple[int, int]) -> Document:
    """Return the root's document with the picture of `size`, width and height, as its first thumbnail.

    `group` is the document of the picture's group, which consolidated metadata repeats.
    """
    attributes = as_object(root.get("attributes"))
    declared = as_list(attributes.get("zarr_conventions"))
    if all(as_object(each).get("uuid") != _CONVENTION["uuid"] for each in declared):
        declared = [*declared, _CONVENTION]
    # "Thumbnail Object": width, height, media_type; "path" is relative to the node.
    picture = {"width": size[0], "height": size[1], "media_type": "image/png", "path": THUMBNAIL}
    others = [each for each in as_list(attributes.get("thumbnails")) if as_object(each).get("path") != THUMBNAIL]
    named = {**root, "attributes": {**attributes, "zarr_conventions": declared, "thumbnails": [picture, *others]}}
    copies = as_object(root.get(CONSOLIDATED))
    if copies:
        nodes = {**as_object(copies.get("metadata")), THUMBNAIL_GROUP: group}
        named[CONSOLIDATED] = {**copies, "metadata": nodes}
    return named
