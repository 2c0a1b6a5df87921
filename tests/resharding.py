"""Sources of chunks, for tests of how they are moved."""

import json

import numpy as np

from ozx.archive.reader import ArchiveReader
from ozx.flow.chunks.stored_chunks import chunks_of_source, iter_key_groups
from ozx.flow.sources.archive import ArchiveSource
from ozx.flow.sources.directory import DirectorySource
from ozx.flow.sources.listing import list_directory
from ozx.zarr.layout import parse_layout

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
