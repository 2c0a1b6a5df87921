"""The targets of fuzzing: functions that accept any bytes, and raise an error only for a fault of ozx.

A target also compares results: two ways to the same answer must agree.
"""

from __future__ import annotations

import importlib
import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path

import google_crc32c

from ozx.archive.audit.facts import ArchiveFacts
from ozx.archive.directory import iter_headers, read_end
from ozx.archive.reader import ArchiveReader
from ozx.archive.recovery.directory import merge_directory
from ozx.archive.recovery.scan import iter_found_value, scan_archive
from ozx.crc32 import crc32
from ozx.errors import OzxError
from ozx.ome.comment import parse_comment
from ozx.ome.images import describe_images, image_paths, label_paths
from ozx.ome.nodes import NodeCollector
from ozx.ome.plates import plate_wells
from ozx.ome.upgrade import upgrade_hierarchy
from ozx.places.byte_source import MemorySource
from ozx.zarr.chunk_grid import parse_chunk_grid
from ozx.zarr.json_reading import dump_document, parse_document
from ozx.zarr.layout import IndexFormat, build_index, parse_index, parse_layout
from ozx.zarr.normalisation import normalise_document

__all__ = ["TARGETS", "load_verbs"]

MOST_INFLATED = 1 << 20


def directory(data: bytes) -> None:
    """Read end records and central directory; check that the columns and the single headers have the same entries."""
    source = MemorySource(data)
    try:
        reader = ArchiveReader(source)
        columns = reader.columns
        ArchiveFacts(reader)
    except OzxError:
        return
    headers = list(iter_headers(source, read_end(source)))
    assert [header.name for header in headers] == [columns.raw_name(index) for index in range(len(columns))]
    assert [header.header_offset for header in headers] == columns.header_offsets.tolist()
    try:
        reader.check(allow_duplicates=True)
    except OzxError:
        return
    for index, name in enumerate(columns.names()):
        found = reader.find(name)
        assert found is not None
        assert found >= index
        if columns.uncompressed_sizes[index] > MOST_INFLATED:
            continue
        try:
            value = reader.read(index)
        except OzxError:
            continue
        assert crc32(value) == columns.crc32s[index]
        assert reader.read(index, 1, 3) == value[1:4]


def local_headers(data: bytes) -> None:
    """Find values by their local headers; check that each value has the length and CRC-32 that its entry states."""
    source = MemorySource(data)
    try:
        found = merge_directory(source, scan_archive(source))
    except OzxError:
        return
    for index in found.order.tolist():
        entry = found.entries[index]
        if entry.size <= MOST_INFLATED:
            value = b"".join(iter_found_value(source, entry))
            assert (len(value), crc32(value)) == (entry.size, entry.crc32)


def shard_index(data: bytes) -> None:
    """Parse a shard index of any form; check that the chunks lie in the shard, and together are not longer than it."""
    if len(data) < 4:
        return
    form = IndexFormat(
        "start" if data[0] & 1 else "end", "big" if data[0] & 2 else "little", has_checksum=bool(data[0] & 4)
    )
    shape, shard_size, index = (data[1] % 4, data[2] % 4), int(data[3]) << data[0] // 16, data[4:]
    if form.has_checksum and not data[0] & 8:
        index = index[:-4] + google_crc32c.value(index[:-4]).to_bytes(4, "little")
    try:
        found = parse_index(index, shape, shard_size, "0/c/0", form)
    except OzxError:
        return
    spans = zip(found.offsets.ravel().tolist(), found.lengths.ravel().tolist(), strict=True)
    taken = [(start, start + length) for start, length in spans if length]
    assert sum(end - start for start, end in taken) <= shard_size
    assert all(0 <= start < end <= shard_size for start, end in taken)
    if form == IndexFormat():
        again = parse_index(build_index(found.offsets, found.lengths), shape, shard_size, "0/c/0")
        assert again.lengths.tolist() == found.lengths.tolist()
        assert len(found.lengths.ravel()) == math.prod(shape)


def zarr_json(data: bytes) -> None:
    """Parse metadata documents as root, as array and as Zarr v2; check that a normalised document stays unchanged."""
    parse_comment(data)
    collector = NodeCollector()
    collector.add("zarr.json", data)
    collector.add("0/zarr.json", data)
    for key in (".zgroup", ".zattrs", "0/.zarray", "0/.zattrs"):
        collector.add(f"old/{key}", data)
    nodes = collector.nodes()
    notes: list[str] = []
    for path in list(image_paths(nodes))[:10]:
        describe_images(nodes, path, notes)
        label_paths(nodes, path)
    plate_wells(nodes)
    for attempt in (_normalise, _grid, _upgrade):
        try:
            attempt(data)
        except OzxError as error:
            assert str(error)


def _normalise(data: bytes) -> None:
    normal = normalise_document(data, "0")
    assert normalise_document(normal, "0") == normal
    dump_document(parse_document(normal, "0/zarr.json"))


def _grid(data: bytes) -> None:
    document = parse_document(data, "0/zarr.json")
    parse_chunk_grid(document)
    parse_layout(document, "0")


def _upgrade(data: bytes) -> None:
    """Upgrade a Zarr v2 hierarchy; `data` is a JSON object with its documents by key."""
    documents = parse_document(data, "zarr.json")
    keys = (".zgroup", ".zattrs", "0/.zarray", "0/.zattrs")
    given = {key: json.dumps(documents[key]).encode() for key in keys if key in documents}
    for _ in upgrade_hierarchy(given).iter_values():
        pass


def verbs(data: bytes) -> None:
    """Run one verb on a hierarchy with pixels; check that the verb ends with an answer or an error, not a fault of ozx.

    `data` is a JSON object: metadata documents by key and, with the key ``verb``, the number of the verb.
    """
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        return
    if not isinstance(given, dict) or not isinstance(given.get("verb"), int):
        return
    from every_verb import VERBS, faults, images

    names = [*VERBS, "view"]
    base = images()[given["verb"] // len(names) % len(images())]
    documents = {
        key: json.dumps(given[key]).encode() for key, value in base.items() if key in given and value[:1] == b"{"
    }
    with tempfile.TemporaryDirectory(prefix="ozx-fuzz-") as folder:
        chosen, is_archive = [names[given["verb"] % len(names)]], given["verb"] % 2 == 1
        found = list(faults(base | documents, Path(folder), archive=is_archive, verbs=chosen, has_alarm=False))
        assert not found, found


def load_verbs() -> None:
    """Import the modules that the verbs import at their first use, so that atheris instruments these modules."""
    from every_verb import VERBS

    from ozx.cli.app import load_command

    for arguments in VERBS.values():
        load_command(arguments[0])
    for name in (
        "ozx.desktop.viewer.page_server",
        "ozx.store.opening",
        "ozx.flow.chunks.block_transcoding",
        "ozx.flow.chunks.reshard",
    ):
        importlib.import_module(name)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "directory": directory,
    "local_headers": local_headers,
    "shard_index": shard_index,
    "zarr_json": zarr_json,
    "verbs": verbs,
}
