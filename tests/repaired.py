"""Shared parts of the tests of repair: a hierarchy, archives of it, and the contents of a source."""

import json

from cases.archive_builder import ArchiveBuilder, array, group
from packed import sort_values

from ozx.flow.entry import read_part
from ozx.flow.repair.hierarchy import open_repaired
from ozx.places.place import Place

#: A root, a group, an array and plain files.
VALUES = sort_values(
    {
        "zarr.json": group(),
        "0/zarr.json": array([12], [1]),
        "labels/zarr.json": group(None),
        "labels/cells/zarr.json": array([4], [4]),
        **{f"0/c/{number}": b"chunk %d " % number * 40 for number in range(12)},
        "labels/cells/c/0": b"abcd",
        "OME/METADATA.ome.xml": b"<OME/>",
        "notes/é.txt": "µm".encode(),
    }
)


def build(values=VALUES) -> ArchiveBuilder:
    """Return an archive of `values` in the form that ozx writes."""
    return ArchiveBuilder.of(sort_values(values))


def contents(source) -> dict[str, bytes]:
    """Return every key and value, in the order of the source; check that all ways to read a value agree."""
    keys = list(source.iter_keys())
    assert len(keys) == len(set(keys))
    found = {key: source.read(key) for key in keys}
    assert [read_part(part) for part in source.parts(keys)] == list(found.values())
    for key, value in found.items():
        assert key in source
        assert source.size(key) == len(value)
        assert b"".join(source.entry(key).iter_blocks()) == value
        assert not value or read_part(source.part(key, 1)) == value[1:]
    assert keys == list(sort_values(found))
    return found


def repair(path) -> tuple[set[str], dict[str, bytes]]:
    """Return the ids of the repairs, and the contents."""
    with open_repaired(Place.parse(path)) as source:
        found = contents(source)
        assert len(source.repaired) == len(source.repairs)
        source.check_unchanged()
        return {rule for rule, _ in source.repairs}, found


def consolidated(values, **others) -> bytes:
    """Return the root's document with copies of all others."""
    copies = {
        key.removesuffix("/zarr.json"): json.loads(value) for key, value in values.items() if key.endswith("/zarr.json")
    }
    metadata = {"kind": "inline", "must_understand": False, "metadata": copies | others}
    return json.dumps(json.loads(values["zarr.json"]) | {"consolidated_metadata": metadata}).encode()
