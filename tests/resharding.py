"""Arrays written by zarr-python and resharded by ozx, for tests."""

import hashlib
import json

import numpy as np
import zarr

from ozx.archive.reader import ArchiveReader
from ozx.flow.chunks.inner_chunks import InnerChunks
from ozx.flow.chunks.reshard import iter_resharded
from ozx.flow.chunks.stored_chunks import chunks_of_source, iter_key_groups
from ozx.flow.entry import read_part
from ozx.flow.sources.archive import ArchiveSource
from ozx.flow.sources.directory import DirectorySource
from ozx.flow.sources.listing import list_directory
from ozx.zarr.layout import parse_layout, relayout_document

PATH = "0"


def directory_source(root):
    return DirectorySource(list_directory(str(root)))


def archive_source(path):
    reader = ArchiveReader(str(path))
    reader.check()
    return ArchiveSource(reader)


def stored_chunks(source, path=PATH):
    document = json.loads(source.read(f"{path}/zarr.json"))
    layout = parse_layout(document, path)
    groups = [group for group in iter_key_groups(source.iter_keys(), {path: layout}) if group.path == path]
    numbers = groups[0].numbers if groups else np.empty(0, np.int64)
    return document, layout, chunks_of_source(source, path, layout, numbers)


def resharded(source, shards, checksums="keep"):
    """Return the document of the resharded array, and its entries, which are not read yet."""
    document, layout, stored = stored_chunks(source)
    new = relayout_document(document, shards, checksums)
    return new, iter_resharded(stored, layout, parse_layout(new, PATH), PATH)


def chunk_digests(source, path=PATH):
    """Return the SHA-256 of every encoded chunk, by the number of the chunk."""
    _, layout, stored = stored_chunks(source, path)
    chunks = InnerChunks(stored, layout)
    numbers = chunks.blocks((1,) * len(layout.grid))
    found = chunks.find(numbers, is_joined=False)
    return {
        int(numbers[position]): hashlib.sha256(read_part(part)).hexdigest()
        for position, part in zip(found.positions, found.parts, strict=True)
    }


def write_array(root, data, chunks, *, shards=None, **options):
    options = {"compressors": None, "fill_value": 0} | options
    array = zarr.create_array(
        f"{root}/{PATH}", shape=data.shape, dtype=data.dtype, chunks=chunks, shards=shards, zarr_format=3, **options
    )
    array[...] = data
    return array


def archive_digests(path):
    """Return the SHA-256 of every encoded chunk of an archive, by array and number."""
    source, found = archive_source(path), {}
    for key in source.iter_keys():
        if key.endswith("/zarr.json") and json.loads(source.read(key)).get("node_type") == "array":
            array = key.removesuffix("/zarr.json")
            found[array] = chunk_digests(source, array)
    return found
